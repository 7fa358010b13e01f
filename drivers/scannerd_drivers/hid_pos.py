"""`hid-pos`: bar code scanners of HID usage page 8C, which send reports instead of typing.

The report that scanners of this kind share, 64 bytes: report id, length, three bytes AIM identifier, 56 data bytes
padded with zeros, two bytes that makers use as they like, and 1 where the code goes on in the next report, else 0.
The length counts the data bytes of its own report.

A code that breaks off takes what follows shortly after with it: the rest of a code must not pass for a code. So does
a malformed report that says that more follows. Parts of one code have one AIM identifier, or none in the later ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from scannerd.contract import MS, BadFrame, CardRead, Driver, DriverOptions, Micros, Notice, Reading, Transport
from scannerd_drivers.options import TimeoutMilliseconds
from scannerd_drivers.transports.settings import UsbSettings

if TYPE_CHECKING:
    from typing import Self

REPORT_SIZE = 64
"""Bytes of a report, report id and flag included."""

CODE_CAP = 256
"""At most so many characters of a code in parts are kept."""

_HID_CLASS = 3  # USB interface class
_DATA_SIZE = 56
_DATA_AT = 5
_NO_AIM = bytes(3)
_ANSWERS = (b"]X0", b"]Z6")  # AIM identifiers that mark an answer to a command


class HidPosOptions(DriverOptions):
    """Options of `hid-pos`."""

    report_id: int = Field(default=2, ge=0, le=255)
    """The id of the reports that hold codes, 0 to 255; others are only logged."""

    strip_aim: bool = True
    """Whether the AIM identifier (`]C1`) is left out of the code."""

    continue_timeout_ms: TimeoutMilliseconds = 500
    """How long the next part of a code may take, in ms."""


@dataclass(frozen=True, slots=True)
class _Report:
    raw: bytes
    length: int
    aim: bytes
    data: bytes
    flag: int

    @classmethod
    def of(cls, raw: bytes) -> Self:
        length = raw[1]
        return cls(raw, length, raw[2:_DATA_AT], raw[_DATA_AT : _DATA_AT + length], raw[-1])

    @property
    def is_sound(self) -> bool:
        """Whether length and flag are possible; an empty code is none."""
        return 0 < self.length <= _DATA_SIZE and self.flag <= 1


class HidPosDecoder:
    """Reports to readings, one report a chunk."""

    def __init__(self, options: HidPosOptions) -> None:
        self._options = options
        self._timeout = options.continue_timeout_ms * MS
        self._parts: list[_Report] = []
        self._continue_by: Micros = 0
        self._drop_until: Micros | None = None

    @property
    def pending(self) -> bytes:
        """The reports of the unfinished code."""
        return b"".join(part.raw for part in self._parts)

    @property
    def deadline(self) -> Micros | None:
        """When the next part of a code is missing."""
        return self._continue_by if self._parts else None

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes one report; see `Decoder`."""
        readings = self.tick(t)
        if len(chunk) != REPORT_SIZE:
            return readings + self._no_report(chunk, t)
        if chunk[0] != self._options.report_id:
            return [*readings, Notice("other", f"report {chunk[0]:02X}", chunk)]
        report = _Report.of(chunk)
        if report.aim in _ANSWERS:
            return [*readings, Notice("answer", report.data[:_DATA_SIZE].decode("latin-1"), chunk)]
        return readings + self._report(report, t)

    def tick(self, t: Micros) -> list[Reading]:
        """Decides a missing part, and ends the dropping after it; see `Decoder`."""
        readings: list[Reading] = []
        if self._parts and self._continue_by <= t:
            readings = [self._give_up("partial", self._continue_by)]
        if self._drop_until is not None and self._drop_until <= t:
            self._drop_until = None
        return readings

    def finish(self, t: Micros) -> list[Reading]:
        """Drops the half code; see `Decoder`."""
        readings = self.tick(t)
        self._parts = []
        return readings

    def _give_up(self, detail: str, t: Micros) -> Reading:
        """Refuses the code in hand and starts to drop what follows it."""
        raw = self.pending
        self._parts = []
        self._drop_until = t + self._timeout
        return BadFrame(detail, raw)

    def _no_report(self, chunk: bytes, t: Micros) -> list[Reading]:
        """A chunk of another size; inside a code it may have been a part of it, so the code is given up."""
        if not chunk:
            return []
        if self._parts:
            self._give_up("report", t)
        return [BadFrame("report", chunk)]

    def _report(self, report: _Report, t: Micros) -> list[Reading]:
        if self._drop_until is not None:
            self._drop_until = t + self._timeout
            return [Notice("other", "dropped with a broken code", report.raw)]
        fault = self._fault(report)
        self._parts.append(report)
        if fault is not None:
            return [self._refuse(fault, report, t)]
        if report.flag:
            self._continue_by = t + self._timeout
            return []
        return [self._code()]

    def _fault(self, report: _Report) -> str | None:
        if not report.is_sound:
            return "malformed"
        if self._parts and report.aim not in (self._parts[0].aim, _NO_AIM):
            return "malformed with two symbologies"
        length = sum(part.length for part in self._parts) + report.length
        return "overlong" if length > CODE_CAP else None

    def _refuse(self, fault: str, report: _Report, t: Micros) -> Reading:
        """Refuses the code; where a part may follow, that is dropped too."""
        bad_frame = self._give_up(fault, t)
        if report.flag == 0:
            self._drop_until = None
        return bad_frame

    def _code(self) -> Reading:
        data = b"".join(part.data for part in self._parts)
        aim = b"" if self._options.strip_aim else self._parts[0].aim.rstrip(b"\0")
        raw = self.pending
        self._parts = []
        return CardRead((aim + data).decode("latin-1"), raw=raw)


class HidPosDriver(Driver[HidPosOptions]):
    """HID bar code scanners, usage page 8C."""

    name = "hid-pos"
    summary = "HID POS bar code scanners (usage page 8C)"
    Options = HidPosOptions
    reports = True

    def decoder(self, t: Micros) -> HidPosDecoder:
        """A fresh decoder."""
        del t
        return HidPosDecoder(self.options)

    def transport(self, url: str) -> Transport:
        """The interrupt endpoint of `usb:VID:PID[:serial]`, or a hidraw node.

        Raises:
            ValueError: `url` is neither: nothing else delivers whole reports.
        """
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyusb is loaded when it is needed

        if not url.startswith(("/", "usb:")):
            raise ValueError(f"hid-pos reads usb:VID:PID[:serial] or the path of a hidraw node, not {url!r}")
        if url.startswith("usb:"):
            return open_url(url, usb=UsbSettings(interface_class=_HID_CLASS))
        return open_url(url, node="hidraw")
