"""Recordings against what is expected of them: one by one or on all cores, with a report for a CI system.

Beside `x.scanlog` stands `x.expected.jsonl`, the events, and where somebody wants to have the prompts looked at too
`x.prompts.jsonl`. A recording without expected events is a failure: a corpus must not shrink in silence.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from scannerd.errors import ScannerdError, UsageError
from scannerd.messages import dumps
from scannerd.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.replay import lines
from scannerd.scanlog import ScanlogReader, reading
from scannerd.verify.comparison import Difference, Expected, Kind, Told, kind

RECORDING = ".scanlog"
EXPECTED: dict[Kind, str] = {"event": ".expected.jsonl", "prompt": ".prompts.jsonl"}
"""The ending of the files beside a recording, by what they hold."""

WARNINGS = 10
"""How many warnings of one recording are shown; the others are counted."""

_SHOWN = 200
"""Characters of a recording's line that are shown."""


@dataclass(frozen=True)
class Outcome:
    """What came of a recording.

    Attributes:
        recording: its file.
        events: how many events it gives.
        differences: what was told otherwise than expected, each as text of a few lines.
        error: why it can't be replayed or compared; None: it was.
        warnings: what was ignored in it.
        updated: the files that were written.
    """

    recording: Path
    events: int = 0
    differences: tuple[str, ...] = ()
    error: str | None = None
    warnings: tuple[str, ...] = ()
    updated: tuple[Path, ...] = ()


class Comparison(NamedTuple):
    """How many events were told, and each difference as text of a few lines."""

    events: int
    differences: tuple[str, ...]


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


def find(paths: Iterable[Path]) -> list[Path]:
    """The recordings that are named, and those in the folders that are named, each once.

    Raises:
        UsageError: a path is not there, or there is no recording at all.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(path.rglob(f"*{RECORDING}")))
        elif path.is_file():
            found[path] = None
        else:
            raise UsageError(f"{path}: no such file or folder")
    if not found:
        raise UsageError(f"no recording ({RECORDING}) in {', '.join(map(str, paths))}")
    return list(found)


def beside(recording: Path, what: Kind) -> Path:
    """The file with the expected events or prompts of a recording."""
    return recording.with_suffix(EXPECTED[what])


def verify(recording: Path, *, update: bool = False, registry: Registry | None = None) -> Outcome:
    """Replays a recording and compares it with the files beside it.

    Args:
        recording: its file.
        update: write those files where they differ from what is told, or where the expected events are missing.
        registry: the drivers; by default those that are installed.
    """
    run = _Run(recording, registry or _registry())
    try:
        for what in EXPECTED:
            run.look_at(what, update=update)
    except ScannerdError as error:
        run.error = error.line
    except OSError as trouble:
        run.error = f"{trouble.filename or recording}: {trouble.strerror or trouble}"
    return run.outcome


def verify_all(recordings: list[Path], jobs: int, *, update: bool = False) -> Iterator[Outcome]:
    """Verifies recordings, in as many processes as `jobs` says, and yields the outcomes in their order."""
    if min(jobs, len(recordings)) <= 1:
        yield from (verify(recording, update=update) for recording in recordings)
        return
    with ProcessPoolExecutor(min(jobs, len(recordings)), initializer=_leave_ctrl_c_to_the_parent) as pool:
        try:
            yield from pool.map(partial(verify, update=update), recordings)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def compare(recording: Path, expected: Expected, registry: Registry, warn: Callable[[str], None]) -> Comparison:
    """Compares what a recording tells with what a file expects.

    Raises:
        ScannerdError: one of the two can't be used.
    """
    events = 0

    def counted(told: Iterator[Told]) -> Iterator[Told]:
        nonlocal events
        for one in told:
            events += kind(one.line) == "event"
            yield one

    with reading(recording, warn) as reader:
        told = counted(told_by(reader, recording, registry, warn, prompts="prompt" in expected.kinds))
        found = list(expected.differences(told))
    return Comparison(events, tuple(described(one, expected, recording) for one in found))


def told_by(
    reader: ScanlogReader, recording: Path, registry: Registry, warn: Callable[[str], None], *, prompts: bool
) -> Iterator[Told]:
    """What a replay tells, each line with the number of the recording's line that it comes from.

    Raises:
        ScanlogError: the recording can't be used.
    """
    replay = replay_of(reader.header, recording, registry, lambda text: warn(f"{recording}:{reader.line}: {text}"))
    for line in lines(replay, iter(reader), prompts=prompts):
        yield Told(line, reader.line)


def described(difference: Difference, expected: Expected, recording: Path) -> str:
    """A difference in words: the line, its keys that differ, and the recording's line that led to it."""
    wanted, told = difference
    if wanted is not None and told is not None:
        keys = [
            f"  {key}: expected {_json(one)}, told {_json(other)}" for key, one, other in expected.keys(wanted, told)
        ]
        said = [f"{expected.path}:{wanted.number}: told otherwise: {told.text.decode()}", *keys]
    elif wanted is not None:
        said = [f"{expected.path}:{wanted.number}: not told: {wanted.text.decode(errors='replace')}"]
    elif told is not None:
        said = [f"{expected.path}: not expected: {told.text.decode()}"]
    if told is not None:
        said.append(f"  from {recording}:{told.from_line}: {_line(recording, told.from_line)}")
    return "\n".join(said)


class _Run:
    """The verification of one recording."""

    def __init__(self, recording: Path, registry: Registry) -> None:
        self._recording, self._registry = recording, registry
        self._warnings = Warnings()
        self._events = 0
        self._differences: list[str] = []
        self._updated: list[Path] = []
        self.error: str | None = None

    @property
    def outcome(self) -> Outcome:
        """What has come of it so far."""
        return Outcome(
            self._recording,
            self._events,
            tuple(self._differences),
            self.error,
            self._warnings.told,
            tuple(self._updated),
        )

    def look_at(self, what: Kind, *, update: bool) -> None:
        """Compares with one of the files; only the first replay tells its warnings."""
        warn = _quiet if self._events else self._warnings
        file = beside(self._recording, what)
        if file.exists():
            events, differences = compare(self._recording, Expected(file), self._registry, warn)
            self._events = max(self._events, events)
        elif what == "event":
            differences = (f"{file} is missing; --update writes it",)
        else:
            return
        if differences and update:
            self._write(file, what)
        else:
            self._differences += differences

    def _write(self, file: Path, what: Kind) -> None:
        """Writes what is told; the file is whole at any time."""
        draft = file.with_name(f".{file.name}.new")
        with reading(self._recording, _quiet) as reader, draft.open("wb") as lines_:
            for told in told_by(reader, self._recording, self._registry, _quiet, prompts=what == "prompt"):
                if kind(told.line) == what:
                    lines_.write(told.text + b"\n")
        draft.replace(file)
        self._updated.append(file)


def _quiet(text: str) -> None:
    del text


def _json(value: object) -> str:
    return dumps({"": value}).decode()[4:-1]


def _line(recording: Path, number: int) -> str:
    with recording.open("rb") as source:
        text = next(islice(source, number - 1, None), b"").decode(errors="replace").strip()
    return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text


@cache
def _registry() -> Registry:
    """The drivers that are installed, looked up once a process."""
    return Registry()


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
