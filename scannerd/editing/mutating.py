"""Recordings with faults put in: what a bad cable, a slow machine or a loose plug would have made of them.

The bytes suffer, not the table: commands and the broker stay as they were recorded. Bytes of one scanner never
overtake each other, as on a line, so what comes behind a delayed chunk waits for it; only a doubled chunk's copy comes
when it likes. Reports stay whole, as their transports deliver them: they are dropped whole, and neither split nor
joined. The same seed gives the same mutant.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from typing import NamedTuple

from scannerd.codebooks import BUILT_IN
from scannerd.scanlog import Chunk, End, Entry, Header, Link

JOINED_MOST = 4096
"""Bytes that one read gives at most: a chunk as large waits for no other."""

AGAIN_MS = 300
"""How much later the copy of a doubled chunk comes, at most."""

AWAY_MS = (500, 4_000)
"""How long an unplugged scanner is away, at least and at most."""

_MS = 1_000


class Rates(NamedTuple):
    """How likely each fault is for a chunk, 0 to 1.

    Attributes:
        drop: the chunk is lost, or some bytes of it.
        flip: one bit of it is another.
        split: it comes in several parts at the same moment.
        join: it waits for the scanner's next chunk and comes with it as one.
        double: it comes again, within `AGAIN_MS`.
        delay: it comes later, and what is behind it waits.
        unplug: the scanner is lost within it, and comes back.
    """

    drop: float = 0.0
    flip: float = 0.0
    split: float = 0.0
    join: float = 0.0
    double: float = 0.0
    delay: float = 0.0
    unplug: float = 0.0


class _Released(NamedTuple):
    """Something in the order of its time; `ours`: a link that the recording does not have."""

    t: int
    number: int
    entry: Entry
    ours: bool


class Mutator:
    """Puts faults into one recording.

    Attributes:
        done: how often each fault was put in.
    """

    def __init__(self, rates: Rates, seed: int, *, reports: Collection[str] = (), longest_ms: int = 2_000) -> None:
        """Begins with the recording's first entry.

        Args:
            rates: the faults.
            seed: the same one gives the same mutant.
            reports: the scanners whose chunks are reports.
            longest_ms: the longest delay, in ms; short ones are the more likely.
        """
        self.done: Counter[str] = Counter()
        self._rates: dict[str, float] = rates._asdict()
        self._reports, self._longest = frozenset(reports), longest_ms
        self._random = Random(seed)  # noqa: S311 - faults, not secrets
        self._waiting: list[_Released] = []
        self._numbers = self._latest = 0
        self._behind: dict[str, int] = {}
        self._back: dict[str, int] = {}
        self._held: dict[str, Chunk] = {}
        self._lost: set[str] = set()
        self._unplugged: set[str] = set()

    def entries(self, recorded: Iterator[Entry]) -> Iterator[Entry]:
        """The mutant's entries in time order; memory holds what is delayed and no more."""
        ended = False
        for entry in recorded:
            yield from self._until(entry.t)
            ended = ended or isinstance(entry, End)
            self._take(entry)
        for name in list(self._held):
            self._let_go(name, self._latest)
        yield from self._until(self._latest)
        if ended:
            yield End(self._latest)

    def _take(self, entry: Entry) -> None:
        self._latest = max(self._latest, entry.t)
        match entry:
            case Chunk():
                self._suffer(entry)
            case Link():
                self._let_go(entry.scanner, entry.t)
                self._in_line(entry)
            case End():
                pass  # the last moment is that of whatever comes last
            case _:
                self._at(entry.t, entry)

    # --- what happens to a chunk ------------------------------------------------------------------------------

    def _suffer(self, chunk: Chunk) -> None:
        if chunk.t < self._back.get(chunk.scanner, 0):
            return  # nobody can hear it
        if self._happens("unplug"):
            self._unplug(chunk)
            return
        if self._happens("drop"):
            chunk = replace(chunk, data=self._dropped(chunk))
            if not chunk.data:
                return
        if chunk.data and self._happens("flip"):
            chunk = replace(chunk, data=self._flipped(chunk.data))
        if self._happens("double"):
            again = chunk.t + self._random.randint(0, AGAIN_MS) * _MS
            self._at(again, replace(chunk, t=again))
        for part in self._parts(chunk):
            self._deliver(part)

    def _dropped(self, chunk: Chunk) -> bytes:
        """What is left of a chunk: nothing, or all but a few bytes in a row."""
        data = chunk.data
        if chunk.scanner in self._reports or len(data) < 2 or self._random.random() < 0.5:  # noqa: PLR2004 - half of them
            return b""
        first = self._random.randrange(len(data))
        return data[:first] + data[first + self._random.randint(1, len(data) - 1) :]

    def _flipped(self, data: bytes) -> bytes:
        place, bit = self._random.randrange(len(data)), 1 << self._random.randrange(8)
        return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]

    def _parts(self, chunk: Chunk) -> Iterator[Chunk]:
        data = chunk.data
        if chunk.scanner in self._reports or len(data) < 2 or not self._happens("split"):  # noqa: PLR2004 - two parts
            yield chunk
            return
        cuts = sorted(self._random.sample(range(1, len(data)), self._random.randint(1, len(data) - 1)))
        for first, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            yield replace(chunk, data=data[first:end])

    def _deliver(self, chunk: Chunk) -> None:
        """Joins and delays, which the way to the reader does."""
        held = self._held.pop(chunk.scanner, None)
        if held is not None:
            chunk = replace(chunk, data=held.data + chunk.data, stale=held.stale or chunk.stale)
        may_wait = chunk.scanner not in self._reports and len(chunk.data) < JOINED_MOST
        if may_wait and self._happens("join"):
            self._held[chunk.scanner] = chunk
            return
        if self._happens("delay"):
            chunk = replace(chunk, t=chunk.t + max(1, round(self._longest ** self._random.random())) * _MS)
        self._in_line(chunk)

    def _unplug(self, chunk: Chunk) -> None:
        """The first bytes of the chunk still come; the rest, and what follows until it is back, is lost."""
        self._let_go(chunk.scanner, chunk.t)
        came = b"" if chunk.scanner in self._reports else chunk.data[: self._random.randrange(len(chunk.data) or 1)]
        if came:
            self._in_line(replace(chunk, data=came))
        down = max(chunk.t, self._behind.get(chunk.scanner, 0))
        up = self._back[chunk.scanner] = down + self._random.randint(*AWAY_MS) * _MS
        self._at(down, Link(down, chunk.scanner, up=False, detail="unplugged"), ours=True)
        self._at(up, Link(up, chunk.scanner, up=True), ours=True)

    # --- the order of time ------------------------------------------------------------------------------------

    def _happens(self, fault: str) -> bool:
        rate = self._rates[fault]
        happens = rate > 0 and self._random.random() < rate
        self.done[fault] += happens
        return happens

    def _let_go(self, scanner: str, t: int) -> None:
        """What waited for a next chunk comes without one."""
        held = self._held.pop(scanner, None)
        if held is not None:
            self._in_line(replace(held, t=t))

    def _in_line(self, entry: Chunk | Link) -> None:
        """Behind all that this scanner has sent."""
        t = max(entry.t, self._behind.get(entry.scanner, 0))
        self._behind[entry.scanner] = t
        self._at(t, replace(entry, t=t))

    def _at(self, t: int, entry: Entry, *, ours: bool = False) -> None:
        self._latest = max(self._latest, t)
        self._numbers += 1
        heappush(self._waiting, _Released(t, self._numbers, entry, ours))

    def _until(self, t: int) -> Iterator[Entry]:
        """What comes at or before `t`, but for copies that nobody can hear."""
        while self._waiting and self._waiting[0].t <= t:
            _, _, entry, ours = heappop(self._waiting)
            if isinstance(entry, Link):
                if self._tells(entry, ours=ours):
                    yield entry
            elif not (isinstance(entry, Chunk) and entry.scanner in self._unplugged):
                yield entry

    def _tells(self, link: Link, *, ours: bool) -> bool:
        """Whether a link changes something: a scanner is away as long as it is lost, unplugged, or both."""
        scanner = link.scanner
        before = scanner in self._lost or scanner in self._unplugged
        away = self._unplugged if ours else self._lost
        if link.up:
            away.discard(scanner)
        else:
            away.add(scanner)
        now = scanner in self._lost or scanner in self._unplugged
        return before != now or (not ours and scanner not in self._unplugged)


def mutated_header(header: Header, rates: Rates, seed: int) -> Header:
    """The mutant's first line: that of the recording, with a note that says seed and rates."""
    faults = ", ".join(f"{name} {rate:g}" for name, rate in rates._asdict().items() if rate)
    note = f"Mutated with seed {seed}: {faults or 'nothing'}."
    return header.model_copy(update={"note": note if header.note is None else f"{header.note} {note}"})


def placed(header: Header, source: Path, target: Path | None) -> Header:
    """The header of a recording in another folder: codebooks' files are found from there as they were from here.

    Args:
        header: the recording's first line.
        source: its folder.
        target: where the mutant goes; None: anywhere on this machine.
    """
    if target is not None and source.resolve() == target.resolve():
        return header
    scanners = {name: {**keys, **_codes(keys, source, target)} for name, keys in header.scanners.items()}
    return header.model_copy(update={"scanners": scanners})


def _codes(keys: dict[str, object], source: Path, target: Path | None) -> dict[str, object]:
    codes = keys.get("codes")
    if not isinstance(codes, str) or codes in BUILT_IN or Path(codes).is_absolute():
        return {}
    file = (source / codes).resolve()
    return {"codes": str(file) if target is None else os.path.relpath(file, target.resolve())}
