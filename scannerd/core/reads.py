"""Reads: `READ_ROWS` judge a card, the first row that fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

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
from scannerd.core.rows import ANY, BETWEEN, Row, by_phase, first
from scannerd.core.state import MS, Dealt, State

Then: TypeAlias = Callable[[State, e.Read], Decisions]


def read_card(state: State, read: e.Read) -> Decisions:
    """Judges a card that was read."""
    told = _first_row(state, read)
    if isinstance(told[0], d.Bounced):
        return told
    return (*stall_over(state, read.at), *told)


def judging(state: State, read: e.Read) -> tuple[Row[e.Read], ...]:
    """The row that judges it; where that opens a round, the one that judges it then too."""
    row = first(_ROWS_OF, state, read)
    if row.then is not _open_by_card:
        return (row,)
    return (row, first(_ROWS_OF, evolve(state, _opened_by_card(state, read)), read))


def _first_row(state: State, read: e.Read) -> Decisions:
    return first(_ROWS_OF, state, read).then(state, read)


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


def _opened_by_card(state: State, read: e.Read) -> d.RoundOpened:
    return opening(state, read.at, None, "auto")


def _open_by_card(state: State, read: e.Read) -> Decisions:
    opened = _opened_by_card(state, read)
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


READ_ROWS: tuple[Row[e.Read], ...] = (
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
_ROWS_OF = by_phase(READ_ROWS)
