"""A piece of the always-on capture, by what the journal says: a round, or all since some moment.

The journal knows when the events were and what they are to be; the capture knows the bytes. A piece is cut so that its
replay tells the journal's events again, and where it does not, as after a change of the rules, that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from scannerd.config.settings import Config
from scannerd.editing.captured import Kept, alike, down_at_start, joined, kept
from scannerd.editing.cutting import NEAR, Piece, Wanted, difference, piece
from scannerd.editing.story import Noted, first_since, story
from scannerd.editing.tape import Tape
from scannerd.errors import UsageError
from scannerd.journal import JournalReader
from scannerd.messages import microseconds, utc
from scannerd.recording.replay import Line, seconds
from scannerd.registry import Registry

FURTHER = 3
"""How many more files are looked through for what came before."""

SLACK_MS = 2
"""By how much the length of a round that is in two files may differ, ms."""

LATE = 1_000_000
"""Microseconds before an event within which something must have been recorded that led to it."""


class Excerpt(NamedTuple):
    """A recording of what the journal tells.

    Attributes:
        tape: the recording.
        expected: the events that it is to give.
        difference: the first event that its replay tells otherwise than the journal; empty: none.
    """

    tape: Tape
    expected: list[Line]
    difference: str


class _Span(NamedTuple):
    """What of the journal is meant.

    Attributes:
        what: in words, for errors.
        begin: the time of its first event, or before that, microseconds since 1970.
        end: the time of its last event; None: whatever comes last.
        events: whether an event belongs to it.
        upto: the last seq to look at; None: all.
        round: the round that it is; None: no single one.
    """

    what: str
    begin: int
    end: int | None
    events: Callable[[Noted], bool]
    upto: int | None = None
    round: str | None = None


class Excerpts:
    """Makes recordings of what a table's journal tells."""

    def __init__(self, config: Config, registry: Registry, warn: Callable[[str], None]) -> None:
        """Reads nothing yet.

        Args:
            config: the table's.
            registry: the drivers at hand.
            warn: told of what is ignored.
        """
        self._config, self._registry, self._warn = config, registry, warn

    def of_round(self, round_id: str) -> Excerpt:
        """The recording of one round; of several with that id the last.

        Raises:
            UsageError: there is no such round, or the capture does not reach it.
            JournalError: the journal can't be read.
        """
        with JournalReader(self._config.state_dir) as reader:
            openings = reader.openings(round_id)
            if not openings:
                raise UsageError(f"{reader.path}: there is no round {round_id!r}")
            first, behind = openings[-1]
            own = [record for record in reader.walk(first - 1, behind) if record.round == round_id]
            if not own:
                raise UsageError(f"{reader.path}: the events of round {round_id} were deleted for their age")
            begin, end = microseconds(own[0].at), microseconds(own[-1].at)
            seqs = frozenset(record.seq for record in own)
            what = f"round {round_id}, opened at {own[0].at},"
            return self._excerpt(reader, _Span(what, begin, end, lambda noted: noted.seq in seqs, behind, round_id))

    def since(self, moment: datetime) -> Excerpt:
        """The recording of all since a moment, or since the round that was current then, where it matters.

        Args:
            moment: with an offset.

        Raises:
            UsageError: the capture does not reach back so far, or nothing was recorded since.
            JournalError: the journal can't be read.
        """
        begin = round(moment.timestamp() * 1_000_000)
        with JournalReader(self._config.state_dir) as reader:
            first = first_since(reader, begin)
            return self._excerpt(
                reader, _Span(f"what came since {utc(begin)}", begin, None, lambda noted: noted.seq >= first)
            )

    def _excerpt(self, reader: JournalReader, span: _Span) -> Excerpt:
        """From as few files of the capture as can be."""
        files = kept(self._config, self._warn)
        begun = [number for number, file in enumerate(files) if _wall(file) <= span.begin]
        if not begun:
            begins = f"{files[0].path.parent} begins at {utc(_wall(files[0]))}"
            full = len(files) >= self._config.record.files
            remedy = "; raise record.files to keep more" if full else ", and there is nothing older"
            raise UsageError(f"{span.what} is not in the capture: {begins}{remedy}")
        number = begun[-1]
        last = max(at for at, file in enumerate(files) if span.end is None or _wall(file) <= span.end)
        first = self._from(files[number : last + 1], reader, span)
        found, back = first, 1
        while (
            found.difference
            and back <= min(FURTHER, number)
            and alike(files[number - back].header, files[number].header)
        ):
            found, back = self._from(files[number - back : last + 1], reader, span), back + 1
        return first if found.difference else found

    def _from(self, files: Sequence[Kept], reader: JournalReader, span: _Span) -> Excerpt:
        """From certain files."""
        base = _wall(files[0])
        first = first_since(reader, base)
        tape = joined(files, self._config, self._warn, rounds_before=reader.rounds_before(first))
        if tape.end < span.begin - base - LATE:
            ends = f"the last entry in {files[-1].path.parent} is of {utc(base + tape.end)}"
            raise UsageError(f"{span.what} is not in the capture: {ends}")
        told = story(reader, first, base, down=down_at_start(tape), upto=span.upto)
        wanted = _wanted(list(told), span, base, tape.end)._replace(slack_ms=SLACK_MS if len(files) > 1 else 0)
        found = piece(tape, wanted, self._registry)
        return Excerpt(found.tape, _expected(found, wanted), difference(found, wanted))


def _wanted(noted: list[Noted], span: _Span, base: int, end: int) -> Wanted:
    own = [one.told for one in noted if span.events(one)]
    openings = [one.told.at for one in noted if one.told.opening]
    last = own[-1].at if own else 0
    stop = max(end, last) if span.end is None else last + 2 * NEAR
    return Wanted(own, span.begin - base, stop, [at for at in openings if at <= stop], span.round)


def _expected(found: Piece, wanted: Wanted) -> list[Line]:
    """What the recording gives, or where that is not what the journal says, what the journal says."""
    if found.exact:
        return [one.line for one in found.told]
    before = [one.line for one in found.told if one.at + found.start < wanted.begin - NEAR]
    return before + [one.line | {"t": seconds(one.at - found.start)} for one in wanted.events]


def _wall(file: Kept) -> int:
    return microseconds(file.begin.isoformat())
