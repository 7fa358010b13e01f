"""A recording that tells nobody whose it is, and replays to the same deal.

What stays: the bytes as the devices sent them and when, the codes of the deck and what decodes them, the rules of the
deal, the game's name, slots, cards, and which commands came. What goes: the table's name, the scanners' names, the
date and the time of day, ids of rounds and commands, who commanded and the reasons that they typed, what the system
said of a lost device (which may name its port and serial number), how many rounds there were before, notes, names and
remarks of codebooks, and every key of a command that nothing is decided by. The same name always becomes the same one.

What was refused for its form (an empty id, a round's id with spaces, a time that is none) is refused again.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, assert_never

from scannerd.codebooks import Codebook, NotInDeck, read_codebook
from scannerd.commands import SHELL_COMMANDS, moment
from scannerd.core.cards import DECK
from scannerd.core.commands import COMMANDS
from scannerd.editing.tape import Tape
from scannerd.scanlog import Broker, Chunk, End, Entry, Header, Link, Order, Sent

RECORDED_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When every anonymous recording was made."""

TABLE: Final = "table-1"

_LONGEST_ID = 64
_LONG_AGO = "1970-01-01T00:00:00+00:00"
_CAUSES = tuple(sorted((*errno.errorcode.values(), *map(os.strerror, errno.errorcode)), key=len, reverse=True))


class Anonymiser:
    """Gives other names, the same for the same.

    Attributes:
        names: what each name has become: for those who must know, and may.
    """

    def __init__(self, tape: Tape) -> None:
        """Takes the recording as it is."""
        self._tape = tape
        self.names: dict[str, str] = {f"table {tape.header.table}": TABLE}
        self._counts: dict[str, int] = {}
        self._later = RECORDED_AT - tape.header.recorded_at
        self._scanners = {name: self._name("scanner", name) for name in tape.header.scanners}

    def tape(self) -> Tape:
        """The recording without what names anybody."""
        return Tape(self._tape.path, self._tape.beside, self._header(), tuple(map(self._entry, self._tape.entries)))

    def _name(self, what: str, was: str) -> str:
        key = f"{what} {was}"
        if key not in self.names:
            self._counts[what] = self._counts.get(what, 0) + 1
            self.names[key] = f"{what}-{self._counts[what]}"
        return self.names[key]

    def _header(self) -> Header:
        header = self._tape.header
        changed = {
            "table": TABLE,
            "recorded_at": RECORDED_AT,
            "rounds_before": None,
            "scanners": {self._scanners[name]: keys for name, keys in header.scanners.items()},
            "note": None,
        }
        return header.model_copy(update=changed)

    def _entry(self, entry: Entry) -> Entry:
        match entry:
            case Chunk() | Sent():
                return replace(entry, scanner=self._scanners[entry.scanner])
            case Link():
                return replace(entry, scanner=self._scanners[entry.scanner], detail=_cause(entry.detail))
            case Order():
                known = entry.name in COMMANDS or entry.name in SHELL_COMMANDS
                return replace(entry, name=entry.name if known else "unknown", args=self._args(entry.args))
            case Broker() | End():
                return entry
            case _ as never:
                assert_never(never)

    def _args(self, args: Mapping[str, object]) -> dict[str, object]:
        named = {"id": self._id, "by": self._person, "reason": self._reason, "round": self._round}
        others = {"expires": self._expires, "slot": self._slot, "card": _card}
        made: dict[str, object] = {}
        for key, value in args.items():
            change = (named | others).get(key)
            if change is not None:
                made[key] = change(value) if isinstance(value, str) else _bare(value)
            elif key in {"from", "to"}:
                made[key] = _bare(value)
        return made

    def _id(self, was: str) -> str:
        if len(was) > _LONGEST_ID:
            return "x" * (_LONGEST_ID + 1)
        return self._name("id", was) if was else ""

    def _person(self, was: str) -> str:
        return self._name("person", was) if was else ""

    def _reason(self, was: str) -> str:
        return self._name("reason", was) if was else ""

    def _round(self, was: str) -> str:
        if not was or len(was) > _LONGEST_ID or not all("!" <= letter <= "~" for letter in was):
            return ""
        return f"{TABLE}/0" if was.startswith(f"{self._tape.header.table}/") else self._name("round", was)

    def _expires(self, was: str) -> str:
        until = moment(was)
        if until is None:
            return "never"
        try:
            return (until + self._later).isoformat()
        except OverflowError:
            return _LONG_AGO

    def _slot(self, was: str) -> str:
        """The slots of any game are a letter and a number."""
        return was if was == "all" or (len(was) <= 3 and was[:1].isalpha() and was[1:].isdigit()) else "none"  # noqa: PLR2004


def anonymous_book(path: Path) -> bytes:
    """A codebook as a file without its name and its remarks.

    Raises:
        CodebookError: it is none.
    """
    book = read_codebook(path)
    lines = ["[deck]", 'name = "deck"', "", "[cards]", *_codes(book, extra=False)]
    extra = list(_codes(book, extra=True))
    return "\n".join([*lines, *(["", "[extra]", *extra] if extra else []), ""]).encode()


def _codes(book: Codebook, *, extra: bool) -> list[str]:
    def text(code: str) -> str:
        return json.dumps(code, ensure_ascii=False)

    return [
        f"{text(code)} = {text(meaning.what if isinstance(meaning, NotInDeck) else meaning)}"
        for code, meaning in book.meanings.items()
        if isinstance(meaning, NotInDeck) is extra
    ]


def _card(was: str) -> str:
    return was if was in DECK else "none"


def _bare(value: object) -> object:
    """A value of a wrong kind, which stays of that kind: numbers and truth values tell nobody's name."""
    if isinstance(value, dict | list | str):
        return type(value)()
    return value


def _cause(detail: str | None) -> str | None:
    """What the system calls the trouble, without the device that had it."""
    if detail is None:
        return None
    return next((cause for cause in _CAUSES if cause in detail), None)
