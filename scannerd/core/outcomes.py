"""Pieces of decisions that reads, commands and deadlines share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.evolution import evolve
from scannerd.core.games import Slot
from scannerd.core.state import MS, Dealt, Round, State

Decisions: TypeAlias = tuple[d.Decision, ...]


def current_round(state: State) -> Round:
    """The round of a state in which there is one."""
    assert state.round is not None, "asked only while there is a round"
    return state.round


def evolve_all(state: State, told: Decisions) -> State:
    """Folds `evolve` over decisions."""
    for decision in told:
        state = evolve(state, decision)
    return state


def offline(state: State) -> bool:
    """Whether no round may be opened because the broker is away."""
    return state.setup.rules.require_broker and not state.broker_up


def holding(current: Round, wanted: Card) -> str | None:
    """The slot in which a card lies, or None."""
    for slot, dealt in current.cards.items():
        if dealt.card == wanted:
            return slot
    return None


def opening(state: State, at: int, wanted: str | None, by: str | None) -> d.RoundOpened:
    """A round begins, under an engine's id or the daemon's next one."""
    plan = state.setup.plan
    name = wanted or f"{state.setup.table}/{state.rounds + 1}"
    return d.RoundOpened(at, name, plan.game, plan.names, by)


def accepted(state: State, slot: Slot, dealt: Dealt, by: str | None, reason: str | None = None) -> Decisions:
    """A card fills the due slot: its scanner's error is over, and the round too where no gap is waited for."""
    current = current_round(state)
    attempt = current.tries.get(slot.name, 0) + 1
    via: Literal["scan", "manual"] = "manual" if dealt.scanner is None else "scan"
    told = d.CardAccepted(
        dealt.at, slot.name, slot.hand, slot.index, dealt.card, dealt.scanner, attempt, via, by, reason
    )
    over = () if dealt.scanner is None else error_over(state, dealt.scanner, dealt.at, over=True)
    empty = len(state.setup.plan.slots) - len(current.cards)
    if state.setup.rules.min_gap_ms or empty > 1:
        return (told, *over)
    return (told, *over, completion(evolve(state, told), dealt.at))


def completion(state: State, at: int) -> d.RoundCompleted:
    """The result of a round whose slots are all filled."""
    current, plan = current_round(state), state.setup.plan
    dealt = [current.cards[name] for name in plan.names]
    hands = {
        hand: tuple(current.cards[slot.name].card for slot in plan.slots if slot.hand == hand) for hand in plan.hands
    }
    duration = max(one.at for one in dealt) - current.opened_at
    duration_ms = max(0, round(duration / MS))
    return d.RoundCompleted(at, hands, tuple(one.card for one in dealt), current.rejections, duration_ms)


def counted(
    state: State, read: e.Read | e.FailedRead, reason: d.RejectReason, slot: Slot | None, conflict: str | None = None
) -> Decisions:
    """A rejection that is a try for the slot, if there is one; the last try allowed holds the round."""
    if slot is None:
        return (rejection(read, reason, None, None, conflict),)
    attempt, limit = current_round(state).tries.get(slot.name, 0) + 1, state.setup.rules.max_attempts
    told = rejection(read, reason, slot, attempt, conflict)
    if limit and attempt >= limit:
        return (told, d.RoundHeld(read.at, "rescan_limit", None))
    return (told,)


def rejection(
    read: e.Read | e.FailedRead,
    reason: d.RejectReason,
    slot: Slot | None,
    attempt: int | None = None,
    conflict: str | None = None,
) -> d.ScanRejected:
    """A read is refused; without an attempt it is no try for the slot."""
    seen, detail = (read.card, None) if isinstance(read, e.Read) else (None, read.detail or None)
    raw_hex = read.raw[:64].hex() or None
    name = None if slot is None else slot.name
    return d.ScanRejected(read.at, reason, name, attempt, read.scanner, seen, conflict, raw_hex, detail)


def stall_over(state: State, at: int) -> Decisions:
    """Clears the alarm `stalled`, if it is up."""
    return (d.AlarmCleared(at, "stalled", None, None),) if ("stalled", None) in state.alarms else ()


def error_over(state: State, scanner: str, at: int, over: bool) -> Decisions:  # noqa: FBT001 - a condition, not a mode
    """Clears a scanner's alarm `scanner_error`, if it is `over` and up."""
    if not over or ("scanner_error", scanner) not in state.alarms:
        return ()
    return (d.AlarmCleared(at, "scanner_error", scanner, None),)
