"""Recordings that tell nobody whose they are, and replay to the same deal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.codebooks import read_codebook
from scannerd.editing.anonymising import Anonymiser
from scannerd.editing.tape import Happened, Tape, happenings, load, written
from scannerd.errors import Exit
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Link, Order
from tests.small_recordings import CARDS, HEADER, write

REGISTRY = Registry()
FOLDER = Path(__file__).parent / "recordings"
RECORDINGS = sorted(FOLDER.glob("*.scanlog"))
OTHERWISE = {"by", "scanner", "detail", "game"}
"""Keys of data that may hold other names."""

FREE = {"round_held", "round_voided", "card_withdrawn", "card_accepted"}
"""Events whose reason may be a supervisor's own words."""


def deal(happened: Happened) -> object:
    """What an event says of the deal, without names."""
    left_out = OTHERWISE | ({"reason"} if happened.line["type"] in FREE else set())
    return (
        happened.at,
        happened.line["type"],
        {key: value for key, value in happened.data.items() if key not in left_out},
    )


def anonymous(folder: Path, *entries: Entry, header: dict[str, object] | None = None) -> Tape:
    """A small recording of these entries without names."""
    return Anonymiser(load(write(folder / "a.scanlog", header=header), print).with_entries(entries)).tape()


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_an_anonymous_recording_is_the_same_deal(recording: Path) -> None:
    """Each recording without its names gives the same events at the same times, and holds none of the names."""
    tape = load(recording, print)
    changed = Anonymiser(tape).tape()
    assert [deal(one) for one in happenings(tape, REGISTRY)] == [deal(one) for one in happenings(changed, REGISTRY)]
    ids = {entry.args.get("id") for entry in tape.entries if isinstance(entry, Order)}
    names = {'"engine"', '"sup-1"', '"2026-11-30', f'"table":"{tape.header.table}"'}
    names |= {f'"scanner":"{name}"' for name in tape.header.scanners}
    names |= {f'"id":"{name}"' for name in ids if isinstance(name, str) and 1 <= len(name) <= 64}
    text = written(changed).decode()
    assert [] == [name for name in names if name in text]


def test_the_header_names_nobody(tmp_path: Path) -> None:
    """The table, its scanners, the date, the note and the number of rounds before are others or none."""
    header = HEADER | {"note": "Maria's table", "rounds_before": 7}
    changed = anonymous(tmp_path, header=header).header
    assert ("table-1", ["scanner-1"], None, None) == (
        changed.table,
        list(changed.scanners),
        changed.note,
        changed.rounds_before,
    )
    assert "2000-01-01T00:00:00+00:00" == changed.recorded_at.isoformat()


def test_the_same_name_becomes_the_same_one(tmp_path: Path) -> None:
    """Names are told apart as before: who did what stays to be seen, but not who that is."""
    orders = [
        Order(1, "open", {"id": "a", "by": "maria", "round": "r-1", "gossip": "hers"}),
        Order(2, "void", {"id": "b", "by": "joao", "reason": "spilt tea"}),
        Order(3, "open", {"id": "a", "by": "maria", "round": "r-1"}),
        Order(4, "hold", {"id": "c", "by": "joao", "reason": "spilt tea"}),
    ]
    assert [
        Order(1, "open", {"id": "id-1", "by": "person-1", "round": "round-1"}),
        Order(2, "void", {"id": "id-2", "by": "person-2", "reason": "reason-1"}),
        Order(3, "open", {"id": "id-1", "by": "person-1", "round": "round-1"}),
        Order(4, "hold", {"id": "id-3", "by": "person-2", "reason": "reason-1"}),
    ] == list(anonymous(tmp_path, *orders).entries)


