"""A USB bus in memory: a backend below pyusb, which keeps all of pyusb's own behaviour in the tests."""

from __future__ import annotations

import errno
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TypeAlias

import usb.backend
from usb.core import USBError

Answer: TypeAlias = bytes | USBError | Callable[[], bytes]
"""What a read gives, raises, or calls."""


@dataclass
class FakeEndpoint:
    """An endpoint; bulk unless said otherwise."""

    address: int = 0x81
    attributes: int = 2
    packet: int = 64


@dataclass
class FakeInterface:
    """An interface with its endpoints; `kernel`: a driver of the kernel has it."""

    number: int = 0
    endpoints: tuple[FakeEndpoint, ...] = (FakeEndpoint(), FakeEndpoint(0x01))
    interface_class: int = 255
    kernel: bool = False


@dataclass
class FakeDevice:
    """A device at an address of bus 1; `reads` is what its IN endpoint gives next."""

    address: int = 5
    serial: str | None = None
    vendor: int = 0x05E0
    product: int = 0x1200
    interfaces: list[FakeInterface] = field(default_factory=lambda: [FakeInterface()])
    reads: list[Answer] = field(default_factory=list)
    open_error: USBError | None = None
    claim_error: USBError | None = None
    attach_error: USBError | None = None
    configured: bool = True
    langids: bool = True


def usb_error(number: int | None, code: int | None = None) -> USBError:
    """An error as pyusb raises it, with the system's number and libusb's code."""
    return USBError("trouble", code, number)


