"""How well the table reads: accepted and rejected reads by scanner, card and hour, and how long a card takes.

A code that wears off gives no card, so its misreads name none. They are counted to the card that the slot got in the
end: that is the one which lay there.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scannerd.journal.records import Record

_HOUR = len("2026-11-30T02")
_READS = ("card_accepted", "scan_rejected")


@dataclass(slots=True)
class Counts:
    """The reads of the table, of one scanner, one card or one hour.

    Attributes:
        accepted: reads that filled a slot.
        entered: cards that a supervisor typed.
        reasons: how often a read was rejected, by reason.
        rescans: rejected reads for which the dealer had to scan again.
        timed: accepted and entered cards for which the time before is known.
        seconds: from the round's opening or its last card to this one, added up.
    """

    accepted: int = 0
    entered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rescans: int = 0
    timed: int = 0
    seconds: float = 0.0

    @property
    def rejected(self) -> int:
        """All reads that were rejected."""
        return self.reasons.total()

    @property
    def reject_rate(self) -> float | None:
        """The rejected share of all reads, 0 to 1; None without a read."""
        reads = self.accepted + self.rejected
        return self.rejected / reads if reads else None

    @property
    def seconds_per_card(self) -> float | None:
        """The mean time a card took, in seconds; None where none is known."""
        return self.seconds / self.timed if self.timed else None

    def as_json(self) -> dict[str, object]:
        """For machines; reasons by how often they came."""
        return {
            "accepted": self.accepted,
            "entered": self.entered,
            "rejected": self.rejected,
            "rescans": self.rescans,
            "duplicates": self.reasons["duplicate"],
            "reject_rate": _rounded(self.reject_rate, 6),
            "seconds_per_card": _rounded(self.seconds_per_card, 3),
            "reasons": dict(self.reasons.most_common()),
        }


@dataclass(slots=True)
class Stats:
    """The counts of a journal, or of what was selected of it.

    Attributes:
        total: of all.
        scanners: by the scanner's name; what was typed in is no scanner's.
        cards: by card; reads in which no card was seen are no card's.
        hours: by the hour in UTC, `2026-11-30T02`.
        unreadable: events of reads that are damaged and were left out.
    """

    total: Counts = field(default_factory=Counts)
    scanners: defaultdict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    cards: defaultdict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    hours: defaultdict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    unreadable: int = 0

    def as_json(self) -> dict[str, object]:
        """For machines; keys in order."""
        groups = {"scanners": self.scanners, "cards": self.cards, "hours": self.hours}
        return {"total": self.total.as_json(), "unreadable": self.unreadable} | {
            name: {key: group[key].as_json() for key in sorted(group)} for name, group in groups.items()
        }


@dataclass(slots=True)
class _Deal:
    """The round that is being dealt, as far as it was walked through.

    Attributes:
        last: when it was opened or its last card accepted; None outside a round.
        unread: the reasons of the failed tries, by the slot that they were for.
    """

    last: datetime | None = None
    unread: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def tally(records: Iterable[Record]) -> Stats:
    """Counts events, which come in the order of their seqs. One that can't be read takes nothing from the others."""
    stats, deal = Stats(), _Deal()
    for record in records:
        try:
            deal = _count(stats, record, deal)
        except (ValueError, LookupError, TypeError):
            stats.unreadable += 1
    return stats


def _count(stats: Stats, record: Record, deal: _Deal) -> _Deal:
    """Counts one event and returns the deal after it."""
    if record.type == "round_opened":
        return _Deal(datetime.fromisoformat(record.at))
    if record.type == "round_voided":
        return _Deal()
    if record.type in _READS:
        data: dict[str, Any] = json.loads(record.body)["data"]
        (_count_rejected if record.type == "scan_rejected" else _count_accepted)(stats, record, data, deal)
    return deal


def _count_rejected(stats: Stats, record: Record, data: dict[str, Any], deal: _Deal) -> None:
    tried = data["attempt"] is not None
    _count_rejection(_touched(stats, record, data), data["reason"], again=tried)
    if tried and data["card"] is None:
        deal.unread[data["slot"]].append(data["reason"])


def _count_accepted(stats: Stats, record: Record, data: dict[str, Any], deal: _Deal) -> None:
    now = datetime.fromisoformat(record.at)
    seconds = None if deal.last is None else (now - deal.last).total_seconds()
    _count_card(_touched(stats, record, data), seconds, scanned=data["via"] == "scan")
    for reason in deal.unread.pop(data["slot"], ()):
        _count_rejection([stats.cards[data["card"]]], reason, again=True)
    deal.last = now


def _touched(stats: Stats, record: Record, data: dict[str, Any]) -> list[Counts]:
    groups = [stats.total, stats.hours[record.at[:_HOUR]]]
    if data["scanner"] is not None:
        groups.append(stats.scanners[data["scanner"]])
    if data["card"] is not None:
        groups.append(stats.cards[data["card"]])
    return groups


def _count_card(groups: list[Counts], seconds: float | None, *, scanned: bool) -> None:
    for counts in groups:
        counts.accepted += scanned
        counts.entered += not scanned
        if seconds is not None:
            counts.timed += 1
            counts.seconds += max(seconds, 0.0)  # the wall clock may have been set back


def _count_rejection(groups: list[Counts], reason: str, *, again: bool) -> None:
    for counts in groups:
        counts.reasons[reason] += 1
        counts.rescans += again


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
