"""The table's events, read from their JSON as the contract writes it.

Contract 1.x may add types, fields and reasons at any time: unknown ones are let through as `Other` or left unread.
An event of a known type whose data can't be read is `Damaged`: it counts, and the round it belongs to is doubted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

HandName: TypeAlias = Literal["A", "B"]


@dataclass(frozen=True, slots=True)
class RoundOpened:
    """The table deals a round; `by` is `auto` where a card opened it, and `plan` the slots in the order of the deal."""

    game: str
    plan: tuple[str, ...]
    by: str | None = None


@dataclass(frozen=True, slots=True)
class CardAccepted:
    """A card lies in its slot."""

    slot: str
    card: str


@dataclass(frozen=True, slots=True)
class CardWithdrawn:
    """A card was taken back; its slot is due again."""

    slot: str
    card: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RoundHeld:
    """The round waits for the supervisor."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RoundReleased:
    """The supervisor lets the round go on."""


@dataclass(frozen=True, slots=True)
class RoundCompleted:
    """All cards are dealt; `cards` has those of each hand in the order dealt."""

    cards: Mapping[HandName, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RoundVoided:
    """The round does not count; `was` is the phase it was in, and `complete` makes this a reversal."""

    was: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """An event that changes no round."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """An event of a known type whose data can't be read."""

    detail: str


Body: TypeAlias = (
    RoundOpened
    | CardAccepted
    | CardWithdrawn
    | RoundHeld
    | RoundReleased
    | RoundCompleted
    | RoundVoided
    | Other
    | Damaged
)

BODIES: dict[str, TypeAdapter[Body]] = {
    "round_opened": TypeAdapter(RoundOpened),
    "card_accepted": TypeAdapter(CardAccepted),
    "card_withdrawn": TypeAdapter(CardWithdrawn),
    "round_held": TypeAdapter(RoundHeld),
    "round_released": TypeAdapter(RoundReleased),
    "round_completed": TypeAdapter(RoundCompleted),
    "round_voided": TypeAdapter(RoundVoided),
}


@dataclass(frozen=True, slots=True)
class TableEvent:
    """One event of the table.

    Attributes:
        at: when the deciding bytes arrived, UTC.
        table: the table.
        journal: the journal's UUID.
        seq: the number in the journal, from 1 without gaps; table, journal and number are the event's key.
        type: the contract's word for it.
        round: the round it belongs to, or None.
        body: what happened.
    """

    at: datetime
    table: str
    journal: str
    seq: int
    type: str
    round: str | None
    body: Body


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something came that is no event of the contract at all."""

    detail: str


@dataclass(frozen=True, slots=True)
class _Envelope:
    at: AwareDatetime
    table: str
    journal: str
    seq: Annotated[int, Field(ge=1)]
    type: str
    round: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)


_ENVELOPE = TypeAdapter(_Envelope)


def read_event(payload: bytes | str) -> TableEvent | Unreadable:
    """The event in a message's bytes; never raises."""
    try:
        envelope = _ENVELOPE.validate_json(payload)
    except ValidationError as error:
        return Unreadable(_told(error))
    return TableEvent(
        at=envelope.at,
        table=envelope.table,
        journal=envelope.journal,
        seq=envelope.seq,
        type=envelope.type,
        round=envelope.round,
        body=_body(envelope),
    )


def _body(envelope: _Envelope) -> Body:
    adapter = BODIES.get(envelope.type)
    if adapter is None:
        return Other()
    try:
        return adapter.validate_python(envelope.data)
    except ValidationError as error:
        return Damaged(_told(error))


def _told(error: ValidationError) -> str:
    """The first thing wrong, in a line, without the input."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
