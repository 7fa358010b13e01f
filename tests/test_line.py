"""The driver `line`: text frames cut out of any stream of bytes, and what each of them means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scannerd.contract import MS, BadFrame, CardRead, NoRead, Outcome, Reading, Transport
from scannerd_drivers.line import LineDecoder, LineDriver, LineFraming, LineOptions
from tests.decoding import FED_AT, MakeDecoder, codes, feed_split, feed_three_ways, gist, rest

STX_ETX: dict[str, object] = {"start": "\x02", "end": "\x03"}
SECOND = 1000 * MS


def line(**options: object) -> MakeDecoder:
    """Makes decoders with these options for a scanner that was opened at 0."""
    framing = LineFraming.model_validate(options)
    return lambda: LineDecoder(framing, 0)


def read(data: bytes, **options: object) -> list[Reading]:
    """What the bytes give, however they are cut."""
    return feed_three_ways(line(**options), data)


# --- framing --------------------------------------------------------------------------------------------------


@pytest.mark.fault(57)
@pytest.mark.parametrize("data", [b"AS\r\r\n", b"KH\r\n\r\n", b"9D\n\r", b"\r\n2C\r", b"\n\n5H\n"])
def test_doubled_line_ends_make_one_read(data: bytes) -> None:
    """CR and LF in any mixture end one code, and the empty frames between them are nothing."""
    (reading,) = read(data)
    assert isinstance(reading, CardRead)
    assert data.strip() == reading.code.encode()


@pytest.mark.parametrize(
    ("end", "data", "expected"),
    [
        ("\r", b"AS\rKH\r", ["AS", "KH"]),
        ("\r", b"AS\r\nKH\r", ["AS", "bad undecodable"]),
        ("\n", b"AS\nKH\n", ["AS", "KH"]),
        ("\r\n", b"AS\r\nKH\r\n", ["AS", "KH"]),
        ("\r\n", b"AS\rKH\r\n", ["bad undecodable"]),
        ("\r\n", b"AS\nKH\r\n", ["bad undecodable"]),
        ("\r\n", b"AS\r\r\nKH\r\n", ["bad undecodable", "KH"]),
    ],
)
def test_only_the_configured_end_ends_a_frame(end: str, data: bytes, expected: list[str]) -> None:
    """With one line end configured, the other one, or half of it, is part of the frame."""
    assert expected == gist(read(data, end=end))


@pytest.mark.parametrize(
    ("options", "data", "raw"),
    [
        ({}, b"AS\r\n", b"AS\r"),
        ({"end": "\r\n"}, b"AS\r\n", b"AS\r\n"),
        (STX_ETX, b"\x02AS\x03\r\n", b"\x02AS\x03"),
        ({**STX_ETX, "checksum": "xor"}, b"\x02AS12\x03", b"\x02AS12\x03"),
    ],
)
def test_raw_is_the_frame_with_its_delimiters(options: dict[str, object], data: bytes, raw: bytes) -> None:
    """A reading carries its frame as it came, from start byte to end, check digits included."""
    assert [CardRead("AS", None, raw)] == read(data, **options)


@pytest.mark.fault(23)
def test_every_frame_of_a_chunk_is_read() -> None:
    """Several frames in one chunk are as many readings, in order."""
    assert codes(read(b"AS\r\nKH\r\n9D\r\n")) == ["AS", "KH", "9D"]
    assert codes(read(b"\x02AS\x03\x02KH\x03", **STX_ETX)) == ["AS", "KH"]


@pytest.mark.fault(23)
def test_start_byte_inside_a_frame_breaks_it() -> None:
    """A second start byte makes the first frame partial and begins another."""
    assert [BadFrame("partial", b"\x02A"), CardRead("KH", None, b"\x02KH\x03")] == read(b"\x02A\x02KH\x03", **STX_ETX)
    assert [BadFrame("partial", b"\x02")] == read(b"\x02\x02\x03", **STX_ETX)


@pytest.mark.fault(6)
@pytest.mark.fault(51)
def test_end_decides_not_the_gap() -> None:
    """A pause shorter than the time-out neither ends a code nor splits it."""
    decoder = line()()
    assert decoder.feed(b"KH", 0) == []
    assert codes(decoder.feed(b"\r\n", 300 * MS)) == ["KH"]
    assert rest(decoder) == (b"", None)
    assert decoder.feed(b"9", 400 * MS) == []
    assert codes(decoder.feed(b"D\r\n", 700 * MS)) == ["9D"]


@pytest.mark.fault(6)
def test_silence_inside_a_frame_drops_it() -> None:
    """Two seconds after its last byte an unfinished frame is partial, so that its tail can't join the next code."""
    decoder = line()()
    decoder.feed(b"9", 0)
    decoder.feed(b"9", SECOND)
    decoder.feed(b"", 2 * SECOND)
    assert rest(decoder) == (b"99", 3 * SECOND)
    assert decoder.tick(3 * SECOND - 1) == []
    assert decoder.tick(3 * SECOND) == [BadFrame("partial", b"99")]
    assert rest(decoder) == (b"", None)
    assert codes(decoder.feed(b"2C\r", 4 * SECOND)) == ["2C"]


