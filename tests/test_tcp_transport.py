"""Scanners behind boxes on the network: found lost when they are, whether they say so or not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from scannerd.contract import TransportError
from scannerd_drivers.transports import open_url
from scannerd_drivers.transports.bounded import Attempt, OneAtATime
from scannerd_drivers.transports.serial_url import SerialUrlTransport
from scannerd_drivers.transports.tcp import KeepAlive, TcpTransport
from tests.fakes_devices import TcpBox, go_silent


@pytest.fixture
def box() -> Iterator[TcpBox]:
    """A box that listens."""
    listening = TcpBox()
    yield listening
    listening.close()


@pytest.fixture
def port(box: TcpBox) -> Iterator[TcpTransport]:
    """A transport to the box, which gives up a silent peer after two seconds."""
    transport = TcpTransport(box.url, KeepAlive(idle=1, interval=1, probes=1))
    yield transport
    transport.close()


def test_segment_is_a_chunk(box: TcpBox, port: TcpTransport) -> None:
    """What arrives is given as it arrives, however long the time-out is; an idle read gives nothing."""
    port.open()
    box.accept().sendall(b"AS\r\n")
    assert port.read(60) == b"AS\r\n"
    assert port.read(0.01) == b""


def test_write(box: TcpBox, port: TcpTransport) -> None:
    """What is written arrives at the other side."""
    port.open()
    client = box.accept()
    port.write(b"\x06")
    assert client.recv(10) == b"\x06"


def test_write_that_is_not_taken(box: TcpBox, port: TcpTransport) -> None:
    """A peer that takes nothing is an error, not a wait without end."""
    port.open()
    box.accept()
    with pytest.raises(TransportError, match="takes no data"):
        port.write(b"x" * 50_000_000)


def test_closed_by_peer(box: TcpBox, port: TcpTransport) -> None:
    """A connection that the other side ends is lost at once."""
    port.open()
    box.accept().close()
    with pytest.raises(TransportError, match="closed by the other side"):
        port.read(60)


def test_reset_by_peer(box: TcpBox, port: TcpTransport) -> None:
    """A connection that is reset is lost with the system's word for it, for reading and for writing."""
    port.open()
    client = box.accept()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    with pytest.raises(TransportError, match="ECONNRESET"):
        port.read(60)
    with pytest.raises(TransportError, match="EPIPE"):
        port.write(b"x")


@pytest.mark.fault(19)
def test_silent_peer(box: TcpBox, port: TcpTransport) -> None:
    """A peer that loses its power, and says nothing of it, is found lost by the keep-alive; a fresh one is reached."""
    port.open()
    client = box.accept()
    client.sendall(b"AS\r\n")
    assert port.read(5) == b"AS\r\n"
    go_silent(client)
    with pytest.raises(TransportError, match="ETIMEDOUT"):
        port.read(30)
    port.open()
    box.accept().sendall(b"KH\r\n")
    assert port.read(5) == b"KH\r\n"


@pytest.mark.fault(19)
def test_keep_alive_finds_a_loss_in_time() -> None:
    """As delivered, a silent peer is given up within 30 s."""
    assert KeepAlive().total <= 30


def test_one_client(box: TcpBox, port: TcpTransport) -> None:
    """Opening anew closes the old connection first: a box that serves one client is free."""
    port.open()
    first = box.accept()
    port.open()
    assert first.recv(10) == b""


def test_refused(box: TcpBox, port: TcpTransport) -> None:
    """A refused connection is an error that says what may be wrong; the port is reached once it listens."""
    box.close()
    with pytest.raises(TransportError, match="connection refused") as refused:
        port.open()
    assert "one client" in refused.value.remedy
    again = TcpBox(box.port)
    port.open()
    again.close()


def test_no_such_host() -> None:
    """A name that nobody knows is an error about the name."""
    with pytest.raises(TransportError, match=r"no such host: scanner\.invalid"):
        TcpTransport("tcp://scanner.invalid:4001").open()


def test_unreachable() -> None:
    """Any other failure to connect is told with the system's word."""
    with pytest.raises(TransportError, match=r"can't connect to 255\.255\.255\.255:4001: E"):
        TcpTransport("tcp://255.255.255.255:4001").open()


