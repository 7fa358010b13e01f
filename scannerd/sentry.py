"""Says that the daemon stands still, where the engine can't: a sync that never returns, on a disk that hangs, say.

The engine speaks only of what is written, so while a write does not come back nothing is said, and the dealer's prompt
would go on asking for a card that nobody takes. The sentry stands between the engine and whom it speaks to. All goes
through at once; but when the engine has not moved for too long, another prompt and status cover what was shown last.
They are taken away as soon as it moves again: by the engine's own next word, or by the sentry's next look.

Time is counted in looks of the sentry's own thread. A process that was stopped as a whole has looked no oftener than it
has run, so a pause of the machine is no standstill.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence

from scannerd import logs
from scannerd.core.prompts import STORAGE_FAULT
from scannerd.inbox import ThreadDied
from scannerd.journal import Record
from scannerd.messages import dumps, prompt_fields, utc
from scannerd.mqtt.notices import Reply
from scannerd.roles import Speaker
from scannerd.texts import Texts

LOOK_S = 0.1
"""Seconds between two looks."""

SLOW_WRITE = 9
"""Looks that may find the same write under way: so it is told within a second."""

NO_TURN = 30
"""Looks that may find the engine in the same turn; one comes each second where nothing happens."""

_DISK = "the journal's disk does not answer"
_ENGINE = "the daemon stands still"


class Sentry:
    """The engine's speaker, and a thread that looks whether the engine moves."""

    def __init__(  # noqa: PLR0913, PLR0917 - its seams, each handed in once by the composition root
        self,
        speaker: Speaker,
        texts: Texts,
        turn: Callable[[], int],
        write: Callable[[], int],
        wall: Callable[[], int],
        post: Callable[[ThreadDied], None],
        now: Callable[[], int],
    ) -> None:
        """Passes all on to `speaker`; the thread does not run yet.

        Args:
            speaker: whom the engine speaks to.
            texts: the dealer's language.
            turn: a number that grows while the engine turns.
            write: the number of the write to the journal that is under way; 0: none is.
            wall: the time of day, microseconds since 1970.
            post: told when the thread died.
            now: monotonic time, microseconds.
        """
        self._speaker, self._texts = speaker, texts
        self._turn, self._write = turn, write
        self._wall, self._post, self._now = wall, post, now
        self._log = logs.get("sentry")
        self._speaking = threading.Lock()
        self._shown: dict[str, bytes] = {}
        self._covered = False
        self._seen: tuple[int, int] = (-1, 0)
        self._looks = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sentry", daemon=True)

    def start(self) -> None:
        """Starts to look."""
        self._thread.start()

    def stop(self) -> None:
        """Asks the thread to end, and returns at once; may be called before `start`, and twice."""
        self._stopping.set()

    def join(self, timeout: float = 1.0) -> None:
        """Waits for the thread to end, at most `timeout` seconds; it may never have been started."""
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def speak(self, texts: Texts) -> None:
        """From now on another language."""
        self._texts = texts

    # --- the engine's side ---

    def wake(self, head: int, fresh: Sequence[Record] = ()) -> None:
        """The journal now ends at `head`."""
        with self._speaking:
            self._uncover()
            self._speaker.wake(head, fresh)

    def show(self, topic: str, payload: bytes) -> None:
        """A retained topic has a new payload."""
        with self._speaking:
            self._shown[topic] = payload
            if not self._uncover():
                self._speaker.show(topic, payload)

    def answer(self, reply: Reply) -> None:
        """A command is answered."""
        with self._speaking:
            self._uncover()
            self._speaker.answer(reply)

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Events are asked for again."""
        with self._speaking:
            self._uncover()
            self._speaker.resend(first, last, then)

    # --- the looks ---

    def look(self) -> None:
        """Looks once whether the engine has moved since the last look."""
        with self._speaking:
            seen = self._turn(), self._write()
            self._looks = self._looks + 1 if seen == self._seen else 0
            self._seen = seen
            if not self._looks:
                self._uncover()
            elif self._looks >= (SLOW_WRITE if seen[1] else NO_TURN) and not self._covered:
                self._cover(_DISK if seen[1] else _ENGINE)

    def _run(self) -> None:
        try:
            while not self._stopping.wait(LOOK_S):
                self.look()
        except Exception as error:  # noqa: BLE001 - a dead thread must not die unheard
            self._post(ThreadDied(self._now(), "sentry", repr(error)))

    def _cover(self, why: str) -> None:
        """Shows that nothing counts now, unless that is on show already."""
        before = self._shown.get("prompt"), self._shown.get("status")
        if before[0] is None or before[1] is None or json.loads(before[0])["code"] == STORAGE_FAULT.code:
            return
        self._covered = True
        since = utc(self._wall())
        told = {**prompt_fields(STORAGE_FAULT), "text": self._texts.sentence(STORAGE_FAULT), "since": since}
        self._speaker.show("prompt", dumps(told))
        status = json.loads(before[1])
        alarms = [alarm for alarm in status["alarms"] if alarm["alarm"] != "storage"]
        alarms.append({"alarm": "storage", "scanner": None, "since": since, "detail": why})
        self._speaker.show("status", dumps(status | {"state": "degraded", "alarms": alarms}))
        self._log.error("nothing moves", why=why)  # last: a log that takes nothing may be what the engine waits for

    def _uncover(self) -> bool:
        """Shows again what the engine showed; False where nothing covers it."""
        if not self._covered:
            return False
        self._covered = False
        for topic, payload in self._shown.items():
            self._speaker.show(topic, payload)
        self._log.info("it moves again")
        return True