class FakeBus(usb.backend.IBackend):  # type: ignore[misc] # pyusb comes without types
    """The devices that are plugged in, and all that was asked of them but for looking."""

    def __init__(self, *devices: FakeDevice) -> None:
        self.devices = list(devices)
        self.calls: list[str] = []
        self.sizes: list[int] = []
        self.timeouts: list[int] = []
        self.written = b""

    # The names and arguments of what follows are those of pyusb's backends.

    def enumerate_devices(self) -> Iterator[FakeDevice]:
        """The devices, in order."""
        return iter(self.devices)

    def get_parent(self, _device: FakeDevice) -> None:
        """No hubs."""

    def get_device_descriptor(self, device: FakeDevice) -> SimpleNamespace:
        """Who it is."""
        return SimpleNamespace(
            bLength=18, bDescriptorType=1, bcdUSB=0x200, bDeviceClass=0, bDeviceSubClass=0, bDeviceProtocol=0,
            bMaxPacketSize0=64, idVendor=device.vendor, idProduct=device.product, bcdDevice=1, iManufacturer=0,
            iProduct=0, iSerialNumber=3 if device.serial else 0, bNumConfigurations=1, address=device.address, bus=1,
            port_number=1, port_numbers=(1,), speed=3,
        )  # fmt: skip

    def get_configuration_descriptor(self, device: FakeDevice, _config: int) -> SimpleNamespace:
        """Its one configuration."""
        return SimpleNamespace(
            bLength=9, bDescriptorType=2, wTotalLength=32, bNumInterfaces=len(device.interfaces),
            bConfigurationValue=1, iConfiguration=0, bmAttributes=0x80, bMaxPower=50, extra_descriptors=[],
        )  # fmt: skip

    def get_interface_descriptor(self, device: FakeDevice, index: int, alt: int, _config: int) -> SimpleNamespace:
        """One interface, without alternate settings."""
        if alt:
            raise IndexError
        interface = device.interfaces[index]
        return SimpleNamespace(
            bLength=9, bDescriptorType=4, bInterfaceNumber=interface.number, bAlternateSetting=0,
            bNumEndpoints=len(interface.endpoints), bInterfaceClass=interface.interface_class, bInterfaceSubClass=0,
            bInterfaceProtocol=0, iInterface=0, extra_descriptors=[],
        )  # fmt: skip

    def get_endpoint_descriptor(
        self, device: FakeDevice, number: int, index: int, _alt: int, _config: int
    ) -> SimpleNamespace:
        """One endpoint."""
        endpoint = device.interfaces[index].endpoints[number]
        return SimpleNamespace(
            bLength=7, bDescriptorType=5, bEndpointAddress=endpoint.address, bmAttributes=endpoint.attributes,
            wMaxPacketSize=endpoint.packet, bInterval=1, bRefresh=0, bSynchAddress=0, extra_descriptors=[],
        )  # fmt: skip

    def open_device(self, device: FakeDevice) -> FakeDevice:
        """The device is its own handle."""
        if device.open_error is not None:
            raise device.open_error
        self.calls.append(f"open {device.address}")
        return device

    def close_device(self, device: FakeDevice) -> None:
        """Closes the handle."""
        self.calls.append(f"close {device.address}")

    def get_configuration(self, device: FakeDevice) -> int:
        """0 until it is configured."""
        return int(device.configured)

    def set_configuration(self, device: FakeDevice, _value: int) -> None:
        """Configures it."""
        self.calls.append("configure")
        device.configured = True

    def is_kernel_driver_active(self, device: FakeDevice, number: int) -> bool:
        """Whether the kernel has the interface."""
        return _interface(device, number).kernel

    def detach_kernel_driver(self, device: FakeDevice, number: int) -> None:
        """Takes it from the kernel."""
        self.calls.append(f"detach {number}")
        _interface(device, number).kernel = False

    def attach_kernel_driver(self, device: FakeDevice, number: int) -> None:
        """Gives it back."""
        if device.attach_error is not None:
            raise device.attach_error
        self.calls.append(f"attach {number}")
        _interface(device, number).kernel = True

    def claim_interface(self, device: FakeDevice, number: int) -> None:
        """Refused while the kernel has it, as the system does."""
        if device.claim_error is not None:
            raise device.claim_error
        if _interface(device, number).kernel:
            raise usb_error(errno.EBUSY)
        self.calls.append(f"claim {number}")

    def release_interface(self, _device: FakeDevice, number: int) -> None:
        """Lets it go."""
        self.calls.append(f"release {number}")

    def clear_halt(self, _device: FakeDevice, endpoint: int) -> None:
        """Clears a stall."""
        self.calls.append(f"clear {endpoint:#x}")

    def bulk_read(self, device: FakeDevice, endpoint: int, _interface: int, buff: array[int], timeout: int) -> int:
        """The next answer; too small a buffer overflows, as the system does."""
        packet = next(e.packet for i in device.interfaces for e in i.endpoints if e.address == endpoint) & 0x7FF
        self.sizes.append(len(buff))
        self.timeouts.append(timeout)
        if len(buff) % packet:
            raise usb_error(errno.EOVERFLOW)
        if not device.reads:
            raise usb_error(errno.ETIMEDOUT)
        answer = device.reads.pop(0)
        if isinstance(answer, USBError):
            raise answer
        data = answer if isinstance(answer, bytes) else answer()
        buff[: len(data)] = array("B", data)
        return len(data)

    intr_read = bulk_read

    def bulk_write(self, device: FakeDevice, _endpoint: int, _interface: int, data: array[int], _timeout: int) -> int:
        """Keeps what is written."""
        if device not in self.devices:
            raise usb_error(errno.ENODEV)
        self.written += data.tobytes()
        return len(data)

    def ctrl_transfer(
        self, device: FakeDevice, _type: int, _request: int, value: int, _index: int, data: array[int], _timeout: int
    ) -> int:
        """Tells the languages and the serial number, the only strings there are."""
        if not device.langids:
            raise usb_error(errno.EPIPE)
        text = (device.serial or "").encode("utf-16-le") if value & 0xFF else b"\x09\x04"
        answer = bytes((len(text) + 2, 3)) + text
        data[: len(answer)] = array("B", answer)
        return len(answer)


def _interface(device: FakeDevice, number: int) -> FakeInterface:
    return next(interface for interface in device.interfaces if interface.number == number)
