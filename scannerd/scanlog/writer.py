"""Writing recordings, a line an entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import BinaryIO, assert_never

from scannerd.scanlog.entries import Broker, Chunk, End, Entry, Link, Order, Sent, seconds
from scannerd.scanlog.header import Header


class ScanlogWriter:
    """Writes a recording, each entry as it happens.

    A line is written whole or, when the process is killed, torn at its end, which a reader leaves out.
    """

    def __init__(self, target: BinaryIO, header: Header) -> None:
        """Writes the header to a file opened for unbuffered binary writing."""
        self._target = target
        line = header.model_dump(mode="json", exclude_none=True)
        self._line(line)

    def write(self, entry: Entry) -> None:
        """Writes one entry.

        Raises:
            OSError: the file can't be written; whoever records must say so.
        """
        self._line(_written(entry))

    def _line(self, line: Mapping[str, object]) -> None:
        self._target.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _written(entry: Entry) -> dict[str, object]:
    t = seconds(entry.t)
    match entry:
        case Chunk():
            stale = {"stale": True} if entry.stale else {}
            return {"t": t, "scanner": entry.scanner, **_text_or_hex("rx", entry.data), **stale}
        case Sent():
            return {"t": t, "scanner": entry.scanner, **_text_or_hex("tx", entry.data)}
        case Link():
            detail = {} if entry.detail is None else {"detail": entry.detail}
            return {"t": t, "scanner": entry.scanner, "event": "up" if entry.up else "down", **detail}
        case Order():
            return {"t": t, "command": entry.name, "args": entry.args}
        case Broker():
            return {"t": t, "broker": "up" if entry.up else "down"}
        case End():
            return {"t": t, "end": True}
        case _ as never:
            assert_never(never)


def _text_or_hex(key: str, data: bytes) -> dict[str, object]:
    printable = all(32 <= byte < 127 or byte in b"\r\n\t" for byte in data)  # noqa: PLR2004 - ASCII's printable range
    return {key: data.decode("ascii")} if printable else {f"{key}_hex": data.hex()}
