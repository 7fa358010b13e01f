"""Recordings (`.scanlog`): a header, then what a table saw and was told, one JSON object a line, in time order.

Reading checks every line and names the file and the line of what is wrong. A last line without its line end that
can't be read was cut off while it was written: it is left out, with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NoReturn, TypeAlias, assert_never

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from scannerd.errors import UsageError
from scannerd.settings import Round

SECOND = 1_000_000
"""Microseconds in a second: times in a file are seconds, times in the program microseconds."""

LONGEST_S = 10**8
"""Seconds, three years: a recording's `t` stays below, so that a float holds it to the microsecond."""

_NEAR = 0.4
"""Less than half a microsecond: so near to a whole one, a float's own error can't round `t` to another."""

_PLAIN_KEYS = 3
_NUMBERS = (float, int)  # and no bool, which is an int to isinstance


class ScanlogError(UsageError):
    """A recording can't be used as it is; the message names the file and the line."""


class Header(BaseModel):
    """A recording's first line.

    Attributes:
        scanlog: the version of the format.
        table: the table's id.
        game: the name of the game, whose deal plan is taken.
        recorded_at: the wall clock at `t` 0.
        round: the `[round]` parameters; those left out have their defaults.
        scanners: each scanner's options as in the configuration, without ports.
        note: free text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scanlog: Literal[1]
    table: str
    game: str
    recorded_at: Annotated[AwareDatetime, Field(lt=datetime(9000, 1, 1, tzinfo=UTC))]
    round: Round = Round()
    scanners: dict[str, dict[str, object]]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as the transport delivered them; `stale`: read late."""

    t: int
    scanner: str
    data: bytes
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes that were written to the device: a note only."""

    t: int
    scanner: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A scanner came or went."""

    t: int
    scanner: str
    up: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A command as it came."""

    t: int
    name: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker came or went."""

    t: int
    up: bool


@dataclass(frozen=True, slots=True)
class End:
    """The recording's last moment."""

    t: int


Entry: TypeAlias = Chunk | Sent | Link | Order | Broker | End


