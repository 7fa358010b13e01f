"""The game's names and explanations in the table's languages, from the data files in `texts`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, assert_never

from pydantic import TypeAdapter

from teen_patti.paytables import BetKind

LANGUAGES: Final = ("en", "pt", "es", "uk", "ms")


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language.

    Attributes:
        terms: code -> the word, as the published rules have it.
        explanations: code of a bet, or of a thing that can happen -> a sentence for bettors.
    """

    terms: dict[str, str]
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
    return _TEXTS.validate_python(tomllib.loads(source))
