"""`scannerd verify`: a corpus of recordings against what is expected of them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.small_recordings import ACE, CARDS, HEADER, KING, OPENED, read, write, write_lines

ROOT = Path(__file__).parent.parent


def pair(folder: Path, name: str, *lines: str) -> Path:
    """A recording of two cards and its expected events."""
    folder.mkdir(exist_ok=True)
    write_lines(folder / f"{name}.expected.jsonl", lines)
    return write(folder / f"{name}.scanlog", *CARDS)


def test_a_corpus_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every recording in a folder and its folders is replayed, and the last line sums up."""
    pair(tmp_path, "one", OPENED, ACE, KING)
    pair(tmp_path / "more", "two", OPENED, ACE, KING)
    assert Exit.WELL == run(["verify", str(tmp_path), "--jobs", "1"])
    summary = "2 recordings, 6 events: 2 as expected, 0 different, 0 unusable\n"
    assert summary == capsys.readouterr().out


def test_a_recording_named_twice_is_verified_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that is named and lies in a folder that is named counts once."""
    recording = pair(tmp_path, "one", OPENED, ACE, KING)
    assert Exit.WELL == run(["verify", str(recording), str(tmp_path)])
    assert capsys.readouterr().out.startswith("1 recording, 3 events")


def test_processes_give_the_same_in_the_same_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several processes print what one prints."""
    for name in ("one", "two", "three", "four"):
        pair(tmp_path, name, OPENED, KING)
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path), "--jobs", "1"])
    alone = capsys.readouterr().out
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path), "--jobs", "3"])
    assert alone == capsys.readouterr().out
    assert "4 different" in alone


def test_a_missing_expected_file_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording without expected events is a difference."""
    write(tmp_path / "x.scanlog", *CARDS)
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path)])
    assert f"{tmp_path / 'x.expected.jsonl'} is missing; --update writes it" in capsys.readouterr().out


def test_an_expected_file_without_its_recording_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that went without its expected files is missed on stderr."""
    pair(tmp_path, "x", OPENED, ACE, KING)
    gone = [write_lines(tmp_path / f"y.v2.{what}.jsonl", []) for what in ("expected", "prompts")]
    assert Exit.WELL == run(["verify", str(tmp_path)])
    said = [f"scannerd: {file}: there is no recording beside it" for file in gone]
    assert said == capsys.readouterr().err.splitlines()


def test_prompts_are_compared_where_they_stand_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is a file of prompts it is compared too."""
    pair(tmp_path, "x", OPENED, ACE, KING)
    write_lines(tmp_path / "x.prompts.jsonl", ['{"t":0,"prompt":{"code":"complete"}}'])
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path)])
    assert '  prompt.code: expected "complete", told "wait"' in capsys.readouterr().out.splitlines()


def test_an_empty_file_of_prompts_expects_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file of prompts differs in each prompt that is told, and in no event; `--update` fills it."""
    prompts = write_lines(pair(tmp_path, "x", OPENED, ACE, KING).with_suffix(".prompts.jsonl"), [])
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path)])
    told = capsys.readouterr().out
    assert 3 == told.count(f'{prompts}: not expected: {{"t":')
    assert 3 == told.count('"prompt":{')


def test_an_unusable_recording_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that can't be used ends the command with 2, after the others were verified."""
    pair(tmp_path, "a", OPENED, KING)
    write_lines(tmp_path / "b.expected.jsonl", [])
    write(tmp_path / "b.scanlog", {"t": 1, "what": "?"})
    pair(tmp_path, "c", OPENED, ACE, KING)
    assert Exit.USAGE == run(["verify", str(tmp_path)])
    told = capsys.readouterr()
    assert f"scannerd: {tmp_path / 'b.scanlog'}:2: " in told.err
    assert told.out.endswith("1 as expected, 1 different, 1 unusable\n")


def test_warnings_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is ignored in a recording is told once, though events and prompts are compared."""
    down = {"t": 1, "scanner": "desk", "event": "down"}
    recording = write(tmp_path / "x.scanlog", down, read(2, "AS"))
    write_lines(tmp_path / "x.expected.jsonl", ['{"t":1,"type":"scanner_down","round":null}'])
    prompts = ['{"t":0,"prompt":{"code":"wait"}}', '{"t":1,"prompt":{"code":"scanner_down"}}']
    write_lines(tmp_path / "x.prompts.jsonl", prompts)
    assert Exit.WELL == run(["verify", str(tmp_path)])
    assert 1 == capsys.readouterr().err.count(f"{recording}:3: ")


@pytest.mark.parametrize("name", ["", "none"])
def test_nothing_to_verify(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No recording, or a path that is not there, ends the command with 2."""
    assert Exit.USAGE == run(["verify", str(tmp_path / name)])
    assert 1 == capsys.readouterr().err.count("\n")


