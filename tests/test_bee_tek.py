"""The driver `bee-tek`: records of a dealing shoe, and the edges where a half one must not become a card."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.codebooks import BUILT_IN
from scannerd.contract import MS, BadFrame, CardRead, NoRead, Notice, Reading, Transport
from scannerd.core.cards import DECK
from scannerd_drivers.bee_tek import RECORD_CAP, BeeTekDecoder, BeeTekDriver, BeeTekOptions
from tests.decoding import FED_AT, codes, feed_split, feed_three_ways, gist, rest

SECOND = 1000 * MS
MODE = b"[Game]"


def read(data: bytes) -> list[Reading]:
    """What the bytes give, however they are cut."""
    return feed_three_ways(BeeTekDecoder, data)


# --- records --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", DECK)
def test_card_is_read_in_either_order(card: str) -> None:
    """Rank and suit may come in either order; the code is rank then suit, as the codebook spells it."""
    rank, suit = card.encode()[:1], card.encode()[1:]
    data = b" [Game]<Card:" + rank + suit + b">  [Game]<Card:" + suit + rank + b"> "
    assert codes(read(data)) == [card, card]
    assert card == BUILT_IN["rank-suit"].lookup(card)


@pytest.mark.parametrize("text", [b"10H", b"H10", b"TH", b"ht", b"h10"])
def test_ten_is_t(text: bytes) -> None:
    """Ten comes as `T` or `10`, and its code has `T`."""
    assert codes(read(b"[Game]<Card:" + text + b">")) == ["TH"]


@pytest.mark.parametrize("mode", [b"Game", b"GameAlarm", b"Manual Burn Cards", b"GAMEALARM", b"manual burn cards"])
def test_known_modes_in_any_letter_case(mode: bytes) -> None:
    """Each of the three modes is known in any letter case, and so are the words of a record."""
    record = b"[" + mode + b"]<CARD:as>"
    assert read(b" " + record + b" ") == [CardRead("AS", None, record)]


@pytest.mark.parametrize("record", [b"<Game>", b"[Game]<Game>", b"[gamealarm]<GAME>"])
def test_empty_read_is_a_failed_read(record: bytes) -> None:
    """An empty read, with a mode or without, is a failed read."""
    assert read(record) == [NoRead("empty read", record)]


@pytest.mark.parametrize(
    "text", [b"E3 Card Not Read", b"E3", b"e3", b"shoe: E3!", b"card not read", b"E7 CARD NOT READ twice"]
)
def test_alarm_of_an_unread_card_is_a_failed_read(text: bytes) -> None:
    """An alarm with the word E3 or the words `card not read` is a failed read."""
    record = b"[GameAlarm]<Alarm:" + text + b">"
    assert read(record) == [NoRead(text.decode(), record)]


@pytest.mark.parametrize("text", [b"E33", b"E31 Lid", b"E5 Card not there", b"", b"AE3", b"CardNotRead"])
def test_other_alarm_is_an_error_notice(text: bytes) -> None:
    """Any other alarm is an error of the shoe; a number that only begins with E3 is another number."""
    record = b"[Game]<Alarm:" + text + b">"
    assert read(record) == [Notice("error", text.decode(), record)]


@pytest.mark.parametrize("text", [b"W0x01", b"w0X1f", b"W0xABCDEF"])
def test_warning_is_a_notice(text: bytes) -> None:
    """A warning with a hex number is a notice and no card."""
    assert read(b" <" + text + b"> ") == [Notice("warning", text.decode(), b"<" + text + b">")]


@pytest.mark.parametrize(
    "record",
    [
        b"[Game]<Card:0H>",
        b"[Game]<Card:1H>",
        b"[Game]<Card:4X>",
        b"[Game]<Card:>",
        b"[Game]<Card:4>",
        b"[Game]<Card:SS>",
        b"[Game]<Card:4SS>",
        b"[Game]<Card: 4S>",
        b"[Game]<Card:\xb4S>",
        b"[Baccarat]<Card:4S>",
        b"[]<Card:4S>",
        b"[Game] <Card:4S>",
        b"[Game]x<Card:4S>",
        b"<Card:4S>",
        b"<Alarm:E3>",
        b"[Baccarat]<Game>",
        b"[Game]<W0x01>",
        b"<W0x>",
        b"<W0xZZ>",
        b"<>",
        b"[Game>",
        b"[Game]>",
        b"[Game]<Reset>",
    ],
)
def test_any_other_record_is_unknown(record: bytes) -> None:
    """An impossible card, an unknown or missing mode and any other record is refused, never guessed."""
    assert read(record) == [BadFrame("unknown record", record)]


@pytest.mark.fault(23)
def test_records_of_one_chunk_come_in_order() -> None:
    """Several records in one chunk are as many readings in the order of the bytes, with spaces or without."""
    data = b" [Game]<Card:4S>  [Game]<Card:H3><W0x01>[Game]<Alarm:E3>[Game]<Card:10D> "
    assert gist(read(data)) == ["4S", "3H", "notice warning", "no-read", "TD"]


# --- between records ------------------------------------------------------------------------------------------


def test_spaces_between_records_are_nothing() -> None:
    """Spaces around a record are neither told nor pending."""
    decoder = BeeTekDecoder()
    assert decoder.feed(b"   ", 0) == []
    assert rest(decoder) == (b"", None)


def test_bytes_between_records_are_one_notice_a_run() -> None:
    """Bytes outside records are never a failed read: one notice a run, by its first byte, until a record opens."""
    noise = Notice("other", "bytes outside records", b"x")
    assert read(b"  x y\r\n>]") == [noise]
    assert gist(read(b"x y[Game]<Card:4S>\r\n[Game]<Card:5S> ")) == ["notice other", "4S", "notice other", "5S"]


# --- unfinished records ---------------------------------------------------------------------------------------


@pytest.mark.fault(23)
@pytest.mark.parametrize(
    ("broken", "then"),
    [
        (b"[Game]<Card:4", b"[Game]<Card:KH>"),
        (b"[Game]<Card:4", b"<Game>"),
        (b"[Game]", b"[Game]<Card:KH>"),
        (b"[Ga", b"[Game]<Card:KH>"),
        (b"<W0x", b"<W0x01>"),
        (b"<W0x", b"[Game]<Card:KH>"),
        (b"[", b"[Game]<Card:KH>"),
        (b"[<", b"<Game>"),
    ],
)
def test_what_opens_inside_a_record_breaks_it(broken: bytes, then: bytes) -> None:
    """A `[` or a second `<` makes the open record partial and begins a new one, which is read."""
    assert [BadFrame("partial", broken), *read(then)] == read(broken + then)


def test_mode_of_a_broken_record_is_not_taken_over() -> None:
    """After a record broke at a second `<` the new one has no mode, and a card needs one."""
    assert gist(read(b"[Game]<Card:4<Card:4S>")) == ["bad partial", "bad unknown"]


def test_longest_record_is_complete_at_its_last_byte() -> None:
    """A record may have 64 bytes, its `>` included."""
    record = b"[Game]<Alarm:".ljust(RECORD_CAP - 1, b"x") + b">"
    assert gist(read(record)) == ["notice error"]


def test_longer_record_is_partial() -> None:
    """A record without its `>` among 64 bytes is partial at the 64th, and its rest is noise until a record opens."""
    head = b"[Game]<Alarm:".ljust(RECORD_CAP, b"x")
    assert read(head) == [BadFrame("partial", head)]
    assert gist(read(head + b"xx>[Game]<Card:4S>")) == ["bad partial", "notice other", "4S"]
    assert gist(read(head + b"[Game]<Card:4S>")) == ["bad partial", "4S"]


def test_record_that_opens_at_the_cap_is_read() -> None:
    """What opens as the 64th byte begins a new record; a first `<` there is only the end of a record too long."""
    assert gist(read(MODE.ljust(RECORD_CAP - 1, b"x") + b"[Game]<Card:4S>")) == ["bad partial", "4S"]
    assert gist(read(MODE.ljust(RECORD_CAP - 1, b"x") + b"<Game>")) == ["bad partial", "notice other"]


@pytest.mark.parametrize("data", [b"[Game]", b"[Game]<Card:4S", b"<", b"["])
def test_record_not_closed_in_two_seconds_is_partial(data: bytes) -> None:
    """An open record, or a mode without one, is partial 2 s after its first byte, whatever came since."""
    decoder = BeeTekDecoder()
    decoder.feed(data[:1], 0)
    decoder.feed(data[1:], SECOND)
    assert rest(decoder) == (data, 2 * SECOND)
    assert decoder.tick(2 * SECOND - 1) == []
    assert decoder.tick(2 * SECOND) == [BadFrame("partial", data)]
    assert rest(decoder) == (b"", None)


def test_time_runs_from_each_record_s_own_first_byte() -> None:
    """A record that opens in a later chunk has its own two seconds."""
    decoder = BeeTekDecoder()
    decoder.feed(b"[Game]<Card:4S", 0)
    assert codes(decoder.feed(b">[Ga", SECOND)) == ["4S"]
    assert rest(decoder) == (b"[Ga", 3 * SECOND)
    assert gist(decoder.feed(b"[Game]", 2 * SECOND)) == ["bad partial"]
    assert rest(decoder) == (MODE, 4 * SECOND)


def test_end_that_comes_too_late_closes_nothing() -> None:
    """A chunk at the deadline finds the record dropped, and its tail is noise."""
    decoder = BeeTekDecoder()
    decoder.feed(b"[Game]<Card:4", 0)
    assert gist(decoder.feed(b"S>", 2 * SECOND)) == ["bad partial", "notice other"]


def test_lost_device_drops_the_half_record() -> None:
    """When the shoe is lost, an open record is told by nobody unless it was overdue."""
    decoder = BeeTekDecoder()
    decoder.feed(b"[Game]<Car", 0)
    assert decoder.finish(SECOND) == []
    assert rest(decoder) == (b"", None)
    decoder.feed(b"[Game]<Car", 0)
    assert gist(decoder.finish(2 * SECOND)) == ["bad partial"]


# --- any bytes ------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [b"[Game]", b"<Card:", b"4S", b">", b"<Game>", b"[", b"<", b"]", b" ", b"x" * 30, b"\xff", b"<W0x01>", b"<Alarm:E3"]
)
STREAMS = st.binary(max_size=150) | st.lists(PIECES, max_size=12).map(b"".join)


@given(STREAMS)
def test_any_bytes_may_be_cut_anywhere(data: bytes) -> None:
    """Any bytes give the same readings whole and byte by byte, and never an exception."""
    read(data)


@given(st.lists(STREAMS, max_size=6))
def test_any_chunks_may_be_joined(chunks: list[bytes]) -> None:
    """Chunks that come at one time give what they would give as one."""
    assert feed_split(BeeTekDecoder, [b"".join(chunks)]) == feed_split(BeeTekDecoder, chunks)


@given(st.lists(st.tuples(STREAMS, st.integers(0, 3000)), max_size=8))
def test_memory_is_bounded_and_pending_has_a_deadline(chunks: list[tuple[bytes, int]]) -> None:
    """Less than 64 bytes are pending, and exactly while any are there is a deadline within two seconds."""
    decoder, now = BeeTekDecoder(), FED_AT
    for chunk, pause in chunks:
        now += pause * MS
        decoder.feed(chunk, now)
        assert len(decoder.pending) < RECORD_CAP
        assert (decoder.pending == b"") == (decoder.deadline is None)
        assert decoder.deadline is None or now < decoder.deadline <= now + 2 * SECOND


# --- driver ---------------------------------------------------------------------------------------------------


def test_driver_makes_fresh_decoders() -> None:
    """Each opening has its own decoder, at 9600 baud by default."""
    driver = BeeTekDriver(BeeTekOptions())
    driver.decoder(0).feed(b"[Game]<Card:4", 0)
    assert driver.decoder(0).pending == b""
    assert driver.options.baudrate == 9600


@pytest.mark.parametrize("url", ["/dev/scannerd/shoe", "tcp://192.0.2.7:4001"])
def test_driver_reads_serial_lines_and_tcp(url: str) -> None:
    """A path or a TCP address gives a transport, and no device is touched by that."""
    assert isinstance(BeeTekDriver(BeeTekOptions()).transport(url), Transport)


def test_driver_refuses_other_urls() -> None:
    """A URL that leads to no serial line is refused."""
    with pytest.raises(ValueError, match="shoe"):
        BeeTekDriver(BeeTekOptions()).transport("shoe")
