"""`scannerd devices`: what is plugged in, which driver would take it, and what to paste."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from scannerd.devices import advice
from scannerd.devices.found import Found, look
from scannerd.errors import UsageError
from scannerd.registry import Registry

_KINDS = {"serial": "serial port", "hid-pos": "HID scanner", "input": "device that types"}


@click.command(short_help="List the devices seen, with the stanza to paste.")
@click.argument("device", required=False)
@click.option("--json", "as_json", is_flag=True, help="As one JSON array.")
@click.option("--udev", "link", metavar="NAME", help="Only the udev rule that makes /dev/scannerd/NAME for the device.")
@click.option("--root", type=click.Path(path_type=Path), default=Path("/"), hidden=True, help="Another file system.")
def devices(device: str | None, *, as_json: bool, link: str | None, root: Path) -> None:
    """List serial ports, HID scanners and devices that type, or the one DEVICE.

    DEVICE is a node or a link to it (/dev/ttyUSB0), or the socket that it is plugged into (1-1.2). No device is opened.
    """
    found = look(root)
    chosen = found if device is None else _named(found, device, root)
    if link is not None:
        click.echo(advice.udev_rule(_only(chosen), link))
        return
    registry = Registry()
    listed = [_described(one, advice.drivers_for(one.kind, registry)) for one in chosen]
    click.echo(json.dumps(listed, indent=2, ensure_ascii=False) if as_json else _for_people(listed))


def _named(found: Sequence[Found], device: str, root: Path) -> tuple[Found, ...]:
    inside = root / device.lstrip("/")
    real = os.path.realpath(inside).rpartition("/")[2]
    fits = tuple(one for one in found if one.node.rpartition("/")[2] == real or _socket(one) == device)
    if not fits:
        raise UsageError(f"no such device: {device}; seen are {_names(found)}")
    return fits


def _only(found: Sequence[Found]) -> Found:
    likely = [one for one in found if one.looks_right and (one.usb is not None or len(found) == 1)] or found
    if len(likely) != 1:
        raise UsageError(f"name one device: seen are {_names(found)}")
    return likely[0]


def _names(found: Sequence[Found]) -> str:
    return ", ".join(one.node for one in found) or "none"


def _socket(found: Found) -> str | None:
    return found.usb.port if found.usb else None


def _described(found: Found, drivers: Sequence[str]) -> dict[str, object]:
    about = {key: value for key, value in asdict(found).items() if key != "full_keyboard"}
    return about | {
        "drivers": list(drivers),
        "url": advice.url(found),
        "lasting": advice.is_lasting(found),
        "stanza": advice.stanza(found, drivers),
        "udev": advice.udev_rule(found, "scanner"),
    }


def _for_people(listed: Sequence[dict[str, object]]) -> str:
    if not listed:
        return "No serial port, HID scanner or device that types is seen. Is the scanner plugged in, and has it power?"
    return "\n\n".join(_paragraph(about) for about in listed)


def _paragraph(about: dict[str, object]) -> str:
    doubt = "" if about["looks_right"] else " (may be a keyboard)"
    lines = [f"{about['node']}: {_KINDS[str(about['kind'])]}{doubt}: {about['name'] or 'without a name'}"]
    if isinstance(usb := about["usb"], dict):
        serial = f"serial number {usb['serial']}" if usb["serial"] else "no serial number"
        if usb["serial"] and not about["own_serial"]:
            serial += ", which another device has too"
        lines.append(f"  USB {usb['vendor']}:{usb['product']}, {serial}, socket {usb['port']}")
    if not about["lasting"]:
        lines.append(
            "  Its node may be another's tomorrow: give it a link by the rule, and name /dev/scannerd/scanner."
        )
    lines += ["", *(f"  {line}" for line in str(about["stanza"]).splitlines())]
    return "\n".join([*lines, "", f"  # {advice.RULES_FILE}", f"  {about['udev']}"])
