"""What tests of the terminal view share: topics as a table shows them, a desk, and keys typed at it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scannerd.client import TableEvent, read_event
from scannerd.texts import texts
from scannerd.watching.desk import Desk, Guard, Wish, pressed, told
from scannerd.watching.drawing import draw, text_of
from scannerd.watching.known import Happened, Known, Shown

PLAN = ["A1", "B1", "A2", "B2", "A3", "B3"]
AT = "2026-11-30T02:45:16.000000Z"


def round_fields(phase: str = "dealing", cards: Mapping[str, str] | None = None, due: str | None = "B1") -> object:
    """The topic `round`."""
    return {
        "round": "tp-01/57",
        "phase": phase,
        "plan": PLAN,
        "cards": {"A1": "AS"} if cards is None else cards,
        "due": due,
        "attempt": None if due is None else 1,
        "seq": 9,
    }


def prompt_fields(code: str = "deal", slot: str | None = "B1", reason: str | None = None) -> object:
    """The topic `prompt`."""
    return {
        "code": code,
        "slot": slot,
        "hand": slot and slot[0],
        "index": slot and int(slot[1:]),
        "reason": reason,
        "attempt": 1 if slot else None,
        "conflict_slot": None,
        "text": "the daemon's own words",
        "since": AT,
    }


def status_fields(
    state: str = "online", *, alarms: Sequence[object] = (), depth: int = 0, scanner: str = "up"
) -> object:
    """The topic `status`."""
    return {
        "state": state,
        "session": "s",
        "version": "1",
        "contract": "1.0",
        "game": "teen-patti-20-20",
        "scanners": {"shoe": scanner},
        "outbox": {"depth": depth, "oldest_at": AT if depth else None},
        "alarms": list(alarms),
        "journal": "j",
        "config_digest": "0" * 64,
        "clock": {"synchronised": None},
    }


def alarm(name: str, scanner: str | None = None, detail: str | None = None) -> object:
    """One alarm of the topic `status`."""
    return {"alarm": name, "scanner": scanner, "since": AT, "detail": detail}


def event(seq: int, kind: str, **data: object) -> TableEvent:
    """An event, as it comes from the wire."""
    body = {
        "table": "tp-01",
        "journal": "j",
        "seq": seq,
        "type": kind,
        "round": "tp-01/57",
        "at": AT,
        "data": data,
        "hash": "0",
        "prev": "0",
    }
    found = read_event(json.dumps(body).encode())
    assert found is not None
    return found


def desk(*tables: str, language: str = "en", guard: Guard = "broker", known: bool = True) -> Desk:
    """A desk of tables that are connected; the first is being dealt unless `known` is False."""
    names = tables or ("tp-01",)
    made = Desk(texts(language), tuple(Known(name, standing=True) for name in names), dict.fromkeys(names, guard))
    if not known:
        return made
    for topic, fields in (("prompt", prompt_fields()), ("round", round_fields()), ("status", status_fields())):
        made = shown(made, topic, fields)
    return made


def shown(before: Desk, topic: str, fields: object, table: str = "tp-01") -> Desk:
    """The desk once a topic said something."""
    assert topic in {"prompt", "round", "status"}
    return told(before, Shown(table, topic, fields))  # type: ignore[arg-type] # checked in the line above


def happened(before: Desk, *events: TableEvent) -> Desk:
    """The desk once events came."""
    return told(before, Happened("tp-01", events))


def typed(before: Desk, *keys: str) -> tuple[Desk, Wish | None]:
    """The desk after keys: names such as `ENTER`, else a text letter by letter; and the last wish."""
    names = {"ENTER", "BACKSPACE", "ESC", "TAB", "BTAB", "CLEAR"}
    wish: Wish | None = None
    for key in [single for text in keys for single in ([text] if text in names else text)]:
        before, wish = pressed(before, key)
    return before, wish


def lines(drawn: Desk, width: int = 80, height: int = 24, *, symbols: bool = False) -> list[str]:
    """What a screen of this size shows."""
    return [text_of(line) for line in draw(drawn, width, height, symbols=symbols)]


def screen(drawn: Desk, width: int = 80, height: int = 24, *, symbols: bool = False) -> str:
    """The same as one text."""
    return "\n".join(lines(drawn, width, height, symbols=symbols))


def unplugged(before: Desk) -> Desk:
    """The desk when no source is connected."""
    return replace(before, tables=tuple(replace(known, standing=False) for known in before.tables))