def test_silence_is_decided_before_a_late_chunk() -> None:
    """A chunk that comes at the deadline or later finds the old frame already dropped."""
    decoder = line(frame_timeout_ms=500)()
    decoder.feed(b"9", 0)
    assert gist(decoder.feed(b"2C\r", 500 * MS)) == ["bad partial", "2C"]


def test_start_byte_alone_is_an_unfinished_frame() -> None:
    """A start byte with nothing after it is pending and becomes partial."""
    decoder = line(**STX_ETX)()
    decoder.feed(b"\x02", 0)
    assert decoder.pending == b"\x02"
    assert decoder.tick(2 * SECOND) == [BadFrame("partial", b"\x02")]
    assert decoder.pending == b""


def test_lost_device_drops_the_half_frame() -> None:
    """When the device is lost, a half frame is pending until then and told by nobody; an overdue one is partial."""
    decoder = line()()
    decoder.feed(b"A", 0)
    assert decoder.pending == b"A"
    assert decoder.finish(SECOND) == []
    assert (decoder.pending, decoder.deadline) == (b"", None)
    decoder.feed(b"A", 2 * SECOND)
    assert gist(decoder.finish(4 * SECOND)) == ["bad partial"]


def test_longest_frame_is_read() -> None:
    """A frame of exactly `max_length` bytes is read, its delimiters aside."""
    assert codes(read(b"A" * 64 + b"\r\n", end="\r\n")) == ["A" * 64]
    assert codes(read(b"\x02ASX\x03", **STX_ETX, max_length=3)) == ["ASX"]


@pytest.mark.parametrize(
    "data", [b"A" * 65 + b"\r\nKH\r\n", b"A" * 64 + b"\r\r\nKH\r\n", b"A" * 900 + b"\rB\r\nKH\r\n"]
)
def test_overlong_frame_is_told_once(data: bytes) -> None:
    """A frame longer than allowed is one overlong; the rest of it is skipped to its end and the next one is read."""
    assert [BadFrame("overlong", b"A" * 64), CardRead("KH", None, b"KH\r\n")] == read(data, end="\r\n")


def test_overlong_is_told_at_its_first_byte_too_many() -> None:
    """An overlong frame is told at once, and nothing of its rest is kept."""
    decoder = line(max_length=3)()
    assert decoder.feed(b"ABC", 0) == []
    assert decoder.feed(b"D", 1) == [BadFrame("overlong", b"ABC")]
    assert decoder.feed(b"EFG" * 1000, 2) == []
    assert decoder.pending == b""
    assert gist(decoder.feed(b"H\rKH\r", 3)) == ["KH"]


