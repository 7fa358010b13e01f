"""A line of a recording as an entry, with every key checked; the quick way for the lines that nearly all are."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import NoReturn

import orjson

from scannerd.scanlog.entries import LONGEST_S, SECOND, Broker, Chunk, End, Entry, Link, Order, Sent

_NEAR = 0.4
"""Less than half a microsecond: so near to a whole one, a float's own error can't round `t` to another."""

_PLAIN_KEYS = 3
_SHOWN = 40
_NUMBERS = (float, int)  # and no bool, which is an int to isinstance


class LineError(ValueError):
    """A line is no entry. Whoever reads the file says which line it was."""


def plain_chunk(raw: bytes, scanners: Collection[str]) -> Chunk | None:
    """The chunk of a plain line, as nearly all are; None: another kind of entry, or a fault to be named."""
    try:
        parsed: object = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(parsed, dict) or len(parsed) != _PLAIN_KEYS:
        return None
    at, scanner, text = _plain_time(parsed.get("t")), parsed.get("scanner"), parsed.get("rx")
    if at is None or not isinstance(scanner, str) or scanner not in scanners:
        return None
    data = text.encode("ascii") if isinstance(text, str) and text.isascii() else _plain_hex(parsed.get("rx_hex"))
    return None if data is None else Chunk(at, scanner, data)


def parse(raw: bytes) -> object:
    """A line's JSON: `t` as it is written, and numbers of a command as a command's payload is read.

    Raises:
        ValueError: it is none, or says what can't be written again.
        RecursionError: it is too deep.
    """
    parsed: object = json.loads(raw, parse_float=_exact, parse_constant=_refuse_constant)
    if b"\\u" in raw:
        json.dumps(parsed, ensure_ascii=False, default=str).encode()  # half a surrogate pair can't be written
    if isinstance(parsed, dict) and "args" in parsed:
        parsed["args"] = _floats(parsed["args"])
    return parsed


def entry_of(parsed: object, scanners: Collection[str]) -> Entry:
    """The entry that a line's JSON says.

    Args:
        parsed: the line's contents.
        scanners: those of the header.

    Raises:
        LineError: it is none; the message says why.
    """
    if not isinstance(parsed, dict):
        raise LineError("an entry is a JSON object")
    make = next((make for key, make in _MAKERS.items() if key in parsed), None)
    if make is None:
        raise LineError(f"no entry: one of {', '.join(_MAKERS)} is needed, there are: {', '.join(parsed) or 'none'}")
    return make(_Keys(parsed, scanners))


class _Keys:
    """The keys of a line, each read as what it must be."""

    def __init__(self, parsed: Mapping[str, object], scanners: Collection[str]) -> None:
        self._parsed, self._scanners = parsed, scanners

    def time(self) -> int:
        """`t` in microseconds, the nearest whole one."""
        t = self._parsed.get("t")
        if type(t) is not Decimal and type(t) is not int:
            raise LineError("t is required: seconds since the start, a decimal number")
        if not 0 <= t < LONGEST_S:
            raise LineError(f"t is from 0 to below {LONGEST_S} s")
        return round(t * SECOND)

    def scanner(self) -> str:
        """The scanner's name."""
        name = self._parsed.get("scanner")
        if not isinstance(name, str) or name not in self._scanners:
            raise LineError(f"scanner {name!r} is not in the header; there: {', '.join(self._scanners) or 'none'}")
        return name

    def only(self, *allowed: str) -> None:
        """Refuses a key that this kind of entry does not have."""
        for key in self._parsed:
            if key not in allowed:
                raise LineError(f"unknown key {key!r}; this kind of entry has {', '.join(allowed)}")

    def bytes_of(self, text: str, as_hex: str) -> bytes:
        """The bytes, given as text of one character a byte or as hex."""
        if text in self._parsed and as_hex in self._parsed:
            raise LineError(f"both {text} and {as_hex}: one of them says the bytes")
        value = self._parsed.get(text, self._parsed.get(as_hex))
        if not isinstance(value, str):
            raise LineError(f"{text} or {as_hex} is text")
        try:
            return value.encode("latin-1") if text in self._parsed else bytes.fromhex(value)
        except UnicodeEncodeError:
            raise LineError(f"a character of {text} is above U+00FF: each stands for one byte") from None
        except ValueError:
            raise LineError(f"{as_hex} is no hex") from None

    def one_of(self, key: str, *values: str) -> str:
        """A word out of a few."""
        value = self._parsed[key]
        if not isinstance(value, str) or value not in values:
            raise LineError(f"{key} is {' or '.join(values)}, not {value!r}")
        return value

    def text(self, key: str) -> str:
        """Text."""
        value = self._parsed[key]
        if not isinstance(value, str):
            raise LineError(f"{key} is text")
        return value

    def optional_text(self, key: str) -> str | None:
        """Text, or None where it is left out."""
        return None if self._parsed.get(key) is None else self.text(key)

    def flag(self, key: str) -> bool:
        """True or false; false where it is left out."""
        value = self._parsed.get(key, False)
        if not isinstance(value, bool):
            raise LineError(f"{key} is true or false")
        return value

    def fields(self, key: str) -> Mapping[str, object]:
        """An object; an empty one where it is left out."""
        value = self._parsed.get(key, {})
        if not isinstance(value, dict):
            raise LineError(f"{key} is an object")
        return value


