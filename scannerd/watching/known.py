"""What is known of one table: its retained topics as they came last, and its last events.

Of a topic only what is drawn is read, and its words may be new ones: the daemon may be older or newer than we are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from scannerd.client import TableEvent

EVENTS = 50
"""So many last events are kept."""

Topic: TypeAlias = Literal["prompt", "round", "status"]


class _Topic(BaseModel):
    model_config = ConfigDict(frozen=True)


class Prompt(_Topic):
    """The topic `prompt`."""

    code: str
    slot: str | None
    hand: str | None
    index: int | None
    reason: str | None
    attempt: int | None
    conflict_slot: str | None
    text: str


class Round(_Topic):
    """The topic `round`."""

    round: str | None
    phase: str
    plan: tuple[str, ...]
    cards: dict[str, str]
    due: str | None


class Alarm(_Topic):
    """An alarm that is up."""

    alarm: str
    scanner: str | None
    since: AwareDatetime
    detail: str | None


class Outbox(_Topic):
    """What the broker has not acknowledged."""

    depth: int
    oldest_at: AwareDatetime | None


class Status(_Topic):
    """The topic `status`."""

    state: str
    scanners: dict[str, str]
    outbox: Outbox
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A table's retained topic said this; `fields` is its JSON, parsed."""

    table: str
    topic: Topic
    fields: object


@dataclass(frozen=True, slots=True)
class Happened:
    """Events of a table, in order.

    Attributes:
        whole: these are the last ones there are; else they come after those that are known.
        unreadable: the journal can't be read at present, so there are none.
    """

    table: str
    events: tuple[TableEvent, ...]
    whole: bool = False
    unreadable: bool = False


Told: TypeAlias = Shown | Happened


@dataclass(frozen=True, slots=True)
class Known:
    """One table.

    Attributes:
        standing: whether what is known is what is so: its source is connected.
        unreadable: the journal could not be read when it was last looked into.
    """

    table: str
    prompt: Prompt | None = None
    round: Round | None = None
    status: Status | None = None
    events: tuple[TableEvent, ...] = ()
    standing: bool = False
    unreadable: bool = False

    @property
    def away(self) -> bool:
        """Whether the daemon said its last word: nothing is dealt."""
        return self.status is not None and self.status.state == "offline"

    @property
    def troubled(self) -> bool:
        """Whether somebody should look at this table."""
        status, prompt = self.status, self.prompt
        if not self.standing or status is None or status.state != "online":
            return True
        return prompt is not None and prompt.code in {"call_supervisor", "network_down", "storage_fault"}

    @property
    def hands(self) -> dict[str, list[str]]:
        """Hand to its slots, in the order of the deal."""
        found: dict[str, list[str]] = {}
        for slot in () if self.round is None else self.round.plan:
            found.setdefault(slot.rstrip("0123456789"), []).append(slot)
        return found


def learned(known: Known, told: Told) -> Known:
    """What is known once `told` came; what can't be understood changes nothing."""
    if isinstance(told, Happened):
        events = told.events if told.whole else _joined(known.events, told.events)
        looked = told.whole or bool(told.events)
        return replace(known, events=events[-EVENTS:], unreadable=told.unreadable if looked else known.unreadable)
    try:
        match told.topic:
            case "prompt":
                return replace(known, prompt=Prompt.model_validate(told.fields))
            case "round":
                return replace(known, round=Round.model_validate(told.fields))
            case "status":
                return replace(known, status=Status.model_validate(told.fields))
    except ValidationError:
        return known


def _joined(before: tuple[TableEvent, ...], new: tuple[TableEvent, ...]) -> tuple[TableEvent, ...]:
    """Both, without what came twice, as QoS 1 may bring it."""
    seen = {(event.journal, event.seq) for event in before}
    return (*before, *(event for event in new if (event.journal, event.seq) not in seen))
