"""Reading sysfs: attributes, and the USB device that a node belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class UsbPart:
    """One interface of a USB device, as sysfs shows it.

    Attributes:
        vendor: four hexadecimal digits, as in sysfs.
        product: the same.
        serial: the serial number; None where the device has none.
        name: maker and product in the device's own words; may be empty.
        port: the socket, `1-1.2`: bus 1, port 1, and port 2 of the hub in it.
        interface: the interface number, two hexadecimal digits.
        tail: the end of the interface's name, `1.0`: configuration and interface.
    """

    vendor: str
    product: str
    serial: str | None
    name: str
    port: str
    interface: str
    tail: str

    @property
    def kind(self) -> tuple[str, str]:
        """Vendor and product: what all devices of one make share."""
        return self.vendor, self.product


def usb_part(node: Path) -> UsbPart | None:
    """The USB interface that a node of `/sys/class` belongs to, None for a node that is not on USB."""
    real = node.resolve()
    interface = _nearest(real, "bInterfaceNumber")
    device = _nearest(real, "idVendor")
    if interface is None or device is None:
        return None
    words = (text(device / "manufacturer"), text(device / "product"))
    return UsbPart(
        vendor=text(device / "idVendor"),
        product=text(device / "idProduct"),
        serial=text(device / "serial") or None,
        name=" ".join(word for word in words if word),
        port=device.name,
        interface=text(interface / "bInterfaceNumber"),
        tail=interface.name.partition(":")[2],
    )


def text(path: Path) -> str:
    """An attribute without the white space around it; empty where there is none."""
    return content(path).decode("utf-8", "replace").strip()


def content(path: Path) -> bytes:
    """The bytes of an attribute; empty where there is none."""
    try:
        return path.read_bytes()
    except OSError:  # no such attribute, or the device went away just now
        return b""


def key_bits(words: str) -> int:
    """The keys of `capabilities/key`, one bit each: words of 64 bits in hexadecimal, the highest first."""
    bits = 0
    for word in words.split():
        bits = bits << _WORD_BITS | int(word, 16)
    return bits


def _nearest(path: Path, attribute: str) -> Path | None:
    """The nearest device at or above `path` that has the attribute."""
    return next((place for place in (path, *path.parents) if (place / attribute).is_file()), None)
