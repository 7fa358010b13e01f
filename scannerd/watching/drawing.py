"""A desk as lines of text for a screen of any size; colour says nothing that the words do not say.

What comes from the wire may hold anything: what a terminal would not print as one character is never passed on.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from scannerd.client import TableEvent
from scannerd.core.prompts import Code, Prompt
from scannerd.watching.desk import ACTIONS, Asking, Desk
from scannerd.watching.known import Known

Style: TypeAlias = Literal["plain", "title", "due", "good", "alarm", "faint"]

KINDS = {
    "round_opened": "opened",
    "card_accepted": "accepted",
    "scan_rejected": "rejected",
    "card_withdrawn": "withdrawn",
    "round_held": "held",
    "round_released": "released",
    "round_completed": "completed",
    "round_voided": "voided",
    "alarm_raised": "alarm_raised",
    "alarm_cleared": "alarm_cleared",
}
"""Event type to its word in the section `supervisor`; other types are shown by their name."""

STYLES: dict[str, Style] = {
    "card_accepted": "good",
    "round_completed": "good",
    "scan_rejected": "alarm",
    "round_held": "alarm",
    "round_voided": "alarm",
    "alarm_raised": "alarm",
}

_ALARMING = ("call_supervisor", "scanner_down", "scanner_error", "network_down", "storage_fault")
_SYMBOLS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
_WIDE = ("W", "F")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line."""

    text: str
    style: Style = "plain"


Line: TypeAlias = tuple[Span, ...]


def draw(desk: Desk, width: int, height: int, *, symbols: bool = True) -> list[Line]:
    """The lines of the screen: at most `height`, none wider than `width` cells.

    Args:
        desk: what to draw.
        width: cells in a line.
        height: lines.
        symbols: the terminal can show the signs of the suits; else they are letters.
    """
    foot = [line for text in _foot(desk) for line in _wrapped(text, width)]
    if desk.listing:
        body = [line for lines in _list(desk) for line in _wrapped(lines, width)]
    else:
        body = [line for text in _table(desk, symbols=symbols) for line in _wrapped(text, width)]
    room = max(0, height - len(foot))
    body = body[:room]
    if not desk.listing:
        events = [_clipped(line, width) for line in _events(desk)]
        body += _last(events, room - len(body))
    body += [()] * (room - len(body))
    return [*body, *foot][:height]


def text_of(line: Line) -> str:
    """A line without its styles."""
    return "".join(span.text for span in line).rstrip()


def clean(text: str) -> str:
    """One line that a terminal prints as it is: what is not printable becomes a space or a question mark."""
    spaced = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "?" for letter in spaced)


def cells(text: str) -> int:
    """How many cells a terminal needs for a text."""
    return sum(map(_cells, text))


