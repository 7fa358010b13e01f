"""What the table's events do to the round in play: the phases that each type fits are rows of `FITS`.

Four things did not fit the rows, and come before them in this order:

* an event seen before changes nothing; the key (table, journal, number) decides,
* a gap in the numbers, a new journal or a damaged event lets the engine doubt a round that has begun: what is missing
  may have been a withdrawal or a void,
* `round_opened` may concern another round than the one in play: `_opened` decides,
* a doubted round hears of nothing but its void. No guess is ever paid.

An event that does not fit the phase of a round that has begun is such a doubt, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias, assert_never

from teen_patti.cards import card
from teen_patti.ledger import Ledger, close
from teen_patti.moves import (
    BEGUN,
    DEALT,
    Step,
    alarmed,
    doubt,
    drop_late,
    end_with_return,
    known_as,
    move,
    pay_out,
    put,
    stay,
    then,
)
from teen_patti.state import GAME, PLAN, Phase, Round, State
from teen_patti.table_events import (
    CardAccepted,
    CardWithdrawn,
    Damaged,
    Other,
    RoundCompleted,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundVoided,
    TableEvent,
)

Dealt: TypeAlias = CardAccepted | CardWithdrawn | RoundHeld | RoundReleased | RoundCompleted | RoundVoided
"""What may happen to a round at the table once it was opened."""

FITS: Mapping[type[Dealt], frozenset[Phase]] = MappingProxyType(
    {
        CardAccepted: frozenset({Phase.DEALING}),
        CardWithdrawn: frozenset({Phase.DEALING, Phase.PAUSED, Phase.RESULT}),
        RoundHeld: frozenset({Phase.DEALING}),
        RoundReleased: frozenset({Phase.PAUSED}),
        RoundCompleted: frozenset({Phase.DEALING}),
        RoundVoided: BEGUN,
    },
)
"""The phases in which each may happen; a correction of a result is honoured until it is settled."""


def table_event(state: State, event: TableEvent) -> Step:
    """The state after an event of the table."""
    if event.table != state.table:
        return alarmed(state, "wrong_table", f"an event of table {event.table} came to table {state.table}")
    last = state.seen.get(event.journal)
    if last is not None and event.seq <= last:
        return stay(state)
    return then(_doubtful(_noted(state, event), event, last), lambda checked: _routed(checked, event))


def _noted(state: State, event: TableEvent) -> State:
    """The voided round is named by its void, but stands at the table no longer."""
    return replace(
        state,
        seen={**state.seen, event.journal: event.seq},
        journal=event.journal,
        at_table=None if isinstance(event.body, RoundVoided) else event.round,
    )


def _doubtful(state: State, event: TableEvent, last: int | None) -> Step:
    """Whether the event shows that something is missing.

    An `open` that is not answered yet is not doubted for a gap: if the opening was in it, the next card will tell.
    """
    if last is not None and event.seq > last + 1:
        gap = f"events {last + 1} to {event.seq - 1} of journal {event.journal} are missing"
        return then(alarmed(state, "gap", gap), lambda told: _doubt_dealt(told, event, gap))
    if isinstance(event.body, Damaged):
        damage = f"event {event.seq} ({event.type}) can't be read: {event.body.detail}"
        return then(alarmed(state, "unreadable_event", damage), lambda told: _doubt_dealt(told, event, damage))
    return _same_journal(state, event)


def _doubt_dealt(state: State, event: TableEvent, why: str) -> Step:
    current = state.round
    if current is None or current.phase not in DEALT:
        return stay(state)
    return doubt(state, event.at, why)


def _same_journal(state: State, event: TableEvent) -> Step:
    current = state.round
    if current is None or current.phase not in DEALT or current.journal in {None, event.journal}:
        return stay(state)
    if current.doubt is not None:
        return stay(state)
    changed = f"the table has a new journal, {event.journal}, in which the round is not"
    return then(alarmed(state, "journal_changed", changed), lambda told: doubt(told, event.at, changed))


def _routed(state: State, event: TableEvent) -> Step:
    """The event goes to the round in play, to one that ended, or nowhere."""
    if isinstance(event.body, RoundOpened):
        return _opened(state, event, event.body)
    current = state.round
    if current is not None and event.round == known_as(current):
        return _by_row(state, current, event)
    if event.round is not None and state.ended.get(event.round) is Phase.SETTLED:
        return _too_late(state, event)
    return stay(state)


def _by_row(state: State, current: Round, event: TableEvent) -> Step:
    body = event.body
    if current.phase is Phase.SETTLED:
        return _too_late(state, event)
    if current.phase not in BEGUN or (current.doubt is not None and not isinstance(body, RoundVoided)):
        return stay(state)
    if isinstance(body, Other):
        return stay(state)
    if isinstance(body, RoundOpened | Damaged) or current.phase not in FITS[type(body)]:
        return doubt(state, event.at, f"{event.type} can't be in phase {current.phase}")
    return _done(state, current, body, event.at)


def _done(state: State, current: Round, body: Dealt, at: datetime) -> Step:
    """What the event does in a phase that it fits."""
    match body:
        case CardAccepted():
            step = _accept(state, current, body, at)
        case CardWithdrawn():
            step = _withdraw(state, current, body, at)
        case RoundHeld():
            step = move(state, current, Phase.PAUSED, at, body.reason)
        case RoundReleased():
            step = move(state, current, Phase.DEALING, at)
        case RoundCompleted():
            step = _complete(state, current, body, at)
        case RoundVoided():
            step = end_with_return(state, current, Phase.VOIDED, at, body.reason)
        case _:
            assert_never(body)
    return step


def _too_late(state: State, event: TableEvent) -> Step:
    """A correction after the settlement is refused and alarmed; what else comes late does not matter."""
    if not isinstance(event.body, CardWithdrawn | RoundVoided):
        return stay(state)
    detail = f"{event.type} of round {event.round} came after its settlement; what was paid stands"
    return alarmed(state, "correction_after_settlement", detail)


# --- openings -------------------------------------------------------------------------------------------------


def _opened(state: State, event: TableEvent, body: RoundOpened) -> Step:
    """The table deals a round: the one asked for, the one bets are taken on, or one without bets."""
    current = state.round
    if current is None or current.phase.ended:
        return _without_bets(state, event, body)
    match current.phase:
        case Phase.BETTING_OPEN | Phase.BETTING_CLOSED:
            late = drop_late(state, current, event.at)
            return then(late, lambda kept: begin(kept, kept.round or current, event, body))
        case Phase.OPEN_SENT if event.round == current.id:
            return begin(state, current, event, body)
        case Phase.RESULT:
            settled = pay_out(state, current, event.at)
            return then(settled, lambda paid: _without_bets(paid, event, body))
        case _:
            return _foreign(state, current, event)


def _foreign(state: State, current: Round, event: TableEvent) -> Step:
    """A table can't open another round while ours is being dealt; asked for only, ours is refused and cancelled."""
    told = alarmed(state, "foreign_round", f"the table opened round {event.round} during round {current.id}")
    if current.phase is Phase.OPEN_SENT:
        return told
    return then(told, lambda after: doubt(after, event.at, f"round {event.round} was opened during it"))


