"""Pieces of recordings that stand alone: of a span of time, or of a round, with all that led to its events."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.editing.cutting import cut
from scannerd.editing.tape import Tape, happenings, load
from scannerd.editing.trimming import dealt_at, moment, to_round, to_span
from scannerd.errors import Exit, UsageError
from scannerd.registry import Registry
from scannerd.scanlog import Broker, Chunk, End, Link, Order
from tests.small_recordings import CARDS, HEADER, read, write

REGISTRY = Registry()
RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.scanlog"))
SIX = tuple(read(number, code) for number, code in enumerate(("AS", "KH", "2C", "3D", "4H", "5S"), start=1))


def events(tape: Tape, round_id: object) -> list[tuple[object, object]]:
    """Type and data of a round's events."""
    return [(one.line["type"], one.data) for one in happenings(tape, REGISTRY) if one.line["round"] == round_id]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_every_round_stands_alone(recording: Path) -> None:
    """Each round of each recording, trimmed to, replays to the events that it had in the whole."""
    tape = load(recording, print)
    rounds = {one.line["round"] for one in happenings(tape, REGISTRY)} - {None}
    for round_id in rounds:
        piece = to_round(tape, str(round_id), REGISTRY)
        assert events(tape, round_id) == events(piece, round_id)


def test_a_round_is_found_again_behind_others_and_keeps_its_id(tmp_path: Path) -> None:
    """A late round comes without the ones before it, and its id still counts them."""
    later = [read(20 + number, code) for number, code in enumerate(("6S", "7S", "8S", "9S", "TS", "JS"))]
    tape = load(write(tmp_path / "a.scanlog", *SIX, *later), print)
    piece = to_round(tape, "tp-01/2", REGISTRY)
    assert 1 == piece.header.rounds_before
    assert 6 == sum(isinstance(entry, Chunk) for entry in piece.entries)
    assert events(tape, "tp-01/2") == events(piece, "tp-01/2")
    assert [] == events(piece, "tp-01/1")


def test_a_round_brings_the_half_frame_that_it_began_with(tmp_path: Path) -> None:
    """The bytes that came before the moment of the opening, but belong to its card, are kept."""
    half = ({"t": 0.9, "scanner": "desk", "rx": "A"}, {"t": 1, "scanner": "desk", "rx": "S\r\n"})
    tape = load(write(tmp_path / "a.scanlog", *half, read(2, "KH")), print)
    piece = to_round(tape, "tp-01/1", REGISTRY)
    assert ["A", "S\r\n", "KH\r\n"] == [entry.data.decode() for entry in piece.entries if isinstance(entry, Chunk)]


def test_a_round_brings_the_card_that_still_lay_there(tmp_path: Path) -> None:
    """A read that was a bounce of the one before the round stays a bounce: the piece reaches back so far."""
    header = HEADER | {"round": {"start": "command", "bounce_ms": 2_000}}
    lying = (read(1, "AS"), read(2, "AS"), {"t": 2.5, "command": "open", "args": {"id": "c", "round": "r-1"}})
    tape = load(write(tmp_path / "a.scanlog", *lying, read(3, "AS"), read(4, "KH"), header=header), print)
    piece = to_round(tape, "r-1", REGISTRY)
    assert ["round_opened", "card_accepted"] == [kind for kind, _ in events(piece, "r-1")]


def test_a_round_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    """A wrong id is answered with the ids of the recording, or that it has no round."""
    tape = load(write(tmp_path / "a.scanlog", *CARDS), print)
    with pytest.raises(UsageError, match=r"a\.scanlog: there is no round 'r-9'; there: tp-01/1"):
        to_round(tape, "r-9", REGISTRY)
    with pytest.raises(UsageError, match="no round is opened in it"):
        to_round(tape.with_entries([]), "r-9", REGISTRY)


def test_a_span_begins_with_what_stood_then(tmp_path: Path) -> None:
    """A scanner and a broker that were lost before the span are lost at its start, and not those that were back."""
    entries = (
        Link(1, "desk", up=False, detail="EIO"),
        Broker(2, up=False),
        Broker(3, up=True),
        Chunk(4_000, "desk", b"x"),
    )
    tape = load(write(tmp_path / "a.scanlog"), print).with_entries(entries)
    assert [Link(0, "desk", up=False, detail="EIO"), Chunk(0, "desk", b"x"), End(1_000)] == list(
        cut(tape, 4_000, 5_000).entries
    )


