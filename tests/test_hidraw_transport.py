"""HID devices through hidraw: whole reports, one a read, and the node found anew at each open."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.contract import TransportError
from scannerd_drivers.transports import open_url
from scannerd_drivers.transports.hidraw import HidrawTransport
from scannerd_drivers.transports.usb_ids import UsbNodes


class ReportNode:
    """A pipe that keeps the bounds of what is written, as hidraw does (pipe(2), O_DIRECT)."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._fd = os.open(path, os.O_RDWR)
        fcntl.fcntl(self._fd, fcntl.F_SETFL, os.O_DIRECT)

    def send(self, report: bytes) -> None:
        """The device sends a report."""
        os.write(self._fd, report)

    def close(self) -> None:
        """Unplugged."""
        os.close(self._fd)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ReportNode]:
    """A node that gives reports."""
    made = ReportNode(tmp_path / "hidraw0")
    yield made
    made.close()


def hid_device(sysfs: Path, name: str, hid_id: str, serial: str = "") -> None:
    """A hidraw node as sysfs shows it."""
    device = sysfs / "hidraw" / name / "device"
    device.mkdir(parents=True)
    (device / "uevent").write_text(f"DRIVER=hid-generic\nHID_ID={hid_id}\nHID_NAME=Scanner\nHID_UNIQ={serial}\n")


def test_report_a_read(node: ReportNode) -> None:
    """Each read gives one report, never two joined."""
    port = HidrawTransport(str(node.path))
    port.open()
    for report in (bytes(64), b"\x02" + bytes(63)):
        node.send(report)
    assert [port.read(5), port.read(5)] == [bytes(64), b"\x02" + bytes(63)]
    assert port.read(0.01) == b""
    port.close()


@pytest.mark.fault(45)
def test_dead_node(node: ReportNode) -> None:
    """A node that is always ready and fails at each read is closed at the first failure."""

    def fail(_fd: int, _size: int) -> bytes:
        raise OSError(errno.ENODEV, "No such device")

    port = HidrawTransport(str(node.path), fail)
    port.open()
    node.send(b"x")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting
    with pytest.raises(TransportError, match="ENODEV"):
        port.read(5)
    port.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1  # noqa: PTH208 - counting
    with pytest.raises(TransportError, match="not open"):
        port.read(5)


def test_found_by_usb_ids(tmp_path: Path) -> None:
    """A node is found by vendor, product and serial number, whatever its number is now."""
    hid_device(tmp_path, "hidraw0", "0003:000005E0:00001200", "A1")
    hid_device(tmp_path, "hidraw3", "0003:000005E0:00001200", "B2")
    hid_device(tmp_path, "hidraw4", "0003:0000046D:0000C31C")
    hid_device(tmp_path, "hidraw5", "odd")
    (tmp_path / "hidraw" / "hidraw6").mkdir()
    assert UsbNodes("usb:05e0:1200:B2", "hidraw", tmp_path).find() == "/dev/hidraw3"
    assert UsbNodes("usb:046d:c31c", "hidraw", tmp_path).find() == "/dev/hidraw4"


def test_none_and_several(tmp_path: Path) -> None:
    """Where no node fits, or several do, none is opened and the error says so."""
    hid_device(tmp_path, "hidraw0", "0003:000005E0:00001200")
    hid_device(tmp_path, "hidraw1", "0003:000005E0:00001200")
    with pytest.raises(TransportError, match=r"several hidraw nodes .*: hidraw0 .*, hidraw1"):
        HidrawTransport("usb:05e0:1200", sysfs=tmp_path).open()
    with pytest.raises(TransportError, match="no hidraw node of USB device 05e0:1201"):
        HidrawTransport("usb:05e0:1201", sysfs=tmp_path).open()


def test_urls(node: ReportNode) -> None:
    """A path or `usb:` is a hidraw node where the driver says so."""
    assert isinstance(open_url(str(node.path), node="hidraw"), HidrawTransport)
    assert isinstance(open_url("usb:05e0:1200", node="hidraw"), HidrawTransport)
