"""A reader's thread: opens, reads, tells, loses, finds again, and always ends when it is asked to."""

from __future__ import annotations

import errno
import fcntl
import os
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event

import pytest
from structlog.testing import capture_logs

from scannerd.channel import Channel
from scannerd.contract import Transport, TransportError
from scannerd.core.events import FailedRead, Read, ScannerWentDown, ScannerWentUp
from scannerd.readers import (
    LOG_AGAIN,
    STEADY,
    MachineClock,
    Reader,
    ReaderClock,
    Recorded,
    Settle,
    ThreadDied,
    ToInbox,
)
from scannerd.scanlog import Chunk, Link, Sent
from scannerd_drivers.line import LineDriver, LineOptions
from scannerd_drivers.transports.serial_port import SerialTransport, TtyCalls
from scannerd_drivers.transports.tcp import KeepAlive, TcpTransport
from scannerd_drivers.transports.usb_device import UsbTransport
from tests.fakes_devices import Deck, FakeTransport, Pty, SteppedClock, TcpBox, WordDriver, go_silent
from tests.fakes_usb import FakeBus, FakeDevice, usb_error

BOUND = 10.0
"""Seconds after which a test gives up waiting; none should ever be needed."""

LOST = TransportError("EIO input/output error", remedy="check the cable")


class Bench:
    """A reader with all that it posts and records."""

    def __init__(self, transport: Transport, clock: ReaderClock | None = None, driver: object = None) -> None:
        self.inbox: SimpleQueue[ToInbox] = SimpleQueue()
        self.recorded: list[Recorded] = []
        used = driver if isinstance(driver, LineDriver) else WordDriver()
        self.reader = Reader(
            Channel("shoe", used, Deck(), None, 0),
            transport,
            self.inbox.put,
            clock=clock or MachineClock(),
            feedback=used.feedback,
            record=self.recorded.append,
            chance=lambda: 0.0,
        )

    def next(self) -> ToInbox:
        """What is posted next."""
        return self.inbox.get(timeout=BOUND)

    def card(self) -> str:
        """The next posted, which must be a card that is not stale."""
        read = self.next()
        assert isinstance(read, Read), read
        assert not read.stale
        return read.card

    def gist(self, count: int) -> list[str]:
        """The next ones, each in a word."""
        return [_gist(self.next()) for _ in range(count)]

    def rest(self) -> list[ToInbox]:
        """What is posted already."""
        found = []
        while True:
            try:
                found.append(self.inbox.get_nowait())
            except Empty:
                return found


def _gist(event: ToInbox) -> str:  # noqa: PLR0911 - one line a kind
    match event:
        case ScannerWentUp():
            return "up"
        case ScannerWentDown(detail=detail):
            return f"down {detail}"
        case Read(card=card, stale=stale):
            return f"{'~' * stale}{card}"
        case FailedRead(detail=detail, stale=stale):
            return f"{'~' * stale}{detail}"
        case Settle(token=token):
            return f"settle {token}"
        case ThreadDied(name=name):
            return f"died {name}"
        case _:
            return "notice"


@contextmanager
def running(transport: Transport, clock: ReaderClock | None = None, driver: object = None) -> Iterator[Bench]:
    """A bench whose reader runs, and ends within a second at the end of the test."""
    bench = Bench(transport, clock, driver)
    bench.reader.start()
    try:
        yield bench
    finally:
        bench.reader.stop()
        assert bench.reader.join(1.0)


@pytest.fixture
def fake() -> FakeTransport:
    """A transport that does as it is told."""
    return FakeTransport()


@pytest.fixture
def pty(tmp_path: Path) -> Iterator[Pty]:
    """A scanner on a pseudo-terminal."""
    device = Pty(tmp_path / "scanner")
    yield device
    device.unplug()


# --- reading --------------------------------------------------------------------------------------------------


@pytest.mark.fault(23)
def test_cards_in_order(fake: FakeTransport) -> None:
    """The first success is told, then each card in the order of the bytes."""
    fake.reads.put(b"AS;KH;")
    fake.reads.put(b"9D;")
    with running(fake) as bench:
        assert bench.gist(4) == ["up", "AS", "KH", "9D"]


