"""The Angel Eye II-EX: reports, copies, broken copies, answers and commands."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import xor
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scannerd.contract import BadFrame, CardRead, NoRead, Notice, Reading
from scannerd_drivers.angel_eye import CAP, AngelEyeDecoder, AngelEyeDriver, AngelEyeOptions
from scannerd_drivers.angel_eye_reports import clear_error_command, confirm_command, lock_command
from scannerd_drivers.transports.serial_port import SerialTransport
from scannerd_drivers.transports.tcp import TcpTransport
from tests.decoding import feed_split, feed_three_ways, gist
from tests.playing import Timed, micros, play

ACE = b"D\x81\xb1"  # D, Player, first card, spades, ace
TEN = b"D\x91\x9a"  # D, Banker, first card, diamonds, ten


def decoder(**options: object) -> AngelEyeDecoder:
    """A fresh decoder with these options."""
    return AngelEyeDecoder(AngelEyeOptions.model_validate(options))


def report(seq: str, data: bytes, *, with_start: bool = False, spoilt: bool = False) -> bytes:
    """A report with its BCC, right or spoilt."""
    frame = b"\x05" + seq.encode() + data + b"\x03"
    value = reduce(xor, frame[0 if with_start else 1 :]) ^ (0x40 if spoilt else 0)
    return frame + f"{value:02X}".encode()


def read(*frames: bytes, **options: object) -> list[Reading]:
    """What a decoder makes of frames, whole and split alike."""
    return feed_three_ways(lambda: decoder(**options), b"".join(frames))


def one(data: bytes, **options: object) -> Reading:
    """The one reading that a report makes."""
    (reading,) = read(report("1", data), **options)
    return reading


def played(entries: Iterable[Timed], until: float = 30, **options: object) -> list[tuple[float, str]]:
    """What a decoder tells of timed chunks, and when."""
    return play(decoder(**options), entries, until)


def test_recording_clean() -> None:
    """Of a round whose reports all come three times, each card is read once, at its first copy."""
    reports = [
        "05324481b1033435",
        "053344919a033746",
        "05344482a2033533",
        "05354492cd033244",
        "05364483b7033435",
        "0537449397033734",
    ]
    copies = [(2 + 1.5 * card + 0.1 * copy, hexed) for card, hexed in enumerate(reports) for copy in range(3)]

    told = played([(0.5, "053150033632"), *copies], bcc_scope="after-start")

    cards = [(2.0, "AS"), (3.5, "TD"), (5.0, "2C"), (6.5, "KH"), (8.0, "7S"), (9.5, "7D")]
    assert told == [(0.5, "notice other"), *cards]


def test_recording_lost() -> None:
    """A broken report is lost after one second or with the next good one, and nothing where a good copy comes."""
    entries: list[Timed] = [
        (1.5, "05314481bb033443"),
        (3, "0532448198033743"),
        (9.5, "05334481ad033438"),
        (9.7, "05334481ad033538"),
        (9.9, "05334481ad033438"),
        (11, "05344481c3033231"),
        (11.7, "05354481b5033436"),
        (18.5, "0536448199033639"),
    ]

    told = played(entries, bcc_scope="after-start")

    lost = "bad lost"
    assert told == [(1.5, "JS"), (4.0, lost), (9.7, "KC"), (11.7, lost), (11.7, "5S"), (18.5, "9D")]


def test_recording_errors() -> None:
    """Errors, their clearing and the cut card are notices between the cards."""
    entries: list[Timed] = [
        (1.5, "05314481c2033330"),
        (3, "053245c3034232"),
        (4, "05336583034433"),
        (5, "05344481a9033545"),
        (6.5, "053545c7034231"),
        (8, "053644819b033645"),
        (9, "053743033732"),
        (10, "05384481b1033441"),
    ]

    words = [word for _, word in played(entries, bcc_scope="with-start")]

    error, cleared = "notice error", "notice error_cleared"
    assert words == ["2H", error, cleared, "9C", error, "JD", "notice cut_card", "AS"]


@pytest.mark.parametrize(
    ("scope", "with_start", "right"),
    [
        ("auto", False, True),
        ("auto", True, True),
        ("after-start", False, True),
        ("after-start", True, False),
        ("with-start", False, False),
        ("with-start", True, True),
    ],
)
def test_bcc_scope(scope: str, with_start: bool, right: bool) -> None:  # noqa: FBT001 - columns of a table
    """The BCC covers the bytes that `bcc_scope` names, and under `auto` either."""
    told = played([(1, report("1", ACE, with_start=with_start))], bcc_scope=scope)
    assert told == ([(1.0, "AS")] if right else [(2.0, "bad lost")])


def test_bcc_is_upper_case() -> None:
    """A BCC in lower case is a wrong one."""
    frame = report("7", TEN)
    assert frame[-2:] == b"7B"
    assert gist(read(frame)) == ["TD"]
    assert read(frame[:-1] + b"b") == []


def test_raw_is_the_frame() -> None:
    """A card is told with its frame from the start byte to the BCC."""
    assert one(ACE) == CardRead("AS", None, report("1", ACE))


@pytest.mark.parametrize(
    ("byte", "code"),
    [(0x91, "AD"), (0xA2, "2C"), (0xBA, "TS"), (0xCB, "JH"), (0xCC, "QH"), (0x9D, "KD"), (0x99, "9D")],
)
def test_card_byte(byte: int, code: str) -> None:
    """The second byte of a card holds suit and rank."""
    assert gist([one(bytes([ord("D"), 0x81, byte]))]) == [code]


@pytest.mark.parametrize("byte", [0x81, 0xB0, 0xBE, 0xBF, 0xD1, 0xF1])
def test_impossible_card(byte: int) -> None:
    """Suit 0, or a suit or rank that no card has, is a card that was not read."""
    reading = one(bytes([ord("D"), 0x81, byte]))
    assert reading == NoRead(f"no card of the deck {byte:02X}", report("1", bytes([ord("D"), 0x81, byte])))


@pytest.mark.parametrize(
    ("data", "accept", "word"),
    [
        (b"D\x81\xb1", None, "AS"),
        (b"D\x91\xb1", None, "AS"),
        (b"D\xa1\xb1", None, "notice other"),
        (b"d\xa1\xb1", None, "AS"),
        (b"R\x81\xb1", None, "notice other"),
        (b"R\xb1\xb1", ["R:*"], "AS"),
        (b"D\xa1\xb1", ["D:2"], "AS"),
        (b"D\x81\xb1", ["D:2"], "notice other"),
        (b"D\xa1\x80", None, "notice other"),
    ],
)
def test_accept(data: bytes, accept: list[str] | None, word: str) -> None:
    """Only the letters and targets of `accept` are cards, and that is looked at before the card is decoded."""
    options: dict[str, object] = {} if accept is None else {"accept": accept}
    assert gist([one(data, **options)]) == [word]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"D\x81\xb1", "A:AS"),
        (b"R\x91\xb1", "B:AS"),
        (b"D\xc1\xb1", "AS"),
        (b"d\x81\xb1", "AS"),
    ],
)
def test_hand_from_target(data: bytes, word: str) -> None:
    """With `hand_from_target` Player is hand A and Banker hand B, for cards in game and those sent again."""
    assert gist([one(data, hand_from_target=True, accept=["D:*", "d:*", "R:*"])]) == [word]


@pytest.mark.parametrize(
    ("data", "kind", "detail"),
    [
        (b"E\xc3", "error", "3 button"),
        (b"E\x82", "error", "2 overdraw, not in error mode"),
        (b"E\xff", "error", "63 unknown"),
        (b"e\x87", "error_cleared", "7 time-out"),
        (b"G\x90", "result", "Player"),
        (b"G\xa3", "result", "tie"),
        (b"G\xc0", "result", "Banker"),
        (b"G\xf0", "result", "forced quit"),
        (b"G\x80", "result", "unknown result 0"),
        (b"L\x81", "lock", "locked"),
        (b"L\x80", "lock", "unlocked"),
        (b"C", "cut_card", ""),
        (b"S", "start", ""),
        (b"P", "other", "report 'P'"),
        (b"M\xb0\xb1", "other", "report 'M'"),
        (b"x\xff", "other", "report 'x'"),
        (b"", "other", "report ''"),
    ],
)
def test_notices(data: bytes, kind: str, detail: str) -> None:
    """What is no card is a notice of its kind."""
    reading = one(data)
    assert isinstance(reading, Notice)
    assert (kind, detail, report("1", data)) == (reading.kind, reading.detail, reading.raw)


def test_cannot_read() -> None:
    """The error 'cannot read' is a card that was not read."""
    assert one(b"E\xc1") == NoRead("1 cannot read", report("1", b"E\xc1"))


@pytest.mark.parametrize(
    "data",
    [
        b"D\x81",
        b"D\x81\xb1\xb1",
        b"E",
        b"e\x81\x81",
        b"G",
        b"L\x81\x80",
        b"D\x81\x31",
        b"D\x01\xb1",
        b"C\x31",
        b"C\x81",
        b"S\x81",
        b"x\x31",
    ],
)
def test_malformed(data: bytes) -> None:
    """A report of the wrong length, or with a payload byte whose bit 7 the line took away, is malformed."""
    assert one(data) == BadFrame("malformed", report("1", data))


def test_no_seq() -> None:
    """A report without a Seq is malformed and does not make the last card new again."""
    assert gist(read(report("1", ACE), b"\x05\x0303", report("1", ACE))) == ["AS", "bad malformed"]


def test_copies_are_nothing() -> None:
    """A report with the Seq of the last good one is a copy, whatever it holds; another Seq is new."""
    assert gist(read(report("1", ACE), report("1", TEN), report("2", ACE))) == ["AS", "AS"]


def test_malformed_has_copies_too() -> None:
    """The copies of a malformed report are nothing."""
    assert gist(read(report("1", b"D\x81"), report("1", b"D\x81"))) == ["bad malformed"]


def test_start_forgets_seq() -> None:
    """A start-up is told once for its copies, and the first report after it is new though it has the same Seq."""
    start = report("1", b"S")
    told = gist(read(report("1", ACE), start, start, start, report("1", TEN), report("1", TEN)))
    assert told == ["AS", "notice start", "TD"]


def test_broken_start_copy() -> None:
    """A broken copy of a start-up is nothing, but a broken report of another kind with its Seq is not its copy."""
    assert played([(1, report("1", b"S")), (2, report("1", b"S", spoilt=True))]) == [(1.0, "notice start")]
    told = played([(1, report("1", b"S")), (2, report("1", ACE, spoilt=True))])
    assert told == [(1.0, "notice start"), (3.0, "bad lost")]


def test_broken_copy_of_last() -> None:
    """A broken report with the Seq of the last good one, or with its bytes after Seq, is its copy and nothing."""
    good = report("1", ACE)
    wrong_seq = good.replace(b"\x051", b"\x057")
    assert played([(1, good), (2, report("1", TEN, spoilt=True)), (3, wrong_seq)]) == [(1.0, "AS")]


def test_broken_then_good_copy() -> None:
    """A good copy within a second makes a broken report nothing, by its Seq or by the bytes after it."""
    good = report("1", ACE)
    wrong_seq = good.replace(b"\x051", b"\x057")
    for broken in (report("1", TEN, spoilt=True), wrong_seq):
        assert played([(1, broken), (1.9, good)]) == [(1.9, "AS")]


def test_same_data_is_no_copy() -> None:
    """A broken report is no copy of one with the same data whose Seq and BCC are others: it may be a new card."""
    told = played([(1, report("1", b"C")), (2, report("2", b"C", spoilt=True))])
    assert told == [(1.0, "notice cut_card"), (3.0, "bad lost")]


def test_first_copy_begins_the_second() -> None:
    """The second of waiting counts from the first broken copy."""
    broken = report("1", ACE, spoilt=True)
    assert played([(1, broken), (1.5, broken), (1.9, broken)]) == [(2.0, "bad lost")]


def test_deadline_comes_before_the_copy() -> None:
    """A good copy that comes when the second is over is a new report, after the loss."""
    told = played([(1, report("1", ACE, spoilt=True)), (2, report("1", ACE))])
    assert told == [(2.0, "bad lost"), (2.0, "AS")]


def test_repeated_report_ends_no_wait() -> None:
    """A copy of the last good report is nothing, and does not take the time from a broken one."""
    good, broken = report("1", ACE), report("2", TEN, spoilt=True)
    assert played([(1, good), (1.2, broken), (1.3, good), (1.4, report("2", TEN))]) == [(1.0, "AS"), (1.4, "TD")]


def test_two_broken_reports() -> None:
    """Of two broken reports each waits for itself, and the next good report tells those that are not its copies."""
    broken = [report("1", ACE, spoilt=True), report("2", TEN, spoilt=True)]
    readings = feed_split(decoder, [*broken, report("2", TEN)])
    assert readings == [BadFrame("lost", broken[0]), CardRead("TD", None, report("2", TEN))]
    assert played([(1, broken[0]), (1.5, broken[1])]) == [(2.0, "bad lost"), (2.5, "bad lost")]


def test_waiting_is_bounded() -> None:
    """No more than the cap of broken reports waits: the oldest are told as lost at once."""
    broken = [report(chr(0x40 + n), bytes([0x80 + n]) * 5, spoilt=True) for n in range(40)]
    kept = CAP // len(broken[0])
    subject = decoder()
    told = subject.feed(b"".join(broken), micros(1))
    assert told == [BadFrame("lost", frame) for frame in broken[:-kept]]
    assert len(subject.finish(micros(1))) == kept


def test_loss_of_the_device_tells_what_waits() -> None:
    """When the shoe is lost, a broken report that waits is told as lost and a half one is dropped."""
    subject = decoder()
    broken = report("1", ACE, spoilt=True)
    subject.feed(broken + b"\x052D", micros(1))
    assert subject.pending == b"\x052D"
    assert subject.finish(micros(1.1)) == [BadFrame("lost", broken)]
    assert (subject.pending, subject.deadline) == (b"", None)


def test_partial_at_its_time() -> None:
    """Half a report and silence is partial, half a second after its last byte."""
    told = played([(1, b"\x051D"), (1.4, b"\x81"), (3, report("1", ACE))])
    assert told == [(1.9, "bad partial"), (3.0, "AS")]


def test_frame_timeout_option() -> None:
    """`frame_timeout_ms` sets how long the silence inside a frame may be."""
    frame = report("1", ACE)
    assert played([(1, frame[:4]), (1.9, frame[4:])], frame_timeout_ms=1000) == [(1.9, "AS")]


def test_lost_comes_before_a_later_partial() -> None:
    """Deadlines that passed together are decided in the order of their times."""
    subject = decoder()
    broken = report("1", ACE, spoilt=True)
    subject.feed(broken, micros(1))
    subject.feed(b"\x052", micros(1.3))
    assert subject.deadline == micros(1.8)
    assert subject.tick(micros(1.7)) == []
    assert subject.tick(micros(5)) == [BadFrame("partial", b"\x052"), BadFrame("lost", broken)]


@pytest.mark.parametrize("half", [b"\x051D\x81", b"\x051D\x81\xb1\x034", b"\x02OP", b"\x15"])
def test_start_inside_a_frame(half: bytes) -> None:
    """A start byte inside a frame breaks it off and begins a report."""
    assert read(half, report("1", ACE)) == [BadFrame("partial", half), CardRead("AS", None, report("1", ACE))]


def test_overlong() -> None:
    """128 bytes without an end are overlong, told once, and the rest is dropped up to the next report."""
    frame = b"\x05" + b"\x81" * 200
    assert read(frame, report("1", ACE)) == [BadFrame("overlong", frame[:CAP]), CardRead("AS", None, report("1", ACE))]
    subject = decoder()
    assert subject.feed(frame[: CAP - 1], micros(1)) == []
    assert subject.pending == frame[: CAP - 1]


@pytest.mark.parametrize(
    ("frame", "detail"),
    [(b"\x06", "ACK"), (b"\x151", "NAK 31"), (b"\x02LK02\x0306", "LK02")],
)
def test_answers(frame: bytes, detail: str) -> None:
    """ACK, NAK and answers are notices."""
    assert read(frame) == [Notice("answer", detail, frame)]


def test_answer_with_wrong_bcc() -> None:
    """An answer with a wrong BCC is a bad frame of its own, and no lost card."""
    assert read(b"\x02LK02\x0307") == [BadFrame("checksum", b"\x02LK02\x0307")]


def test_noise_is_told_once_a_run() -> None:
    """Bytes outside frames are one notice a run; a frame or silence ends the run."""
    assert gist(read(b"\xff\xfe\x03", report("1", ACE), b"\xff\xff")) == ["notice other", "AS", "notice other"]
    told = played([(1, b"\xff"), (1.4, b"\xff"), (2, b"\xff")])
    assert told == [(1.0, "notice other"), (2.0, "notice other")]


FRAMES = [report("1", ACE), report("2", TEN, spoilt=True), report("1", b"S"), b"\x06", b"\x15", b"\x02", b"\x05"]


@given(st.lists(st.binary(max_size=20) | st.sampled_from(FRAMES)))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Any bytes are taken, however they are cut, and no more than the cap is kept."""
    read(*pieces)
    subject = decoder()
    for number, piece in enumerate(pieces):
        subject.feed(piece, micros(1) + number)
        assert len(subject.pending) <= CAP
    subject.finish(micros(9))
    assert subject.deadline is None


