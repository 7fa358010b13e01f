"""Bets, limits, money and the ledger of one round."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, Inexact
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teen_patti.bets import DEFAULT_LIMITS, Bet, BetRequest, Limit, Limits
from teen_patti.cards import DECK, Card
from teen_patti.ledger import Ledger, Refusal, close, give_back, judge, settle, take
from teen_patti.money import shown, win_on
from teen_patti.outcome import Outcome, outcome_of, pays
from teen_patti.paytables import ALL_PAYS, BetKind

AT = datetime(2026, 11, 30, 2, 45, tzinfo=UTC)
LIMITS = Limits()

stakes = st.integers(1, 100).map(Decimal)
bets = st.builds(
    lambda name, kind, stake: Bet(AT, str(name), "ana", kind, stake),
    st.integers(),
    st.sampled_from(BetKind),
    stakes,
)
ledgers = st.lists(bets, unique_by=lambda bet: bet.id).map(lambda taken: Ledger("r-1", bets=tuple(taken)))
outcomes = st.permutations(DECK).map(lambda deck: outcome_of(tuple(deck[:3]), tuple(deck[3:6])))


def request(stake: str, kind: str = "player_a", name: str = "b-1", bettor: str = "ana") -> BetRequest:
    """A bet on round r-1."""
    return BetRequest(AT, name, "r-1", bettor, kind, Decimal(stake))


def outcome(a: str, b: str) -> Outcome:
    """The outcome of two hands."""
    return outcome_of(tuple(map(Card, a.split())), tuple(map(Card, b.split())))


def with_bets(*requests: BetRequest) -> Ledger:
    """A ledger in which these bets were taken."""
    ledger = Ledger("r-1")
    for one in requests:
        verdict = judge(ledger, one, LIMITS)
        assert isinstance(verdict, Bet)
        ledger = take(ledger, verdict)
    return ledger


@pytest.mark.parametrize(
    ("stake", "refusal"),
    [
        ("0", Refusal.ZERO),
        ("-0", Refusal.ZERO),
        ("-1", Refusal.NEGATIVE),
        ("-0.001", Refusal.NEGATIVE),
        ("NaN", Refusal.NOT_AN_AMOUNT),
        ("sNaN", Refusal.NOT_AN_AMOUNT),
        ("Infinity", Refusal.NOT_AN_AMOUNT),
        ("-Infinity", Refusal.NOT_AN_AMOUNT),
        ("5001", Refusal.OVER_LIMIT),
        ("5000.01", Refusal.OVER_LIMIT),
        ("1E+50", Refusal.OVER_LIMIT),
        ("1.50", Refusal.ILL_SCALED),
        ("1.000000000000000000000000000000001", Refusal.ILL_SCALED),
        ("0.01", Refusal.ILL_SCALED),
        ("1E-90", Refusal.ILL_SCALED),
    ],
)
def test_a_stake_that_is_none_is_refused(stake: str, refusal: Refusal) -> None:
    """Each stake that is no proper amount is refused with its reason."""
    assert refusal is judge(Ledger("r-1"), request(stake), LIMITS)


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"kind": "red"}, Refusal.UNKNOWN_BET),
        ({"kind": "PLAYER_A"}, Refusal.UNKNOWN_BET),
        ({"kind": ""}, Refusal.UNKNOWN_BET),
        ({"name": ""}, Refusal.BAD_ID),
        ({"name": "b" * 65}, Refusal.BAD_ID),
        ({"name": "b\n1"}, Refusal.BAD_ID),
        ({"bettor": ""}, Refusal.BAD_BETTOR),
    ],
)
def test_an_unknown_bet_is_refused(changed: dict[str, str], refusal: Refusal) -> None:
    """A bet of a kind that does not exist, or without a proper name, is refused with its reason."""
    assert refusal is judge(Ledger("r-1"), request("10", **changed), LIMITS)


def test_a_late_bet_is_refused() -> None:
    """A ledger that is closed refuses every new bet."""
    assert Refusal.LATE is judge(close(Ledger("r-1")), request("10"), LIMITS)


def test_a_bet_on_another_round_is_refused() -> None:
    """A bet that names another round is refused, though its id may be known."""
    ledger = close(with_bets(request("10")))
    assert Refusal.UNKNOWN_ROUND is judge(ledger, BetRequest(AT, "b-1", "r-2", "ana", "player_a", Decimal(10)), LIMITS)


def test_limits_count_all_that_a_bettor_has_on_a_bet() -> None:
    """The most is that of all stakes of one bettor on one bet, and no one else's."""
    ledger = with_bets(request("4000", name="b-1"), request("5000", name="b-1", bettor="ben"))
    assert Refusal.OVER_LIMIT is judge(ledger, request("1001", name="b-2"), LIMITS)
    assert isinstance(judge(ledger, request("1000", name="b-2"), LIMITS), Bet)
    assert isinstance(judge(ledger, request("5000", kind="player_b", name="b-2"), LIMITS), Bet)


