"""A state, a reading, an event or a decision in words, as an explanation shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TypeAlias, assert_never

from scannerd.contract import BadFrame, CardRead, NoRead, Notice, Reading, Reply
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.prompts import PROMPT_ROWS, prompt
from scannerd.core.rows import sentence
from scannerd.core.state import MS, Round, State
from scannerd.messages import dumps, prompt_fields

Named: TypeAlias = tuple[str, str]
"""A word for what is told, and the text."""

_ROW = 16
_BYTES = 256
"""Bytes of a chunk that are shown."""

_SIGHTINGS = 6
"""Cards of a scanner's memory that are shown, the latest ones."""

_FIRST, _LAST = 0x20, 0x7E


def bytes_shown(data: bytes, row_bytes: int = _ROW) -> list[str]:
    """Rows of hex with the text beside; of many bytes the first ones."""
    rows = [data[place : place + row_bytes] for place in range(0, min(len(data), _BYTES), row_bytes)]
    width = 3 * min(row_bytes, len(data)) - 1
    shown = [f"{row.hex(' '):{width}}  |{_text(row)}|" for row in rows]
    return [*shown, f"and {len(data) - _BYTES} bytes more"] if len(data) > _BYTES else shown


def _text(data: bytes) -> str:
    return "".join(chr(byte) if _FIRST <= byte <= _LAST else "." for byte in data)


def reading_in_words(reading: Reading) -> str:
    """What a decoder made of bytes."""
    match reading:
        case CardRead():
            return f"code {reading.code!r}{_of_hand(reading.hand)}, from {_frame(reading.raw)}"
        case NoRead():
            return f"no read, {reading.detail!r}, from {_frame(reading.raw)}"
        case BadFrame():
            return f"no frame: {reading.detail}, from {_frame(reading.raw)}"
        case Notice():
            return f"notice {reading.kind} {reading.detail!r}, from {_frame(reading.raw)}"
        case Reply():
            return f"a reply to the device: {_frame(reading.data)}"
        case _ as never:
            assert_never(never)


def _frame(raw: bytes) -> str:
    return raw[:_BYTES].hex(" ") or "no bytes of its own"


def event_in_words(event: e.Event) -> str:  # noqa: PLR0911 - one line an event
    """What the core was told."""
    match event:
        case e.Read():
            return f"read {event.card} of {event.scanner}{_of_hand(event.hand)}{_late(event.stale)}"
        case e.FailedRead():
            words = ["failed read of", event.scanner, event.reason, event.detail, "lost" if event.lost else ""]
            return " ".join(filter(None, words)) + _late(event.stale)
        case e.Noticed():
            return f"notice {event.kind} of {event.scanner} {event.detail}".strip()
        case e.ScannerWentUp() | e.ScannerWentDown():
            link = "up" if isinstance(event, e.ScannerWentUp) else "down"
            return f"{event.scanner} is {link}{f': {event.detail}' if event.detail else ''}"
        case e.Command():
            return f"command {event.name} by {event.by or 'nobody named'} {dumps(event.fields).decode()}"
        case e.BrokerChanged():
            return f"the broker is {'back' if event.up else 'away'}"
        case e.Deadline():
            return "a deadline has come"
        case e.Started() | e.Stopping() | e.AlarmChanged() | e.ClockJumped() | e.SelfCheck() | e.Trimming():
            return f"the daemon's own: {type(event).__name__}"
        case _ as never:
            assert_never(never)


def _of_hand(hand: str | None) -> str:
    return f", hand {hand}" if hand else ""


def _late(stale: bool) -> str:  # noqa: FBT001 - the flag of an event
    return ", stale" if stale else ""


def decision_in_words(decision: d.Decision) -> str:
    """A decision with all its fields that say something."""
    values = ((field.name, getattr(decision, field.name)) for field in fields(decision) if field.name != "at")
    said = " ".join(f"{name}={dumps({'': value}).decode()[4:-1]}" for name, value in values if value is not None)
    return f"{decision.TYPE or type(decision).__name__.lower()} {said}"


def state_in_words(state: State, at: int) -> list[Named]:
    """What matters of a state at a time: each line with a name, empty ones left out."""
    lines = [
        ("phase", _phase(state)),
        ("cards", _cards(state.round)),
        ("doubts", _doubts(state.round)),
        ("last card", _last(state, at)),
        ("round ended", "" if state.ended_at is None else _ago(state.ended_at, at)),
        ("multi-reads", ", ".join(f"{scanner} {_ago(then, at)}" for scanner, then in state.multi_read_at.items())),
        ("seen", "; ".join(_sightings(state, at))),
        ("failures", ", ".join(f"{one} {why} {_ago(then, at)}" for (one, why), then in state.memory.failures.items())),
        ("alarms", ", ".join(" of ".join(filter(None, alarm)) for alarm in state.alarms)),
        ("away", ", ".join(_away(state))),
    ]
    return [(name, text) for name, text in lines if text]


def prompt_in_words(state: State) -> str:
    """What the dealer is asked in a state, and the row of the prompts that says so."""
    row = next((row for row in PROMPT_ROWS if row(state) is not None), None)
    why = "Idle" if row is None else sentence(row.__doc__)
    said = " ".join(f"{name}={value}" for name, value in prompt_fields(prompt(state)).items() if value is not None)
    return f"{why} -> {said}"


def settings_in_words(state: State) -> str:
    """The parameters of the deal."""
    rules = state.setup.rules
    return ", ".join(
        f"{field.name} {dumps({'': getattr(rules, field.name)}).decode()[4:-1]}" for field in fields(rules)
    )


def _phase(state: State) -> str:
    words: list[str] = [state.phase]
    if state.round is not None:
        words.append(state.round.id)
        if state.round.held_for is not None:
            words.append(f"for {state.round.held_for}")
    due = state.due
    if due is not None and state.round is not None:
        words.append(f"due {due.name}, attempt {state.round.tries.get(due.name, 0) + 1}")
    elif state.phase == "dealing":
        words.append("no slot due")
    return " ".join(words)


def _cards(current: Round | None) -> str:
    cards = {} if current is None else current.cards
    return ", ".join(f"{slot} {dealt.card} ({dealt.scanner or 'by hand'})" for slot, dealt in cards.items())


def _doubts(current: Round | None) -> str:
    if current is None:
        return ""
    doubts = [f"{slot} {doubt.reason}" for slot, doubt in current.doubts.items()]
    return ", ".join(doubts + [f"{slot} withdrawn, {reason}" for slot, reason in current.withdrawn.items()])


def _last(state: State, at: int) -> str:
    last = state.last
    return "" if last is None else f"{last.card} of {last.scanner or 'a hand'} in {last.slot} {_ago(last.at, at)}"


def _sightings(state: State, at: int) -> Iterator[str]:
    for scanner, seen in state.memory.sightings.items():
        latest = sorted(seen.items(), key=lambda one: one[1], reverse=True)[:_SIGHTINGS]
        yield f"{scanner} {', '.join(f'{card} {_ago(then, at)}' for card, then in latest)}"


def _away(state: State) -> Iterator[str]:
    yield from (scanner for scanner, link in state.scanners.items() if link == "down")
    if not state.broker_up:
        yield "broker"


def _ago(then: int, at: int) -> str:
    return f"{(at - then) / MS:.10g} ms before" if then != at else "just now"
