"""A small driver that stands the conformance kit, and one broken driver for each way to break it."""

from __future__ import annotations

import os
from threading import Event
from typing import ClassVar

from scannerd.contract import (
    BadFrame,
    CardRead,
    Decoder,
    Driver,
    DriverOptions,
    Micros,
    Outcome,
    Reading,
    Transport,
    TransportError,
)
from scannerd_drivers.transports.serial_port import SerialTransport

CAP = 16
TIMEOUT: Micros = 2_000_000


class Toy:
    """Two letters or digits and a CR are a card; anything else is told at its CR or after 2 s of silence."""

    def __init__(self) -> None:
        self.pending = b""
        self.deadline: Micros | None = None
        self.skipping = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes, one after the other."""
        readings = self.tick(t)
        for byte in chunk:
            readings += self.byte(byte)
        if chunk:
            self.deadline = t + TIMEOUT if self.pending or self.skipping else None
        return readings

    def byte(self, byte: int) -> list[Reading]:
        """Takes one byte."""
        if byte == ord("\r"):
            whole, self.pending, skipped, self.skipping = self.pending, b"", self.skipping, False
            return self.frame(whole) if whole and not skipped else []
        if not self.skipping:
            self.pending += bytes([byte])
        return self.overlong() if len(self.pending) > CAP else []

    def frame(self, whole: bytes) -> list[Reading]:
        """Reads a frame without its end."""
        if whole.isalnum():
            return [CardRead(whole.decode("ascii"), None, whole + b"\r")]
        return [BadFrame("undecodable", whole)]

    def overlong(self) -> list[Reading]:
        """Gives a frame up that is too long."""
        whole, self.pending, self.skipping = self.pending, b"", True
        return [BadFrame("overlong", whole)]

    def tick(self, t: Micros) -> list[Reading]:
        """Gives half a frame up after silence."""
        if self.deadline is None or t < self.deadline:
            return []
        half, self.pending, self.deadline, self.skipping = self.pending, b"", None, False
        return [BadFrame("partial", half)] if half else []

    def finish(self, t: Micros) -> list[Reading]:
        """Drops half a frame."""
        readings = self.tick(t)
        self.pending, self.deadline, self.skipping = b"", None, False
        return readings


class Swallows(Toy):
    """Drops what it can't read."""

    def frame(self, whole: bytes) -> list[Reading]:
        """Says nothing of a bad frame."""
        return super().frame(whole) if whole.isalnum() else []


class SwallowsHalves(Toy):
    """Drops half a frame at its time-out."""

    def tick(self, t: Micros) -> list[Reading]:
        """Says nothing of it."""
        super().tick(t)
        return []


class Raises(Toy):
    """Takes all bytes for ASCII."""

    def byte(self, byte: int) -> list[Reading]:
        """Falls over the first that is none."""
        bytes([byte]).decode("ascii")
        return super().byte(byte)


class Grows(Toy):
    """Keeps all that it was ever fed."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[bytes] = []

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Adds to its history."""
        self.history.append(chunk)
        return super().feed(chunk, t)


class NeverGivesUp(Toy):
    """Waits for the end of a frame, however long it becomes."""

    def overlong(self) -> list[Reading]:
        """No frame is too long."""
        return []


class TakesChunksForFrames(Toy):
    """Takes what one read gives for one frame."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Reads the chunk."""
        del t
        return self.frame(chunk.strip(b"\r")) if chunk.strip(b"\r") else []


class ReadsOnlyTheFirst(Toy):
    """Reads the first frame of a chunk."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Forgets the others."""
        return super().feed(chunk, t)[:1]


class WaitsForEver(Toy):
    """Has no time-out."""

    @property
    def deadline(self) -> None:
        """None, whatever is pending."""

    @deadline.setter
    def deadline(self, value: Micros | None) -> None:
        del value


class EndsFramesByTime(Toy):
    """Takes silence for the end of a frame."""

    def tick(self, t: Micros) -> list[Reading]:
        """Reads what there is."""
        if self.deadline is None or t < self.deadline:
            return []
        half, self.pending, self.deadline = self.pending, b"", None
        return self.frame(half) if half else []


class StaysAtItsDeadline(Toy):
    """Does not move on."""

    def tick(self, t: Micros) -> list[Reading]:
        """Does nothing."""
        del t
        return []


class ForgetsDeadlines(Toy):
    """Decides a time-out only if told of it."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Goes on with what is pending, however old it is."""
        self.deadline = None
        return super().feed(chunk, t)