def test_silence_ends_an_overlong_frame() -> None:
    """After silence the rest of an overlong frame is over, and that is not told again."""
    decoder = line(max_length=3)()
    decoder.feed(b"ABCDE", 0)
    assert decoder.deadline == 2 * SECOND
    assert decoder.tick(2 * SECOND) == []
    assert codes(decoder.feed(b"KH\r", 2 * SECOND)) == ["KH"]


def test_start_byte_ends_an_overlong_frame() -> None:
    """A start byte after an overlong frame begins the next one, and nothing is partial."""
    assert gist(read(b"\x02ABCDE\x02KH\x03", **STX_ETX, max_length=3)) == ["bad overlong", "KH"]
    assert gist(read(b"\x02ABCDE\x03x\x02KH\x03", **STX_ETX, max_length=3)) == ["bad overlong", "bad garbage", "KH"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\r\n\x00 \x02AS\x03\r\n", ["AS"]),
        (b"xyz\x02AS\x03", ["bad garbage", "AS"]),
        (b" x y\r\nz\x03\x02AS\x03!\x03", ["bad garbage", "AS", "bad garbage"]),
        (b"\x03", ["bad garbage"]),
        (b"\x02\x03", []),
    ],
)
def test_noise_between_frames_is_one_garbage_a_run(data: bytes, expected: list[str]) -> None:
    """With a start byte, line ends, NUL and spaces between frames are nothing; other bytes are one garbage a run."""
    assert expected == gist(read(data, **STX_ETX))


def test_garbage_is_told_at_its_first_byte() -> None:
    """A run of garbage is told by its first byte that is not ignored, since its end is not known."""
    assert read(b"  xyz", **STX_ETX) == [BadFrame("garbage", b"x")]


def test_silence_ends_a_run_of_garbage() -> None:
    """After silence of the time-out the next noise is another run; any byte before keeps the run going."""
    decoder = line(**STX_ETX)()
    assert gist(decoder.feed(b"x", 0)) == ["bad garbage"]
    assert decoder.feed(b" ", SECOND) == []
    assert decoder.feed(b"x", 2 * SECOND) == []
    assert decoder.pending == b""
    assert gist(decoder.feed(b"x", 4 * SECOND)) == ["bad garbage"]


def test_line_end_may_follow_a_start_byte() -> None:
    """A start byte goes with any line end as well."""
    assert codes(read(b":AS\r\n:KH\r\n", start=":", end="\r\n")) == ["AS", "KH"]
    assert codes(read(b":AS\r\n:KH\n", start=":")) == ["AS", "KH"]


def test_input_after_an_open_is_ignored_while_it_settles() -> None:
    """What comes within `settle_ms` of the opening is ignored, and with it half a code that ends later."""
    decoder = LineDecoder(LineFraming(settle_ms=500), SECOND)
    assert decoder.feed(b"boot v1\rA", SECOND + 499 * MS) == []
    assert (decoder.pending, decoder.deadline) == (b"", None)
    assert codes(decoder.feed(b"KH\r", SECOND + 500 * MS)) == ["KH"]


# --- checks of a frame ----------------------------------------------------------------------------------------


@pytest.mark.fault(8)
def test_wrong_speed_costs_one_frame() -> None:
    """Bytes of a wrong baud rate are one undecodable frame, and the next frame is read."""
    bad = bytes.fromhex("7E66FA9E0D")
    assert [BadFrame("undecodable", bad), CardRead("AS", None, b"AS\r")] == read(bad + b"AS\r")


@pytest.mark.parametrize("data", [b"A\x00S\r", b"A\tS\r", b"A\x7fS\r", b"\xc4S\r"])
def test_ascii_admits_printable_bytes_only(data: bytes) -> None:
    """In ASCII a control character or a byte above it spoils the frame."""
    assert read(data) == [BadFrame("undecodable", data)]


def test_other_encodings_decode_what_they_can() -> None:
    """In another encoding a frame is undecodable only where it can't be decoded."""
    assert codes(read("\U0001f0a1\r".encode(), encoding="utf-8")) == ["\U0001f0a1"]
    assert gist(read(b"\xf0\x9f\r", encoding="utf-8")) == ["bad undecodable"]
    assert codes(read(b"\xc4\tS\r", encoding="latin-1")) == ["\xc4\tS"]


