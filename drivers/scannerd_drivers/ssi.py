"""`ssi`: Zebra / Symbol scanners with the Simple Serial Interface.

A packet is a length (of all but the checksum, itself included), opcode, source (`00` scanner, `04` host), status, data
and a two-byte checksum, big-endian: the two's complement of the sum of the bytes before it. Decoded data is `F3`: a
symbology byte, then the code; status bit 0 marks a packet sent again, bit 1 that more parts of the code follow.

The scanner sends a packet again until the host acknowledges it, so the acknowledgement is a promise: it is given when
the card is in the journal, or not at all. A packet sent again is known by its bytes: equal, but for the resend bit, to
the last good data packet, it is the same read. Where the sources are silent: good packets of the scanner other than
ACK and NAK are acknowledged too, or it would send them for ever; parts of one code have one symbology and at least one
character each, or the code is refused whole, with what follows it as after a `partial`.
"""

from __future__ import annotations

from typing import Final

from scannerd.contract import MS, BadFrame, CardRead, Driver, Micros, Notice, Outcome, Reading, Reply, Transport
from scannerd_drivers.options import FeedbackOptions, Milliseconds, SerialOptions, TimeoutMilliseconds

CODE_CAP = 256
"""At most so many characters of a code in parts are kept."""

QUIET: Micros = 100 * MS
"""After a wrong checksum, input is dropped until the line was silent for so long."""

_HEADER = 4  # length, opcode, source, status: the shortest packet
_SCANNER, _HOST = 0x00, 0x04
_DATA, _ACK, _NAK = 0xF3, 0xD0, 0xD1
_RESENT, _MORE = 0x01, 0x02  # bits of the status
_CHECKSUM_FAILED = 0x01  # cause of a NAK


def packet(opcode: int, data: bytes = b"", *, source: int = _HOST, status: int = 0) -> bytes:
    """A packet with its checksum, by default one of the host; `data` is at most 251 bytes."""
    body = bytes([_HEADER + len(data), opcode, source, status]) + data
    return body + checksum(body)


def checksum(body: bytes) -> bytes:
    """The checksum of a packet's other bytes."""
    return (-sum(body) & 0xFFFF).to_bytes(2, "big")


ACK: Final = packet(_ACK)
NAK: Final = packet(_NAK, bytes([_CHECKSUM_FAILED]))


class SsiOptions(SerialOptions, FeedbackOptions):
    """Options of `ssi`."""

    ack_timeout_ms: Milliseconds = 1000
    """How long the scanner waits for an acknowledgement, in ms; a later one is left out, and it sends again."""

    frame_timeout_ms: TimeoutMilliseconds = 500
    """Silence inside a packet or between parts of a code, in ms, that makes it a `partial`."""


