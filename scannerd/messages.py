"""What goes over the wire: events, the retained topics, their times. The only place that knows their JSON.

An event's `data` is the fields of its decision, so that a decision and its message can't drift apart; the rest of an
event (`table`, `journal`, `seq`, `at` …) is added here. The schema (`schema.py`) is made of the same classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import get_args

import orjson

from scannerd.core import decisions as d
from scannerd.core.prompts import Prompt
from scannerd.core.state import State

CONTRACT = "1.0"
"""The version of the contract: new types, fields and reasons may come under 1.x, nothing goes or changes meaning."""

_BESIDE = ("at", "round")
_UNTOLD = (d.Bounced, d.BrokerSwitched, d.Refused)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TOLD: dict[str, type[d.Told]] = {told.TYPE: told for told in get_args(d.Told)}
"""Event type to decision."""

_DATA: dict[type, tuple[str, ...]] = {
    told: tuple(field.name for field in fields(told) if field.name not in _BESIDE) for told in TOLD.values()
}


def _values_of(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Reads the attributes of these names, all at once."""
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda told: (get(told),)


_LATER: dict[type, dict[str, object]] = {
    told: {field.name: field.default for field in fields(told) if field.default is not MISSING}
    for told in TOLD.values()
}
"""Fields that were added under `1.x`, with their defaults: absent where they are that, and in older journals."""

_FIRST = {told: tuple(name for name in names if name not in _LATER[told]) for told, names in _DATA.items()}
_FIELDS = {told: (names, _values_of(names), tuple(_LATER[told].items())) for told, names in _FIRST.items()}


def data(told: d.Told) -> dict[str, object]:
    """An event's `data`."""
    names, values, later = _FIELDS[type(told)]
    made = dict(zip(names, values(told), strict=True))
    for name, default in later:
        value = getattr(told, name)
        if value != default:
            made[name] = value
    return made


def told_rounds(told: tuple[d.Decision, ...], before: State) -> list[tuple[d.Told, str | None]]:
    """The events among decisions, each with the round it belongs to, `before` being the state they were taken in."""
    current = None if before.round is None else before.round.id
    made: list[tuple[d.Told, str | None]] = []
    for decision in told:
        if isinstance(decision, _UNTOLD):
            continue
        if isinstance(decision, d.RoundOpened):
            current = decision.round
        made.append((decision, current))
        if isinstance(decision, d.RoundVoided):
            current = None
    return made


def utc(wall: int) -> str:
    """Microseconds since 1970 as RFC 3339 in UTC, with six decimals and `Z`."""
    seconds, micros = divmod(wall, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """Events of one second share all but the decimals."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:-6]


def microseconds(text: str) -> int:
    """The inverse of `utc`.

    Raises:
        ValueError: `text` is no time with an offset.
    """
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def decision(kind: str, data: Mapping[str, object], at: int, round_id: str | None) -> d.Told | None:
    """The decision that an event of the journal told; None where this version does not know its type.

    Fields that this version does not know are left out: a newer `1.x` may have added them.

    Raises:
        KeyError: a field is missing.
    """
    told = TOLD.get(kind)
    if told is None:
        return None
    data = {**_LATER[told], **data}
    known: dict[str, object] = {name: _frozen(data[name]) for name in _DATA[told]}
    if told is d.RoundOpened:
        known["round"] = round_id
    return told(at=at, **known)  # type: ignore[arg-type]  # checked when the event was sealed


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def dumps(message: Mapping[str, object]) -> bytes:
    """Compact JSON in UTF-8, keys in their order."""
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:  # half a surrogate pair, which UTF-8 can't hold, or a number of more than 64 bits
        return json.dumps(message, separators=(",", ":")).encode()


def prompt_fields(prompt: Prompt) -> dict[str, object]:
    """A prompt's fields, in the contract's order."""
    return {
        "code": prompt.code,
        "slot": prompt.slot,
        "hand": prompt.hand,
        "index": prompt.index,
        "reason": prompt.reason,
        "attempt": prompt.attempt,
        "conflict_slot": prompt.conflict_slot,
    }


def round_snapshot(state: State, seq: int) -> bytes:
    """The retained topic `round`: the current round as a consumer that comes late must know it."""
    due, current = state.due, state.round
    names = state.setup.plan.names
    cards = {} if current is None else current.cards
    attempt = None if due is None or current is None else current.tries.get(due.name, 0) + 1
    return dumps(
        {
            "round": None if current is None else current.id,
            "phase": state.phase,
            "plan": names,
            "cards": {name: cards[name].card for name in names if name in cards},
            "due": None if due is None else due.name,
            "attempt": attempt,
            "seq": seq,
        }
    )
