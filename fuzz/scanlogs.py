"""Target: the reader of recordings, and the replay behind it.

What must hold for any file:

* it is read, or refused with a `ScanlogError` of one line that names the file and the line;
* times do not go back; what was read can be written, and reads as the same again;
* it is replayed, or refused so; what a replay tells can be printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise

from fuzz.target import RECORDINGS, Kept, Target, expect, quiet
from scannerd.codebooks import BUILT_IN
from scannerd.messages import dumps
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Header, ScanlogError, ScanlogReader, ScanlogWriter

NAME = "found.scanlog"

_CODES = {*BUILT_IN, "rfid-deck.toml"}
_UNBOUND = ("pattern", "file")
"""Options whose work has no bound: what an administrator wrote may take for ever, or lie anywhere."""


class ScanlogTarget(Target):
    """Recordings."""

    name = "scanlog"
    about = "the reader of recordings, what it reads written again, and the replay"

    def __init__(self, registry: Registry) -> None:
        """Takes the drivers that a header may name."""
        self._registry = registry

    def seeds(self) -> Iterator[bytes]:
        """The corpus, of long recordings the beginning."""
        for path in sorted(RECORDINGS.glob("*.scanlog")):
            whole = path.read_bytes()
            yield whole[: whole.rfind(b"\n", 0, self.longest) + 1]

    def words(self) -> Iterator[bytes]:
        """Keys, kinds of lines, and numbers that are none or nearly."""
        keys = b"t scanner rx rx_hex tx tx_hex event command args broker end stale driver codes hand round start"
        yield from (b'"%b":' % key for key in keys.split())
        yield from rb""""up" "down" "auto" true null 1e999 1e-9 -0.0 NaN "\ud800" \u0000 {} []""".split()
        yield b"1e99999999999999999999"

    def check(self, data: bytes) -> None:
        """See the head of this module."""
        read = _read(data)
        if read is None:
            return
        header, entries = read
        expect(all(one.t <= other.t for one, other in pairwise(entries)), "time goes back")
        again = BytesIO()
        writer = ScanlogWriter(again, header)
        for entry in entries:
            writer.write(entry)
        expect(_read(again.getvalue()) == read, "what was read and written reads as something else")
        self._replay(header, entries)

    def kept(self, data: bytes) -> Kept:
        """The file itself."""
        advice = "Replay it: .venv/bin/scannerd replay {file}\nWhen it is mended, it becomes a test of the reader, "
        return Kept(".scanlog", data, advice + "or a recording.")

    def _replay(self, header: Header, entries: list[Entry]) -> None:
        for keys in header.scanners.values():
            if keys.get("codes", "rank-suit") not in _CODES or any(key in keys for key in _UNBOUND):
                return
        try:
            replay = replay_of(header, RECORDINGS / NAME, self._registry, quiet)
        except ScanlogError as refused:
            _expect_told(refused)
            return
        for line in lines(replay, iter(entries), prompts=True):
            dumps(line)


def _read(data: bytes) -> tuple[Header, list[Entry]] | None:
    """A recording's header and entries up to where it is refused; None: it has no header."""
    entries: list[Entry] = []
    try:
        reader = ScanlogReader(BytesIO(data), NAME, quiet)
    except ScanlogError as refused:
        _expect_told(refused)
        return None
    try:
        entries.extend(reader)
    except ScanlogError as refused:
        _expect_told(refused)
    return reader.header, entries


def _expect_told(refused: ScanlogError) -> None:
    expect(NAME in refused.line and "\n" not in refused.line, "the message names no file: {}", refused.line)
