"""Recordings as files: what is read, what is refused with file and line, and what is written."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.scanlog import (
    Broker,
    Chunk,
    End,
    Entry,
    Header,
    Link,
    Order,
    ScanlogError,
    ScanlogReader,
    ScanlogWriter,
    Sent,
    reading,
)

HEADER: dict[str, object] = {
    "scanlog": 1,
    "table": "tp-01",
    "game": "teen-patti-20-20",
    "recorded_at": "2026-11-30T02:45:00Z",
    "scanners": {"shoe": {"driver": "bee-tek"}, "desk": {"driver": "line"}},
}


def file(*lines: str | bytes, header: dict[str, object] | None = None) -> bytes:
    """A recording of these lines."""
    parts = [json.dumps(HEADER if header is None else header), *lines]
    return b"".join((part if isinstance(part, bytes) else part.encode()) + b"\n" for part in parts)


def entries(data: bytes, warnings: list[str] | None = None) -> list[Entry]:
    """All entries of a recording that the errors call `f`."""
    told: list[str] = [] if warnings is None else warnings
    return list(ScanlogReader(io.BytesIO(data), "f", told.append))


def one(line: str) -> Entry:
    """The only entry of a recording."""
    (entry,) = entries(file(line))
    return entry


def error(data: bytes) -> str:
    """What is said of a recording that can't be used."""
    with pytest.raises(ScanlogError) as caught:
        entries(data)
    return caught.value.line


# --- the header ------------------------------------------------------------------------------------------------


def test_the_header_is_read() -> None:
    """A header gives the table, the game, the time, the rules and the scanners' options."""
    given = HEADER | {"round": {"start": "auto", "min_gap_ms": 0}, "note": "free text"}
    header = ScanlogReader(io.BytesIO(file(header=given)), "f", print).header
    assert ("tp-01", "teen-patti-20-20", "free text") == (header.table, header.game, header.note)
    assert datetime(2026, 11, 30, 2, 45, tzinfo=UTC) == header.recorded_at
    assert ("auto", 0, 400) == (header.round.start, header.round.min_gap_ms, header.round.bounce_ms)
    assert {"driver": "bee-tek"} == header.scanners["shoe"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"scanlog": 2}, "f:1: scanlog: "),
        ({"table": 7}, "f:1: table: "),
        ({"table": "TP 01"}, "f:1: table: expected 1 to 64 of a-z 0-9 - _"),
        ({"recorded_at": "2026-11-30T02:45:00"}, "f:1: recorded_at: "),
        ({"recorded_at": "9999-12-31T00:00:00Z"}, "f:1: recorded_at: "),
        ({"round": {"bounce": 1}}, "f:1: round.bounce: "),
        ({"round": {"bounce_ms": -1}}, "f:1: round.bounce_ms: "),
        ({"scanners": {"shoe": "bee-tek"}}, "f:1: scanners.shoe: "),
        ({"colour": "red"}, "f:1: colour: "),
    ],
)
def test_a_wrong_header_is_refused_with_its_key(changed: dict[str, object], why: str) -> None:
    """A header's wrong value or unknown key is named, with the file and line 1."""
    assert error(file(header=HEADER | changed)).startswith(why)


@pytest.mark.parametrize("key", ["scanlog", "table", "game", "recorded_at", "scanners"])
def test_a_header_without_a_key_is_refused(key: str) -> None:
    """What a replay can't do without is required."""
    left = {name: value for name, value in HEADER.items() if name != key}
    assert error(file(header=left)).startswith(f"f:1: {key}: ")


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"garbage\n", b'{"scanlog":1', b"\xff\xfe\n", b"[" * 100_000, b"[]\n", b"7\n"]
)
def test_what_is_no_recording_is_refused(data: bytes) -> None:
    """Any other file is told apart from a recording, with the file and line 1."""
    assert error(data).startswith("f:1: ")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A recording that can't be opened is told by its name."""
    with pytest.raises(ScanlogError, match=r"none\.scanlog: No such file"), reading(tmp_path / "none.scanlog", print):
        pass


def test_a_recording_is_read_from_its_file(tmp_path: Path) -> None:
    """Errors of a recording on disk name its path."""
    path = tmp_path / "x.scanlog"
    path.write_bytes(file('{"t":1,"end":true}', "{}"))
    with reading(path, print) as reader:
        found = iter(reader)
        assert End(1_000_000) == next(found)
        with pytest.raises(ScanlogError, match=r"x\.scanlog:3: no entry"):
            next(found)