@pytest.mark.fault(6)
def test_idle_reads_do_not_end_a_frame(fake: FakeTransport) -> None:
    """A card split by idle reads is one card; half a card times out for its deadline, without more bytes."""
    clock = SteppedClock()
    idle: Callable[[], bytes] = bytes
    for step in (b"K", idle, b"H;", b"9", idle):
        fake.reads.put(step)

    def much_later() -> bytes:
        clock.time += 1_900_000
        return b""

    for _ in range(2):
        fake.reads.put(much_later)
    with running(fake, clock) as bench:
        assert bench.gist(2) == ["up", "KH"]
        assert bench.next() == FailedRead(3_000_000, "shoe", "bad_frame", "partial", raw=b"9")


def test_patience_ends_at_the_deadline(fake: FakeTransport) -> None:
    """A read waits no longer than until the decoder's deadline, and never below zero."""
    clock = SteppedClock()
    seen = Event()

    def close_to_it() -> bytes:
        clock.time += 1_999_000
        return b""

    def past_it() -> bytes:
        clock.time += 2_000
        seen.set()
        return b""

    for step in (b"9", close_to_it, past_it):
        fake.reads.put(step)
    with running(fake, clock) as bench:
        assert bench.gist(2) == ["up", "partial"]
        assert seen.wait(BOUND)
    assert fake.timeouts[:3] == [0.2, 0.01, 0.001]


def test_idle_reads_are_long(fake: FakeTransport) -> None:
    """A reader that waits for nothing looks up five times a second and no more."""
    looked = Event()

    def look() -> bytes:
        looked.set()
        return b""

    fake.reads.put(bytes)
    fake.reads.put(look)
    with running(fake):
        assert looked.wait(BOUND)
    assert set(fake.timeouts) == {0.2}


@pytest.mark.fault(8)
@pytest.mark.fault(23)
def test_scanner_on_a_terminal(pty: Pty) -> None:
    """A scanner on a serial line gives its cards, through noise as well."""
    with running(SerialTransport(str(pty.path)), driver=LineDriver(LineOptions())) as bench:
        assert bench.gist(1) == ["up"]
        pty.send(b"\x7e\x66\xfa\x9e\rAS\r\nKH\r\n9D\r\n")
        assert bench.gist(4) == ["undecodable", "AS", "KH", "9D"]


# --- loss and return ------------------------------------------------------------------------------------------


@pytest.mark.fault(1)
def test_unplugged_and_back(pty: Pty) -> None:
    """A scanner that is unplugged is told lost once, with the half frame, and gives cards again when it is back."""
    with running(SerialTransport(str(pty.path)), driver=LineDriver(LineOptions())) as bench:
        assert bench.gist(1) == ["up"]
        pty.send(b"AS\r\n")
        assert bench.card() == "AS"
        with capture_logs() as lines:
            pty.unplug()
            assert isinstance(bench.next(), ScannerWentDown)
            pty.plug()
            assert bench.gist(1) == ["up"]
        pty.send(b"KH\r\n")
        assert bench.card() == "KH"
        assert bench.rest() == []
    assert [line["event"] for line in lines if line["event"] == "scanner down"] == ["scanner down"]


def test_half_frame_is_named(fake: FakeTransport) -> None:
    """A half frame is dropped with the device and named."""
    for step in (b"9", LOST, b"D;AS;"):
        fake.reads.put(step)
    with running(fake) as bench:
        assert bench.gist(4) == ["up", f"down {LOST}; half frame dropped: 39", "up", "D"]


@pytest.mark.fault(129)
def test_absent_at_start(fake: FakeTransport) -> None:
    """A scanner that is not there at the start is told down once, and up when it comes."""
    for _ in range(3):
        fake.opens.put(LOST)
    with running(fake) as bench:
        assert bench.gist(2) == [f"down {LOST}", "up"]
        assert fake.calls == ["open", "close"] * 3 + ["open"]


