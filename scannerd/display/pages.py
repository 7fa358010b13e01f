"""What anyone at the table may see: the dealer's page, its events, the snapshots, the figures, and how the daemon is.

The page's files are read once at the start and served from memory: no path of a request ever reaches the disk.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from scannerd.display.figures import Figures
from scannerd.display.hub import Hub
from scannerd.texts import LANGUAGES, texts

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
"""What is served of the folder `static`, by ending."""

_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_SEND_S = 15.0


class Pages:
    """Routes that need no PIN."""

    def __init__(self, hub: Hub, figures: Figures) -> None:
        """All read from `hub` and `figures`."""
        self._hub, self._figures = hub, figures

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/", Page("dealer.html")),
            Route("/events", Stream(self._hub)),
            Route("/prompt.json", self._snapshot),
            Route("/round.json", self._snapshot),
            Route("/status.json", self._snapshot),
            Route("/texts.json", _texts),
            Route("/metrics", self._metrics),
            Route("/healthz", self._health),
            Route("/readyz", self._readiness),
            Route("/static/{name}", _static),
        ]

    async def _snapshot(self, request: Request) -> Response:
        """The same bytes as the retained topic."""
        name = request.url.path.strip("/").removesuffix(".json")
        payload = self._hub.fanout.shown.topics.get(name)
        return Response(status_code=503) if payload is None else Response(payload, media_type=_JSON)

    async def _metrics(self, request: Request) -> Response:
        del request
        return Response(self._figures.text(), media_type=_METRICS)

    async def _health(self, request: Request) -> Response:
        """Well while the engine turns."""
        del request
        alive = self._hub.alive
        return _told({"alive": alive}, well=alive)

    async def _readiness(self, request: Request) -> Response:
        """Ready while the engine turns and the journal can be written."""
        del request
        prompt = json.loads(self._hub.fanout.shown.topics.get("prompt", b"{}"))
        code = prompt.get("code")
        ready = self._hub.alive and code is not None and code != "storage_fault"
        return _told({"ready": ready, "prompt": code}, well=ready)


class Stream:
    """The server-sent events of one page."""

    def __init__(self, hub: Hub) -> None:
        """They come from `hub`."""
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends until the page leaves, reads nothing for too long, or the daemon stops."""
        del scope
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.create_task(_leave(receive))
        self._hub.pages += 1
        try:
            async for chunk in self._hub.stream():
                async with asyncio.timeout(_SEND_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if gone.done():
                    break
        except TimeoutError:
            pass  # it reads nothing: a page that lives comes back by itself
        finally:
            self._hub.pages -= 1
            gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Page:
    """Serves one file of the folder `static`."""

    def __init__(self, name: str) -> None:
        """`name` is the file's."""
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers."""
        await _file(self._name)(scope, receive, send)


async def _static(request: Request) -> Response:
    return _file(str(request.path_params["name"]))


def _file(name: str) -> Response:
    found = _files().get(name)
    if found is None:
        return Response(status_code=404)
    return Response(found, media_type=TYPES[name.rpartition(".")[2]], headers={"cache-control": "no-cache"})


@cache
def _files() -> Mapping[str, bytes]:
    folder = files("scannerd.display") / "static"
    return {
        found.name: found.read_bytes()
        for found in folder.iterdir()
        if found.is_file() and found.name.rpartition(".")[2] in TYPES
    }


async def _texts(request: Request) -> Response:
    """All words of all languages: a page changes its language without asking again."""
    del request
    return Response(_all_texts(), media_type=_JSON)


@cache
def _all_texts() -> bytes:
    told = {
        language: {
            "name": words.name,
            "hands": dict(words.hands),
            "reasons": dict(words.reasons),
            **{section: dict(found) for section, found in words.words.items()},
        }
        for language, words in ((language, texts(language)) for language in LANGUAGES)
    }
    return json.dumps(told, ensure_ascii=False).encode()


def _told(message: Mapping[str, object], *, well: bool) -> Response:
    return Response(json.dumps(message).encode(), 200 if well else 503, media_type=_JSON)
