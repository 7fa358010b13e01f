"""Pictures of a deal: what they show, and that words lie on nothing."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from scannerd.cli import run
from scannerd.editing.labels import ABOVE, BELOW, MIDDLE, Box, Labels, Spot
from scannerd.editing.plotting import draw
from scannerd.editing.scenes import Mark, Scene, Span, scenes
from scannerd.editing.tape import load
from scannerd.editing.timescale import Timescale
from scannerd.errors import Exit
from scannerd.registry import Registry
from tests.small_recordings import CARDS, HEADER, read, write

REGISTRY = Registry()
FOLDER = Path(__file__).parent / "recordings"
RECORDINGS = sorted(FOLDER.glob("*.scanlog"))


def of(path: Path) -> list[Scene]:
    """The scenes of a recording."""
    return scenes(load(path, print), REGISTRY)


@cache
def picture(name: str) -> Figure:
    """The picture of a recording of the corpus."""
    tape = load(FOLDER / f"{name}.scanlog", print)
    return draw(tape.header, name, scenes(tape, REGISTRY))


def words(figure: Figure) -> list[str]:
    """All words in a picture."""
    found: list[object] = list(figure.findobj(Text))
    return [text.get_text() for text in found if isinstance(text, Text)]


# --- scenes -----------------------------------------------------------------------------------------------------


def test_a_scene_holds_what_was_dealt_and_what_was_waited_for(tmp_path: Path) -> None:
    """A round's cards, refusals and commands are marks; the slot that was due is a span, by what was asked for."""
    recording = write(
        tmp_path / "a.scanlog",
        {"t": 0.5, "command": "open", "args": {"id": "c", "by": "engine", "round": "r-1"}},
        read(1, "AS"),
        read(2, "NOREAD"),
        {"t": 3, "scanner": "desk", "event": "down"},
        {"t": 4, "scanner": "desk", "event": "up"},
        read(5, "AS"),
        {"t": 6, "command": "hold", "args": {"id": "d", "by": "sup-1", "reason": "face down"}},
        {"t": 8, "command": "void", "args": {"id": "e", "by": "sup-1", "reason": "misdeal"}},
        {"t": 9, "end": True},
        header=HEADER | {"round": {"start": "command", "bounce_ms": 0}},
    )
    (scene,) = of(recording)
    s = 1_000_000
    assert ("r-1", s // 2, 8 * s) == (scene.round, scene.begin, scene.end)
    assert [
        Mark(s // 2, "command", None, "open"),
        Mark(s, "accepted", "A1", "AS"),
        Mark(2 * s, "rejected", "B1", "", "no_read"),
        Mark(5 * s, "rejected", "B1", "AS", "duplicate"),
        Mark(6 * s, "command", None, "hold face down"),
        Mark(6 * s, "held", None, "face down"),
        Mark(8 * s, "command", None, "void misdeal"),
        Mark(8 * s, "voided", None, "misdeal"),
    ] == list(scene.marks)
    assert [
        Span(s // 2, s, "A1", "deal"),
        Span(s, 2 * s, "B1", "deal"),
        Span(2 * s, 3 * s, "B1", "rescan"),
        Span(3 * s, 4 * s, "B1", "away"),
        Span(3 * s, 4 * s, "desk", "away"),
        Span(4 * s, 6 * s, "B1", "rescan"),
        Span(6 * s, 8 * s, "B1", "held"),
    ] == list(scene.spans)


def test_a_card_that_was_withdrawn_is_marked_where_it_was_accepted() -> None:
    """A withdrawn card is crossed out where it lies in the picture, with the reason."""
    (scene,) = of(FOLDER / "duplicate-then-rescan.scanlog")
    withdrawn = [mark for mark in scene.marks if mark.kind == "withdrawn"]
    assert [(1_500_000, "A1", "7H", "rescan")] == [(mark.at, mark.slot, mark.text, mark.reason) for mark in withdrawn]
    assert "duplicate of A1" in {mark.reason for mark in scene.marks}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_every_moment_of_a_recording_is_in_one_scene(recording: Path) -> None:
    """Rounds follow each other, and each shows its own time and nothing of another's."""
    found = of(recording)
    assert all(one.end <= other.begin for one, other in pairwise(found))
    for scene in found:
        assert all(scene.begin <= mark.at <= scene.end for mark in scene.marks)
        assert all(scene.begin <= span.begin < span.end <= scene.end for span in scene.spans)


def test_a_recording_without_a_round_is_one_scene(tmp_path: Path) -> None:
    """What came without any round is shown too."""
    header = HEADER | {"round": {"start": "command"}}
    (scene,) = of(write(tmp_path / "a.scanlog", *CARDS, header=header))
    assert (None, 2) == (scene.round, len(scene.marks))


# --- the scale of time ------------------------------------------------------------------------------------------


def test_a_long_silence_is_drawn_short() -> None:
    """Above ten seconds a silence takes the place of three, and its length is told; others keep their measure."""
    scale = Timescale([10, 12, 60, 61.5])
    assert [0, 2, 5, 6.5] == [scale.place(time) for time in (10, 12, 60, 61.5)]
    assert [(3.5, 48)] == scale.breaks
    assert [-1, 3.5, 8] == [scale.place(time) for time in (9, 36, 63)]
    assert 6.5 == scale.width


def test_times_are_told_at_round_seconds_outside_silences() -> None:
    """The axis names round seconds, never within a silence that is drawn short, and never too many."""
    assert [10, 10.5, 11, 11.5, 12, 60, 60.5, 61, 61.5] == Timescale([10, 12, 60, 61.5]).ticks()
    assert [0] == Timescale([0, 100]).ticks()[:1]
    assert 16 >= len(Timescale(range(0, 600, 5)).ticks()) > 4
    assert [0] == Timescale([]).ticks()


# --- words ------------------------------------------------------------------------------------------------------


def test_words_move_away_from_what_is_drawn() -> None:
    """Words go to the middle, else below, else above, else to the other side; where nothing is free, to the last."""
    labels = Labels(-1, 10)
    spots = [labels.spot(1, 0, 0.1, 2) for _ in range(3)]
    assert [Spot(MIDDLE, leftward=False), Spot(BELOW, leftward=False), Spot(ABOVE, leftward=False)] == spots
    assert Spot(MIDDLE, leftward=True) == labels.spot(9.5, 0, 0.1, 2)
    labels.block(Box(4, 6, 1, 2))
    assert Spot(ABOVE, leftward=True) == labels.spot(5, 1, 0.1, 1)
    assert Spot(MIDDLE, leftward=False) == labels.spot(1, 1, 0.1, 1)


# --- the picture ------------------------------------------------------------------------------------------------


def test_a_picture_names_cards_and_reasons() -> None:
    """Cards are shown as people write them, refusals and what ended the round with their reasons."""
    shown = words(picture("duplicate-then-rescan"))
    for wanted in ("7♥", "10♣", "7♥ duplicate of A1", "withdrawn: rescan", "rescan A1 misread", "complete"):
        assert wanted in shown
    assert any(text.startswith("Round r-9") and "1 refused" in text for text in shown)


@pytest.mark.parametrize("name", ["hold-void-late-scan", "manual-entry", "stalled-deal"])
def test_words_of_a_picture_lie_within_it(name: str) -> None:
    """Whatever is drawn, its words are within the picture."""
    figure = picture(name)
    figure.draw_without_rendering()
    inside = figure.bbox.padded(1)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert inside.contains(box.x0, box.y0), text.get_text()
            assert inside.contains(box.x1, box.y1), text.get_text()


def test_a_lane_is_there_only_for_what_happened() -> None:
    """The broker and each scanner have a lane where they were away, and so have reads that no slot was due for."""
    assert "broker" in words(picture("broker-lost"))
    clean = words(picture("clean-line"))
    assert not {"broker", "no slot", "desk", "shoe"} & set(clean)
    assert {"no slot", "commands"} <= set(words(picture("hold-void-late-scan")))


def plot(*arguments: str | Path) -> int:
    """Runs the command."""
    return run(["scanlog", "plot", *map(str, arguments)])


def test_the_same_recording_gives_the_same_picture(tmp_path: Path) -> None:
    """A picture is made of its recording alone: drawn again it has the same bytes."""
    recording = FOLDER / "multi-read.scanlog"
    for name in ("a.svg", "b.svg", "a.png"):
        assert Exit.WELL == plot(recording, "-o", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_rounds_may_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many rounds the first ones are drawn, which is told; others are named by their ids."""
    sixes = [read(20 * number + place, code) for number in range(9) for place, code in enumerate(("AS", "KH"), start=1)]
    voids = [{"t": 20 * number + 9, "command": "void", "args": {"id": f"c{number}"}} for number in range(9)]
    recording = write(tmp_path / "a.scanlog", *sorted([*sixes, *voids], key=lambda entry: float(str(entry["t"]))))
    assert Exit.WELL == plot(recording, "-o", tmp_path / "a.svg")
    assert "9 rounds, of which the first 8 are drawn; --round draws others" in capsys.readouterr().err
    assert Exit.WELL == plot(recording, "-o", tmp_path / "b.svg", "--round", "tp-01/9")
    assert "drawn" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-o", "a.gif"), "a picture ends in .svg, .png, .pdf"),
        (("-o", "there.svg"), "there.svg is there already; --force writes over it"),
        (("-o", "b.svg", "--round", "r-9"), "there is no round 'r-9'; see `scannerd scanlog show"),
        (("-o", "none/b.svg"), "none/b.svg: No such file or directory"),
    ],
)
def test_a_picture_that_cant_be_made_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """A wrong wish ends with 2 and one line."""
    recording = write(tmp_path / "a.scanlog", *CARDS)
    (tmp_path / "there.svg").write_text("kept")
    placed = [str(tmp_path / one) if "." in one else one for one in arguments]
    assert Exit.USAGE == plot(recording, *placed)
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert told in said.err
    assert "kept" == (tmp_path / "there.svg").read_text()