def test_commands() -> None:
    """Commands are built as published: the lock command ends in 1B, its BCC over the start byte too."""
    assert lock_command("auto", locked=True) == b"\x02OPLK02\x031B"
    assert lock_command("with-start", locked=False) == b"\x02OPLK01\x0318"
    assert lock_command("after-start", locked=True) == b"\x02OPLK02\x0319"
    assert clear_error_command("after-start", 3)[:-2] == b"\x02OPEC03\x03"
    assert confirm_command("auto")[:-2] == b"\x02OPGP00\x03"


@pytest.mark.parametrize("code", [-1, 100])
def test_error_code_of_two_digits(code: int) -> None:
    """An error code that needs more than two digits is refused."""
    with pytest.raises(ValueError, match="0 to 99"):
        clear_error_command("auto", code)


def test_silent_by_default() -> None:
    """Nothing is written to the shoe unless it is configured."""
    driver = AngelEyeDriver(AngelEyeOptions())
    assert [driver.feedback(outcome) for outcome in ("accepted", "rejected", "prompt")] == [b"", b"", b""]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("lock", b"\x02OPLK02\x031B"),
        ("unlock", b"\x02OPLK01\x0318"),
        ("confirm", confirm_command("auto")),
        ("clear:07", clear_error_command("auto", 7)),
    ],
)
def test_feedback(command: Literal["lock"], expected: bytes) -> None:
    """With `control` an outcome sends the command configured for it."""
    driver = AngelEyeDriver(AngelEyeOptions(control=True, on_rejected=command))
    assert expected == driver.feedback("rejected")
    assert driver.feedback("accepted") == b""


