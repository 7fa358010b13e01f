"""Serial ports: raw, exclusive, quiet, and every error of the system turned into a word with a remedy."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import termios
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from scannerd.contract import TransportError
from scannerd_drivers.options import SerialOptions
from scannerd_drivers.transports import SerialSettings, open_url, trouble
from scannerd_drivers.transports.serial_port import SerialTransport, TtyCalls, usb_identity
from scannerd_drivers.transports.serial_url import SerialUrlTransport
from tests.fakes_devices import Pty


@pytest.fixture
def pty(tmp_path: Path) -> Iterator[Pty]:
    """A scanner on a pseudo-terminal."""
    device = Pty(tmp_path / "scanner")
    yield device
    device.unplug()


@pytest.fixture
def port(pty: Pty) -> Iterator[SerialTransport]:
    """Its port, not yet open."""
    transport = SerialTransport(str(pty.path))
    yield transport
    transport.close()


class RecordedCalls:
    """System calls that are made, and noted; `failing` makes every flush end in `termios.error`."""

    def __init__(self, *, failing: bool = False) -> None:
        self.ioctls: list[tuple[int, int | None]] = []
        self.failing = failing
        self.device: str | None = None

    def calls(self) -> TtyCalls:
        """As a transport takes them."""
        return TtyCalls(ioctl=self.ioctl, flush=self.flush, identity=lambda _: self.device)

    def ioctl(self, fd: int, request: int, argument: bytes) -> bytes:
        """Notes the request; a pseudo-terminal has no modem lines."""
        line = struct.unpack("I", argument)[0] if len(argument) == 4 else None
        self.ioctls.append((request, line))
        return b"" if line is not None else fcntl.ioctl(fd, request, argument)

    def flush(self, fd: int, which: int) -> None:
        """Throws away, or fails as a port that is gone does."""
        if self.failing:
            raise termios.error(errno.EIO, "Input/output error")
        termios.tcflush(fd, which)


# --- bytes ----------------------------------------------------------------------------------------------------


def test_chunk_as_soon_as_it_arrives(pty: Pty, port: SerialTransport) -> None:
    """A chunk is given when it arrives, however long the time-out is."""
    port.open()
    pty.send(b"AS\r\n")
    assert port.read(60) == b"AS\r\n"


def test_idle_read(port: SerialTransport) -> None:
    """A read of an idle line gives nothing at its time-out."""
    port.open()
    assert port.read(0.01) == b""


@pytest.mark.fault(10)
def test_raw(pty: Pty, port: SerialTransport) -> None:
    """Every byte arrives as it was sent, though the system had the line in cooked mode with flow control."""
    attributes = termios.tcgetattr(pty.slave)
    attributes[0] |= termios.IXON | termios.ICRNL | termios.ISTRIP
    termios.tcsetattr(pty.slave, termios.TCSANOW, attributes)
    port.open()
    pty.send(bytes(range(256)))
    assert port.read(5) == bytes(range(256))


def test_queued_input_is_thrown_away(pty: Pty, port: SerialTransport) -> None:
    """What was queued before the port was opened is not read."""
    port.open()
    port.close()
    pty.send(b"9D\r\n")
    port.open()
    pty.send(b"KH\r\n")
    assert port.read(5) == b"KH\r\n"


@pytest.mark.fault(121)
def test_no_echo(pty: Pty, port: SerialTransport) -> None:
    """What a scanner sends is not echoed back to it."""
    port.open()
    pty.send(b"AT\r")
    assert port.read(5) == b"AT\r"
    os.set_blocking(pty.master, False)
    with pytest.raises(BlockingIOError):
        os.read(pty.master, 10)


def test_write(pty: Pty, port: SerialTransport) -> None:
    """What is written arrives at the scanner unchanged."""
    port.open()
    port.write(b"\x06\n")
    assert os.read(pty.master, 10) == b"\x06\n"


@pytest.mark.parametrize("call", ["read", "write"])
def test_not_open(port: SerialTransport, call: str) -> None:
    """A port that is not open can be neither read nor written."""
    with pytest.raises(TransportError, match="not open"):
        port.read(0) if call == "read" else port.write(b"x")


def test_write_that_is_not_taken(port: SerialTransport) -> None:
    """A device that takes nothing is an error, not a wait without end."""
    port.open()
    with pytest.raises(TransportError, match="takes no data"):
        port.write(b"x" * 1_000_000)


def test_write_to_a_port_that_is_gone(pty: Pty, port: SerialTransport) -> None:
    """A port that was unplugged is lost when it is written to."""
    port.open()
    pty.unplug()
    with pytest.raises(TransportError, match="EIO"):
        port.write(b"\x06")


@pytest.mark.parametrize(("rate", "name"), [(4800, termios.B4800), (115_200, termios.B115200)])
def test_speed(pty: Pty, rate: int, name: int) -> None:
    """The line has the speed of the driver's options, 8 data bits, no parity, and keeps DTR when it is closed."""
    port = SerialTransport(str(pty.path), SerialOptions(baudrate=rate))
    port.open()
    control, speed = termios.tcgetattr(pty.slave)[2], termios.tcgetattr(pty.slave)[4]
    port.close()
    assert speed == name
    assert control & (termios.CSIZE | termios.PARENB | termios.CSTOPB | termios.HUPCL | termios.CRTSCTS) == termios.CS8


