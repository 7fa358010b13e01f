"""What every transport must stand: opened and closed again and again, pulled while reading, stopped while reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from threading import enumerate as threads
from typing import ClassVar, Literal, TypeVar

import pytest

from scannerd.channel import Channel
from scannerd.contract import Transport, TransportError
from scannerd.core.events import Read, ScannerWentDown, ScannerWentUp
from scannerd.driver_contract.case import DriverCase, expect
from scannerd.driver_contract.devices import Device, PtyDevice, TcpDevice
from scannerd.driver_contract.feeding import codes, feed
from scannerd.readers import MachineClock, Reader, Recorded, ToInbox
from scannerd.scanlog import Chunk

TIMES = 200
"""How often a device is opened and closed."""

_LOSS_SECONDS = 2.0
_WAIT = 5.0

T = TypeVar("T")


class TransportContract(DriverCase):
    """Tests of a driver's own transport on a device made of nothing.

    Attributes:
        wire: what the device hangs on: a pseudo-terminal, or a TCP port.
        absent: a URL of the driver's kind at which there is nothing.
    """

    wire: ClassVar[Literal["pty", "tcp"]] = "pty"
    absent: ClassVar[str] = "/dev/scannerd/no-such-scanner"

    def make_device(self, folder: Path) -> Device:
        """The device; a driver for another bus makes its own."""
        return TcpDevice() if self.wire == "tcp" else PtyDevice(folder / "scanner", raw=self.reports)

    def make_transport(self, url: str) -> Transport:
        """The driver's transport for the device."""
        return self.driver.transport(url)

    @pytest.fixture
    def device(self, tmp_path: Path) -> Iterator[Device]:
        """A scanner that is plugged in."""
        device = self.make_device(tmp_path)
        yield device
        device.close()

    @pytest.fixture
    def transport(self, device: Device) -> Iterator[Transport]:
        """The driver's transport for it, not yet open."""
        transport = self.make_transport(device.url)
        yield transport
        transport.close()

    def test_frame_arrives(self, device: Device, transport: Transport) -> None:
        """What the scanner sends is what the decoder gets, whatever the system does to bytes."""
        transport.open()
        for code in self.frames:
            found = codes(feed(self.decoder(), self._sent(code, device, transport)))
            expect(found == [code], f"the scanner sent {self.chunks(code)!r} and the driver read {found}")

    def test_idle_read_ends(self, transport: Transport) -> None:
        """A read of a scanner that is silent gives nothing, at its time-out."""
        transport.open()
        expect(_within(_WAIT, lambda: transport.read(0.01)) == b"", "an idle read gave bytes")

    def test_opened_and_closed_again_and_again(self, device: Device, transport: Transport) -> None:
        """Two hundred opens and closes leave no descriptor and no thread behind, and the scanner is read after them."""
        before, running = _descriptors(), set(threads())
        for _ in range(TIMES):
            transport.open()
            transport.close()
            transport.close()
        for thread in set(threads()) - running:
            thread.join(_WAIT)
        expect(set(threads()) <= running, f"threads are left: {set(threads()) - running}")
        expect(_descriptors() <= before, f"{_descriptors() - before} descriptors are left open")
        self.test_frame_arrives(device, transport)

    def test_absent_device_is_told(self) -> None:
        """A device that is not there can't be opened, and the error says so and can be tried again."""
        transport = self.make_transport(self.absent)
        for _ in range(2):
            error = _raised(transport.open)
            expect(isinstance(error, TransportError) and str(error), f"opening {self.absent} ended in {error!r}")
            transport.close()

    def test_unplugged_while_reading(self, device: Device, transport: Transport) -> None:
        """A device that is pulled ends a read that waits, as a `TransportError`, and is read again when it is back."""
        transport.open()
        watched = _Watched(transport)
        found: SimpleQueue[BaseException | None] = SimpleQueue()
        Thread(target=lambda: found.put(_raised(watched.read_on)), daemon=True).start()
        expect(watched.reading.wait(_WAIT), "the read did not begin")
        device.unplug()
        try:
            error = _next(found, _LOSS_SECONDS, "the device was pulled and the read goes on")
        finally:
            watched.over.set()
        expect(isinstance(error, TransportError), f"the device was pulled and the read ended in {error!r}")
        write = _raised(lambda: transport.write(b"x"))
        expect(write is None or isinstance(write, TransportError), f"writing to a pulled device ended in {write!r}")
        transport.close()
        device.plug()
        self.test_frame_arrives(device, transport)

    def test_stopped_while_reading(self, transport: Transport) -> None:
        """A reader that waits for a silent scanner stops within a second."""
        watched = _Watched(transport)
        reader, _, _ = self._reader(watched)
        reader.start()
        expect(watched.reading.wait(_WAIT), "the reader did not begin to read")
        reader.stop()
        expect(reader.join(1.0), "the reader was asked to stop and goes on")

    def test_lives_in_the_daemon(self, device: Device, transport: Transport) -> None:
        """In the daemon's reader a scanner comes up, is read, goes down when pulled, and comes up when it is back."""
        reader, inbox, arrived = self._reader(transport)
        reader.start()
        try:
            for code in list(self.frames)[:2]:
                _next_of(ScannerWentUp, inbox)
                for chunk in self.chunks(code):
                    device.send(chunk)
                    _next_of(Chunk, arrived)
                card = _next_of(Read, inbox).card
                expect(card == code, f"the scanner sent {code!r} and the daemon read {card!r}")
                device.unplug()
                _next_of(ScannerWentDown, inbox)
                device.plug()
        finally:
            reader.stop()
            expect(reader.join(1.0), "the reader was asked to stop and goes on")

    def _reader(self, transport: Transport) -> tuple[Reader, SimpleQueue[ToInbox], SimpleQueue[Recorded]]:
        inbox: SimpleQueue[ToInbox] = SimpleQueue()
        arrived: SimpleQueue[Recorded] = SimpleQueue()
        clock = MachineClock()
        channel = Channel("scanner", self.driver, _EveryCode(), None, clock.now())
        return Reader(channel, transport, inbox.put, clock=clock, record=arrived.put), inbox, arrived

    def _sent(self, code: str, device: Device, transport: Transport) -> list[bytes]:
        """Sends a frame, report by report where there are such, and returns what the transport gave for it."""
        given: list[bytes] = []
        for chunk in self.chunks(code):
            device.send(chunk)
            missing = len(chunk)
            while missing > 0:
                piece = transport.read(_WAIT)
                expect(piece, f"the scanner sent {chunk!r} and nothing came")
                given.append(piece)
                missing -= len(piece)
        return given


