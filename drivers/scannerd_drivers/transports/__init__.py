"""Where scanners are reached: a URL of the configuration becomes a transport, not yet open.

The modules of a kind are loaded when a URL of that kind is seen: nobody needs pyusb for a serial port.
"""

from __future__ import annotations

from pathlib import Path

from scannerd.contract import Transport
from scannerd_drivers.transports.settings import LineSettings, Node, SerialSettings, UsbSettings

__all__ = ["LineSettings", "Node", "SerialSettings", "UsbSettings", "open_url"]


def open_url(
    url: str,
    serial: LineSettings | None = None,
    *,
    node: Node = "serial",
    usb: UsbSettings | None = None,
) -> Transport:
    """The transport for `url`, not yet open.

    Args:
        url: an absolute path, `tcp://host:port`, `usb:VID:PID[:serial]`, or a URL of pyserial such as
            `rfc2217://host:port`.
        serial: for serial lines; the options of a driver that inherit `SerialOptions` will do.
        node: what a path leads to: a serial port, a hidraw node or an input node. `usb:` leads to such a node of the
            device too, unless `usb` is given.
        usb: which interface and endpoint of a USB device to read, through libusb.

    Raises:
        ValueError: no transport knows such a URL.
    """
    scheme = url.partition(":")[0].lower()
    if Path(url).is_absolute() or (scheme == "usb" and node != "serial" and usb is None):
        return _node(url, node, serial)
    if scheme == "usb":
        from scannerd_drivers.transports.usb_device import UsbTransport  # noqa: PLC0415 - loads pyusb

        return UsbTransport(url, usb)
    if scheme == "tcp":
        from scannerd_drivers.transports.tcp import TcpTransport  # noqa: PLC0415 - as above

        return TcpTransport(url)
    if "://" in url and node == "serial":
        from scannerd_drivers.transports.serial_url import SerialUrlTransport  # noqa: PLC0415 - loads pyserial

        return SerialUrlTransport(url, serial)
    raise ValueError(f"expected a path, tcp://host:port, usb:VID:PID or a URL of pyserial, found {url!r}")


def _node(path: str, node: Node, serial: LineSettings | None) -> Transport:
    if node == "hidraw":
        from scannerd_drivers.transports.hidraw import HidrawTransport  # noqa: PLC0415 - only where it is used

        return HidrawTransport(path)
    if node == "evdev":
        from scannerd_drivers.transports.evdev_node import EvdevTransport  # noqa: PLC0415 - only where it is used

        return EvdevTransport(path)
    from scannerd_drivers.transports.serial_port import SerialTransport  # noqa: PLC0415 - loads pyserial

    return SerialTransport(path, serial)