class TestUpdate:
    """`--update`."""

    def test_missing_and_changed_files_are_written(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Files that are missing or differ are written and named; then all is as expected."""
        well = pair(tmp_path, "well", OPENED, ACE, KING).with_suffix(".expected.jsonl")
        before = well.read_bytes()
        pair(tmp_path, "changed", OPENED, KING)
        write_lines(tmp_path / "changed.prompts.jsonl", [])
        write(tmp_path / "missing.scanlog", *CARDS)
        assert Exit.WELL == run(["verify", str(tmp_path), "--update"])
        told = capsys.readouterr().out.splitlines()
        assert [
            f"{tmp_path / 'changed.expected.jsonl'}: written: 1 added",
            f"{tmp_path / 'changed.prompts.jsonl'}: written: 3 added",
            f"{tmp_path / 'missing.expected.jsonl'}: written, new: 3 lines",
        ] == [line for line in told if ": written" in line]
        assert told[-1].endswith("; 3 files written")
        assert Exit.WELL == run(["verify", str(tmp_path)])
        assert before == well.read_bytes()

    def test_what_is_written_is_what_replay_prints(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An expected file that is written holds the lines of `scannerd replay`, byte for byte."""
        recording = write(tmp_path / "x.scanlog", *CARDS)
        assert Exit.WELL == run(["verify", str(tmp_path), "--update"])
        capsys.readouterr()
        assert Exit.WELL == run(["replay", str(recording)])
        assert capsys.readouterr().out.encode() == (tmp_path / "x.expected.jsonl").read_bytes()

    def test_an_unusable_recording_leaves_its_file(self, tmp_path: Path) -> None:
        """The expected file of a recording that can't be used is not touched."""
        expected = pair(tmp_path, "x", OPENED).with_suffix(".expected.jsonl")
        write(tmp_path / "x.scanlog", *CARDS, {"t": 9, "what": "?"})
        before = expected.read_bytes()
        assert Exit.USAGE == run(["verify", str(tmp_path), "--update"])
        assert before == expected.read_bytes()
        assert {"x.expected.jsonl", "x.scanlog"} == {file.name for file in tmp_path.iterdir()}

    def test_a_file_that_can_t_be_written(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An expected file that can't be written ends the command with 2 and is named."""
        write(tmp_path / "x.scanlog", *CARDS)
        (tmp_path / f".x.expected.jsonl.{os.getpid()}.new").mkdir()
        assert Exit.USAGE == run(["verify", str(tmp_path), "--update"])
        assert ".new: Is a directory" in capsys.readouterr().err


class TestJunit:
    """`--junit FILE`."""

    def test_a_case_for_each_recording(self, tmp_path: Path) -> None:
        """The report has a case for each recording, with its differences or its error in it."""
        pair(tmp_path, "a", OPENED, ACE, KING)
        pair(tmp_path, "b", OPENED, KING)
        write(tmp_path / "c.scanlog", header={**HEADER, "game": "x\x00y\x1b"})
        write_lines(tmp_path / "c.expected.jsonl", [])
        report = tmp_path / "report.xml"
        assert Exit.USAGE == run(["verify", str(tmp_path), "--junit", str(report)])
        suite = ET.fromstring(report.read_text(encoding="utf-8")).find("testsuite")  # noqa: S314 - our own file
        assert suite is not None
        assert ("3", "1", "1") == (suite.get("tests"), suite.get("failures"), suite.get("errors"))
        assert [("a", []), ("b", ["failure"]), ("c", ["error"])] == [
            (case.get("name"), [child.tag for child in case]) for case in suite
        ]
        assert "not expected" in str(suite[1][0].text)

    def test_warnings_are_in_it(self, tmp_path: Path) -> None:
        """What was ignored stands in the case."""
        recording = pair(tmp_path, "a", OPENED, ACE, KING)
        recording.write_bytes(recording.read_bytes() + b'{"t":9,"en')
        assert Exit.WELL == run(["verify", str(tmp_path), "--junit", str(tmp_path / "r.xml")])
        assert "torn" in (tmp_path / "r.xml").read_text(encoding="utf-8")

    def test_a_report_that_can_t_be_written(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A report that can't be written ends the command with 2."""
        pair(tmp_path, "a", OPENED, ACE, KING)
        assert Exit.USAGE == run(["verify", str(tmp_path), "--junit", str(tmp_path / "no" / "r.xml")])
        assert "No such file" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal a bar shows how far the verification has come; the summary is on standard output."""
    pair(tmp_path, "a", OPENED, ACE, KING)
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "scannerd", "verify", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=True,
        )
        assert b"100%" in os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"1 as expected" in done.stdout


def test_ctrl_c_waits_for_no_recording(tmp_path: Path) -> None:
    """Whoever interrupts a verification is not kept waiting by what its processes are at."""
    recordings = [tmp_path / f"{name}.scanlog" for name in ("a", "b")]
    for endless in recordings:
        os.mkfifo(endless)
        write_lines(endless.with_suffix(".expected.jsonl"), [])
    command = [sys.executable, "-m", "scannerd", "verify", str(tmp_path), "--jobs", "2"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process, ExitStack() as writers:
        for endless in recordings:
            writers.enter_context(endless.open("wb"))  # waits until a process reads it
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(60)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


def test_our_own_corpus_is_as_expected() -> None:
    """Every recording that comes with the project gives its expected events and prompts."""
    corpus = Path(__file__).parent / "recordings"
    assert json.loads((corpus / "clean-line.scanlog").read_text(encoding="utf-8").splitlines()[0])["scanlog"] == 1
    assert Exit.WELL == run(["verify", str(corpus)])
