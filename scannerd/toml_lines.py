"""Where the keys of a TOML file stand, so that a complaint about a key can name its line.

`tomllib` gives values without places. `key_lines` reads a text that `tomllib` has accepted already, so it need not
judge anything: it follows headers and keys, and steps over values. Keys inside an inline table have the line at which
the table's own key stands.

Two kinds of text end `tomllib` otherwise than its documentation says, with a `RecursionError` and a bare `ValueError`:
`loads` makes them what they are for whoever wrote the file, no TOML at a line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""A way to a value: names of tables and keys, and the index, from 0, in an array of tables."""

_KEY_PART = re.compile(r"""\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)\s*(\.?)""")
_ESCAPE = re.compile(r"\\(.)")
_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_STRINGS = (r'"{3}(?:\\.|[^\\])*?"{3,5}', r"'{3}.*?'{3,5}", r'"(?:[^"\\\n]|\\.)*"', r"'[^'\n]*'")
_TOKENS = re.compile(rf"({'|'.join(_STRINGS)})|(\#[^\n]*)|([\[{{])|([\]}}])|(\n)", re.DOTALL)
"""What matters inside a value: a string, a comment, a bracket either way, the end of a line."""


_LONG_NUMBER = re.compile(r"[0-9A-Za-z_]{4300}")
"""At least so many digits Python refuses to convert."""


def loads(text: str) -> dict[str, object]:
    """What a TOML text says.

    Raises:
        tomllib.TOMLDecodeError: it is none, is nested too deep or has a number too long; its text ends with the place.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        deepest = max(text.split("\n"), key=lambda line: line.count("[") + line.count("{"))
        raise tomllib.TOMLDecodeError(f"values are nested too deep{_place(text, text.find(deepest))}") from None
    except ValueError:
        found = _LONG_NUMBER.search(text)
        raise tomllib.TOMLDecodeError(f"a number is too long{_place(text, found.start() if found else 0)}") from None


def _place(text: str, at: int) -> str:
    """Where a character stands, as `tomllib` says it."""
    before = text[:at]
    return f" (at line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))})"


def key_lines(text: str) -> dict[Place, int]:
    """The line, from 1, at which each table and each key of a valid TOML text stands.

    Args:
        text: what `tomllib.loads` has accepted.
    """
    return _Reader(text).read()


def line_of(lines: Mapping[Place, int], place: Place) -> int:
    """The line of a place, or of the nearest one around it that has a line; 1 where none has."""
    for length in range(len(place), 0, -1):
        if place[:length] in lines:
            return lines[place[:length]]
    return 1


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._table: Place = ()
        self._counts: dict[Place, int] = {}
        self._lines: dict[Place, int] = {}

    def read(self) -> dict[Place, int]:
        while self._skip_blank() < len(self._text):
            if self._text[self._at] == "[":
                self._header()
            else:
                self._pair()
        return self._lines

    def _skip_blank(self) -> int:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _header(self) -> None:
        line, many = self._line(), self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        place = self._resolve(self._key())
        if many:
            index = self._counts.get(place, -1) + 1
            self._counts[place] = index
            place = (*place, index)
        self._at += 2 if many else 1
        self._table = place
        self._lines.setdefault(place, line)

    def _pair(self) -> None:
        line, key = self._line(), self._key()
        for length in range(1, len(key) + 1):
            self._lines.setdefault((*self._table, *key[:length]), line)
        self._at += 1  # the equals sign
        self._skip_value()

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while match := _KEY_PART.match(self._text, self._at):
            self._at = match.end()
            parts.append(_bare(match[1]))
            if not match[2]:
                break
        return tuple(parts)

    def _resolve(self, key: tuple[str, ...]) -> Place:
        """The place of a header: a name that is an array of tables means its last table."""
        place: Place = ()
        for part in key[:-1]:
            place = (*place, part)
            if place in self._counts:
                place = (*place, self._counts[place])
        return (*place, key[-1]) if key else place

    def _skip_value(self) -> None:
        depth = 0
        while match := _TOKENS.search(self._text, self._at):
            self._at = match.end()
            depth += bool(match[3]) - bool(match[4])
            if match[5] and not depth:
                return
        self._at = len(self._text)


def _bare(part: str) -> str:
    if part[0] == '"':
        return _ESCAPE.sub(r"\1", part[1:-1])
    return part[1:-1] if part[0] == "'" else part
