"""Scanning a deck in a known order, to write its codebook."""

from __future__ import annotations

from scannerd.enrolment.decks import Enrolment, Guided, not_read, spoken

__all__ = ["Enrolment", "Guided", "not_read", "spoken"]
