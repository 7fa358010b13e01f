"""Where things are: the brokers' URLs, the page's address, and whether two scanners' URLs mean one device."""

from __future__ import annotations

import os
import stat
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

_MQTT_PORTS = {"mqtt": 1883, "mqtts": 8883}
_MAX_PORT = 65535
_LOCALHOST = "127.0.0.1"
_NETWORK_SCHEMES = ("tcp", "socket", "rfc2217")
_USB_PARTS = 3


class Broker(NamedTuple):
    """One address of a broker; `tls` is always verified."""

    host: str
    port: int
    tls: bool


def brokers(text: str) -> tuple[Broker, ...]:
    """The brokers of a comma-separated list of `mqtt://` and `mqtts://` URLs, in the order to try them.

    Raises:
        ValueError: one of them is no such URL. The text is not in the message where it holds a password.
    """
    return tuple(_broker(part.strip()) for part in text.split(","))


def _broker(text: str) -> Broker:
    parts = urlsplit(text)
    if "@" in text:  # urlsplit finds no user where the scheme is missing, or the password has a `#`
        raise ValueError("expected no user in the URL; `username` and `password_file` are for that")
    if parts.scheme not in _MQTT_PORTS:
        raise ValueError(f"expected mqtt://host:port or mqtts://host:port, found {text!r}")
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"expected a host and a port and nothing after them, found {text!r}")
    try:
        port = _MQTT_PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise ValueError(f"expected a port from 1 to {_MAX_PORT}, found {text!r}")
    return Broker(parts.hostname, port, parts.scheme == "mqtts")


def address(text: str) -> tuple[str, int] | None:
    """The host and port of `host:port`, `[IPv6]:port`, or None for an empty text; port 0 lets the system choose.

    Raises:
        ValueError: it is none of these.
    """
    if not text:
        return None
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= _MAX_PORT):
        raise ValueError(f'expected host:port, or "" for no page, found {text!r}')
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether a host, a name or an address, is this machine and can't be reached from another."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def device(url: str) -> str | None:
    """What a scanner's URL comes down to, links resolved; None where it names no device that one scanner has alone.

    No device is opened. Recordings (regular files) and URLs of unknown kinds may be shared.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "usb":
        return url.lower()
    if colon and scheme in _NETWORK_SCHEMES:
        return _endpoint(rest)
    path = rest.removeprefix("//") if scheme in ("file", "spy") and colon else url
    return _node(path) if path.startswith("/") else None


def same_device(one: str | None, other: str | None) -> bool:
    """Whether two results of `device` can be one device; a USB URL without serial number takes any of its kind."""
    if one is None or other is None:
        return False
    if one.startswith("usb:") and other.startswith("usb:"):
        a, b = one.split(":", _USB_PARTS), other.split(":", _USB_PARTS)
        shorter = min(len(a), len(b))
        return a[:shorter] == b[:shorter]
    return one == other


def _endpoint(rest: str) -> str | None:
    try:
        host = urlsplit(rest).netloc.lower()
    except ValueError:
        return None  # no address; whoever is to open it refuses it
    return f"tcp:{_LOCALHOST}{host.removeprefix('localhost')}" if host.startswith("localhost:") else f"tcp:{host}"


def _node(path: str) -> str | None:
    if "\0" in path:
        return None  # no file can have that name, and asking for it is an error
    real = os.path.realpath(path.partition("?")[0])
    try:
        regular = stat.S_ISREG(Path(real).stat().st_mode)
    except OSError:
        regular = real.endswith(".scanlog")
    return None if regular else real
