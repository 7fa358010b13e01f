"""Configurations of older versions: which keys have changed since, and a file's text changed accordingly.

A daemon reads an older file as if it had been changed, so that an upgrade stops no table; `scannerd config migrate`
changes it for good. Lines, comments and order stay, and what was changed is proved to say the same: where the text
can't be changed safely, as within an inline table, a person is told what to change.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from scannerd.errors import ConfigError
from scannerd.toml_lines import Place, key_lines, line_of

KEY: Final = "config_version"

_BEFORE: Final = r"(?P<before>[ \t]*(?:[A-Za-z0-9_-]+[ \t]*\.[ \t]*)*)"


@dataclass(frozen=True, slots=True)
class Rename:
    """A key of a section, or of each `[[scanner]]`, has another name."""

    section: str
    old: str
    new: str

    def apply(self, keys: dict[str, object]) -> None:
        """Renames it among the keys of a section."""
        keys[self.new] = keys.pop(self.old)

    def line(self, line: str) -> str:
        """Renames it in its line; the line as it is where that can't be done."""
        return re.sub(rf"^{_BEFORE}(?P<quote>[\"']?){self.old}(?P=quote)(?=[ \t]*=)", rf"\g<before>{self.new}", line)

    def remedy(self) -> str:
        """What a person has to do."""
        return f"is called `{self.new}` now: rename it by hand"


@dataclass(frozen=True, slots=True)
class Drop:
    """A key of a section, or of each `[[scanner]]`, means nothing any more; `why` is for people."""

    section: str
    old: str
    why: str

    def apply(self, keys: dict[str, object]) -> None:
        """Takes it away from the keys of a section."""
        del keys[self.old]

    def line(self, line: str) -> str:
        """Puts its line behind a `#`."""
        return f"# {line}"

    def remedy(self) -> str:
        """What a person has to do."""
        return f"means nothing any more ({self.why}): delete it by hand"


Change: TypeAlias = Rename | Drop


@dataclass(frozen=True, slots=True)
class Step:
    """What is different in version `to`."""

    to: int
    changes: tuple[Change, ...]


STEPS: Final[tuple[Step, ...]] = ()
"""In order, from version 2 on. Version 1 is the first."""

VERSION: Final = 1 + len(STEPS)
"""What this scannerd writes and understands best."""


def version_of(path: Path, text: str, data: Mapping[str, object], newest: int = VERSION) -> int:
    """The version that a configuration says it is of; 1 where it says nothing.

    Args:
        path: the file, for the message.
        text: what it holds.
        data: the same, parsed.
        newest: the newest version that is known.

    Raises:
        ConfigError: it is none, or newer. Whoever installed or wrote must act.
    """
    found = data.get(KEY, 1)
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= newest:
        return found
    line = key_lines(text).get((KEY,), 1)
    if isinstance(found, int) and found > newest:
        known = f"a newer scannerd (version {found}, known is {newest})"
        remedy = "install that scannerd again, or bring back the copy that `scannerd config migrate` kept"
        raise ConfigError((f"{path}:{line}: {KEY}: written for {known}: {remedy}",))
    raise ConfigError((f"{path}:{line}: {KEY}: expected a number from 1 to {newest}, found {found!r}",))


def brought_up(path: Path, text: str, steps: Sequence[Step] = STEPS) -> str:
    """The text with every key as it is called now; lines keep their numbers, and `config_version` stays.

    Args:
        path: the file, for messages.
        text: a valid TOML text.
        steps: in order.

    Raises:
        ConfigError: the version is none or newer, or something must be changed by hand.
    """
    found = version_of(path, text, tomllib.loads(text), 1 + len(steps))
    for step in steps:
        if step.to > found:
            for change in step.changes:
                text = _changed(path, text, change)
    return text


def migrated(path: Path, text: str, steps: Sequence[Step] = STEPS) -> str:
    """The text as this version writes it, `config_version` included; unchanged where it is of this version already.

    Raises:
        ConfigError: as `brought_up`.
    """
    newest = 1 + len(steps)
    if version_of(path, text, tomllib.loads(text), newest) == newest:
        return text
    return _with_version(brought_up(path, text, steps), newest)


def _changed(path: Path, text: str, change: Change) -> str:
    before, lines, expected = key_lines(text), text.split("\n"), deepcopy(tomllib.loads(text))
    places = [place for place in before if _is(place, change)]
    for keys in _sections(expected, change.section):
        if change.old in keys:
            change.apply(keys)
    for place in places:
        number = before[place] - 1
        lines[number] = change.line(lines[number])
    after = "\n".join(lines)
    if not _says(after, expected):
        key = f"{change.section}.{change.old}"
        raise ConfigError(tuple(f"{path}:{line}: {key}: {change.remedy()}" for line in _blamed(before, places, change)))
    return after


def _blamed(lines: Mapping[Place, int], places: Sequence[Place], change: Change) -> list[int]:
    """The lines of the key; of an inline table only its own line is known."""
    return [lines[place] for place in places] or [line_of(lines, (change.section,))]


def _is(place: Place, change: Change) -> bool:
    return tuple(part for part in place if isinstance(part, str)) == (change.section, change.old)


def _sections(data: Mapping[str, object], name: str) -> Iterator[dict[str, object]]:
    section = data.get(name)
    for keys in section if isinstance(section, list) else [section]:
        if isinstance(keys, dict):
            yield keys


def _says(text: str, expected: Mapping[str, object]) -> bool:
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False


def _with_version(text: str, version: int) -> str:
    lines, line = text.split("\n"), key_lines(text).get((KEY,))
    end = "\r" if lines[0].endswith("\r") else ""
    if line is not None:
        lines[line - 1] = re.sub(r"(=[ \t]*)[^\s#]+", rf"\g<1>{version}", lines[line - 1], count=1)
    else:
        place = _top(lines)
        lines[place:place] = [f"{KEY} = {version}{end}", end]
    return "\n".join(lines)


def _top(lines: Sequence[str]) -> int:
    """Where a first key goes: behind the comment that heads the file, before the one that heads the first key."""
    first = next((number for number, line in enumerate(lines) if line.strip() and line.lstrip()[0] != "#"), len(lines))
    own = first
    while own and lines[own - 1].lstrip().startswith("#"):
        own -= 1
    return own or first