def _cells(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in _WIDE else 1


# --- one table ---


def _table(desk: Desk, *, symbols: bool) -> Iterator[Line]:
    known = desk.known
    if len(desk.tables) > 1:
        yield _bar(desk)
    yield _title(desk, known)
    yield ()
    yield _prompt(desk, known)
    yield ()
    for hand, slots in known.hands.items():
        title = desk.words.hand(hand, known.hands)
        yield (Span(f" {title}  ", "title"), *_cards(desk, known, slots, symbols))
    yield ()
    yield from _alarms(desk, known)
    yield _scanners(desk, known)
    yield _outbox(desk, known)


def _bar(desk: Desk) -> Line:
    spans = []
    for number, known in enumerate(desk.tables):
        mark = "!" if known.troubled else ""
        text = f" {number + 1} {known.table}{mark} "
        spans.append(Span(f"[{text}]" if number == desk.at else f" {text} ", "alarm" if known.troubled else "plain"))
    return tuple(spans)


def _title(desk: Desk, known: Known) -> Line:
    current = known.round
    parts = [f" {known.table}", _phase(desk, known)]
    if current is not None and current.round is not None:
        parts.append(desk.word("page", "round", round=clean(current.round)))
    if known.status is not None:
        parts.append(clean(known.status.state))
    if known.table in desk.signed:
        parts.append(desk.word("supervisor", "signed_in", name=clean(desk.signed[known.table])))
    return (Span("  ".join(parts), "title"),)


def _phase(desk: Desk, known: Known) -> str:
    match None if known.round is None else known.round.phase:
        case "dealing":
            return desk.word("watch", "dealing")
        case "held":
            return desk.word("supervisor", "held")
        case "complete":
            return desk.word("supervisor", "completed")
        case _:
            return desk.word("page", "no_round")


def _prompt(desk: Desk, known: Known) -> Line:
    text, style = sentence(desk, known)
    return (Span(f" >> {text}", style),)


def sentence(desk: Desk, known: Known) -> tuple[str, Style]:
    """What is to be done at a table, or why nobody knows."""
    if not known.standing:
        return desk.word("page", "lost"), "alarm"
    if known.away:
        return desk.word("watch", "away"), "alarm"
    found = known.prompt
    if found is None:
        return desk.word("watch", "waiting"), "plain"
    style: Style = "alarm" if found.code in _ALARMING else "due" if found.code in {"deal", "rescan"} else "title"
    if found.code not in get_args(Code):  # of a newer daemon, whose own words say it
        return clean(found.text), style
    code = cast("Code", found.code)
    prompt = Prompt(code, found.slot, found.hand, found.index, found.reason, found.attempt, found.conflict_slot)
    return clean(desk.words.sentence(prompt)), style


def _cards(desk: Desk, known: Known, slots: Iterable[str], symbols: bool) -> Iterator[Span]:  # noqa: FBT001 - as in draw
    current = known.round
    if current is None:
        return
    for slot in slots:
        card = current.cards.get(slot)
        if card is not None:
            yield Span(f"  {desk.words.slot(slot)}[ {_card(card, symbols=symbols)} ] ")
        elif slot == current.due:
            yield Span(f" >{desk.words.slot(slot)}[ ?? ]<", "due")
        else:
            yield Span(f"  {desk.words.slot(slot)}[    ] ", "faint")


def _card(card: str, *, symbols: bool) -> str:
    text = clean(card)
    return f"{text[:-1]}{_SYMBOLS.get(text[-1:], text[-1:])}" if symbols else text


def _alarms(desk: Desk, known: Known) -> Iterator[Line]:
    alarms = [] if known.status is None else known.status.alarms
    label = desk.word("watch", "alarms")
    if not alarms:
        yield (Span(f" {label}: {desk.word('watch', 'none')}"),)
    for alarm in alarms:
        about = "  ".join(clean(part) for part in (alarm.alarm, alarm.scanner, alarm.detail) if part)
        yield (Span(f" {label}! {alarm.since:%H:%M:%S}Z  {about}", "alarm"),)


def _scanners(desk: Desk, known: Known) -> Line:
    scanners = {} if known.status is None else known.status.scanners
    spans = [Span(f" {desk.word('watch', 'scanners')}:")]
    for name, state in scanners.items():
        word = desk.word("page", f"scanner_{state}") if state in {"up", "down"} else clean(state)
        spans.append(Span(f"  {clean(name)} {word}", "plain" if state == "up" else "alarm"))
    return tuple(spans)


def _outbox(desk: Desk, known: Known) -> Line:
    label = f" {desk.word('watch', 'outbox')}: "
    if known.status is None or not known.status.outbox.depth:
        return (Span(f"{label}{'' if known.status is None else 0}"),)
    outbox = known.status.outbox
    since = "" if outbox.oldest_at is None else f"  ({outbox.oldest_at:%H:%M:%S}Z)"
    return (Span(f"{label}{desk.word('page', 'waiting_out', depth=str(outbox.depth))}{since}", "alarm"),)


def _events(desk: Desk) -> list[Line]:
    known = desk.known
    if known.unreadable:
        return [(Span(f" {desk.word('supervisor', 'unreadable')}", "alarm"),)]
    return [_event(desk, event) for event in known.events]


def _event(desk: Desk, event: TableEvent) -> Line:
    kind = "entered" if event.data.get("via") == "manual" else KINDS.get(event.type)
    word = clean(event.type) if kind is None else desk.word("supervisor", kind)
    data, parts = event.data, [word]
    slot = data.get("slot")
    parts += [desk.words.slot(slot)] if isinstance(slot, str) else []
    parts += [value for key in ("card", "alarm", "kind", "scanner") if isinstance(value := data.get(key), str)]
    reason = data.get("reason")
    parts += [desk.words.reason(reason)] if isinstance(reason, str) else []
    parts += [value for key in ("detail", "by") if isinstance(value := data.get(key), str) and value]
    return (Span(f"  {event.at:%H:%M:%S}Z  {'  '.join(map(clean, parts))}", STYLES.get(event.type, "plain")),)


# --- all tables, and the foot ---


def _list(desk: Desk) -> Iterator[Line]:
    yield (Span(f" {desk.word('watch', 'all_tables')}", "title"),)
    for number, known in enumerate(desk.tables):
        text, style = sentence(desk, known)
        mark = "!" if known.troubled else " "
        yield (Span(f" {number + 1} {mark} {known.table}  {_phase(desk, known)}  "), Span(text, style))


def _foot(desk: Desk) -> Iterator[Line]:
    asking = desk.asking
    if desk.message:
        yield (Span(f" {clean(desk.message)}", "title"),)
    elif asking is None and not desk.listing and desk.guards[desk.known.table] == "broker":
        yield (Span(f" {desk.word('watch', 'broker_rights')}", "faint"),)
    if asking is None:
        yield _keys(desk)
    elif desk.waiting:
        yield (Span(f" {desk.word('watch', 'working')}", "title"),)
    else:
        yield (Span(f" {desk.word('watch', 'hint')}", "faint"),)
        yield _question(desk, asking)


def _question(desk: Desk, asking: Asking) -> Line:
    action = desk.word("supervisor", asking.action.command)
    wanted = asking.wanted[0]
    label = desk.word("supervisor", "your_name" if wanted == "name" else wanted)
    typed = "*" * len(asking.typed) if wanted == "pin" else clean(f"{asking.typed}|")[:-1]
    return (Span(f" {asking.table}  {action}  {label}: ", "title"), Span(f"{typed}_"))


def _keys(desk: Desk) -> Line:
    keys = {} if desk.listing else {key: desk.word("supervisor", ACTIONS[key].command) for key in desk.possible()}
    if len(desk.tables) > 1:
        keys |= {"Tab": desk.word("watch", "next_table"), "a": desk.word("watch", "all_tables")}
    keys["q"] = desk.word("watch", "quit")
    return tuple(Span(f" {key} {word} ", "plain") for key, word in keys.items())


# --- fitting ---


def _last(lines: list[Line], count: int) -> list[Line]:
    return lines[-count:] if count > 0 else []


def _clipped(line: Line, width: int) -> Line:
    return next(iter(_pieces(line, width)), ())


def _wrapped(line: Line, width: int) -> list[Line]:
    return list(_pieces(line, width)) or [()]


def _pieces(line: Line, width: int) -> Iterator[Line]:
    """The line in pieces of at most `width` cells; a span goes to the next piece whole where it fits there."""
    piece: list[Span] = []
    left = width
    for span in line:
        rest = span.text
        if piece and cells(rest) > left and cells(rest) <= width:
            yield tuple(piece)
            piece, left = [], width
        while cells(rest) > left:
            head = _head(rest, left)
            yield (*piece, Span(head, span.style))
            piece, left, rest = [], width, rest[len(head) :] if head else rest[1:]
        piece.append(Span(rest, span.style))
        left -= cells(rest)
    if piece:
        yield tuple(piece)


def _head(text: str, width: int) -> str:
    """As much of a text as fits, to the last space where there is one not too far back."""
    used = end = 0
    for letter in text:
        used += _cells(letter)
        if used > width:
            break
        end += 1
    space = text.rfind(" ", 0, end) + 1
    return text[:space] if space > end // 2 and end < len(text) else text[:end]