class _EveryCode:
    """A codebook in which every code is a card of its own name."""

    def lookup(self, code: str) -> object:
        """The code."""
        return code


class _Watched(Transport):
    """Another transport, which says when it is being read.

    Attributes:
        reading: a read has begun.
        over: nobody is interested any more.
    """

    def __init__(self, inner: Transport) -> None:
        self.reading = Event()
        self.over = Event()
        self._inner = inner

    def open(self) -> None:
        self._inner.open()

    def read(self, timeout: float) -> bytes:
        self.reading.set()
        return self._inner.read(timeout)

    def write(self, data: bytes) -> None:
        self._inner.write(data)

    def close(self) -> None:
        self._inner.close()

    def read_on(self) -> None:
        """Reads until it raises, or until nobody is interested any more."""
        while not self.over.is_set():
            self.read(0.2)


def _raised(call: Callable[[], object]) -> BaseException | None:
    """What a call raises, None where it ends well."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        return error
    return None


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns.

    Raises:
        BrokenContractError: it does not return in time.
    """
    result: SimpleQueue[T] = SimpleQueue()
    Thread(target=lambda: result.put(call()), daemon=True).start()
    return _next(result, seconds, f"it did not come back within {seconds:g} s")


def _next(queue: SimpleQueue[T], seconds: float, otherwise: str) -> T:
    try:
        return queue.get(timeout=seconds)
    except Empty:
        expect(holds=False, otherwise=otherwise)
        raise


def _next_of(kind: type[T], queue: SimpleQueue[ToInbox] | SimpleQueue[Recorded]) -> T:
    """The next entry of a kind; others before it are of no matter here."""
    while True:
        try:
            found = queue.get(timeout=_WAIT)
        except Empty:
            expect(holds=False, otherwise=f"no {kind.__name__} within {_WAIT:g} s")
            raise
        if isinstance(found, kind):
            return found


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
