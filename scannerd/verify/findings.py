"""A recording replayed once beside its expected files, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from scannerd.messages import dumps
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines_taken
from scannerd.registry import Registry
from scannerd.scanlog import ScanlogReader, reading
from scannerd.verify.changes import Change, change_of
from scannerd.verify.comparison import Comparison, Difference, Told
from scannerd.verify.corpus import EXPECTED
from scannerd.verify.describing import counted, described
from scannerd.verify.expected import Expected, Kind, kind

MOST = 20
"""How many differences of a file are told; where nothing is to be updated, the comparison ends after so many."""

Came: TypeAlias = Callable[[int], None]
"""Told now and then how many bytes of a recording are behind."""

TOLD_EVERY = 5_000
"""After so many lines it is told how far a replay has come."""


def unheard(told: object) -> None:
    """Takes what nobody wants to hear."""
    del told


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
            agree = True
            for comparison in takers[told.kind]:
                agree &= comparison.take(told)
            if number % TOLD_EVERY == 0:
                came(reader.position)
            if not (agree or whole) and all(one.full for one in findings):
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