def test_a_stake_below_the_least_is_refused() -> None:
    """A stake that is a multiple of the step but below the least is refused."""
    limits = Limits(of={kind: Limit(Decimal(10), Decimal(100)) for kind in BetKind})
    assert Refusal.UNDER_LIMIT is judge(Ledger("r-1"), request("9"), limits)


def test_a_repeated_bet_is_the_same_bet() -> None:
    """A bet sent again is the bet that was taken, also after the closing, and stands in the ledger once."""
    ledger = with_bets(request("10"))
    again = judge(close(ledger), request("10.00"), LIMITS)
    assert ledger.bets[0] == again
    assert ledger is take(ledger, ledger.bets[0])


def test_an_id_with_another_bet_is_refused() -> None:
    """An id that was used for another bet of the same bettor is refused; another bettor may use it."""
    ledger = with_bets(request("10"))
    assert Refusal.ID_REUSED is judge(ledger, request("11"), LIMITS)
    assert isinstance(judge(ledger, request("11", bettor="ben"), LIMITS), Bet)


def test_binary_fractions_are_kept_out() -> None:
    """A stake that is a float is refused by the type, whatever its value."""
    with pytest.raises(TypeError, match="a stake is a Decimal, not float"):
        BetRequest(AT, "b-1", "r-1", "ana", "player_a", cast("Any", 10.0))


@pytest.mark.parametrize(
    ("kind", "won", "back"),
    [
        ("player_a", "95.00", "195.00"),
        ("player_b", "0.00", "0.00"),
        ("tie", "0.00", "0.00"),
        ("pair_plus_a", "3000.00", "3100.00"),
        ("pair_plus_b", "100.00", "200.00"),
        ("six_card_bonus", "0.00", "0.00"),
    ],
)
def test_bets_are_paid_by_the_table(kind: str, won: str, back: str) -> None:
    """A straight flush against a pair pays each bet as the pay table says."""
    ledger = settle(with_bets(request("100", kind)), outcome("2S 3S 4S", "9H 9D KC"))
    assert ledger.payments is not None
    assert (won, back) == (str(ledger.payments[0].won), str(ledger.payments[0].back))


def test_pair_plus_is_paid_when_the_hand_loses() -> None:
    """Pair Plus on a losing hand is paid all the same."""
    ledger = settle(with_bets(request("100", "pair_plus_b")), outcome("AS AH AD", "KS KH KD"))
    assert Decimal(4100) == ledger.paid


@pytest.mark.parametrize(("kind", "back"), [("player_a", 100), ("player_b", 100), ("tie", 5100), ("pair_plus_a", 0)])
def test_a_tie_returns_the_main_bets(kind: str, back: int) -> None:
    """On a tie the bets on Player A and Player B are returned, and the bet on the tie is paid."""
    ledger = settle(with_bets(request("100", kind)), outcome("AS KH 9D", "AH KD 9S"))
    assert Decimal(back) == ledger.paid


