"""`line`: scanners that send a code as text, on a serial line or over TCP.

Framing and meaning are apart: this module cuts bytes into frames, `line_checks` judges each. The rules of framing:

* A frame ends at `end`; with `start` it also begins at that byte, and what lies between frames is noise.
* Time never ends a frame well: silence of `frame_timeout_ms` inside one is `partial`, so that its tail can't be glued
  to the next code.
* With `end = "any"` the first CR or LF ends the frame; those that follow are empty frames, and those are nothing.

Set one of `start`, `length`, `pattern` or `checksum` where the scanner allows it: a megabyte of line noise holds a
valid two-character card about one time in four when only a line end guards it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from scannerd.contract import MS, BadFrame, Driver, DriverOptions, Micros, Outcome, Reading
from scannerd_drivers.line_checks import FrameChecker, FrameOptions
from scannerd_drivers.options import (
    BytesAsText,
    FeedbackOptions,
    Milliseconds,
    SerialOptions,
    TimeoutMilliseconds,
)

if TYPE_CHECKING:
    from scannerd.contract import Transport

_LINE_ENDS = ("\r", "\n", "\r\n", "any")
_IGNORED_BETWEEN_FRAMES = b"\r\n\x00 "


class LineFraming(FrameOptions):
    """How frames of text are cut out of a stream of bytes, and what they must look like."""

    start: BytesAsText = Field(default="", max_length=1)
    """The byte that begins a frame, such as STX `"\\u0002"`; empty where frames only have an end."""

    end: BytesAsText = Field(default="any", validate_default=True)
    """What ends a frame: `"\\r"`, `"\\n"`, `"\\r\\n"`, or `"any"` for CR and LF in any mixture; with `start` also any
    one byte, such as ETX `"\\u0003"`."""

    max_length: int = Field(default=64, ge=1, le=4096, validate_default=True)
    """The longest frame in bytes, its delimiters aside; what is longer is refused once and skipped."""

    frame_timeout_ms: TimeoutMilliseconds = 2000
    """Silence inside a frame, in ms, after which the frame is refused as `partial`."""

    settle_ms: Milliseconds = 0
    """How long input is ignored after each open, in ms: for readers that restart or chatter when the port opens."""

    @field_validator("end")
    @classmethod
    def _end_can_be_told_from_start(cls, end: str, info: ValidationInfo) -> str:
        start: str = info.data.get("start", "")
        if end not in _LINE_ENDS and not (start and len(end) == 1):
            message = f'{end!r} is none of "\\r", "\\n", "\\r\\n", "any"; any other one byte needs a start byte too'
            raise ValueError(message)
        if start and start in _end_bytes(end):
            message = f"{end!r} must differ from start = {start!r}"
            raise ValueError(message)
        return end

    @field_validator("max_length")
    @classmethod
    def _length_fits(cls, max_length: int, info: ValidationInfo) -> int:
        length: int | None = info.data.get("length")
        if length is not None and length > max_length:
            message = f"length = {length} can't be reached with max_length = {max_length}"
            raise ValueError(message)
        return max_length


class LineOptions(SerialOptions, FeedbackOptions, LineFraming):
    """Options of the driver `line`."""


class LineDecoder:
    """Cuts bytes into frames of text and reads each; keeps at most `max_length` bytes and the delimiters."""

    def __init__(self, options: LineFraming, opened_at: Micros) -> None:
        """Takes the framing, and when the device was opened: what comes within `settle_ms` of it is ignored."""
        self._check = FrameChecker(options).check
        self._start = options.start.encode("latin-1")
        self._marks = re.compile(_end_expression(options.end) + (b"|" + re.escape(self._start) if self._start else b""))
        self._half_end = b"\r" if options.end == "\r\n" else b""
        self._max_length = options.max_length
        self._timeout = options.frame_timeout_ms * MS
        self._settled_at = opened_at + options.settle_ms * MS
        self._forget()

    def _forget(self) -> None:
        """Begins afresh: between frames, and without a start byte that is already inside the next one."""
        self._rest = b""
        self._inside = not self._start
        self._skipping = False
        self._noisy = False
        self.deadline: Micros | None = None

    @property
    def pending(self) -> bytes:
        """The unfinished frame with its start byte; `max_length` bytes of it at most, and half of an end."""
        return b"" if self._skipping or not self._inside else self._start + self._rest

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes what arrived at `t`; silence that ended before it is decided first."""
        readings = self.tick(t)
        if not chunk or t < self._settled_at:
            return readings
        self._cut(self._rest + chunk, readings)
        waiting = self._rest or self._skipping or self._noisy or (self._start and self._inside)
        self.deadline = t + self._timeout if waiting else None
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Ends an unfinished frame, a skipped one or a run of noise when its silence has lasted."""
        if self.deadline is None or t < self.deadline:
            return []
        dropped = self.pending
        self._forget()
        return [BadFrame("partial", dropped)] if dropped else []

    def finish(self, t: Micros) -> list[Reading]:
        """Drops an unfinished frame; only a deadline already past is told."""
        readings = self.tick(t)
        self._forget()
        return readings

    def _cut(self, data: bytes, readings: list[Reading]) -> None:
        """Goes from mark to mark, a mark being an end or a start byte, and keeps what follows the last one."""
        done = 0
        for mark in self._marks.finditer(data):
            delimiter = mark[0]
            if self._inside:
                self._close(data[done : mark.start()], delimiter, readings)
            else:
                self._hear_noise(data[done : mark.end()].removesuffix(self._start), readings)
            self._inside = delimiter == self._start or not self._start
            self._skipping = False
            self._noisy = self._noisy and delimiter != self._start
            done = mark.end()
        self._keep(data[done:], readings)

    def _close(self, content: bytes, delimiter: bytes, readings: list[Reading]) -> None:
        """A frame's end, or a start byte inside it, has come."""
        if self._skipping:
            return
        if len(content) > self._max_length:
            readings.append(self._overlong(content))
        elif delimiter == self._start:
            readings.append(BadFrame("partial", self._start + content))
        elif content:
            readings.append(self._check(content, self._start + content + delimiter))

    def _keep(self, tail: bytes, readings: list[Reading]) -> None:
        """Keeps the beginning of a frame; of a frame too long, only the half of an end that its last byte may be."""
        if not self._inside:
            self._hear_noise(tail, readings)
            tail = b""
        elif self._skipping or len(tail.removesuffix(self._half_end)) > self._max_length:
            if not self._skipping:
                readings.append(self._overlong(tail))
            self._skipping = True
            tail = tail[-1:] if self._half_end and tail.endswith(self._half_end) else b""
        self._rest = tail

    def _overlong(self, content: bytes) -> BadFrame:
        return BadFrame("overlong", self._start + content[: self._max_length])

    def _hear_noise(self, data: bytes, readings: list[Reading]) -> None:
        """Tells a run of bytes between frames once, at its first byte: how long it will be nobody knows yet."""
        noise = data.lstrip(_IGNORED_BETWEEN_FRAMES)
        if noise and not self._noisy:
            readings.append(BadFrame("garbage", noise[:1]))
            self._noisy = True


class LineDriver(Driver[LineOptions]):
    """Bar code scanners and other readers that send a code and a line end."""

    name: ClassVar[str] = "line"
    summary: ClassVar[str] = "Text scanners on a serial line or TCP: one code a line, or between start and end bytes"
    Options: ClassVar[type[DriverOptions]] = LineOptions

    def decoder(self, t: Micros) -> LineDecoder:
        """A fresh decoder for a scanner that was opened at `t`."""
        return LineDecoder(self.options, t)

    def transport(self, url: str) -> Transport:
        """The serial line or TCP connection that `url` names.

        Raises:
            ValueError: `url` is neither.
        """
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyserial only where a port is opened

        return open_url(url, self.options)

    def feedback(self, outcome: Outcome) -> bytes:
        """The bytes configured for the outcome."""
        return self.options.feedback(outcome)


def _end_bytes(end: str) -> str:
    return "\r\n" if end == "any" else end


def _end_expression(end: str) -> bytes:
    return b"[\r\n]" if end == "any" else re.escape(end.encode("latin-1"))
