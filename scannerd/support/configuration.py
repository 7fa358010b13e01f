"""A configuration without its secrets, as data where it is TOML, and line by line where it is not.

Shown is only what is known to be no secret: keys that this version knows, without comments, and of a secret's file only
whether it is there. A password behind a misspelt key is a secret, too.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, get_type_hints

from scannerd.config.settings import Config, Section, Stanza
from scannerd.config.versions import KEY
from scannerd.errors import DriverUnusable
from scannerd.redaction import HIDDEN, cleaned, is_secret, without_userinfo
from scannerd.registry import Registry
from scannerd.toml_lines import loads

_LONG: Final = 6
"""Characters from which on what may be a secret is taken for one elsewhere, too."""
_URL: Final = "url"
"""The key that holds a URL, in every section that has one."""
_LARGEST: Final = 65_536
"""Bytes of a secret's file that are looked at."""

_HEADER: Final = re.compile(r"[ \t]*(\[{1,2}[ \tA-Za-z0-9_.-]+\]{1,2})[ \t]*(?:#.*)?")
_PAIR: Final = re.compile(r"[ \t]*([A-Za-z0-9_-]+)[ \t]*=[ \t]*(\"[^\"\\]*\"|'[^']*'|[A-Za-z0-9_+.-]+)[ \t]*(?:#.*)?")
_KEYED: Final = re.compile(r"[ \t]*([A-Za-z0-9_.\"'-]+)[ \t]*=")
_QUOTED: Final = re.compile(r"\"([^\"]*)\"?|'([^']*)'?")
_USER: Final = re.compile(r"://([^\s\"'<>]*)@")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+")


@dataclass(slots=True)
class Shown:
    """What is left of a configuration.

    Attributes:
        data: what it says, where it is TOML.
        lines: its lines, where it is not.
        secrets: what was hidden, to be looked for in all else.
    """

    data: dict[str, object] | None = None
    lines: list[str] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)


def show(path: Path, text: str, credentials: Path) -> Shown:
    """Shows a configuration.

    Args:
        path: the file; what it names is relative to its folder.
        text: what it holds.
        credentials: the folder where systemd finds secrets.
    """
    shown, known, table = Shown(), _known(), None
    try:
        data = loads(text)
    except tomllib.TOMLDecodeError:
        shown.lines = [_line(line, known, shown.secrets) for line in text.split("\n")]
    else:
        shown.data = {name: _part(name, value, known, path, shown.secrets) for name, value in data.items()}
        table = data.get("table")
    names = {path.stem, str(table.get("id") if isinstance(table, dict) else "")}
    files = [file for name in names if name and "/" not in name for file in credentials.glob(f"scannerd-{name}.*")]
    shown.secrets |= set().union(*(_content(file) for file in files))
    return shown


class _Known:
    """The keys that this version knows, by section and by driver, and all of them."""

    def __init__(self, registry: Registry) -> None:
        hints = get_type_hints(Config).items()
        self.sections = {name: set(kind.model_fields) for name, kind in hints if _is_section(kind)}
        self._drivers: dict[object, set[str]] = {}
        for name in registry.names:
            with suppress(DriverUnusable):
                self._drivers[name] = set(registry.load(name).Options.model_fields)
        self.all = {KEY, *Stanza.model_fields}.union(*self.sections.values(), *self._drivers.values())

    def of_scanner(self, driver: object) -> set[str]:
        """The keys of a `[[scanner]]` with this driver."""
        return {*Stanza.model_fields, *(self._drivers.get(driver, ()) if isinstance(driver, str) else ())}


@cache
def _known() -> _Known:
    return _Known(Registry())


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _part(name: str, value: object, known: _Known, path: Path, secrets: set[str]) -> object:
    if name == KEY and isinstance(value, int):
        return value
    if name == "scanner" and isinstance(value, list):
        return [_keys(item, known.of_scanner(_driver(item)), path, secrets) for item in value]
    return _keys(value, known.sections.get(name, set()), path, secrets)


def _driver(stanza: object) -> object:
    return stanza.get("driver") if isinstance(stanza, dict) else None


def _keys(section: object, known: set[str], path: Path, secrets: set[str]) -> object:
    if not isinstance(section, dict):
        return _hidden(section, secrets, "in no section")
    return {key: _value(key, value, known, path, secrets) for key, value in section.items()}


