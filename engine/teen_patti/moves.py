"""The moves a round can make, each a step from one state to the next.

Balances change here and nowhere else, and only together with the ledger that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from teen_patti.ledger import Ledger, Payment, by_bettor, give_back, returned, settle
from teen_patti.messages import Alarm, AlarmCode, Effect, Paid, RoundChanged, RoundEnded
from teen_patti.money import ZERO
from teen_patti.state import REMEMBERED, Phase, Round, State

Step: TypeAlias = tuple[State, tuple[Effect, ...]]
"""The state after an input, and what is to be done about it."""

DEALT = frozenset({Phase.DEALING, Phase.PAUSED, Phase.RESULT})
BEGUN = DEALT | {Phase.OPEN_SENT}
"""From `open` sent on a round is begun: it may be dealt already, though the engine does not know it yet."""


def stay(state: State) -> Step:
    """Nothing changes, nothing is to be done."""
    return state, ()


def alarmed(state: State, code: AlarmCode, detail: str) -> Step:
    """Nothing changes, but somebody must look."""
    return state, (Alarm(code, detail),)


def then(first: Step, move_on: Callable[[State], Step]) -> Step:
    """Two steps as one."""
    state, effects = first
    state, more = move_on(state)
    return state, effects + more


def put(state: State, current: Round) -> Step:
    """The round in play is now this one."""
    return replace(state, round=current), (RoundChanged(current.id),)


def move(state: State, current: Round, phase: Phase, at: datetime, reason: str | None = None) -> Step:
    """The round comes into a phase that does not end it."""
    return put(state, replace(current, phase=phase, since=at, reason=reason))


def doubt(state: State, at: datetime, why: str) -> Step:
    """The engine doubts the round in play, if it has begun and is not doubted yet: it is paused until voided."""
    current = state.round
    if current is None or current.phase not in BEGUN or current.doubt is not None:
        return stay(state)
    doubted = replace(current, doubt=why)
    return then(
        alarmed(state, "round_doubted", f"round {current.id}: {why}; it stays paused until the supervisor voids it"),
        lambda before: move(before, doubted, Phase.PAUSED, at, why),
    )


def pay_out(state: State, current: Round, at: datetime) -> Step:
    """The round is settled by its outcome; without one, or paid before, nothing changes."""
    outcome = current.outcome
    if outcome is None or current.phase.ended:
        return stay(state)
    return _end(state, current, settle(current.ledger, outcome), Phase.SETTLED, at)


def end_with_return(state: State, current: Round, phase: Phase, at: datetime, reason: str | None) -> Step:
    """The round is cancelled or voided: all bets are returned."""
    return _end(state, replace(current, reason=reason), give_back(current.ledger), phase, at)


def _end(state: State, current: Round, ledger: Ledger, phase: Phase, at: datetime) -> Step:
    ended = replace(current, phase=phase, since=at, ledger=ledger)
    paid = () if current.ledger.payments is not None else ledger.payments or ()
    state = replace(state, ended=_remembering(state.ended, {ended.id, known_as(ended)}, phase))
    posted = then(_post(state, current.id, paid), lambda after: put(after, ended))
    return then(posted, lambda after: (after, (RoundEnded(ended),)))


def known_as(current: Round) -> str:
    """The id by which the table knows the round, or will."""
    return current.table_round or current.id


def _remembering(ended: Mapping[str, Phase], names: set[str], phase: Phase) -> dict[str, Phase]:
    """The newest last; the oldest are forgotten."""
    kept = [(known, how) for known, how in ended.items() if known not in names]
    return dict([*kept, *((name, phase) for name in names)][-REMEMBERED:])


def drop_late(state: State, current: Round, opened_at: datetime) -> Step:
    """Bets that came when the table had opened the round already, or later, are taken out and given back."""
    late = tuple(bet for bet in current.ledger.bets if bet.at >= opened_at)
    in_time = tuple(bet for bet in current.ledger.bets if bet.at < opened_at)
    kept = replace(current, ledger=replace(current.ledger, bets=in_time))
    return _post(replace(state, round=kept), current.id, tuple(returned(bet) for bet in late))


def _post(state: State, name: str, payments: tuple[Payment, ...]) -> Step:
    if not payments:
        return stay(state)
    return replace(state, balances=added(state.balances, by_bettor(payments).items())), (Paid(name, payments),)


def added(balances: Mapping[str, Decimal], amounts: Iterable[tuple[str, Decimal]]) -> dict[str, Decimal]:
    """The balances with these amounts added."""
    new = dict(balances)
    for bettor, amount in amounts:
        new[bettor] = new.get(bettor, ZERO) + amount
    return new