def test_commands_need_control() -> None:
    """A configured command without `control = true` is refused."""
    with pytest.raises(ValidationError, match="control"):
        AngelEyeOptions(on_accepted="lock")


@pytest.mark.parametrize("options", [{"accept": ["X:0"]}, {"accept": ["D:8"]}, {"on_prompt": "open"}, {"colour": 1}])
def test_wrong_options(options: dict[str, object]) -> None:
    """An option that means nothing is refused."""
    with pytest.raises(ValidationError):
        AngelEyeOptions.model_validate(options)


def test_driver_makes_a_decoder() -> None:
    """The driver makes decoders with its options."""
    driver = AngelEyeDriver(AngelEyeOptions(hand_from_target=True))
    assert gist(driver.decoder(0).feed(report("1", ACE), 1)) == ["A:AS"]
    assert (driver.codes, driver.reports) == ("rank-suit", False)


def test_transport() -> None:
    """The shoe is read from a serial line at 4800 bit/s, or over TCP."""
    driver = AngelEyeDriver(AngelEyeOptions())
    assert driver.options.baudrate == 4800
    assert isinstance(driver.transport("/dev/scannerd/shoe"), SerialTransport)
    assert isinstance(driver.transport("tcp://127.0.0.1:4001"), TcpTransport)
