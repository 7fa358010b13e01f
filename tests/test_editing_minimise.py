"""The smallest recording that still shows one thing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.core.cards import DECK
from scannerd.editing.expectation import DiffersFromExpected
from scannerd.editing.minimising import Minimiser
from scannerd.editing.sameness import Keeps, Shown
from scannerd.editing.tape import Tape, happenings, load, written
from scannerd.errors import Exit, UsageError
from scannerd.registry import Registry
from scannerd.scanlog import Chunk
from scannerd.verify.expected import Expected
from tests.small_recordings import HEADER, read, write, write_lines

REGISTRY = Registry()
ROUNDS = 6
TABLE = """[table]
id = "tp-02"
[[scanner]]
name = "desk"
driver = "line"
url = "/dev/null"
[round]
start = "auto"
"""


def deal(path: Path, *more: dict[str, object], header: dict[str, object] | None = None) -> Path:
    """A recording of some rounds, 20 s each, with misreads, and more entries at their times."""
    entries: list[dict[str, object]] = list(more)
    for number in range(ROUNDS):
        cards = DECK[6 * number : 6 * number + 6]
        entries += [read(20 * number + 1 + 2 * place, card) for place, card in enumerate(cards)]
        entries.append(read(20 * number + 4, "NOREAD"))
    entries.append({"t": 20 * ROUNDS, "end": True})
    return write(path, *sorted(entries, key=lambda entry: float(str(entry["t"]))), header=header)


def told(tape: Tape) -> list[dict[str, object]]:
    """The events of a recording."""
    return [one.line for one in happenings(tape, REGISTRY)]


def expect(path: Path, tape: Tape, change: int, *lines: dict[str, object]) -> Expected:
    """The events of a recording as a file, the one at a place exchanged for others."""
    events = told(tape)
    events[change : change + 1] = lines
    return Expected(write_lines(path, map(json.dumps, events)))


def codes(tape: Tape) -> list[str]:
    """The codes that are left in a recording of lines."""
    return [entry.data.decode().strip() for entry in tape.entries if isinstance(entry, Chunk)]


def kinds(tape: Tape) -> list[object]:
    """The types of the events that a recording gives."""
    return [line["type"] for line in told(tape)]


# --- events to keep ---------------------------------------------------------------------------------------------


def test_what_a_reason_does_not_need_is_left_out(tmp_path: Path) -> None:
    """Of six rounds those two reads are left that came too soon after each other."""
    tape = load(deal(tmp_path / "a.scanlog", read(45.05, "9C")), print)
    shown = Minimiser(Keeps(tape, ["multi_read"], REGISTRY)).smallest(tape)
    assert [DECK[14], "9C"] == codes(shown.tape)
    assert [0, 50_000, 50_000] == [entry.t for entry in shown.tape.entries]
    assert 45 == (shown.tape.header.recorded_at - tape.header.recorded_at).total_seconds()
    assert told(shown.tape) == shown.expected


def test_several_events_are_kept_together(tmp_path: Path) -> None:
    """Types, reasons and alarms may be asked for at once, and all of them are still told."""
    tape = load(deal(tmp_path / "a.scanlog", read(130, "AS"), {"t": 170, "end": True}), print)
    shown = Minimiser(Keeps(tape, ["round_completed", "no_read", "stalled"], REGISTRY)).smallest(tape)
    assert {"round_completed", "scan_rejected", "alarm_raised"} <= set(kinds(shown.tape))
    assert 8 == len(codes(shown.tape))


def test_no_single_entry_more_can_be_left_out(tmp_path: Path) -> None:
    """Of what is left nothing can go without losing what is to be shown; the same is left each time."""
    tape = load(deal(tmp_path / "a.scanlog", read(63, DECK[18])), print)
    question = Keeps(tape, ["duplicate"], REGISTRY)
    shown = Minimiser(question).smallest(tape)
    entries = shown.tape.entries
    assert 3 == len(entries)
    for number in range(len(entries) - 1):
        assert question.shown_by(tape.with_entries([*entries[:number], *entries[number + 1 :]])) is None
    assert written(shown.tape) == written(Minimiser(question).smallest(tape).tape)


def test_a_word_that_is_not_told_is_answered_with_those_that_are(tmp_path: Path) -> None:
    """What can't be kept since it never came is an error that says what could be."""
    tape = load(deal(tmp_path / "a.scanlog"), print)
    with pytest.raises(UsageError, match=r"'stalled' is not told; told are: card_accepted, no_read, round_completed, "):
        Keeps(tape, ["stalled"], REGISTRY)
    with pytest.raises(UsageError, match="told are: no events"):
        Keeps(tape.with_entries([]), ["stalled"], REGISTRY)


def test_a_bound_ends_the_search_with_what_was_found(tmp_path: Path) -> None:
    """After so many entries replayed the smallest recording so far is handed over, and it is known not to be done."""
    tape = load(deal(tmp_path / "a.scanlog", read(45.05, "9C")), print)
    seen: list[tuple[int, int]] = []
    short = Minimiser(Keeps(tape, ["multi_read"], REGISTRY), 10, lambda left, tries: seen.append((left, tries)))
    shown = short.smallest(tape)
    assert not short.done
    assert "multi_read" in json.dumps(shown.expected)
    assert 2 < len(codes(shown.tape)) < len(codes(tape))
    assert list(range(1, short.tried + 1)) == [tries for _, tries in seen]
    assert short.replayed == sum(left for left, _ in seen)


