"""Watches how often reads are rejected, by scanner and by card: a lens gets dirty and a code wears off slowly.

More than one in `one_in` of the last `window` reads is too many, so more than `window // one_in` rejected ones. To know
whether there are so many only the places of the last few rejections are kept, whatever the window. Reads that were
never made count as good ones: so one bad read at the start raises nothing, and five of ten do at once, for what was
worn yesterday would raise it then anyway.

Counted are scanned cards that were accepted, and rejections that tell of reading: failed reads, and those for which
the dealer had to scan again. A card on the reader before its round (`no_round`, `held`, `extra_card` …) tells of the
dealer, not of the scanner. A code that wears off gives no card: its failed tries are counted to the card that the slot
got in the end, typed ones too; those of a round that is voided before, to none. The counts live in the journal's state
rows, so a restart goes on counting.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from scannerd.core import decisions as d
from scannerd.core.events import AlarmChanged
from scannerd.core.evolution import FAILED

ALARM: Final = "reject_rate"
"""Of a scanner with its name; of cards without, all of them in one alarm whose detail names them."""

Key: TypeAlias = tuple[str, str]
"""`scanner` or `card`, and which."""


class Counted(NamedTuple):
    """What is kept of one scanner or card: how many reads, and at which of them the last rejections were, from 1."""

    reads: int
    rejected: tuple[int, ...]


class _Tally:
    """The reads of one scanner or card; `places` holds one rejection more than the window may have."""

    __slots__ = ("places", "reads")

    def __init__(self, past: Counted, most: int) -> None:
        self.reads = past.reads
        self.places: deque[int] = deque(past.rejected, most + 1)

    def over(self, window: int) -> bool:
        """Whether there are more rejections among the last `window` reads than there may be."""
        return len(self.places) == self.places.maxlen and self.reads - self.places[0] < window


class RejectRate:
    """Counts reads and says which alarms ought to be up."""

    def __init__(
        self, one_in: int, window: int, scanners: Iterable[str], past: Mapping[Key, Counted] | None = None
    ) -> None:
        """Goes on from the counts of a state row.

        Args:
            one_in: more than one rejected read in so many is too many; 0: never an alarm.
            window: over so many of the last reads.
            scanners: the table's; counts of others are forgotten.
            past: what `counted` gave.
        """
        self._one_in, self._window, self._scanners = one_in, window, frozenset(scanners)
        self._most = window // one_in if one_in else 0
        kept = {key: value for key, value in (past or {}).items() if key[0] == "card" or key[1] in self._scanners}
        self._tallies = {key: _Tally(value, self._most) for key, value in kept.items()} if one_in else {}
        self._over = {key for key, tally in self._tallies.items() if tally.over(window)}
        self._told: frozenset[str] | None = None
        self._unread: Counter[str] = Counter()

    def count(self, told: d.Told) -> None:
        """Takes an event; most are none of a read."""
        if not self._one_in:
            return
        if isinstance(told, d.CardAccepted):
            self._accepted(told)
        elif isinstance(told, d.RoundOpened):
            self._unread.clear()
        elif isinstance(told, d.ScanRejected) and (told.attempt is not None or told.reason in FAILED):
            self._note(("scanner", told.scanner), rejected=True)
            if told.card is not None:
                self._note(("card", told.card), rejected=True)
            elif told.slot is not None:
                self._unread[told.slot] += 1

    def _accepted(self, told: d.CardAccepted) -> None:
        for _ in range(self._unread.pop(told.slot, 0)):
            self._note(("card", told.card), rejected=True)
        if told.scanner is not None:
            self._note(("scanner", told.scanner), rejected=False)
            self._note(("card", told.card), rejected=False)

    def changes(self, at: int, up: Container[tuple[str, str | None]]) -> list[AlarmChanged]:
        """What must be told so that the alarms are right.

        Args:
            at: now, monotonic, microseconds.
            up: the alarms that are up, by name and scanner.
        """
        changed = []
        for name in sorted(self._scanners):
            over = ("scanner", name) in self._over
            if over != ((ALARM, name) in up):
                detail = f"scanner {self._figures(('scanner', name))}" if over else None
                changed.append(AlarmChanged(at, ALARM, over, name, detail))
        return changed + self._cards(at, told=(ALARM, None) in up)

    def counted(self) -> dict[Key, Counted]:
        """What a state row keeps."""
        return {key: Counted(tally.reads, tuple(tally.places)) for key, tally in self._tallies.items()}

    def _cards(self, at: int, *, told: bool) -> list[AlarmChanged]:
        """One alarm for all cards; it is told anew when they are others."""
        cards = frozenset(which for kind, which in self._over if kind == "card")
        before, self._told = self._told, cards
        if told == bool(cards) and (before is None or before == cards):
            return []
        changed = [AlarmChanged(at, ALARM, up=False)] if told else []
        if cards:
            detail = "; ".join(f"card {self._figures(('card', card))}" for card in sorted(cards))
            changed.append(AlarmChanged(at, ALARM, up=True, detail=detail))
        return changed

    def _note(self, key: Key, *, rejected: bool) -> None:
        tally = self._tallies.get(key)
        if tally is None:
            if key[0] == "scanner" and key[1] not in self._scanners:
                return
            tally = self._tallies[key] = _Tally(Counted(0, ()), self._most)
        tally.reads += 1
        if rejected:
            tally.places.append(tally.reads)
        if rejected or key in self._over:
            (self._over.add if tally.over(self._window) else self._over.discard)(key)

    def _figures(self, key: Key) -> str:
        tally = self._tallies[key]
        reads = tally.reads - tally.places[0] + 1
        return f"{key[1]}: {len(tally.places)} of its last {reads} reads rejected, more than 1 in {self._one_in}"