class SsiDecoder:
    """Packets to readings and acknowledgements."""

    def __init__(self, options: SsiOptions) -> None:
        self._timeout = options.frame_timeout_ms * MS
        self._ack = Reply(ACK, settled=True, within=options.ack_timeout_ms * MS)
        self._packet = bytearray()
        self._parts = bytearray()  # the packets of a code in parts
        self._code = b""
        self._seen = b""  # the last good data packet, as sent first
        self._heard_at: Micros = 0
        self._silent_since: Micros = 0  # the last byte, whatever was given up since
        self._deaf = False  # after a wrong checksum, until the line was silent
        self._dropping = False  # after a broken code, until no packet came for a while

    @property
    def pending(self) -> bytes:
        """The parts of the unfinished code and the unfinished packet."""
        return bytes(self._parts + self._packet)

    @property
    def deadline(self) -> Micros | None:
        """The end of the silence inside a packet or between parts."""
        return self._heard_at + self._timeout if self._packet or self._parts else None

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes; see `Decoder`."""
        readings = self.tick(t)
        if chunk:
            self._end_of_silence(t)
        for byte in chunk:
            readings += [] if self._deaf else self._byte(byte)
        return readings

    def _end_of_silence(self, t: Micros) -> None:
        self._deaf = self._deaf and t - self._silent_since < QUIET
        self._dropping = self._dropping and t - self._heard_at < self._timeout
        self._heard_at = self._silent_since = t

    def tick(self, t: Micros) -> list[Reading]:
        """Decides the silence inside a packet or between parts; see `Decoder`."""
        due = self.deadline
        if due is None or t < due:
            return []
        told = not self._dropping or bool(self._parts)
        raw = self._give_up()
        self._heard_at = due  # packets within another time-out of this are dropped
        return [BadFrame("partial", raw) if told else Notice("other", "dropped with a broken code", raw)]

    def finish(self, t: Micros) -> list[Reading]:
        """Drops the half code; see `Decoder`."""
        readings = self.tick(t)
        self._give_up()
        return readings

    def _give_up(self) -> bytes:
        """Forgets the code, starts to drop what follows it, and returns what there was."""
        raw = self.pending
        self._packet.clear()
        self._end_code()
        self._dropping = True
        return raw

    def _end_code(self) -> None:
        self._parts.clear()
        self._code = b""

    def _byte(self, byte: int) -> list[Reading]:
        if not self._packet and byte < _HEADER:
            return [Notice("other", f"no packet is {byte} long", bytes([byte]))]
        self._packet.append(byte)
        if len(self._packet) < self._packet[0] + 2:
            return []
        whole = bytes(self._packet)
        self._packet.clear()
        return self._complete(whole)

    def _complete(self, whole: bytes) -> list[Reading]:
        if checksum(whole[:-2]) != whole[-2:]:
            self._deaf = True
            return [Reply(NAK), BadFrame("checksum", whole)]
        opcode, source = whole[1], whole[2]
        if source != _SCANNER:
            return [Notice("other", f"packet {opcode:02X} of source {source:02X}", whole)]
        if opcode in (_ACK, _NAK):
            return [Notice("answer", "ACK" if opcode == _ACK else f"NAK {whole[_HEADER:-2].hex().upper()}", whole)]
        if opcode != _DATA:
            return [Notice("other", f"packet {opcode:02X}", whole), self._ack]
        return [*self._data(whole), self._ack]

    def _data(self, whole: bytes) -> list[Reading]:
        status = whole[3]
        first_sent = whole[:3] + bytes([status & ~_RESENT]) + whole[_HEADER:-2]
        if status & _RESENT and first_sent == self._seen:
            return []
        self._seen = first_sent
        if self._dropping:
            return [Notice("other", "dropped with a broken code", whole)]
        return self._part(whole, more=bool(status & _MORE))

    def _part(self, whole: bytes, *, more: bool) -> list[Reading]:
        symbology, text = whole[_HEADER : _HEADER + 1], whole[_HEADER + 1 : -2]
        fault = self._fault(symbology, text)
        self._parts += whole
        self._code += text
        if fault is None and more:
            return []
        reading = CardRead(self._code.decode("latin-1"), raw=bytes(self._parts))
        raw = bytes(self._parts)
        self._end_code()
        if fault is None:
            return [reading]
        self._dropping = more
        return [BadFrame(fault, raw)]

    def _fault(self, symbology: bytes, text: bytes) -> str | None:
        if not text:
            return "malformed without a code"
        if self._parts and symbology != self._parts[_HEADER : _HEADER + 1]:
            return "malformed with two symbologies"
        return "overlong" if len(self._code) + len(text) > CODE_CAP else None


class SsiDriver(Driver[SsiOptions]):
    """Zebra and Symbol scanners with the Simple Serial Interface."""

    name = "ssi"
    summary = "Zebra / Symbol scanners with the Simple Serial Interface (SSI)"
    Options = SsiOptions

    def decoder(self, t: Micros) -> SsiDecoder:
        """A fresh decoder."""
        del t
        return SsiDecoder(self.options)

    def transport(self, url: str) -> Transport:
        """A serial line or a TCP connection; see `Driver`."""
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - pyserial is loaded when it is needed

        return open_url(url, self.options)

    def feedback(self, outcome: Outcome) -> bytes:
        """The packets configured for an outcome, such as a beep; nothing unless set."""
        return self.options.feedback(outcome)