def test_a_command_that_repeats_an_id_from_before_stays_without_effect(tmp_path: Path) -> None:
    """A command whose id came before the span did nothing, and is left out, for alone it would be carried out."""
    entries = (Order(1_000, "open", {"id": "c"}), Order(2_000, "open", {"id": "c"}), Order(3_000, "void", {"id": "d"}))
    tape = load(write(tmp_path / "a.scanlog"), print).with_entries(entries)
    assert [Order(1_000, "void", {"id": "d"}), End(1_000)] == list(cut(tape, 2_000, 3_000).entries)
    assert [
        Order(0, "open", {"id": "c"}),
        *(replace(entry, t=entry.t - 1_000) for entry in entries[1:]),
        End(2_000),
    ] == [*cut(tape, 1_000, 3_000).entries]


def test_a_span_is_cut_where_it_is_said(tmp_path: Path) -> None:
    """A span keeps its entries, the wall clock at its start, and how many rounds came before."""
    tape = load(write(tmp_path / "a.scanlog", *SIX, read(20, "6S"), read(21, "7S")), print)
    span = to_span(tape, 19_500_000, 20_500_000, REGISTRY)
    assert [Chunk(500_000, "desk", b"6S\r\n"), End(1_000_000)] == list(span.entries)
    assert 1 == span.header.rounds_before
    assert 19.5 == (span.header.recorded_at - tape.header.recorded_at).total_seconds()
    assert ["tp-01/2"] * 2 == [one.line["round"] for one in happenings(span, REGISTRY)]


def test_the_round_that_a_cut_would_split_is_named(tmp_path: Path) -> None:
    """At any moment it is known whether a round is being dealt."""
    tape = load(write(tmp_path / "a.scanlog", *SIX, {"t": 9, "end": True}), print)
    assert [None, "tp-01/1", "tp-01/1", None] == [
        dealt_at(tape, t, REGISTRY) for t in (1_000_000, 1_000_001, 6_000_000, 9_000_000)
    ]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("12.5", 12_500_000),
        ("0", 0),
        ("-3", 0),
        ("2026-11-30T02:45:07Z", 7_000_000),
        ("2026-11-30T02:45:07", 7_000_000),
        ("2026-11-30T08:15:07+05:30", 7_000_000),
        ("2026-11-29", 0),
    ],
)
def test_a_moment_is_seconds_or_a_time_of_day(tmp_path: Path, text: str, at: int) -> None:
    """A place in a recording may be told in seconds from its start, or as a date and time."""
    assert at == moment(load(write(tmp_path / "a.scanlog"), print), text)


# --- the command ------------------------------------------------------------------------------------------------


def trim(*arguments: str | Path) -> int:
    """Runs the command."""
    return run(["scanlog", "trim", *map(str, arguments)])


