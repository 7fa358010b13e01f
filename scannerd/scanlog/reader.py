"""Reading recordings line by line, each error with its file and line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

from pydantic import ValidationError

from scannerd.errors import UsageError
from scannerd.scanlog.entries import Entry, seconds
from scannerd.scanlog.header import Header
from scannerd.scanlog.lines import LineError, entry_of, parse, plain_chunk


class ScanlogError(UsageError):
    """A recording can't be used as it is; the message names the file and the line."""


class ScanlogReader:
    """Reads a recording line by line, so that one of any length takes no more memory than its longest line.

    Attributes:
        header: the first line.
        line: the number of the line read last, from 1.
    """

    def __init__(self, source: BinaryIO, name: str, warn: Callable[[str], None]) -> None:
        """Reads the header.

        Args:
            source: the file, opened for binary reading.
            name: how errors and warnings call it.
            warn: told of what is ignored.

        Raises:
            ScanlogError: there is no header, or it can't be used.
        """
        self._source, self._name, self._warn = source, name, warn
        self.line = 1
        self.header = self._read_header(source.readline())

    @property
    def position(self) -> int:
        """How many bytes of the file are behind it, those read ahead not among them."""
        return self._source.tell()

    def __iter__(self) -> Iterator[Entry]:
        """The entries in time order.

        Raises:
            ScanlogError: a line is no entry, or goes back in time.
        """
        latest, scanners = 0, self.header.scanners
        for raw in self._source:
            self.line += 1
            entry: Entry | None = plain_chunk(raw, scanners)
            if entry is None:
                if raw.isspace():
                    continue
                entry = self._entry(raw)
                if entry is None:
                    return
            if entry.t < latest:
                self._fail(f"t {seconds(entry.t)} comes after {seconds(latest)}: entries stand in time order")
            latest = entry.t
            yield entry

    def _read_header(self, raw: bytes) -> Header:
        try:
            json.loads(raw)  # refuses what is no JSON in the same words as any other line
            return Header.model_validate_json(raw, strict=True)  # as in a configuration, `true` is no number
        except ValidationError as invalid:
            first = invalid.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            self._fail(f"{where}: {first['msg'].removeprefix('Value error, ')}")
        except (ValueError, RecursionError):
            self._fail('not a recording: the first line is a header such as {"scanlog":1,"table":"tp-01",…}')

    def _entry(self, raw: bytes) -> Entry | None:
        """Any entry; None: the last line, which is torn."""
        try:
            parsed = parse(raw)
        except (ValueError, RecursionError) as broken:
            if not raw.endswith(b"\n"):
                self._warn(f"{self._name}:{self.line}: the last line is torn and is left out")
                return None
            self._fail(f"no JSON: {broken}")
        try:
            return entry_of(parsed, self.header.scanners)
        except LineError as wrong:
            self._fail(str(wrong))

    def _fail(self, why: str) -> NoReturn:
        raise ScanlogError(f"{self._name}:{self.line}: {why}")


@contextmanager
def reading(path: Path, warn: Callable[[str], None]) -> Iterator[ScanlogReader]:
    """Opens a recording for as long as the `with` lasts.

    Raises:
        ScanlogError: the file can't be opened, or its header can't be used.
    """
    try:
        source = path.open("rb")
    except OSError as trouble:
        raise ScanlogError(f"{path}: {trouble.strerror or trouble}") from trouble
    with source:
        yield ScanlogReader(source, str(path), warn)
