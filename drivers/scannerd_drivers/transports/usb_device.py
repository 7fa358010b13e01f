"""USB devices through libusb, `usb:VID:PID[:serial]`: an IN endpoint of a scanner without a driver of the system.

The bus is searched at each open: after a replug the device has another address, and the object of the old one fails for
ever. Only the interfaces that are read are taken from the kernel, and they are given back. A read that times out is
idle, however libusb words it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Protocol, TypeAlias

import structlog
import usb.backend.libusb1
import usb.core
import usb.util

from scannerd.contract import Transport, TransportError
from scannerd_drivers.transports.settings import UsbSettings
from scannerd_drivers.transports.trouble import UDEV_RULES, words
from scannerd_drivers.transports.usb_ids import UsbId, usb_id

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger(part="usb")

WRITE_MS = 500
_LIBUSB_TIMEOUT, _LIBUSB_OVERFLOW, _LIBUSB_PIPE = -7, -8, -9  # libusb.h, enum libusb_error
_TIMEOUTS = (errno.ETIMEDOUT, 60)  # 60 is ETIMEDOUT of other systems, which some backends pass on
_PACKET_BYTES = 0x7FF  # USB 2.0, table 9-13: the bits above say how many packets a microframe may hold
_TRANSFER_TYPES = (2, 3)  # USB 2.0, table 9-13: bulk, interrupt
_IN = 0x80

FindBackend: TypeAlias = Callable[[], object | None]
"""Finds the pyusb backend, None where libusb is missing."""


class Endpoint(Protocol):
    """As much of pyusb's endpoint as is used here; pyusb comes without types."""

    bEndpointAddress: int  # noqa: N815 - the name in the USB standard
    bmAttributes: int  # noqa: N815 - as above
    wMaxPacketSize: int  # noqa: N815 - as above

    def read(self, size: int, timeout: int) -> Iterable[int]: ...  # noqa: D102 - pyusb's

    def write(self, data: bytes, timeout: int) -> int: ...  # noqa: D102 - pyusb's

    def clear_halt(self) -> None: ...  # noqa: D102 - pyusb's


class Interface(Protocol):
    """As much of pyusb's interface as is used here."""

    bInterfaceNumber: int  # noqa: N815 - the name in the USB standard
    bAlternateSetting: int  # noqa: N815 - as above
    bInterfaceClass: int  # noqa: N815 - as above

    def __iter__(self) -> Iterator[Endpoint]: ...


class Device(Protocol):
    """As much of pyusb's device as is used here."""

    bus: int
    address: int
    serial_number: str | None

    def get_active_configuration(self) -> Iterable[Interface]: ...  # noqa: D102 - pyusb's

    def set_configuration(self) -> None: ...  # noqa: D102 - pyusb's

    def is_kernel_driver_active(self, interface: int) -> bool: ...  # noqa: D102 - pyusb's

    def detach_kernel_driver(self, interface: int) -> None: ...  # noqa: D102 - pyusb's

    def attach_kernel_driver(self, interface: int) -> None: ...  # noqa: D102 - pyusb's


