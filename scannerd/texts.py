"""The words that dealers and supervisors read, in their language: data files in `languages/`, one a language.

A slot is written with the language's own letter of its hand: Ukrainian says `Б1` where the wire says `B1`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from scannerd.core.prompts import Prompt

LANGUAGES = ("en", "pt", "es", "uk", "ms")

SECTIONS = ("cards", "page", "supervisor", "misreads", "watch")
"""What else a language has words for: the cards' names, the pages, and the terminal."""

_LONGEST_REASON = 120
"""Characters of a supervisor's own words that fit into a dealer's line."""


@dataclass(frozen=True, slots=True)
class Texts:
    """One language's words.

    Attributes:
        prompts: a sentence for each prompt code, with `{slot}`, `{hand}`, `{reason}`, `{attempt}`, `{conflict_slot}`;
            `_conflict`, `_bare` and `_0` behind a code are its variants (see `sentence`).
        reasons: words for the reasons that a prompt or a rejection may have.
        hands: the letter of each hand; one that is not there keeps its own.
        words: the words of `SECTIONS`, by section and key.
        name: what the language calls itself.
    """

    language: str
    prompts: Mapping[str, str]
    reasons: Mapping[str, str]
    hands: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    name: str = ""

    def sentence(self, prompt: Prompt) -> str:
        """What the dealer must do, in one line.

        A reason without words of its own is a supervisor's, or a scanner's name: it is told as it is, shortened.
        """
        return self._template(prompt).format(
            slot=self.slot(prompt.slot),
            hand=self.slot(prompt.hand),
            reason=self.reason(prompt.reason),
            attempt=prompt.attempt or "",
            conflict_slot=self.slot(prompt.conflict_slot),
        )

    @property
    def alphabet(self) -> str:
        """Every character that its texts need."""
        parts = (self.prompts, self.reasons, self.hands, *self.words.values())
        return "".join(sorted({letter for part in parts for text in part.values() for letter in text}))

    def slot(self, name: str | None) -> str:
        """A slot or a hand as the dealer knows it; empty for None."""
        return f"{self.hands.get(name[0], name[0])}{name[1:]}" if name else ""

    def hand(self, hand: str, hands: Iterable[str]) -> str:
        """What a hand is called among all `hands` of its game.

        Where each is a player's it is called so; else there are the player, the dealer and the table, by their letters.
        """
        letter = self.slot(hand)
        return self.words["page"]["player"].format(hand=letter) if set(hands) <= set(self.hands) else letter

    def reason(self, reason: str | None) -> str:
        """A reason in words, on one line; empty for None."""
        if reason is None:
            return ""
        told = self.reasons.get(reason) or " ".join(reason.split())
        return told if len(told) <= _LONGEST_REASON else f"{told[: _LONGEST_REASON - 1]}…"

    def _template(self, prompt: Prompt) -> str:
        """The variant that fits: the card lies elsewhere, no reason was given, no slot is due."""
        fits = {"_conflict": prompt.conflict_slot, "_bare": not prompt.reason, "_0": not prompt.slot}
        names = [f"{prompt.code}{variant}" for variant, fit in fits.items() if fit]
        return next((self.prompts[name] for name in names if name in self.prompts), self.prompts[prompt.code])


@cache
def texts(language: str) -> Texts:
    """The words of a language of `LANGUAGES`.

    Raises:
        FileNotFoundError: there is no such language.
    """
    parsed = tomllib.loads((files("scannerd") / "languages" / f"{language}.toml").read_text(encoding="utf-8"))
    return Texts(
        language,
        parsed["prompts"],
        parsed["reasons"],
        parsed["hands"],
        {section: parsed[section] for section in SECTIONS},
        parsed["name"],
    )
