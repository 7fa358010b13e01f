"""What a driver may say about its line or its endpoint; the address itself stands in the URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Node: TypeAlias = Literal["serial", "hidraw", "evdev"]
"""What a path leads to: links such as `/dev/scannerd/shoe` do not tell."""


class LineSettings(Protocol):
    """Settings of a serial line; `SerialOptions` of a driver are some too."""

    @property
    def baudrate(self) -> int:
        """Bits per second."""

    @property
    def dtr(self) -> bool | None:
        """The DTR line while the port is open; None leaves it as the system does."""


@dataclass(frozen=True, slots=True)
class SerialSettings:
    """A raw line with 8 data bits, no parity, 1 stop bit and no flow control."""

    baudrate: int = 9600
    dtr: bool | None = None
    rts: bool | None = None
    """The RTS line while the port is open; None leaves it as the system does."""


@dataclass(frozen=True, slots=True)
class UsbSettings:
    """Which part of a USB device to read; what is not given is found where it is unambiguous."""

    interface: int | None = None
    """The interface number."""
    endpoint: int | None = None
    """The address of the IN endpoint, 0x81 to 0x8F."""
    interface_class: int | None = None
    """Only interfaces of this class are looked at, 3 for HID."""
    overflow: bytes = b"\xff"
    """What stands in for a packet that was longer than the endpoint allows and is lost: what the decoder refuses."""
