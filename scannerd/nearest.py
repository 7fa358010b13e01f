"""What somebody who wrote an unknown word probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = 0.6


def nearest(word: str, known: Iterable[str]) -> str:
    """What to add to a complaint about an unknown word: the known one that was probably meant, or all of them."""
    words = tuple(known)
    close = get_close_matches(word, words, n=1, cutoff=_ALIKE)
    if close:
        return f", did you mean {close[0]!r}?"
    return f", known are {', '.join(words)}" if words else ""
