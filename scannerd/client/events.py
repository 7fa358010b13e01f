"""What a consumer is told: events, and the two things that may befall their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True)
class Position:
    """How far a consumer has come.

    Attributes:
        journal: the journal's UUID; None: whichever comes.
        seq: the number of the last event that is done; 0: none.
        hash: its hash, where it is known: the next event's `prev` must be the same.
        past: earlier journals of the table, which never come back.
    """

    journal: str | None
    seq: int
    hash: str | None = None
    past: tuple[str, ...] = ()


BEGINNING = Position(None, 0)
"""Before the first event of the table's journal."""


@dataclass(frozen=True, slots=True)
class TableEvent:
    """One event of the table; `table`, `journal` and `seq` are its key.

    Attributes:
        seq: the number in the journal, from 1 without gaps.
        type: the contract's word for it; new ones may come.
        round: the round it belongs to, or None.
        at: when the deciding bytes arrived, UTC.
        data: what happened.
        body: the bytes as they came.
        prev: the hash of the event before it.
        position: the consumer's position once this event is done.
    """

    table: str
    journal: str
    seq: int
    type: str
    round: str | None
    at: datetime
    data: Mapping[str, object]
    body: bytes = field(repr=False)
    hash: str = field(repr=False)
    prev: str = field(repr=False)
    position: Position = field(default=BEGINNING, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class NewJournal:
    """The table writes another journal than before; its numbers begin at 1, and `previous` never comes back."""

    table: str
    journal: str
    previous: str
    position: Position


@dataclass(frozen=True, slots=True)
class Missing:
    """Events `first` to `last` (both included) can't be had any more: the table no longer keeps them."""

    table: str
    journal: str
    first: int
    last: int
    position: Position


@dataclass(frozen=True, slots=True)
class Broken:
    """Event `seq` does not follow from the one before it: neither it nor anything after it is told."""

    table: str
    journal: str
    seq: int
    detail: str
    position: Position


Item: TypeAlias = TableEvent | NewJournal | Missing | Broken


@dataclass(frozen=True, slots=True)
class Gap:
    """Events to ask for with `resend`, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Wire:
    table: str
    journal: str
    seq: Annotated[int, Field(ge=1, strict=True)]
    type: str
    round: str | None
    at: AwareDatetime
    data: dict[str, object]
    hash: str
    prev: str


_WIRE = TypeAdapter(_Wire)


def read_event(body: bytes) -> TableEvent | None:
    """The event in a message's bytes, or None where there is none; never raises."""
    try:
        wire = _WIRE.validate_json(body)
    except ValidationError:
        return None
    return TableEvent(
        wire.table, wire.journal, wire.seq, wire.type, wire.round, wire.at, wire.data, body, wire.hash, wire.prev
    )