def _value(key: str, value: object, known: set[str], path: Path, secrets: set[str]) -> object:
    if is_secret(key):
        secrets |= set() if key in known else set(_texts(value))
        return _file(path.parent / value, value, secrets) if isinstance(value, str) else _hidden(value, secrets)
    if key not in known:
        return _hidden(value, secrets, "an unknown key")
    if isinstance(value, Mapping):
        return _hidden(value, secrets, "a table")
    secrets |= set(_users(value))
    if key == _URL and isinstance(value, str):
        return _url(value, secrets)
    return cleaned(value)


def _hidden(value: object, secrets: set[str], why: str = "") -> str:
    """A value that may be a secret; looked for elsewhere only where it is long: `shoe` stands in every other line."""
    secrets |= {text for text in _texts(value) if not why or len(text) >= _LONG}
    return f"{HIDDEN} {why}".strip()


def _texts(value: object) -> Iterator[str]:
    """All that a value holds, as it may stand elsewhere."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif not isinstance(value, bool):
        yield str(value)


def _users(value: object) -> Iterator[str]:
    """User and password of each URL in a value, and the password alone."""
    for text in _texts(value):
        for found in _USER.findall(text):
            yield found
            yield found.partition(":")[2]


def _url(text: str, secrets: set[str]) -> str:
    """A URL without what stands before its last `@`: a password may hold anything, and the scheme may be missing."""
    for part in (text, *text.split(",")):
        user = part[_scheme(part) :].rpartition("@")[0]
        secrets |= {user, user.partition(":")[2]}
    _, at, host = text.rpartition("@")
    return without_userinfo(f"{text[: _scheme(text)]}{HIDDEN}@{host}" if at else text)


def _scheme(url: str) -> int:
    """Where a URL's scheme ends."""
    found = _SCHEME.match(url)
    return found.end() if found else 0


def _file(file: Path, written: str, secrets: set[str]) -> str:
    """A secret's file: that it is there, and its mode. Where it is not there, somebody may have written the secret."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except (OSError, ValueError):
        secrets.add(written)
        return f"{HIDDEN} a file that is not there, or can't be looked at"
    secrets |= _content(file)
    return f"{HIDDEN} a file, mode {mode:04o}"


def _content(file: Path) -> set[str]:
    """What a secret's file holds, whole and line by line; nothing where we may not read it, or it is a pipe."""
    try:
        if not file.is_file():
            return set()
        with file.open("rb") as opened:
            text = opened.read(_LARGEST).decode(errors="surrogateescape")
    except OSError:
        return set()
    return {text.strip(), *(line.strip() for line in text.splitlines() if not line.startswith("-----"))}


def _line(line: str, known: _Known, secrets: set[str]) -> str:
    """A line of a file that is no TOML, where all of it is known to be no secret."""
    line = line.rstrip("\r")
    if not line.strip():
        return ""
    if header := _HEADER.fullmatch(line):
        return header[1]
    pair = _PAIR.fullmatch(line)
    if pair and pair[1] in known.all and not is_secret(pair[1]):
        secrets |= set(_users(pair[2]))
        quote, text = pair[2][0], pair[2][1:-1]
        shown = f"{quote}{_url(text, secrets)}{quote}" if pair[1] == _URL and quote in "\"'" else pair[2]
        return f"{pair[1]} = {without_userinfo(shown)}"
    key = _KEYED.match(line)
    if key and key[1] in known.all:
        secrets |= _possible(line[key.end() :])
        return f"{key[1]} = {HIDDEN}"
    secrets |= _possible(line) | _possible(line[key.end() :] if key else "")
    return HIDDEN


def _possible(text: str) -> set[str]:
    """What may be a secret in a line that is hidden: its value, all of it, each part; of a comment nothing is told."""
    text = text.strip()
    if text.startswith("#"):
        return set()
    quoted = {part for found in _QUOTED.finditer(text) for part in found.groups() if part}
    bare = {part.strip() for part in _QUOTED.split(text) if part}
    bare |= {word for word in text.split() if not word.isalpha()}  # a plain word stands in other lines, too
    with suppress(tomllib.TOMLDecodeError):
        bare |= set(_texts(loads(f"value = {text}")))
    return {part for part in {text} | quoted | bare if len(part) >= _LONG}
