"""What a replay tells beside what was expected: the first differences, each with the place that it comes from.

An expected file holds lines as `scannerd replay` prints them. Its lines say what is compared: events where it holds
events, prompts where it holds prompts; an empty one expects that no event is told. Keys of `data` (and of `prompt`)
that an expected line leaves out are not compared.

Both sides are read line by line, and a little ahead only where they differ, so that a missing line does not make all
that follow it differ, and a recording of any length takes no more memory than a short one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import orjson

from scannerd.errors import UsageError
from scannerd.messages import dumps
from scannerd.replay import Line

AHEAD = 32
"""How many lines are looked at on each side for the place from where they agree again."""

MOST = 20
"""How many differences are told; after so many the comparison ends."""

_KEYS = {"event": ("t", "type", "round", "data"), "prompt": ("t", "prompt")}
"""The keys of a line; the last one holds the keys that may be left out."""

_LEFT_OUT = "(left out)"

T = TypeVar("T")
Kind: TypeAlias = str
"""`event` or `prompt`."""


class ExpectedError(UsageError):
    """An expected file can't be used. Whoever wrote it must mend the line that is named."""


class Told(NamedTuple):
    """A line that a replay told, and the number of the recording's line that it had come to."""

    line: Line
    from_line: int

    @property
    def text(self) -> bytes:
        """As it is printed."""
        return dumps(self.line)


class Wanted(NamedTuple):
    """A line of an expected file, and its number there."""

    text: bytes
    number: int


class Difference(NamedTuple):
    """An expected line that was told otherwise (both are there), was not told, or a line that was not expected.

    Attributes:
        wanted: what was expected; None: nothing.
        told: what was told; None: nothing.
    """

    wanted: Wanted | None
    told: Told | None


class Expected:
    """The lines of an expected file.

    Attributes:
        path: the file.
        kinds: what the file holds, and so what is compared.
    """

    def __init__(self, path: Path) -> None:
        """Looks through the whole file.

        Raises:
            ExpectedError: it can't be read, or a line of it is neither event nor prompt.
        """
        self.path = path
        self.kinds = frozenset(kind(self.parsed(wanted)) for wanted in self) or frozenset({"event"})

    def __iter__(self) -> Iterator[Wanted]:
        """The lines in their order, without empty ones.

        Raises:
            ExpectedError: the file can't be read.
        """
        try:
            with self.path.open("rb") as lines:
                for number, text in enumerate(lines, start=1):
                    if not text.isspace():
                        yield Wanted(text.strip(), number)
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

    def differences(self, told: Iterable[Told]) -> Iterator[Difference]:
        """Compares what is told with the file; ends after `MOST` differences.

        Args:
            told: the lines of a replay with prompts; those of a kind that the file does not hold are left out.
        """
        of_kind = (one for one in told if kind(one.line) in self.kinds)
        return islice(self._differences(_Ahead(self), _Ahead(of_kind)), MOST)

    def keys(self, wanted: Wanted, told: Told) -> list[tuple[str, object, object]]:
        """The keys that differ, each with what was expected and what was told."""
        line, actual = self.parsed(wanted), _as_json(told)
        *outer, inner = _KEYS[kind(line)]
        return _unequal("", outer, line, actual) + _unequal(f"{inner}.", None, line.get(inner), actual.get(inner))

    def _differences(self, wanted: _Ahead[Wanted], told: _Ahead[Told]) -> Iterator[Difference]:
        while (one := wanted.peek()) is not None or told.peek() is not None:
            other = told.peek()
            if one is not None and other is not None and self._agree(one, other):
                wanted.take(1)
                told.take(1)
            else:
                until_wanted, until_told = self._agree_again(wanted.peek_all(), told.peek_all())
                yield from self._paired(wanted.take(until_wanted), told.take(until_told))

    def _agree(self, wanted: Wanted, told: Told) -> bool:
        return wanted.text == told.text or not self.keys(wanted, told)

    def _agree_again(self, wanted: list[Wanted], told: list[Told]) -> tuple[int, int]:
        """How many lines of each side come before the nearest two that agree; all, if none do."""
        for distance in range(1, len(wanted) + len(told) - 1):
            for skip in range(max(0, distance - len(told) + 1), min(distance, len(wanted) - 1) + 1):
                if self._agree(wanted[skip], told[distance - skip]):
                    return skip, distance - skip
        return len(wanted), len(told)

    def _paired(self, wanted: list[Wanted], told: list[Told]) -> Iterator[Difference]:
        """Lines of one type that stand at the same place are one line that was told otherwise."""
        for one, other in zip_longest(wanted, told):
            if one is not None and other is not None and self.parsed(one).get("type") == other.line.get("type"):
                yield Difference(one, other)
            else:
                yield from (Difference(one, None),) if one is not None else ()
                yield from (Difference(None, other),) if other is not None else ()


class _Ahead(Generic[T]):
    """Looks up to `AHEAD` items ahead."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._seen: deque[T] = deque()

    def peek(self) -> T | None:
        """The next item, or None at the end."""
        if not self._seen:
            self._seen.extend(islice(self._items, 1))
        return self._seen[0] if self._seen else None

    def peek_all(self) -> list[T]:
        """The next items, `AHEAD` at most."""
        self._seen.extend(islice(self._items, AHEAD - len(self._seen)))
        return list(self._seen)

    def take(self, count: int) -> list[T]:
        """Goes beyond items that were peeked at."""
        return [self._seen.popleft() for _ in range(count)]


def kind(line: Line) -> Kind:
    """Whether a line is a prompt or an event."""
    return "prompt" if "prompt" in line else "event"


def _as_json(told: Told) -> Line:
    """As it is read back, with lists for tuples."""
    line: Line = orjson.loads(told.text)
    return line


def _unequal(prefix: str, keys: list[str] | None, wanted: object, told: object) -> list[tuple[str, object, object]]:
    """The keys whose values differ; without `keys` those that are wanted."""
    expected, actual = (value if isinstance(value, dict) else {} for value in (wanted, told))
    return [
        (f"{prefix}{key}", expected.get(key, _LEFT_OUT), actual.get(key, _LEFT_OUT))
        for key in (expected if keys is None else keys)
        if expected.get(key, _LEFT_OUT) != actual.get(key, _LEFT_OUT)
    ]
