"""USB devices: found anew after a replug, taken from the kernel with care, idle when nothing comes."""

from __future__ import annotations

import errno

import pytest
from structlog.testing import capture_logs

from scannerd.contract import BadFrame, CardRead, TransportError
from scannerd_drivers.transports import UsbSettings, open_url
from scannerd_drivers.transports.usb_device import UsbTransport
from scannerd_drivers.usb_bulk import UsbBulkDriver, UsbBulkOptions
from tests.fakes_usb import FakeBus, FakeDevice, FakeEndpoint, FakeInterface, usb_error

URL = "usb:05e0:1200"


def transport(bus: FakeBus, url: str = URL, settings: UsbSettings | None = None) -> UsbTransport:
    """A transport on the bus."""
    return UsbTransport(url, settings, lambda: bus)


def opened(bus: FakeBus, settings: UsbSettings | None = None) -> UsbTransport:
    """A transport on the bus, open."""
    port = transport(bus, settings=settings)
    port.open()
    return port


def test_packet_is_a_chunk() -> None:
    """What a transfer gives is a chunk."""
    port = opened(FakeBus(FakeDevice(reads=[b"AS\r", b"KH\r"])))
    assert [port.read(1), port.read(1)] == [b"AS\r", b"KH\r"]


def test_interrupt_endpoint() -> None:
    """Interrupt endpoints are read as bulk ones are."""
    report = FakeInterface(endpoints=(FakeEndpoint(attributes=3),), interface_class=3)
    port = opened(FakeBus(FakeDevice(interfaces=[report], reads=[b"\x02"])), UsbSettings(interface_class=3))
    assert port.read(1) == b"\x02"


def test_time_out_is_never_endless() -> None:
    """A read without patience asks for one millisecond: none would mean for ever."""
    bus = FakeBus(FakeDevice())
    port = opened(bus)
    port.read(0)
    port.read(0.2)
    assert bus.timeouts == [1, 200]


@pytest.mark.fault(27)
def test_time_outs_are_idle() -> None:
    """A time-out is idle in whatever words: a thousand of them reset nothing and say nothing, and the card comes."""
    idle = [usb_error(errno.ETIMEDOUT), usb_error(60), usb_error(None, -7)]
    bus = FakeBus(FakeDevice(reads=[*(idle[i % 3] for i in range(1000)), b"AS\r"]))
    port = opened(bus)
    calls = list(bus.calls)
    with capture_logs() as lines:
        assert [port.read(0.01) for _ in range(1001)] == [b""] * 1000 + [b"AS\r"]
    assert (bus.calls, lines) == (calls, [])


@pytest.mark.fault(30)
def test_read_size() -> None:
    """Reads are of one whole packet, the bits for packets a microframe aside."""
    bus = FakeBus(FakeDevice(interfaces=[FakeInterface(endpoints=(FakeEndpoint(packet=0x0800 | 512),))], reads=[b"A"]))
    assert opened(bus).read(1) == b"A"
    assert bus.sizes == [512]


@pytest.mark.fault(30)
@pytest.mark.parametrize("error", [usb_error(errno.EOVERFLOW), usb_error(None, -8)])
@pytest.mark.parametrize("options", [UsbBulkOptions(), UsbBulkOptions(start="\x02", end="\x03")])
def test_overflow_costs_one_frame(error: Exception, options: UsbBulkOptions) -> None:
    """A packet that is too long costs the frame it belongs to, which is refused; the next card is read."""
    assert isinstance(error, OSError)
    driver = UsbBulkDriver(options)
    settings = UsbSettings(overflow=driver._overflow())  # noqa: SLF001 - what its transport gets
    next_card = b"\x02KH\x03" if options.start else b"KH\r"
    port = opened(FakeBus(FakeDevice(reads=[options.start.encode() + b"A", error, next_card])), settings)
    decoder = driver.decoder(0)
    readings = [reading for _ in range(3) for reading in decoder.feed(port.read(1), 1)]
    assert [type(reading) for reading in readings] == [BadFrame, CardRead]


def test_stall_is_cleared_once() -> None:
    """A stalled endpoint is cleared and read on; one that stalls again at once is lost."""
    stall = usb_error(errno.EPIPE)
    bus = FakeBus(FakeDevice(reads=[stall, b"AS\r", stall, usb_error(None, -9)]))
    port = opened(bus)
    assert [port.read(1), port.read(1), port.read(1)] == [b"", b"AS\r", b""]
    with pytest.raises(TransportError, match="trouble"):
        port.read(1)
    assert bus.calls.count("clear 0x81") == 2


