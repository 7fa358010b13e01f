"""A recording held in memory, for the verbs that make another recording of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import orjson

from scannerd.core import decisions as d
from scannerd.messages import dumps
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, Replay, event_lines
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Header, ScanlogWriter, reading


@dataclass(frozen=True, slots=True)
class Tape:
    """A recording.

    Attributes:
        path: its file, as messages name it.
        beside: the folder in which its codebooks and games are looked for.
        header: its first line.
        entries: the others, in time order.
    """

    path: Path
    beside: Path
    header: Header
    entries: Sequence[Entry]

    @property
    def end(self) -> int:
        """The last `t`, microseconds."""
        return self.entries[-1].t if self.entries else 0

    def with_entries(self, entries: Sequence[Entry]) -> Tape:
        """The same table with other entries."""
        return Tape(self.path, self.beside, self.header, entries)


def load(path: Path, warn: Callable[[str], None]) -> Tape:
    """Reads a whole recording.

    Args:
        path: its file.
        warn: told of what is ignored.

    Raises:
        ScanlogError: it can't be used; the message names file and line.
    """
    with reading(path, warn) as reader:
        return Tape(path, path.parent, reader.header, tuple(reader))


def written(tape: Tape) -> bytes:
    """The recording as a file."""
    target = io.BytesIO()
    writer = ScanlogWriter(target, tape.header)
    for entry in tape.entries:
        writer.write(entry)
    return target.getvalue()


def replay(tape: Tape, registry: Registry) -> Replay:
    """Makes what plays the recording; bytes of a scanner that is down are ignored without a word.

    Raises:
        ScanlogError: a driver, an option, a codebook or the game can't be used.
    """
    return replay_of(tape.header, tape.beside / tape.path.name, registry, _quiet)


class Happened(NamedTuple):
    """An event of a recording: its time in microseconds, and its line, as it is read back from its JSON.

    Attributes:
        at: its time, microseconds.
        line: as a replay prints it.
        data: the line's `data`.
    """

    at: int
    line: Line
    data: dict[str, object]

    @property
    def opening(self) -> bool:
        """Whether it opened a round."""
        return self.line["type"] == d.RoundOpened.TYPE


def happenings(tape: Tape, registry: Registry) -> list[Happened]:
    """Every event that the recording gives.

    Raises:
        ScanlogError: a driver, an option, a codebook or the game can't be used.
    """
    found: list[Happened] = []
    for taken in replay(tape, registry).play(iter(tape.entries)):
        found += (happened(taken.at, line) for line in event_lines(taken))
    return found


def happened(at: int, line: Line) -> Happened:
    """An event at its time, with lists for tuples."""
    read = orjson.loads(dumps(line))
    return Happened(at, read, read["data"])


def moved(header: Header, by: int) -> Header:
    """The header of a recording that begins so many microseconds later."""
    return header.model_copy(update={"recorded_at": header.recorded_at + timedelta(microseconds=by)})


def _quiet(text: str) -> None:
    del text
