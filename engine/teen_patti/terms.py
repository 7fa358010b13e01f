"""The game's names and explanations in the table's languages, from the data files in `texts`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, assert_never

from pydantic import TypeAdapter

from teen_patti.hands import HandRank
from teen_patti.outcome import Winner
from teen_patti.paytables import BetKind

LANGUAGES: Final = ("en", "pt", "es", "uk", "ms")


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language.

    Attributes:
        language: which.
        terms: code -> the word, as the published rules have it.
        words: code -> a word of our own, for what the published rules don't name.
        explanations: code of a bet, or of a thing that can happen -> a sentence for bettors.
    """

    language: str
    terms: dict[str, str]
    words: dict[str, str]
    explanations: dict[str, str]

    def bet(self, kind: BetKind) -> str:
        """The name of a bet: `Player A`, `Pair Plus B`."""
        match kind:
            case BetKind.PLAYER_A | BetKind.PLAYER_B | BetKind.TIE | BetKind.SIX_CARD_BONUS:
                return self.terms[kind]
            case BetKind.PAIR_PLUS_A:
                return f"{self.terms['pair_plus']} {_letter(self.terms, 'player_a')}"
            case BetKind.PAIR_PLUS_B:
                return f"{self.terms['pair_plus']} {_letter(self.terms, 'player_b')}"
        assert_never(kind)

    def hand(self, rank: HandRank) -> str:
        """The name of a three-card hand; of three of a kind, the one that sets it apart from aces."""
        return self.terms["three_of_a_kind_2_k" if rank is HandRank.THREE_OF_A_KIND else rank.code]

    def winner(self, winner: Winner) -> str:
        """Who won, by the name of the bet that wins."""
        return self.terms[{Winner.A: "player_a", Winner.B: "player_b", Winner.TIE: "tie"}[winner]]


def _letter(terms: Mapping[str, str], player: str) -> str:
    """The letter of a player as the language writes it: Ukrainian has letters of its own."""
    return terms[player].rpartition(" ")[2]


_TEXTS = TypeAdapter(Texts)


@cache
def texts(language: str) -> Texts:
    """The words of a language, one of `LANGUAGES`.

    Raises:
        ValueError: there is no such language; whoever configured it must act.
    """
    if language not in LANGUAGES:
        raise ValueError(f"no texts in {language!r}; there are {', '.join(LANGUAGES)}")
    source = resources.files("teen_patti").joinpath("texts", f"{language}.toml").read_text("utf-8")
    return _TEXTS.validate_python({"language": language, **tomllib.loads(source)})
