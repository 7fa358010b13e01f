"""What the dealer must do now: derived from the state, the first row that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scannerd.core.games import Slot
from scannerd.core.state import Round, State

Code: TypeAlias = Literal[
    "wait",
    "deal",
    "rescan",
    "call_supervisor",
    "scanner_down",
    "scanner_error",
    "network_down",
    "storage_fault",
    "complete",
]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Fields that do not apply are None; `attempt` is that of the try awaited, from 1."""

    code: Code
    slot: str | None = None
    hand: str | None = None
    index: int | None = None
    reason: str | None = None
    attempt: int | None = None
    conflict_slot: str | None = None


STORAGE_FAULT = Prompt("storage_fault")
"""The journal can't be written: nothing is taken, whatever the state."""


def prompt(state: State) -> Prompt:
    """The prompt of a state whose journal is sound."""
    for row in PROMPT_ROWS:
        found = row(state)
        if found is not None:
            return found
    return Prompt("wait")


def _at(
    code: Code,
    slot: Slot | None,
    reason: str | None = None,
    attempt: int | None = None,
    conflict_slot: str | None = None,
) -> Prompt:
    if slot is None:
        return Prompt(code, reason=reason)
    return Prompt(code, slot.name, slot.hand, slot.index, reason, attempt, conflict_slot)


def _held(state: State) -> Prompt | None:
    """Held."""
    if state.phase != "held" or state.round is None:
        return None
    return _at("call_supervisor", state.due, state.round.held_for)


def _scanner_down(state: State) -> Prompt | None:
    """A configured scanner is down."""
    for scanner in state.setup.scanners:
        if state.scanners.get(scanner) == "down":
            return _at("scanner_down", state.due, scanner)
    return None


def _scanner_error(state: State) -> Prompt | None:
    for scanner in state.setup.scanners:
        if ("scanner_error", scanner) in state.alarms:
            return _at("scanner_error", state.due, scanner)
    return None


def _error_in_deal(state: State) -> Prompt | None:
    """Dealing, and the alarm `scanner_error` is up."""
    return _scanner_error(state) if state.phase == "dealing" else None


def _deal(state: State) -> Prompt | None:
    """Dealing: wait where no slot is due, scan again where the due slot is in doubt, else deal."""
    if state.phase != "dealing" or state.round is None:
        return None
    due = state.due
    return Prompt("wait") if due is None else _next_card(state.round, due)


def _next_card(current: Round, due: Slot) -> Prompt:
    attempt = current.tries.get(due.name, 0) + 1
    doubt = current.doubts.get(due.name)
    if doubt is not None:
        return _at("rescan", due, doubt.reason, attempt, doubt.conflict_slot)
    withdrawn = current.withdrawn.get(due.name)
    if withdrawn is not None:
        return _at("rescan", due, withdrawn, attempt)
    return _at("deal", due, None, attempt)


def _network_down(state: State) -> Prompt | None:
    """Between rounds, the broker away, and `require_broker`."""
    return Prompt("network_down") if state.setup.rules.require_broker and not state.broker_up else None


def _error_between(state: State) -> Prompt | None:
    """Between rounds, and the alarm `scanner_error` is up."""
    found = _scanner_error(state)
    return None if found is None else Prompt("scanner_error", reason=found.reason)


def _failed_first(state: State) -> Prompt | None:
    """Between rounds, `auto`: the first card did not read."""
    if state.setup.rules.start != "auto" or state.failed is None or state.within_gap(state.failed[1]):
        return None
    return _at("rescan", state.setup.plan.slots[0], state.failed[0], 1)


def _complete(state: State) -> Prompt | None:
    """The round is complete."""
    return Prompt("complete") if state.phase == "complete" else None


PROMPT_ROWS: tuple[Callable[[State], Prompt | None], ...] = (
    _held,
    _scanner_down,
    _error_in_deal,
    _deal,
    _network_down,
    _error_between,
    _failed_first,
    _complete,
)
