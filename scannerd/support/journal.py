"""What the journal tells: of itself, its last events, figures of them, and whether its chain is whole.

Each is had on its own, and as far as a damaged file can be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from scannerd.journal import JournalError, JournalMissing, JournalReader, verify
from scannerd.journal.opening import schema_of
from scannerd.journal.selection import Selection, selected
from scannerd.journal.stats import tally
from scannerd.support.bundle import Item, as_json

COUNTED: Final = 200_000
"""Events that the figures are made of, at most: the last ones."""


def about(where: Path) -> Iterator[Item]:
    """The journal's row about itself."""
    with JournalReader(where) as reader:
        with reader.reading() as db:
            schema = schema_of(db)
        meta = reader.meta()
        waiting = meta.head.seq - meta.cursor
        yield Item("journal/about.json", as_json({"schema": schema, "waiting": waiting, **asdict(meta)}))


def tail(where: Path, events: int) -> Iterator[Item]:
    """The last events, as they were sent.

    Raises:
        JournalError: some of them can't be read; those before have been told.
    """
    lines: deque[bytes] = deque(maxlen=events)
    with JournalReader(where) as reader:
        try:
            lines.extend(record.body for record in reader.walk(_beginning(reader, events)))
        finally:
            if lines:
                yield Item("journal/tail.jsonl", b"\n".join(lines) + b"\n")


def figures(where: Path) -> Iterator[Item]:
    """Reads, rejections and rescans by scanner, card and hour, of the last events."""
    with JournalReader(where) as reader:
        first = max(1, _last(reader) - COUNTED + 1)
        counted = tally(selected(reader, Selection(from_seq=first)))
        yield Item("journal/stats.json", as_json({"from_seq": first, **counted.as_json()}))


def proof(where: Path) -> Iterator[Item]:
    """The verdict of `scannerd journal verify`; where the file can't be read to its end, that is the verdict."""
    try:
        verdict: object = verify(where).as_json()
    except JournalMissing:
        raise
    except JournalError as error:
        verdict = {"sound": False, "trouble": error.line}
    yield Item("journal/verify.json", as_json(verdict))


def _beginning(reader: JournalReader, events: int) -> int:
    """Behind which event the last ones begin; where the end can't be found, all are walked as far as they can be."""
    try:
        return _last(reader) - events
    except JournalError:
        return 0


def _last(reader: JournalReader) -> int:
    """The last event that is there, whatever the journal says of itself."""
    with reader.reading() as db:
        last: int | None = db.execute("SELECT max(seq) FROM events").fetchone()[0]
    return last or 0
