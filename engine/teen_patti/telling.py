"""A round's result as people read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from teen_patti.cards import Card
from teen_patti.hands import SixCardRank
from teen_patti.money import shown
from teen_patti.outcome import Outcome, pays
from teen_patti.paytables import RETURNED, BetKind
from teen_patti.state import Round
from teen_patti.terms import Texts

_SUITS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
_GAP: Final = "   "


def lines(current: Round, words: Texts) -> Iterator[str]:
    """The lines for a round that has ended: cards, hands, winner, what pays, and the money."""
    name = f"{words.terms['round']} {current.table_round or current.id}"
    outcome = current.outcome
    if outcome is None:
        reason = f" ({current.reason})" if current.reason else ""
        yield f"{name}: {words.explanations[current.phase.value]}{reason}"
    else:
        yield f"{name}: {words.winner(outcome.winner)}"
        yield from _hands(outcome, words)
        yield f"  {_GAP.join(_paying(outcome, words))}"
    yield f"  {_money(current, words)}"


def face(card: Card) -> str:
    """A card as people write it: 10♦, not TD."""
    return f"{'10' if card[0] == 'T' else card[0]}{_SUITS[card[1]]}"


def _hands(outcome: Outcome, words: Texts) -> Iterator[str]:
    rows = (("player_a", outcome.a, outcome.hand_a), ("player_b", outcome.b, outcome.hand_b))
    for player, cards, value in rows:
        yield f"  {words.terms[player]}{_GAP}{' '.join(map(face, cards))}{_GAP}{words.hand(value.rank)}"
    if outcome.bonus.rank is not SixCardRank.NOTHING:
        best = " ".join(map(face, outcome.best))
        yield f"  {words.terms['six_card_bonus']}{_GAP}{best}{_GAP}{words.terms[outcome.bonus.rank.code]}"


def _paying(outcome: Outcome, words: Texts) -> Iterator[str]:
    for kind in BetKind:
        to_one = pays(kind, outcome)
        if to_one == RETURNED:
            yield f"{words.bet(kind)}: {words.terms['bets_returned']}"
        elif to_one is not None:
            yield f"{words.bet(kind)} {to_one:,}:1"


def _money(current: Round, words: Texts) -> str:
    ledger, own = current.ledger, words.words
    return (
        f"{own['bets']} {len(ledger.bets):,}{_GAP}{own['staked']} {shown(ledger.staked)}"
        f"{_GAP}{own['paid']} {shown(ledger.paid)}"
    )
