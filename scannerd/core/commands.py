"""Commands: a row each, with the phases in which it is allowed, its refusal elsewhere, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import card
from scannerd.core.evolution import evolve
from scannerd.core.outcomes import (
    Decisions,
    accepted,
    completion,
    current_round,
    evolve_all,
    holding,
    offline,
    opening,
    stall_over,
)
from scannerd.core.state import Dealt, State


class Rule(NamedTuple):
    """A command: where it is allowed, the refusal elsewhere, and what it does (which may refuse it too)."""

    phases: tuple[d.Phase, ...]
    refusal: d.Refusal
    carry_out: Callable[[State, e.Command], Decisions]
    ends_stall: bool
    does: str


def carry_out(state: State, command: e.Command) -> Decisions:
    """What a command does, or its refusal."""
    rule = COMMANDS.get(command.name)
    if rule is None:
        return (d.Refused(command.at, "unknown_command", f"there is no command {command.name!r}"),)
    if state.phase not in rule.phases:
        return (d.Refused(command.at, rule.refusal, f"{command.name} can't be done while {state.phase}"),)
    told = rule.carry_out(state, command)
    if rule.ends_stall and not isinstance(told[0], d.Refused):
        return (*stall_over(state, command.at), *told)
    return told


def _open(state: State, command: e.Command) -> Decisions:
    if offline(state):
        return (d.Refused(command.at, "offline", "the broker is away, and no round begins without it"),)
    wanted = command.fields.get("round")
    if wanted is None:
        return (opening(state, command.at, None, command.by),)
    fault = _round_id_fault(state, wanted if isinstance(wanted, str) else "")
    if fault is not None:
        return (d.Refused(command.at, "bad_round_id", fault),)
    return (opening(state, command.at, str(wanted), command.by),)


def _round_id_fault(state: State, wanted: str) -> str | None:
    if not 1 <= len(wanted) <= 64 or not all("!" <= c <= "~" for c in wanted):  # noqa: PLR2004 - the contract's bound
        return "a round's id is 1 to 64 printable ASCII characters without spaces"
    if wanted.startswith(f"{state.setup.table}/"):
        return f"ids that begin with {state.setup.table}/ are the daemon's own"
    return "this round id was used before" if wanted in state.recent else None


def _reason(command: e.Command) -> str | None:
    reason = command.fields.get("reason")
    return reason if isinstance(reason, str) else None


def _void(state: State, command: e.Command) -> Decisions:
    return (d.RoundVoided(command.at, _reason(command), command.by, state.phase),)


def _hold(state: State, command: e.Command) -> Decisions:
    del state
    return (d.RoundHeld(command.at, _reason(command), command.by),)


def _release(state: State, command: e.Command) -> Decisions:
    released = d.RoundReleased(command.at, command.by)
    after = evolve(state, released)
    if after.completion_at is not None and after.completion_at <= command.at:
        return (released, completion(after, command.at))
    return (released,)


def _rescan(state: State, command: e.Command) -> Decisions:
    cards, wanted = current_round(state).cards, command.fields.get("slot")
    slots = [slot.name for slot in state.setup.plan.slots if slot.name in cards and wanted in (slot.name, "all")]
    if not slots:
        return (d.Refused(command.at, "empty_slot", f"there is no card in slot {wanted!r}"),)
    return tuple(d.CardWithdrawn(command.at, slot, cards[slot].card, "rescan", command.by) for slot in slots)


def _enter(state: State, command: e.Command) -> Decisions:
    refused = _entry_fault(state, command)
    if refused is not None:
        return (refused,)
    due, entered = state.due, card(str(command.fields["card"]))
    assert due is not None, "else it was refused"
    assert entered is not None, "else it was refused"
    released: Decisions = (d.RoundReleased(command.at, command.by),) if state.phase == "held" else ()
    after = evolve_all(state, released)
    dealt = Dealt(due.name, entered, None, command.at)
    return (*released, *accepted(after, due, dealt, command.by, _reason(command)))


def _entry_fault(state: State, command: e.Command) -> d.Refused | None:
    fields, at = command.fields, command.at
    given = {**fields, "by": command.by}
    missing = [name for name in ("slot", "card", "by", "reason") if given.get(name) in (None, "")]
    if missing:
        return d.Refused(at, "missing_field", f"{missing[0]} is required")
    due = state.due
    if due is None or fields["slot"] != due.name:
        return d.Refused(at, "not_due", f"the due slot is {due.name if due else 'none'}, not {fields['slot']!r}")
    entered = card(str(fields["card"]))
    if entered is None:
        return d.Refused(at, "bad_card", f"{fields['card']!r} is no card: rank then suit, such as TD")
    slot = holding(current_round(state), entered)
    return d.Refused(at, "duplicate", f"{entered} is in {slot}") if slot else None


COMMANDS: dict[str, Rule] = {
    "open": Rule(("idle", "complete"), "round_in_progress", _open, ends_stall=False, does="`round_opened`"),
    "void": Rule(("dealing", "held", "complete"), "no_round", _void, ends_stall=True, does="`round_voided`; idle"),
    "hold": Rule(("dealing",), "not_dealing", _hold, ends_stall=True, does="`round_held`"),
    "release": Rule(("held",), "not_held", _release, ends_stall=False, does="`round_released`"),
    "rescan": Rule(("dealing", "held"), "not_dealing", _rescan, ends_stall=True, does="`card_withdrawn`"),
    "enter": Rule(
        ("dealing", "held"),
        "not_dealing",
        _enter,
        ends_stall=True,
        does="`card_accepted` by hand into the due slot; a held round is released first",
    ),
}
