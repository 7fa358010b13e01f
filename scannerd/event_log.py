"""What the log says of what was decided: a line for each event that an administrator would look for.

The journal is the record; these lines are for whoever reads `journalctl` first. They carry the event's number, so that
one leads to the other, and no card: what is on a table is told by the table's own topics alone. Of scanners that come
and go the readers speak themselves, with the remedy; what scanners send again and again is no event, and no line.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import Final, Literal, TypeAlias

from structlog.typing import FilteringBoundLogger

from scannerd.commands import Answer
from scannerd.core import decisions as d

Level: TypeAlias = Literal["debug", "info", "warning"]

_NUMBERS: Final[dict[Level, int]] = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

LEVELS: Final[dict[type[d.Told], Level | None]] = {
    d.DaemonStarted: "info",
    d.DaemonStopped: "info",
    d.ScannerUp: None,
    d.ScannerDown: None,
    d.ScannerNotice: "info",
    d.RoundOpened: "info",
    d.CardAccepted: "debug",
    d.ScanRejected: "info",
    d.CardWithdrawn: "info",
    d.RoundHeld: "warning",
    d.RoundReleased: "info",
    d.RoundCompleted: "info",
    d.RoundVoided: "warning",
    d.AlarmRaised: "warning",
    d.AlarmCleared: "info",
    d.ClockStepped: "warning",
    d.SelfChecked: "info",
    d.JournalTrimmed: "info",
}
"""How loud each event is; None: not at all."""

AGAIN: Final = 300_000_000
"""Microseconds after which a command that is refused for the same reason is told of again."""

_FIELDS: Final = (
    "slot",
    "scanner",
    "reason",
    "attempt",
    "conflict_slot",
    "alarm",
    "kind",
    "detail",
    "via",
    "by",
    "was",
    "rejections",
    "by_ms",
    "previous",
    "cause",
    "changed",
    "last_seq",
)

_FIELDS_OF: Final[dict[type[d.Told], tuple[str, ...]]] = {
    told: tuple(name for name in _FIELDS if name in {field.name for field in fields(told)}) for told in LEVELS
}


def log_events(log: FilteringBoundLogger, drafts: Iterable[tuple[d.Told, str | None]], before: int) -> None:
    """Writes a line for each event.

    Args:
        log: where to.
        drafts: the events, each with its round.
        before: the journal's last seq before them.
    """
    for seq, (told, round_id) in enumerate(drafts, before + 1):
        level = LEVELS[type(told)]
        if level is None or not log.is_enabled_for(_NUMBERS[level]):
            continue
        found = {name: value for name in _FIELDS_OF[type(told)] if (value := getattr(told, name)) is not None}
        if round_id is not None:
            found["round"] = round_id
        getattr(log, level)(told.TYPE, seq=seq, **found)


class RefusalLog:
    """Tells of commands that are not carried out: of one kind at once, and then once in five minutes with their number.

    A program that asks in vain a hundred times a second would push all else out of the log.
    """

    def __init__(self, log: FilteringBoundLogger) -> None:
        """Has told of nothing yet."""
        self._log = log
        self._told: dict[tuple[str, str | None], int] = {}
        self._silent: Counter[tuple[str, str | None]] = Counter()

    def tell(self, refused: Iterable[tuple[str, Answer]], now: int) -> None:
        """Takes refused commands, each by its name and its answer; `now` is monotonic, microseconds."""
        for name, answer in refused:
            kind = (name if answer.error != "unknown_command" else "", answer.error)
            if kind in self._told and now - self._told[kind] < AGAIN:
                self._silent[kind] += 1
                continue
            self._told[kind] = now
            told = {"command": name, "id": answer.id, "error": answer.error, "message": answer.message}
            self._log.warning("command refused", **told, not_told=self._silent.pop(kind, 0))
