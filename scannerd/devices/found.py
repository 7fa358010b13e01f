"""Finds serial ports, HID scanners and input devices that type, with what is known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from scannerd.devices.hid import BAR_CODE_SCANNER, usage_pages
from scannerd.devices.sysfs import UsbPart, content, key_bits, text, usb_part

Kind: TypeAlias = Literal["serial", "hid-pos", "input"]
"""How a device is reached: a serial port, a HID scanner of usage page 8C, a device that types."""

SCANNER_MAKERS = frozenset({"0536", "05e0", "05f9", "0c2e", "1eab"})
"""USB vendors whose devices that type are scanners: Hand Held Products, Symbol, Datalogic, Honeywell, Newland."""

_SCANNER_WORDS = ("scan", "barcode", "bar code", "reader", "rfid")
_DIGITS_AND_ENTER = (*range(2, 12), 28)  # linux/input-event-codes.h
_FULL_KEYBOARD = range(1, 32)  # what udev's input_id takes for a keyboard: ESC to S
_NO_PORT = ("", "0")  # `type` of a serial port without hardware


@dataclass(frozen=True, slots=True)
class Found:
    """A device that may be a scanner.

    Attributes:
        kind: how it is reached.
        node: its node now, `/dev/ttyUSB0`, which may be another one's tomorrow.
        name: what it calls itself; may be empty.
        usb: its place on USB; None for others.
        links: the links that udev made for it, those by id first.
        looks_right: nothing speaks against its being a scanner; a device that types may be a keyboard.
        full_keyboard: it has all keys of a keyboard.
        own_serial: it has a serial number that no other device at hand of the same make has.
    """

    kind: Kind
    node: str
    name: str
    usb: UsbPart | None
    links: tuple[str, ...] = ()
    looks_right: bool = True
    full_keyboard: bool = False
    own_serial: bool = False


def look(root: Path = Path("/")) -> tuple[Found, ...]:
    """All devices that may be scanners: serial ports, then HID scanners, then devices that type.

    Args:
        root: the root of the file system, with `sys` and `dev` below it.
    """
    classes = root / "sys/class"
    found = [*_serial(classes / "tty"), *_hid_pos(classes / "hidraw"), *_input(classes / "input")]
    links = _links(root / "dev")
    return tuple(_compared([replace(one, links=tuple(links.get(_name(one.node), ()))) for one in found]))


def _serial(ports: Path) -> Iterator[Found]:
    for node in sorted(ports.glob("*")):
        usb = usb_part(node)
        if usb is not None or ((node / "device").exists() and text(node / "type") not in _NO_PORT):
            yield Found("serial", f"/dev/{node.name}", usb.name if usb else "built-in port", usb)


def _hid_pos(nodes: Path) -> Iterator[Found]:
    for node in sorted(nodes.glob("*")):
        usb = usb_part(node)
        if BAR_CODE_SCANNER in usage_pages(content(node / "device/report_descriptor")):
            yield Found("hid-pos", f"/dev/{node.name}", usb.name if usb else "", usb)


def _input(nodes: Path) -> Iterator[Found]:
    for node in sorted(nodes.glob("event*")):
        keys = key_bits(text(node / "device/capabilities/key"))
        if not _has(keys, _DIGITS_AND_ENTER):
            continue
        usb, name = usb_part(node), text(node / "device/name")
        yield Found(
            "input",
            f"/dev/input/{node.name}",
            name,
            usb,
            looks_right=_is_scanner(usb, name),
            full_keyboard=_has(keys, _FULL_KEYBOARD),
        )


def _has(keys: int, wanted: Iterable[int]) -> bool:
    return all(keys >> key & 1 for key in wanted)


def _is_scanner(usb: UsbPart | None, name: str) -> bool:
    known = usb is not None and usb.vendor in SCANNER_MAKERS
    return known or any(word in name.lower() for word in _SCANNER_WORDS)


def _links(dev: Path) -> dict[str, list[str]]:
    """The names of nodes and the links that lead to them, the most lasting first."""
    made: dict[str, list[str]] = {}
    for folder in ("serial/by-id", "serial/by-path", "input/by-id", "input/by-path"):
        for link in sorted((dev / folder).glob("*")):
            if link.is_symlink():
                made.setdefault(_name(str(link.readlink())), []).append(f"/dev/{folder}/{link.name}")
    return made


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _compared(found: list[Found]) -> Iterator[Found]:
    """Says whose serial number is its own: one device may have several nodes, so sockets are counted."""
    sockets = {one.usb.port: one.usb for one in found if one.usb is not None}
    serials = Counter((usb.kind, usb.serial) for usb in sockets.values())
    for one in found:
        if one.usb is None:
            yield one
        else:
            alone = one.usb.serial is not None and serials[one.usb.kind, one.usb.serial] == 1
            yield replace(one, own_serial=alone)
