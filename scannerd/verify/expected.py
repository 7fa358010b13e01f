"""The lines of an expected file, and how one of them is compared with what a replay told.

An expected file holds lines as `scannerd replay` prints them. Its lines say what is compared: events where it holds
events, prompts where it holds prompts; an empty one expects that no event is told. Keys of `data` (and of `prompt`)
that an expected line leaves out are not compared. It is read line by line, so that one of any length takes no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import orjson

from scannerd.errors import UsageError
from scannerd.recording.replay import Line

Kind: TypeAlias = str
"""`event` or `prompt`."""

LEFT_OUT: Final = "(left out)"
"""Stands for the value of a key that is not there."""

_KEYS: Final = {"event": ("t", "type", "round", "data"), "prompt": ("t", "prompt")}
"""The keys of a line; the last one holds the keys that may be left out."""

_PLAIN_EVENT: Final = re.compile(rb'\{"t":[0-9.]+,"type":')
"""How a line that `scannerd replay` printed begins, if it is an event: it need not be read to know that."""


class ExpectedError(UsageError):
    """An expected file can't be used. Whoever wrote it must mend the line that is named."""


class Wanted(NamedTuple):
    """A line of an expected file, and its number there."""

    text: bytes
    number: int


class Unequal(NamedTuple):
    """A key whose value differs, the value expected and the one told."""

    key: str
    expected: object
    told: object


class Expected:
    """The lines of an expected file.

    Attributes:
        path: the file.
        kinds: what the file holds, and so what is compared.
    """

    def __init__(self, path: Path, if_empty: Kind = "event") -> None:
        """Looks through the whole file.

        Args:
            path: the file.
            if_empty: what an empty one expects none of.

        Raises:
            ExpectedError: it can't be read, or a line of it is neither event nor prompt.
        """
        self.path = path
        self.kinds = frozenset(map(self._kind, self)) or frozenset({if_empty})

    def __iter__(self) -> Iterator[Wanted]:
        """The lines in their order, without empty ones.

        Raises:
            ExpectedError: the file can't be read.
        """
        try:
            with self.path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    text = line.strip()
                    if text:
                        yield Wanted(text, number)
        except OSError as trouble:
            raise ExpectedError(f"{self.path}: {trouble.strerror or trouble}") from None

    def parsed(self, wanted: Wanted) -> Line:
        """A line's contents.

        Raises:
            ExpectedError: it is neither event nor prompt.
        """
        where = f"{self.path}:{wanted.number}"
        try:
            line: object = orjson.loads(wanted.text)
        except orjson.JSONDecodeError as broken:
            raise ExpectedError(f"{where}: no JSON: {broken}") from None
        if not isinstance(line, dict) or ("type" not in line and "prompt" not in line):
            raise ExpectedError(f'{where}: neither an event, {{"t":…,"type":…,"round":…,"data":{{…}}}}, nor a prompt')
        known = _KEYS[kind(line)]
        for key in line:
            if key not in known:
                raise ExpectedError(f"{where}: unknown key {key!r}; this kind of line has {', '.join(known)}")
        if not isinstance(line.get(known[-1], {}), dict):
            raise ExpectedError(f"{where}: {known[-1]} is an object")
        return line

    def _kind(self, wanted: Wanted) -> Kind:
        return "event" if _PLAIN_EVENT.match(wanted.text) else kind(self.parsed(wanted))


def kind(line: Line) -> Kind:
    """Whether a line is a prompt or an event."""
    return "prompt" if "prompt" in line else "event"


def unequal(expected: Line, told: Line) -> list[Unequal]:
    """The keys of two lines that differ; `told` as it is read back from JSON."""
    *outer, inner = _KEYS[kind(expected)]
    wanted, actual = (one if isinstance(one, dict) else {} for one in (expected.get(inner), told.get(inner)))
    return [
        *_differing("", outer, expected, told),
        *_differing(f"{inner}.", wanted, wanted, actual),
    ]


def _differing(prefix: str, keys: list[str] | Line, expected: Line, told: Line) -> Iterator[Unequal]:
    for key in keys:
        one, other = expected.get(key, LEFT_OUT), told.get(key, LEFT_OUT)
        if one != other:
            yield Unequal(f"{prefix}{key}", one, other)
