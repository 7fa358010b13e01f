"""What a start remembers: the state row of the last round that ended, and the fold of every event since.

Monotonic times mean nothing to another process, so a state row holds times of day. They are taken back to the
monotonic clock by the difference that the two clocks have now, and never lie in the future.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from scannerd.core.evolution import evolve
from scannerd.core.state import Alarm, Dealt, Round, Setup, State
from scannerd.journal import JournalDamaged, Record
from scannerd.messages import decision, microseconds
from scannerd.notebook import Notebook, Notes

PAGE = 512
"""How many events are read at once while folding."""


class Past(Protocol):
    """As much of the journal as a start reads."""

    @property
    def rounds(self) -> int:
        """How many rounds were opened in it."""

    def records(self, after: int, limit: int) -> list[Record]:
        """Events behind a seq, in order."""

    def checkpoint(self) -> tuple[int, bytes] | None:
        """The last state row."""

    def recent_rounds(self) -> list[str]:
        """The ids of the last rounds, oldest first."""


class Checkpoint(BaseModel):
    """A state row: all that the events after it can't tell. Times are of the day, microseconds since 1970.

    `rounds` and the recent rounds are not in it: the journal counts them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    phase: Literal["idle", "dealing", "held", "complete"]
    round: Round | None
    rounds: int
    last: Dealt | None
    ended_at: int | None
    active_at: int
    failed: tuple[str, int] | None
    multi_read_at: dict[str, int]
    alarms: list[tuple[str, str | None, int, str | None]]
    scanners: dict[str, Literal["up", "down"] | None]
    notes: Notes = Notes()


@dataclass(frozen=True, slots=True)
class Offset:
    """How far the wall clock is ahead of the monotonic one, and the latest moment that can be past."""

    ahead: int
    now: int

    def day(self, at: int) -> int:
        """A monotonic time as a time of day."""
        return at + self.ahead

    def monotonic(self, wall: int) -> int:
        """A time of day as a monotonic time, never in the future."""
        return min(wall - self.ahead, self.now)


def checkpoint(state: State, offset: Offset, notes: Notes | None = None) -> bytes:
    """The state row of a state, and of what is remembered beside it."""
    moved = _moved(state, offset.day)
    alarms = [(name, scanner, alarm.since, alarm.detail) for (name, scanner), alarm in moved.alarms.items()]
    row = Checkpoint.model_construct(
        phase=moved.phase,
        round=moved.round,
        rounds=moved.rounds,
        last=moved.last,
        ended_at=moved.ended_at,
        active_at=moved.active_at,
        failed=moved.failed,
        multi_read_at=dict(moved.multi_read_at),
        alarms=alarms,
        scanners=dict(moved.scanners),
        notes=notes or Notes(),
    )
    return row.model_dump_json().encode()


def recall(
    journal: Past,
    setup: Setup,
    offset: Offset,
    progress: Callable[[int], None] = lambda _: None,
    notebook: Notebook | None = None,
) -> State:
    """Folds what the journal holds.

    Args:
        journal: open, its tail checked.
        setup: the table as it is configured now.
        offset: between the clocks, now.
        progress: told the seq of each page that was folded, so that a long start can say that it lives.
        notebook: empty; it takes what the journal remembers beside the state.

    Raises:
        JournalDamaged: the state row or an event is not what was written.
    """
    try:
        return _recalled(journal, setup, offset, progress, notebook or Notebook())
    except (ValueError, KeyError, TypeError, AssertionError) as unreadable:
        raise JournalDamaged(f"the journal is damaged: it can't be folded: {unreadable!r}") from unreadable


def _recalled(
    journal: Past, setup: Setup, offset: Offset, progress: Callable[[int], None], notebook: Notebook
) -> State:
    seq, state, row = 0, State(setup), journal.checkpoint()
    if row is not None:
        past = Checkpoint.model_validate_json(row[1])
        notebook.restore(past.notes)
        seq, state = row[0], _restored(past, setup, offset)
    own = f"{setup.table}/"
    recent = dict.fromkeys(name for name in journal.recent_rounds() if not name.startswith(own))
    for record in _records(journal, seq, progress):
        state = _folded(state, record, offset, notebook)
    return state._replace(recent=recent, rounds=journal.rounds)


def _records(journal: Past, seq: int, progress: Callable[[int], None]) -> Iterator[Record]:
    while page := journal.records(seq, PAGE):
        yield from page
        seq = page[-1].seq
        progress(seq)


def _folded(state: State, record: Record, offset: Offset, notebook: Notebook) -> State:
    data = json.loads(record.body)["data"]
    told = decision(record.type, data, offset.monotonic(microseconds(record.at)), record.round)
    if told is None:
        return state
    notebook.note(told)
    return evolve(state, told)


def _restored(past: Checkpoint, setup: Setup, offset: Offset) -> State:
    state = State(
        setup,
        phase=past.phase,
        round=past.round,
        rounds=past.rounds,
        last=past.last,
        ended_at=past.ended_at,
        active_at=past.active_at,
        failed=past.failed,
        multi_read_at=past.multi_read_at,
        alarms={(name, scanner): Alarm(since, detail) for name, scanner, since, detail in past.alarms},
        scanners=past.scanners,
    )
    return _moved(state, offset.monotonic)


def _moved(state: State, move: Callable[[int], int]) -> State:
    """The state with every time moved to another clock."""
    return state._replace(
        round=None if state.round is None else _moved_round(state.round, move),
        last=None if state.last is None else state.last._replace(at=move(state.last.at)),
        ended_at=None if state.ended_at is None else move(state.ended_at),
        active_at=move(state.active_at),
        failed=None if state.failed is None else (state.failed[0], move(state.failed[1])),
        multi_read_at={scanner: move(at) for scanner, at in state.multi_read_at.items()},
        alarms={key: alarm._replace(since=move(alarm.since)) for key, alarm in state.alarms.items()},
    )


def _moved_round(current: Round, move: Callable[[int], int]) -> Round:
    cards = {slot: dealt._replace(at=move(dealt.at)) for slot, dealt in current.cards.items()}
    return current._replace(opened_at=move(current.opened_at), cards=cards)
