"""Which recordings of a corpus are looked at: by an expression over their names, and by what they hold.

An expression is as pytest's `-k`: words with `and`, `or`, `not` and parentheses, whatever the letters' case. A word
fits a recording if its name, a folder of it below the one that was given, its driver or its game holds it; one with
`*`, `?` or `[` must fit one of these wholly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TypeAlias

from scannerd.errors import UsageError
from scannerd.scanlog import Header, reading
from scannerd.verify.corpus import beside
from scannerd.verify.expected import Expected

Words: TypeAlias = tuple[str, ...]
"""What a recording is known by, in small letters."""

Fits: TypeAlias = Callable[[Words], bool]

_TOKEN: Final = re.compile(r"\s*(\(|\)|[^\s()]+)")
_GLOB: Final = re.compile(r"[*?\[]")


class Choice(NamedTuple):
    """What is asked for; empty: anything.

    Attributes:
        expression: an expression over names.
        drivers: one of the recording's scanners has one of these drivers.
        types: one of these events is expected.
        reasons: an event with one of these reasons is expected.
    """

    expression: str = ""
    drivers: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def chosen(recordings: Iterable[Path], choice: Choice, below: Iterable[Path] = ()) -> list[Path]:
    """The recordings that fit.

    Args:
        recordings: their files.
        choice: what is asked for.
        below: the folders that were given, above which no name counts.

    Raises:
        UsageError: the expression can't be read, or none of the recordings fits.
    """
    if choice == Choice():
        return list(recordings)
    fits, folders = _Expression(choice.expression).fits, tuple(below)
    found = [recording for recording in recordings if _fits(recording, choice, fits, folders)]
    if not found:
        raise UsageError("no recording fits the filters; without them all are looked at")
    return found


def header_of(recording: Path) -> Header | None:
    """A recording's header; None: it can't be used, which the replay will say."""
    try:
        with reading(recording, _quiet) as reader:
            return reader.header
    except UsageError:
        return None


def drivers_of(header: Header) -> list[str]:
    """The drivers of a recording's scanners, each once."""
    return list(dict.fromkeys(str(keys.get("driver")) for keys in header.scanners.values()))


def _fits(recording: Path, choice: Choice, fits: Fits, below: tuple[Path, ...]) -> bool:
    header = header_of(recording)
    drivers = [] if header is None else drivers_of(header)
    if choice.drivers and not set(choice.drivers) & set(drivers):
        return False
    names = [*_names(recording, below), *drivers, "" if header is None else header.game]
    if not fits(tuple(name.lower() for name in names)):
        return False
    return not (choice.types or choice.reasons) or _expects(recording, choice)


def _names(recording: Path, below: tuple[Path, ...]) -> tuple[str, ...]:
    for folder in below:
        if recording != folder and recording.is_relative_to(folder):
            return recording.relative_to(folder).with_suffix("").parts
    return (recording.stem,)


def _expects(recording: Path, choice: Choice) -> bool:
    """Whether events of all that is asked for are expected, one each."""
    missing = [wanted for wanted in (choice.types, choice.reasons) if wanted]
    try:
        for told in _told(recording):
            missing = [wanted for wanted in missing if not any(one in told for one in wanted)]
            if not missing:
                return True
    except UsageError:
        return True  # the comparison will say what is wrong with it
    return False


def _told(recording: Path) -> Iterator[list[object]]:
    """The type and the reason of each event that is expected, whatever somebody wrote there."""
    file = beside(recording, "event")
    if not file.exists():
        return
    expected = Expected(file)
    for wanted in expected:
        line = expected.parsed(wanted)
        data = line.get("data")
        yield [line.get("type"), data.get("reason") if isinstance(data, dict) else None]


class _Expression:
    """An expression, read by descent: `or` of `and` of `not` of words and parentheses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self.fits: Fits = _anything if not self._tokens else self._any()
        if self._tokens:
            self._fail(f"{self._tokens[0]!r} is too much")

    def _any(self) -> Fits:
        parts = [self._all()]
        while self._next("or"):
            parts.append(self._all())
        return lambda words: any(part(words) for part in parts)

    def _all(self) -> Fits:
        parts = [self._one()]
        while self._next("and"):
            parts.append(self._one())
        return lambda words: all(part(words) for part in parts)

    def _one(self) -> Fits:
        if self._next("not"):
            part = self._one()
            return lambda words: not part(words)
        if self._next("("):
            inner = self._any()
            if not self._next(")"):
                self._fail("a parenthesis is not closed")
            return inner
        if not self._tokens or self._tokens[0] in {")", "and", "or"}:
            self._fail(f"a word is missing{f' before {self._tokens[0]!r}' if self._tokens else ' at its end'}")
        return _word(self._tokens.pop(0).lower())

    def _next(self, token: str) -> bool:
        if not self._tokens or self._tokens[0] != token:
            return False
        del self._tokens[0]
        return True

    def _fail(self, why: str) -> NoReturn:
        raise UsageError(f"-k {self._text!r}: {why}; words with and, or, not and parentheses are meant")


def _word(word: str) -> Fits:
    if _GLOB.search(word):
        return lambda words: any(fnmatchcase(one, word) for one in words)
    return lambda words: any(word in one for one in words)


def _anything(words: Words) -> bool:
    del words
    return True


def _quiet(text: str) -> None:
    del text
