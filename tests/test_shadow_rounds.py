"""Two tables on the same bytes: what is a difference, what is none, and that one costs no more than its round."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import event_lines
from scannerd.registry import Registry
from scannerd.scanlog import reading
from scannerd.shadow.rounds import KEPT, Compared, Shadow
from scannerd.shadow.sides import Place, Side
from tests.shadowing import HANDS, compared, configured, deals, differing
from tests.small_recordings import HEADER, read, write

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.scanlog"))
REGISTRY = Registry()
REFUSES_NINES = 'pattern = "(?P<code>[^9].)"'


def gist(rounds: list[Compared]) -> list[tuple[str | None, str | None, list[str], list[str]]]:
    """Every difference: its round, its slot, and what each side told, in a word each."""
    return [
        (one.round, two.slot, [each.told.TYPE for each in two.live], [each.told.TYPE for each in two.new])
        for one in rounds
        for two in one.differences
    ]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_table_is_never_other_than_itself(path: Path) -> None:
    """Whatever the driver and the faults, the same configuration decides the same, and as a replay does."""
    with reading(path, pytest.fail) as reader:
        sides = [Side(replay_of(reader.header, path, REGISTRY, lambda _: None)) for _ in range(2)]
        shadow, entries = Shadow(*sides), list(reader)
    rounds = [shadow.take(entry, Place(path, number)) for number, entry in enumerate(entries)]
    assert [] == [one for one in [*rounds, shadow.end()] if one is not None and (one.differences or one.more)]

    replay = replay_of(reader.header, path, REGISTRY, lambda _: None)
    expected = [line for taken in replay.play(iter(entries)) for line in event_lines(taken)]
    alone = Side(replay_of(reader.header, path, REGISTRY, lambda _: None))
    told = [one for entry in entries for one in alone.take(entry, Place(path, 1))]
    assert [(line["type"], line["round"]) for line in expected] == [(one.told.TYPE, one.round) for one in told]


def test_rounds_that_are_the_same_are_seen(tmp_path: Path) -> None:
    """Each round is told with its id and the time of its opening, what came before the first one ahead of them."""
    rounds = compared(write(tmp_path / "x.scanlog", *deals(*HANDS)), configured(tmp_path))
    assert [None, "tp-01/1", "tp-01/2", "tp-01/3"] == [one.round for one in rounds]
    assert [0, 1_000_000, 21_000_000, 41_000_000] == [one.at for one in rounds]
    assert [True, True, True, False] == [one.ended for one in rounds]
    assert [] == differing(rounds)


def test_a_difference_costs_no_more_than_its_round(tmp_path: Path) -> None:
    """A card that the new table refuses shifts all that follow in the round, and no card of the next one."""
    recording = write(tmp_path / "x.scanlog", *deals(*HANDS))
    rounds = compared(recording, configured(tmp_path, scanner=REFUSES_NINES))
    accepted, rejected = ["card_accepted"], ["scan_rejected"]
    assert [
        ("tp-01/2", "B2", accepted, rejected),
        ("tp-01/2", "A3", accepted, accepted),
        ("tp-01/2", "B3", accepted, accepted),
        ("tp-01/2", None, ["round_completed"], []),
    ] == gist(rounds)


def test_what_is_the_same_again_is_no_difference(tmp_path: Path) -> None:
    """A rejection that only the new table tells is one difference, and the cards behind it are the same."""
    entries = [*deals(HANDS[0]), read(1.2, "AS")]
    entries.sort(key=lambda one: float(str(one["t"])))
    rounds = compared(write(tmp_path / "x.scanlog", *entries), configured(tmp_path, rules="bounce_ms = 100"))
    assert [("tp-01/1", "B1", [], ["scan_rejected"])] == gist(rounds)


def test_a_difference_names_its_bytes_and_its_place(tmp_path: Path) -> None:
    """The first difference has the frame, the recording's line and the time of the bytes that were judged otherwise."""
    recording = write(tmp_path / "x.scanlog", *deals(*HANDS))
    first = compared(recording, configured(tmp_path, scanner=REFUSES_NINES))[2].differences[0]
    assert (b"9C\r", Place(recording, 11), 24_000_000) == (first.raw, first.first.place, first.first.at)
    assert ("10", "f5") == (first.live[0].rule.name, first.new[0].rule.name)
    last = compared(recording, configured(tmp_path, scanner=REFUSES_NINES))[2].differences[-1]
    assert b"" == last.raw


def test_a_first_card_that_is_refused_opens_no_round(tmp_path: Path) -> None:
    """Where the new table would not have opened a round, the next one is compared as if it had."""
    hands = (("9C", *HANDS[0][1:]), HANDS[1])
    rounds = compared(write(tmp_path / "x.scanlog", *deals(*hands)), configured(tmp_path, scanner=REFUSES_NINES))
    assert ("tp-01/1", "A1", ["round_opened", "card_accepted"], ["scan_rejected"]) == gist(rounds)[0]
    assert ["tp-01/1", "tp-01/2"] == differing(rounds)
    assert ("tp-01/2", "B2") == gist(rounds)[-3][:2]


