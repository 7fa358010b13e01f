"""`scannerd scanlog mutate` and corpora of `scannerd simulate`: what is written, and how each ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, lines
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, reading
from tests.small_recordings import CARDS, HEADER, read, write

RFID = Path(__file__).parent / "recordings" / "clean-rfid.scanlog"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Forty cards, one each 2 s."""
    return write(tmp_path / "odd.scanlog", *(read(2 * n, "AS") for n in range(40)), {"t": 90, "end": True})


def mutate(*arguments: str | Path) -> int:
    """Runs the command."""
    return run(["scanlog", "mutate", *map(str, arguments)])


def told(path: Path) -> list[Line]:
    """The events of a recording."""
    with reading(path, lambda _: None) as found:
        return list(lines(replay_of(found.header, path, Registry(), lambda _: None), iter(found)))


def test_a_mutant_is_a_recording(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mutant has the header and a note with seed and rates, and replays; what was put in is told on stderr."""
    target = tmp_path / "mutant.scanlog"
    assert Exit.WELL == mutate(recording, "--seed", "7", "--flip", "0.5", "-o", target)
    with reading(target, pytest.fail) as found:
        assert "Mutated with seed 7: flip 0.5." == found.header.note
        assert HEADER["scanners"] == found.header.scanners
        changed = sum(isinstance(one, Chunk) and one.data != b"AS\r\n" for one in found)
    assert 5 < changed < 35
    assert f"put in: drop 0, flip {changed}, split 0" in capsys.readouterr().err
    assert "round_opened" in {line["type"] for line in told(target)}


def test_delay_that_no_recording_holds_is_refused(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A delay of more than a day is refused: the mutant could not be read again."""
    assert Exit.USAGE == mutate(recording, "--delay", "1", "--delay-ms", "86400001")
    assert "--delay-ms" in capsys.readouterr().err


def test_the_same_seed_is_the_same_file(
    recording: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A mutant can be made again from its seed, byte for byte, to a file or to standard output."""
    one, other = tmp_path / "one.scanlog", tmp_path / "other.scanlog"
    for seed, target in (("3", one), ("4", other)):
        assert Exit.WELL == mutate(recording, "--seed", seed, "-o", target)
    assert one.read_bytes() != other.read_bytes()
    assert Exit.WELL == mutate(recording, "--seed", "3")
    assert one.read_bytes() == capsysbinary.readouterr().out


def test_without_a_rate_each_fault_is_put_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no rate is named, every fault happens now and then."""
    long = write(tmp_path / "long.scanlog", *(read(n, "AS") for n in range(1_000)))
    assert Exit.WELL == mutate(long, "-o", tmp_path / "mutant.scanlog")
    faults = capsys.readouterr().err.partition("put in: ")[2].strip().split(", ")
    assert 7 == len(faults)
    assert all(int(fault.split()[1]) > 10 for fault in faults)


def test_many_mutants_go_into_a_folder(recording: Path, tmp_path: Path) -> None:
    """With --files a folder of mutants is made, one a seed, and each is the one that its seed gives alone."""
    folder = tmp_path / "mutants"
    assert Exit.WELL == mutate(recording, "--seed", "9", "--files", "3", "-o", folder)
    assert ["odd-09.scanlog", "odd-10.scanlog", "odd-11.scanlog"] == sorted(path.name for path in folder.iterdir())
    assert Exit.WELL == mutate(recording, "--seed", "10", "-o", tmp_path / "alone.scanlog")
    assert (folder / "odd-10.scanlog").read_bytes() == (tmp_path / "alone.scanlog").read_bytes()


def test_a_mutant_elsewhere_finds_its_codebook(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A codebook beside the recording is named so that the mutant finds it from its own folder, or from anywhere."""
    target = tmp_path / "mutant.scanlog"
    assert Exit.WELL == mutate(RFID, "--double", "0.5", "-o", target)
    assert "card_accepted" in {line["type"] for line in told(target)}
    assert Exit.WELL == mutate(RFID, "--double", "0.5")
    target.write_bytes(capsysbinary.readouterr().out)
    assert "card_accepted" in {line["type"] for line in told(target)}


def test_a_recording_is_not_written_over(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recording itself can't be the output."""
    before = recording.read_bytes()
    assert Exit.USAGE == mutate(recording, "-o", recording)
    assert "not written over" in capsys.readouterr().err
    assert before == recording.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--files", "2"), "several files go into a folder, not to stdout"),
        (("--files", "2", "-o", "odd.scanlog"), "odd.scanlog: File exists"),
        (("-o", "none/x.scanlog"), "none/x.scanlog: No such file or directory"),
        (("--flip", "2"), "2.0 is not in the range 0<=x<=1"),
    ],
)
def test_what_cannot_be_written_is_told(
    recording: Path,
    arguments: tuple[str, ...],
    what: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong option or output ends the command with 2 and one line."""
    monkeypatch.chdir(recording.parent)
    assert Exit.USAGE == mutate(recording, *arguments)
    assert what in capsys.readouterr().err


def test_a_recording_that_cannot_be_used_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing recording, one with an unknown driver, and a torn end are told by file and line."""
    assert Exit.USAGE == mutate(tmp_path / "none.scanlog")
    odd = write(tmp_path / "odd.scanlog", header={**HEADER, "scanners": {"desk": {"driver": "lin"}}})
    assert Exit.USAGE == mutate(odd)
    torn = write(tmp_path / "torn.scanlog", *CARDS)
    torn.write_text(torn.read_text() + '{"t":9,"scan')
    assert Exit.WELL == mutate(torn, "-o", tmp_path / "mutant.scanlog")
    first, second, third, _ = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / 'none.scanlog'}: No such file" in first
    assert f"{odd}:1: no driver 'lin'" in second
    assert f"{torn}:4: the last line is torn" in third


def test_simulate_writes_a_corpus(tmp_path: Path) -> None:
    """`simulate --files` writes a recording a seed into a folder, each with its codebook where it needs one."""
    folder = tmp_path / "corpus"
    made = ["simulate", "--rounds", "2", "--files", "3", "--driver", "rfid-serial", "-o", str(folder)]
    assert Exit.WELL == run(made)
    recordings = sorted(folder.glob("*.scanlog"))
    assert ["rfid-serial-1", "rfid-serial-2", "rfid-serial-3"] == [path.stem for path in recordings]
    deals = [[json.dumps(line) for line in told(path)] for path in recordings]
    assert all(any("round_completed" in line for line in deal) for deal in deals)
    assert deals[0] != deals[1] != deals[2]
