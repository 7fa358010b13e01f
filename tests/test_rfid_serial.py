"""Tag readers: frames of 14 and 16 bytes, and tags that lie on the reader."""

from __future__ import annotations

from functools import reduce
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.contract import BadFrame, CardRead, Reading
from scannerd_drivers.rfid_serial import CAP, TAGS, RfidSerialDecoder, RfidSerialDriver, RfidSerialOptions
from scannerd_drivers.transports.serial_port import SerialTransport
from tests.decoding import codes, feed_three_ways, gist
from tests.playing import Timed, micros, play

TAG = "0415D0B357"
OTHER = "0000C0FFEE"


def decoder(**options: object) -> RfidSerialDecoder:
    """A fresh decoder with these options."""
    return RfidSerialDecoder(RfidSerialOptions.model_validate(options))


def frame(tag: str, *, line_end: bytes = b"", flip: int = 0) -> bytes:
    """The frame of a tag; `flip` spoils its checksum."""
    check = reduce(xor, bytes.fromhex(tag)) ^ flip
    return b"\x02" + f"{tag}{check:02X}".encode() + line_end + b"\x03"


def read(*frames: bytes, **options: object) -> list[Reading]:
    """What a decoder makes of frames, whole and split alike."""
    return feed_three_ways(lambda: decoder(**options), b"".join(frames))


def test_recording_clean() -> None:
    """Of a round whose tags are reported up to three times while they lie there, each is read once."""
    entries: list[Timed] = [
        (0.5, "0230343135443042333537323503"),
        (2.1, "0230343135443235434431344503"),
        (2.4, "0230343135443235434431344503"),
        (3.7, "0230343135443346324634433403"),
        (4, "0230343135443346324634433403"),
        (4.3, "0230343135443346324634433403"),
        (5.3, "0230343135443239364436383303"),
        (6.9, "0230343135443246373839424403"),
        (7.2, "0230343135443246373839424403"),
        (8.5, "0230343135443133414238343203"),
        (8.8, "0230343135443133414238343203"),
        (9.1, "0230343135443133414238343203"),
    ]

    told = play(decoder(), entries, until=11)

    first = [(0.5, "0415D0B357"), (2.1, "0415D25CD1"), (3.7, "0415D3F2F4")]
    assert told == [*first, (5.3, "0415D296D6"), (6.9, "0415D2F789"), (8.5, "0415D13AB8")]


@pytest.mark.parametrize("line_end", [b"", b"\r\n"])
def test_both_lengths(line_end: bytes) -> None:
    """A frame is 14 bytes, or 16 with CR LF before its end, and is told whole."""
    whole = frame(TAG, line_end=line_end)
    assert read(whole) == [CardRead(TAG, raw=whole)]


def test_code_is_upper_case_with_leading_zeros() -> None:
    """The code is the ten digits in upper case, leading zeros kept."""
    assert codes(read(frame(OTHER).lower())) == ["0000C0FFEE"]


@pytest.mark.fault(59)
def test_one_missed_poll() -> None:
    """A tag that lies there is one read, though every other poll of the reader misses it."""
    polls = [(1 + 0.5 * n, frame(TAG)) for n in range(20)]
    assert play(decoder(), polls, until=20) == [(1.0, TAG)]


@pytest.mark.parametrize(("gap", "reads"), [(0.749, 1), (0.75, 2)])
def test_absent_long_enough(gap: float, reads: int) -> None:
    """A tag is a new read when it was away for `absent_ms`, counted from its last report."""
    entries = [(1.0, frame(TAG)), (1.5, frame(TAG)), (1.5 + gap, frame(TAG))]
    assert len(play(decoder(), entries)) == reads


def test_absent_option() -> None:
    """`absent_ms` sets how long a tag must be away."""
    entries = [(1.0, frame(TAG)), (1.2, frame(TAG))]
    assert play(decoder(absent_ms=200), entries) == [(1.0, TAG), (1.2, TAG)]


def test_each_tag_for_itself() -> None:
    """Two tags in the field are one read each, in whatever order they are reported."""
    entries = [(1 + 0.3 * n, frame(TAG if n % 2 else OTHER)) for n in range(8)]
    assert play(decoder(), entries) == [(1.0, OTHER), (1.3, TAG)]


def test_broken_report_is_no_sighting() -> None:
    """A report with a wrong checksum does not keep a tag on the reader."""
    entries = [(1.0, frame(TAG)), (1.7, frame(TAG, flip=1)), (1.8, frame(TAG))]
    assert play(decoder(), entries) == [(1.0, TAG), (1.7, "bad checksum"), (1.8, TAG)]