class ScanlogReader:
    """Reads a recording line by line, so that one of any length takes no more memory than its longest line.

    Attributes:
        header: the first line.
        line: the number of the line read last, from 1.
    """

    def __init__(self, source: BinaryIO, name: str, warn: Callable[[str], None]) -> None:
        """Reads the header.

        Args:
            source: the file, opened for binary reading.
            name: how errors and warnings call it.
            warn: told of what is ignored.

        Raises:
            ScanlogError: there is no header, or it can't be used.
        """
        self._source, self._name, self._warn = source, name, warn
        self.line = 1
        self.header = self._read_header(source.readline())
        self._scanners = frozenset(self.header.scanners)

    def __iter__(self) -> Iterator[Entry]:
        """The entries in time order.

        Raises:
            ScanlogError: a line is no entry, or goes back in time.
        """
        latest = 0
        for raw in self._source:
            self.line += 1
            entry = self._plain_chunk(raw)
            if entry is None:
                if raw.isspace():
                    continue
                parsed = self._parse(raw)
                if parsed is None:
                    return
                entry = self._entry(parsed)
            if entry.t < latest:
                self._fail(f"t {entry.t / SECOND:g} comes after {latest / SECOND:g}: entries stand in time order")
            latest = entry.t
            yield entry

    def _read_header(self, raw: bytes) -> Header:
        try:
            json.loads(raw)  # refuses what is no JSON in the same words as any other line
            return Header.model_validate_json(raw, strict=True)  # as in a configuration, `true` is no number
        except ValidationError as invalid:
            first = invalid.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            self._fail(f"{where}: {first['msg']}")
        except (ValueError, RecursionError):
            self._fail('not a recording: the first line is a header such as {"scanlog":1,"table":"tp-01",…}')

    def _plain_chunk(self, raw: bytes) -> Entry | None:
        """The chunk of a plain line, as nearly all are; None: another kind of entry, or a fault to be named."""
        try:
            parsed: object = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(parsed, dict) or len(parsed) != _PLAIN_KEYS:
            return None
        at, scanner, text = _plain_time(parsed.get("t")), parsed.get("scanner"), parsed.get("rx")
        if at is None or not isinstance(scanner, str) or scanner not in self._scanners:
            return None
        data = text.encode("ascii") if isinstance(text, str) and text.isascii() else _plain_hex(parsed.get("rx_hex"))
        return None if data is None else Chunk(at, scanner, data)

    def _parse(self, raw: bytes) -> dict[str, object] | None:
        try:
            parsed = json.loads(raw, parse_float=Decimal, parse_constant=_refuse_constant)
            if b"\\u" in raw:
                json.dumps(parsed, ensure_ascii=False, default=str).encode()  # half a surrogate pair can't be written
        except (ValueError, RecursionError) as broken:
            if not raw.endswith(b"\n"):
                self._warn(f"{self._name}:{self.line}: the last line is torn and is left out")
                return None
            self._fail(f"no JSON: {broken}")
        if not isinstance(parsed, dict):
            self._fail("an entry is a JSON object")
        return parsed

    def _entry(self, parsed: dict[str, object]) -> Entry:
        make = next((make for key, make in _MAKERS.items() if key in parsed), None)
        if make is None:
            self._fail(f"no entry: one of {', '.join(_MAKERS)} is needed, there are: {', '.join(parsed) or 'none'}")
        return make(self, parsed)

    def time(self, parsed: dict[str, object]) -> int:
        """`t` in microseconds, the nearest whole one."""
        t = parsed.get("t")
        if type(t) is not Decimal and type(t) is not int:
            self._fail("t is required: seconds since the start, a decimal number")
        if not 0 <= t < LONGEST_S:
            self._fail(f"t is from 0 to below {LONGEST_S} s")
        return round(t * SECOND)

    def scanner(self, parsed: dict[str, object]) -> str:
        """The scanner's name."""
        name = parsed.get("scanner")
        if not isinstance(name, str) or name not in self.header.scanners:
            known = ", ".join(self.header.scanners) or "none"
            self._fail(f"scanner {name!r} is not in the header; there: {known}")
        return name

    def keys(self, parsed: dict[str, object], *allowed: str) -> None:
        """Refuses a key that this kind of entry does not have."""
        for key in parsed:
            if key not in allowed:
                self._fail(f"unknown key {key!r}; this kind of entry has {', '.join(allowed)}")

    def bytes_of(self, parsed: dict[str, object], text: str, as_hex: str) -> bytes:
        """The bytes, given as text of one character a byte or as hex."""
        if text in parsed and as_hex in parsed:
            self._fail(f"both {text} and {as_hex}: one of them says the bytes")
        value = parsed.get(text, parsed.get(as_hex))
        if not isinstance(value, str):
            self._fail(f"{text} or {as_hex} is text")
        try:
            return value.encode("latin-1") if text in parsed else bytes.fromhex(value)
        except UnicodeEncodeError:
            self._fail(f"a character of {text} is above U+00FF: each stands for one byte")
        except ValueError:
            self._fail(f"{as_hex} is no hex")

    def one_of(self, parsed: dict[str, object], key: str, *values: str) -> str:
        """A word out of a few."""
        value = parsed[key]
        if not isinstance(value, str) or value not in values:
            self._fail(f"{key} is {' or '.join(values)}, not {value!r}")
        return value

    def text(self, parsed: dict[str, object], key: str) -> str:
        """Text."""
        value = parsed[key]
        if not isinstance(value, str):
            self._fail(f"{key} is text")
        return value

    def optional_text(self, parsed: dict[str, object], key: str) -> str | None:
        """Text, or None where it is left out."""
        return None if parsed.get(key) is None else self.text(parsed, key)

    def flag(self, parsed: dict[str, object], key: str) -> bool:
        """True or false; false where it is left out."""
        value = parsed.get(key, False)
        if not isinstance(value, bool):
            self._fail(f"{key} is true or false")
        return value

    def fields(self, parsed: dict[str, object], key: str) -> Mapping[str, object]:
        """An object; an empty one where it is left out."""
        value = parsed.get(key, {})
        if not isinstance(value, dict):
            self._fail(f"{key} is an object")
        return value

    def _fail(self, why: str) -> NoReturn:
        raise ScanlogError(f"{self._name}:{self.line}: {why}")


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


