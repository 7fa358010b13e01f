"""Which of a journal's events are meant: by round, seq and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scannerd.journal.reading import JournalReader
    from scannerd.journal.records import Record


@dataclass(frozen=True, slots=True)
class Selection:
    """All that is given must fit.

    Attributes:
        round: the round's id.
        from_seq: the first seq.
        to_seq: the last seq, included.
        since: the earliest `at`, as `wire_time` writes it.
        until: the first `at` that is too late, the same.
    """

    round: str | None = None
    from_seq: int = 1
    to_seq: int | None = None
    since: str | None = None
    until: str | None = None

    def fits(self, record: Record) -> bool:
        """Whether an event within the seqs fits the rest. All times have one form, so text compares as time does."""
        return (
            (self.round is None or record.round == self.round)
            and (self.since is None or record.at >= self.since)
            and (self.until is None or record.at < self.until)
        )


def wire_time(text: str) -> str:
    """A date or an RFC 3339 time as events write it: UTC, microseconds, `Z`. Without an offset it is UTC.

    Raises:
        ValueError: it is neither.
    """
    time = datetime.fromisoformat(text)
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def selected(reader: JournalReader, selection: Selection) -> Iterator[Record]:
    """The events that fit, in order.

    Raises:
        JournalError: the file can't be read; what could be read has been yielded before.
    """
    for first, last in _spans(reader, selection):
        for record in reader.walk(max(first, selection.from_seq) - 1, last):
            if selection.fits(record):
                yield record


def _spans(reader: JournalReader, selection: Selection) -> Iterator[tuple[int, int | None]]:
    """The first and last seqs between which to look: a round's events stand between its opening and the next."""
    if selection.round is None:
        yield selection.from_seq, selection.to_seq
        return
    for first, behind in reader.openings(selection.round):
        ends = [end for end in (None if behind is None else behind - 1, selection.to_seq) if end is not None]
        yield first, min(ends, default=None)
