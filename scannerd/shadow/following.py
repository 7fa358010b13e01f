"""A live table's capture, read as it is written: the file that grows, then the next one, as `tail -F` would.

Reading is all that is done to it. A file that gives way while it is read is read to its end all the same.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

from scannerd.errors import UsageError
from scannerd.recording.recorder import Folder
from scannerd.scanlog import ScanlogError, ScanlogReader


class Captures:
    """The recordings of one table in the folder of its capture."""

    def __init__(self, folder: Path, table: str) -> None:
        """Takes the folder and the table's id."""
        self._folder, self._files = folder, Folder(folder, table, file_bytes=1, files=1)

    def newest(self) -> Path | None:
        """The one that is being written; None: there is none yet.

        Raises:
            UsageError: the folder can't be read.
        """
        return max(self._kept(), default=None)

    def after(self, path: Path) -> Path | None:
        """The one that follows; None: there is none yet."""
        return min((one for one in self._kept() if one > path), default=None)

    def _kept(self) -> list[Path]:
        try:
            next(self._folder.iterdir(), None)  # a folder that can't be read looks empty to `glob`
        except OSError as trouble:
            raise UsageError(f"{self._folder}: {trouble.strerror}") from trouble
        return self._files.kept()


class Growing(io.RawIOBase):
    """A file that grows: reading waits at its end until there is more, or never will be."""

    def __init__(self, path: Path, over: Callable[[], bool], wait: Callable[[], bool]) -> None:
        """Opens the file.

        Args:
            path: the file.
            over: whether nobody writes to it any more.
            wait: returns after a while; False: it was waited for long enough.

        Raises:
            OSError: it can't be read.
        """
        self._file = path.open("rb", buffering=0)
        self._over, self._wait = over, wait

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # the buffers that there are
        """What has come since; 0 only at the last end."""
        while True:
            over = self._over()  # asked first: what was written before it was over is still read
            count = self._file.readinto(buffer)
            if count or over or not self._wait():
                return count or 0

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


def followed(
    captures: Captures, wait: Callable[[], bool], warn: Callable[[str], None]
) -> Iterator[tuple[Path, ScanlogReader]]:
    """The recording that is being written and those that follow it, each open while it is the last one yielded.

    Args:
        captures: where they are.
        wait: returns after a while; False: it was waited for long enough, and what is written later is not read.
        warn: told of what is left out.

    Raises:
        UsageError: the folder, or a recording, can't be read.
    """
    path = captures.newest()
    while path is None:
        if not wait():
            return
        path = captures.newest()
    current: Path | None = path
    while current is not None:
        yield from _opened(current, captures, wait, warn)
        current = captures.after(current)


def _opened(
    path: Path, captures: Captures, wait: Callable[[], bool], warn: Callable[[str], None]
) -> Iterator[tuple[Path, ScanlogReader]]:
    """One recording, unless it has not even a header, as one that was begun on a full disk."""
    try:
        raw = Growing(path, lambda: captures.after(path) is not None, wait)
    except OSError as trouble:
        raise UsageError(f"{path}: {trouble.strerror}") from trouble
    with io.BufferedReader(raw) as source:
        try:
            reader = ScanlogReader(source, str(path), warn)
        except ScanlogError as unusable:
            warn(f"{unusable}; it is left out")
            return
        yield path, reader
