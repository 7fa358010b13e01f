"""The ledger of one round: which bets were taken, and what was paid on them, once.

A ledger is a value; taking a bet or paying makes a new one. What was paid is in the ledger itself, so that paying
again changes nothing, over a restart too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from teen_patti.bets import LONGEST_NAME, Bet, BetRequest, Limits
from teen_patti.money import ZERO, exact, win_on
from teen_patti.outcome import Outcome, pays
from teen_patti.paytables import BetKind


class Refusal(StrEnum):
    """Why a bet was not taken."""

    NOT_AN_AMOUNT = "not_an_amount"
    UNKNOWN_ROUND = "unknown_round"
    ID_REUSED = "id_reused"
    LATE = "late"
    BAD_ID = "bad_id"
    BAD_BETTOR = "bad_bettor"
    UNKNOWN_BET = "unknown_bet"
    ZERO = "zero"
    NEGATIVE = "negative"
    OVER_LIMIT = "over_limit"
    ILL_SCALED = "ill_scaled"
    UNDER_LIMIT = "under_limit"


class Verdict(StrEnum):
    """What became of a bet."""

    WON = "won"
    RETURNED = "returned"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Payment:
    """What was paid on one bet.

    Attributes:
        bet: the bet's id.
        bettor: who made it.
        kind: what was bet on.
        stake: what was staked.
        verdict: won, returned or lost.
        won: the win, without the stake; 0.00 unless won.
        back: what the bettor gets: stake and win, the stake, or 0.00.
    """

    bet: str
    bettor: str
    kind: BetKind
    stake: Decimal
    verdict: Verdict
    won: Decimal
    back: Decimal


@dataclass(frozen=True, slots=True)
class Ledger:
    """The bets of one round.

    Attributes:
        round: the round.
        taking: whether bets are still taken.
        bets: the bets taken, in the order they came.
        payments: what was paid, one for each bet; None until then.
    """

    round: str
    taking: bool = True
    bets: tuple[Bet, ...] = ()
    payments: tuple[Payment, ...] | None = None

    @property
    def staked(self) -> Decimal:
        """All stakes together."""
        return sum((bet.stake for bet in self.bets), ZERO)

    @property
    def paid(self) -> Decimal:
        """All that went back to bettors; 0.00 until settled or returned."""
        return sum((payment.back for payment in self.payments or ()), ZERO)


def judge(ledger: Ledger, request: BetRequest, limits: Limits) -> Bet | Refusal:
    """The bet that the request is, or why it is refused; a repeated request gives the bet it was taken as."""
    if not request.stake.is_finite():
        return Refusal.NOT_AN_AMOUNT
    if request.round != ledger.round:
        return Refusal.UNKNOWN_ROUND
    named = next((bet for bet in ledger.bets if bet.named_as(request)), None)
    if named is not None:
        return named if named.repeats(request) else Refusal.ID_REUSED
    refusal = _refused(ledger, request)
    return _within_limits(ledger, request, limits) if refusal is None else refusal


def _refused(ledger: Ledger, request: BetRequest) -> Refusal | None:
    """The first of these rows that fits, whatever the amount and the limits."""
    rows: tuple[tuple[bool, Refusal], ...] = (
        (not ledger.taking, Refusal.LATE),
        (not _is_name(request.id), Refusal.BAD_ID),
        (not _is_name(request.bettor), Refusal.BAD_BETTOR),
        (request.kind not in set(BetKind), Refusal.UNKNOWN_BET),
        (request.stake == 0, Refusal.ZERO),
        (request.stake < 0, Refusal.NEGATIVE),
    )
    return next((refusal for fits, refusal in rows if fits), None)


def _within_limits(ledger: Ledger, request: BetRequest, limits: Limits) -> Bet | Refusal:
    """The most is of all that this bettor has on this bet; it comes first, so that the rest sees sane sizes only."""
    kind = BetKind(request.kind)
    limit = limits.of[kind]
    if request.stake > limit.most - _already(ledger, request.bettor, kind):
        return Refusal.OVER_LIMIT
    if request.stake % limits.step:
        return Refusal.ILL_SCALED
    if request.stake < limit.least:
        return Refusal.UNDER_LIMIT
    return Bet(request.at, request.id, request.bettor, kind, exact(request.stake))


def _already(ledger: Ledger, bettor: str, kind: BetKind) -> Decimal:
    return sum((bet.stake for bet in ledger.bets if (bet.bettor, bet.kind) == (bettor, kind)), ZERO)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and text.isprintable()


def take(ledger: Ledger, bet: Bet) -> Ledger:
    """The ledger with the bet in it; the same if it was there."""
    return ledger if bet in ledger.bets else replace(ledger, bets=(*ledger.bets, bet))


def close(ledger: Ledger) -> Ledger:
    """The ledger that takes no more bets."""
    return replace(ledger, taking=False)


def settle(ledger: Ledger, outcome: Outcome) -> Ledger:
    """The ledger with every bet paid by the outcome; the same if it was paid or returned before."""
    return _paid(ledger, lambda bet: payment(bet, outcome))


def give_back(ledger: Ledger) -> Ledger:
    """The ledger with every bet returned; the same if it was paid or returned before."""
    return _paid(ledger, returned)


def _paid(ledger: Ledger, pay: Callable[[Bet], Payment]) -> Ledger:
    if ledger.payments is not None:
        return ledger
    return replace(ledger, taking=False, payments=tuple(pay(bet) for bet in ledger.bets))


def payment(bet: Bet, outcome: Outcome) -> Payment:
    """What the outcome pays on the bet."""
    to_one = pays(bet.kind, outcome)
    if to_one is None:
        return _payment(bet, Verdict.LOST, ZERO, ZERO)
    won = win_on(bet.stake, to_one)
    return _payment(bet, Verdict.WON if won else Verdict.RETURNED, won, bet.stake + won)


def returned(bet: Bet) -> Payment:
    """The bet given back."""
    return _payment(bet, Verdict.RETURNED, ZERO, bet.stake)


def _payment(bet: Bet, verdict: Verdict, won: Decimal, back: Decimal) -> Payment:
    return Payment(bet.id, bet.bettor, bet.kind, bet.stake, verdict, won, back)


def by_bettor(payments: Iterable[Payment]) -> dict[str, Decimal]:
    """What each bettor gets back, all bets together."""
    totals: dict[str, Decimal] = {}
    for one in payments:
        totals[one.bettor] = totals.get(one.bettor, ZERO) + one.back
    return totals
