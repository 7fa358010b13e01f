"""The life of a round: `step(state, input, limits)` gives the next state and what is to be done.

Betting open, closed, `open` sent to the table, the cards as they are accepted, the result, the settlement. Pure: the
inputs carry the time. This module has what bettors and the engine itself ask for; `dealing` has the table's events.

A table that opens rounds by itself (at the first card, or for another engine) closes the betting by that. Bets that
came at the opening's own time or later are given back: the first card may have lain on the table by then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never

from teen_patti.bets import Bet, BetRequest, Limits
from teen_patti.dealing import table_event
from teen_patti.ledger import Ledger, Refusal, close, judge, take
from teen_patti.messages import (
    BetRefused,
    BetTaken,
    CloseBetting,
    Effect,
    Fault,
    Input,
    InputRefused,
    OpenBetting,
    OpenRefused,
    RoundChanged,
    SendOpen,
    SettleNow,
    TellTable,
    VoidRound,
)
from teen_patti.moves import BEGUN, Step, added, alarmed, end_with_return, move, pay_out, put, stay, then
from teen_patti.state import Phase, Round, State
from teen_patti.table_events import TableEvent, Unreadable

LONGEST_ID: Final = 64
_BETTING = frozenset({Phase.BETTING_OPEN, Phase.BETTING_CLOSED})


def step(state: State, asked: Input, limits: Limits) -> Step:
    """The state after an input, and the effects to carry out once that state is written down."""
    if isinstance(asked, TableEvent):
        return table_event(state, asked)
    if isinstance(asked, Unreadable):
        return alarmed(state, "unreadable_event", f"a message from the table can't be read: {asked.detail}")
    if isinstance(asked, OpenBetting):
        return _open_betting(state, asked)
    current = state.round
    if isinstance(asked, BetRequest):
        return _bet(state, current, asked, limits)
    return _refused(asked, state, "no_round") if current is None else _asked(state, current, asked)


def _asked(
    state: State,
    current: Round,
    asked: CloseBetting | SendOpen | OpenRefused | Fault | SettleNow | VoidRound,
) -> Step:
    match asked:
        case CloseBetting():
            return _close_betting(state, current, asked)
        case SendOpen():
            return _send_open(state, current, asked)
        case OpenRefused():
            return _open_refused(state, current, asked)
        case Fault():
            return _fault(state, current, asked)
        case SettleNow():
            return _settle(state, current, asked)
        case VoidRound():
            return _void(state, current, asked)
    assert_never(asked)


def resume(state: State) -> tuple[Effect, ...]:
    """What to do again after a restart: all of it may be repeated without harm.

    The table answers a repeated command with its first reply; no payment is among these.
    """
    current = state.round
    if current is None:
        return ()
    changed: tuple[Effect, ...] = (RoundChanged(current.id),)
    if current.phase is Phase.OPEN_SENT and current.command is not None:
        return *changed, _open_command(current, current.command)
    return changed


def _refused(asked: object, state: State, reason: str) -> Step:
    return state, (InputRefused(type(asked).__name__, reason),)


# --- betting --------------------------------------------------------------------------------------------------


def _open_betting(state: State, asked: OpenBetting) -> Step:
    current = state.round
    if current is not None and not current.phase.ended:
        return _refused(asked, state, "round_in_progress")
    if not _is_round_id(asked.round, state.table):
        return _refused(asked, state, "bad_round_id")
    if asked.round in state.ended or (current is not None and asked.round == current.id):
        return _refused(asked, state, "round_id_used")
    return put(state, Round(asked.round, Phase.BETTING_OPEN, asked.at, Ledger(asked.round)))


def _is_round_id(text: str, table: str) -> bool:
    """The contract's rule for an engine's round ids."""
    printable = text.isascii() and text.isprintable() and " " not in text
    return 0 < len(text) <= LONGEST_ID and printable and not text.startswith(f"{table}/")


def _bet(state: State, current: Round | None, request: BetRequest, limits: Limits) -> Step:
    if current is None:
        return state, (BetRefused(request, Refusal.UNKNOWN_ROUND),)
    verdict = judge(current.ledger, request, limits)
    match verdict:
        case Bet():
            return _take(state, current, verdict), (BetTaken(verdict),)
        case Refusal():
            return state, (BetRefused(request, verdict),)
    assert_never(verdict)


def _take(state: State, current: Round, bet: Bet) -> State:
    """The stake is taken off the balance with the bet; a bet taken before changes nothing."""
    ledger = take(current.ledger, bet)
    if ledger is current.ledger:
        return state
    balances = added(state.balances, [(bet.bettor, -bet.stake)])
    return replace(state, round=replace(current, ledger=ledger), balances=balances)


def _close_betting(state: State, current: Round, asked: CloseBetting) -> Step:
    if current.phase is not Phase.BETTING_OPEN:
        return _refused(asked, state, "not_betting")
    return move(state, replace(current, ledger=close(current.ledger)), Phase.BETTING_CLOSED, asked.at)


# --- asking the table -----------------------------------------------------------------------------------------


def _send_open(state: State, current: Round, asked: SendOpen) -> Step:
    if current.phase is not Phase.BETTING_CLOSED:
        return _refused(asked, state, "not_closed")
    sent = replace(current, command=asked.command)
    told = (_open_command(current, asked.command),)
    return then(move(state, sent, Phase.OPEN_SENT, asked.at), lambda after: (after, told))


def _open_command(current: Round, command: str) -> TellTable:
    return TellTable("open", command, {"round": current.id})


def _open_refused(state: State, current: Round, asked: OpenRefused) -> Step:
    if current.phase is not Phase.OPEN_SENT or asked.command != current.command:
        return _refused(asked, state, "not_asked")
    return end_with_return(state, current, Phase.CANCELLED, asked.at, asked.error)


def _fault(state: State, current: Round, asked: Fault) -> Step:
    """A round that has begun goes on to its end; its results come when the connection is back."""
    if current.phase not in _BETTING:
        return stay(state)
    return end_with_return(state, current, Phase.CANCELLED, asked.at, asked.what)


# --- the end --------------------------------------------------------------------------------------------------


def _settle(state: State, current: Round, asked: SettleNow) -> Step:
    if current.phase is not Phase.RESULT or asked.round != current.id:
        return _refused(asked, state, "no_result")
    return pay_out(state, current, asked.at)


def _void(state: State, current: Round, asked: VoidRound) -> Step:
    if current.phase in _BETTING:
        return end_with_return(state, current, Phase.CANCELLED, asked.at, asked.reason)
    if current.phase in BEGUN:
        told = _void_command(state, current, asked)
        ended = end_with_return(state, current, Phase.VOIDED, asked.at, asked.reason)
        return then(ended, lambda after: (after, told))
    if current.phase is Phase.SETTLED:
        detail = f"{asked.by} voided round {current.id} after its settlement; what was paid stands"
        return then(_refused(asked, state, "settled"), lambda _: alarmed(state, "correction_after_settlement", detail))
    return _refused(asked, state, "no_round")


def _void_command(state: State, current: Round, asked: VoidRound) -> tuple[Effect, ...]:
    """The contract's `void` names no round: it is sent only while this one is the table's last known."""
    if current.table_round is None or (state.journal, state.at_table) != (current.journal, current.table_round):
        return ()
    return (TellTable("void", asked.command, {"by": asked.by, "reason": asked.reason}),)
