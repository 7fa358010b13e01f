"""One recording against the files beside it: replayed once, compared line by line, and brought up to date if wished."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from scannerd.errors import ScannerdError
from scannerd.messages import dumps
from scannerd.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.replay import lines_taken
from scannerd.scanlog import ScanlogReader, reading
from scannerd.verify.changes import Change, change_of
from scannerd.verify.comparison import Comparison, Difference, Told
from scannerd.verify.corpus import EXPECTED, beside
from scannerd.verify.describing import counted, described
from scannerd.verify.expected import Expected, Kind, kind
from scannerd.verify.explaining import explained

MOST = 20
"""How many differences of a file are told; where nothing is to be updated, the comparison ends after so many."""

WARNINGS = 10
"""How many warnings of one recording are shown; the others are counted."""


class Wish(NamedTuple):
    """What is wanted besides the comparison.

    Attributes:
        update: files that differ, or expected events that are missing, are written.
        explain: the first difference is explained.
    """

    update: bool = False
    explain: bool = False


NOTHING_MORE = Wish()


@dataclass(frozen=True)
class Updated:
    """A file that was written.

    Attributes:
        path: the file.
        lines: how many it holds now.
        changes: what differs from what it held; None: it was not there.
        first: the first differences, in words.
    """

    path: Path
    lines: int
    changes: Counter[Change] | None = None
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of a recording.

    Attributes:
        recording: its file.
        events: how many events it gives.
        differences: what was told otherwise than expected, each as text of a few lines.
        explanation: how the first of them came about; empty: not asked for.
        error: why it can't be replayed or compared; None: it was.
        warnings: what was ignored in it.
        updated: the files that were written.
        seconds: how long it took.
    """

    recording: Path
    events: int = 0
    differences: tuple[str, ...] = ()
    explanation: str = ""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    updated: tuple[Updated, ...] = ()
    seconds: float = 0


Came: TypeAlias = Callable[[int], None]
"""Told now and then how many bytes of a recording are behind."""

TOLD_EVERY = 5_000
"""After so many lines it is told how far a replay has come."""


class Warnings:
    """Keeps the first few warnings and counts the others: a recording can give one for each of its lines."""

    def __init__(self) -> None:
        """Begins without any."""
        self._first: list[str] = []
        self._more = 0

    def __call__(self, text: str) -> None:
        """Takes one."""
        if len(self._first) < WARNINGS:
            self._first.append(text)
        else:
            self._more += 1

    @property
    def told(self) -> tuple[str, ...]:
        """The first ones, and how many more there were."""
        return (*self._first, f"and {self._more} more") if self._more else tuple(self._first)


@dataclass
class Findings:
    """What is found of one expected file.

    Attributes:
        expected: the file.
        first: the first differences; `MOST` at most are kept.
        changes: all of them, counted by their kind.
        ended: the comparison ended before the recording did, as enough differs.
    """

    expected: Expected
    first: list[Difference] = field(default_factory=list)
    changes: Counter[Change] = field(default_factory=Counter)
    ended: bool = False

    def found(self, difference: Difference) -> None:
        """Takes a difference."""
        if len(self.first) < MOST:
            self.first.append(difference)
        self.changes[change_of(difference, self.expected)] += 1

    @property
    def full(self) -> bool:
        """Whether there are as many as are told."""
        return len(self.first) >= MOST

    def texts(self, recording: Path) -> tuple[str, ...]:
        """The first differences in words, and what is not told."""
        texts = tuple(described(one, self.expected, recording) for one in self.first)
        more = self.changes.total() - len(self.first)
        if self.ended:
            return (*texts, f"{self.expected.path}: {MOST} differences; what follows was not compared")
        return (*texts, f"{self.expected.path}: and {counted(more, 'difference')} more") if more else texts


def unheard(told: object) -> None:
    """Takes what nobody wants to hear."""
    del told


def verify(
    recording: Path, *, wish: Wish = NOTHING_MORE, registry: Registry | None = None, came: Came = unheard
) -> Outcome:
    """Replays a recording and compares it with the files beside it.

    Args:
        recording: its file.
        wish: what is wanted besides.
        registry: the drivers; by default those that are installed.
        came: told now and then how far the comparison has come.
    """
    begin, run = time.perf_counter(), _Run(recording, registry or _registry(), wish, came)
    try:
        run.compare()
        run.update()
    except ScannerdError as error:
        run.error = error.line
    except OSError as trouble:
        run.error = f"{trouble.filename or recording}: {trouble.strerror or trouble}"
    return run.outcome(time.perf_counter() - begin)


