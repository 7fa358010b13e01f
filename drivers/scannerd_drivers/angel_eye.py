"""`angel-eye`: the Angel Eye II-EX dealing shoe on a serial line, or behind a serial-to-TCP box (port 4001).

The shoe sends each report up to three times. So a report with a wrong BCC is no misread yet: it waits for a good
copy, and only when none can come any more is the card lost. That is worse than a misread, for the shoe is content and
the dealer deals on: `BadFrame("lost")` stops the round. What the reports say stands in `angel_eye_reports`.

Where the sources are silent: a repeated good report is nothing, so it does not end a wait either; a byte that begins
a report ends an answer or a NAK as it ends a report, because a card matters more than an answer; the rest after 128
bytes without an end is dropped up to the next start byte or silence. Each kind of what is waiting keeps within the
cap of 128 bytes; what does not fit is told as lost at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from scannerd.contract import MS, BadFrame, Driver, Micros, Notice, Outcome, Reading, Transport
from scannerd_drivers.angel_eye_reports import (
    ACK,
    ENQ,
    ETX,
    NAK,
    STX,
    BccScope,
    Report,
    bcc_is_right,
    clear_error_command,
    confirm_command,
    lock_command,
    meaning,
)
from scannerd_drivers.options import SerialOptions, TimeoutMilliseconds

if TYPE_CHECKING:
    from typing import Self

CAP = 128
"""At most so many bytes of an unfinished frame, and of broken reports that wait, are kept."""

LOST_AFTER: Micros = 1_000 * MS
"""How long a broken report waits for a good copy; its three copies come within it."""

_NAK_LENGTH = 2

AcceptedCard = Annotated[str, Field(pattern=r"^[DdR]:([0-7]|\*)$")]
ShoeCommand = Annotated[str, Field(pattern=r"^(|lock|unlock|confirm|clear:[0-9]{2})$")]


class AngelEyeOptions(SerialOptions):
    """Options of `angel-eye`."""

    baudrate: int = Field(default=4800, ge=50, le=4_000_000)
    """Speed of the serial line in bits per second; 9600 at some sites. The line must be 8-bit clean."""

    bcc_scope: BccScope = "auto"
    """Which bytes the BCC covers: `after-start` from Seq to `03`, `with-start` the `05` too, `auto` takes either."""

    accept: tuple[AcceptedCard, ...] = ("D:0", "D:1", "d:*")
    """The cards that count as dealt: letter (`D` in game, `d` outside, `R` sent again) and target, 0 to 7 or `*`."""

    hand_from_target: bool = False
    """Whether the shoe's target is the hand: Player is A, Banker is B. The shoe plays baccarat, so usually not."""

    frame_timeout_ms: TimeoutMilliseconds = 500
    """Silence inside a frame, in ms, that makes it a `partial`."""

    control: bool = False
    """Whether anything may be written to the shoe."""

    on_accepted: ShoeCommand = ""
    """Sent when a card is accepted: `lock`, `unlock`, `confirm` or `clear:NN` (error NN); needs `control = true`."""

    on_rejected: ShoeCommand = ""
    """Sent when a read is rejected, like `on_accepted`."""

    on_prompt: ShoeCommand = ""
    """Sent when the dealer's prompt changes, like `on_accepted`."""

    @model_validator(mode="after")
    def _commands_need_control(self) -> Self:
        if not self.control and (self.on_accepted or self.on_rejected or self.on_prompt):
            raise ValueError("commands are sent to the shoe only with control = true")
        return self