def _chunk(reader: ScanlogReader, parsed: dict[str, object]) -> Chunk:
    reader.keys(parsed, "t", "scanner", "rx", "rx_hex", "stale")
    data = reader.bytes_of(parsed, "rx", "rx_hex")
    return Chunk(reader.time(parsed), reader.scanner(parsed), data, reader.flag(parsed, "stale"))


def _sent(reader: ScanlogReader, parsed: dict[str, object]) -> Sent:
    reader.keys(parsed, "t", "scanner", "tx", "tx_hex")
    return Sent(reader.time(parsed), reader.scanner(parsed), reader.bytes_of(parsed, "tx", "tx_hex"))


def _link(reader: ScanlogReader, parsed: dict[str, object]) -> Link:
    reader.keys(parsed, "t", "scanner", "event", "detail")
    up = reader.one_of(parsed, "event", "up", "down") == "up"
    return Link(reader.time(parsed), reader.scanner(parsed), up, reader.optional_text(parsed, "detail"))


def _order(reader: ScanlogReader, parsed: dict[str, object]) -> Order:
    reader.keys(parsed, "t", "command", "args")
    return Order(reader.time(parsed), reader.text(parsed, "command"), reader.fields(parsed, "args"))


def _broker(reader: ScanlogReader, parsed: dict[str, object]) -> Broker:
    reader.keys(parsed, "t", "broker")
    return Broker(reader.time(parsed), reader.one_of(parsed, "broker", "up", "down") == "up")


def _end(reader: ScanlogReader, parsed: dict[str, object]) -> End:
    reader.keys(parsed, "t", "end")
    return End(reader.time(parsed))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is none")


_MAKERS: dict[str, Callable[[ScanlogReader, dict[str, object]], Entry]] = {
    "rx": _chunk,
    "rx_hex": _chunk,
    "tx": _sent,
    "tx_hex": _sent,
    "event": _link,
    "command": _order,
    "broker": _broker,
    "end": _end,
}


@contextmanager
def reading(path: Path, warn: Callable[[str], None]) -> Iterator[ScanlogReader]:
    """Opens a recording for as long as the `with` lasts.

    Raises:
        ScanlogError: the file can't be opened, or its header can't be used.
    """
    try:
        source = path.open("rb")
    except OSError as trouble:
        raise ScanlogError(f"{path}: {trouble.strerror or trouble}") from trouble
    with source:
        yield ScanlogReader(source, str(path), warn)


class ScanlogWriter:
    """Writes a recording, each entry as it happens.

    A line is written whole or, when the process is killed, torn at its end, which a reader leaves out.
    """

    def __init__(self, target: BinaryIO, header: Header) -> None:
        """Writes the header to a file opened for unbuffered binary writing."""
        self._target = target
        line = header.model_dump(mode="json", exclude_none=True)
        self._line(line)

    def write(self, entry: Entry) -> None:
        """Writes one entry.

        Raises:
            OSError: the file can't be written; whoever records must say so.
        """
        self._line(_written(entry))

    def _line(self, line: Mapping[str, object]) -> None:
        self._target.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _written(entry: Entry) -> dict[str, object]:
    t = seconds(entry.t)
    match entry:
        case Chunk():
            stale = {"stale": True} if entry.stale else {}
            return {"t": t, "scanner": entry.scanner, **_text_or_hex("rx", entry.data), **stale}
        case Sent():
            return {"t": t, "scanner": entry.scanner, **_text_or_hex("tx", entry.data)}
        case Link():
            detail = {} if entry.detail is None else {"detail": entry.detail}
            return {"t": t, "scanner": entry.scanner, "event": "up" if entry.up else "down", **detail}
        case Order():
            return {"t": t, "command": entry.name, "args": entry.args}
        case Broker():
            return {"t": t, "broker": "up" if entry.up else "down"}
        case End():
            return {"t": t, "end": True}
        case _ as never:
            assert_never(never)


def _text_or_hex(key: str, data: bytes) -> dict[str, object]:
    printable = all(32 <= byte < 127 or byte in b"\r\n\t" for byte in data)  # noqa: PLR2004 - ASCII's printable range
    return {key: data.decode("ascii")} if printable else {f"{key}_hex": data.hex()}


def seconds(t: int) -> float | int:
    """Microseconds as the number of seconds that a line holds."""
    return t // SECOND if t % SECOND == 0 else t / SECOND
