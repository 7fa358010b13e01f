"""The Simple Serial Interface: packets, acknowledgements, packets sent again and codes in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.contract import BadFrame, CardRead, Notice, Reading, Reply
from scannerd_drivers.ssi import ACK, CODE_CAP, NAK, SsiDecoder, SsiDriver, SsiOptions, packet
from scannerd_drivers.transports.serial_port import SerialTransport
from tests.decoding import codes, feed_three_ways, gist
from tests.playing import Timed, micros, play

LATER = Reply(ACK, settled=True, within=1_000_000)
"""The acknowledgement of a good packet."""


def decoder(**options: object) -> SsiDecoder:
    """A fresh decoder with these options."""
    return SsiDecoder(SsiOptions.model_validate(options))


def data(text: bytes, *, more: bool = False, resent: bool = False, symbology: bytes = b"\x03") -> bytes:
    """A packet of decoded data."""
    return packet(0xF3, symbology + text, source=0, status=more * 2 + resent)


def read(*packets: bytes, **options: object) -> list[Reading]:
    """What a decoder makes of packets, whole and split alike."""
    return feed_three_ways(lambda: decoder(**options), b"".join(packets))


def played(entries: list[Timed], until: float = 0, **options: object) -> list[tuple[float, str]]:
    """What a decoder tells of timed chunks, and when, replies left out."""
    return [told for told in play(decoder(**options), entries, until) if told[1] != "reply"]


def test_recording_resend() -> None:
    """A packet sent again after a good one is the same read, and after one with a wrong checksum the first."""
    entries: list[Timed] = [
        (0.5, "07f30000033134fe9e"),
        (2, "07f30000033339fe97"),
        (2.7, "07f30001033339fe96"),
        (3.4, "07f30001033339fe96"),
        (5, "07f30000033532fe9f"),
        (5.3, "07f30001033532fe9b"),
        (7, "07f30000033037fe9c"),
        (8.5, "07f30000033238fe99"),
        (9.2, "07f30001033238fe98"),
        (11, "07f30000033230fea1"),
    ]

    told = play(decoder(), entries, until=13)

    assert [entry for entry in told if entry[1] != "reply"] == [
        (0.5, "14"),
        (2.0, "39"),
        (5.0, "bad checksum"),
        (5.3, "52"),
        (7.0, "07"),
        (8.5, "28"),
        (11.0, "20"),
    ]
    assert sum(word == "reply" for _, word in told) == len(entries)


def test_packets_of_the_host() -> None:
    """The acknowledgement and the refusal have the bytes that scanners know."""
    assert bytes.fromhex("04d00400ff28") == ACK
    assert bytes.fromhex("05d1040001ff25") == NAK


def test_card_then_acknowledgement() -> None:
    """A code is told with its packet, and its acknowledgement waits until the reading is settled."""
    assert read(data(b"14")) == [CardRead("14", raw=data(b"14")), LATER]


def test_ack_timeout_option() -> None:
    """`ack_timeout_ms` sets how long an acknowledgement still makes sense."""
    assert read(data(b"14"), ack_timeout_ms=250)[1] == Reply(ACK, settled=True, within=250_000)


def test_sent_again_is_acknowledged_only() -> None:
    """A packet sent again is acknowledged without a reading, whatever came between it and the first."""
    event = packet(0xF6, b"\x01", source=0)
    told = read(data(b"14"), event, data(b"14", resent=True))
    assert gist(told) == ["14", "reply", "notice other", "reply", "reply"]


def test_sent_again_but_never_seen() -> None:
    """A packet with the resend bit that differs from the last good one is a read."""
    assert codes(read(data(b"14"), data(b"15", resent=True), data(b"15", resent=True))) == ["14", "15"]


def test_same_code_scanned_again() -> None:
    """A packet without the resend bit is a read of its own, though the code is the same."""
    assert codes(read(data(b"14"), data(b"14"))) == ["14", "14"]


def test_refused_packet_does_not_count_as_seen() -> None:
    """A packet with a wrong checksum is refused at once and does not make its repetition a known one."""
    spoilt = data(b"15")[:-1] + b"\x00"
    assert read(spoilt) == [Reply(NAK), BadFrame("checksum", spoilt)]
    told = played([(1, data(b"14")), (2, spoilt), (3, data(b"15", resent=True))])
    assert told == [(1.0, "14"), (2.0, "bad checksum"), (3.0, "15")]


def test_deaf_until_silence() -> None:
    """After a wrong checksum all input is dropped until the line was silent for 100 ms."""
    spoilt = data(b"15")[:-1] + b"\x00"
    entries: list[Timed] = [(1, spoilt + data(b"16")), (1.099, data(b"17")), (1.198, b""), (1.199, data(b"18"))]
    assert played(entries) == [(1.0, "bad checksum"), (1.199, "18")]


def test_short_length() -> None:
    """A first byte under 4 is no packet and is dropped with a notice."""
    told = read(b"\x00\x03", data(b"14"))
    assert gist(told) == ["notice other", "notice other", "14", "reply"]
    assert told[1] == Notice("other", "no packet is 3 long", b"\x03")


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        (packet(0xD0, source=0), [Notice("answer", "ACK", packet(0xD0, source=0))]),
        (packet(0xD1, b"\x06", source=0), [Notice("answer", "NAK 06", packet(0xD1, b"\x06", source=0))]),
        (ACK, [Notice("other", "packet D0 of source 04", ACK)]),
        (packet(0xE5, source=0), [Notice("other", "packet E5", packet(0xE5, source=0)), LATER]),
    ],
)
def test_other_packets(whole: bytes, expected: list[Reading]) -> None:
    """Answers, echoes of our own packets and other opcodes are notices; packets of the scanner are acknowledged."""
    assert expected == read(whole)


def test_code_in_parts() -> None:
    """The parts of a code are joined without their symbology bytes, and each is acknowledged."""
    parts = [data(b"01", more=True), data(b"23", more=True), data(b"4")]
    assert read(*parts) == [LATER, LATER, CardRead("01234", raw=b"".join(parts)), LATER]


def test_part_sent_again() -> None:
    """A part that is sent again is taken once; equal parts without the resend bit are two."""
    part = data(b"01", more=True)
    assert codes(read(part, data(b"01", more=True, resent=True), part, data(b"2"))) == ["01012"]


def test_refused_part_comes_again() -> None:
    """A part with a wrong checksum is sent again and takes its place in the code."""
    entries: list[Timed] = [
        (1, data(b"01", more=True)),
        (1.1, data(b"2")[:-1] + b"\x00"),
        (1.3, data(b"2", resent=True)),
    ]
    assert played(entries) == [(1.1, "bad checksum"), (1.3, "012")]


@pytest.mark.parametrize("first", [data(b"01", more=True), data(b"01")[:4], data(b"01", more=True) + data(b"2")[:4]])
def test_silence_inside_a_code(first: bytes) -> None:
    """Silence inside a packet or between parts is one partial, half a second after the last byte."""
    subject = decoder()
    subject.feed(first, micros(1))
    assert (subject.pending, subject.deadline) == (first, micros(1.5))
    assert subject.tick(micros(1.499)) == []
    assert subject.tick(micros(1.5)) == [BadFrame("partial", first)]
    assert (subject.pending, subject.deadline) == (b"", None)


def test_what_follows_a_partial_is_dropped() -> None:
    """Packets within half a second of a partial, or of one so dropped, are acknowledged and dropped with it."""
    entries: list[Timed] = [
        (1, data(b"01", more=True)),
        (1.9, data(b"23", more=True)),
        (2.3, data(b"4")),
        (2.8, data(b"14")),
    ]
    assert played(entries) == [(1.5, "bad partial"), (1.9, "notice other"), (2.3, "notice other"), (2.8, "14")]
    told = play(decoder(), entries)
    assert [t for t, word in told if word == "reply"] == [1.0, 1.9, 2.3, 2.8]


def test_dropped_packet_counts_as_seen() -> None:
    """A packet dropped with a partial is known when it is sent again: a tail is never taken for a code."""
    entries: list[Timed] = [
        (1, data(b"01", more=True)),
        (1.9, data(b"4")),
        (3, data(b"4", resent=True)),
    ]
    assert played(entries) == [(1.5, "bad partial"), (1.9, "notice other")]


def test_half_a_dropped_packet() -> None:
    """Half a packet among what is dropped is no second partial."""
    entries: list[Timed] = [(1, data(b"01", more=True)), (1.9, data(b"4")[:3]), (2.5, data(b"5")), (3, data(b"6"))]
    told = played(entries)
    assert told == [(1.5, "bad partial"), (2.4, "notice other"), (2.5, "notice other"), (3.0, "6")]


def test_overlong() -> None:
    """A code of more than 256 characters is refused, and the parts that follow it are dropped with it."""
    part = data(b"0" * 128, more=True)
    assert codes(read(part, data(b"0" * 128))) == ["0" * CODE_CAP]
    told = read(part, part, data(b"1", more=True), data(b"2"))
    assert gist(told) == ["reply", "reply", "bad overlong", "reply", "notice other", "reply"]
    assert played([(1, part + part + data(b"1")), (1.1, data(b"2"))]) == [(1.0, "bad overlong"), (1.1, "2")]


@pytest.mark.parametrize("packets", [[packet(0xF3, source=0)], [data(b"")], [data(b"01", more=True), data(b"")]])
def test_no_code(packets: list[bytes]) -> None:
    """A data packet without a code is malformed, and so is the code that it is a part of."""
    told = read(*packets)
    assert told[-2:] == [BadFrame("malformed without a code", b"".join(packets)), LATER]
    assert codes(told) == []


def test_two_symbologies() -> None:
    """Parts of two symbologies are never joined to a code."""
    parts = [data(b"01", more=True), data(b"2", symbology=b"\x0b")]
    told = read(*parts)
    assert told == [LATER, BadFrame("malformed with two symbologies", b"".join(parts)), LATER]


def test_loss_of_the_device() -> None:
    """When the scanner is lost, half a code is dropped and not told."""
    subject = decoder()
    subject.feed(data(b"01", more=True), micros(1))
    assert subject.finish(micros(1.1)) == []
    assert (subject.pending, subject.deadline) == (b"", None)


@given(st.lists(st.binary(max_size=20) | st.sampled_from([data(b"14"), data(b"0", more=True), data(b""), ACK])))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Any bytes are taken, however they are cut."""
    read(*pieces)
    subject = decoder()
    for number, piece in enumerate(pieces):
        subject.feed(piece, micros(1 + number * 0.3))
    subject.finish(micros(99))
    assert subject.deadline is None


@given(st.binary(min_size=300, max_size=2000))
def test_pending_is_bounded(noise: bytes) -> None:
    """No more than one packet is kept of bytes that are none."""
    subject = decoder()
    subject.feed(noise, micros(1))
    assert len(subject.pending) <= 257


def test_driver() -> None:
    """The driver reads a serial line, and is silent on outcomes unless told."""
    driver = SsiDriver(SsiOptions(on_rejected="\x05\xe6\x04\x00\x0d\xff\x04"))
    assert codes(driver.decoder(0).feed(data(b"14"), 1)) == ["14"]
    assert isinstance(driver.transport("/dev/scannerd/gun"), SerialTransport)
    assert (driver.feedback("rejected"), driver.feedback("accepted")) == (packet(0xE6, b"\x0d"), b"")


def test_a_code_given_up_breaks_no_silence() -> None:
    """Only input breaks the silence after a wrong checksum: the time-out of a code in parts does not."""
    part, good = data(b"A", more=True), data(b"KS")
    broken = data(b"S")[:-1] + b"\x00"
    entries: list[Timed] = [(1, part), (1.02, broken), (1.13, good)]
    assert "KS" in [text for _, text in played(entries, until=3, frame_timeout_ms=50)]
