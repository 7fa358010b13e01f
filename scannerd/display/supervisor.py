"""The supervisor's page: behind a PIN, the last rounds with all that happened, and the commands that need a person.

A command goes the same way as one over MQTT and is journalled with the name that was signed in with. Each request
must come from one of our own pages (`guard`), with a session's cookie, and each command with the session's own token.
"""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from scannerd import logs
from scannerd.display import history
from scannerd.display.guard import LARGEST
from scannerd.display.hub import Hub
from scannerd.display.pages import Page
from scannerd.display.pin import Door, fits, read
from scannerd.display.sessions import COOKIE, IDLE_US, Session, Sessions
from scannerd.journal import JournalError

TOKEN_HEADER = "x-scannerd-token"  # noqa: S105 - a header's name
REPLY_S = 5.0
"""Seconds that a page waits for the engine's reply."""

LONGEST_NAME = 64
LONGEST_REASON = 500

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "hold": (),
    "release": (),
    "void": ("reason",),
    "rescan": ("slot",),
    "enter": ("slot", "card", "reason"),
}
"""The commands of the page, each with the fields that it can't do without here."""

_FIELDS = ("slot", "card", "reason")
_BODY_S = 10.0
_MINUTE_US = 60_000_000


class Supervisor:
    """Routes behind the PIN, and the way in."""

    def __init__(self, hub: Hub, table: str, directory: Path, pin_file: Path | None, *, secure: bool) -> None:
        """Nobody is signed in.

        Args:
            hub: takes the commands.
            table: the table's id.
            directory: the table's state directory.
            pin_file: the PIN's hash; None: the page can't be entered.
            secure: the pages are reached by https only, so the cookie may say so.
        """
        self._hub, self._directory, self._pin_file, self._secure = hub, directory, pin_file, secure
        self._cookie = f"{COOKIE}{table}"
        self._door, self._sessions = Door(hub.links.now), Sessions(hub.links.now)
        self._log = logs.get("supervisor")
        self._looking = asyncio.Semaphore(1)

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/supervisor", Page("supervisor.html")),
            Route("/supervisor/misreads", Page("misreads.html")),
            Route("/supervisor/session.json", self._session),
            Route("/supervisor/sign-in", self._sign_in, methods=["POST"]),
            Route("/supervisor/sign-out", self._sign_out, methods=["POST"]),
            Route("/supervisor/rounds.json", self._rounds),
            Route("/supervisor/misreads.json", self._misreads),
            Route("/supervisor/command/{name}", self._command, methods=["POST"]),
        ]

    # --- the way in ---

    async def _session(self, request: Request) -> Response:
        """Who is signed in, and whether one could sign in at all."""
        session = self._found(request)
        told: dict[str, object] = {"pin": read(self._pin_file) is not None, "locked_min": self._locked_min()}
        if session is not None:
            told |= {"name": session.name, "token": session.forgery}
        return _json(told)

    async def _sign_in(self, request: Request) -> Response:
        fields = await _body(request)
        name, pin, line = _text(fields, "name", LONGEST_NAME), fields.get("pin"), read(self._pin_file)
        if line is None:
            return _json({"error": "no_pin"}, 409)
        if not name:
            return _json({"error": "name_needed"}, 422)
        if not self._door.tries():
            return _json({"error": "locked", "minutes": self._locked_min()}, 429)
        if not isinstance(pin, str) or not await asyncio.to_thread(_fits, pin[:1024], line):
            self._log.warning("a wrong PIN for the supervisor's page", by=name, left=self._door.left)
            locked = self._door.locked_us
            told = {"error": "locked", "minutes": self._locked_min()} if locked else {"error": "wrong_pin"}
            return _json({**told, "left": self._door.left}, 429 if locked else 401)
        self._door.opened()
        self._log.info("signed in to the supervisor's page", by=name)
        answer = _json({"name": name})
        token = self._sessions.begin(name, line)
        answer.set_cookie(
            self._cookie,
            token,
            max_age=IDLE_US // 1_000_000,
            path="/supervisor",
            httponly=True,
            samesite="strict",
            secure=self._secure,
        )
        return answer

    async def _sign_out(self, request: Request) -> Response:
        self._sessions.end(request.cookies.get(self._cookie))
        answer = _json({})
        answer.delete_cookie(self._cookie, path="/supervisor", httponly=True, samesite="strict", secure=self._secure)
        return answer

    def _found(self, request: Request) -> Session | None:
        return self._sessions.find(request.cookies.get(self._cookie), read(self._pin_file))

    def _locked_min(self) -> int:
        return math.ceil(self._door.locked_us / _MINUTE_US)

    # --- behind it ---

    async def _rounds(self, request: Request) -> Response:
        before = request.query_params.get("before", "")
        number = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None  # noqa: PLR2004
        return await self._look(request, lambda: history.rounds(self._directory, number))

    async def _misreads(self, request: Request) -> Response:
        scanner, card = request.query_params.get("scanner"), request.query_params.get("card")
        return await self._look(request, lambda: history.misreads(self._directory, scanner or None, card or None))

    async def _look(self, request: Request, look: Callable[[], Mapping[str, object]]) -> Response:
        """Reads the journal beside the event loop, one look at a time."""
        if self._found(request) is None:
            return _json({"error": "signed_out"}, 401)
        try:
            async with self._looking:
                return _json(await asyncio.to_thread(look))
        except (JournalError, OSError) as trouble:
            self._log.warning("the journal can't be read for a page", error=str(trouble))
            return _json({"error": "unreadable"}, 503)

    async def _command(self, request: Request) -> Response:
        session = self._found(request)
        if session is None:
            return _json({"error": "signed_out"}, 401)
        if not session.sent(request.headers.get(TOKEN_HEADER)):
            return _json({"error": "forged"}, 403)
        name = str(request.path_params["name"])
        if name not in COMMANDS:
            return _json({"error": "unknown_command"}, 404)
        given = await _body(request)
        fields = {key: told for key in _FIELDS if (told := _text(given, key, LONGEST_REASON))}
        missing = [key for key in COMMANDS[name] if key not in fields]
        if missing:
            return _json({"error": "missing_field", "message": missing[0]}, 422)
        reply = await self._hub.command(name, {"id": str(uuid.uuid4()), "by": session.name, **fields}, REPLY_S)
        self._log.info("a command of the supervisor's page", command=name, by=session.name, reply=reply)
        return _json({"error": "no_answer"}, 504) if reply is None else _json(reply, 200 if reply["ok"] else 409)


async def _body(request: Request) -> Mapping[str, object]:
    """A request's JSON object; an empty one where it is none, is too long, or does not come."""
    body = b""
    try:
        async with asyncio.timeout(_BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST:
                    return {}
        fields = json.loads(body)
    except (TimeoutError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _text(fields: Mapping[str, object], key: str, longest: int) -> str:
    """A field as one line of text, cut to `longest` characters; empty where it is none."""
    value = fields.get(key)
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode(errors="ignore").decode().split())[:longest]


def _fits(pin: str, line: str) -> bool:
    try:
        return fits(pin, line)
    except ValueError:  # the file was changed by hand: nobody gets in
        return False


def _json(message: Mapping[str, object], status: int = 200) -> Response:
    return Response(json.dumps(message, ensure_ascii=False).encode(), status, media_type="application/json")
