"""`replay`: the bytes of a recorded scanner, through the driver that the recording names, into a live table.

The recording is `file`, or `url` where no `file` is given. A relative `file` is looked for beside what `url` names,
which the configuration makes a path in its own folder. The codebook is not taken from the recording: a stanza says
itself what codes mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from pydantic import Field

from scannerd.contract import Decoder, Driver, DriverOptions, Micros, Reading, TransportError
from scannerd.scanlog import Chunk, Entry, Header, Link, ScanlogError, reading
from scannerd_drivers import installed
from scannerd_drivers.pacing import SECOND, Pace, PacedTransport, RealPace

_NOT_OPTIONS = ("name", "driver", "url", "codes", "hand")


class ReplayOptions(DriverOptions):
    """Options of `replay`."""

    file: str | None = Field(default=None, min_length=1)
    """The recording; left out where `url` names it. A relative path begins beside what `url` names."""

    scanner: str | None = None
    """Which of the recording's scanners; left out where it has only one."""

    speed: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How fast: 2 is twice as fast as it was recorded, 0 as fast as it goes."""

    loop: bool = False
    """Whether it begins again after its end; else the scanner is idle from then on."""

    max_gap_s: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    """Longer pauses, in seconds, are cut to this: a clock that jumped while recording must not silence the table."""


class ReplayDriver(Driver[ReplayOptions]):
    """A recorded scanner."""

    name = "replay"
    summary = "the bytes of a recording, through the driver that it names"
    Options = ReplayOptions
    reports = True  # what it delivers may be reports, so nothing is split

    _recorded: Driver[DriverOptions] | None = None

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder of the recorded scanner's driver."""
        return _LateDecoder(self, t)

    def transport(self, url: str, pace: Pace | None = None) -> PacedTransport:
        """The recording; the driver that it names is found here.

        Raises:
            ValueError: it can't be read, has no such scanner, or names a driver that can't be used.
        """
        path = self._path(url)
        try:
            scanner, self._recorded = self._find(path)
        except ScanlogError as error:
            raise ValueError(str(error)) from None
        return PacedTransport(self._entries(path, scanner), pace or RealPace())

    def recorded(self) -> Driver[DriverOptions]:
        """The driver of the recorded scanner.

        Raises:
            ScanlogError: no file is named, or it can't be used.
        """
        if self._recorded is not None:
            return self._recorded
        if self.options.file is None:
            raise ScanlogError("driver replay: the recording that it replayed is not named, so nothing reads its bytes")
        _, self._recorded = self._find(Path(self.options.file))
        return self._recorded

    def _path(self, url: str) -> Path:
        named = Path(url)
        return named if self.options.file is None else named.parent / self.options.file

    def _find(self, path: Path) -> tuple[str, Driver[DriverOptions]]:
        """The name of the scanner that is to be replayed, and its driver."""
        with reading(path, _ignore) as reader:
            name = self._scanner(path, reader.header)
            keys = reader.header.scanners[name]
        if keys.get("driver") == self.name:
            raise ScanlogError(f"{path}:1: scanner {name} was itself replayed; replay the recording that it came from")
        options = {key: value for key, value in keys.items() if key not in _NOT_OPTIONS}
        try:
            return name, installed.driver(str(keys.get("driver")), options)
        except ValueError as unusable:
            raise ScanlogError(f"{path}:1: scanner {name}: {unusable}") from None

    def _scanner(self, path: Path, header: Header) -> str:
        wanted, names = self.options.scanner, list(header.scanners)
        if wanted in names:
            return str(wanted)
        if wanted is None and len(names) == 1:
            return names[0]
        raise ScanlogError(f"{path}:1: `scanner` must be one of {', '.join(names) or 'none'}, not {wanted}")

    def _entries(self, path: Path, scanner: str) -> Iterator[Entry]:
        """The scanner's entries with the times at which they are due; from the start again in a loop."""
        due, down, told = 0, False, True
        while told:
            if down:  # a recording begins with the scanner up
                yield Link(due, scanner, up=True)
            t, down, told = 0, False, False
            for entry in _read(path):
                due += self._pause(entry.t - t)
                t = entry.t
                if isinstance(entry, Chunk | Link) and entry.scanner == scanner:
                    down = isinstance(entry, Link) and not entry.up
                    told = self.options.loop
                    yield replace(entry, t=due)

    def _pause(self, recorded: Micros) -> Micros:
        speed = self.options.speed
        return round(min(recorded, self.options.max_gap_s * SECOND) / speed) if speed else 0


class _LateDecoder:
    """A decoder that is made at its first use, since a reader asks for one before the transport is there."""

    def __init__(self, driver: ReplayDriver, t: Micros) -> None:
        self._driver, self._opened_at = driver, t

    @cached_property
    def _decoder(self) -> Decoder:
        return self._driver.recorded().decoder(self._opened_at)

    @property
    def deadline(self) -> Micros | None:
        """See `Decoder`."""
        return self._decoder.deadline

    @property
    def pending(self) -> bytes:
        """See `Decoder`."""
        return self._decoder.pending

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Decoder`."""
        return self._decoder.feed(chunk, t)

    def tick(self, t: Micros) -> list[Reading]:
        """See `Decoder`."""
        return self._decoder.tick(t)

    def finish(self, t: Micros) -> list[Reading]:
        """See `Decoder`."""
        return self._decoder.finish(t)


def _read(path: Path) -> Iterator[Entry]:
    try:
        with reading(path, _ignore) as reader:
            yield from reader
    except ScanlogError as error:
        raise TransportError(str(error), remedy="mend the recording, or take another", fatal=True) from None


def _ignore(text: str) -> None:
    del text