def test_the_bonus_pays_on_the_six() -> None:
    """A royal flush across both hands pays the bonus a thousand to one."""
    ledger = settle(with_bets(request("100", "six_card_bonus")), outcome("AS KS QS", "JS TS 2D"))
    assert Decimal(100_100) == ledger.paid


@given(ledgers, outcomes, outcomes)
def test_a_round_is_paid_once(ledger: Ledger, first: Outcome, second: Outcome) -> None:
    """Once paid or returned, a ledger is changed by no other settlement and no return."""
    for done in (settle(ledger, first), give_back(ledger)):
        assert done == settle(done, second)
        assert done == give_back(done)


@given(ledgers, outcomes)
def test_every_payment_is_its_stake_times_the_table(ledger: Ledger, came_out: Outcome) -> None:
    """Every bet has one payment, which is exactly what its pay says, in hundredths."""
    done = settle(ledger, came_out)
    assert done.payments is not None
    assert [bet.id for bet in ledger.bets] == [payment.bet for payment in done.payments]
    for payment in done.payments:
        to_one = pays(payment.kind, came_out)
        assert payment.back == (0 if to_one is None else payment.stake * (1 + to_one))
        assert payment.back.as_tuple().exponent == -2


@given(ledgers)
def test_a_returned_round_costs_nobody(ledger: Ledger) -> None:
    """Returned bets give back exactly what was staked."""
    assert ledger.staked == give_back(ledger).paid


@given(st.integers(1, 10**6), st.sampled_from(sorted(ALL_PAYS)))
def test_no_win_is_ever_rounded(steps: int, to_one: Decimal) -> None:
    """A multiple of the step wins exactly its share at every pay of the table."""
    assert steps * to_one == win_on(steps * LIMITS.step, to_one)


@pytest.mark.parametrize("step", ["0.01", "0.10", "0.001"])
def test_a_step_whose_wins_are_no_amounts_is_refused(step: str) -> None:
    """Limits with a step on which a win would need rounding are refused when they are made."""
    with pytest.raises(Inexact):
        Limits(step=Decimal(step))


def test_a_smaller_step_that_needs_no_rounding_is_good() -> None:
    """A step of 0.20 wins 0.19 on the main bets, and is allowed."""
    assert isinstance(judge(Ledger("r-1"), request("1.20"), Limits(step=Decimal("0.20"))), Bet)


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        (Limit(Decimal(0), Decimal(10)), "no usable limit"),
        (Limit(Decimal(11), Decimal(10)), "no usable limit"),
        (Limit(Decimal("1.5"), Decimal(10)), "no multiples"),
        (Limit(Decimal(1), Decimal("10.5")), "no multiples"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limit: Limit, error: str) -> None:
    """A limit that lets nothing through, or falls between the steps, is refused when it is made."""
    with pytest.raises(ValueError, match=error):
        Limits(of={**DEFAULT_LIMITS, BetKind.TIE: limit})


def test_every_bet_needs_a_limit() -> None:
    """Limits that leave a bet out are refused."""
    with pytest.raises(ValueError, match="no usable limit for six_card_bonus"):
        Limits(of={kind: limit for kind, limit in DEFAULT_LIMITS.items() if kind is not BetKind.SIX_CARD_BONUS})


@pytest.mark.parametrize("step", ["0", "-1", "NaN"])
def test_the_step_is_above_zero(step: str) -> None:
    """A step that is not above zero is refused."""
    with pytest.raises(ValueError, match="above zero"):
        Limits(step=Decimal(step))


@pytest.mark.parametrize(
    ("amount", "text"),
    [("1234", "1,234.00"), ("0", "0.00"), ("-5000.5", "-5,000.50"), ("1234567.89", "1,234,567.89")],
)
def test_amounts_are_shown_with_commas_and_hundredths(amount: str, text: str) -> None:
    """People read amounts as 1,234.00."""
    assert text == shown(Decimal(amount))
