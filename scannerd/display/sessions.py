"""Who is signed in: sessions in memory, each with a token for its cookie and another against forged requests."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

COOKIE = "scannerd-supervisor-"
"""A cookie's name but for the table's id: cookies of one host know no ports, and several tables may share a host."""

IDLE_US = 30 * 60 * 1_000_000
"""Microseconds without a request after which a session ends."""

MOST = 32
"""Sessions at a time; the oldest gives way."""


@dataclass(slots=True)
class Session:
    """One supervisor.

    Attributes:
        name: journalled as `by`.
        forgery: the token that each command must bring in a header, which another site can't read.
        pin: the PIN file's line at the time; a changed PIN ends the session.
        used_at: the last request, monotonic, microseconds.
    """

    name: str
    forgery: str
    pin: str
    used_at: int

    def sent(self, token: str | None) -> bool:
        """Whether a request brought the token."""
        return token is not None and hmac.compare_digest(self.forgery.encode(), token.encode())


class Sessions:
    """All sessions; used by one thread."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` is monotonic time in microseconds."""
        self._now = now
        self._sessions: dict[str, Session] = {}

    def begin(self, name: str, pin: str) -> str:
        """Signs someone in; returns the cookie's token."""
        token = secrets.token_urlsafe(32)
        self._sessions[token] = Session(name, secrets.token_urlsafe(32), pin, self._now())
        while len(self._sessions) > MOST:
            del self._sessions[next(iter(self._sessions))]
        return token

    def find(self, token: str | None, pin: str | None) -> Session | None:
        """The session of a cookie, where it has not ended and the PIN is still the one it began with."""
        session = self._sessions.get(token or "")
        if session is None or token is None:
            return None
        now = self._now()
        if now - session.used_at > IDLE_US or session.pin != pin:
            del self._sessions[token]
            return None
        session.used_at = now
        return session

    def end(self, token: str | None) -> None:
        """Signs someone out."""
        self._sessions.pop(token or "", None)
