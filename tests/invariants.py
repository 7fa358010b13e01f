"""What holds at a table whatever its scanners send, checked decision by decision while a recording is played."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scannerd import messages
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.evolution import evolve
from scannerd.core.prompts import prompt
from scannerd.core.state import Memory, State
from scannerd.recording.replay import Line, Replay, Taken, event_lines
from scannerd.scanlog import Entry

ASKING = {"rescan", "call_supervisor", "scanner_down", "scanner_error"}
"""Prompts that may follow a try that failed: once more, or somebody must come."""


def played(replay: Replay, entries: Iterable[Entry]) -> list[Line]:
    """Plays entries and checks every decision; returns the events as they are printed."""
    folded, told = replay.state, []
    for taken in replay.play(iter(entries)):
        folded = _check(taken, folded)
        told += event_lines(taken)
    return told


def kept(state: State) -> State:
    """A state without what a restart forgets: memories, the broker, and scanners of which nothing is known."""
    known = {name: link for name, link in state.scanners.items() if link is not None}
    return state._replace(memory=Memory(), broker_up=False, scanners=known)


def _check(taken: Taken, folded: State) -> State:
    """Checks a decision; returns what the journal's reader would know after it."""
    state = taken.before
    for one in taken.told:
        if isinstance(one, d.CardAccepted):
            _check_card(taken.event, one, state)
        if isinstance(one, d.RoundCompleted):
            _check_result(one, state)
        state = evolve(state, one)
    assert state == taken.after
    _check_cards(taken.after)
    _check_prompt(taken)
    folded = _read_back(taken, folded)
    assert kept(folded) == kept(taken.after)
    return folded


def _check_card(event: e.Event, accepted: d.CardAccepted, at_the_time: State) -> None:
    """A card goes into the first empty slot of the plan, and is the one that was read, or typed, just now."""
    due = at_the_time.due
    assert due is not None
    assert "dealing" == at_the_time.phase
    assert (due.name, due.hand, due.index) == (accepted.slot, accepted.hand, accepted.index)
    seen = event.card if isinstance(event, e.Read) else event.fields["card"] if isinstance(event, e.Command) else None
    assert seen == accepted.card


def _check_result(completed: d.RoundCompleted, at_the_time: State) -> None:
    """A result is what lies in the slots, in plan order."""
    assert at_the_time.round is not None
    lying = at_the_time.round.cards
    assert tuple(lying[name].card for name in at_the_time.setup.plan.names) == completed.dealt


def _check_cards(state: State) -> None:
    """The filled slots are the plan's, and no card is in two of them."""
    cards = {} if state.round is None else state.round.cards
    assert len({dealt.card for dealt in cards.values()}) == len(cards)
    assert set(cards) <= set(state.setup.plan.names)


def _check_prompt(taken: Taken) -> None:
    """A rejection in a deal leaves exactly one thing to do: the due slot, by one prompt that says why."""
    rejected = [one for one in taken.told if isinstance(one, d.ScanRejected)]
    if not rejected or taken.after.phase not in {"dealing", "held"}:
        return
    shown, due = prompt(taken.after), taken.after.due
    assert 1 == len(rejected)
    assert (None if due is None else due.name) == shown.slot
    if rejected[0].attempt is not None:
        assert shown.code in ASKING
        assert rejected[0].slot == shown.slot


def _read_back(taken: Taken, folded: State) -> State:
    """Folds what a consumer reads: each event through its JSON and back."""
    for one, round_id in messages.told_rounds(taken.told, taken.before):
        data = json.loads(messages.dumps(messages.data(one)))
        read_back = messages.decision(one.TYPE, data, one.at, round_id)
        assert one == read_back
        folded = evolve(folded, one)
    return folded
