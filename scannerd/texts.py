"""The sentences that dealers read, in their language: data files in `languages/`, one a language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scannerd.core.prompts import Prompt

LANGUAGES = ("en", "pt", "es", "uk", "ms")


@dataclass(frozen=True, slots=True)
class Texts:
    """One language's words.

    Attributes:
        prompts: a sentence for each prompt code, with `{slot}`, `{hand}`, `{reason}`, `{attempt}`, `{conflict_slot}`.
        reasons: words for the reasons that a prompt may have.
    """

    language: str
    prompts: Mapping[str, str]
    reasons: Mapping[str, str]

    def sentence(self, prompt: Prompt) -> str:
        """What the dealer must do, in one line."""
        known = {"none": ""} | dict(self.reasons)
        reason = known.get(prompt.reason or "none", prompt.reason or "")
        key = f"{prompt.code}_conflict" if prompt.conflict_slot else prompt.code if prompt.slot else f"{prompt.code}_0"
        template = self.prompts.get(key) or self.prompts[prompt.code]
        return template.format(
            slot=prompt.slot or "",
            hand=prompt.hand or "",
            reason=reason,
            attempt=prompt.attempt or "",
            conflict_slot=prompt.conflict_slot or "",
        )


@cache
def texts(language: str) -> Texts:
    """The words of a language of `LANGUAGES`.

    Raises:
        FileNotFoundError: there is no such language.
    """
    parsed = tomllib.loads((files("scannerd") / "languages" / f"{language}.toml").read_text(encoding="utf-8"))
    return Texts(language, parsed["prompts"], parsed["reasons"])
