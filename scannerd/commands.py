"""A command as it comes from outside: is it well formed, fresh, and not one that was answered before?

What passes goes to the core, which judges it by the state of the deal. What does not is answered here. The last
`REMEMBERED` ids keep their first reply, refusals included: the id alone decides, whatever the name of the repetition.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from scannerd.core.commands import COMMANDS
from scannerd.core.events import Command

REMEMBERED = 1_000
"""How many ids are remembered, each with its reply."""

LARGEST = 64 * 1024
"""Bytes of a payload beyond which it is not even parsed."""

SHELL_COMMANDS = ("resend", "snapshot", "self_check")
"""Commands that the shell carries out without the core: they change nothing of the table."""

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_LONGEST_ID = 64
_TEXT_FIELDS = ("by", "reason")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is replied: `ok` with the `seq` of the command's last event, or `error` with a `message` for a person."""

    id: str | None
    ok: bool
    seq: int | None = None
    error: str | None = None
    message: str | None = None

    @property
    def payload(self) -> bytes:
        """The reply as it goes out."""
        told: dict[str, object] = {"id": self.id, "ok": self.ok}
        told |= {"seq": self.seq} if self.ok else {"error": self.error, "message": self.message}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


class Replies:
    """The replies to the last `REMEMBERED` command ids, oldest first."""

    def __init__(self, past: Iterable[tuple[str, bytes]] = ()) -> None:
        """Takes what the journal kept."""
        self._payloads = OrderedDict(past)

    def get(self, command_id: str) -> bytes | None:
        """The first reply to this id, or None."""
        return self._payloads.get(command_id)

    def keep(self, command_id: str, payload: bytes) -> None:
        """Remembers a first reply; the oldest gives way."""
        self._payloads[command_id] = payload
        while len(self._payloads) > REMEMBERED:
            self._payloads.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that may be judged; one of `SHELL_COMMANDS` or of the core's."""

    id: str
    command: Command


@dataclass(frozen=True, slots=True)
class Repeated:
    """A command whose id was answered before: the same answer again, and nothing else."""

    payload: bytes


def parse(payload: bytes) -> dict[str, object] | None:
    """The fields of a payload, or None where it is malformed.

    JSON objects only; over `LARGEST` bytes it is not parsed. Lone surrogates and numbers that JSON does not know, or
    no float holds, are refused: nothing of the kind could be journalled or recorded.
    """
    if len(payload) > LARGEST:
        return None
    try:
        fields = json.loads(payload, parse_constant=_refuse_constant)
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()  # 1e999 is read as infinite
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def examine(  # noqa: PLR0913 - all that a verdict depends on, by keyword
    name: str,
    fields: Mapping[str, object] | None,
    *,
    at: int,
    wall: datetime,
    replies: Replies,
    retained: bool = False,
) -> Asked | Repeated | Answer:
    """Whether a command may be judged.

    Args:
        name: the last part of its topic.
        fields: its payload, or None where that was malformed.
        at: when it came, monotonic, microseconds.
        wall: the time of day, for `expires`.
        replies: what was answered before.
        retained: the broker kept it; nobody knows since when.

    Returns:
        The command, or the reply it gets instead. An `Answer` with an id is to be kept in `replies`.
    """
    if fields is None:
        return _malformed(f"a command is a JSON object of at most {LARGEST} bytes")
    command_id = fields.get("id")
    if not isinstance(command_id, str) or not 1 <= len(command_id) <= _LONGEST_ID:
        return Answer(None, ok=False, error="bad_id", message=f"id is required: text of 1 to {_LONGEST_ID} characters")
    before = replies.get(command_id)
    if before is not None:
        return Repeated(before)
    if retained:
        return Answer(command_id, ok=False, error="retained", message="a retained command is never carried out")
    return _fault(name, fields, command_id, wall) or Asked(command_id, _command(name, fields, at))


def _fault(name: str, fields: Mapping[str, object], command_id: str, wall: datetime) -> Answer | None:
    for field in _TEXT_FIELDS:
        if not isinstance(fields.get(field), str | None):
            return _malformed(f"{field} is text")
    expires = fields.get("expires")
    if expires is not None:
        until = moment(expires)
        if until is None:
            return _malformed("expires is a time of RFC 3339, such as 2026-11-30T02:45:00Z")
        if until <= wall:
            return Answer(command_id, ok=False, error="expired", message=f"it was to be carried out before {expires}")
    if name not in COMMANDS and name not in SHELL_COMMANDS:
        known = ", ".join(sorted((*COMMANDS, *SHELL_COMMANDS)))
        return Answer(command_id, ok=False, error="unknown_command", message=f"no command {name!r}; there are {known}")
    return None


def _malformed(message: str) -> Answer:
    return Answer(None, ok=False, error="malformed", message=message)


def _command(name: str, fields: Mapping[str, object], at: int) -> Command:
    by = fields.get("by")
    own = {key: value for key, value in fields.items() if key not in ("id", "by", "expires")}
    return Command(at, name, by if isinstance(by, str) else None, own)


def moment(text: object) -> datetime | None:
    """The time that `expires` says, in UTC; None where it is no RFC 3339 time."""
    if not isinstance(text, str) or not _RFC3339.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
