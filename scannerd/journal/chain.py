"""Judges one row: is it the event that was sealed, and do the columns beside it say the same?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import orjson

from scannerd.canonical import FIRST_PREV, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scannerd.journal.records import Meta, Record

_NO_PREV: Final = frozenset({FIRST_PREV})
_COLUMNS: Final = ("seq", "type", "round", "at", "hash")
_SIG: Final = re.compile(rb'"sig":"[0-9a-f]*",')


def state_digest(seq: int, body: bytes) -> str:
    """The check value of a state row: it belongs to its seq, and its bytes are those that were written."""
    return sha256(b"%d:%b" % (seq, body)).hexdigest()


@dataclass(slots=True)
class Chain:
    """Walks rows in order and says what is wrong with each.

    Attributes:
        table: the table's id, which each event must carry.
        journal: the journal's UUID, the same.
        seq: the row walked last.
        links: the hashes that the next row may name as `prev`. Two where a row's hash is not that of its content:
            that row is told, and the one behind it is not told a second time. Empty behind a gap: anything fits.
        event: the row walked last as JSON, or None where it is none.
    """

    table: str
    journal: str
    seq: int = 0
    links: frozenset[str] = field(default=_NO_PREV)
    event: dict[str, object] | None = None

    @classmethod
    def behind(cls, meta: Meta) -> Chain:
        """Begins with the first row that was not deleted for its age."""
        trimmed = meta.trimmed.head
        return cls(meta.table, meta.journal, trimmed.seq, frozenset({trimmed.hash}))

    def faults(self, row: Record) -> Iterator[tuple[int, str]]:
        """Yields the seq and the trouble of each fault found at `row`."""
        if row.seq != self.seq + 1:
            yield self._out_of_row(row.seq)
            self.links = frozenset()
        self.seq = row.seq
        event = self.event = _parsed(row.body)
        if event is None:
            self.links = frozenset({row.hash})
            yield row.seq, "the event is no JSON object"
            return
        digest, faults = _content(row, event)
        identity = ("table", self.table), ("journal", self.journal)
        faults += [f"{key} is {event.get(key)!r}, not {ours!r}" for key, ours in identity if event.get(key) != ours]
        if self.links and event.get("prev") not in self.links:
            faults.append(f"prev is not the hash of seq {row.seq - 1}: one of the two is not what was written")
        self.links = frozenset({row.hash, digest})
        for fault in faults:
            yield row.seq, fault

    def _out_of_row(self, seq: int) -> tuple[int, str]:
        first, last = self.seq + 1, seq - 1
        if first > last:
            return seq, f"the row is none of this journal's: seq begins at {first}"
        return first, "the row is missing" if first == last else f"the rows {first} to {last} are missing"


def fault_within(row: Record) -> str | None:
    """What is wrong with a row by itself, wherever it stands; None where it is the event that was sealed."""
    if _as_sealed(row):
        return None
    event = _parsed(row.body)
    if event is None:
        return "the event is no JSON object"
    _, faults = _content(row, event)
    return faults[0] if faults else None


def _as_sealed(row: Record) -> bool:
    """Whether the bytes without `hash` and `sig` are those that were hashed: quick, and False where in doubt."""
    try:
        event = orjson.loads(row.body)
        bare = _SIG.sub(b"", row.body.replace(b'"hash":"%b",' % row.hash.encode(), b"", 1), 1)
    except (ValueError, TypeError, AttributeError):
        return False
    told = isinstance(event, dict) and all(getattr(row, name) == event.get(name) for name in _COLUMNS)
    return told and sha256(bare).hexdigest() == row.hash


def _parsed(body: object) -> dict[str, object] | None:
    if not isinstance(body, bytes):  # the file may have been changed by any program, against the schema too
        return None
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _content(row: Record, event: dict[str, object]) -> tuple[str, list[str]]:
    """The hash of what the event says, and what contradicts it in the event and in the columns."""
    bare = {key: value for key, value in event.items() if key not in ("hash", "sig")}
    try:
        digest, exact = sha256(canonical(bare)).hexdigest(), row.body == canonical(event)
    except ValueError as error:
        return row.hash, [f"the event is none: {error}"]
    if event.get("hash") != digest:
        faults = ["the event was changed: its hash is not that of its content"]
    else:
        faults = [] if exact else ["the event was rewritten: its bytes are not in canonical form"]
    differ = [name for name in _COLUMNS if getattr(row, name) != event.get(name)]
    faults += [f"column {name} is {getattr(row, name)!r}, the event says {event.get(name)!r}" for name in differ]
    return digest, faults
