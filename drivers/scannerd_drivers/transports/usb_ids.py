"""Naming a USB device, `usb:VID:PID[:serial]`, and finding the hidraw or input node that the kernel made for it.

Nodes are looked up in sysfs at each open; there is no monitor of udev events that could miss one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from scannerd.contract import TransportError

SYSFS = Path("/sys/class")
KEYS_OF_A_SCANNER = (*range(2, 12), 28)
"""KEY_1 to KEY_0 and KEY_ENTER (linux/input-event-codes.h)."""

_SHORT, _LONG, _HEX_DIGITS, _WORD_BITS = 2, 3, 4, 64

NodeClass: TypeAlias = Literal["input", "hidraw"]


@dataclass(frozen=True, slots=True)
class UsbId:
    """Which device: vendor and product, and its serial number where there are several of the kind."""

    vendor: int
    product: int
    serial: str | None = None

    def __str__(self) -> str:
        serial = f":{self.serial}" if self.serial else ""
        return f"{self.vendor:04x}:{self.product:04x}{serial}"


def usb_id(url: str) -> UsbId:
    """The device that `usb:VID:PID[:serial]` names.

    Raises:
        ValueError: it is no such URL.
    """
    scheme, _, rest = url.partition(":")
    parts = rest.split(":", _SHORT) if scheme.lower() == "usb" else []
    if len(parts) not in (_SHORT, _LONG) or not all(_is_hex(part) for part in parts[:_SHORT]):
        raise ValueError(f"expected usb:VID:PID or usb:VID:PID:serial, ids of four hexadecimal digits, found {url!r}")
    return UsbId(int(parts[0], 16), int(parts[1], 16), parts[_SHORT] if len(parts) == _LONG else None)


def can_type(keys: int) -> bool:
    """Whether a node with these keys, one bit each, can type digits and ENTER, as a scanner must."""
    return all(keys >> key & 1 for key in KEYS_OF_A_SCANNER)


class UsbNodes:
    """The nodes of one class that belong to one USB device."""

    def __init__(self, url: str, kind: NodeClass, sysfs: Path = SYSFS) -> None:
        """Takes `usb:VID:PID[:serial]` and where sysfs has its classes.

        Raises:
            ValueError: it is no such URL.
        """
        self._id = usb_id(url)
        self._kind = kind
        self._class = sysfs / kind

    def find(self) -> str:
        """The path of the one node that fits.

        Raises:
            TransportError: there is none, or more than one.
        """
        fits = [node for node in sorted(self._class.glob("*")) if self._fits(node)]
        if not fits:
            remedy = "plug the scanner in; `scannerd devices` shows what is there"
            raise TransportError(f"no {self._kind} node of USB device {self._id}", remedy=remedy)
        if len(fits) > 1:
            places = ", ".join(f"{node.name} ({_text(node / 'device/phys') or 'no phys'})" for node in fits)
            remedy = "name one by its link below /dev/input/by-path, or by its own rule of udev"
            raise TransportError(f"several {self._kind} nodes of USB device {self._id}: {places}", remedy=remedy)
        return f"/dev/input/{fits[0].name}" if self._kind == "input" else f"/dev/{fits[0].name}"

    def _fits(self, node: Path) -> bool:
        if self._kind == "input" and not node.name.startswith("event"):
            return False
        found = _input_id(node) if self._kind == "input" else _hidraw_id(node)
        if found is None or (found.vendor, found.product) != (self._id.vendor, self._id.product):
            return False
        if self._id.serial is not None and found.serial != self._id.serial:
            return False
        return self._kind == "hidraw" or can_type(_key_bits(_text(node / "device/capabilities/key")))


def _input_id(node: Path) -> UsbId | None:
    vendor, product = _text(node / "device/id/vendor"), _text(node / "device/id/product")
    if not (_is_hex(vendor) and _is_hex(product)):
        return None
    return UsbId(int(vendor, 16), int(product, 16), _text(node / "device/uniq") or None)


def _hidraw_id(node: Path) -> UsbId | None:
    """Reads `HID_ID=0003:000005E0:00001200` and `HID_UNIQ=` (hid-core.c of the Linux kernel)."""
    lines = (line.partition("=") for line in _text(node / "device/uevent").splitlines())
    known = {key: value for key, _, value in lines}
    parts = known.get("HID_ID", "").split(":")
    if len(parts) != _LONG:
        return None
    return UsbId(int(parts[1], 16), int(parts[2], 16), known.get("HID_UNIQ") or None)


def _key_bits(words: str) -> int:
    """The bits of `capabilities/key`: words of 64 bits in hexadecimal, the highest first."""
    bits = 0
    for word in words.split():
        bits = bits << _WORD_BITS | int(word, 16)
    return bits


def _is_hex(text: str) -> bool:
    return len(text) == _HEX_DIGITS and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