def test_memory_of_tags_is_bounded() -> None:
    """Of more tags than a line can carry the oldest is forgotten."""
    tags = [f"{n:010X}" for n in range(TAGS + 1)]
    subject = decoder()
    told = subject.feed(b"".join(map(frame, [*tags, tags[-1], tags[0]])), micros(1))
    assert codes(told) == [*tags, tags[0]]


@pytest.mark.fault(61)
def test_byte_order_of_readers() -> None:
    """Two readers that send a tag's bytes in different order give one code where one of them is set to reversed."""
    turned = bytes.fromhex(TAG)[::-1].hex().upper()
    assert codes(read(frame(turned), byte_order="reversed")) == [TAG]
    assert codes(read(frame(turned))) == [turned]


@pytest.mark.fault(61)
def test_no_part_of_a_code() -> None:
    """A tag that shares digits with another, or holds a cascade byte, is told in full and nothing is cut."""
    tags = ["8804A3C6CA", "8804A3C600", "04A3C6CAE2", "0004A3C6CA"]
    assert codes(read(*map(frame, tags))) == tags


def test_wrong_checksum() -> None:
    """A wrong XOR is a bad frame."""
    assert read(frame(TAG, flip=0x10)) == [BadFrame("checksum", frame(TAG, flip=0x10))]


@pytest.mark.parametrize(
    "whole",
    [
        b"\x02\x03",
        b"\x020415D0B3572\x03",
        b"\x020415D0B357255\x03",
        b"\x020415D0B35725\n\r\x03",
        b"\x020415D0B357X5\x03",
        b"\x020415D0B357 5\x03",
    ],
)
def test_malformed(whole: bytes) -> None:
    """A frame of another length, with another line end, or with what is no hex digit is malformed."""
    assert read(whole) == [BadFrame("malformed", whole)]


def test_start_inside_a_frame() -> None:
    """A start byte inside a frame breaks it off and begins another."""
    assert read(b"\x020415D0", frame(TAG)) == [BadFrame("partial", b"\x020415D0"), CardRead(TAG, raw=frame(TAG))]


def test_silence_inside_a_frame() -> None:
    """Half a frame and silence is partial, half a second after its last byte, and its tail is noise."""
    whole = frame(TAG)
    told = play(decoder(), [(1, whole[:5]), (1.3, whole[5:9]), (2, whole[9:]), (3, whole)])
    assert told == [(1.8, "bad partial"), (2.0, "notice other"), (3.0, TAG)]


def test_frame_timeout_option() -> None:
    """`frame_timeout_ms` sets how long the silence inside a frame may be."""
    whole = frame(TAG)
    assert play(decoder(frame_timeout_ms=100), [(1, whole[:5])], until=2) == [(1.1, "bad partial")]


def test_overlong() -> None:
    """More than 15 bytes without an end are overlong, told once, and the rest is dropped up to the next frame."""
    long = b"\x02" + b"0" * 40 + b"\x03"
    assert read(long, frame(TAG)) == [BadFrame("overlong", long[:CAP]), CardRead(TAG, raw=frame(TAG))]
    assert read(long[: CAP - 1]) == []


def test_noise_is_told_once_a_run() -> None:
    """Bytes outside frames are one notice a run; a frame or silence ends the run."""
    assert gist(read(b"\r\n\x03", frame(TAG), b"\r\n")) == ["notice other", TAG, "notice other"]
    told = play(decoder(), [(1, b"\xff"), (1.4, b"\xff"), (1.9, b"\xff")])
    assert told == [(1.0, "notice other"), (1.9, "notice other")]


def test_loss_of_the_device() -> None:
    """When the reader is lost, half a frame is dropped and not told."""
    subject = decoder()
    subject.feed(b"\x0204", micros(1))
    assert (subject.pending, subject.deadline) == (b"\x0204", micros(1.5))
    assert subject.tick(micros(1.4)) == []
    assert subject.finish(micros(1.4)) == []
    assert (subject.pending, subject.deadline) == (b"", None)


@given(st.lists(st.binary(max_size=20) | st.sampled_from([frame(TAG), frame(OTHER), b"\x02", b"\x03"])))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Any bytes are taken, however they are cut, and no more than the cap is kept."""
    read(*pieces)
    subject = decoder()
    for piece in pieces:
        subject.feed(piece, micros(1))
        assert len(subject.pending) < CAP
    subject.finish(micros(9))


def test_driver() -> None:
    """The driver reads a serial line with its options, and its codebook must be named."""
    driver = RfidSerialDriver(RfidSerialOptions(absent_ms=0))
    assert codes(driver.decoder(0).feed(frame(TAG) * 2, 1)) == [TAG, TAG]
    assert isinstance(driver.transport("/dev/scannerd/pad"), SerialTransport)
    assert driver.codes is None