@pytest.mark.fault(3)
def test_closed_before_it_is_opened_again(fake: FakeTransport) -> None:
    """The old descriptor is closed before the new open, so that the device gets its name back."""
    fake.reads.put(LOST)
    with running(fake) as bench:
        assert bench.gist(3) == ["up", f"down {LOST}", "up"]
        assert fake.calls == ["open", "close", "open"]


@pytest.mark.fault(17)
@pytest.mark.fault(45)
def test_device_that_fails_at_each_read() -> None:
    """A device that opens and fails at once is not tried in a tight loop: the back-off holds between the tries."""
    fake = FakeTransport()
    for _ in range(3):
        fake.reads.put(LOST)
    with running(fake) as bench:
        assert bench.gist(7) == [*["up", f"down {LOST}"] * 3, "up"]
        assert bench.reader._backoff.next() == 0.5  # noqa: SLF001 - with the best luck; 0 would be a tight loop


def test_loss_of_a_steady_device_is_tried_at_once(fake: FakeTransport) -> None:
    """A device that had been there for long is opened again without waiting."""
    clock = SteppedClock()

    def lose() -> bytes:
        clock.time += STEADY
        raise LOST

    fake.reads.put(lose)
    fake.reads.put(lose)
    with running(fake, clock) as bench:
        assert bench.gist(5) == ["up", f"down {LOST}", "up", f"down {LOST}", "up"]
        assert bench.reader._backoff.next() == 0.5  # noqa: SLF001 - only the try after the last loss has been made


@pytest.mark.fault(3)
def test_port_that_fails_at_every_flush(pty: Pty) -> None:
    """A port whose flush raises what is no `OSError` is told lost once, and read again when it works."""
    failing = Event()

    def flush(fd: int, which: int) -> None:
        if failing.is_set():
            raise termios.error(errno.EIO, "Input/output error")
        termios.tcflush(fd, which)

    port = SerialTransport(str(pty.path), None, TtyCalls(flush=flush))
    with running(port, driver=LineDriver(LineOptions())) as bench:
        assert bench.gist(1) == ["up"]
        os.write(pty.slave, b"unsent")
        failing.set()
        pty.unplug()
        assert isinstance(bench.next(), ScannerWentDown)
        pty.plug()
        assert bench.rest() == []
        failing.clear()
        assert bench.gist(1) == ["up"]
        pty.send(b"KH\r\n")
        assert bench.card() == "KH"


