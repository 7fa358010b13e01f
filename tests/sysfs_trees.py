"""Copies of sysfs and /dev with devices of our choice, as the kernel and udev would show them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CONTROLLER = "devices/pci0000:00/0000:00:14.0"
FULL_KEYBOARD = "10000 7 ff9f207ac14057ff febeffdfffefffff fffffffffffffffe"
"""`capabilities/key` of a common keyboard."""
DIGITS_ONLY = "10000ffc"
"""The same of a device that has digits and ENTER, and no letters."""
MEDIA_KEYS = "3e 0 0 c000000000000 0"
"""The same of a device that has volume keys."""

POS_DESCRIPTOR = bytes.fromhex("068c000902a101850205 19".replace(" ", "")) + b"\xc0"
"""A report descriptor that begins with usage page 8C."""
KEYBOARD_DESCRIPTOR = bytes.fromhex("05010906a101050719e029e7") + b"\xc0"
"""A report descriptor of a keyboard."""


@dataclass(frozen=True, slots=True)
class Usb:
    """What a USB device says of itself."""

    port: str
    vendor: str
    product: str
    serial: str | None = None
    maker: str = ""
    name: str = ""


class Tree:
    """A root with `sys` and `dev`; devices are put into it one by one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("sys/class/tty", "sys/class/hidraw", "sys/class/input", "dev/serial/by-id", "dev/input/by-id"):
            (root / folder).mkdir(parents=True)

    def tty(self, usb: Usb, node: str, *, interface: int = 0) -> None:
        """A serial port on USB."""
        place = self._interface(usb, interface) / node / "tty" / node
        place.mkdir(parents=True)
        self._list("tty", place)

    def built_in_port(self, node: str, kind: str) -> None:
        """A port of the main board; `kind` is 0 where there is no hardware."""
        place = self.root / "sys/devices/platform/serial8250/tty" / node
        (place / "device").mkdir(parents=True)
        _write(place, type=kind)
        self._list("tty", place)

    def console(self, node: str) -> None:
        """A terminal without a device, as tty1."""
        place = self.root / "sys/devices/virtual/tty" / node
        place.mkdir(parents=True)
        self._list("tty", place)

    def hidraw(self, usb: Usb, node: str, descriptor: bytes, *, interface: int = 0) -> None:
        """A hidraw node."""
        device = self._interface(usb, interface) / f"0003:{usb.vendor.upper()}:{usb.product.upper()}.0001"
        place = device / "hidraw" / node
        place.mkdir(parents=True)
        (device / "report_descriptor").write_bytes(descriptor)
        (place / "device").symlink_to(device)
        self._list("hidraw", place)

    def event(self, usb: Usb | None, node: str, name: str, keys: str, *, interface: int = 0) -> None:
        """An input node."""
        above = self._interface(usb, interface) if usb else self.root / "sys/devices/platform/i8042"
        device = above / f"input/input{node.removeprefix('event')}"
        place = device / node
        place.mkdir(parents=True)
        _write(device, name=name)
        _write(device / "capabilities", key=keys)
        (place / "device").symlink_to(device)
        self._list("input", place)

    def link(self, link: str, node: str) -> None:
        """A link below `dev`, as udev makes it."""
        place = self.root / "dev" / link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(f"../../{node}")

    def _interface(self, usb: Usb, number: int) -> Path:
        hub = usb.port.partition(".")[0]
        device = self.root / "sys" / CONTROLLER / "usb1" / hub / usb.port
        names = {"idVendor": usb.vendor, "idProduct": usb.product, "manufacturer": usb.maker, "product": usb.name}
        _write(device, **{key: value for key, value in names.items() if value})
        if usb.serial is not None:
            _write(device, serial=usb.serial)
        interface = device / f"{usb.port}:1.{number}"
        _write(interface, bInterfaceNumber=f"{number:02x}")
        return interface

    def _list(self, kind: str, place: Path) -> None:
        (self.root / "sys/class" / kind / place.name).symlink_to(place)


def _write(folder: Path, **attributes: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in attributes.items():
        (folder / name).write_text(f"{value}\n", encoding="utf-8")
