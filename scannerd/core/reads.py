"""Reads: `READ_ROWS` judge a card, the first row that fits; failed reads have a bounce and a count of their own.

A failed read shares no condition with a card's rows (it has no card to compare), so it stands beside the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.evolution import evolve
from scannerd.core.outcomes import (
    Decisions,
    accepted,
    counted,
    current_round,
    holding,
    offline,
    opening,
    rejection,
    stall_over,
)
from scannerd.core.state import MS, Dealt, State

When: TypeAlias = Callable[[State, e.Read], bool]
Then: TypeAlias = Callable[[State, e.Read], Decisions]


class Row(NamedTuple):
    """A rule for a read: in these phases, when this holds, this is decided; the docstring of `when` says it."""

    number: str
    phases: tuple[d.Phase, ...]
    when: When
    then: Then
    verdict: str


ANY: tuple[d.Phase, ...] = ("idle", "dealing", "held", "complete")
BETWEEN: tuple[d.Phase, ...] = ("idle", "complete")


def read_card(state: State, read: e.Read) -> Decisions:
    """Judges a card that was read."""
    told = _first_row(state, read)
    if isinstance(told[0], d.Bounced):
        return told
    return (*stall_over(state, read.at), *told)


def _first_row(state: State, read: e.Read) -> Decisions:
    rows, place = _ROWS_OF[state.phase], 0
    while not rows[place].when(state, read):  # the last row of each phase always holds
        place += 1
    return rows[place].then(state, read)


def _seen_at(state: State, read: e.Read) -> int | None:
    seen = state.memory.sightings.get(read.scanner)
    return None if seen is None else seen.get(read.card)


def _is_stale(state: State, read: e.Read) -> bool:
    """The bytes waited while the process did not run."""
    del state
    return read.stale


def _is_bounce(state: State, read: e.Read) -> bool:
    """The scanner saw this card less than `bounce_ms` before, and nothing cleared it."""
    seen = _seen_at(state, read)
    return seen is not None and read.at - seen < state.setup.rules.bounce_ms * MS


def _always(state: State, read: e.Read) -> bool:
    """Any other read."""
    del state, read
    return True


def _by_command(state: State, read: e.Read) -> bool:
    """`start = "command"`: only a command opens a round."""
    del read
    return state.setup.rules.start == "command"


def _too_soon(state: State, read: e.Read) -> bool:
    """Less than `round_gap_ms` after the last round's end, or its last card still lies on this scanner."""
    if state.within_gap(read.at):
        return True
    last, seen = state.last, _seen_at(state, read)
    lies = last is not None and last.card == read.card and last.scanner == read.scanner
    return lies and seen is not None and read.at - seen < state.setup.rules.round_gap_ms * MS


def _is_offline(state: State, read: e.Read) -> bool:
    """The broker is away and `require_broker` is set."""
    del read
    return offline(state)


def _is_multi_read(state: State, read: e.Read) -> bool:
    """Less than `min_gap_ms` before, this scanner gave the round's last card, another one, not withdrawn."""
    last = state.last
    return (
        last is not None
        and read.at - last.at < state.setup.rules.min_gap_ms * MS
        and last.scanner == read.scanner
        and last.card != read.card
        and holding(current_round(state), last.card) == last.slot
    )


def _after_multi_read(state: State, read: e.Read) -> bool:
    """Less than `min_gap_ms` before, a read of this scanner was rejected `multi_read`."""
    at = state.multi_read_at.get(read.scanner)
    return at is not None and read.at - at < state.setup.rules.min_gap_ms * MS


def _still_lies_there(state: State, read: e.Read) -> bool:
    """The card is in the round and is the one last accepted from this scanner, or was entered by hand."""
    current = current_round(state)
    slot = holding(current, read.card)
    if slot is None:
        return False
    return current.last_of.get(read.scanner) == read.card or current.cards[slot].scanner is None


def _is_duplicate(state: State, read: e.Read) -> bool:
    """The card is already in the round: either of the two may be the misread one."""
    return holding(current_round(state), read.card) is not None


def _none_due(state: State, read: e.Read) -> bool:
    """No slot is due."""
    del read
    return state.due is None


def _is_wrong_hand(state: State, read: e.Read) -> bool:
    """The reader's hand is not the due slot's."""
    if read.hand is None:
        return False
    due = state.due
    return due is not None and read.hand != due.hand


