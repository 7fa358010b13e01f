"""From the code that a scanner reads to the card: the built-in tables, and those in files."""

from __future__ import annotations

from scannerd.codebooks.books import BUILT_IN, Codebook, CodebookError, Meaning, NotInDeck, load_codebook, read_codebook

__all__ = ["BUILT_IN", "Codebook", "CodebookError", "Meaning", "NotInDeck", "load_codebook", "read_codebook"]
