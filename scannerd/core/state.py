"""What the core remembers: one immutable value. `evolve` (in `evolution.py`) alone makes the next one.

Named tuples rather than frozen dataclasses: `_replace` of a wide value is several times faster, and it is done for
every read. Dictionaries inside are never changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scannerd.core.cards import Card
from scannerd.core.decisions import Phase
from scannerd.core.games import Plan, Slot

MS = 1_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The parameters of section `[round]` of the configuration; times in ms.

    Attributes:
        start: whether a command or the first card opens a round.
        bounce_ms: the same card from the same scanner within this time is nothing.
        min_gap_ms: two different cards within this time can't be told apart.
        max_attempts: that many counted rejections of a slot hold the round; 0: never.
        round_gap_ms: in `auto`, no card opens a round so soon after the last one ended.
        stall_ms: so long without anything in a deal raises `stalled`; 0: never.
        require_broker: no round is opened while the broker is away.
        on_restart: whether a round in the deal goes on by itself after a restart.
    """

    start: Literal["command", "auto"] = "command"
    bounce_ms: int = 400
    min_gap_ms: int = 150
    max_attempts: int = 3
    round_gap_ms: int = 3000
    stall_ms: int = 30000
    require_broker: bool = True
    on_restart: Literal["continue", "hold"] = "continue"


@dataclass(frozen=True, slots=True)
class Setup:
    """What does not change while the process runs: the table's name, game, rules, and scanners in their order."""

    table: str
    plan: Plan
    rules: Rules
    scanners: tuple[str, ...]


class Dealt(NamedTuple):
    """A card that was accepted; `scanner` None: entered by hand."""

    slot: str
    card: Card
    scanner: str | None
    at: int


class Doubt(NamedTuple):
    """Why a slot is asked for again."""

    reason: str
    conflict_slot: str | None


class Round(NamedTuple):
    """The current round.

    Attributes:
        cards: what lies in each filled slot.
        last_of: the card last accepted from each scanner in this round, withdrawn or not.
        tries: counted rejections of each slot.
        withdrawn: emptied slots that were not filled again, each with the reason.
        doubts: the last counted rejection of each slot since the last opening, acceptance or withdrawal.
        rejections: all rejected reads since the opening.
        held_for: the reason of the hold, while held.
    """

    id: str
    opened_at: int
    cards: Mapping[str, Dealt] = {}
    last_of: Mapping[str, Card] = {}
    tries: Mapping[str, int] = {}
    withdrawn: Mapping[str, str] = {}
    doubts: Mapping[str, Doubt] = {}
    rejections: int = 0
    held_for: str | None = None


class Alarm(NamedTuple):
    """An alarm that is up."""

    since: int
    detail: str | None


class Memory(NamedTuple):
    """What a restart forgets.

    Attributes:
        sightings: when each scanner last saw each card.
        failures: when each scanner last failed for each reason.
        notices: when each scanner last gave each notice.
        refused: cards rejected while held: a release clears their sightings.
        bounces: how many bounces were counted, by scanner.
    """

    sightings: Mapping[str, Mapping[Card, int]] = {}
    failures: Mapping[tuple[str, str], int] = {}
    notices: Mapping[tuple[str, str], int] = {}
    refused: frozenset[Card] = frozenset()
    bounces: Mapping[str, int] = {}


class State(NamedTuple):
    """The table.

    Attributes:
        round: the current round: from its opening until the next opening or the voiding.
        rounds: how many rounds this journal has seen.
        recent: the last `RECENT_ROUNDS` ids that engines gave to rounds.
        last: the card accepted last, kept beyond the round's end until the next opening: it may still lie there.
        ended_at: when a round was last completed or voided, whichever was later.
        active_at: since when nothing has happened in the deal.
        failed: the last failed read outside a round: its reason and time.
        multi_read_at: when a read of each scanner was last rejected `multi_read`.
        scanners: `up`, `down`, or None while unknown.
    """

    setup: Setup
    phase: Phase = "idle"
    round: Round | None = None
    rounds: int = 0
    recent: Mapping[str, None] = {}
    last: Dealt | None = None
    ended_at: int | None = None
    active_at: int = 0
    failed: tuple[str, int] | None = None
    multi_read_at: Mapping[str, int] = {}
    alarms: Mapping[tuple[str, str | None], Alarm] = {}
    scanners: Mapping[str, Literal["up", "down"] | None] = {}
    broker_up: bool = False
    memory: Memory = Memory()

    @property
    def due(self) -> Slot | None:
        """The first empty slot in plan order while a round is dealt or held; None when none is due."""
        if self.round is None or self.phase == "complete":
            return None
        cards = self.round.cards
        for slot in self.setup.plan.slots:
            if slot.name not in cards:
                return slot
        return None

    @property
    def completion_at(self) -> int | None:
        """When the round is complete, if nothing doubts its last card until then; None while a slot is due."""
        if self.phase != "dealing" or self.last is None or self.due is not None:
            return None
        return self.last.at + self.setup.rules.min_gap_ms * MS

    @property
    def stall_at(self) -> int | None:
        """When `stalled` must be raised; None where it can't be."""
        stall_ms = self.setup.rules.stall_ms
        if self.phase != "dealing" or not stall_ms or ("stalled", None) in self.alarms:
            return None
        return self.active_at + stall_ms * MS

    @property
    def deadline(self) -> int | None:
        """The time at which the core must be given a `Deadline`."""
        completion_at, stall_at = self.completion_at, self.stall_at
        if completion_at is None or stall_at is None:
            return stall_at if completion_at is None else completion_at
        return min(completion_at, stall_at)

    def within_gap(self, at: int) -> bool:
        """Whether `at` is less than `round_gap_ms` after the last round's end."""
        return self.ended_at is not None and at - self.ended_at < self.setup.rules.round_gap_ms * MS


RECENT_ROUNDS = 1_000
"""How many past round ids of engines a new one is compared with."""
