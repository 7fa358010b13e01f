"""Calls that may block longer than the daemon can wait: name look-ups, and opening or closing a serial server."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from scannerd.contract import TransportError

T = TypeVar("T")


class Attempt(Generic[T]):
    """One call in a thread of its own, which is left alone when it takes too long.

    What such a call makes after all is thrown away by `discard`, so that a port opened too late does not stay taken.
    """

    def __init__(self, call: Callable[[], T], discard: Callable[[T], None]) -> None:
        """Starts `call` at once."""
        self._call = call
        self._discard = discard
        self._made: list[T] = []
        self._error: list[BaseException] = []
        self._ended = Event()
        self._given_up = Event()
        self._thread = Thread(target=self._run, name="bounded-open", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the call has not come back yet."""
        return not self._ended.is_set()

    def result(self, seconds: float) -> T:
        """What the call made, or what it raised.

        Raises:
            TransportError: it took longer than `seconds`.
            Exception: whatever the call raised.
        """
        if not self._ended.wait(seconds):
            self._given_up.set()
            self._throw_away()
            raise TransportError(f"no answer within {seconds:g} s", remedy="check the host name, its power and cabling")
        if self._error:
            raise self._error[0]
        return self._made.pop()

    def _run(self) -> None:
        try:
            self._made.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed over to whoever waits for the result
            self._error.append(error)
        self._ended.set()
        if self._given_up.is_set():
            self._throw_away()

    def _throw_away(self) -> None:
        """Both threads come here when it was close; whoever gets hold of the result throws it away."""
        if not self._ended.is_set():
            return
        try:
            made = self._made.pop()
        except IndexError:
            return
        self._discard(made)


class OneAtATime(Generic[T]):
    """Bounded calls of one device: while one that took too long is still running, there is no other."""

    def __init__(self) -> None:
        self._last: Attempt[T] | None = None

    def run(self, call: Callable[[], T], discard: Callable[[T], None], seconds: float) -> T:
        """As `Attempt.result`.

        Raises:
            TransportError: it took longer than `seconds`, or the call before it is still running.
            Exception: whatever the call raised.
        """
        if self._last is not None and self._last.running:
            raise TransportError("the last attempt has not come back yet", remedy="check the network's name server")
        self._last = Attempt(call, discard)
        return self._last.result(seconds)
