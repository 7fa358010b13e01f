"""An example to copy: a driver for a reader that sends `<AS>` for the ace of spades and `<?>` for a card it can't read.

A driver is an options class, a decoder without any I/O, and a class that joins them with a transport.
"""

from scannerd.contract import MS, BadFrame, CardRead, Driver, DriverOptions, Micros, NoRead, Notice, Reading, Transport
from scannerd_drivers.transports import SerialSettings, open_url  # serial lines and TCP; or write a Transport


class ExampleOptions(DriverOptions):
    """The driver's own keys in its [[scanner]] stanza; each docstring is what `scannerd drivers` shows."""

    baudrate: int = 9600
    """Speed of the serial line in bits per second."""
    frame_timeout_ms: int = 500
    """Silence inside a frame, in ms, after which it is refused as `partial`."""


class ExampleDecoder:
    """Bytes to readings, one byte at a time, so that it makes no difference how the transport cuts them."""

    def __init__(self, timeout: Micros) -> None:
        self.timeout = timeout
        self.pending = b""  # the frame begun; shown when the device is lost in the middle of it
        self.deadline: Micros | None = None  # when `tick` is to be called
        self.noisy = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes, split anywhere; a deadline that has passed is decided before them."""
        readings = self.tick(t)
        for byte in chunk:
            readings += self._byte(bytes([byte]))
        self.deadline = t + self.timeout if self.pending else None
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Decides a deadline at or before `t`."""
        return self._broken("partial", b"") if self.deadline is not None and t >= self.deadline else []

    def finish(self, t: Micros) -> list[Reading]:
        """The device is lost: drops half a frame without a word, for the reader tells what was pending."""
        readings = self.tick(t)
        self.pending, self.deadline = b"", None
        return readings

    def _byte(self, byte: bytes) -> list[Reading]:
        if byte == b"<":
            return self._broken("partial", byte) if self.pending else self._broken("", byte)
        if not self.pending:  # nothing is lost without a word, but a run of noise is told once, and line ends are none
            told, self.noisy = self.noisy, byte not in b"\r\n"
            return [] if told or not self.noisy else [Notice("other", f"outside a frame: {byte.hex()}", byte)]
        self.pending += byte
        if byte == b">":
            frame, self.pending = self.pending, b""
            return [NoRead("no-read", frame) if frame == b"<?>" else CardRead(frame[1:-1].decode("latin-1"), raw=frame)]
        return self._broken("overlong", b"") if len(self.pending) > 8 else []

    def _broken(self, detail: str, begins: bytes) -> list[Reading]:
        broken, self.pending, self.deadline = self.pending, begins, None
        return [BadFrame(detail, broken)] if detail else []


class ExampleDriver(Driver[ExampleOptions]):
    """Joins options, decoder and transport; `name` is that of the entry point in pyproject.toml."""

    name = "example"
    summary = "an example to copy"
    Options = ExampleOptions

    def decoder(self, t: Micros) -> ExampleDecoder:
        """A fresh decoder for a device that was opened at `t`."""
        del t  # it makes no difference here
        return ExampleDecoder(self.options.frame_timeout_ms * MS)

    def transport(self, url: str) -> Transport:
        """Where the bytes come from; a ValueError for a URL that it can't be."""
        return open_url(url, SerialSettings(self.options.baudrate))