def test_unusual_speed(pty: Pty) -> None:
    """A speed without a name is set as a number."""
    port = SerialTransport(str(pty.path), SerialSettings(baudrate=14_400))
    port.open()
    answer = fcntl.ioctl(pty.slave, 0x802C542A, bytes(44))
    port.close()
    assert struct.unpack_from("=II", answer, 36) == (14_400, 14_400)


# --- modem lines ----------------------------------------------------------------------------------------------


@pytest.mark.fault(15)
def test_modem_lines_kept_down(pty: Pty) -> None:
    """DTR and RTS go down at once after the open, and stay so over a close: HUPCL is cleared, nothing raises them."""
    recorded = RecordedCalls()
    port = SerialTransport(str(pty.path), SerialSettings(dtr=False, rts=False), recorded.calls())
    for _ in range(2):
        port.open()
        assert not termios.tcgetattr(pty.slave)[2] & termios.HUPCL
        port.close()
    lines = [call for call in recorded.ioctls if call[1] is not None]
    assert lines == [(termios.TIOCMBIC, termios.TIOCM_DTR), (termios.TIOCMBIC, termios.TIOCM_RTS)] * 2
    assert recorded.ioctls[0][0] == termios.TIOCMBIC


@pytest.mark.fault(15)
def test_modem_lines_left_alone(pty: Pty) -> None:
    """Without the option no modem line is touched."""
    recorded = RecordedCalls()
    port = SerialTransport(str(pty.path), SerialOptions(), recorded.calls())
    port.open()
    port.close()
    assert [call for call in recorded.ioctls if call[1] is not None] == []


def test_modem_line_raised(pty: Pty) -> None:
    """`dtr = true` raises DTR."""
    recorded = RecordedCalls()
    port = SerialTransport(str(pty.path), SerialOptions(dtr=True), recorded.calls())
    port.open()
    port.close()
    assert (termios.TIOCMBIS, termios.TIOCM_DTR) in recorded.ioctls


# --- trouble --------------------------------------------------------------------------------------------------


@pytest.mark.fault(1)
def test_unplugged(pty: Pty, port: SerialTransport) -> None:
    """A read of a port that was unplugged says so at once, and the port can be opened when it is back."""
    port.open()
    pty.unplug()
    with pytest.raises(TransportError) as lost:
        port.read(60)
    assert lost.value.remedy
    port.close()
    pty.plug()
    port.open()
    pty.send(b"KH\r\n")
    assert port.read(5) == b"KH\r\n"


@pytest.mark.fault(3)
def test_close_after_unplugging(pty: Pty) -> None:
    """Closing a port that is gone, with output unsent and every flush failing, does not raise, twice over."""
    recorded = RecordedCalls()
    port = SerialTransport(str(pty.path), None, recorded.calls())
    port.open()
    port.write(b"unsent")
    recorded.failing = True
    pty.unplug()
    port.close()
    port.close()
    with pytest.raises(TransportError, match="not open"):
        port.read(0)


@pytest.mark.fault(3)
def test_open_that_fails_in_termios(pty: Pty) -> None:
    """A port that vanishes while it is opened is an error with the system's word, and holds no descriptor."""
    recorded = RecordedCalls(failing=True)
    port = SerialTransport(str(pty.path), None, recorded.calls())
    with pytest.raises(TransportError, match="EIO input/output error"):
        port.open()
    recorded.failing = False
    port.open()
    port.close()