@pytest.mark.parametrize("text", ["NOREAD", "NO READ", "ERROR", "?"])
def test_no_read_text_is_a_failed_read(text: str) -> None:
    """What the scanner sends for a failed read is a no-read, and only when it is exactly that."""
    assert [NoRead(text, f"{text}\r".encode())] == read(f"{text}\r".encode())
    assert codes(read(f"{text}!\r{text.lower()}x\r".encode())) == [f"{text}!", f"{text.lower()}x"]


def test_no_read_text_is_looked_for_after_the_prefix_too() -> None:
    """A no-read text may stand behind an AIM prefix that is dropped."""
    assert read(b"]C1NR\r", strip_aim=True, no_read=["NR"]) == [NoRead("NR", b"]C1NR\r")]
    assert codes(read(b"]C1NR\rNOREAD\r", no_read=["NR"])) == ["]C1NR", "NOREAD"]


@pytest.mark.fault(64)
def test_prefix_is_dropped_only_when_configured() -> None:
    """An AIM prefix stays in the code unless it is to be stripped."""
    data = b"]C1AS\r]d2KH\r9D\r]\r]C\r"
    assert codes(read(data)) == ["]C1AS", "]d2KH", "9D", "]", "]C"]
    assert codes(read(data, strip_aim=True)) == ["AS", "KH", "9D", "]", "]C"]


@pytest.mark.fault(64)
def test_symbology_off_the_list_is_refused() -> None:
    """With allowed symbologies another prefix, a half one or none is refused; a no-read text needs no prefix."""
    options: dict[str, object] = {"strip_aim": True, "symbologies": ["]C1", "d2"]}
    data = b"]C1AS\r]d2KH\r9D\r]E04006381333931\r]C\r?\r"
    expected = ["AS", "KH", "bad symbology", "bad symbology", "bad symbology", "no-read"]
    assert expected == gist(read(data, **options))


@pytest.mark.parametrize(
    ("checksum", "data", "expected"),
    [
        ("xor", b"AS12\r", ["AS"]),
        ("xor", b"AS13\r", ["bad checksum"]),
        ("sum", b"AS94\r", ["AS"]),
        ("sum", b"AS12\r", ["bad checksum"]),
        ("lrc", b"AS6C\r", ["AS"]),
        ("lrc", b"AS6c\r", ["AS"]),
        ("lrc", b"AS6\r", ["bad checksum"]),
        ("xor", b"1\r", ["bad checksum"]),
        ("mod10", b"4006381333931\r", ["400638133393"]),
        ("mod10", b"4006381333932\r", ["bad checksum"]),
        ("mod10", b"4006381333391\r", ["bad checksum"]),
        ("mod10", b"400A1\r", ["bad checksum"]),
        ("mod10", b"0\r", ["bad checksum"]),
    ],
)
def test_checksum_is_proved_and_dropped(checksum: str, data: bytes, expected: list[str]) -> None:
    """Check digits must be right, in either letter case, and are no part of the code."""
    assert expected == gist(read(data, checksum=checksum))


def test_checksum_counts_the_code_without_its_prefix() -> None:
    """A dropped AIM prefix is not among the characters that the checksum covers."""
    assert codes(read(b"]C1AS12\r", checksum="xor", strip_aim=True)) == ["AS"]
    assert gist(read(b"]C1AS12\r", checksum="xor")) == ["bad checksum"]


@pytest.mark.fault(62)
def test_short_read_of_a_weak_symbology_is_refused() -> None:
    """With a fixed length and a check digit, short reads and an altered digit are misreads; the right code counts."""
    data = b"000221\r00022163\r0002216891\r0002216881\r"
    assert gist(read(data, checksum="mod10", length=9)) == ["bad checksum", "bad length", "bad checksum", "000221688"]