def test_a_round_that_only_the_new_table_opens_is_no_round(tmp_path: Path) -> None:
    """What the new table opens before the live one does is a difference, and the live round is compared for itself."""
    header = {**HEADER, "scanners": {"desk": {"driver": "line", "pattern": "(?P<code>[^9].)"}}}
    recording = write(tmp_path / "x.scanlog", read(1, "9C"), *deals((), HANDS[0]), header=header)
    rounds = compared(recording, configured(tmp_path))
    assert [(None, None, ["scan_rejected"], ["round_opened", "card_accepted"])] == [
        (one, None, live, new) for one, _, live, new in gist(rounds)
    ]
    assert [None, "tp-01/1"] == [one.round for one in rounds]


def test_what_follows_a_round_belongs_to_it(tmp_path: Path) -> None:
    """A card after the last one is judged with the round before it."""
    recording = write(tmp_path / "x.scanlog", *deals(HANDS[0]), read(8, "QD"), *deals((), HANDS[1]))
    rounds = compared(recording, configured(tmp_path, rules="round_gap_ms = 500"))
    assert ("tp-01/1", "A1", ["scan_rejected"], ["round_opened", "card_accepted"]) == gist(rounds)[0]
    assert ["tp-01/1"] == differing(rounds)


def test_rules_that_take_longer_decide_in_time(tmp_path: Path) -> None:
    """A round that the new table completes later is the same, if that is before the next one begins."""
    recording = write(tmp_path / "x.scanlog", *deals(*HANDS))
    assert [] == differing(compared(recording, configured(tmp_path, rules="min_gap_ms = 900\nround_gap_ms = 1000")))


def test_a_round_without_a_difference_leaves_the_new_table_as_it_is(tmp_path: Path) -> None:
    """What the new table alone remembers, such as the card that still lies there, counts in the next round."""
    again = (("5H", *HANDS[1][1:]), HANDS[2])
    entries = [*deals(HANDS[0]), read(6.3, "5H"), *deals((), *again)]
    assert [] == differing(compared(write(tmp_path / "x.scanlog", *entries), configured(tmp_path)))


def test_other_chunks_of_the_same_decision_are_no_difference(tmp_path: Path) -> None:
    """A driver that waits for another byte decides at another line of the recording, and decides the same."""
    entries = []
    for card in deals(*HANDS):
        text, t = str(card["rx"]), card["t"]
        assert isinstance(t, int)
        entries += [{**card, "rx": text[:-1]}, {**card, "t": t + 0.01, "rx": text[-1]}]
    recording = write(tmp_path / "x.scanlog", *entries)
    assert [] == differing(compared(recording, configured(tmp_path, scanner='end = "\\r\\n"')))


def test_wording_is_no_difference(tmp_path: Path) -> None:
    """Why a frame is none is told in the driver's own words, and is not compared."""
    header = {**HEADER, "scanners": {"desk": {"driver": "line", "length": 2}}}
    recording = write(tmp_path / "x.scanlog", *deals((*HANDS[0][:3], "XXX", *HANDS[0][3:])), header=header)
    assert [] == differing(compared(recording, configured(tmp_path, scanner='pattern = "(?P<code>..)"')))


def test_a_table_that_parts_for_long_is_counted(tmp_path: Path) -> None:
    """Of a round in which the tables part for ever, some events are kept and the others counted."""
    reads = [read(2 * number + 1, "9C" if number % 2 else "9D") for number in range(3 * KEPT)]
    _, parted = compared(
        write(tmp_path / "x.scanlog", *reads), configured(tmp_path, scanner=REFUSES_NINES, rules="max_attempts = 0")
    )
    assert KEPT <= len(parted.differences) <= 2 * KEPT
    assert parted.more > KEPT


def test_rounds_that_one_entry_ends_and_begins_are_counted(tmp_path: Path) -> None:
    """Where no gap is waited for and a chunk holds several rounds, each is seen, and a difference stays its own."""
    rules = {"start": "auto", "min_gap_ms": 0, "round_gap_ms": 0, "bounce_ms": 0}
    burst = {**read(1, "AS"), "rx": "".join(f"{code}\r\n" for codes in HANDS for code in codes)}
    again = {**read(30, "AS"), "rx": "".join(f"{code}\r\n" for codes in HANDS[:2] for code in codes)}
    recording = write(
        tmp_path / "x.scanlog",
        read(0.5, "AD"),
        burst,
        again,
        *deals((), (), HANDS[0]),
        header={**HEADER, "round": rules},
    )
    own = "min_gap_ms = 0\nround_gap_ms = 0\nbounce_ms = 0"
    same = compared(recording, configured(tmp_path, rules=own))
    assert (7, []) == (sum(one.rounds for one in same), differing(same))
    other = compared(recording, configured(tmp_path, scanner=REFUSES_NINES, rules=own))
    assert 7 == sum(one.rounds for one in other)
    assert [] != differing(other)
    assert () == other[-1].differences
