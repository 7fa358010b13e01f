"""What a driver's author imports: readings, decoders, transports and the driver that joins them.

A driver is three things that know nothing of each other:

* a **transport** says where the bytes come from (a serial port, a socket, a USB endpoint),
* a **decoder** says what they mean; it is pure: it knows no clock, file or thread,
* the **driver** holds the options and makes the other two.

Times are whole microseconds on one monotonic clock (`Micros`). The shell hands them in, so that a recording
replays exactly. Nothing in this module does I/O.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

Micros: TypeAlias = int
"""A monotonic time or a duration in whole microseconds."""

MS = 1_000
"""Microseconds in a millisecond: options are in ms, times in microseconds."""

NoticeKind: TypeAlias = Literal[
    "cut_card",
    "error",
    "error_cleared",
    "warning",
    "lock",
    "start",
    "result",
    "heartbeat",
    "answer",
    "other",
]

Outcome: TypeAlias = Literal["accepted", "rejected", "prompt"]
"""What a scanner may be told of: a card accepted, a read rejected, a new prompt."""


# --- readings: what a decoder makes of bytes ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CardRead:
    """A code was read. The codebook, not the decoder, says which card it is.

    Attributes:
        code: the code, as the device spells it.
        hand: `A` or `B` where the device tells hands apart, else None.
        raw: the frame with its delimiters.
    """

    code: str
    hand: str | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class NoRead:
    """The device says that it could not read the card."""

    detail: str
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Bytes that ought to have been a frame and were none.

    `detail` begins with the decoder's word: `partial`, `overlong`, `checksum`, `undecodable`, `malformed` and so on.
    The word `lost` is special: the device is content and the dealer will deal on, but the card did not reach us.
    """

    detail: str
    raw: bytes = b""

    @property
    def lost(self) -> bool:
        """Whether the dealer must be stopped because the device will not ask for the card again."""
        return self.detail.partition(" ")[0] == "lost"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the device says that is no card: it never fills a slot."""

    kind: NoticeKind
    detail: str = ""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes that the device waits for.

    Attributes:
        data: what to write to the device.
        settled: False: at once. True: when the readings before it are in the journal.
        within: how long after the bytes came it still makes sense to write, in microseconds; later it is left out.
    """

    data: bytes
    settled: bool = False
    within: Micros | None = None


Reading: TypeAlias = CardRead | NoRead | BadFrame | Notice | Reply


# --- decoders -------------------------------------------------------------------------------------------------


class Decoder(Protocol):
    """Bytes to readings. Takes any bytes, split anywhere, without raising, and keeps at most its cap.

    A report decoder (`Driver.reports`) gets exactly one report a chunk.
    """

    @property
    def deadline(self) -> Micros | None:
        """When `tick` must be called, at the latest; None while nothing is pending."""

    @property
    def pending(self) -> bytes:
        """The unfinished frame, empty between frames: what a loss of the device would drop."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes what arrived at `t`; a deadline at or before `t` is decided first."""

    def tick(self, t: Micros) -> list[Reading]:
        """Decides a deadline at or before `t`; nothing otherwise."""

    def finish(self, t: Micros) -> list[Reading]:
        """The device is lost: what must be told all the same. A half frame is dropped and is not told."""


# --- transports -----------------------------------------------------------------------------------------------


class TransportError(Exception):
    """A device can't be opened, or is lost. The reader reports it, backs off and tries again.

    Attributes:
        remedy: what a person can do about it, or an empty string.
        fatal: trying again can't help before the configuration or the machine is changed (a library is missing).
    """

    def __init__(self, detail: str, *, remedy: str = "", fatal: bool = False) -> None:
        """`detail` goes to `scanner_down` and the log."""
        super().__init__(detail)
        self.remedy = remedy
        self.fatal = fatal


class Transport(ABC):
    """Where bytes come from. One thread opens, reads, writes and closes it; it may be opened again after a close."""

    @abstractmethod
    def open(self) -> None:
        """Opens the device, resolving its path afresh, and throws away what the system had queued.

        Bounded: at most 5 s.

        Raises:
            TransportError: the device is absent, busy, forbidden or not the one that was there before.
        """

    @abstractmethod
    def read(self, timeout: float) -> bytes:
        """Returns what has come, at most one unit (one report of a report driver); empty after `timeout` seconds.

        Raises:
            TransportError: the device is gone.
        """

    def write(self, data: bytes) -> None:
        """Writes to the device without waiting long (at most 0.5 s).

        Raises:
            TransportError: the device is gone or can't be written to.
        """
        raise TransportError("this device can't be written to")

    @abstractmethod
    def close(self) -> None:
        """Closes the device. Never raises, may be called twice."""


# --- drivers --------------------------------------------------------------------------------------------------


class DriverOptions(BaseModel):
    """A driver's own keys in its `[[scanner]]` stanza. Unknown keys are refused, each field's description is shown."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


OptionsT = TypeVar("OptionsT", bound=DriverOptions)


class Driver(ABC, Generic[OptionsT]):
    """One kind of scanner; found by its name in the entry-point group `scannerd.drivers`.

    Attributes:
        name: the name in the configuration; that of its entry point.
        summary: one line for `scannerd drivers`.
        Options: the driver's own keys.
        codes: the codebook taken where the configuration names none; None: one must be named.
        reports: the transport delivers whole reports, one a read; they are never split or joined.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[DriverOptions]]
    codes: ClassVar[str | None] = "rank-suit"
    reports: ClassVar[bool] = False

    def __init__(self, options: OptionsT) -> None:
        """Takes validated options; touches no device."""
        self.options = options

    @abstractmethod
    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder for a device that was opened at `t`."""

    @abstractmethod
    def transport(self, url: str) -> Transport:
        """The transport for `url`, not yet open.

        Raises:
            ValueError: this driver can't read from such a URL.
        """

    def feedback(self, outcome: Outcome) -> bytes:
        """Bytes to write to the scanner on an outcome; empty unless configured."""
        del outcome
        return b""