# --- entries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ('{"t":0.5,"scanner":"shoe","rx":"AS\\r\\n"}', Chunk(500_000, "shoe", b"AS\r\n")),
        ('{"t":0,"scanner":"shoe","rx":""}', Chunk(0, "shoe", b"")),
        ('{"t":1.9,"scanner":"shoe","rx_hex":"0531c4"}', Chunk(1_900_000, "shoe", b"\x051\xc4")),
        ('{"t":1.9,"scanner":"shoe","rx_hex":"05 31 C4"}', Chunk(1_900_000, "shoe", b"\x051\xc4")),
        ('{"t":1,"scanner":"shoe","rx":"\\u00e9\\u0000\\u00ff"}', Chunk(1_000_000, "shoe", b"\xe9\x00\xff")),
        ('{"t":1,"scanner":"shoe","rx":"é"}', Chunk(1_000_000, "shoe", b"\xe9")),
        ('{"t":1,"scanner":"shoe","rx":"x","stale":true}', Chunk(1_000_000, "shoe", b"x", stale=True)),
        ('{"t":1,"scanner":"shoe","rx":"x","stale":false}', Chunk(1_000_000, "shoe", b"x")),
        ('{"t":1,"scanner":"desk","tx":"ok"}', Sent(1_000_000, "desk", b"ok")),
        ('{"t":1,"scanner":"desk","tx_hex":"06"}', Sent(1_000_000, "desk", b"\x06")),
        ('{"t":2.0,"scanner":"shoe","event":"down","detail":"EIO"}', Link(2_000_000, "shoe", up=False, detail="EIO")),
        ('{"t":2.5,"scanner":"shoe","event":"up"}', Link(2_500_000, "shoe", up=True)),
        ('{"t":2.5,"scanner":"shoe","event":"up","detail":null}', Link(2_500_000, "shoe", up=True)),
        (
            '{"t":3,"command":"open","args":{"id":"c1","round":"r-9"}}',
            Order(3_000_000, "open", {"id": "c1", "round": "r-9"}),
        ),
        ('{"t":3,"command":"open"}', Order(3_000_000, "open", {})),
        ('{"t":4,"broker":"down"}', Broker(4_000_000, up=False)),
        ('{"t":4,"broker":"up"}', Broker(4_000_000, up=True)),
        ('{"t":9.0,"end":true}', End(9_000_000)),
    ],
)
def test_each_kind_of_entry_is_read(line: str, entry: Entry) -> None:
    """Every kind of entry of the format is understood, its time in whole microseconds."""
    assert entry == one(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("garbage", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "an entry is a JSON object"),
        ("7", "an entry is a JSON object"),
        ("{}", "there are: none"),
        ('{"t":1,"scanner":"shoe"}', "there are: t, scanner"),
        ('{"t":1,"scanner":"shoe","hello":"x"}', "there are: t, scanner, hello"),
        ('{"t":1,"scanner":"shoe","rx":"x","rx_hex":"00"}', "both rx and rx_hex"),
        ('{"t":1,"scanner":"shoe","tx":"x","tx_hex":"00"}', "both tx and tx_hex"),
        ('{"t":1,"scanner":"shoe","rx":"x","tx":"y"}', "unknown key 'tx'"),
        ('{"t":1,"scanner":"shoe","rx":"x","late":true}', "unknown key 'late'"),
        ('{"t":1,"scanner":"shoe","event":"up","stale":true}', "unknown key 'stale'"),
        ('{"t":1,"command":"open","scanner":"shoe"}', "unknown key 'scanner'"),
        ('{"t":1,"broker":"up","args":{}}', "unknown key 'args'"),
        ('{"t":1,"end":true,"note":"x"}', "unknown key 'note'"),
        ('{"t":1,"rx":"x"}', "scanner None is not in the header; there: shoe, desk"),
        ('{"t":1,"scanner":"toe","rx":"x"}', "scanner 'toe' is not in the header"),
        ('{"t":1,"scanner":["shoe"],"rx":"x"}', "is not in the header"),
        ('{"scanner":"shoe","rx":"x"}', "t is required"),
        ('{"t":"1","scanner":"shoe","rx":"x"}', "t is required"),
        ('{"t":true,"scanner":"shoe","rx":"x"}', "t is required"),
        ('{"t":null,"end":true}', "t is required"),
        ('{"t":-0.1,"end":true}', "t is from 0"),
        ('{"t":1e8,"end":true}', "t is from 0"),
        ('{"t":1e999999,"end":true}', "t is from 0"),
        ('{"t":1e8,"scanner":"shoe","rx":"x"}', "t is from 0"),
        ('{"t":-1,"scanner":"shoe","rx":"x"}', "t is from 0"),
        ('{"t":NaN,"end":true}', "no JSON: NaN"),
        ('{"t":Infinity,"scanner":"shoe","rx":"x"}', "no JSON: Infinity"),
        ('{"t":1,"scanner":"shoe","rx":7}', "rx or rx_hex is text"),
        ('{"t":1,"scanner":"shoe","rx":null}', "rx or rx_hex is text"),
        ('{"t":1,"scanner":"shoe","rx":"€"}', "above U+00FF"),
        ('{"t":1,"scanner":"shoe","rx":"\\ud800"}', "no JSON"),
        ('{"t":1,"scanner":"shoe","rx_hex":"0"}', "rx_hex is no hex"),
        ('{"t":1,"scanner":"shoe","rx_hex":"zz"}', "rx_hex is no hex"),
        ('{"t":1,"scanner":"shoe","rx_hex":7}', "rx or rx_hex is text"),
        ('{"t":1,"scanner":"shoe","rx":"x","stale":1}', "stale is true or false"),
        ('{"t":1,"scanner":"shoe","event":"gone"}', "event is up or down, not 'gone'"),
        ('{"t":1,"scanner":"shoe","event":["up"]}', "event is up or down"),
        ('{"t":1,"scanner":"shoe","event":"down","detail":7}', "detail is text"),
        ('{"t":1,"scanner":"shoe","event":"down","detail":"\\ud800"}', "no JSON"),
        ('{"t":1,"command":7}', "command is text"),
        ('{"t":1,"command":null}', "command is text"),
        ('{"t":1,"command":"open","args":[]}', "args is an object"),
        ('{"t":1,"command":"void","args":{"reason":"\\ud800"}}', "no JSON"),
        ('{"t":1,"broker":true}', "broker is up or down"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_and_line(line: str, why: str) -> None:
    """What is wrong with an entry is said with the file and the number of its line."""
    said = error(file('{"t":0,"end":true}', line, '{"t":2,"end":true}'))
    assert said.startswith("f:3: ")
    assert why in said


@pytest.mark.parametrize("number", ["1e99999999999999999999", "1" * 5_000, "1e999", "-1e999"])
def test_a_number_beyond_all_numbers_is_refused_with_file_and_line(number: str) -> None:
    """A number that nothing can hold is refused like any other fault, as a time and in a command."""
    assert error(file(f'{{"t":{number},"scanner":"shoe","rx":"a"}}')).startswith("f:2: ")
    assert error(file(f'{{"t":1,"command":"open","args":{{"id":"c1","x":[{{"y":{number}}}]}}}}')).startswith("f:2: ")


def test_a_number_in_a_command_is_as_in_its_payload() -> None:
    """What a command's fields hold is what the same JSON holds when it comes over MQTT, and can be written again."""
    args = '{"id":"c1","from":1.5,"deep":[{"x":2.0,"y":"z"},7,null]}'
    order = one(f'{{"t":1,"command":"resend","args":{args}}}')
    assert Order(1_000_000, "resend", json.loads(args)) == order
    target = io.BytesIO()
    ScanlogWriter(target, Header.model_validate(HEADER)).write(order)
    assert [order] == entries(target.getvalue())


def test_a_line_that_is_no_utf8_is_refused() -> None:
    """Bytes that are no UTF-8 are named by their line, the last one's too where it is whole."""
    assert error(file(b'{"t":1,"scanner":"shoe","rx":"\xff"}')).startswith("f:2: no JSON")


def test_entries_stand_in_time_order() -> None:
    """An entry that goes back in time is refused; the same time again is not."""
    same = file('{"t":1.5,"end":true}', '{"t":1.5,"scanner":"shoe","rx":"x"}')
    assert [End(1_500_000), Chunk(1_500_000, "shoe", b"x")] == entries(same)
    back = file('{"t":1.5,"end":true}', '{"t":1.499999,"scanner":"shoe","rx":"x"}')
    assert "f:3: t 1.499999 comes after 1.5: entries stand in time order" == error(back)


def test_a_time_is_rounded_to_the_microsecond_in_every_kind_of_entry() -> None:
    """However finely a time is written, entries of one time are at one time."""
    times = ["1.0000004", "1.00000049", "1.0000006", "1.0000009", "1.000001", "2.08", "99999999.123457"]
    for time in times:
        chunk, end = entries(file(f'{{"t":{time},"scanner":"shoe","rx":"x"}}', f'{{"t":{time},"end":true}}'))
        assert round(float(time) * 1_000_000) == chunk.t == end.t


@pytest.mark.fault(100)
@pytest.mark.parametrize(
    "torn", [b'{"t":2,"sca', b'{"t":2,"scanner":"shoe","rx":"\xc3', b"\x00\x00\x00", b'{"t":NaN', b"{"]
)
def test_a_torn_last_line_is_left_out_with_a_warning(torn: bytes) -> None:
    """A line that was cut off while it was written is no error: it is named and left out."""
    warnings: list[str] = []
    assert [End(1_000_000)] == entries(file('{"t":1,"end":true}') + torn, warnings)
    assert ["f:3: the last line is torn and is left out"] == warnings


def test_a_last_line_without_its_end_that_is_whole_is_taken() -> None:
    """A missing line end alone tears nothing."""
    warnings: list[str] = []
    assert [End(1_000_000), End(2_000_000)] == entries(file('{"t":1,"end":true}') + b'{"t":2,"end":true}', warnings)
    assert [] == warnings


def test_a_broken_line_that_is_not_the_last_is_an_error() -> None:
    """Only the last line can have been cut off."""
    assert error(file('{"t":1,"sca', '{"t":2,"end":true}')).startswith("f:2: no JSON")


def test_empty_lines_count_and_are_passed_over() -> None:
    """A blank line is nothing, but the numbers of lines go on."""
    assert [End(1_000_000)] == entries(file("", "  ", '{"t":1,"end":true}', ""))
    assert error(file("", "{}")).startswith("f:3: ")


# --- writing ----------------------------------------------------------------------------------------------------

times = st.integers(0, 10**14 - 1)
texts = st.text(max_size=10)
kinds = st.one_of(
    st.builds(Chunk, times, st.just("shoe"), st.binary(max_size=20), st.booleans()),
    st.builds(Sent, times, st.just("shoe"), st.binary(max_size=20)),
    st.builds(Link, times, st.just("desk"), st.booleans(), st.none() | texts),
    st.builds(
        Order, times, texts, st.dictionaries(texts, texts | st.integers() | st.booleans() | st.none(), max_size=3)
    ),
    st.builds(Broker, times, st.booleans()),
    st.builds(End, times),
)


@given(st.lists(kinds, max_size=10))
def test_what_is_written_is_read_back(written: list[Entry]) -> None:
    """Entries of every kind, written in time order, come back as they were, to the microsecond and the byte."""
    written.sort(key=lambda entry: entry.t)
    target = io.BytesIO()
    writer = ScanlogWriter(target, Header.model_validate(HEADER))
    for entry in written:
        writer.write(entry)
    assert written == entries(target.getvalue())


def test_a_written_header_is_read_back() -> None:
    """The header that is written says the same when it is read."""
    header = Header.model_validate(HEADER | {"round": {"start": "auto"}, "note": "n"})
    target = io.BytesIO()
    ScanlogWriter(target, header)
    assert header == ScanlogReader(io.BytesIO(target.getvalue()), "f", print).header


def test_a_time_with_an_offset_is_the_same_moment() -> None:
    """`recorded_at` may be given in any offset."""
    header = Header.model_validate(HEADER | {"recorded_at": "2026-11-30T08:15:00+05:30"})
    assert datetime(2026, 11, 30, 8, 15, tzinfo=timezone(timedelta(hours=5, minutes=30))) == header.recorded_at


def test_printable_bytes_are_written_as_text() -> None:
    """A person can read a recording: text where bytes are text, hex where they are not."""
    target = io.BytesIO()
    writer = ScanlogWriter(target, Header.model_validate(HEADER))
    writer.write(Chunk(500_000, "shoe", b"AS\r\n"))
    writer.write(Chunk(1_000_000, "shoe", b"\x02A"))
    lines = target.getvalue().splitlines()[1:]
    assert [b'{"t":0.5,"scanner":"shoe","rx":"AS\\r\\n"}', b'{"t":1,"scanner":"shoe","rx_hex":"0241"}'] == lines
