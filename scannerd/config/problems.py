"""Complaints about a configuration: each with file, line, key, what was expected, and the nearest known key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scannerd.errors import ConfigError
from scannerd.nearest import nearest
from scannerd.redaction import cleaned, is_secret, without_userinfo
from scannerd.toml_lines import Place, line_of

_SHOWN = 60


class Problems:
    """Gathers what is wrong with one file, so that all of it is told at once."""

    def __init__(self, path: Path, lines: Mapping[Place, int]) -> None:
        """`path` is shown as the user gave it; `lines` says where keys stand."""
        self._path = path
        self._lines = lines
        self._found: list[tuple[int, str]] = []

    def add(self, place: Place, text: str) -> None:
        """Notes that the value at `place`, or the lack of it, is wrong; what may be a password in a URL is not said."""
        line = self.line(place)
        self._found.append((line, f"{self._path}:{line}: {_key(place)}: {without_userinfo(text)}"))

    def add_all(self, place: Place, error: ValidationError, model: type[BaseModel], also: Iterable[str] = ()) -> None:
        """Notes what pydantic found below `place`.

        Args:
            place: where the validated value stands.
            error: what was found.
            model: what the value was validated as.
            also: further keys that are known there.
        """
        known = (*model.model_fields, *also)
        for found in error.errors(include_url=False):
            self.add((*place, *found["loc"]), _text(found, model, known))

    def line(self, place: Place) -> int:
        """The line, from 1, of a place or of the nearest one around it."""
        return line_of(self._lines, place)

    def raise_any(self) -> None:
        """Ends the matter.

        Raises:
            ConfigError: something was noted.
        """
        if self._found:
            raise ConfigError(tuple(text for _, text in sorted(self._found, key=lambda found: found[0])))


def unknown_key(key: str, known: Iterable[str]) -> str:
    """What to say of a key that nobody knows."""
    return f"unknown key{nearest(key, known)}"


def _key(place: Place) -> str:
    return ".".join(part for part in place if isinstance(part, str))


def _text(found: ErrorDetails, model: type[BaseModel], known: tuple[str, ...]) -> str:
    kind, message, loc = found["type"], found["msg"], found["loc"]
    key = str(loc[-1]) if loc else ""
    if kind == "extra_forbidden":
        return unknown_key(key, known if len(loc) == 1 else ())
    if kind == "missing":
        field = model.model_fields.get(key)
        meaning = " ".join((field.description or "").split()) if field else ""
        return f"required, but not given. {meaning}".strip()
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    expected = message.replace("Input should be", "expected", 1).replace("Input should", "expected to", 1)
    return f"{expected}{_shown(key, found['input'])}"


def _shown(key: str, value: object) -> str:
    if is_secret(key):
        return ""
    text = without_userinfo(repr(cleaned(value)))
    return f", found {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}"