def test_a_round_becomes_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`trim --round --expect` writes a recording and the events that it gives, which `verify` finds to be so."""
    recording = write(tmp_path / "a.scanlog", *SIX, {"t": 9, "end": True})
    assert Exit.WELL == trim(recording, "--round", "tp-01/1", "--expect", "-o", tmp_path / "b.scanlog")
    assert f"{tmp_path / 'b.scanlog'}: 7 entries, 5.15 s\n" in capsys.readouterr().err
    assert Exit.WELL == run(["verify", str(tmp_path / "b.scanlog")])
    expected = [json.loads(line) for line in (tmp_path / "b.expected.jsonl").read_text().splitlines()]
    assert ["round_opened", *["card_accepted"] * 6, "round_completed"] == [line["type"] for line in expected]


def test_a_recording_takes_its_codebook_along(tmp_path: Path) -> None:
    """A recording of a deck with codes of its own finds its codebook in the folder that it is written to."""
    source = Path(__file__).parent / "recordings" / "clean-rfid.scanlog"
    target = tmp_path / "cut.scanlog"
    assert Exit.WELL == trim(source, "--from", "0", "--expect", "-o", target)
    book = tmp_path / "cut.codes.toml"
    assert (source.parent / "rfid-deck.toml").read_bytes() == book.read_bytes()
    assert Exit.WELL == run(["verify", str(tmp_path)])
    book.write_text("another")
    assert Exit.USAGE == trim(source, "--from", "0", "-o", tmp_path / "other" / ".." / "cut.scanlog")


def test_a_codebook_that_is_there_already_is_not_copied(tmp_path: Path) -> None:
    """A recording that is written beside its codebook goes on using it."""
    for name in ("clean-rfid.scanlog", "rfid-deck.toml"):
        shutil.copy(Path(__file__).parent / "recordings" / name, tmp_path)
    assert Exit.WELL == trim(tmp_path / "clean-rfid.scanlog", "--from", "0", "-o", tmp_path / "b.scanlog")
    assert {"clean-rfid.scanlog", "rfid-deck.toml", "b.scanlog"} == {path.name for path in tmp_path.iterdir()}


def test_another_codebook_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the name that the codebook's copy would have stays, unless it is the same or --force is given."""
    source = Path(__file__).parent / "recordings" / "clean-rfid.scanlog"
    (tmp_path / "b.codes.toml").write_text("another")
    assert Exit.USAGE == trim(source, "--from", "0", "-o", tmp_path / "b.scanlog")
    assert "b.codes.toml is there already and is another one" in capsys.readouterr().err
    assert Exit.WELL == trim(source, "--from", "0", "-o", tmp_path / "b.scanlog", "--force")
    assert Exit.WELL == trim(source, "--from", "1", "-o", tmp_path / "b.scanlog", "--force")


def test_a_game_of_the_tables_own_is_taken_along(tmp_path: Path) -> None:
    """A recording of a game that does not come with scannerd brings its plan."""
    (tmp_path / "here" / "games").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "games" / "two-up.toml").write_text('title = "2"\nhands = ["A", "B"]\norder = ["A1", "B1"]\n')
    source = write(tmp_path / "here" / "a.scanlog", *CARDS, header=HEADER | {"game": "two-up"})
    assert Exit.WELL == trim(source, "--from", "0", "--expect", "-o", tmp_path / "there" / "b.scanlog")
    assert Exit.WELL == run(["verify", str(tmp_path / "there")])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "say what to keep"),
        (("--round", "tp-01/1", "--from", "1"), "say what to keep"),
        (("--from", "soon"), "--from: 'soon' is neither seconds"),
        (("--from", "100", "--to", "200"), "nothing is recorded from 100 to 200 s"),
        (("--from", "0", "-o", "a.scanlog"), "a recording is never written over"),
        (("--from", "0", "-o", "a.scanlog", "--force"), "a recording is never written over"),
        (("--from", "0", "-o", "there.scanlog"), "is there already; --force writes over it"),
        (("--from", "0", "-o", "new.scanlog", "--expect"), "new.expected.jsonl is there already"),
        (("--from", "0", "-o", "/dev/null", "--force"), "/dev/null is there already and is no file"),
        (("--from", "0", "--expect"), "name the recording with -o"),
        (("--from", "0", "-o", "none/b.scanlog"), "none/b.scanlog: No such file or directory"),
    ],
)
def test_what_cant_be_done_is_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """A wrong wish ends with 2 and one line; the recording and what is there stay as they are."""
    recording = write(tmp_path / "a.scanlog", *CARDS)
    for name in ("there.scanlog", "new.expected.jsonl"):
        (tmp_path / name).write_text("kept")
    placed = [str(tmp_path / one) if one.endswith("scanlog") else one for one in arguments]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert Exit.USAGE == trim(recording, *placed)
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert told.replace("none/", f"{tmp_path}/none/") in said.err
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_without_a_file_the_piece_goes_to_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Without -o the recording is written to standard output, and a round that is split is told of."""
    recording = write(tmp_path / "a.scanlog", *CARDS)
    assert Exit.WELL == trim(recording, "--from", "2")
    out, err = capfdbinary.readouterr()
    assert 3 == out.count(b"\n")
    assert b"round tp-01/1 was being dealt then and is not whole; --round tp-01/1 keeps it" in err