def test_read_error(pty: Pty) -> None:
    """A read that fails in the system is a lost device."""

    def fail(_fd: int, _size: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    port = SerialTransport(str(pty.path), None, TtyCalls(read=fail))
    port.open()
    pty.send(b"x")
    with pytest.raises(TransportError, match="EIO"):
        port.read(5)
    port.close()


def test_woken_without_input(pty: Pty) -> None:
    """A read that was woken by something else than input is idle."""

    def nothing(_fd: int, _size: int) -> bytes:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    port = SerialTransport(str(pty.path), None, TtyCalls(read=nothing))
    port.open()
    pty.send(b"x")
    assert port.read(5) == b""
    port.close()


@pytest.mark.fault(129)
def test_absent(tmp_path: Path) -> None:
    """A port that is not there is an error that says what to do, and is found when its link appears."""
    port = SerialTransport(str(tmp_path / "scanner"))
    with pytest.raises(TransportError, match="no such device") as absent:
        port.open()
    assert "scannerd devices" in absent.value.remedy
    pty = Pty(tmp_path / "scanner")
    port.open()
    port.close()
    pty.unplug()


@pytest.mark.fault(5)
def test_locked_by_another(pty: Pty, port: SerialTransport) -> None:
    """A port that another has locked is in use, and the error names the holder's process."""
    with pty.path.open("rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TransportError, match=rf"port in use by pid {os.getpid()} \(.+\)"):
            port.open()
    port.open()


@pytest.mark.fault(121)
def test_locked_for_a_while(pty: Pty, port: SerialTransport) -> None:
    """A port that a modem probe holds is opened once it is let go."""
    held, go = Event(), Event()

    def probe() -> None:
        with pty.path.open("rb", buffering=0) as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            held.set()
            go.wait(10)

    thread = Thread(target=probe)
    thread.start()
    assert held.wait(10)
    with pytest.raises(TransportError, match="port in use") as busy:
        port.open()
    assert "ModemManager" in busy.value.remedy
    go.set()
    thread.join(10)
    port.open()


@pytest.mark.fault(5)
def test_two_readers(pty: Pty, port: SerialTransport) -> None:
    """A second reader of one port is refused, and the first loses nothing."""
    port.open()
    with pytest.raises(TransportError, match="port in use"):
        SerialTransport(str(pty.path)).open()
    pty.send(b"AS\r\n")
    assert port.read(5) == b"AS\r\n"


@pytest.mark.fault(111)
def test_forbidden(pty: Pty) -> None:
    """A port that we may not open names the group that may, and the rules of udev."""
    pty.path.chmod(0o660)
    error = trouble.cannot_open(str(pty.path), PermissionError(errno.EACCES, "Permission denied"))
    assert str(error) == f"no permission to open {pty.path}"
    group = pty.path.group()
    assert (
        error.remedy
        == f"add the daemon's user to the group {group}, or install {trouble.UDEV_RULES} and plug the scanner in again"
    )


@pytest.mark.fault(111)
def test_forbidden_to_the_group_too(pty: Pty) -> None:
    """Where the node gives its group nothing, being a member would not help, and the remedy says so."""
    pty.path.chmod(0o600)
    remedy = trouble.cannot_open(str(pty.path), PermissionError(errno.EACCES, "")).remedy
    assert "gives the group" in remedy
    assert trouble.UDEV_RULES in remedy


def test_forbidden_and_unseen(tmp_path: Path) -> None:
    """A node that can't even be looked at has the rules of udev for a remedy."""
    error = trouble.cannot_open(str(tmp_path / "gone"), PermissionError(errno.EACCES, ""))
    assert error.remedy == f"install {trouble.UDEV_RULES} and plug the scanner in again"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EIO, "x"), "EIO input/output error"),
        (termios.error(errno.EIO, "x"), "EIO input/output error"),
        (OSError("odd"), "odd"),
        (OSError(), "OSError"),
        (OSError(9999, "x"), "9999 unknown error 9999"),
    ],
)
def test_words(error: OSError | termios.error, words: str) -> None:
    """An error is told by its symbol and meaning, or by its text where it has no number."""
    assert trouble.words(error) == words