@pytest.mark.parametrize(
    ("args", "becomes"),
    [
        ({"id": ""}, {"id": ""}),
        ({"id": "i" * 65}, {"id": "x" * 65}),
        ({"id": ["mine"], "by": {"name": "maria"}}, {"id": [], "by": {}}),
        ({"by": "", "reason": ""}, {"by": "", "reason": ""}),
        ({"by": 7, "round": 9}, {"by": 7, "round": 9}),
        ({"round": "with spaces"}, {"round": ""}),
        ({"round": "r" * 65}, {"round": ""}),
        ({"round": "tp-01/58"}, {"round": "table-1/0"}),
        ({"slot": "A1", "card": "TD"}, {"slot": "A1", "card": "TD"}),
        ({"slot": "all"}, {"slot": "all"}),
        ({"slot": "maria's", "card": "hers"}, {"slot": "none", "card": "none"}),
        ({"from": 3, "to": "maria"}, {"from": 3, "to": ""}),
        ({"expires": "soon"}, {"expires": "never"}),
        ({"expires": "2026-11-30T02:45:10Z"}, {"expires": "2000-01-01T00:00:10+00:00"}),
        ({"expires": "0001-01-01T00:00:00Z"}, {"expires": "1970-01-01T00:00:00+00:00"}),
    ],
)
def test_what_was_refused_for_its_form_is_refused_again(
    tmp_path: Path, args: dict[str, object], becomes: dict[str, object]
) -> None:
    """A value that no command may have becomes another of that kind; what says the deal stays as it was."""
    assert [Order(1, "enter", becomes)] == list(anonymous(tmp_path, Order(1, "enter", args)).entries)


def test_an_unknown_command_stays_unknown(tmp_path: Path) -> None:
    """The name of a command that there is not may be anybody's word, and goes."""
    assert [Order(1, "unknown", {})] == list(anonymous(tmp_path, Order(1, "maria", {})).entries)


@pytest.mark.parametrize(
    ("detail", "becomes"),
    [
        (None, None),
        ("/dev/serial/by-id/usb-Zebra_S12345-if00: Input/output error", "Input/output error"),
        ("EIO", "EIO"),
        ("Maria pulled it", None),
    ],
)
def test_a_loss_keeps_its_cause_and_not_its_device(tmp_path: Path, detail: str | None, becomes: str | None) -> None:
    """What the system said names ports and serial numbers: only the cause is kept."""
    (link,) = anonymous(tmp_path, Link(1, "desk", up=False, detail=detail)).entries
    assert Link(1, "scanner-1", up=False, detail=becomes) == link


# --- the command ------------------------------------------------------------------------------------------------


def test_a_codebook_goes_along_without_its_name_and_remarks(tmp_path: Path) -> None:
    """The codes of the deck stay, for without them nothing is decoded; the deck's name and the file's remarks go."""
    target = tmp_path / "a.scanlog"
    assert Exit.WELL == run(["scanlog", "anonymise", str(FOLDER / "clean-rfid.scanlog"), "-o", str(target), "--expect"])
    book = tmp_path / "a.codes.toml"
    was = read_codebook(FOLDER / "rfid-deck.toml")
    assert ("deck", was.digest) == (read_codebook(book).name, read_codebook(book).digest)
    assert [] == [line for line in book.read_text().splitlines() if "#" in line or was.name in line]
    assert Exit.WELL == run(["verify", str(tmp_path)])


def test_a_codebook_needs_a_file_to_stand_beside(capsys: pytest.CaptureFixture[str]) -> None:
    """Where a codebook has to go along, standard output will not do: it would name the studio's own file."""
    assert Exit.USAGE == run(["scanlog", "anonymise", str(FOLDER / "clean-rfid.scanlog")])
    assert "name the recording with -o" in capsys.readouterr().err


def test_who_may_know_gets_the_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --names the studio keeps what each name has become; a file that is there is not written over."""
    recording = write(tmp_path / "a.scanlog", *CARDS, {"t": 9, "command": "void", "args": {"id": "i", "by": "maria"}})
    names = tmp_path / "names.json"
    command = ["scanlog", "anonymise", str(recording), "--names", str(names)]
    assert Exit.WELL == run([*command, "-o", str(tmp_path / "b.scanlog")])
    assert {
        "table tp-01": "table-1",
        "scanner desk": "scanner-1",
        "id i": "id-1",
        "person maria": "person-1",
    } == json.loads(names.read_text())
    assert Exit.USAGE == run(command)
    assert "names.json is there already" in capsys.readouterr().err
    for other in (recording, tmp_path / "c.scanlog"):
        assert Exit.USAGE == run([*command[:3], "--names", str(other), "--force", "-o", str(tmp_path / "c.scanlog")])
        assert "is what is read" in capsys.readouterr().err