class HidesHalves(Toy):
    """Does not show what is pending."""

    hidden = b""

    @property
    def pending(self) -> bytes:
        """What is looked at from outside is always empty."""
        return b""

    @pending.setter
    def pending(self, value: bytes) -> None:
        self.hidden = value

    def byte(self, byte: int) -> list[Reading]:
        """Keeps bytes where nobody sees them."""
        if byte == ord("\r"):
            whole, self.hidden = self.hidden, b""
            return self.frame(whole) if whole else []
        self.hidden = (self.hidden + bytes([byte]))[-CAP:]
        self.skipping = True
        return []

    def tick(self, t: Micros) -> list[Reading]:
        """Tells it in time."""
        if self.deadline is None or t < self.deadline:
            return []
        half, self.hidden, self.deadline, self.skipping = self.hidden, b"", None, False
        return [BadFrame("partial", half)]


class SharesItsBuffer(Toy):
    """Keeps what is pending in its class."""

    buffer: ClassVar[list[bytes]] = [b""]

    @property
    def pending(self) -> bytes:
        """What any decoder has pending."""
        return self.buffer[0]

    @pending.setter
    def pending(self, value: bytes) -> None:
        if value or self.__dict__.get("skipping") is not None:
            self.buffer[0] = value


class GoesDeaf(Toy):
    """Reads nothing any more after a bad frame."""

    deaf = False

    def frame(self, whole: bytes) -> list[Reading]:
        """Remembers a bad frame for ever."""
        self.deaf = self.deaf or not whole.isalnum()
        return [BadFrame("deaf", whole)] if self.deaf else super().frame(whole)


class InventsAtTheEnd(Toy):
    """Takes what is pending when the device is lost for a card."""

    def finish(self, t: Micros) -> list[Reading]:
        """Reads half a frame."""
        half = self.pending
        return [*super().finish(t), *([CardRead(half.hex())] if half else [])]


class GivesNoBytes(Toy):
    """Does not say what a card was read from."""

    def frame(self, whole: bytes) -> list[Reading]:
        """Leaves `raw` out."""
        return [CardRead(whole.decode("latin-1"))]


class ToyOptions(DriverOptions):
    """A toy has no options."""


class ToyDriver(Driver[ToyOptions]):
    """A driver of the toy on a serial port."""

    name = "toy"
    summary = "two letters and a CR"
    Options = ToyOptions
    decoder_class: ClassVar[type[Toy]] = Toy
    transport_class: ClassVar[type[SerialTransport]] = SerialTransport

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder."""
        del t
        return self.decoder_class()

    def transport(self, url: str) -> Transport:
        """The serial port at a path."""
        return self.transport_class(url)


class Chatty(ToyDriver):
    """Beeps though nobody asked for it."""

    def feedback(self, outcome: Outcome) -> bytes:
        """A bell."""
        del outcome
        return b"\a"


class UnexplainedOptions(DriverOptions):
    """An option that nobody explains."""

    speed: int = 1


class Unexplained(ToyDriver):
    """A driver with such an option."""

    Options = UnexplainedOptions  # type: ignore[assignment] # the driver makes no use of it


# --- transports -------------------------------------------------------------------------------------------------


class Leaks(SerialTransport):
    """Leaves a descriptor open at each close."""

    def close(self) -> None:
        """Opens one more."""
        os.dup(0)
        super().close()


class HidesLoss(SerialTransport):
    """Takes a lost device for a silent one."""

    def read(self, timeout: float) -> bytes:
        """Gives nothing when the device is gone."""
        try:
            return super().read(timeout)
        except TransportError:
            return b""


class RaisesWhatComes(SerialTransport):
    """Lets errors of the system through."""

    def read(self, timeout: float) -> bytes:
        """Raises an error that the reader does not know."""
        try:
            return super().read(timeout)
        except TransportError as error:
            raise OSError(5, "EIO") from error


class NeverComesBack(SerialTransport):
    """Waits for bytes however short its time is."""

    released: ClassVar[Event] = Event()

    def read(self, timeout: float) -> bytes:
        """Waits until the test is over."""
        del timeout
        self.released.wait()
        return b""


class ChangesBytes(SerialTransport):
    """Leaves the line as the system had it, which turns CR into LF."""

    def _make_raw(self, fd: int) -> None:
        """Does nothing."""
