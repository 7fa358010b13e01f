"""The always-on capture: what the scanners sent and the table was told, as recordings that can be replayed.

A thread of its own writes, so that a slow disk delays no card; what it can't keep up with is dropped and counted, for a
recording is evidence, not a promise. A file is closed at its size, at the next moment between two rounds, so that each
replays from an idle table; the oldest give way to the bound on them all.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias

from scannerd import logs
from scannerd.errors import UsageError
from scannerd.scanlog import Broker, Entry, Header, Link, ScanlogWriter

WAITING: Final = 10_000
"""Entries that may wait for the disk; more are dropped."""

STEADY: Final = 1_000
"""Microseconds within which both clocks must be read, if it can be had: the process may be stopped between the two."""

OVERDUE: Final = 4
"""A file is closed at this many times its size even in a round: one that never ends fills no disk."""


_STAMP: Final = f"{'[0-9]' * 8}T{'[0-9]' * 12}Z"
"""What matches the time in a file's name."""


@dataclass(frozen=True, slots=True)
class OneFile:
    """A recording in one file, however large it gets."""

    path: Path

    def next(self, now: datetime) -> Path:
        """The file."""
        del now
        return self.path

    def full(self, size: int, times: int) -> bool:
        """Never."""
        del size, times
        return False

    def tidy(self) -> None:
        """Gives nothing up."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Recordings of about `file_bytes` each in a folder; `files` are kept, those of earlier runs among them."""

    path: Path
    table: str
    file_bytes: int
    files: int

    def next(self, now: datetime) -> Path:
        """A name that sorts by its time."""
        return self.path / f"{self.table}-{now:%Y%m%dT%H%M%S%f}Z.scanlog"

    def full(self, size: int, times: int) -> bool:
        """Whether a file is to be closed."""
        return size >= self.file_bytes * times

    def tidy(self) -> None:
        """Makes the folder where it is missing, and gives the oldest up until there is room for one more."""
        self.path.mkdir(mode=0o750, exist_ok=True)
        for path in self.kept()[: -self.files + 1 or None]:
            path.unlink(missing_ok=True)

    def kept(self) -> list[Path]:
        """The recordings of this table, the oldest first; another's, whose name begins the same, are not among them."""
        return sorted(self.path.glob(f"{self.table}-{_STAMP}.scanlog"))


Target: TypeAlias = OneFile | Folder
Standing: TypeAlias = Link | Broker


@dataclass(frozen=True, slots=True)
class _Pause:
    """Between two rounds, `rounds` having been opened: a full file may be closed here."""

    rounds: int


@dataclass(frozen=True, slots=True)
class _Stop:
    pass


_Wish: TypeAlias = Entry | _Pause | _Stop


class Recorder:
    """Writes recordings while the daemon runs.

    Attributes:
        dropped: entries that were not written: the disk was too slow, or full.
    """

    def __init__(
        self,
        header: Header,
        target: Target,
        clock: Callable[[], int],
        standing: Mapping[str, Standing] = MappingProxyType({}),
    ) -> None:
        """Opens nothing yet.

        Args:
            header: what each file begins with, but for `recorded_at`.
            target: where to.
            standing: what is so at the beginning, by scanner, the broker's under an empty name.
            clock: the monotonic clock that stamps the entries, microseconds.
        """
        self._header, self._target, self._clock = header, target, clock
        self._log = logs.get("recorder")
        self._wishes: queue.Queue[_Wish] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._file: BinaryIO | None = None
        self._writer: ScanlogWriter | None = None
        self._began = self._latest = 0
        self._failed = False
        self._standing = dict(standing)
        self.dropped = 0

    def start(self) -> None:
        """Opens the first file and starts the thread; in a folder that can't be written the table goes on without.

        Raises:
            UsageError: the one file that was asked for can't be made.
        """
        try:
            self._open()
        except OSError as trouble:
            if isinstance(self._target, OneFile):
                raise UsageError(f"{self._target.path}: {trouble.strerror}") from trouble
            self._tell(trouble)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Records an entry whose `t` is a monotonic time; returns at once; may be called from any thread."""
        try:
            self._wishes.put_nowait(entry)
        except queue.Full:
            self.dropped += 1

    def pause(self, rounds: int) -> None:
        """Says that no round is being dealt, and how many were."""
        if self._full(1):
            self._offer(_Pause(rounds))

    def stop(self, timeout: float = 1.0) -> None:
        """Writes what waits, and closes the file; at most `timeout` seconds; nothing where it never started."""
        if self._thread.ident is None:
            return
        self._offer(_Stop())
        self._thread.join(timeout)
        if self.dropped:
            self._log.warning("the recording has gaps", dropped=self.dropped)

    def _offer(self, wish: _Wish) -> None:
        try:
            self._wishes.put(wish, timeout=0.1)
        except queue.Full:
            self._log.warning("the recorder does not keep up")

    def _run(self) -> None:
        while True:
            wish = self._wishes.get()
            if isinstance(wish, _Stop):
                break
            if isinstance(wish, _Pause):
                self._header = self._header.model_copy(update={"rounds_before": wish.rounds or None})
            if isinstance(wish, _Pause) or self._full(OVERDUE):
                self._turn_over()
            if not isinstance(wish, _Pause):
                self._append(wish)
        self._close()

    def _append(self, entry: Entry) -> None:
        try:
            writer = self._writer or self._open(entry.t)
            self._latest = max(self._latest, entry.t - self._began)  # threads may overtake each other on their way here
            writer.write(replace(entry, t=self._latest))
            self._failed = False
            if isinstance(entry, Link | Broker):
                self._standing[entry.scanner if isinstance(entry, Link) else ""] = entry
        except OSError as trouble:
            self.dropped += 1
            self._tell(trouble)

    def _tell(self, trouble: OSError) -> None:
        """Once, until something was written again."""
        if not self._failed:
            self._failed = True
            self._log.error("the recording can't be written", error=str(trouble))
        self._close()

    def _open(self, first: int | None = None) -> ScanlogWriter:
        """Begins a file, with an entry of the time `first`, which is a little ago."""
        self._target.tidy()
        now, began = self._moment()
        self._began = began if first is None else min(began, first)
        now -= timedelta(microseconds=began - self._began)
        self._latest = 0
        self._file = self._target.next(now).open("wb", buffering=0)
        self._writer = ScanlogWriter(self._file, self._header.model_copy(update={"recorded_at": now}))
        for entry in self._standing.values():
            if not entry.up:
                self._writer.write(replace(entry, t=0))
        return self._writer

    def _moment(self) -> tuple[datetime, int]:
        """Both clocks, read close together: a journal's events are found in a recording by the time of day."""
        for _ in range(3):
            began, now = self._clock(), datetime.now(UTC)
            if self._clock() - began < STEADY:
                break
        return now, began

    def _turn_over(self) -> None:
        if self._full(1):
            self._close()

    def _full(self, times: int) -> bool:
        return self._file is not None and not self._file.closed and self._target.full(self._file.tell(), times)

    def _close(self) -> None:
        self._writer = None
        if self._file is not None:
            self._file.close()