def compare(  # noqa: PLR0913 - the last two have defaults
    recording: Path,
    expected: list[Expected],
    registry: Registry,
    warn: Callable[[str], None],
    *,
    whole: bool = False,
    came: Came = unheard,
) -> tuple[int, list[Findings]]:
    """Compares what a recording tells with what files expect, in one replay.

    Args:
        recording: its file.
        expected: the files.
        registry: the drivers.
        warn: told of what is ignored.
        whole: go on to the end, though more differs than is told.
        came: told now and then how far it has come.

    Returns:
        How many events were told, and what is found of each file.

    Raises:
        ScannerdError: the recording or a file can't be used.
    """
    findings, events = [Findings(one) for one in expected], 0
    comparisons = [Comparison(one.expected, one.found) for one in findings]
    takers: dict[Kind, list[Comparison]] = {
        what: [one for one, file in zip(comparisons, expected, strict=True) if what in file.kinds] for what in EXPECTED
    }
    with reading(recording, warn) as reader:
        for number, told in enumerate(told_by(reader, recording, registry, warn, prompts=bool(takers["prompt"]))):
            events += told.kind == "event"
            for comparison in takers[told.kind]:
                comparison.take(told)
            if number % TOLD_EVERY == 0:
                came(reader.position)
            if not whole and all(one.full for one in findings):
                return events, [replace(one, ended=True) for one in findings]
    for comparison in comparisons:
        comparison.finish()
    return events, findings


def told_by(
    reader: ScanlogReader, recording: Path, registry: Registry, warn: Callable[[str], None], *, prompts: bool
) -> Iterator[Told]:
    """What a replay tells, each line with the number of the recording's line that it comes from.

    Raises:
        ScanlogError: the recording can't be used.
    """
    replay = replay_of(reader.header, recording, registry, lambda text: warn(f"{recording}:{reader.line}: {text}"))
    for line, taken in lines_taken(replay, iter(reader), prompts=prompts):
        yield Told(line, dumps(line), kind(line), reader.line, taken)


class _Run:
    """The verification of one recording."""

    def __init__(self, recording: Path, registry: Registry, wish: Wish, came: Came) -> None:
        self._recording, self._registry, self._wish, self._came = recording, registry, wish, came
        self._warnings = Warnings()
        self._events = 0
        self._findings: dict[Kind, Findings] = {}
        self._missing: tuple[str, ...] = ()
        self._updated: list[Updated] = []
        self.error: str | None = None

    def compare(self) -> None:
        """Compares with the files that are there; the events' must be."""
        files = {what: beside(self._recording, what) for what in EXPECTED}
        there = {what: Expected(file) for what, file in files.items() if file.exists()}
        if there:
            self._events, found = compare(
                self._recording,
                list(there.values()),
                self._registry,
                self._warnings,
                whole=self._wish.update,
                came=self._came,
            )
            self._findings = dict(zip(there, found, strict=True))
        if "event" not in there:
            self._missing = (f"{files['event']} is missing; --update writes it",)

    def update(self) -> None:
        """Writes the files that differ or are missing, if that is wished."""
        stale = [what for what, findings in self._findings.items() if findings.first]
        if self._missing:
            stale.insert(0, "event")
        if stale and self._wish.update:
            self._write(stale)
            self._missing = ()

    def outcome(self, seconds: float) -> Outcome:
        """What has come of it."""
        written = {updated.path for updated in self._updated}
        open_ = [one for one in self._findings.values() if one.first and one.expected.path not in written]
        return Outcome(
            self._recording,
            self._events,
            (*self._missing, *(text for one in open_ for text in one.texts(self._recording))),
            self._explanation(open_) if self._wish.explain and self.error is None else "",
            self.error,
            self._warnings.told,
            tuple(self._updated),
            seconds,
        )

    def _explanation(self, findings: list[Findings]) -> str:
        first = [(one.first[0], one.expected) for one in findings]
        return "\n".join(explained(self._recording, *one, self._registry) for one in first[:1])

    def _write(self, kinds: list[Kind]) -> None:
        """Writes what is told; each file is whole at any time."""
        lines: Counter[Kind] = Counter()
        drafts = {what: _draft(beside(self._recording, what)) for what in kinds}
        with reading(self._recording, unheard) as reader, ExitStack() as files:
            into = {what: files.enter_context(draft.open("wb")) for what, draft in drafts.items()}
            for told in told_by(reader, self._recording, self._registry, unheard, prompts="prompt" in kinds):
                if told.kind in into:
                    into[told.kind].write(told.text + b"\n")
                    lines[told.kind] += 1
        self._events = max(self._events, lines["event"])
        for what, draft in drafts.items():
            path = draft.replace(beside(self._recording, what))
            self._updated.append(self._told_of(what, path, lines[what]))

    def _told_of(self, what: Kind, path: Path, lines: int) -> Updated:
        findings = self._findings.get(what)
        if findings is None:
            return Updated(path, lines)
        return Updated(path, lines, findings.changes, findings.texts(self._recording))


def _draft(file: Path) -> Path:
    return file.with_name(f".{file.name}.new")


@cache
def _registry() -> Registry:
    """The drivers that are installed, looked up once a process."""
    return Registry()
