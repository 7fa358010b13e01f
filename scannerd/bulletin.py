"""What is on show: the retained topics `round`, `prompt` and `status`, made of the state, sent only when they changed.

A dealer's display and a late consumer read these instead of the events. The round's snapshot carries the seq it was
made at; a new seq alone is no change, for then nothing in it is different.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from scannerd.core.prompts import Prompt
from scannerd.core.state import State
from scannerd.inbox import PagesStand
from scannerd.messages import CONTRACT, dumps, prompt_fields, round_snapshot, utc
from scannerd.notebook import Digests
from scannerd.recall import Offset
from scannerd.texts import Texts

Show = Callable[[str, bytes], None]
"""Takes a retained topic's last part and its payload."""

Standing = Literal["online", "degraded", "offline"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who speaks: the same in every status of this process."""

    session: str
    version: str
    game: str
    journal: str
    config_digest: str
    scanners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outbox:
    """What the broker has not acknowledged; `oldest_at` is the `at` of the first such event."""

    depth: int = 0
    oldest_at: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the journal can't be written, and since when (monotonic, microseconds)."""

    why: str
    since: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What a status tells beside the table.

    Attributes:
        outbox: what waits for the broker.
        fault: of the journal, or None.
        synchronised: whether the time of day can be trusted; None where nobody knows.
        checked: what the last self-check of this process found, and when, as events write it; None before the first.
        pages: how the pages are; None where they are switched off, or before they tell.
    """

    outbox: Outbox = Outbox()
    fault: Fault | None = None
    synchronised: bool | None = None
    checked: tuple[str, Digests] | None = None
    pages: PagesStand | None = None


class Bulletin:
    """Keeps what was shown last, and shows what is different.

    Attributes:
        machine: what the last status said of it.
    """

    def __init__(self, identity: Identity, texts: Texts, show: Show) -> None:
        """Shows nothing yet."""
        self._identity, self._texts, self._show = identity, texts, show
        self._prompt: tuple[Prompt, bytes] | None = None
        self._round: bytes | None = None
        self._status: bytes | None = None
        self._condition: tuple[object, ...] | None = None
        self.machine = Machine()

    def prompt(self, prompt: Prompt, wall: int) -> bool:
        """Shows a prompt; `since` is when it first was the prompt.

        Args:
            prompt: what the dealer must do now.
            wall: the time of day, microseconds since 1970.

        Returns:
            Whether it is a new one.
        """
        if self._prompt is not None and self._prompt[0] == prompt:
            return False
        told = {**prompt_fields(prompt), "text": self._texts.sentence(prompt), "since": utc(wall)}
        self._prompt = (prompt, dumps(told))
        self._show("prompt", self._prompt[1])
        return True

    def change(self, identity: Identity, texts: Texts) -> None:
        """From now on another configuration is told of, in another language; a prompt that stands is told anew."""
        self._identity, self._texts, self._condition = identity, texts, None
        if self._prompt is not None:
            prompt, before = self._prompt
            self._prompt = (prompt, dumps(json.loads(before) | {"text": texts.sentence(prompt)}))
            self._show("prompt", self._prompt[1])

    def round(self, state: State, seq: int) -> None:
        """Shows the round."""
        as_before = round_snapshot(state, 0)
        if as_before != self._round:
            self._round = as_before
            self._show("round", round_snapshot(state, seq))

    def status(self, state: State, offset: Offset, machine: Machine) -> None:
        """Shows the daemon's condition: the table's, and what the machine says."""
        condition = (state.alarms, state.scanners, machine)
        if condition != self._condition:
            self._condition, self.machine = condition, machine
            self._status = status(self._identity, state, offset, machine)
            self._show("status", self._status)

    def anew(self, state: State, seq: int) -> None:
        """Sends all three once more, whether they changed or not."""
        if self._prompt is not None:
            self._show("prompt", self._prompt[1])
        self._show("round", round_snapshot(state, seq))
        if self._status is not None:
            self._show("status", self._status)


def status(identity: Identity, state: State, offset: Offset, machine: Machine, *, offline: bool = False) -> bytes:
    """The payload of the topic `status`; with `offline` that of the last will and of an orderly end."""
    alarms: list[dict[str, object]] = [
        {"alarm": name, "scanner": scanner, "since": utc(offset.day(alarm.since)), "detail": alarm.detail}
        for (name, scanner), alarm in state.alarms.items()
        if machine.fault is None or name != "storage"  # the fault is the worse of the two
    ]
    if machine.fault is not None:
        since = utc(offset.day(machine.fault.since))
        alarms.append({"alarm": "storage", "scanner": None, "since": since, "detail": machine.fault.why})
    scanners = {name: state.scanners.get(name) or "down" for name in identity.scanners}
    troubled = bool(alarms) or "down" in scanners.values()
    standing: Standing = "offline" if offline else "degraded" if troubled else "online"
    return dumps(
        {
            "state": standing,
            "session": identity.session,
            "version": identity.version,
            "contract": CONTRACT,
            "game": identity.game,
            "scanners": scanners,
            "outbox": {"depth": machine.outbox.depth, "oldest_at": machine.outbox.oldest_at},
            "alarms": alarms,
            "journal": identity.journal,
            "config_digest": identity.config_digest,
            "clock": {"synchronised": machine.synchronised},
            "self_check": None if machine.checked is None else _checked(*machine.checked),
            "display": None if machine.pages is None else _pages(machine.pages),
        }
    )


def _pages(pages: PagesStand) -> dict[str, object]:
    return {"listen": pages.listen, "served": pages.trouble is None, "detail": pages.trouble}


def _checked(at: str, found: Digests) -> dict[str, object]:
    return {"at": at, "code_digest": found.code, "config_digest": found.config, "codebooks": found.codebooks}