def test_busy_port(tmp_path: Path) -> None:
    """A port that another has for itself alone is in use, though nobody can be named."""
    error = trouble.cannot_open(str(tmp_path / "x"), OSError(errno.EBUSY, "Device or resource busy"))
    assert str(error) == f"port in use: {tmp_path / 'x'}"


def test_holder_without_a_lock(tmp_path: Path) -> None:
    """Where no lock is listed, the process that has the node open is named."""
    node = tmp_path / "node"
    node.touch()
    files = tmp_path / "proc" / "812" / "fd"
    files.mkdir(parents=True)
    (files / "3").symlink_to(node)
    (files.parent / "comm").write_text("minicom\n")
    (tmp_path / "proc" / "813").mkdir()
    assert trouble.holder_of(str(node), tmp_path / "proc") == "pid 812 (minicom)"


def test_holder_unknown(tmp_path: Path) -> None:
    """Where nobody is seen to hold the node, nobody is named."""
    node = tmp_path / "node"
    node.touch()
    (tmp_path / "proc" / "812" / "fd").mkdir(parents=True)
    assert trouble.holder_of(str(node), tmp_path / "proc") is None


def test_no_serial_port(tmp_path: Path) -> None:
    """A file is no serial port."""
    (tmp_path / "file").touch()
    with pytest.raises(TransportError, match="is no serial port"):
        SerialTransport(str(tmp_path / "file")).open()


# --- identity -------------------------------------------------------------------------------------------------


@pytest.mark.fault(129)
def test_another_adapter(pty: Pty) -> None:
    """After a replug another adapter at the same path is refused; the one that was there is opened again."""
    recorded = RecordedCalls()
    recorded.device = "1A86:7523:A1"
    port = SerialTransport(str(pty.path), None, recorded.calls())
    port.open()
    recorded.device = "0403:6001:B2"
    with pytest.raises(TransportError, match=r"another device at .*0403:6001:B2, before it was 1A86:7523:A1"):
        port.open()
    recorded.device = "1A86:7523:A1"
    port.open()
    port.close()


def test_no_usb_port(pty: Pty) -> None:
    """A port that is not on USB has no identity, and is opened whatever it is."""
    assert usb_identity(str(pty.path)) is None


@pytest.mark.fault(127)
def test_path_is_looked_up_at_each_open(pty: Pty, port: SerialTransport) -> None:
    """The link is followed at each open: no event of udev need arrive for a device to be found again."""
    port.open()
    first = pty.slave
    keep = os.dup(first)
    pty.unplug()
    pty.plug()
    assert os.ttyname(pty.slave) != str(Path(f"/proc/self/fd/{keep}").readlink())
    port.open()
    os.close(keep)
    pty.send(b"AS\r\n")
    assert port.read(5) == b"AS\r\n"


# --- URLs -----------------------------------------------------------------------------------------------------


def test_pyserial_url() -> None:
    """A URL of pyserial is opened by pyserial: what is written to a loop is read from it."""
    port = open_url("loop://", SerialSettings(dtr=True))
    port.open()
    assert port.read(0.01) == b""
    port.write(b"AS\r\n")
    assert port.read(5) == b"AS\r\n"
    port.close()
    port.close()
    with pytest.raises(TransportError, match="not open"):
        port.read(0)


@pytest.mark.parametrize(
    "url",
    [
        "ttyUSB0",
        "",
        "gopher://x",
        "tcp://nohost",
        "tcp://h:99999999",
        "tcp://h:1/x",
        "spy:///dev/null?[",
        "spy:///dev/null?file=/absent/log",
        "hwgrep://[",
        "hwgrep://(&n=1",
    ],
)
def test_unknown_url(url: str) -> None:
    """A URL that no transport knows is refused before anything is opened."""
    with pytest.raises(ValueError, match=r"."):
        open_url(url)


def test_port_that_is_searched_for_may_be_absent() -> None:
    """A URL that searches for a port is known by its pattern alone: whether such a port is there, its opening tells."""
    transport = open_url("hwgrep://no such port anywhere")
    with pytest.raises(TransportError, match="no ports found"):
        transport.open()


def test_path_is_a_serial_port(pty: Pty) -> None:
    """A path is a serial port unless the driver says otherwise."""
    assert isinstance(open_url(str(pty.path)), SerialTransport)
    assert isinstance(open_url("rfc2217://127.0.0.1:1"), SerialUrlTransport)
