"""The thread that serves the pages: uvicorn on a socket of ours, bounded in connections, memory and time.

A port that is taken, or a certificate that can't be read, keeps no table from dealing: it is a line in the log. A
connection that says nothing, reads nothing or is one too many is closed; nothing is kept for it but what is on show.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from scannerd import logs
from scannerd.display import Place
from scannerd.display.fanout import Fanout
from scannerd.display.figures import Figures
from scannerd.display.guard import Guard
from scannerd.display.hub import Hub, Links
from scannerd.display.pages import Pages
from scannerd.display.supervisor import Supervisor
from scannerd.mqtt.notices import ThreadDied
from scannerd.settings import Display

MOST = 160
"""Connections at a time."""

SILENT_S = 10.0
"""Seconds that a new connection has to ask for something."""

UNREAD_MS = 20_000
"""Milliseconds after which the system gives up a connection that takes nothing."""


class WebDisplay:
    """The pages of one table, built and not yet served."""

    def __init__(self, config: Display, place: Place, fanout: Fanout, links: Links) -> None:
        """Opens nothing yet."""
        self._config, self._links = config, links
        self._place, self._fanout = place, fanout
        self._log = logs.get("display")
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._hub: Hub | None = None
        self.port = 0

    def start(self) -> bool:
        """Binds the port and starts the thread.

        Returns:
            Whether the pages are served; where not, the log says why.
        """
        address = self._config.address
        if address is None:
            return False
        try:
            listener = _bound(*address)
        except OSError as trouble:
            self._log.error("the pages can't be served", listen=self._config.listen, error=str(trouble))
            return False
        hub = self._hub = Hub(self._fanout, self._links, _hello(self._place))
        figures = Figures(hub, self._place.table)
        settings = self._settings(self._application(hub, figures))
        try:
            settings.load()
        except OSError as trouble:  # ssl.SSLError is one
            listener.close()
            self._log.error("the pages can't be served", tls_cert=str(self._config.tls_cert), error=str(trouble))
            return False
        self.port = listener.getsockname()[1]
        server = self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._run, args=(server, listener, hub), name="display", daemon=True)
        self._thread.start()
        self._log.info("pages", url=self.url)
        return True

    @property
    def url(self) -> str:
        """Where the dealer's page is, once it is served."""
        host = self._config.address[0] if self._config.address else ""
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self._config.tls_cert else 'http'}://{shown}:{self.port}/"

    def speak(self, language: str) -> None:
        """Pages that connect from now on begin in another language."""
        self._place = replace(self._place, language=language)
        if self._hub is not None:
            self._hub.greet(_hello(self._place))

    def stop(self) -> None:
        """Asks the thread to end; returns at once."""
        if self._server is not None:
            self._server.should_exit = True
        if self._hub is not None:
            self._hub.stopping = True
            self._hub.nudge()

    def join(self, within: float) -> bool:
        """Waits for the end, at most `within` seconds; whether it came."""
        if self._thread is None:
            return True
        self._thread.join(within)
        return not self._thread.is_alive()

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

    def _application(self, hub: Hub, figures: Figures) -> Guard:
        place, config = self._place, self._config
        secure = config.tls_cert is not None or config.behind_proxy
        supervisor = Supervisor(hub, place.table, place.directory, config.pin_file, secure=secure)
        routes = [*Pages(hub, figures).routes(), *supervisor.routes()]
        names = [*config.hosts, *([config.address[0]] if config.address else [])]
        return Guard(Starlette(routes=routes), names)

    def _run(self, server: uvicorn.Server, listener: socket.socket, hub: Hub) -> None:
        _log_through(self._log.warning)
        try:
            asyncio.run(_serve(server, listener, hub))
        except Exception as error:  # noqa: BLE001 - a dead thread must not die unheard
            self._links.post(ThreadDied(self._links.now(), "display", repr(error)))


async def _serve(server: uvicorn.Server, listener: socket.socket, hub: Hub) -> None:
    hub.attach()
    await server.serve(sockets=[listener])


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