class AngelEyeDecoder:
    """Reports of the shoe to readings."""

    def __init__(self, options: AngelEyeOptions) -> None:
        self._options = options
        self._timeout = options.frame_timeout_ms * MS
        self._frame = bytearray()
        self._end: int | None = None  # where the first 03 of the frame stands
        self._heard_at: Micros = 0
        self._noise_told = False
        self._last: Report | None = None  # the last report with a right BCC
        self._waiting: list[tuple[Report, Micros]] = []  # broken reports, with the time that makes them lost

    @property
    def pending(self) -> bytes:
        """The unfinished frame; broken reports that wait are told by `finish` and are not among it."""
        return bytes(self._frame)

    @property
    def deadline(self) -> Micros | None:
        """The end of the silence inside a frame, or of the wait for a good copy."""
        dues = [due for _, due in self._waiting]
        if self._frame:
            dues.append(self._heard_at + self._timeout)
        return min(dues, default=None)

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes; see `Decoder`."""
        readings = self.tick(t)
        if t - self._heard_at >= self._timeout:
            self._noise_told = False
        for byte in chunk:
            readings += self._inside(byte, t) if self._frame else self._outside(byte)
            self._heard_at = t
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Decides the deadlines up to `t`, each in its turn; see `Decoder`."""
        readings: list[Reading] = []
        while (due := self.deadline) is not None and due <= t:
            lost = [report for report, end in self._waiting if end == due]
            if lost:
                self._waiting = [entry for entry in self._waiting if entry[1] != due]
                readings += map(_lost, lost)
            else:
                readings.append(BadFrame("partial", self._take()))
        return readings

    def finish(self, t: Micros) -> list[Reading]:
        """Tells the broken reports that wait as lost: their copies can't come any more; see `Decoder`."""
        readings = [*self.tick(t), *(_lost(report) for report, _ in self._waiting)]
        self._waiting = []
        self._take()
        return readings

    def _take(self) -> bytes:
        frame = bytes(self._frame)
        self._frame.clear()
        self._end = None
        return frame

    def _outside(self, byte: int) -> list[Reading]:
        if byte in (STX, ENQ, NAK):
            self._frame.append(byte)
        elif byte != ACK:
            return self._noise(byte)
        self._noise_told = False
        return [Notice("answer", "ACK", bytes([byte]))] if byte == ACK else []

    def _noise(self, byte: int) -> list[Reading]:
        """Tells bytes that belong to no frame once a run, at the first."""
        told, self._noise_told = self._noise_told, True
        return [] if told else [Notice("other", f"outside a frame: {byte:02X}", bytes([byte]))]

    def _inside(self, byte: int, t: Micros) -> list[Reading]:
        if byte == ENQ:
            broken_off = BadFrame("partial", self._take())
            self._frame.append(byte)
            return [broken_off]
        self._frame.append(byte)
        if self._end is None and byte == ETX:
            self._end = len(self._frame) - 1
        if self._is_complete():
            return self._complete(self._take(), t)
        if len(self._frame) < CAP:
            return []
        self._noise_told = True
        return [BadFrame("overlong", self._take())]

    def _is_complete(self) -> bool:
        if self._frame[0] == NAK:
            return len(self._frame) == _NAK_LENGTH
        return self._end is not None and len(self._frame) == self._end + 3  # the BCC's two digits

    def _complete(self, frame: bytes, t: Micros) -> list[Reading]:
        if frame[0] == NAK:
            return [Notice("answer", f"NAK {frame[1]:02X}", frame)]
        right = bcc_is_right(frame, self._options.bcc_scope)
        if frame[0] == STX:
            text = frame[1:-3].decode("latin-1")
            return [Notice("answer", text, frame) if right else BadFrame("checksum", frame)]
        return self._good(Report(frame)) if right else self._broken(Report(frame), t)

    def _good(self, report: Report) -> list[Reading]:
        last = self._last
        if last is not None and report.seq == last.seq and report.is_start == last.is_start:
            return []
        lost = [_lost(broken) for broken, _ in self._waiting if not _are_copies(broken, report)]
        self._waiting = []
        if report.seq:
            self._last = report
        return [*lost, meaning(report, self._options.accept, hand_from_target=self._options.hand_from_target)]

    def _broken(self, report: Report, t: Micros) -> list[Reading]:
        if self._last is not None and _is_broken_copy(report, self._last):
            return []
        if any(_are_copies(report, broken) for broken, _ in self._waiting):
            return []
        self._waiting.append((report, t + LOST_AFTER))
        readings: list[Reading] = []
        while sum(len(broken.raw) for broken, _ in self._waiting) > CAP:
            readings.append(_lost(self._waiting.pop(0)[0]))
        return readings


def _lost(report: Report) -> Reading:
    return BadFrame("lost", report.raw)


def _are_copies(broken: Report, other: Report) -> bool:
    return broken.seq == other.seq or broken.after_seq == other.after_seq


def _is_broken_copy(broken: Report, last: Report) -> bool:
    """Whether `broken` is a copy of the last good report; a start-up's Seq holds for its own copies alone."""
    if last.is_start and not broken.is_start:
        return broken.after_seq == last.after_seq
    return _are_copies(broken, last)


class AngelEyeDriver(Driver[AngelEyeOptions]):
    """The Angel Eye II-EX dealing shoe."""

    name = "angel-eye"
    summary = "Angel Eye II-EX dealing shoe, serial or serial over TCP"
    Options = AngelEyeOptions

    def decoder(self, t: Micros) -> AngelEyeDecoder:
        """A fresh decoder."""
        del t
        return AngelEyeDecoder(self.options)

    def transport(self, url: str) -> Transport:
        """A serial line or a TCP connection; see `Driver`."""
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyserial is loaded when it is needed

        return open_url(url, self.options)

    def feedback(self, outcome: Outcome) -> bytes:
        """The command configured for an outcome; nothing unless `control` is set."""
        options = self.options
        told = {"accepted": options.on_accepted, "rejected": options.on_rejected, "prompt": options.on_prompt}
        name, _, code = told[outcome].partition(":")
        match name:
            case "lock" | "unlock":
                return lock_command(options.bcc_scope, locked=name == "lock")
            case "confirm":
                return confirm_command(options.bcc_scope)
            case "clear":
                return clear_error_command(options.bcc_scope, int(code))
            case _:
                return b""
