"""`evolve(state, decision) -> state`: what each decision changes. Start-up folds it over the journalled ones.

It judges nothing: a decision once taken is a fact, so that a later change of a rule can't rewrite history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, assert_never

from scannerd.core import decisions as d
from scannerd.core.cards import Card
from scannerd.core.state import RECENT_ROUNDS, Alarm, Dealt, Doubt, Memory, Round, State

K = TypeVar("K")
V = TypeVar("V")

FAILED = frozenset({"no_read", "bad_frame", "unknown_code", "not_in_deck"})
"""Reasons of a rejection that are a failed read: no card was decoded."""


def evolve(state: State, decision: d.Decision) -> State:  # noqa: C901, PLR0911, PLR0912 - one line a decision
    """The state after `decision`."""
    match decision:
        case d.CardAccepted():
            return _accepted(state, decision)
        case d.ScanRejected():
            return _rejected(state, decision)
        case d.Bounced():
            return state._replace(memory=_bounced(state.memory, decision))
        case d.RoundOpened():
            return _opened(state, decision)
        case d.RoundCompleted():
            return state._replace(phase="complete", ended_at=decision.at, failed=None)
        case d.CardWithdrawn():
            return _withdrawn(state, decision)
        case d.RoundHeld():
            return state._replace(phase="held", round=_round(state)._replace(held_for=decision.reason))
        case d.RoundReleased():
            return _released(state, decision)
        case d.RoundVoided():
            return _voided(state, decision)
        case d.ScannerNotice():
            return state._replace(memory=_noticed(state.memory, decision))
        case d.ScannerUp():
            return state._replace(scanners={**state.scanners, decision.scanner: "up"})
        case d.ScannerDown():
            return state._replace(scanners={**state.scanners, decision.scanner: "down"})
        case d.AlarmRaised():
            alarm = Alarm(decision.at, decision.detail)
            return state._replace(alarms={**state.alarms, (decision.alarm, decision.scanner): alarm})
        case d.AlarmCleared():
            return _alarm_cleared(state, decision)
        case d.BrokerSwitched():
            return state._replace(broker_up=decision.up)
        case d.DaemonStarted():
            return state._replace(scanners={}, broker_up=False, memory=Memory())
        case d.DaemonStopped() | d.ClockStepped() | d.SelfChecked() | d.JournalTrimmed() | d.Refused():
            return state
        case _ as never:
            assert_never(never)


def _round(state: State) -> Round:
    assert state.round is not None, "a decision about a deal comes after its opening"
    return state.round


def _without(mapping: Mapping[K, V], key: K) -> Mapping[K, V]:
    return {k: v for k, v in mapping.items() if k != key} if key in mapping else mapping


def _seen(memory: Memory, scanner: str, card: Card, at: int) -> Memory:
    past, failures, notices, refused, bounces = memory
    sightings = {**past, scanner: {**past.get(scanner, {}), card: at}}
    return Memory(sightings, failures, notices, refused, bounces)  # at each read, and half the time of `_replace`


def _unseen(memory: Memory, cards: frozenset[Card]) -> Memory:
    """Forgets when any scanner saw these cards."""
    kept = {
        scanner: {card: at for card, at in seen.items() if card not in cards}
        for scanner, seen in memory.sightings.items()
    }
    return memory._replace(sightings=kept)


def _opened(state: State, opened: d.RoundOpened) -> State:
    recent = state.recent
    if not opened.round.startswith(f"{state.setup.table}/"):  # no engine may give a round the daemon's own kind of id
        recent = {**_without(recent, opened.round), opened.round: None}
        if len(recent) > RECENT_ROUNDS:
            del recent[next(iter(recent))]
    return state._replace(
        phase="dealing",
        round=Round(opened.round, opened.at),
        rounds=state.rounds + 1,
        recent=recent,
        last=None,
        active_at=opened.at,
        failed=None,
    )


def _accepted(state: State, accepted: d.CardAccepted) -> State:
    at, slot, card, scanner = accepted.at, accepted.slot, accepted.card, accepted.scanner
    dealt = Dealt(slot, card, scanner, at)
    past = _round(state)
    memory, last_of = state.memory, past.last_of
    if scanner is not None:
        memory = _seen(memory, scanner, card, at)
        last_of = {**last_of, scanner: card}
    cards, withdrawn = {**past.cards, slot: dealt}, _without(past.withdrawn, slot)
    now = Round(past.id, past.opened_at, cards, last_of, past.tries, withdrawn, {}, past.rejections, past.held_for)
    return state._replace(round=now, last=dealt, active_at=at, memory=memory)


def _rejected(state: State, rejected: d.ScanRejected) -> State:
    changed: State = state._replace(memory=_remembered(state, rejected), active_at=rejected.at)
    if rejected.reason == "multi_read":
        changed = changed._replace(multi_read_at={**state.multi_read_at, rejected.scanner: rejected.at})
    if changed.phase in {"idle", "complete"} and rejected.reason in FAILED:
        changed = changed._replace(failed=(rejected.reason, rejected.at))
    if changed.round is None:
        return changed
    return changed._replace(round=_doubted(changed.round, rejected))


def _remembered(state: State, rejected: d.ScanRejected) -> Memory:
    """Row 1's memory and that of failed reads; stale bytes leave none."""
    memory, card = state.memory, rejected.card
    if card is not None and state.phase == "held":
        memory = memory._replace(refused=memory.refused | {card})
    if rejected.reason == "stale":
        return memory
    if card is not None:
        return _seen(memory, rejected.scanner, card, rejected.at)
    return memory._replace(failures={**memory.failures, (rejected.scanner, rejected.reason): rejected.at})