# --- a difference from what is expected -------------------------------------------------------------------------


def minimal(tape: Tape, expected: Expected) -> Shown:
    """The smallest recording with the same difference."""
    return Minimiser(DiffersFromExpected(tape, expected, REGISTRY)).smallest(tape)


def place(tape: Tape, kind: str, count: int) -> int:
    """Where in the events the one of a type is that has this number, from 1."""
    return [number for number, one in enumerate(told(tape)) if one["type"] == kind][count - 1]


def test_an_event_that_is_told_otherwise_stays_so(tmp_path: Path) -> None:
    """The one wrong event is left with what it needs, and the expected file with the lines that go with it."""
    tape = load(deal(tmp_path / "a.scanlog"), print)
    at = place(tape, "card_accepted", 15)
    wrong = told(tape)[at] | {"data": {"slot": "A2", "card": "2C"}}
    shown = minimal(tape, expect(tmp_path / "x.jsonl", tape, at, wrong))
    assert ["round_opened", "card_accepted", "card_accepted", "scan_rejected", "card_accepted"][
        : len(shown.expected)
    ] == [line["type"] for line in shown.expected]
    assert {"slot": "A2", "card": "2C"} == shown.expected[-1]["data"]
    assert shown.expected[:-1] == told(shown.tape)[:-1]
    assert "A2" in json.dumps(told(shown.tape)[-1])
    assert {"tp-01/1"} == {line["round"] for line in shown.expected}


def test_an_event_that_was_not_expected_stays(tmp_path: Path) -> None:
    """An event too many is left as the last one, and nothing is expected in its place."""
    tape = load(deal(tmp_path / "a.scanlog", read(45.05, "9C")), print)
    shown = minimal(tape, expect(tmp_path / "x.jsonl", tape, place(tape, "card_withdrawn", 1)))
    assert ["card_withdrawn", "scan_rejected"] == kinds(shown.tape)[-2:]
    assert shown.expected == [*told(shown.tape)[:-2], told(shown.tape)[-1]]
    assert 5 >= len(codes(shown.tape))


def test_an_event_that_is_missing_keeps_what_it_should_have_come_from(tmp_path: Path) -> None:
    """Where an expected event is not told, the read at its time stays, for without it nobody would expect it."""
    tape = load(deal(tmp_path / "a.scanlog", read(41.2, DECK[12])), print)
    bounce: dict[str, object] = {
        "t": 41.2,
        "type": "scan_rejected",
        "round": "tp-01/3",
        "data": {"reason": "duplicate"},
    }
    at = place(tape, "card_accepted", 13)
    shown = minimal(tape, expect(tmp_path / "x.jsonl", tape, at, told(tape)[at], bounce))
    assert [DECK[12]] * 2 == codes(shown.tape)
    assert ["round_opened", "card_accepted"] == kinds(shown.tape)
    assert bounce | {"t": 0.2, "round": "tp-01/1"} == shown.expected[-1]


@pytest.mark.parametrize("missing", ["card_withdrawn", "scan_rejected"])
def test_what_is_small_is_as_expected_once_the_difference_is_mended(tmp_path: Path, missing: str) -> None:
    """Of two events of one read one is missing from what is told: the other one stays expected, and told."""
    tape = load(deal(tmp_path / "a.scanlog", read(45.05, "9C")), print)
    right = told(tape)
    withdrawn = place(tape, "card_withdrawn", 1)
    at = withdrawn if missing == "card_withdrawn" else withdrawn + 1
    extra = right[at] | {"data": right[at]["data"], "type": "scanner_down"}
    both = Expected(write_lines(tmp_path / "x.jsonl", map(json.dumps, [*right[:at], extra, *right[at:]])))
    shown = minimal(tape, both)
    assert ["card_withdrawn", "scan_rejected", "scanner_down"] == sorted(
        str(line["type"]) for line in shown.expected[-3:]
    )
    assert told(shown.tape) == [line for line in shown.expected if line["type"] != "scanner_down"]


def test_a_file_of_prompts_is_no_answer(tmp_path: Path) -> None:
    """A file that holds prompts only is refused: what is compared is events."""
    tape = load(deal(tmp_path / "a.scanlog"), print)
    with pytest.raises(UsageError, match="holds prompts only"):
        minimal(tape, Expected(write_lines(tmp_path / "x.jsonl", ['{"t":0,"prompt":{"code":"wait"}}'])))


def test_a_file_that_ends_too_soon_is_a_difference(tmp_path: Path) -> None:
    """What is told behind the last expected event is the difference; a file without a difference is an error."""
    tape = load(deal(tmp_path / "a.scanlog"), print)
    last = len(told(tape)) - 1
    assert "round_completed" == kinds(minimal(tape, expect(tmp_path / "x.jsonl", tape, last)).tape)[-1]
    with pytest.raises(UsageError, match="there is no difference from "):
        minimal(tape, expect(tmp_path / "y.jsonl", tape, last, told(tape)[last]))