def test_length_counts_the_code() -> None:
    """A code of another length than the fixed one is refused, and both lengths are named."""
    assert read(b"ASX\r", length=2) == [BadFrame("length 3 instead of 2", b"ASX\r")]


def test_pattern_gives_code_and_hand() -> None:
    """A pattern must match the whole text; its groups are the code and the hand."""
    pattern = r"(?:(?P<hand>[AB]):)?(?:c=(?P<code>..)|none)"
    data = b"A:c=KH\rc=2C\rA:c=KHx\rnone\r"
    assert gist(read(data, pattern=pattern)) == ["A:KH", "2C", "bad pattern", "bad pattern"]
    assert codes(read(b"#KH\r", pattern="#(?P<code>.*)")) == ["KH"]


def test_checks_stand_in_their_order() -> None:
    """Of several faults of one frame the first check that fails gives the word."""
    options: dict[str, object] = {"symbologies": ["]C1"], "checksum": "xor", "length": 9, "pattern": "(?P<code>Z)"}
    frames = b"]d2\x00\r]d2AS12\r]C1AS12\r]C1AS3D\r]C1AS23453D\r"
    expected = ["bad undecodable", "bad symbology", "bad checksum", "bad length", "bad pattern"]
    assert expected == gist(read(frames, **options))


# --- any bytes ------------------------------------------------------------------------------------------------

ALPHABET = st.sampled_from(b"AS12]C?\r\n\x02\x03\x00 \xff")
STREAMS = st.binary(max_size=200) | st.lists(ALPHABET, max_size=60).map(bytes)
OPTIONS: list[dict[str, object]] = [
    {},
    {"end": "\r"},
    {"end": "\n", "max_length": 5},
    {"end": "\r\n", "max_length": 4},
    {"max_length": 3, "strip_aim": True, "symbologies": ["]C1"]},
    {**STX_ETX, "max_length": 4},
    {"start": "\x02", "max_length": 4, "checksum": "xor"},
    {"start": "\x02", "end": "\r\n", "max_length": 2, "encoding": "utf-8", "checksum": "lrc"},
    {"checksum": "mod10", "length": 3, "pattern": "(?P<code>1.*)"},
]


@given(st.sampled_from(OPTIONS), STREAMS)
def test_any_bytes_may_be_cut_anywhere(options: dict[str, object], data: bytes) -> None:
    """Any bytes give the same readings whole and byte by byte, and never an exception."""
    read(data, **options)


@given(st.sampled_from(OPTIONS), st.lists(STREAMS, max_size=6))
def test_any_chunks_may_be_joined(options: dict[str, object], chunks: list[bytes]) -> None:
    """Chunks that come at one time give what they would give as one."""
    make = line(**options)
    assert feed_split(make, [b"".join(chunks)]) == feed_split(make, chunks)


@given(st.sampled_from(OPTIONS), st.lists(st.tuples(STREAMS, st.integers(0, 3000)), max_size=8))
def test_memory_is_bounded_and_pending_has_a_deadline(
    options: dict[str, object], chunks: list[tuple[bytes, int]]
) -> None:
    """At most `max_length` bytes and what delimits them are pending, and while any are a deadline ends them."""
    framing = LineFraming.model_validate(options)
    delimiters = len(framing.start) + (framing.end == "\r\n")
    decoder, now = LineDecoder(framing, 0), FED_AT
    for chunk, pause in chunks:
        now += pause * MS
        decoder.feed(chunk, now)
        assert len(decoder.pending) <= framing.max_length + delimiters
        assert decoder.deadline is not None or not decoder.pending
    if decoder.deadline is not None:
        was_pending, dropped = decoder.pending, decoder.tick(decoder.deadline)
        assert dropped == ([BadFrame("partial", was_pending)] if was_pending else [])
    assert (decoder.pending, decoder.deadline) == (b"", None)


