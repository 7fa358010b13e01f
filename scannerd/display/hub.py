"""What the pages' event loop shares: the snapshot as all pages are told it, who waits for it, and whose reply is due.

A page is told the latest only: however slow it reads, nothing is kept for it but what is on show now. A heartbeat goes
out while the engine turns and not otherwise, so a page also notices a daemon that lives but does nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from scannerd.core.prompts import Prompt
from scannerd.display.fanout import Fanout, Shown
from scannerd.inbox import Letter
from scannerd.mqtt.notices import CommandReceived
from scannerd.texts import LANGUAGES, texts

BEAT_S = 1.0
"""Seconds between two heartbeats; a page that misses three of them says that the daemon is gone."""

STUCK_S = 3.0
"""Seconds without a turn of the engine after which no heartbeat goes out."""

SETTLE_S = 0.01
"""Seconds that changes are gathered for one telling: the publisher goes first, and a page can't tell the difference."""


@dataclass(frozen=True, slots=True)
class Links:
    """What the pages have of the daemon; none of it blocks.

    Attributes:
        post: the inbox.
        now: monotonic time, microseconds.
        wall: time of day, microseconds since 1970.
        pulse: a number that grows while the engine turns.
        bounces: how many bounces were counted, by scanner.
    """

    post: Callable[[Letter], None]
    now: Callable[[], int]
    wall: Callable[[], int]
    pulse: Callable[[], int]
    bounces: Callable[[], Mapping[str, int]]


class Hub:
    """Lives in the pages' event loop; only `nudge` may be called from another thread.

    Attributes:
        follow: called before pages are told something new.
        pages: how many pages listen now.
        refused: the last rejected read, as pages are told it, or None.
    """

    def __init__(self, fanout: Fanout, links: Links, hello: Mapping[str, object]) -> None:
        """Nothing runs yet; `hello` is what each page is told first."""
        self.fanout, self.links = fanout, links
        self._hello = json.dumps(hello).encode()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._nudged = False
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._told: tuple[Shown, object, bytes] | None = None
        self._pulse, self._turned_at = -1, links.now()
        self.refused: Mapping[str, object] | None = None
        self.follow: Callable[[], None] = _nothing
        self.pages = 0
        self.stopping = False

    def greet(self, hello: Mapping[str, object]) -> None:
        """From now on pages are told this first; may be called from any thread."""
        self._hello = json.dumps(hello).encode()

    def attach(self) -> None:
        """Begins to listen, from within the running loop."""
        self._loop = asyncio.get_running_loop()
        self.fanout.listen(self.nudge)

    def nudge(self) -> None:
        """Something is new; from any thread, returns at once."""
        if self._loop is not None and not self._nudged:
            self._nudged = True
            with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self._loop.call_soon_threadsafe(self._gather)

    def stop(self) -> None:
        """Ends every stream; from within the loop."""
        self.stopping = True
        self._wake()

    @property
    def alive(self) -> bool:
        """Whether the engine has turned within `STUCK_S`."""
        pulse, now = self.links.pulse(), self.links.now()
        if pulse != self._pulse:
            self._pulse, self._turned_at = pulse, now
        return now - self._turned_at < STUCK_S * 1_000_000

    async def changed(self, within: float) -> None:
        """Waits for something new, at most `within` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._changed.wait()

    async def stream(self) -> AsyncIterator[bytes]:
        """The server-sent events of one page."""
        yield b"retry: 500\nevent: hello\ndata: " + self._hello + b"\n\n"
        told: bytes | None = None
        while not self.stopping:
            latest = self.told()
            if latest is not told:
                told = latest
                yield b"event: show\ndata: " + latest + b"\n\n"
            elif self.alive:
                yield b"event: beat\ndata: {}\n\n"
            if self.told() is told and not self.stopping:
                await self.changed(BEAT_S)

    def told(self) -> bytes:
        """The snapshot as pages are told it; made once and shared by all of them."""
        shown, refused = self.fanout.shown, self.refused
        if self._told is None or self._told[0] is not shown or self._told[1] is not refused:
            self._told = (shown, refused, _told(shown, refused))
        return self._told[2]

    def refuse(self, seq: int, rejected: Mapping[str, object]) -> None:
        """A read was rejected: pages sound, and say why where the prompt does not."""
        self.refused = {"seq": seq, **{name: rejected[name] for name in ("reason", "slot", "scanner", "card")}}

    async def command(self, name: str, fields: Mapping[str, object], within: float) -> dict[str, object] | None:
        """Puts a command on the inbox and waits for its reply; None where none comes `within` seconds."""
        letter: CommandReceived = self.fanout.letter(name, fields, self.links.now())
        topic = letter.response_topic or ""
        reply = self._waiting[topic] = asyncio.get_running_loop().create_future()
        try:
            self.links.post(letter)
            async with asyncio.timeout(within):
                answer: dict[str, object] = json.loads(await reply)
                return answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[topic]

    def _gather(self) -> None:
        """Replies go at once; what is shown is gathered for a moment."""
        self._nudged = False
        for reply in self.fanout.replies():
            waiting = self._waiting.get(reply.topic or "")
            if waiting is not None and not waiting.done():
                waiting.set_result(reply.payload)
        asyncio.get_running_loop().call_later(SETTLE_S, self._tell)

    def _tell(self) -> None:
        self.follow()
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _nothing() -> None:
    """Nobody follows."""


def _told(shown: Shown, refused: Mapping[str, object] | None) -> bytes:
    parts = [b'"%s":%s' % (name.encode(), shown.topics.get(name, b"null")) for name in ("prompt", "round", "status")]
    parts.append(b'"sentences":' + json.dumps(_sentences(shown.topics.get("prompt")), ensure_ascii=False).encode())
    parts.append(b'"refused":' + json.dumps(refused, ensure_ascii=False).encode())
    return b"{" + b",".join(parts) + b"}"


def _sentences(payload: bytes | None) -> dict[str, str]:
    """The prompt in every language, since each page has its own."""
    if payload is None:
        return {}
    fields = json.loads(payload)
    prompt = Prompt(**{name: fields[name] for name in Prompt.__dataclass_fields__})
    return {language: texts(language).sentence(prompt) for language in LANGUAGES}
