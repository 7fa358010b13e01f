"""The recordings that a table's daemon keeps all the time, as one: where a file ends is of no matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from scannerd.config.settings import Config
from scannerd.editing.tape import Tape
from scannerd.errors import UsageError
from scannerd.recording.recorder import Folder
from scannerd.scanlog import End, Entry, Header, Link, ScanlogError, reading


class Kept(NamedTuple):
    """A file of the capture, and its header."""

    path: Path
    header: Header

    @property
    def begin(self) -> datetime:
        """When it was begun."""
        return self.header.recorded_at


def kept(config: Config, warn: Callable[[str], None]) -> list[Kept]:
    """The files of a table's capture, the oldest first.

    Args:
        config: the table's.
        warn: told of files that are no recordings.

    Raises:
        UsageError: nothing is recorded, or there is no file.
    """
    folder = config.record.directory
    if folder is None:
        raise UsageError(
            f"{config.path}: record.directory is not set, so nothing was recorded; set it and restart the daemon"
        )
    found: list[Kept] = []
    for path in Folder(folder, config.table.id, 1, 1).kept():
        try:
            with reading(path, warn) as reader:
                found.append(Kept(path, reader.header))
        except ScanlogError as unusable:  # killed while it wrote the first line
            warn(unusable.line)
    if not found:
        raise UsageError(
            f"{folder}: there is no recording of table {config.table.id}: has its daemon run with [record]?"
        )
    return found


def joined(files: Sequence[Kept], config: Config, warn: Callable[[str], None], rounds_before: int) -> Tape:
    """Files that follow each other as one recording, which begins with the first.

    Args:
        files: at least one, in order.
        config: the table's, beside which codebooks and games are looked for.
        warn: told of what is ignored.
        rounds_before: how many rounds there were before the first file.

    Raises:
        ScanlogError: a file can't be used; the message names file and line.
    """
    entries: list[Entry] = []
    latest = 0
    for file in files:
        shift = (file.begin - files[0].begin) // timedelta(microseconds=1)
        with reading(file.path, warn) as reader:
            for entry in reader:
                latest = max(latest, entry.t + shift)  # the wall clock may have been set back between two files
                if not isinstance(entry, End):
                    entries.append(replace(entry, t=latest))
    header = files[0].header.model_copy(update={"rounds_before": rounds_before or None})
    return Tape(files[0].path, config.path.parent, header, entries)


def down_at_start(tape: Tape) -> set[str]:
    """The scanners that were down when a recording was begun."""
    return {entry.scanner for entry in tape.entries if entry.t == 0 and isinstance(entry, Link) and not entry.up}


def alike(one: Header, other: Header) -> bool:
    """Whether two files are of a table that was configured the same."""
    mine = {"recorded_at": other.recorded_at, "rounds_before": other.rounds_before}
    return one.model_copy(update=mine) == other
