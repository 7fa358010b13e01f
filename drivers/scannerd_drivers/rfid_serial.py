"""`rfid-serial`: 125 kHz readers with a serial output, ID-12/ID-20 and RDM6300.

A frame is `02`, ten hex digits (version 2, tag 8), two hex digits that are the XOR of the five bytes, `03`: 14 bytes;
the ID-12 and ID-20 put CR LF before the `03`: 16 bytes. The code is the ten digits as sent, leading zeros kept: tags
that differ in one digit are different cards, and no part of a code is ever matched.

A tag that lies on the reader is reported again and again, and is one read until it was absent for a while.
"""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import Literal

from scannerd.contract import MS, BadFrame, CardRead, Driver, Micros, Notice, Reading, Transport
from scannerd_drivers.options import Milliseconds, SerialOptions, TimeoutMilliseconds

CAP = 16
"""The longest frame in bytes."""

TAGS = 1024
"""At most so many tags are remembered; the line's speed allows some 50 within `absent_ms`."""

_STX, _ETX = 0x02, 0x03
_RDM, _ID = 14, 16  # lengths of a frame in bytes
_HEX = frozenset(b"0123456789ABCDEFabcdef")


class RfidSerialOptions(SerialOptions):
    """Options of `rfid-serial`."""

    absent_ms: Milliseconds = 750
    """How long a tag must be away, in ms, before it counts as put down again; every report begins the time anew."""

    frame_timeout_ms: TimeoutMilliseconds = 500
    """Silence inside a frame, in ms, that makes it a `partial`."""

    byte_order: Literal["sent", "reversed"] = "sent"
    """`reversed` turns the five bytes round, so that readers that send them in different order give one code."""


class RfidSerialDecoder:
    """Frames of a tag reader to readings."""

    def __init__(self, options: RfidSerialOptions) -> None:
        self._options = options
        self._timeout = options.frame_timeout_ms * MS
        self._absent = options.absent_ms * MS
        self._frame = bytearray()
        self._heard_at: Micros = 0
        self._noise_told = False
        self._seen: dict[str, Micros] = {}  # tag -> when it was last reported, the oldest first

    @property
    def pending(self) -> bytes:
        """The unfinished frame."""
        return bytes(self._frame)

    @property
    def deadline(self) -> Micros | None:
        """The end of the silence inside a frame."""
        return self._heard_at + self._timeout if self._frame else None

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes; see `Decoder`."""
        readings = self.tick(t)
        if t - self._heard_at >= self._timeout:
            self._noise_told = False
        for byte in chunk:
            readings += self._byte(byte, t)
            self._heard_at = t
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Decides the silence inside a frame; see `Decoder`."""
        if self.deadline is None or t < self.deadline:
            return []
        return [BadFrame("partial", self._take())]

    def finish(self, t: Micros) -> list[Reading]:
        """Drops the half frame; see `Decoder`."""
        readings = self.tick(t)
        self._take()
        return readings

    def _take(self) -> bytes:
        frame = bytes(self._frame)
        self._frame.clear()
        return frame

    def _byte(self, byte: int, t: Micros) -> list[Reading]:
        if byte == _STX:
            self._noise_told = False
            half = self._take()
            self._frame.append(byte)
            return [BadFrame("partial", half)] if half else []
        if not self._frame:
            return self._noise(byte)
        self._frame.append(byte)
        if byte == _ETX:
            return self._complete(self._take(), t)
        if len(self._frame) < CAP:
            return []
        self._noise_told = True  # the rest is dropped up to the next 02 or silence
        return [BadFrame("overlong", self._take())]

    def _noise(self, byte: int) -> list[Reading]:
        """Tells bytes that belong to no frame once a run, at the first."""
        told, self._noise_told = self._noise_told, True
        return [] if told else [Notice("other", f"outside a frame: {byte:02X}", bytes([byte]))]

    def _complete(self, frame: bytes, t: Micros) -> list[Reading]:
        digits = frame[1:13]
        has_length = len(frame) == _RDM or (len(frame) == _ID and frame[13:15] == b"\r\n")
        if not has_length or not _HEX.issuperset(digits):
            return [BadFrame("malformed", frame)]
        *tag, check = bytes.fromhex(digits.decode())
        if reduce(xor, tag) != check:
            return [BadFrame("checksum", frame)]
        code = bytes(tag[::-1] if self._options.byte_order == "reversed" else tag).hex().upper()
        return [CardRead(code, raw=frame)] if self._is_new(code, t) else []

    def _is_new(self, code: str, t: Micros) -> bool:
        before = self._seen.pop(code, None)
        self._seen[code] = t
        if len(self._seen) > TAGS:
            del self._seen[next(iter(self._seen))]
        return before is None or t - before >= self._absent


class RfidSerialDriver(Driver[RfidSerialOptions]):
    """ID-12, ID-20 and RDM6300 tag readers; their codebook is the deck's own file."""

    name = "rfid-serial"
    summary = "125 kHz tag readers ID-12, ID-20 and RDM6300 on a serial line"
    Options = RfidSerialOptions
    codes = None

    def decoder(self, t: Micros) -> RfidSerialDecoder:
        """A fresh decoder."""
        del t
        return RfidSerialDecoder(self.options)

    def transport(self, url: str) -> Transport:
        """A serial line or a TCP connection; see `Driver`."""
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyserial is loaded when it is needed

        return open_url(url, self.options)