# --- the kernel's driver --------------------------------------------------------------------------------------


@pytest.mark.fault(24)
def test_kernel_driver() -> None:
    """Only the interface that is read is taken from the kernel, once logged, and it is given back at the close."""
    keys = FakeInterface(0, (FakeEndpoint(0x82, 3),), 3, kernel=True)
    bus = FakeBus(FakeDevice(interfaces=[FakeInterface(1, kernel=True), keys]))
    port = transport(bus, settings=UsbSettings(interface=1))
    with capture_logs() as lines:
        port.open()
    port.close()
    port.close()
    assert bus.calls == ["open 5", "detach 1", "claim 1", "release 1", "attach 1", "close 5"]
    assert [line["interface"] for line in lines] == [1]
    assert keys.kernel


def test_interface_of_a_killed_process() -> None:
    """An interface that a killed process had taken from the kernel is given back by the next one."""
    bus = FakeBus(FakeDevice())
    opened(bus).close()
    assert bus.calls == ["open 5", "claim 0", "release 0", "attach 0", "close 5"]


def test_interface_that_the_kernel_does_not_want() -> None:
    """An interface for which the kernel has no driver is closed all the same."""
    bus = FakeBus(FakeDevice(attach_error=usb_error(errno.ENOENT)))
    opened(bus).close()
    assert bus.calls == ["open 5", "claim 0", "release 0", "close 5"]


def test_claim_refused() -> None:
    """An interface that another program has is in use, and what was taken from the kernel is given back."""
    interface = FakeInterface(kernel=True)
    bus = FakeBus(FakeDevice(interfaces=[interface], claim_error=usb_error(errno.EBUSY)))
    with pytest.raises(TransportError, match="port in use: 05e0:1200"):
        transport(bus).open()
    assert interface.kernel


def test_unconfigured_device() -> None:
    """A device that nobody configured is configured; one that is configured is left alone."""
    bus = FakeBus(FakeDevice(configured=False, reads=[b"AS\r"]))
    assert opened(bus).read(1) == b"AS\r"
    assert "configure" in bus.calls


# --- finding --------------------------------------------------------------------------------------------------


@pytest.mark.fault(26)
def test_replug() -> None:
    """After a replug the old device is let go, and the bus searched anew: the device is found at its new address."""
    bus = FakeBus(FakeDevice(address=5, reads=[usb_error(errno.ENODEV)]))
    port = opened(bus)
    with pytest.raises(TransportError, match="ENODEV no such device") as lost:
        port.read(1)
    assert lost.value.remedy
    port.close()
    bus.devices = []
    with pytest.raises(TransportError, match="no USB device 05e0:1200"):
        port.open()
    bus.devices = [FakeDevice(address=6, reads=[b"KH\r"])]
    port.open()
    assert port.read(1) == b"KH\r"
    assert [call for call in bus.calls if call[:4] in {"open", "clos"}] == ["open 5", "close 5", "open 6"]


@pytest.mark.fault(129)
def test_other_devices_are_left_alone() -> None:
    """Devices of other kinds are not opened."""
    bus = FakeBus(FakeDevice(product=0x1201), FakeDevice(vendor=0x05E1))
    with pytest.raises(TransportError, match="no USB device"):
        transport(bus).open()
    assert bus.calls == []


def test_serial_number() -> None:
    """Of several of a kind the serial number tells which."""
    bus = FakeBus(FakeDevice(5, "A1", reads=[b"x"]), FakeDevice(6, "B2", reads=[b"KH\r"]), FakeDevice(7))
    port = transport(bus, URL + ":B2")
    port.open()
    assert port.read(1) == b"KH\r"


def test_serial_number_that_can_not_be_read() -> None:
    """A device that does not tell its serial number is not taken for one that has it."""
    bus = FakeBus(FakeDevice(5, "A1", langids=False))
    with pytest.raises(TransportError, match="no USB device 05e0:1200:A1"):
        transport(bus, URL + ":A1").open()