@pytest.mark.parametrize("call", ["read", "write"])
def test_not_open(port: TcpTransport, call: str) -> None:
    """A connection that is not open can be neither read nor written, and closing it is nothing."""
    port.close()
    with pytest.raises(TransportError, match="not open"):
        port.read(0) if call == "read" else port.write(b"x")


def test_url() -> None:
    """`tcp://` is for boxes that pass bytes on."""
    assert isinstance(open_url("tcp://[::1]:4001"), TcpTransport)


# --- calls that may block -------------------------------------------------------------------------------------


def test_bounded_call_that_blocks() -> None:
    """A call that does not come back is given up, no other is begun meanwhile, and what it makes is thrown away."""
    go: Event = Event()
    thrown: SimpleQueue[str] = SimpleQueue()
    calls: OneAtATime[str] = OneAtATime()

    def slow() -> str:
        go.wait(10)
        return "late"

    with pytest.raises(TransportError, match="no answer"):
        calls.run(slow, thrown.put, 0.01)
    with pytest.raises(TransportError, match="not come back"):
        calls.run(slow, thrown.put, 0.01)
    go.set()
    assert thrown.get(timeout=10) == "late"
    assert calls.run(lambda: "prompt", thrown.put, 10) == "prompt"


def test_bounded_call_that_fails_late() -> None:
    """A call that fails after it was given up leaves nothing to throw away."""
    go = Event()
    failed = Event()

    def slow() -> str:
        go.wait(10)
        failed.set()
        raise OSError

    attempt = Attempt(slow, lambda _: None)
    with pytest.raises(TransportError, match="no answer"):
        attempt.result(0.01)
    go.set()
    assert failed.wait(10)
    with pytest.raises(OSError, match=r"^$"):
        attempt.result(10)


# --- RFC 2217 -------------------------------------------------------------------------------------------------

OLD_CALLS = pytest.mark.filterwarnings(r"ignore:set(Daemon|Name)\(\):DeprecationWarning")  # pyserial 3.5 calls them
IAC, WILL, DO, SB, SE, COM_PORT = 255, 251, 253, 250, 240, 44


class Rfc2217Server:
    """As much of a serial server as a client needs to open: it agrees to all and confirms every setting."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        rest = b""
        try:
            while data := self._client.recv(4096):
                rest = self._answer(rest + data)
        except OSError:
            pass

    def _answer(self, data: bytes) -> bytes:
        while len(data) >= 3 and data[0] == IAC:
            if data[1] == SB:
                end = data.find(bytes((IAC, SE)))
                if end < 0:
                    break
                self._confirm(data[2:end])
                data = data[end + 2 :]
            else:
                self._client.sendall(bytes((IAC, DO if data[1] == WILL else WILL, data[2])))
                data = data[3:]
        return data

    def _confirm(self, option: bytes) -> None:
        if option[0] == COM_PORT:
            answer = bytes((IAC, SB, COM_PORT, option[1] + 100)) + option[2:] + bytes((IAC, SE))
            self._client.sendall(answer)


@OLD_CALLS
@pytest.mark.fault(21)
def test_serial_server_that_ends(box: TcpBox) -> None:
    """A serial server's bytes are read; when it closes, the port is lost at once and every read says so."""
    port = SerialUrlTransport(box.url.replace("tcp", "rfc2217"))
    servers: SimpleQueue[socket.socket] = SimpleQueue()

    def serve() -> None:
        client = box.accept()
        Rfc2217Server(client)
        servers.put(client)

    Thread(target=serve, daemon=True).start()
    port.open()
    client = servers.get(timeout=10)
    client.sendall(b"AS\r\n")
    read = b""
    while len(read) < 4:
        read += port.read(5)
    assert read == b"AS\r\n"
    client.shutdown(socket.SHUT_RDWR)
    for _ in range(2):
        with pytest.raises(TransportError):
            port.read(60)
    port.close()


@OLD_CALLS
@pytest.mark.fault(21)
def test_serial_server_that_never_negotiates(box: TcpBox) -> None:
    """A server that accepts and says nothing is given up within the bound of an open."""
    port = SerialUrlTransport(box.url.replace("tcp", "rfc2217"))
    with pytest.raises(TransportError):
        port.open()
    port.close()
