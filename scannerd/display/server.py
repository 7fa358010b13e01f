"""The thread that serves the pages: uvicorn on a socket of ours, bounded in connections, memory and time.

A port that is taken, or a certificate that can't be read, keeps no table from dealing: it is told in the log and on the
status topic, and tried again until it is well. A connection that says nothing, reads nothing or is one too many is
closed; nothing is kept for it but what is on show.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from scannerd import logs
from scannerd.config.settings import Display
from scannerd.display import Place
from scannerd.display.fanout import Fanout
from scannerd.display.figures import Figures
from scannerd.display.guard import Guard
from scannerd.display.hub import Hub, Links
from scannerd.display.pages import Pages
from scannerd.display.supervisor import Supervisor
from scannerd.inbox import PagesStand, ThreadDied

AGAIN_S = 2.0
"""Seconds before the port and the certificate are tried again."""

MOST = 160
"""Connections at a time."""

SILENT_S = 10.0
"""Seconds that a new connection has to ask for something."""

UNREAD_MS = 20_000
"""Milliseconds after which the system gives up a connection that takes nothing."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A port that is ours and what will serve it."""

    listener: socket.socket
    server: uvicorn.Server


class WebDisplay:
    """The pages of one table, built and not yet served."""

    def __init__(self, config: Display, place: Place, fanout: Fanout, links: Links, again_s: float = AGAIN_S) -> None:
        """Opens nothing yet; what can't be opened is tried again after `again_s` seconds."""
        self._config, self._links, self._again_s = config, links, again_s
        self._log = logs.get("display")
        self._hub = Hub(fanout, links, _hello(place))
        self._place = place
        self._figures = Figures(self._hub, place.table)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._told: PagesStand | None = None
        self.port = 0

    def start(self) -> bool:
        """Binds the port and starts the thread.

        Returns:
            Whether the pages are served; where not, the log and the status topic say why, and it is tried again.
        """
        if self._config.address is None:
            return False
        opened = self._open(*self._config.address)
        self._thread = threading.Thread(target=self._run, args=(opened,), name="display", daemon=True)
        self._thread.start()
        return opened is not None

    @property
    def url(self) -> str:
        """Where the dealer's page is, once it is served."""
        host = self._config.address[0] if self._config.address else ""
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self._config.tls_cert else 'http'}://{shown}:{self.port}/"

    def speak(self, language: str) -> None:
        """Pages that connect from now on begin in another language."""
        self._place = replace(self._place, language=language)
        self._hub.greet(_hello(self._place))

    def stop(self) -> None:
        """Asks the thread to end; returns at once."""
        self._stopping.set()
        if self._server is not None:
            self._server.should_exit = True
        self._hub.stopping = True
        self._hub.nudge()

    def join(self, within: float) -> bool:
        """Waits for the end, at most `within` seconds; whether it came."""
        if self._thread is None:
            return True
        self._thread.join(within)
        return not self._thread.is_alive()

    def _open(self, host: str, port: int) -> _Opened | None:
        """Takes the port and reads the certificate; where one can't be, tells why."""
        try:
            listener = _bound(host, port)
        except OSError as trouble:
            self._tell(f"{trouble.strerror or trouble}".lower())
            return None
        settings = self._settings(self._application())
        try:
            settings.load()
        except OSError as trouble:  # ssl.SSLError is one
            listener.close()
            self._tell(f"{self._config.tls_cert}: {trouble.strerror or trouble}")
            return None
        self.port = listener.getsockname()[1]
        server = self._server = uvicorn.Server(settings)
        self._tell(None)
        return _Opened(listener, server)

    def _tell(self, trouble: str | None) -> None:
        told = PagesStand(self._config.listen, trouble)
        if told == self._told:
            return
        self._told = told
        self._links.post(told)
        if trouble is None:
            self._log.info("pages", url=self.url)
        else:
            self._log.error("the pages can't be served, and are tried again", listen=told.listen, error=trouble)

    def _settings(self, application: Guard) -> uvicorn.Config:
        config = self._config
        return uvicorn.Config(
            application,
            http=Connection,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=16 * 1024,
            ssl_certfile=config.tls_cert,
            ssl_keyfile=config.tls_key,
        )

    def _application(self) -> Guard:
        place, config = self._place, self._config
        secure = config.tls_cert is not None or config.behind_proxy
        supervisor = Supervisor(self._hub, place.table, place.directory, config.pin_file, secure=secure)
        routes = [*Pages(self._hub, self._figures).routes(), *supervisor.routes()]
        names = [*config.hosts, *([config.address[0]] if config.address else [])]
        return Guard(Starlette(routes=routes), names)

    def _run(self, opened: _Opened | None) -> None:
        _log_through(self._log.warning)
        try:
            while opened is None and self._config.address is not None and not self._stopping.wait(self._again_s):
                opened = self._open(*self._config.address)
            if opened is not None:
                self._serve(opened)
        except Exception as error:  # noqa: BLE001 - a dead thread must not die unheard
            self._links.post(ThreadDied(self._links.now(), "display", repr(error)))

    def _serve(self, opened: _Opened) -> None:
        with opened.listener:
            if self._stopping.is_set():
                return
            asyncio.run(_served(opened, self._hub))


async def _served(opened: _Opened, hub: Hub) -> None:
    hub.attach()
    await opened.server.serve(sockets=[opened.listener])


def _hello(place: Place) -> dict[str, object]:
    return {"table": place.table, "language": place.language, "version": place.version, "session": place.session}


class Connection(H11Protocol):
    """A connection that is closed where it is one too many, says nothing, or takes nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Takes a new connection."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
            return
        with suppress(OSError):
            connected: socket.socket = transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
        self.loop.call_later(SILENT_S, self._dismiss)

    def _dismiss(self) -> None:
        cycle: object = self.cycle  # None until the first request
        if cycle is None:
            self.transport.abort()


class _Lines(logging.Handler):
    """Brings what uvicorn says into our log."""

    def __init__(self, tell: Callable[..., object]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tells one line."""
        self._tell(record.getMessage())


def _log_through(tell: Callable[..., object]) -> None:
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [_Lines(tell)]
    logger.setLevel(logging.WARNING)
    logger.propagate = False


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    listener.settimeout(0)
    return listener
