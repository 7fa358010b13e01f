"""`scannerd verify` where files, names, processes and terminals are not as one would wish."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.small_recordings import ACE, CARDS, HEADER, KING, OPENED, read, write, write_lines

ROOT = Path(__file__).parent.parent
NOBODY = 65534
PATIENCE_MS = 60_000


def command(*arguments: str) -> list[str]:
    """The command line of a process of its own."""
    return [sys.executable, "-m", "scannerd", "verify", *arguments]


@contextmanager
def endless(folder: Path, *names: str, options: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """A verification in two processes, in the midst of recordings that do not end and have filled a pipe."""
    recordings = [folder / f"{name}.scanlog" for name in names]
    for recording in recordings:
        os.mkfifo(recording)
    arguments = command(str(folder), "--jobs", "2", *options)
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE) as process, ExitStack() as writers:
        try:
            for recording in recordings:
                writers.enter_context(recording.open("wb", buffering=0)).write(many_cards())
            yield process
        finally:
            process.kill()


def many_cards() -> bytes:
    """More than a pipe holds: who has taken this has read far beyond the header."""
    entries = [read(1 + number, "AS") for number in range(4_000)]
    return "".join(f"{json.dumps(line)}\n" for line in (HEADER, *entries)).encode()


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that it has started."""
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(pid) for pid in text.split()]


def ended(pidfd: int) -> bool:
    """Whether a process ends in time."""
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(PATIENCE_MS))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, how: signal.Signals) -> None:
    """Where a CI system kills a verification none of its processes goes on, and no draft stays behind."""
    with endless(tmp_path, "a", "b", options=("--update",)) as process:
        assert [] != list(tmp_path.glob(".*.new"))
        left = [os.pidfd_open(pid) for pid in children(process)]
        process.send_signal(how)
        assert [True, True] == [ended(pidfd) for pidfd in left]
    for pidfd in left:
        os.close(pidfd)
    assert [] == list(tmp_path.glob(".*"))


def test_process_that_is_killed_is_told(tmp_path: Path) -> None:
    """Where the system kills a process, as for want of memory, that is said in a line, with what to try."""
    with endless(tmp_path, "a", "b", options=("--update",)) as process:
        os.kill(children(process)[0], signal.SIGKILL)
        assert Exit.INTERNAL == process.wait(60)
        assert process.stderr is not None
        told = process.stderr.read()
    assert told.startswith(b"scannerd: a process was killed")
    assert 1 == told.count(b"\n")
    assert [] == list(tmp_path.glob(".*"))


def test_two_updates_at_once(tmp_path: Path) -> None:
    """Of two that write the same expected file each ends well, and the file is whole."""
    recording, expected = tmp_path / "a.scanlog", tmp_path / "a.expected.jsonl"
    with endless(tmp_path, "a", options=("--update",)) as process:
        recording.unlink()
        write(recording, *CARDS)
        assert Exit.WELL == run(["verify", "--update", str(tmp_path)])
        assert 3 == len(expected.read_bytes().splitlines())
        assert [True] == [draft.exists() for draft in tmp_path.glob(".*.new")]
        assert process.poll() is None


def test_link_stays_one(tmp_path: Path) -> None:
    """An expected file that is a link is written where it leads to."""
    (tmp_path / "shared").mkdir()
    recording, shared = write(tmp_path / "a.scanlog", *CARDS), write_lines(tmp_path / "shared" / "two-cards.jsonl", [])
    link = recording.with_suffix(".expected.jsonl")
    link.symlink_to(shared)
    assert Exit.WELL == run(["verify", "--update", str(recording)])
    assert link.is_symlink()
    assert 3 == len(shared.read_bytes().splitlines())
    assert [shared] == list(shared.parent.iterdir())


def test_expected_words_of_any_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A type or a reason that is a list in an expected file fits no filter, and is no trouble."""
    write(tmp_path / "a.scanlog", *CARDS)
    write_lines(tmp_path / "a.expected.jsonl", ['{"type":["x"],"data":{"reason":["y"]}}', OPENED, ACE, KING])
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path), "--type", "card_accepted"])
    assert "not told" in capsys.readouterr().out
    assert Exit.USAGE == run(["verify", str(tmp_path), "--reason", "y"])


@pytest.mark.parametrize("encoding", ["utf-8:strict", "latin-1:strict"])
def test_names_that_are_no_text(tmp_path: Path, encoding: str) -> None:
    """A name in another encoding is told and reported, whatever the locale."""
    recording = write(tmp_path / os.fsdecode(b"k\xe4se-\xe2\x82\xac.scanlog"), *CARDS)
    write_lines(recording.with_suffix(".expected.jsonl"), [OPENED, KING])
    reports = ("--junit", str(tmp_path / "r.xml"), "--markdown", str(tmp_path / "r.md"))
    done = subprocess.run(
        command(str(tmp_path), "--explain", *reports),
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (Exit.DIFFERENCE, b"") == (done.returncode, done.stderr)
    assert b"1 different" in done.stdout
    assert "k?se-€.scanlog" in (tmp_path / "r.md").read_text(encoding="utf-8")


@contextmanager
def as_nobody() -> Iterator[None]:
    """For root the rights of files do not count."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("path", [".", "hidden/a.scanlog"])
def test_folder_that_can_not_be_read(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without rights is an error, for its recordings would be missed in silence."""
    corpus, hidden = tmp_path / "corpus", tmp_path / "corpus" / "hidden"
    hidden.mkdir(parents=True)
    for folder in (corpus, hidden):
        write(folder / "a.scanlog", *CARDS)
    hidden.chmod(0)
    monkeypatch.chdir(corpus)
    try:
        with as_nobody():
            assert Exit.USAGE == run(["verify", path, "--list"])
    finally:
        hidden.chmod(0o700)
    assert f"scannerd: {'hidden' if path == '.' else path}: Permission denied\n" == capsys.readouterr().err.replace(
        "./", ""
    )


def test_recording_named_by_two_ways_is_verified_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is named with its whole path and without is looked through once."""
    write(tmp_path / "a.scanlog", *CARDS)
    monkeypatch.chdir(tmp_path)
    assert Exit.WELL == run(["verify", "--list", ".", str(tmp_path)])
    assert 1 == len(capsys.readouterr().out.splitlines())


def test_examples_of_the_help_stand_on_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """An example can be copied from `--help`."""
    assert Exit.WELL == run(["verify", "--help"])
    assert "  scannerd verify recordings --explain" in [
        line.removeprefix("  ") for line in capsys.readouterr().out.splitlines()
    ]