@pytest.mark.fault(49)
def test_several_devices() -> None:
    """Of several devices that fit none is taken: all are named."""
    bus = FakeBus(FakeDevice(5), FakeDevice(6))
    with pytest.raises(TransportError, match=r"several .*: bus 1 address 5, bus 1 address 6") as several:
        transport(bus).open()
    assert "serial number" in several.value.remedy


@pytest.mark.fault(49)
def test_several_endpoints() -> None:
    """Of several endpoints that fit none is taken: all are named, and the option that chooses."""
    two = [FakeInterface(0), FakeInterface(1, (FakeEndpoint(0x82), FakeEndpoint(0x83)))]
    bus = FakeBus(FakeDevice(interfaces=two, reads=[b"AS\r"]))
    places = "interface 0 endpoint 0x81, interface 1 endpoint 0x82, interface 1 endpoint 0x83"
    with pytest.raises(TransportError, match=places) as several:
        transport(bus).open()
    assert "`interface` and `endpoint`" in several.value.remedy
    assert opened(bus, UsbSettings(endpoint=0x83)).read(1) == b"AS\r"


@pytest.mark.parametrize("settings", [UsbSettings(interface=7), UsbSettings(endpoint=0x01), UsbSettings(endpoint=0x82)])
def test_no_such_endpoint(settings: UsbSettings) -> None:
    """An endpoint that the device does not have, or that is none to read from, is an error."""
    with pytest.raises(TransportError, match="no endpoint of 05e0:1200 fits"):
        transport(FakeBus(FakeDevice()), settings=settings).open()


@pytest.mark.fault(32)
def test_libusb_missing() -> None:
    """A machine without libusb is told so, with the package to install: it is not a scanner that is missing."""
    with pytest.raises(TransportError, match=r"libusb 1\.0 not found") as missing:
        UsbTransport(URL, None, lambda: None).open()
    assert (missing.value.fatal, missing.value.remedy) == (True, "apt install libusb-1.0-0")


@pytest.mark.fault(111)
@pytest.mark.parametrize(
    ("number", "words"), [(errno.EACCES, "no permission to open 05e0:1200"), (errno.EIO, "can't open 05e0:1200: EIO")]
)
def test_open_refused(number: int, words: str) -> None:
    """A device that can't be opened says why, and what helps."""
    with pytest.raises(TransportError, match=words) as refused:
        transport(FakeBus(FakeDevice(open_error=usb_error(number)))).open()
    assert refused.value.remedy


# --- writing, URLs --------------------------------------------------------------------------------------------


def test_write() -> None:
    """What is written goes to the OUT endpoint of the interface; a device that is gone is lost."""
    bus = FakeBus(FakeDevice())
    port = opened(bus)
    port.write(b"\x06")
    bus.devices = []
    with pytest.raises(TransportError, match="ENODEV"):
        port.write(b"\x06")
    assert bus.written == b"\x06"


def test_write_without_endpoint() -> None:
    """A device without an OUT endpoint can't be written to."""
    bus = FakeBus(FakeDevice(interfaces=[FakeInterface(endpoints=(FakeEndpoint(),))]))
    with pytest.raises(TransportError, match="can't be written to"):
        opened(bus).write(b"\x06")


def test_not_open() -> None:
    """A device that is not open can't be read."""
    with pytest.raises(TransportError, match="not open"):
        transport(FakeBus()).read(0)


@pytest.mark.parametrize("url", ["usb:05e0", "usb:05e0:12", "usb:05e0:120g", "usb:5e0:1200", "tcp:05e0:1200", "usb:"])
def test_bad_url(url: str) -> None:
    """A URL that names no vendor and product is refused."""
    with pytest.raises(ValueError, match="usb:VID:PID"):
        UsbTransport(url)


def test_driver_takes_usb_only() -> None:
    """The driver reads USB devices and nothing else."""
    driver = UsbBulkDriver(UsbBulkOptions(interface=1, endpoint=0x82, on_accepted="\x07"))
    assert isinstance(driver.transport(URL), UsbTransport)
    assert driver.feedback("accepted") == b"\x07"
    with pytest.raises(ValueError, match="usb:VID:PID"):
        driver.transport("/dev/ttyUSB0")


def test_open_url() -> None:
    """`usb:` is a USB device, and is one for report drivers too that say which endpoint they read."""
    assert isinstance(open_url(URL), UsbTransport)
    assert isinstance(open_url(URL, node="hidraw", usb=UsbSettings(interface_class=3)), UsbTransport)
