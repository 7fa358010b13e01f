"""What every request meets first: is it meant for us, does it come from one of our own pages, and what headers go back.

`Host` is compared with what we are called, so that a stranger's name that resolves to this machine (DNS rebinding)
opens nothing. An address is never such a name: a browser sends it only where somebody typed or linked it.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=(), hid=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every answer."""

LARGEST = 8 * 1024
"""Bytes of a request's body."""

_SAFE = ("GET", "HEAD")


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        """`hosts` are the names, beside `localhost`, by which the pages may be called."""
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses what is not for us, and adds the headers to what is answered."""
        if scope["type"] != "http":
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        answer = self._app if refusal is None else PlainTextResponse(refusal[1], refusal[0])
        await answer(scope, receive, sent)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._ours(host):
            return 421, "This name is not one of this table's: see `hosts` in [display]."
        if scope["method"] in _SAFE:
            return None
        if not _same_origin(headers, host, scope["scheme"]):
            return 403, "Only this table's own pages may do that."
        if not headers.get("content-type", "").startswith("application/json"):
            return 415, "Only application/json is taken."
        length = headers.get("content-length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            return 413, f"At most {LARGEST} bytes are taken, and their number must be told."
        return None

    def _ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._hosts or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _same_origin(headers: Headers, host: str, scheme: str) -> bool:
    """Whether a browser says that the request comes from a page of ours; it must say so.

    A proxy in front may speak https where we speak http, but never the other way.
    """
    try:
        origin = urlsplit(headers.get("origin", ""))
    except ValueError:
        return False
    ours = origin.netloc == host and origin.scheme in {scheme, "https"}
    return ours and headers.get("sec-fetch-site", "same-origin") == "same-origin"
