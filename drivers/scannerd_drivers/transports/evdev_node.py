"""Scanners that type, through `/dev/input/event…`: one read gives one event of 24 bytes.

The node is grabbed, or it is not read: without the grab the codes would also be typed into whatever has the focus. A
device often has several nodes with one name; only one that has digits and an end key can be the scanner's.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from scannerd.contract import TransportError
from scannerd_drivers.transports.node import NodeTransport, ReadCall
from scannerd_drivers.transports.usb_ids import SYSFS, UsbNodes, can_type

EVENT = 24
"""Bytes of one event, `struct input_event` on 64 bits: two times of 8 bytes, type, code and value."""

_EVIOCGRAB = 0x40044590  # linux/input.h, _IOW('E', 0x90, int)
_KEY_BYTES = 96
_EVIOCGBIT_KEY = 0x80004521 | _KEY_BYTES << 16  # linux/input.h, EVIOCGBIT(EV_KEY, 96)

IoctlCall: TypeAlias = Callable[[int, int, int | bytes], int | bytes]
"""`fcntl.ioctl`: takes a descriptor, a request and its argument."""


def _ioctl(fd: int, request: int, argument: int | bytes) -> int | bytes:
    return fcntl.ioctl(fd, request, argument)


class EvdevTransport(NodeTransport):
    """An input node, grabbed."""

    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC

    def __init__(self, path: str, read: ReadCall = os.read, ioctl: IoctlCall = _ioctl, sysfs: Path = SYSFS) -> None:
        """Takes the path of the node, or `usb:VID:PID[:serial]`.

        Raises:
            ValueError: it is neither.
        """
        super().__init__(path, EVENT, read)
        self._ioctl = ioctl
        self._nodes = UsbNodes(path, "input", sysfs) if path.startswith("usb:") else None

    def _find(self) -> str:
        return self._nodes.find() if self._nodes else self.path

    def _prepare(self, fd: int, path: str) -> None:
        if not _can_type(self._ioctl(fd, _EVIOCGBIT_KEY, bytes(_KEY_BYTES))):
            raise TransportError(
                f"{path} can't type digits and ENTER: it is another part of the device, or none that scans",
                remedy="use the link that ends in -event-kbd below /dev/input/by-id",
            )
        self._ioctl(fd, _EVIOCGRAB, 1)
        with suppress(BlockingIOError):
            while self._read(fd, EVENT):
                pass  # typed between open and grab

    def _release(self, fd: int) -> None:
        with suppress(OSError):
            self._ioctl(fd, _EVIOCGRAB, 0)


def _can_type(keys: int | bytes) -> bool:
    return isinstance(keys, bytes) and can_type(int.from_bytes(keys, "little"))