def _reject(reason: d.RejectReason) -> Then:
    return lambda state, read: (rejection(read, reason, state.due),)


def _reject_counted(reason: d.RejectReason) -> Then:
    return lambda state, read: counted(state, read, reason, state.due)


def _reject_between(state: State, read: e.Read) -> Decisions:
    return (rejection(read, "extra_card" if state.phase == "complete" else "no_round", None),)


def _bounce(state: State, read: e.Read) -> Decisions:
    del state
    return (d.Bounced(read.at, read.scanner, "card", read.card),)


def _open_by_card(state: State, read: e.Read) -> Decisions:
    opened = opening(state, read.at, None, "auto")
    return (opened, *_first_row(evolve(state, opened), read))


def _withdraw_both(state: State, read: e.Read) -> Decisions:
    last = state.last
    assert last is not None, "row 7 fits only after an acceptance"
    withdrawn = d.CardWithdrawn(read.at, last.slot, last.card, "multi_read", None)
    slot = state.setup.plan.slot(last.slot)
    return (withdrawn, *counted(state, read, "multi_read", slot))


def _reject_duplicate(state: State, read: e.Read) -> Decisions:
    return counted(state, read, "duplicate", state.due, holding(current_round(state), read.card))


def _accept(state: State, read: e.Read) -> Decisions:
    due = state.due
    assert due is not None, "row 8b takes what comes while no slot is due"
    return accepted(state, due, Dealt(due.name, read.card, read.scanner, read.at), None)


READ_ROWS: tuple[Row, ...] = (
    Row("0", ANY, _is_stale, _reject("stale"), "rejected `stale`, no attempt"),
    Row("1", ANY, _is_bounce, _bounce, "nothing: a bounce, counted only"),
    Row("2", ("held",), _always, _reject("held"), "rejected `held`, no attempt"),
    Row("3", BETWEEN, _by_command, _reject_between, "rejected `extra_card` if complete, else `no_round`"),
    Row("4", BETWEEN, _too_soon, _reject_between, "rejected `extra_card` if complete, else `no_round`"),
    Row("5", BETWEEN, _is_offline, _reject("offline"), "rejected `offline`"),
    Row("6", BETWEEN, _always, _open_by_card, "`round_opened` by `auto`, then as dealing"),
    Row("7", ("dealing",), _is_multi_read, _withdraw_both, "that card withdrawn, this one rejected `multi_read`"),
    Row("7a", ("dealing",), _after_multi_read, _reject_counted("multi_read"), "rejected `multi_read`"),
    Row("8", ("dealing",), _still_lies_there, _reject("duplicate"), "rejected `duplicate`, no attempt"),
    Row("8a", ("dealing",), _is_duplicate, _reject_duplicate, "rejected `duplicate` with `conflict_slot`"),
    Row("8b", ("dealing",), _none_due, _reject("extra_card"), "rejected `extra_card`, no attempt"),
    Row("9", ("dealing",), _is_wrong_hand, _reject_counted("wrong_hand"), "rejected `wrong_hand`"),
    Row("10", ("dealing",), _always, _accept, "`card_accepted` for the due slot"),
)
_ROWS_OF: dict[d.Phase, tuple[Row, ...]] = {
    phase: tuple(row for row in READ_ROWS if phase in row.phases) for phase in ANY
}


def failed_read(state: State, failed: e.FailedRead) -> Decisions:
    """Judges a read that gave no card."""
    if failed.lost:
        return (*stall_over(state, failed.at), *_lost(state, failed))
    if failed.stale:
        return (*stall_over(state, failed.at), rejection(failed, "stale", state.due))
    before = state.memory.failures.get((failed.scanner, failed.reason))
    if before is not None and failed.at - before < state.setup.rules.bounce_ms * MS:
        return (d.Bounced(failed.at, failed.scanner, "failure", failed.reason),)
    return (*stall_over(state, failed.at), *_misread(state, failed))


def _misread(state: State, failed: e.FailedRead) -> Decisions:
    if state.phase == "dealing":
        return counted(state, failed, failed.reason, state.due)
    return (rejection(failed, failed.reason, state.due),)


def _lost(state: State, failed: e.FailedRead) -> Decisions:
    """The dealer deals on, so that the round must be held at once."""
    told = _misread(state, failed)
    if state.phase != "dealing":
        return told
    return (told[0], d.RoundHeld(failed.at, "lost_read", None))
