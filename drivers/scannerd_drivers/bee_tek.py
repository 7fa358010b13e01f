"""`bee-tek`: a dealing shoe that reads micro-dots on the cards and sends ASCII records.

RS-232, 9600 8N1. A record is `[Mode]<Content>`, usually set between spaces; a warning has no mode, and an empty read
may do without. Source: what operators of such shoes have published; no maker has confirmed it. The rules where that is
silent:

* A record opens at `[` or `<` and is complete at the first `>`. Until then it may have one `<` if it opened at `[`.
* What opens inside a record (a `[`, a second `<`) breaks it: `partial`, and a new record begins there.
* Bytes between records, spaces aside, are one notice a run, told at the run's first byte. A run ends where a record
  opens. So noise can neither flood the log nor fill memory.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from scannerd.contract import MS, BadFrame, CardRead, Driver, DriverOptions, Micros, NoRead, Notice, Reading
from scannerd_drivers.options import SerialOptions

if TYPE_CHECKING:
    from scannerd.contract import Transport

RECORD_CAP = 64
"""The longest record in bytes, from its `[` or `<` to its `>`."""

RECORD_TIMEOUT: Micros = 2_000 * MS
"""How long a record may take from its first byte to its `>`, in microseconds."""

_UNCLOSED = re.compile(rb"\[[^\[<>]*(?:<[^\[<>]*)?|<[^\[<>]*")
_MODE = rb"\[(?:game|gamealarm|manual burn cards)\]"
_RECORD = re.compile(
    _MODE + rb"<card:(?:(?P<rank>10|[2-9TJQKA])(?P<suit>[SHDC])|(?P<suit2>[SHDC])(?P<rank2>10|[2-9TJQKA]))>"
    rb"|" + _MODE + rb"<alarm:(?P<alarm>[^>]*)>"
    rb"|(?P<empty>(?:" + _MODE + rb")?<game>)"
    rb"|<(?P<warning>w0x[0-9a-f]+)>",
    re.IGNORECASE,
)
_CARD_NOT_READ = re.compile(rb"\bE3\b|card not read", re.IGNORECASE)


class BeeTekOptions(SerialOptions):
    """Options of the driver `bee-tek`."""


class BeeTekDecoder:
    """Cuts bytes into records and reads each; keeps less than 64 bytes."""

    def __init__(self) -> None:
        """Begins between records."""
        self._forget()

    def _forget(self) -> None:
        self.pending = b""
        self.deadline: Micros | None = None
        self._noisy = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes what arrived at `t`; a record that is overdue by then is ended first."""
        readings = self.tick(t)
        kept = len(self.pending)
        opened_at = self._cut(self.pending + chunk, readings)
        if not self.pending:
            self.deadline = None
        elif not kept or opened_at > 0:
            self.deadline = t + RECORD_TIMEOUT
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Ends a record that is still open 2 s after its first byte."""
        if self.deadline is None or t < self.deadline:
            return []
        overdue = BadFrame("partial", self.pending)
        self._forget()
        return [overdue]

    def finish(self, t: Micros) -> list[Reading]:
        """Drops an open record; only one already overdue is told."""
        readings = self.tick(t)
        self._forget()
        return readings

    def _cut(self, data: bytes, readings: list[Reading]) -> int:
        """Reads the records in `data` and keeps an open one; returns where in `data` that one opens."""
        done = 0
        while unclosed := _UNCLOSED.search(data, done):
            begin = unclosed.start()
            self._hear_noise(data[done:begin], readings)
            self._noisy = False
            done = min(unclosed.end(), begin + RECORD_CAP)
            full = done == begin + RECORD_CAP
            if not full and data[done : done + 1] == b">":
                done += 1
                readings.append(read_record(data[begin:done]))
            elif full or done < len(data):
                readings.append(BadFrame("partial", data[begin:done]))
            else:
                self.pending = data[begin:]
                return begin
        self._hear_noise(data[done:], readings)
        self.pending = b""
        return len(data)

    def _hear_noise(self, data: bytes, readings: list[Reading]) -> None:
        noise = data.lstrip(b" ")
        if noise and not self._noisy:
            readings.append(Notice("other", "bytes outside records", noise[:1]))
            self._noisy = True


@lru_cache(256)
def read_record(record: bytes) -> Reading:
    """What a whole record says; remembered, since the same few records come again and again.

    Args:
        record: the bytes from the `[` or `<` to the `>`.
    """
    parts = _RECORD.fullmatch(record)
    if parts is None:
        return BadFrame("unknown record", record)
    if parts["empty"]:
        return NoRead("empty read", record)
    if parts["warning"]:
        return Notice("warning", parts["warning"].decode("ascii"), record)
    if parts["alarm"] is not None:
        return _read_alarm(parts["alarm"], record)
    code = (parts["rank"] or parts["rank2"]) + (parts["suit"] or parts["suit2"])
    return CardRead(code.decode("ascii").upper().replace("10", "T"), None, record)


def _read_alarm(text: bytes, record: bytes) -> NoRead | Notice:
    detail = text.decode("latin-1").strip()
    return NoRead(detail, record) if _CARD_NOT_READ.search(text) else Notice("error", detail, record)


class BeeTekDriver(Driver[BeeTekOptions]):
    """Bee-Tek dealing shoes."""

    name: ClassVar[str] = "bee-tek"
    summary: ClassVar[str] = "Dealing shoe with micro-dot coded cards, RS-232 9600 8N1"
    Options: ClassVar[type[DriverOptions]] = BeeTekOptions

    def decoder(self, t: Micros) -> BeeTekDecoder:
        """A fresh decoder; when the shoe was opened makes no difference."""
        del t
        return BeeTekDecoder()

    def transport(self, url: str) -> Transport:
        """The serial line or TCP connection that `url` names.

        Raises:
            ValueError: `url` is neither.
        """
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyserial only where a port is opened

        return open_url(url, self.options)