@pytest.mark.fault(5)
@pytest.mark.fault(121)
def test_port_that_another_program_holds(pty: Pty) -> None:
    """A port in use is told down with its holder, and read once that lets go."""
    with pty.path.open("rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        bench = Bench(SerialTransport(str(pty.path)), driver=LineDriver(LineOptions()))
        bench.reader.start()
        down = bench.next()
        assert isinstance(down, ScannerWentDown)
        assert f"port in use by pid {os.getpid()}" in (down.detail or "")
    assert bench.gist(1) == ["up"]
    pty.send(b"AS\r\n")
    assert bench.card() == "AS"
    bench.reader.stop()
    assert bench.reader.join(1.0)


@pytest.mark.fault(129)
def test_foreign_adapter_is_never_opened(tmp_path: Path) -> None:
    """Another adapter that is there before the scanner is not opened; the scanner is read when its link comes."""
    foreign = Pty(tmp_path / "ttyUSB0")
    with running(SerialTransport(str(tmp_path / "shoe")), driver=LineDriver(LineOptions())) as bench:
        assert isinstance(bench.next(), ScannerWentDown)
        foreign.send(b"9D\r\n")
        scanner = Pty(tmp_path / "shoe")
        assert bench.gist(1) == ["up"]
        scanner.send(b"AS\r\n")
        assert bench.card() == "AS"
        mine = [fd for fd in Path("/proc/self/fd").iterdir() if fd.exists() and fd.samefile(foreign.path)]
        assert [str(foreign.slave)] == [fd.name for fd in mine]
    for device in (foreign, scanner):
        device.unplug()


@pytest.mark.fault(117)
def test_log_of_an_absent_device(fake: FakeTransport) -> None:
    """A device that stays away is logged when it goes and every five minutes, not at each try."""
    clock = SteppedClock()
    tried: SimpleQueue[None] = SimpleQueue()

    def absent(later: int) -> Callable[[], bytes]:
        def fail() -> bytes:
            clock.time += later
            tried.put(None)
            raise LOST

        return fail

    for later in (1, 1, LOG_AGAIN, 1):
        fake.opens.put(absent(later))
    with capture_logs() as lines, running(fake, clock) as bench:
        for _ in range(4):
            tried.get(timeout=BOUND)
        assert bench.gist(2) == [f"down {LOST}", "up"]
    told = [(line["event"], line.get("remedy")) for line in lines]
    assert told == [
        ("scanner down", "check the cable"),
        ("scanner still down", "check the cable"),
        ("scanner up", None),
    ]


@pytest.mark.fault(32)
def test_missing_library_is_not_asked_for_again() -> None:
    """What trying can't mend is told once and waited out, and the reader still ends at once."""
    with running(UsbTransport("usb:05e0:1200", None, lambda: None)) as bench:
        assert bench.gist(1) == ["down libusb 1.0 not found"]
    assert bench.rest() == []


@pytest.mark.fault(26)
def test_usb_replug() -> None:
    """A USB scanner that comes back at another address is found, and its next card read."""

    def gone() -> bytes:
        bus.devices = [FakeDevice(address=6, reads=[b"KH;"])]
        raise usb_error(errno.ENODEV)

    bus = FakeBus(FakeDevice(address=5, reads=[b"AS;", gone]))
    with running(UsbTransport("usb:05e0:1200", None, lambda: bus)) as bench:
        assert bench.gist(5) == ["up", "AS", "down ENODEV no such device", "up", "KH"]


@pytest.mark.fault(19)
def test_silent_box() -> None:
    """A box that loses its power without a word is told down by the keep-alive, and read again when it is back."""
    box = TcpBox()
    with running(TcpTransport(box.url, KeepAlive(idle=1, interval=1, probes=1))) as bench:
        client = box.accept()
        assert bench.gist(1) == ["up"]
        client.sendall(b"AS;")
        assert bench.card() == "AS"
        go_silent(client)
        assert bench.gist(2) == ["down ETIMEDOUT connection timed out", "up"]
        box.accept().sendall(b"KH;")
        assert bench.card() == "KH"
    box.close()


@pytest.mark.fault(21)
def test_box_that_ends() -> None:
    """A box that ends the connection is told down at once."""
    box = TcpBox()
    with running(TcpTransport(box.url)) as bench:
        box.accept().close()
        assert bench.gist(3) == ["up", "down connection closed by the other side", "up"]
    box.close()


# --- stale input ----------------------------------------------------------------------------------------------


def later(clock: SteppedClock, micros: int, data: bytes) -> Callable[[], bytes]:
    """A read during which the process stood still for a while."""

    def read() -> bytes:
        clock.time += micros
        return data

    return read


@pytest.mark.fault(12)
def test_what_waited_is_stale(fake: FakeTransport) -> None:
    """After a gap what is read is stale, and what follows too, until a read finds the line empty."""
    clock = SteppedClock()
    idle: Callable[[], bytes] = bytes
    for step in (b"AS;", later(clock, 60_000_000, b"9D;"), b"2C;", idle, b"KH;"):
        fake.reads.put(step)
    with running(fake, clock) as bench:
        assert bench.gist(5) == ["up", "AS", "~9D", "~2C", "KH"]
    assert [entry.stale for entry in bench.recorded if isinstance(entry, Chunk)] == [False, True, True, False]


@pytest.mark.fault(12)
def test_gap_on_an_empty_line(fake: FakeTransport) -> None:
    """After a gap in which nothing came, what comes is fresh."""
    clock = SteppedClock()
    idle: Callable[[], bytes] = bytes
    for step in (later(clock, 60_000_000, b""), idle, b"KH;"):
        fake.reads.put(step)
    with running(fake, clock) as bench:
        assert bench.gist(2) == ["up", "KH"]


@pytest.mark.fault(12)
def test_gap_behind_a_read_that_found_nothing(fake: FakeTransport) -> None:
    """A process that is stopped just when a read had found nothing takes nothing for fresh that came meanwhile."""
    clock = SteppedClock()
    idle: Callable[[], bytes] = bytes
    for step in (later(clock, 60_000_000, b""), b"9D;", b"2C;", idle, b"KH;"):
        fake.reads.put(step)
    with running(fake, clock) as bench:
        assert bench.gist(4) == ["up", "~9D", "~2C", "KH"]


@pytest.mark.fault(12)
def test_short_gap(fake: FakeTransport) -> None:
    """Two seconds are no gap yet."""
    clock = SteppedClock()
    fake.reads.put(later(clock, 2_000_000, b"KH;"))
    with running(fake, clock) as bench:
        assert bench.gist(2) == ["up", "KH"]


class SleptClock(SteppedClock):
    """The machine sleeps: only the clock that goes on in suspend shows it."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0

    def boot(self) -> int:
        """Goes on in suspend."""
        return self.time + self.slept


@pytest.mark.fault(12)
def test_suspend_is_a_gap(fake: FakeTransport) -> None:
    """A machine that slept makes what waited stale, though the monotonic clock stood still."""
    clock = SleptClock()

    def wake() -> bytes:
        clock.slept = 60_000_000
        return b"9D;"

    fake.reads.put(wake)
    with running(fake, clock) as bench:
        assert bench.gist(2) == ["up", "~9D"]


# --- replies and feedback -------------------------------------------------------------------------------------


def test_reply_at_once(fake: FakeTransport) -> None:
    """A reply that need not wait is written at once, after its readings are posted."""
    fake.reads.put(b"AS;ack;")
    with running(fake) as bench:
        assert bench.gist(2) == ["up", "AS"]
        assert fake.written.get(timeout=BOUND) == b"ACK"
        assert bench.rest() == []


def test_settled_reply(fake: FakeTransport) -> None:
    """A reply that waits for the journal is asked for after its readings, and written when that says so."""
    fake.reads.put(b"AS;settle;")
    with running(fake) as bench:
        assert bench.gist(3) == ["up", "AS", "settle 1"]
        assert fake.written.empty()
        bench.reader.settled(1)
        assert fake.written.get(timeout=BOUND) == b"SETTLED"


def test_settled_one_for_all_before(fake: FakeTransport) -> None:
    """What settles a reply settles those before it; a token settled twice, or never given, writes nothing more."""
    fake.reads.put(b"settle;settle;settle;")
    with running(fake) as bench:
        bench.gist(4)
        for token in (2, 1, 2):
            bench.reader.settled(token)
        bench.reader.feedback("accepted")
        assert [fake.written.get(timeout=BOUND) for _ in range(3)] == [b"SETTLED", b"SETTLED", b"BEEP"]
        bench.reader.settled(9)
        assert fake.written.get(timeout=BOUND) == b"SETTLED"


@pytest.mark.parametrize(("late", "written"), [(1_000_000, [b"SETTLED", b"BEEP"]), (1_000_001, [b"BEEP"])])
def test_settled_too_late(fake: FakeTransport, late: int, written: list[bytes]) -> None:
    """A reply is left out when the journal took longer than the device waits for it."""
    clock = SteppedClock()
    wished = Event()

    def journal() -> bytes:
        wished.wait(BOUND)
        clock.time += late
        return b""

    fake.reads.put(b"settle;")
    fake.reads.put(journal)
    with running(fake, clock) as bench:
        bench.gist(2)
        bench.reader.settled(1)
        bench.reader.feedback("accepted")
        wished.set()
        assert [fake.written.get(timeout=BOUND) for _ in written] == written


def test_reply_that_is_given_up(fake: FakeTransport) -> None:
    """A reply that nobody settles in time is forgotten: the reader is patient again."""
    clock = SteppedClock()
    patient = Event()
    fake.reads.put(b"settle;")
    fake.reads.put(later(clock, 1_000_001, b""))

    def look() -> bytes:
        patient.set()
        return b""

    fake.reads.put(look)
    with running(fake, clock) as bench:
        bench.gist(2)
        assert patient.wait(BOUND)
    assert fake.timeouts[:3] == [0.2, 0.01, 0.2]


def test_feedback(fake: FakeTransport) -> None:
    """An outcome is told to the scanner in the driver's bytes; one without bytes writes nothing."""
    with running(fake) as bench:
        bench.next()
        bench.reader.feedback("rejected")
        bench.reader.feedback("accepted")
        assert fake.written.get(timeout=BOUND) == b"BEEP"
        assert fake.written.empty()
    assert [entry.data for entry in bench.recorded if isinstance(entry, Sent)] == [b"BEEP"]


def test_wishes_die_with_the_device(fake: FakeTransport) -> None:
    """What was meant for the device that was lost is not written to the one that comes."""
    held = Event()

    def lose() -> bytes:
        held.wait(BOUND)
        raise LOST

    fake.reads.put(b"settle;")
    fake.reads.put(lose)
    with running(fake) as bench:
        bench.gist(2)
        bench.reader.settled(1)
        bench.reader.feedback("accepted")
        held.set()
        assert bench.gist(2) == [f"down {LOST}", "up"]
        fake.reads.put(b"ack;")
        assert fake.written.get(timeout=BOUND) == b"ACK"


class DeafTransport(FakeTransport):
    """A device that is lost when it is written to."""

    def write(self, data: bytes) -> None:
        """Fails."""
        raise TransportError(f"can't take {data!r}")


def test_write_that_fails() -> None:
    """A device that can't be written to is lost."""
    deaf = DeafTransport()
    deaf.reads.put(b"AS;ack;")
    with running(deaf) as bench:
        assert bench.gist(3) == ["up", "AS", "down can't take b'ACK'"]


def test_lost_frame_with_a_loss(fake: FakeTransport) -> None:
    """What a decoder must tell of a lost device is posted before the loss."""
    fake.reads.put(b"?;")
    fake.reads.put(LOST)
    with running(fake) as bench:
        assert bench.gist(3) == ["up", "lost", f"down {LOST}"]


def test_decoder_begun_anew(fake: FakeTransport) -> None:
    """After a fault of the journal half a frame is forgotten, and no reply is owed."""
    held = Event()

    def idle() -> bytes:
        held.wait(BOUND)
        return b""

    fake.reads.put(b"settle;9")
    fake.reads.put(idle)
    with running(fake) as bench:
        bench.gist(2)
        bench.reader.restart_decoder()
        bench.reader.settled(1)
        bench.reader.feedback("accepted")
        held.set()
        assert fake.written.get(timeout=BOUND) == b"BEEP"
        fake.reads.put(b"KH;")
        assert bench.card() == "KH"


# --- ending ---------------------------------------------------------------------------------------------------


@pytest.mark.fault(14)
def test_stop_between_the_look_and_the_read(fake: FakeTransport) -> None:
    """A stop that comes after the loop looked for it, and before the read, ends the reader within a second."""
    bench = Bench(fake)

    def stop_now() -> bytes:
        bench.reader.stop()
        return b""

    fake.reads.put(stop_now)
    bench.reader.start()
    assert bench.reader.join(1.0)
    assert fake.calls == ["open", "close"]


def test_stop_before_the_first_open(fake: FakeTransport) -> None:
    """A reader that is stopped before it began opens nothing."""
    bench = Bench(fake)
    bench.reader.stop()
    bench.reader.start()
    assert bench.reader.join(1.0)
    assert fake.calls == ["close"]


def test_stop_while_waiting(fake: FakeTransport) -> None:
    """A reader that waits for its next try ends at once."""
    for _ in range(9):
        fake.opens.put(TransportError("away", fatal=True))
    with running(fake) as bench:
        assert bench.gist(1) == ["down away"]


@pytest.mark.fault(34)
@pytest.mark.fault(109)
def test_blocked_open(fake: FakeTransport) -> None:
    """A device whose open blocks is left alone at the stop, its handle untouched, and reported; it tells no more."""
    go, blocked = Event(), Event()

    def block() -> bytes:
        blocked.set()
        go.wait(BOUND)
        return b""

    fake.opens.put(block)
    bench = Bench(fake)
    bench.reader.start()
    assert blocked.wait(BOUND)
    assert bench.reader.opening
    bench.reader.stop()
    with capture_logs() as lines:
        assert not bench.reader.join(0.01)
    assert [(line["event"], line["opening"]) for line in lines] == [("reader left alone", True)]
    assert fake.calls == ["open"]
    go.set()
    assert bench.reader.join(BOUND)
    assert fake.calls == ["open", "close"]
    assert bench.rest() == []


@pytest.mark.fault(34)
def test_blocked_read(fake: FakeTransport) -> None:
    """A device whose read blocks over the stop keeps its handle until the read is over, and is closed then, once."""
    go, blocked = Event(), Event()

    def block() -> bytes:
        blocked.set()
        go.wait(BOUND)
        return b""

    fake.reads.put(block)
    bench = Bench(fake)
    bench.reader.start()
    assert blocked.wait(BOUND)
    bench.reader.stop()
    assert not bench.reader.join(0.01)
    assert fake.calls == ["open"]
    go.set()
    assert bench.reader.join(BOUND)
    assert fake.calls == ["open", "close"]


@pytest.mark.fault(34)
def test_many_starts_and_stops() -> None:
    """A device is closed by its own thread after its last read, a hundred times over."""
    for _ in range(100):
        bus = FakeBus(FakeDevice())
        with running(UsbTransport("usb:05e0:1200", None, lambda bus=bus: bus)) as bench:  # type: ignore[misc] # bound
            assert bench.gist(1) == ["up"]
        assert bus.calls == ["open 5", "claim 0", "release 0", "attach 0", "close 5"]


def test_thread_that_dies(fake: FakeTransport) -> None:
    """An error that nobody foresaw is posted, so that the process ends and is started again."""
    fake.reads.put(ZeroDivisionError("oops"))
    with capture_logs() as lines, running(fake) as bench:
        assert bench.gist(1) == ["up"]
        died = bench.next()
    assert isinstance(died, ThreadDied)
    assert (died.name, died.error) == ("reader-shoe", "ZeroDivisionError('oops')")
    assert fake.calls == ["open", "close"]
    assert lines[-1]["event"] == "reader died"


def test_progress(fake: FakeTransport) -> None:
    """Each turn counts, so that a watchdog sees a thread that is stuck."""
    held, go = Event(), Event()

    def wait() -> bytes:
        held.set()
        go.wait(BOUND)
        return b""

    for step in (b"AS;", b"KH;", wait):
        fake.reads.put(step)
    with running(fake) as bench:
        assert held.wait(BOUND)
        assert (bench.reader.progress, bench.reader.opening) == (3, False)
        go.set()


def test_recording(fake: FakeTransport) -> None:
    """A recording is told of all that comes, goes and is written, each with its time."""
    clock = SteppedClock()
    for step in (b"AS;ack;", LOST):
        fake.reads.put(step)
    with running(fake, clock) as bench:
        bench.gist(4)
    assert bench.recorded == [
        Link(1_000_000, "shoe", up=True),
        Chunk(1_000_000, "shoe", b"AS;ack;"),
        Sent(1_000_000, "shoe", b"ACK"),
        Link(1_000_000, "shoe", up=False, detail=str(LOST)),
        Link(1_000_000, "shoe", up=True),
    ]


def test_machine_clocks() -> None:
    """Both clocks of the machine go forward."""
    clock = MachineClock()
    assert clock.now() <= clock.now()
    assert clock.boot() <= clock.boot()