def _doubted(past: Round, rejected: d.ScanRejected) -> Round:
    """Counts the rejection; where it was a try for a slot, the slot is asked for again."""
    now = past._replace(rejections=past.rejections + 1)
    if rejected.slot is None or rejected.attempt is None:
        return now
    doubt = Doubt(rejected.reason, rejected.conflict_slot)
    return now._replace(
        tries={**now.tries, rejected.slot: rejected.attempt}, doubts={**now.doubts, rejected.slot: doubt}
    )


def _withdrawn(state: State, withdrawn: d.CardWithdrawn) -> State:
    past, slot = _round(state), withdrawn.slot
    tries, memory = past.tries, state.memory
    if withdrawn.reason == "rescan":
        tries = _without(tries, slot)
        memory = _unseen(memory, frozenset({withdrawn.card}))
    now = past._replace(
        cards=_without(past.cards, slot),
        tries=tries,
        withdrawn={**past.withdrawn, slot: withdrawn.reason},
        doubts={},
    )
    return state._replace(round=now, active_at=withdrawn.at, memory=memory)


def _released(state: State, released: d.RoundReleased) -> State:
    memory = _unseen(state.memory, state.memory.refused)._replace(refused=frozenset())
    now = _round(state)._replace(tries={}, held_for=None)
    return state._replace(phase="dealing", round=now, active_at=released.at, memory=memory)


def _voided(state: State, voided: d.RoundVoided) -> State:
    """What was rejected in a hold that no release ended is no matter of the next hold."""
    memory = state.memory._replace(refused=frozenset())
    return state._replace(phase="idle", round=None, ended_at=voided.at, failed=None, memory=memory)


def _alarm_cleared(state: State, cleared: d.AlarmCleared) -> State:
    active_at = cleared.at if cleared.alarm == "stalled" else state.active_at
    return state._replace(alarms=_without(state.alarms, (cleared.alarm, cleared.scanner)), active_at=active_at)


def _noticed(memory: Memory, notice: d.ScannerNotice) -> Memory:
    key = (notice.scanner, notice_key(notice.kind, notice.detail))
    return memory._replace(notices={**memory.notices, key: notice.at})


def _bounced(memory: Memory, bounced: d.Bounced) -> Memory:
    """A bounce starts its time anew."""
    scanner, at = bounced.scanner, bounced.at
    memory = memory._replace(bounces={**memory.bounces, scanner: memory.bounces.get(scanner, 0) + 1})
    key = (scanner, bounced.what)
    if bounced.kind == "card":
        return _seen(memory, scanner, Card(bounced.what), at)
    if bounced.kind == "failure":
        return memory._replace(failures={**memory.failures, key: at})
    return memory._replace(notices={**memory.notices, key: at})


def notice_key(kind: str, detail: str | None) -> str:
    """Under which a notice is remembered: the same kind and detail are the same notice."""
    return f"{kind}\0{detail or ''}"