class UsbTransport(Transport):
    """One IN endpoint of a USB device; one transfer is one chunk, or one report."""

    def __init__(
        self, url: str, settings: UsbSettings | None = None, find_backend: FindBackend = usb.backend.libusb1.get_backend
    ) -> None:
        """Takes `usb:VID:PID` with hexadecimal ids, and the serial number where there are several of the kind.

        Raises:
            ValueError: it is no such URL.
        """
        self._id = usb_id(url)
        self._settings = settings or UsbSettings()
        self._find_backend = find_backend
        self._device: Device | None = None
        self._endpoint: Endpoint | None = None
        self._out: Endpoint | None = None
        self._claimed: int | None = None
        self._detached: int | None = None
        self._stalled = False

    def open(self) -> None:
        """Searches the bus, takes the interface from the kernel and claims it.

        Raises:
            TransportError: absent, ambiguous, busy or forbidden; fatal where libusb is missing.
        """
        self.close()
        backend = self._find_backend()
        if backend is None:
            remedy = "apt install libusb-1.0-0"
            raise TransportError("libusb 1.0 not found", remedy=remedy, fatal=True)
        try:
            self._take(self._search(backend))
        except usb.core.USBError as error:
            self.close()
            raise _cannot_open(self._id, error) from error
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float) -> bytes:
        """One transfer; empty after `timeout` seconds.

        Raises:
            TransportError: the device is gone, or stalls twice in a row.
        """
        if self._endpoint is None:
            raise TransportError("not open")
        try:
            data = bytes(self._endpoint.read(_packet(self._endpoint), max(1, int(timeout * 1000))))
        except usb.core.USBError as error:
            return self._make_of(error)
        self._stalled = False
        return data

    def write(self, data: bytes) -> None:
        """Writes `data` to the interface's OUT endpoint.

        Raises:
            TransportError: there is none, or the device is gone.
        """
        if self._out is None:
            raise TransportError("this device can't be written to")
        try:
            self._out.write(data, WRITE_MS)
        except usb.core.USBError as error:
            raise _lost(error) from error

    def close(self) -> None:
        """Gives the interface back to the kernel and forgets the device."""
        device = self._device
        claimed, self._claimed = self._claimed, None
        detached, self._detached = self._detached, None
        self._device = self._endpoint = self._out = None
        self._stalled = False
        if device is None:
            return
        if claimed is not None:
            _quietly(lambda: usb.util.release_interface(device, claimed))
        number = detached if claimed is None else claimed
        if number is not None:  # also where the kernel had no driver on it: a process killed before us took that away
            _quietly(lambda: device.attach_kernel_driver(number))
        _quietly(lambda: usb.util.dispose_resources(device))

    def _search(self, backend: object) -> Device:
        wanted = self._id
        here: list[Device] = list(
            usb.core.find(find_all=True, backend=backend, idVendor=wanted.vendor, idProduct=wanted.product)
        )
        found = [device for device in here if wanted.serial is None or _serial(device) == wanted.serial]
        if not found:
            remedy = "plug the scanner in; `scannerd devices` shows what is there"
            raise TransportError(f"no USB device {wanted}", remedy=remedy)
        if len(found) > 1:
            places = ", ".join(f"bus {device.bus} address {device.address}" for device in found)
            remedy = "add the serial number to the URL: usb:VID:PID:serial"
            raise TransportError(f"several USB devices {wanted}: {places}", remedy=remedy)
        return found[0]

    def _take(self, device: Device) -> None:
        self._device = device
        interface, endpoint = self._choose(_configuration(device))
        number = interface.bInterfaceNumber
        with suppress(NotImplementedError):  # systems without kernel drivers to detach
            if device.is_kernel_driver_active(number):
                device.detach_kernel_driver(number)
                self._detached = number
                _log.info("taken from the kernel's driver", device=str(self._id), interface=number)
        usb.util.claim_interface(device, number)
        self._claimed = number
        self._endpoint = endpoint
        self._out = next((other for other in interface if _carries(other, out=True)), None)

    def _choose(self, interfaces: Iterable[Interface]) -> tuple[Interface, Endpoint]:
        fits = [
            (interface, endpoint)
            for interface in interfaces
            if interface.bAlternateSetting == 0 and self._wants(interface)
            for endpoint in interface
            if _carries(endpoint) and self._settings.endpoint in (None, endpoint.bEndpointAddress)
        ]
        if len(fits) == 1:
            return fits[0]
        places = ", ".join(f"interface {i.bInterfaceNumber} endpoint 0x{e.bEndpointAddress:02x}" for i, e in fits)
        detail = f"several endpoints of {self._id} fit: {places}" if fits else f"no endpoint of {self._id} fits"
        raise TransportError(detail, remedy="name the right one with the options `interface` and `endpoint`")

    def _wants(self, interface: Interface) -> bool:
        wanted = self._settings
        return wanted.interface in (None, interface.bInterfaceNumber) and wanted.interface_class in (
            None,
            interface.bInterfaceClass,
        )

    def _make_of(self, error: usb.core.USBError) -> bytes:
        """What a read that failed gives: nothing for a time-out, the stand-in for a packet that is lost."""
        code = error.backend_error_code
        if error.errno in _TIMEOUTS or (error.errno is None and code == _LIBUSB_TIMEOUT):
            return b""
        if error.errno == errno.EOVERFLOW or code == _LIBUSB_OVERFLOW:
            return self._settings.overflow
        if (error.errno == errno.EPIPE or code == _LIBUSB_PIPE) and not self._stalled and self._endpoint is not None:
            self._stalled = True
            _quietly(self._endpoint.clear_halt)
            return b""
        raise _lost(error) from error


def _configuration(device: Device) -> Iterable[Interface]:
    try:
        return device.get_active_configuration()
    except usb.core.USBError:  # nobody has configured it; doing so to a configured one would reset it
        device.set_configuration()
        return device.get_active_configuration()


def _packet(endpoint: Endpoint) -> int:
    """How much to read: one packet. Less than that overflows; more waits for a short packet that may not come."""
    return endpoint.wMaxPacketSize & _PACKET_BYTES


def _carries(endpoint: Endpoint, *, out: bool = False) -> bool:
    return endpoint.bmAttributes & 3 in _TRANSFER_TYPES and bool(endpoint.bEndpointAddress & _IN) != out


def _serial(device: Device) -> str | None:
    try:
        return device.serial_number
    except ValueError:  # pyusb's word for a device that we may not ask
        return None


def _quietly(call: Callable[[], None]) -> None:
    with suppress(usb.core.USBError, NotImplementedError):
        call()


def _cannot_open(device: UsbId, error: usb.core.USBError) -> TransportError:
    if error.errno in (errno.EACCES, errno.EPERM):
        remedy = f"install {UDEV_RULES} and plug the scanner in again"
        return TransportError(f"no permission to open {device}", remedy=remedy)
    if error.errno == errno.EBUSY:
        return TransportError(f"port in use: {device}", remedy="end the other program that reads it")
    return TransportError(f"can't open {device}: {_words(error)}", remedy="unplug the scanner and plug it in again")


def _lost(error: usb.core.USBError) -> TransportError:
    return TransportError(_words(error), remedy="check the cable and the scanner's power")


def _words(error: usb.core.USBError) -> str:
    return words(error) if error.errno is not None else str(error)
