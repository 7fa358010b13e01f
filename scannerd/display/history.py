"""What the supervisor looks up in the journal: the last rounds with all that happened, and the figures of misreads.

Each look opens the journal for itself, reads in short pages from its end, and closes it. It is read at a pace that
leaves the interpreter to the engine: a page is parsed in pieces with a pause after each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from scannerd.journal import JournalReader, Record
from scannerd.journal.stats import tally

ROUNDS = 15
"""Rounds in one look."""

FARTHEST = 5_000
"""Events in which those rounds are looked for."""

COUNTED = 20_000
"""Events whose misreads are counted, at most."""

_PAGE = 200
_PIECE = 40
_PAUSE_S = 0.001

Told: TypeAlias = dict[str, object]
Pause: TypeAlias = Callable[[float], None]


def rounds(directory: Path, before: int | None = None, pause: Pause = time.sleep) -> Told:
    """The last rounds, newest first, each with its events in order.

    Args:
        directory: the table's state directory.
        before: only what is before this seq; None: all.
        pause: lets others run.

    Returns:
        `rounds`, and `before`: where earlier ones go on, or None.

    Raises:
        JournalError: the journal can't be read.
    """
    with JournalReader(directory) as reader:
        end = reader.meta().head.seq if before is None else before - 1
        found: list[list[Record]] = [[]]
        for record in _backwards(reader, end, pause):
            found[-1].append(record)
            if record.type == "round_opened":
                if len(found) == ROUNDS:
                    break
                found.append([])
        first = found[-1][-1].seq if found[-1] else found[-2][-1].seq if len(found) > 1 else 1
    told = [_round(list(reversed(events))) for events in found if events]
    return {"rounds": told, "before": first if first > 1 else None}


def misreads(directory: Path, scanner: str | None = None, card: str | None = None, pause: Pause = time.sleep) -> Told:
    """Figures of the last `COUNTED` events: by hour, card and scanner.

    Args:
        directory: the table's state directory.
        scanner: only the reads of this one.
        card: only the reads of this one.
        pause: lets others run.

    Raises:
        JournalError: the journal can't be read.
    """
    with JournalReader(directory) as reader:
        end = reader.meta().head.seq
        after = max(0, end - COUNTED)
        stats = tally(_only(_paced(_pages(reader, after, end), pause), scanner, card))
    return {**stats.as_json(), "events": end - after, "bounded": after > 0}


def _backwards(reader: JournalReader, end: int, pause: Pause) -> Iterator[Record]:
    for last in range(end, max(0, end - FARTHEST), -_PAGE):
        after = max(0, last - _PAGE)
        yield from _paced(reversed(reader.records(after, _PAGE, last)), pause)


def _pages(reader: JournalReader, after: int, end: int) -> Iterator[Record]:
    for first in range(after, end, _PAGE):
        yield from reader.records(first, _PAGE, end)


def _paced(records: Iterable[Record], pause: Pause) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        yield record
        if number % _PIECE == 0:
            pause(_PAUSE_S)


def _only(records: Iterable[Record], scanner: str | None, card: str | None) -> Iterator[Record]:
    for record in records:
        if record.type in {"card_accepted", "scan_rejected"} and (scanner is not None or card is not None):
            data = _data(record)
            if data is None or (scanner or data.get("scanner")) != data.get("scanner"):
                continue
            if (card or data.get("card")) != data.get("card"):
                continue
        yield record


def _data(record: Record) -> dict[str, Any] | None:
    """An event's data; None of one that is damaged, which takes nothing from the others."""
    try:
        data = json.loads(record.body)["data"]
    except (ValueError, LookupError, TypeError):
        return None
    return data if isinstance(data, dict) else None


def _round(records: list[Record]) -> Told:
    events: list[Told] = [
        {"seq": record.seq, "at": record.at, "type": record.type, "data": _data(record)} for record in records
    ]
    return {"round": records[0].round, "opened": records[0].type == "round_opened", "events": events}