# --- options and driver ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"end": "x"}, "any other one byte needs a start byte too"),
        ({"end": "\x03\x03", "start": "\x02"}, "any other one byte needs a start byte too"),
        ({"end": "\u0100", "start": "\x02"}, "each character stands for one byte"),
        ({"start": "\x02\x02"}, "at most 1 character"),
        ({"start": "\x02", "end": "\x02"}, "must differ from start"),
        ({"start": "\r"}, "must differ from start"),
        ({"max_length": 0}, "greater than or equal to 1"),
        ({"length": 0}, "greater than or equal to 1"),
        ({"length": 65}, "length = 65 can't be reached with max_length = 64"),
        ({"frame_timeout_ms": 0}, "greater than or equal to 1"),
        ({"settle_ms": -1}, "greater than or equal to 0"),
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": "(.*)"}, "needs a group named code"),
        ({"encoding": "klingon"}, "no encoding that a scanner can use"),
        ({"encoding": "base64"}, "no encoding that a scanner can use"),
        ({"encoding": "utf-16"}, "gives ASCII bytes another meaning"),
        ({"encoding": "unicode_escape"}, "gives ASCII bytes another meaning"),
        ({"symbologies": ["]C1", "]C"]}, "an AIM prefix is ']' and two characters"),
        ({"no_read": [""]}, "an empty frame says nothing"),
        ({"checksum": "crc"}, "'none', 'xor', 'sum', 'lrc' or 'mod10'"),
        ({"on_accepted": "\u2713"}, "each character stands for one byte"),
        ({"baud": 9600}, "Extra inputs are not permitted"),
    ],
)
def test_option_that_can_not_work_is_refused(options: dict[str, object], said: str) -> None:
    """An option that could never read a card is refused with what was expected."""
    with pytest.raises(ValidationError, match="1 validation error") as error:
        LineOptions.model_validate(options)
    assert said in str(error.value)


def test_defaults_are_those_of_the_format() -> None:
    """Without options a line scanner has 9600 baud, any line end, 64 characters and two seconds."""
    options = LineOptions()
    assert (options.baudrate, options.end, options.max_length) == (9600, "any", 64)
    assert (options.frame_timeout_ms, options.settle_ms, options.dtr) == (2000, 0, None)


def test_every_option_is_described() -> None:
    """Each option has a description for `scannerd drivers`."""
    assert [name for name, field in LineOptions.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("outcome", "data"), [("accepted", b"\x06"), ("rejected", b"\x15\xff"), ("prompt", b"")], ids=str
)
def test_scanner_is_told_of_outcomes_as_configured(outcome: Outcome, data: bytes) -> None:
    """Feedback is written as text whose characters are bytes, and is nothing unless configured."""
    driver = LineDriver(LineOptions(on_accepted="\x06", on_rejected="\x15\xff"))
    assert data == driver.feedback(outcome)


def test_driver_makes_fresh_decoders() -> None:
    """Each opening has its own decoder, and its own time to settle."""
    driver = LineDriver(LineOptions(settle_ms=100))
    assert codes(driver.decoder(0).feed(b"AS\r", SECOND)) == ["AS"]
    assert codes(driver.decoder(SECOND).feed(b"AS\r", SECOND)) == []


@pytest.mark.parametrize("url", ["/dev/scannerd/shoe", "tcp://192.0.2.7:4001"])
def test_driver_reads_serial_lines_and_tcp(url: str) -> None:
    """A path or a TCP address gives a transport, and no device is touched by that."""
    assert isinstance(LineDriver(LineOptions()).transport(url), Transport)


def test_driver_refuses_other_urls() -> None:
    """A URL that leads to no serial line is refused."""
    with pytest.raises(ValueError, match="shoe"):
        LineDriver(LineOptions()).transport("shoe")


def test_partial_shows_all_of_its_frame() -> None:
    """A frame as long as allowed that never ends is shown whole, with its start byte."""
    subject = line(start="\u0002", end="\u0003", max_length=3)()
    subject.feed(b"\x02276", 0)
    assert [BadFrame("partial", b"\x02276")] == subject.tick(10_000_000)
    assert b"" == subject.pending
