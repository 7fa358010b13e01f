"""HID devices through `/dev/hidraw…`: one read gives one report (hidraw.rst of the Linux kernel)."""

from __future__ import annotations

import os
from pathlib import Path

from scannerd_drivers.transports.node import NodeTransport, ReadCall
from scannerd_drivers.transports.usb_ids import SYSFS, UsbNodes

LARGEST_REPORT = 4096
"""HID_MAX_BUFFER_SIZE was 4096 until Linux 5.x; no scanner comes near it."""


class HidrawTransport(NodeTransport):
    """A hidraw node. A node that is opened begins with an empty queue."""

    def __init__(self, path: str, read: ReadCall = os.read, sysfs: Path = SYSFS) -> None:
        """Takes the path of the node, or `usb:VID:PID[:serial]`.

        Raises:
            ValueError: it is neither.
        """
        super().__init__(path, LARGEST_REPORT, read)
        self._nodes = UsbNodes(path, "hidraw", sysfs) if path.startswith("usb:") else None

    def _find(self) -> str:
        return self._nodes.find() if self._nodes else self.path
