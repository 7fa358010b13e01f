"""What a frame of a text scanner means: the checks of one whole frame, and the options that govern them.

A frame's bytes alone decide its reading, never its time or what came before. The checks stand in a fixed order and the
first that fails decides: printable, no-read text, symbology, strip, no-read text again, checksum, length, pattern.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, field_validator

from scannerd.contract import BadFrame, CardRead, DriverOptions, NoRead

FrameReading: TypeAlias = CardRead | NoRead | BadFrame

REMEMBERED_FRAMES = 256
"""Frames whose reading is kept: more than a deck and its misreads."""

_AIM_LENGTH = 3
_ASCII = bytes(range(0x20, 0x7F))
_CODE_ESCAPES = b"\\x41\\u0041"


def _aim_prefix(text: str) -> str:
    prefix = text.removeprefix("]")
    if len(prefix) != _AIM_LENGTH - 1:
        message = f"an AIM prefix is ']' and two characters, such as ']C1', not {text!r}"
        raise ValueError(message)
    return f"]{prefix}"


def _encoding(name: str) -> str:
    """A text encoding in which ASCII means itself, so that delimiters, prefixes and digits can be found."""
    try:
        escapes = _CODE_ESCAPES.decode(name)
        printable = escapes == _CODE_ESCAPES.decode("ascii") and _ASCII.decode(name) == _ASCII.decode("ascii")
    except (LookupError, UnicodeError) as err:
        message = f"{name!r} is no encoding that a scanner can use: {err}"
        raise ValueError(message) from None
    if not printable:
        message = f"{name!r} gives ASCII bytes another meaning; take ascii, latin-1 or utf-8"
        raise ValueError(message)
    return codecs.lookup(name).name


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groupindex
    except (re.error, OverflowError, RecursionError) as err:
        message = f"not a regular expression: {err}"
        raise ValueError(message) from None
    if "code" not in groups:
        raise ValueError("needs a group named code: (?P<code>…)")
    return text


class FrameOptions(DriverOptions):
    """What a frame must look like to hold a code."""

    strip_aim: bool = False
    """Drop a leading AIM symbology prefix, `]` and two characters, from the code."""

    symbologies: tuple[Annotated[str, AfterValidator(_aim_prefix)], ...] = ()
    """The AIM prefixes that are allowed, such as `["]C1", "]d2"]`; empty allows any, and none."""

    pattern: Annotated[str, AfterValidator(_pattern)] | None = None
    """A regular expression that the whole text must match, with a group `code` and, where the scanner tells hands
    apart, a group `hand`."""

    no_read: tuple[str, ...] = ("NOREAD", "NO READ", "ERROR", "?")
    """What the scanner sends when it could not read; the text must be exactly one of these."""

    checksum: Literal["none", "xor", "sum", "lrc", "mod10"] = "none"
    """The check digits at the end of the code: two hex digits (`xor`, `sum`, `lrc`) or one decimal digit (`mod10`)."""

    length: int | None = Field(default=None, ge=1)
    """The number of characters of every code, prefix and check digits aside."""

    encoding: Annotated[str, AfterValidator(_encoding)] = "ascii"
    """The encoding of the text; `ascii` admits printable characters only."""

    @field_validator("no_read")
    @classmethod
    def _texts_say_something(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        if "" in texts:
            raise ValueError("an empty frame says nothing; a no-read text has one character or more")
        return texts


class FrameChecker:
    """Turns the bytes of one frame into its reading."""

    def __init__(self, options: FrameOptions) -> None:
        """Takes the options of the frame."""
        self._options = options
        self._no_read = frozenset(options.no_read)
        self._pattern = None if options.pattern is None else re.compile(options.pattern)
        self.check = lru_cache(REMEMBERED_FRAMES)(self._check)
        """The reading of `(content, raw)`; remembered, since a deck has few frames and they come again and again."""

    def _check(self, content: bytes, raw: bytes) -> FrameReading:
        text = self._text(content)
        if text is None:
            return BadFrame("undecodable", raw)
        if text in self._no_read:
            return NoRead(text, raw)
        if self._options.symbologies and text[:_AIM_LENGTH] not in self._options.symbologies:
            return BadFrame("symbology", raw)
        if self._options.strip_aim and text.startswith("]") and len(text) >= _AIM_LENGTH:
            text = text[_AIM_LENGTH:]
            if text in self._no_read:
                return NoRead(text, raw)
        return self._code(text, raw)

    def _text(self, content: bytes) -> str | None:
        try:
            text = content.decode(self._options.encoding)
        except UnicodeError:
            return None
        return text if text.isprintable() or self._options.encoding != "ascii" else None

    def _code(self, text: str, raw: bytes) -> FrameReading:
        code = without_checksum(text, self._options)
        if code is None:
            return BadFrame("checksum", raw)
        if self._options.length not in {None, len(code)}:
            return BadFrame(f"length {len(code)} instead of {self._options.length}", raw)
        if self._pattern is None:
            return CardRead(code, None, raw)
        match = self._pattern.fullmatch(code)
        if match is None or match["code"] is None:
            return BadFrame("pattern", raw)
        return CardRead(match["code"], match.groupdict().get("hand"), raw)


def without_checksum(text: str, options: FrameOptions) -> str | None:
    """The code without its check digits, or None where they are wrong or missing.

    `xor`, `sum` (modulo 256) and `lrc` (two's complement of the sum) stand as two hex digits of either case; `mod10` is
    one digit, weights 3 and 1 from the right, as on retail goods.
    """
    if options.checksum == "none":
        return text
    digits = 1 if options.checksum == "mod10" else 2
    code, check = text[:-digits], text[-digits:]
    if options.checksum == "mod10":
        right = _mod10(code)
    else:
        right = _hex_check(options.checksum, code.encode(options.encoding, "replace"))
    return code if check.upper() == right else None


def _hex_check(kind: Literal["xor", "sum", "lrc"], data: bytes) -> str:
    if kind == "xor":
        value = 0
        for byte in data:
            value ^= byte
    else:
        value = sum(data) if kind == "sum" else -sum(data)
    return f"{value & 0xFF:02X}"


def _mod10(code: str) -> str | None:
    if not (code.isascii() and code.isdigit()):
        return None
    weighted = sum(int(digit) * (1 if place % 2 else 3) for place, digit in enumerate(reversed(code)))
    return str(-weighted % 10)
