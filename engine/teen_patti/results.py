"""The message on `…/result`: the round's cards, hands, winner and pays. Retained, so it always tells the last round.

On the wire amounts are plain decimal strings, `1234.00`; people are shown `1,234.00`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from teen_patti.hands import HandValue, SixCardRank
from teen_patti.ledger import Verdict
from teen_patti.outcome import Outcome, pays
from teen_patti.paytables import RETURNED, BetKind
from teen_patti.state import GAME, Phase, Round, State
from teen_patti.terms import Texts

Json: TypeAlias = "str | int | list[Json] | dict[str, Json] | None"

TOLD: Final = frozenset({Phase.RESULT, Phase.SETTLED, Phase.CANCELLED, Phase.VOIDED})


def result(state: State) -> dict[str, Json] | None:
    """The message for the round in play; None before its result.

    `state` says how far the round is: `result` may still be corrected, `settled` is paid; of one `cancelled` or
    `voided` all bets are returned, and `winner`, `hands`, `six_cards` and `pays` are null.
    """
    current = state.round
    return None if current is None or current.phase not in TOLD else result_of(state.table, current)


def result_of(table: str, current: Round) -> dict[str, Json]:
    """The message for a round that has its result, or has ended without."""
    return {
        "game": GAME,
        "table": table,
        "round": current.table_round or current.id,
        "state": current.phase.value,
        "at": current.since.isoformat().replace("+00:00", "Z"),
        "reason": current.reason,
        "cards": {name: list(current.hand(name)) for name in ("A", "B")},
        **_came_out(current.outcome),
        **_money(current),
    }


def _came_out(outcome: Outcome | None) -> dict[str, Json]:
    if outcome is None:
        return {"hands": None, "winner": None, "six_cards": None, "pays": None}
    return {
        "hands": {"A": _hand(outcome.hand_a), "B": _hand(outcome.hand_b)},
        "winner": outcome.winner.value,
        "six_cards": _six_cards(outcome),
        "pays": {kind.value: _pays(kind, outcome) for kind in BetKind},
    }


def _hand(value: HandValue) -> str:
    return value.rank.code


def _six_cards(outcome: Outcome) -> Json:
    """The best five, or null where they are nothing that pays."""
    if outcome.bonus.rank is SixCardRank.NOTHING:
        return None
    return {"hand": outcome.bonus.rank.code, "cards": list(outcome.best)}


def _pays(kind: BetKind, outcome: Outcome) -> Json:
    """What the bet pays to 1, and what becomes of it."""
    to_one = pays(kind, outcome)
    if to_one is None:
        return {"verdict": Verdict.LOST.value, "to_one": None}
    verdict = Verdict.RETURNED if to_one == RETURNED else Verdict.WON
    return {"verdict": verdict.value, "to_one": str(to_one)}


def _money(current: Round) -> dict[str, Json]:
    """All stakes of the round and all that went back."""
    return {"bets": len(current.ledger.bets), "staked": str(current.ledger.staked), "paid": str(current.ledger.paid)}


def names(current: Round, words: Texts) -> dict[str, Json]:
    """What the codes in the message for a round are called in one language."""
    return {
        "language": words.language,
        "bets": {kind.value: words.bet(kind) for kind in BetKind},
        **_came_out_as(current.outcome, words),
    }


def _came_out_as(outcome: Outcome | None, words: Texts) -> dict[str, Json]:
    if outcome is None:
        return {"hands": None, "winner": None, "six_cards": None}
    bonus = outcome.bonus.rank
    return {
        "hands": {"A": words.hand(outcome.hand_a.rank), "B": words.hand(outcome.hand_b.rank)},
        "winner": words.winner(outcome.winner),
        "six_cards": None if bonus is SixCardRank.NOTHING else words.terms[bonus.code],
    }