def test_an_event_that_is_expected_behind_the_end_is_missing(tmp_path: Path) -> None:
    """A recording is not drawn out to the time of an event that it ends before."""
    tape = load(write(tmp_path / "a.scanlog", read(1, "AS"), read(2, "KH")), print)
    late: dict[str, object] = {"t": 500, "type": "alarm_raised", "round": "tp-01/1", "data": {"alarm": "stalled"}}
    shown = minimal(tape, expect(tmp_path / "x.jsonl", tape, len(told(tape)), late))
    assert told(shown.tape) == shown.expected[:-1]
    assert late | {"t": 499} == shown.expected[-1]
    assert 1_000_000 == shown.tape.end


def test_rounds_with_ids_of_an_engine_are_told_apart(tmp_path: Path) -> None:
    """Ids that an engine gave stay as they are, and rounds between two that matter are left out."""
    header = HEADER | {"round": {"start": "command"}}
    opens = [
        {"t": 20 * number + 0.5, "command": "open", "args": {"id": f"c{number}", "round": f"r-{number}"}}
        for number in range(ROUNDS)
    ]
    tape = load(deal(tmp_path / "a.scanlog", *opens, header=header), print)
    at = place(tape, "round_completed", 4)
    wrong = told(tape)[at] | {"data": {"rejections": 9}}
    shown = minimal(tape, expect(tmp_path / "x.jsonl", tape, at, wrong))
    assert {"r-3"} == {line["round"] for line in shown.expected}
    assert 7 == len(codes(shown.tape))


# --- the command ------------------------------------------------------------------------------------------------


def minimise(*arguments: str | Path) -> int:
    """Runs the command."""
    return run(["scanlog", "minimise", *map(str, arguments)])


def test_a_difference_becomes_a_small_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a recording with its expected events, nothing need be said: the pair that is made fails as it did."""
    recording = deal(tmp_path / "a.scanlog", header=HEADER | {"round": {"start": "auto", "max_attempts": 1}})
    right = load(deal(tmp_path / "right.scanlog"), print)
    write_lines(tmp_path / "a.expected.jsonl", map(json.dumps, told(right)))
    small = tmp_path / "small.scanlog"
    assert Exit.WELL == minimise(recording, "-o", small, "--expect")
    assert "43 entries are now 4, after " in capsys.readouterr().err
    assert Exit.DIFFERENCE == run(["verify", str(small)])
    assert "round_held" in capsys.readouterr().out


def test_a_configuration_that_decides_otherwise_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --against FILE.toml what is left is the first event that the configuration would decide otherwise."""
    recording = deal(tmp_path / "a.scanlog", read(45.05, "9C"))
    (tmp_path / "new.toml").write_text(TABLE + "min_gap_ms = 10\nmax_attempts = 0\nstall_ms = 0\n")
    small = tmp_path / "small.scanlog"
    command = (recording, "--against", tmp_path / "new.toml", "-o", small)
    assert Exit.WELL == minimise(*command)
    first = load(small, print)
    assert "round_completed" == kinds(first)[-1]  # min_gap_ms later
    assert 7 == len(codes(first))
    (tmp_path / "new.toml").write_text(TABLE + "max_attempts = 1\n")
    assert Exit.WELL == minimise(*command, "--force")
    assert [DECK[1], "NOREAD"] == codes(load(small, print))
    (tmp_path / "new.toml").write_text(TABLE)
    assert Exit.USAGE == minimise(*command, "--force")
    assert "both tables decide the same" in capsys.readouterr().err
    (tmp_path / "new.toml").write_text(TABLE.replace("desk", "shoe"))
    assert Exit.USAGE == minimise(*command, "--force")
    assert "scanner 'desk' of the recording is not in the configuration, there: shoe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--keep", "no_read", "--against", "x.jsonl"), "ask one"),
        ((), "a.expected.jsonl is not there: name what to keep, with --against or --keep"),
        (("--against", "none.jsonl"), "none.jsonl: No such file"),
        (("--keep", "stalled"), "'stalled' is not told"),
        (("--keep", "no_read", "-o", "a.scanlog"), "a recording is never written over"),
        (
            ("--against", "b.expected.jsonl", "-o", "b.scanlog", "--expect", "--force"),
            "b.expected.jsonl is what is read",
        ),
    ],
)
def test_a_question_that_cant_be_answered_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """A wrong question ends with 2 and one line."""
    recording = deal(tmp_path / "a.scanlog")
    placed = [str(tmp_path / one) if "." in one else one for one in arguments]
    assert Exit.USAGE == minimise(recording, *placed)
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert told in said.err


def test_a_search_that_was_ended_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a bound that is too small the result is told to be perhaps not the smallest."""
    recording = deal(tmp_path / "a.scanlog")
    assert Exit.WELL == minimise(recording, "--keep", "no_read", "--most", "1", "-o", tmp_path / "b.scanlog")
    assert "--most ended it: there may be a smaller one" in capsys.readouterr().err
