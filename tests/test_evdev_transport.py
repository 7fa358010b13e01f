"""Scanners that type: grabbed or not read, and never a keyboard that is none."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.contract import TransportError
from scannerd_drivers.transports import open_url
from scannerd_drivers.transports.evdev_node import EVENT, EvdevTransport
from scannerd_drivers.transports.usb_ids import KEYS_OF_A_SCANNER, UsbNodes

EVIOCGRAB = 0x40044590
SCANNER_KEYS: int = sum(1 << key for key in KEYS_OF_A_SCANNER)
MEDIA_KEYS = 1 << 113 | 1 << 114 | 1 << 115  # mute, volume down, volume up


def key_press(code: int) -> bytes:
    """A key press as the kernel reports it."""
    return struct.pack("=qqHHi", 1, 2, 1, code, 1)


class InputNode:
    """An input node: a pipe that keeps the bounds of events, and the kernel's answers to ioctl."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.keys = SCANNER_KEYS
        self.grabs: list[int] = []
        self.grabbed_by_another = False
        self.typed_before_grab = b""
        self._fd = os.open(path, os.O_RDWR)
        fcntl.fcntl(self._fd, fcntl.F_SETFL, os.O_DIRECT)

    def ioctl(self, _fd: int, request: int, argument: int | bytes) -> int | bytes:
        """Tells its keys, and grabs."""
        if isinstance(argument, bytes):
            return int(self.keys).to_bytes(len(argument), "little")
        assert request == EVIOCGRAB
        if self.grabbed_by_another:
            raise OSError(errno.EBUSY, "Device or resource busy")
        if self.typed_before_grab:
            self.send(self.typed_before_grab)
        self.grabs.append(argument)
        return 0

    def send(self, event: bytes) -> None:
        """The device types."""
        os.write(self._fd, event)

    def close(self) -> None:
        """Unplugged."""
        os.close(self._fd)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InputNode]:
    """A scanner's input node."""
    made = InputNode(tmp_path / "event0")
    yield made
    made.close()


def input_device(sysfs: Path, name: str, product: str, keys: str, serial: str = "") -> None:
    """An input node as sysfs shows it."""
    device = sysfs / "input" / name / "device"
    for folder in ("id", "capabilities"):
        (device / folder).mkdir(parents=True)
    (device / "id/vendor").write_text("05e0\n")
    (device / "id/product").write_text(product + "\n")
    (device / "uniq").write_text(serial + "\n")
    (device / "phys").write_text(f"usb-1/{name}\n")
    (device / "capabilities/key").write_text(keys + "\n")


@pytest.mark.fault(47)
def test_grabbed(node: InputNode) -> None:
    """The node is grabbed while it is open, and let go at the close."""
    port = EvdevTransport(str(node.path), ioctl=node.ioctl)
    port.open()
    assert node.grabs == [1]
    port.close()
    assert node.grabs == [1, 0]


def test_event_a_read(node: InputNode) -> None:
    """Each read gives one event of 24 bytes; what was typed before the grab is thrown away."""
    node.typed_before_grab = key_press(9)
    port = EvdevTransport(str(node.path), ioctl=node.ioctl)
    port.open()
    node.typed_before_grab = b""
    for code in (2, 28):
        node.send(key_press(code))
    assert [port.read(5), port.read(5)] == [key_press(2), key_press(28)]
    assert len(key_press(2)) == EVENT
    port.close()


@pytest.mark.fault(47)
def test_grabbed_by_another(node: InputNode) -> None:
    """A node that another program has grabbed is not read; it is opened once that lets go."""
    port = EvdevTransport(str(node.path), ioctl=node.ioctl)
    node.grabbed_by_another = True
    with pytest.raises(TransportError, match="port in use"):
        port.open()
    with pytest.raises(TransportError, match="not open"):
        port.read(0)
    node.grabbed_by_another = False
    port.open()
    port.close()


@pytest.mark.fault(49)
def test_node_of_media_keys(node: InputNode) -> None:
    """A node that can't type digits and ENTER is refused before it is grabbed."""
    node.keys = MEDIA_KEYS
    with pytest.raises(TransportError, match="can't type digits and ENTER") as refused:
        EvdevTransport(str(node.path), ioctl=node.ioctl).open()
    assert "-event-kbd" in refused.value.remedy
    assert 1 not in node.grabs


def test_no_input_node(node: InputNode) -> None:
    """A path that leads to something else is an error, with the system's own ioctl."""
    with pytest.raises(TransportError, match="can't open"):
        EvdevTransport(str(node.path)).open()


@pytest.mark.fault(45)
def test_dead_node(node: InputNode) -> None:
    """A node that is always ready and fails at each read is lost at the first failure."""
    reads = iter([b""])

    def fail(_fd: int, _size: int) -> bytes:
        for data in reads:
            return data
        raise OSError(errno.ENODEV, "No such device")

    port = EvdevTransport(str(node.path), fail, node.ioctl)
    port.open()
    node.send(key_press(2))
    with pytest.raises(TransportError, match="ENODEV"):
        port.read(5)
    port.close()


@pytest.mark.fault(49)
def test_found_by_capability(tmp_path: Path) -> None:
    """Of a device with two nodes the one that types is found, and a keyboard of the same maker is not."""
    input_device(tmp_path, "event3", "1200", "e000000000000 0")
    input_device(tmp_path, "event4", "1200", f"0 {SCANNER_KEYS:x}", "A1")
    input_device(tmp_path, "event5", "9999", f"{SCANNER_KEYS:x}")
    (tmp_path / "input/event6").mkdir()
    (tmp_path / "input/mouse0").mkdir()
    assert UsbNodes("usb:05e0:1200", "input", tmp_path).find() == "/dev/input/event4"
    assert UsbNodes("usb:05e0:1200:A1", "input", tmp_path).find() == "/dev/input/event4"


@pytest.mark.fault(49)
def test_ambiguous(tmp_path: Path) -> None:
    """Where two nodes could be the scanner's none is opened, and both are named with their place."""
    input_device(tmp_path, "event4", "1200", f"{SCANNER_KEYS:x}")
    input_device(tmp_path, "event5", "1200", f"{SCANNER_KEYS:x}")
    with pytest.raises(TransportError, match=r"several .*: event4 \(usb-1/event4\), event5 \(usb-1/event5\)"):
        EvdevTransport("usb:05e0:1200", sysfs=tmp_path).open()


def test_urls(node: InputNode) -> None:
    """A path or `usb:` is an input node where the driver says so."""
    assert isinstance(open_url(str(node.path), node="evdev"), EvdevTransport)
    assert isinstance(open_url("usb:05e0:1200", node="evdev"), EvdevTransport)