def _plain_time(t: object) -> int | None:
    """Microseconds, or None where a float leaves a doubt, and for all that is no time."""
    if type(t) not in _NUMBERS or not 0 <= t < LONGEST_S:  # type: ignore[operator]  # the check that mypy can't follow
        return None
    exact: float = t * SECOND  # type: ignore[operator]  # the same
    whole = round(exact)
    return whole if abs(exact - whole) < _NEAR else None


def _plain_hex(text: object) -> bytes | None:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _chunk(keys: _Keys) -> Chunk:
    keys.only("t", "scanner", "rx", "rx_hex", "stale")
    data = keys.bytes_of("rx", "rx_hex")
    return Chunk(keys.time(), keys.scanner(), data, keys.flag("stale"))


def _sent(keys: _Keys) -> Sent:
    keys.only("t", "scanner", "tx", "tx_hex")
    return Sent(keys.time(), keys.scanner(), keys.bytes_of("tx", "tx_hex"))


def _link(keys: _Keys) -> Link:
    keys.only("t", "scanner", "event", "detail")
    up = keys.one_of("event", "up", "down") == "up"
    return Link(keys.time(), keys.scanner(), up, keys.optional_text("detail"))


def _order(keys: _Keys) -> Order:
    keys.only("t", "command", "args")
    return Order(keys.time(), keys.text("command"), keys.fields("args"))


def _broker(keys: _Keys) -> Broker:
    keys.only("t", "broker")
    return Broker(keys.time(), keys.one_of("broker", "up", "down") == "up")


def _end(keys: _Keys) -> End:
    keys.only("t", "end")
    return End(keys.time())


def _exact(number: str) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation:
        raise ValueError(f"{number[:_SHOWN]} is beyond all numbers") from None


def _floats(value: object) -> object:
    """The same with floats for decimals, all the way down."""
    match value:
        case Decimal():
            number = float(value)
            if math.isinf(number):
                raise ValueError(f"{str(value)[:_SHOWN]} is beyond what a command can say")
            return number
        case dict():
            return {key: _floats(one) for key, one in value.items()}
        case list():
            return [_floats(one) for one in value]
        case _:
            return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is none")


_MAKERS: dict[str, Callable[[_Keys], Entry]] = {
    "rx": _chunk,
    "rx_hex": _chunk,
    "tx": _sent,
    "tx_hex": _sent,
    "event": _link,
    "command": _order,
    "broker": _broker,
    "end": _end,
}
