"""A capture in several files is one recording: wherever a file ends, each round is found whole."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from scannerd.config import load as load_config
from scannerd.editing.cutting import cut
from scannerd.editing.excerpt import Excerpt, Excerpts
from scannerd.editing.tape import Happened, Tape, happenings, load
from scannerd.errors import UsageError
from scannerd.journal import Batch, Journal
from scannerd.messages import microseconds, utc
from scannerd.registry import Registry
from scannerd.scanlog import ScanlogWriter
from tests.journals import opened, record
from tests.small_recordings import HEADER, read, write

REGISTRY = Registry()
RECORDINGS = Path(__file__).parent / "recordings"
ODD = RECORDINGS / "odd-round.scanlog"
LATER = "2027-01-01T00:00:00.000000Z"
TABLE = """[table]
id = "tp-01"
state_dir = "{folder}"
[record]
directory = "{folder}"
[[scanner]]
name = "{scanner}"
driver = "{driver}"
url = "/dev/null"
[round]
"""


class Past:
    """A table that has dealt what a recording holds: its configuration, its journal, and its capture in files."""

    def __init__(self, folder: Path, recording: Path, *ends: int, set_at: int = 0, set_by_ms: int = 0) -> None:
        """Makes it of a recording.

        Args:
            folder: where all its files go.
            recording: what was dealt.
            ends: the times at which files end, microseconds.
            set_at: when the wall clock was set, microseconds.
            set_by_ms: by how much; 0: it was not.
        """
        self.tape = load(recording, print)
        self._folder = folder
        self.told = happenings(self.tape, REGISTRY)
        ((scanner, keys),) = self.tape.header.scanners.items()
        self.config = folder / "tp-01.toml"
        rules = self.tape.header.round.model_dump(exclude_defaults=True)
        lines = [
            f"{key} = {str(value).lower() if isinstance(value, int) else repr(value)}" for key, value in rules.items()
        ]
        self.config.write_text(TABLE.format(folder=folder, scanner=scanner, driver=keys["driver"]) + "\n".join(lines))
        with opened(folder) as journal:
            step = Happened(set_at, {"type": "clock_stepped", "round": None}, {"by_ms": set_by_ms})
            before = sum(one.at < set_at for one in self.told)
            happened = [*self.told[:before], step, *self.told[before:]] if set_by_ms else self.told
            for one in happened:
                later = set_by_ms * 1_000 if one.at > set_at else 0
                note(journal, str(one.line["type"]), one.line["round"], self._wall(one.at + later), one.data)
        for begin, end in pairwise([0, *ends, self.tape.end]):
            self._file(begin, end)

    def _wall(self, t: int) -> str:
        return utc(microseconds(self.tape.header.recorded_at.isoformat()) + t)

    def _file(self, begin: int, end: int) -> None:
        """A file as the daemon writes it: it begins with what stands then."""
        piece = cut(self.tape, begin, end - 1 if end < self.tape.end else end)
        began = self.tape.header.recorded_at + timedelta(microseconds=begin)
        name = f"tp-01-{began:%Y%m%dT%H%M%S%f}Z.scanlog"
        scanners = {scanner: {"codes": "rank-suit", **keys} for scanner, keys in self.tape.header.scanners.items()}
        with (self._folder / name).open("wb") as target:
            writer = ScanlogWriter(target, piece.header.model_copy(update={"scanners": scanners}))
            for entry in piece.entries[:-1]:
                writer.write(entry)

    def excerpt(self, round_id: str) -> Excerpt:
        """The recording of a round."""
        return Excerpts(load_config(self.config), REGISTRY, print).of_round(round_id)

    def of_round(self, round_id: object) -> list[tuple[object, object]]:
        """What was told of a round."""
        return [(one.line["type"], one.data) for one in self.told if one.line["round"] == round_id]

    @property
    def rounds(self) -> list[object]:
        """The rounds that were dealt."""
        return [one.line["round"] for one in self.told if one.opening]


def note(journal: Journal, kind: str, round_id: object, at: str, data: dict[str, object]) -> None:
    """Writes an event into a journal, as acknowledged by the broker and with a state behind it."""
    named = None if round_id is None else str(round_id)
    event = record(journal.journal_id, journal.head, kind=kind, round_id=named, at=at, data=data)
    journal.append(Batch(records=(event,), checkpoint=b"{}", cursor=event.seq))


def told(tape: Tape, round_id: object) -> list[tuple[object, object]]:
    """What a recording tells of a round."""
    return [(one.line["type"], one.data) for one in happenings(tape, REGISTRY) if one.line["round"] == round_id]


@pytest.mark.parametrize("name", ["odd-round", "hold-void-late-scan", "lying-card", "unplugged-mid-frame", "round-gap"])
def test_a_round_is_found_wherever_a_file_ends(tmp_path: Path, name: str) -> None:
    """However the capture was cut into files, each round becomes a recording that tells what its journal tells."""
    recording = RECORDINGS / f"{name}.scanlog"
    entries = load(recording, print).entries
    for number, entry in enumerate(entries[1::3]):
        folder = tmp_path / str(number)
        folder.mkdir()
        past = Past(folder, recording, entry.t)
        for round_id in past.rounds:
            found = past.excerpt(str(round_id))
            assert "" == found.difference, (entry.t, round_id)
            assert past.of_round(round_id) == told(found.tape, round_id)


def test_what_came_before_may_be_in_the_file_before(tmp_path: Path) -> None:
    """A card that still lay there when the round was opened is looked for in the file that ended before."""
    header = HEADER | {"round": {"start": "command", "bounce_ms": 2_000}}
    opening = {"t": 2.5, "command": "open", "args": {"id": "c", "round": "r-1"}}
    lying: list[dict[str, object]] = [read(1, "AS"), read(2, "AS"), opening, read(3, "AS"), read(4, "KH")]
    (tmp_path / "past").mkdir()
    past = Past(tmp_path / "past", write(tmp_path / "a.scanlog", *lying, header=header), 2_300_000)
    found = past.excerpt("r-1")
    assert "" == found.difference
    assert ["round_opened", "card_accepted"] == [kind for kind, _ in told(found.tape, "r-1")]


def test_a_journal_that_says_otherwise_is_what_is_expected(tmp_path: Path) -> None:
    """Where the bytes do not lead to what the journal says, the recording is expected to give the journal's events."""
    past = Past(tmp_path, ODD)
    changed = past.config.read_text() + "min_gap_ms = 0\n"
    for path in tmp_path.glob("*.scanlog"):
        path.write_text(path.read_text().replace('"min_gap_ms":150', '"min_gap_ms":0'))
    past.config.write_text(changed)
    found = past.excerpt("r-57")
    assert "expected " in found.difference
    assert "card_withdrawn" in found.difference
    assert past.of_round("r-57") == [(line["type"], line["data"]) for line in found.expected]
    assert [(one.at - 500_000) / 1_000_000 for one in past.told] == [line["t"] for line in found.expected]


