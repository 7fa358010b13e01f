"""One recording against the files beside it: compared, explained, and brought up to date if wished."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from scannerd.errors import ScannerdError
from scannerd.registry import Registry
from scannerd.scanlog import reading
from scannerd.verify.corpus import EXPECTED, beside
from scannerd.verify.expected import Expected, Kind
from scannerd.verify.explaining import explained
from scannerd.verify.findings import Came, Findings, compare, told_by, unheard
from scannerd.verify.outcome import NOTHING_MORE, Outcome, Updated, Warnings, Wish


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
        run.explain()
    except ScannerdError as error:
        run.error = error.line
    except OSError as trouble:
        run.error = f"{trouble.filename or recording}: {trouble.strerror or trouble}"
    return run.outcome(time.perf_counter() - begin)


class _Run:
    """The verification of one recording."""

    def __init__(self, recording: Path, registry: Registry, wish: Wish, came: Came) -> None:
        self._recording, self._registry, self._wish, self._came = recording, registry, wish, came
        self._warnings = Warnings()
        self._events = 0
        self._findings: dict[Kind, Findings] = {}
        self._missing: tuple[str, ...] = ()
        self._updated: list[Updated] = []
        self._explanation = ""
        self.error: str | None = None

    def compare(self) -> None:
        """Compares with the files that are there; the events' must be."""
        files = {what: beside(self._recording, what) for what in EXPECTED}
        there = {what: Expected(file, what) for what, file in files.items() if file.exists()}
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
        texts = (text for one in self._standing() for text in one.texts(self._recording))
        return Outcome(
            self._recording,
            self._events,
            (*self._missing, *texts),
            self._explanation,
            self.error,
            self._warnings.told,
            tuple(self._updated),
            seconds,
        )

    def explain(self) -> None:
        """Explains the first difference, if that is wished."""
        first = next(self._standing(), None)
        if first is not None and self._wish.explain:
            self._explanation = explained(self._recording, first.first[0], first.expected, self._registry)

    def _standing(self) -> Iterator[Findings]:
        """What differs and was not updated."""
        written = {updated.path for updated in self._updated}
        return (one for one in self._findings.values() if one.first and one.expected.path not in written)

    def _write(self, kinds: list[Kind]) -> None:
        """Writes what is told; each file is whole at any time, and no draft stays behind."""
        drafts = {what: _draft(beside(self._recording, what), os.getpid()) for what in kinds}
        with ExitStack() as leftovers:
            lines = self._draft_all(drafts, leftovers)
            for what, draft in drafts.items():
                path = beside(self._recording, what)
                draft.replace(path.resolve())
                findings = self._findings.get(what)
                self._updated.append(Updated(path, lines[what], None if findings is None else findings.changes))
        self._events = max(self._events, lines["event"])

    def _draft_all(self, drafts: dict[Kind, Path], leftovers: ExitStack) -> Counter[Kind]:
        """Writes the drafts, and counts their lines."""
        lines: Counter[Kind] = Counter()
        with reading(self._recording, unheard) as reader, ExitStack() as files:
            into = {what: files.enter_context(draft.open("wb")) for what, draft in drafts.items()}
            for draft in drafts.values():
                leftovers.callback(draft.unlink, missing_ok=True)
            for told in told_by(reader, self._recording, self._registry, unheard, prompts="prompt" in drafts):
                if told.kind in into:
                    into[told.kind].write(told.text + b"\n")
                    lines[told.kind] += 1
        return lines


def discard_drafts(recording: Path, process: int | None) -> None:
    """Takes away what a process that was killed had begun to write."""
    for what in EXPECTED:
        _draft(beside(recording, what), process).unlink(missing_ok=True)


def _draft(file: Path, process: int | None) -> Path:
    """Of one process alone: another may write the same file at the same time. A link stays one."""
    file = file.resolve()
    return file.with_name(f".{file.name}.{process}.new")


@cache
def _registry() -> Registry:
    """The drivers that are installed, looked up once a process."""
    return Registry()
