"""What to write for a device that was found: the `[[scanner]]` stanza, and the one line of udev rules.

A rule names the subsystem and the interface, so that of a device with several nodes one gets the link, and then
this one device: by its serial number, or where it has none of its own, by the socket that it is plugged into. It never
matches by vendor and product alone: those of a serial chip (FTDI, CH340, PL2303) are shared by whatever holds one.

All matches of udev that look at parents (`ATTRS`, `KERNELS`) must hold for one and the same parent, here the USB
device. The interface is another parent, so its number is taken from what udev found out before (`ID_USB_INTERFACE_NUM`,
from rule file 60 on), and for hidraw nodes, of which udev finds that out for none, from the device's own path.

The bus number in a socket's name is given by the kernel at boot. On a machine with several USB controllers it may
change; a serial number does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from scannerd.devices.found import Found, Kind
from scannerd.devices.sysfs import UsbPart
from scannerd.errors import UsageError
from scannerd.registry import Registry

RULES_FILE = "/etc/udev/rules.d/65-scannerd.rules"
"""Where a line goes: above 60, where serial numbers are known, and below 73, where tags are acted on."""

_GROUPS: dict[Kind, str] = {"serial": "dialout", "hid-pos": "plugdev", "input": "input"}
_SUBSYSTEMS: dict[Kind, str] = {"serial": "tty", "hid-pos": "hidraw", "input": "input"}
_LINK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 :+/._-]")


def drivers_for(kind: Kind, registry: Registry) -> tuple[str, ...]:
    """The drivers that can read such a device; which scanner hangs on a serial line, no system can tell.

    Args:
        kind: how the device is reached.
        registry: the drivers at hand; any of them that has a `baudrate` reads serial lines. `line` comes first.
    """
    if kind == "serial":
        names = [name for name in registry.names if "baudrate" in _options(name, registry)]
        return tuple(sorted(names, key=lambda name: name != "line"))
    return ("hid-pos",) if kind == "hid-pos" else ("hid-keyboard",)


def url(found: Found) -> str:
    """The most lasting address of a device that needs no rule of its own.

    HID scanners need one in any case, since neither their hidraw nor their USB node is open to anyone but root.
    """
    by_id = [link for link in found.links if "/by-id/" in link]
    by_path = [link for link in found.links if "/by-path/" in link]
    # Devices without a serial number of their own share one link by id, which leads to the last one plugged in.
    lasting = [*by_id, *by_path] if found.own_serial else by_path
    return lasting[0] if lasting else found.node


def is_lasting(found: Found) -> bool:
    """Whether `url` will lead to the same device tomorrow, without a rule of udev."""
    return found.usb is None or url(found) != found.node


def stanza(found: Found, drivers: Sequence[str], name: str = "scanner") -> str:
    """The `[[scanner]]` stanza to paste; the first driver stands in it, the others in a comment."""
    others = f"  # or {', '.join(drivers[1:])}" if len(drivers) > 1 else ""
    lines = [
        "[[scanner]]",
        f"name = {json.dumps(name)}",
        f"driver = {json.dumps(drivers[0])}{others}",
        f"url = {json.dumps(url(found), ensure_ascii=False)}",
    ]
    return "\n".join(lines)


def udev_rule(found: Found, name: str) -> str:
    """The one line that gives a device its link `/dev/scannerd/NAME`, its group and its mode.

    Raises:
        UsageError: the name can't be that of a link.
    """
    if not _LINK_NAME.fullmatch(name):
        raise UsageError(f"expected a name of A-Z a-z 0-9 . _ -, found {name!r}")
    parts = [f'SUBSYSTEM=="{_SUBSYSTEMS[found.kind]}"', *_matches(found), f'SYMLINK+="scannerd/{name}"']
    parts += [f'GROUP="{_GROUPS[found.kind]}"', 'MODE="0660"']
    if found.kind == "serial":
        parts += ['ENV{ID_MM_DEVICE_IGNORE}="1"', 'ENV{ID_MM_PORT_IGNORE}="1"']
    if found.kind == "input":
        parts += ['ENV{LIBINPUT_IGNORE_DEVICE}="1"']
    return ", ".join(parts)


def _matches(found: Found) -> list[str]:
    node = found.node.rpartition("/")[2]
    if found.usb is None:
        return [f'KERNEL=="{node}"']
    first = ['KERNEL=="event*"'] if found.kind == "input" else []
    if found.full_keyboard:
        first.append('ENV{ID_INPUT_KEYBOARD}=="1"')
    return [*first, *_this_device(found, found.usb), _interface(found.kind, found.usb)]


def _this_device(found: Found, usb: UsbPart) -> list[str]:
    own = f'ATTRS{{serial}}=="{_pattern(usb.serial or "")}"' if found.own_serial else f'KERNELS=="{usb.port}"'
    return [f'ATTRS{{idVendor}}=="{usb.vendor}"', f'ATTRS{{idProduct}}=="{usb.product}"', own]


def _interface(kind: Kind, usb: UsbPart) -> str:
    return f'DEVPATH=="*:{usb.tail}/*"' if kind == "hid-pos" else f'ENV{{ID_USB_INTERFACE_NUM}}=="{usb.interface}"'


def _pattern(value: str) -> str:
    """A value as udev's pattern for it: what has a meaning in patterns, or ends the quotes, becomes any character."""
    return _NOT_PLAIN.sub(lambda match: "?" * len(match[0].encode()), value)


def _options(name: str, registry: Registry) -> frozenset[str]:
    try:
        return frozenset(registry.load(name).Options.model_fields)
    except UsageError:  # a broken driver reads nothing
        return frozenset()