def test_a_round_whose_events_are_deleted_is_told_to_be_so(tmp_path: Path) -> None:
    """Where the journal has deleted the events for their age, nobody can say what the recording is to tell."""
    past = Past(tmp_path, ODD)
    with opened(tmp_path) as journal:
        for number in range(58, 61):
            opening: dict[str, object] = {"game": "teen-patti-20-20", "plan": ["A1"], "by": None}
            note(journal, "round_opened", f"r-{number}", f"2026-11-30T03:00:{number - 50:02}.000000Z", opening)
        before = journal.trimmable(LATER)
        assert before is not None
        while journal.trim(before.seq, LATER, 1_000):
            pass
    with pytest.raises(UsageError, match="the events of round r-57 were deleted for their age"):
        past.excerpt("r-57")


@pytest.mark.parametrize("set_by_ms", [3_600_000, -5_000])
def test_the_clock_may_have_been_set_in_the_middle_of_a_round(tmp_path: Path, set_by_ms: int) -> None:
    """A step of the wall clock, which the journal tells, does not lose the round's end."""
    past = Past(tmp_path, ODD, set_at=10_000_000, set_by_ms=set_by_ms)
    found = past.excerpt("r-57")
    assert "" == found.difference
    assert past.of_round("r-57") == told(found.tape, "r-57")
