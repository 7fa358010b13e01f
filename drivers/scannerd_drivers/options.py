"""Options that drivers share: those of a serial line, those of feedback, and the types their fields are made of.

A driver's options inherit from the mix-ins they need, and override a default where their device has its own.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from scannerd.contract import DriverOptions, Outcome


def _bytes_as_text(text: str) -> str:
    for char in text:
        if ord(char) > 0xFF:  # noqa: PLR2004 - the last character that stands for a byte
            message = f"each character stands for one byte, U+0000 to U+00FF: {char!r} stands for none"
            raise ValueError(message)
    return text


Milliseconds = Annotated[int, Field(ge=0, le=3_600_000)]
"""A time of an option: whole milliseconds, 0 to one hour."""

TimeoutMilliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
"""A time-out of an option: whole milliseconds, 1 to one hour; at 0 not even a whole chunk would be in time."""

BytesAsText = Annotated[str, AfterValidator(_bytes_as_text)]
"""Bytes written as text whose characters are bytes (Latin-1), such as `"\\u0006"` for ACK."""


class SerialOptions(DriverOptions):
    """Options of a scanner on a serial line; a `tcp://` URL has no use for them."""

    baudrate: int = Field(default=9600, ge=50, le=4_000_000)
    """Speed of the serial line in bits per second."""

    dtr: bool | None = None
    """The DTR line while the port is open: true raises it, false keeps it down, left out leaves it as the system does.
    Set it to false for readers on a microcontroller that restarts when DTR is raised."""


class FeedbackOptions(DriverOptions):
    """What a scanner with a lamp or a beeper is sent, as text whose characters are bytes; nothing unless set."""

    on_accepted: BytesAsText = ""
    """Sent to the scanner when its card is accepted."""

    on_rejected: BytesAsText = ""
    """Sent to the scanner when its read is rejected."""

    on_prompt: BytesAsText = ""
    """Sent to the scanner when the dealer's prompt changes."""

    def feedback(self, outcome: Outcome) -> bytes:
        """The bytes to send on an outcome."""
        told = {"accepted": self.on_accepted, "rejected": self.on_rejected, "prompt": self.on_prompt}
        return told[outcome].encode("latin-1")