def _without_bets(state: State, event: TableEvent, body: RoundOpened) -> Step:
    """A round that nobody could bet on: it is followed, so that its result is told."""
    name = event.round or ""
    fresh = Round(name, Phase.OPEN_SENT, event.at, Ledger(name))
    if name not in state.ended:
        return begin(state, fresh, event, body)
    detail = f"round {name} was opened, though it had ended; no bets are on it"
    return then(alarmed(state, "opened_after_cancel", detail), lambda told: begin(told, fresh, event, body))


def begin(state: State, current: Round, event: TableEvent, body: RoundOpened) -> Step:
    """The cards of the round come from now on; the betting is over."""
    begun = replace(current, ledger=close(current.ledger), table_round=event.round, journal=event.journal)
    step = move(state, begun, Phase.DEALING, event.at)
    if (body.game, body.plan) == (GAME, PLAN):
        return step
    return then(step, lambda dealt: doubt(dealt, event.at, f"the table deals {body.game}, not {GAME}"))


# --- the cards ------------------------------------------------------------------------------------------------


def _accept(state: State, current: Round, body: CardAccepted, at: datetime) -> Step:
    due = next((slot for slot in PLAN if slot not in current.cards), None)
    known = card(body.card)
    if known is None or body.slot != due or known in current.cards.values():
        return doubt(state, at, f"{body.card} can't lie at {body.slot}")
    return put(state, replace(current, cards={**current.cards, body.slot: known}))


def _withdraw(state: State, current: Round, body: CardWithdrawn, at: datetime) -> Step:
    if current.cards.get(body.slot) != body.card:
        return doubt(state, at, f"{body.card} was withdrawn from {body.slot}, where it did not lie")
    left = {slot: held for slot, held in current.cards.items() if slot != body.slot}
    phase = Phase.DEALING if current.phase is Phase.RESULT else current.phase
    return put(state, replace(current, cards=left, phase=phase))


def _complete(state: State, current: Round, body: RoundCompleted, at: datetime) -> Step:
    """The table must have the same six cards as the engine."""
    mine = {"A": current.hand("A"), "B": current.hand("B")}
    if len(current.cards) < len(PLAN) or dict(body.cards) != mine:
        return doubt(state, at, "the cards of the completed round are not those accepted")
    return move(state, current, Phase.RESULT, at)
