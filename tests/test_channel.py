"""What a scanner sends becomes events of the core: which, for when, and which of them are stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scannerd.channel import Channel, Output
from scannerd.codebooks import load_codebook
from scannerd.contract import Micros, Reading, Reply
from scannerd.core.events import FailedRead, Noticed, Read, ScannerWentDown, ScannerWentUp
from scannerd.registry import Registry
from tests.fakes_devices import FRAME_TIMEOUT, Deck, WordDecoder, WordDriver

S: Micros = 1_000_000


def channel(hand: str | None = None) -> Channel:
    """A channel of the scanner `shoe` in the language of words."""
    return Channel("shoe", WordDriver(), Deck(), hand, 0)


def gist(made: list[Output]) -> list[str]:
    """Each output in a word or two; stale ones begin with `~`."""
    return [_gist(output) for output in made]


def _gist(output: Output) -> str:
    match output:
        case Read(card=card, stale=stale):
            return f"{'~' * stale}{card}"
        case FailedRead(reason=reason, detail=detail, stale=stale):
            return f"{'~' * stale}{reason} {detail}"
        case Noticed(detail=detail):
            return f"notice {detail}"
        case ScannerWentUp():
            return "up"
        case ScannerWentDown():
            return "down"
        case Reply(data=data):
            return data.decode()


# --- readings become events -----------------------------------------------------------------------------------


def test_card() -> None:
    """A code of the codebook is a read of its card, with the frame it came in."""
    shoe = channel()
    assert shoe.chunk(b"AS;", 5) == [Read(5, "shoe", "AS", raw=b"AS;")]  # type: ignore[arg-type] # a card's name


def test_several_in_one_chunk() -> None:
    """Several frames in one chunk are several events, in byte order."""
    assert gist(channel().chunk(b"AS;*hello;KH;", 5)) == ["AS", "notice hello", "KH"]


def test_unknown_code() -> None:
    """A code that the codebook does not know is a failed read that names the code."""
    assert channel().chunk(b"ZZ;", 5) == [FailedRead(5, "shoe", "unknown_code", "ZZ", raw=b"ZZ;")]


def test_not_in_deck() -> None:
    """A joker is a failed read that names its code."""
    assert channel().chunk(b"JK;", 5) == [FailedRead(5, "shoe", "not_in_deck", "JK", raw=b"JK;")]


def test_no_read() -> None:
    """What the device could not read is a failed read."""
    assert channel().chunk(b"!;", 5) == [FailedRead(5, "shoe", "no_read", "no-read", raw=b"!;")]


def test_bad_frame() -> None:
    """A bad frame is a failed read with the decoder's word."""
    assert channel().chunk(b"#checksum;", 5) == [FailedRead(5, "shoe", "bad_frame", "checksum", raw=b"#checksum;")]


def test_lost_frame() -> None:
    """A lost frame is a failed read that says so."""
    assert channel().chunk(b"?;!;", 5)[0] == FailedRead(5, "shoe", "bad_frame", "lost", lost=True, raw=b"?;")


def test_notice() -> None:
    """A device's notice is passed on with its kind."""
    assert channel().chunk(b"*hello;", 5) == [Noticed(5, "shoe", "other", "hello")]


def test_reply_keeps_its_place() -> None:
    """A reply comes after the readings before it."""
    assert gist(channel().chunk(b"AS;ack;KH;settle;", 5)) == ["AS", "ACK", "KH", "SETTLED"]


@pytest.mark.parametrize(
    ("configured", "sent", "hand"),
    [(None, b"AS;", None), (None, b"B:AS;", "B"), ("A", b"AS;", "A"), ("A", b"A:AS;", "A")],
)
def test_hand(configured: str | None, sent: bytes, hand: str | None) -> None:
    """The hand is that of the reading, or else the scanner's."""
    made = channel(configured).chunk(sent, 5)
    assert made == [Read(5, "shoe", "AS", hand, raw=sent)]  # type: ignore[arg-type] # a card's name


@pytest.mark.parametrize(("configured", "sent"), [(None, b"C:AS;"), ("A", b"B:AS;"), ("B", b"x:ZZ;"), (None, b":AS;")])
def test_wrong_hand_of_a_scanner(configured: str | None, sent: bytes) -> None:
    """A hand that is none, or not that of the scanner, makes the frame a bad one."""
    assert channel(configured).chunk(sent, 5) == [FailedRead(5, "shoe", "bad_frame", "hand", raw=sent)]


# --- deadlines ------------------------------------------------------------------------------------------------


@pytest.mark.fault(6)
def test_split_frame_is_one_card() -> None:
    """A frame that arrives in parts is one card, told when its end arrives."""
    shoe = channel()
    assert [shoe.chunk(part, at) for part, at in ((b"K", 0), (b"H", 1), (b";", 2))] == [
        [],
        [],
        [Read(2, "shoe", "KH", raw=b"KH;")],  # type: ignore[arg-type] # a card's name
    ]


def test_deadline_before_a_later_chunk() -> None:
    """A time-out is told for its own time, before the chunk that came later."""
    shoe = channel()
    shoe.chunk(b"2", 0)
    assert [(type(event), getattr(event, "at", None)) for event in shoe.chunk(b"AS;", 5 * S)] == [
        (FailedRead, FRAME_TIMEOUT),
        (Read, 5 * S),
    ]


def test_deadline_of_a_tick() -> None:
    """A tick decides the deadline for its own time, and none is left."""
    shoe = channel()
    shoe.chunk(b"2", 0)
    assert shoe.tick(FRAME_TIMEOUT - 1) == []
    assert shoe.deadline == FRAME_TIMEOUT
    assert shoe.tick(7 * S) == [FailedRead(FRAME_TIMEOUT, "shoe", "bad_frame", "partial", raw=b"2")]
    assert shoe.deadline is None


class StuckDecoder(WordDecoder):
    """Names a deadline and does not decide it."""

    def tick(self, t: Micros) -> list[Reading]:
        """Leaves the deadline as it is."""
        del t
        return []


class StuckDriver(WordDriver):
    """Makes decoders that are stuck."""

    def decoder(self, t: Micros) -> StuckDecoder:
        """A stuck one."""
        del t
        return StuckDecoder()


def test_stuck_decoder() -> None:
    """A decoder that leaves a deadline undecided does not hold the reader."""
    shoe = Channel("shoe", StuckDriver(), Deck(), None, 0)
    shoe.chunk(b"2", 0)
    assert shoe.tick(9 * S) == []


# --- loss and return ------------------------------------------------------------------------------------------


def test_down() -> None:
    """A lost scanner is told with the transport's word for it."""
    assert channel().down(5, "EIO") == [ScannerWentDown(5, "shoe", "EIO")]


@pytest.mark.parametrize(
    ("half", "detail", "told"),
    [
        (b"[G", "EIO", "EIO; half frame dropped: 5b47"),
        (b"[G", None, "half frame dropped: 5b47"),
        (b"x" * 64, "EIO", "EIO; half frame dropped: " + "78" * 64),
        (b"x" * 65, "EIO", "EIO; half frame dropped: " + "78" * 64 + "…"),
    ],
)
def test_down_names_the_half_frame(half: bytes, detail: str | None, told: str) -> None:
    """A half frame is no failed read: it is dropped, and named beside the reason of the loss, at most 64 bytes."""
    shoe = channel()
    shoe.chunk(half, 0)
    assert shoe.down(5, detail) == [ScannerWentDown(5, "shoe", told)]
    assert shoe.chunk(b";", 6) == []


def test_down_tells_what_was_lost() -> None:
    """What a decoder must tell all the same comes before the loss."""
    shoe = channel()
    shoe.chunk(b"?;", 0)
    assert gist(shoe.down(5, None)) == ["bad_frame lost", "down"]


def test_down_after_a_deadline() -> None:
    """A deadline that passed before the loss is decided at its time, and its frame is not dropped."""
    shoe = channel()
    shoe.chunk(b"2", 0)
    assert shoe.down(5 * S, "EIO") == [
        FailedRead(FRAME_TIMEOUT, "shoe", "bad_frame", "partial", raw=b"2"),
        ScannerWentDown(5 * S, "shoe", "EIO"),
    ]


def test_up_has_a_fresh_decoder() -> None:
    """A scanner that is back begins with a fresh decoder."""
    shoe = channel()
    shoe.chunk(b"2", 0)
    assert shoe.up(5) == [ScannerWentUp(5, "shoe")]
    assert gist(shoe.chunk(b"AS;", 6)) == ["AS"]


def test_restart_is_silent() -> None:
    """A decoder begun anew forgets half a frame without an event."""
    shoe = channel()
    shoe.chunk(b"2", 0)
    shoe.restart(1)
    assert gist(shoe.chunk(b"AS;", 2)) == ["AS"]


# --- stale bytes ----------------------------------------------------------------------------------------------


@pytest.mark.fault(12)
def test_stale_chunk() -> None:
    """All readings of a stale chunk are stale; the notices in it are told as ever."""
    assert gist(channel().chunk(b"9D;*hi;ZZ;!;#x;ack;", 0, stale=True)) == [
        "~9D",
        "notice hi",
        "~unknown_code ZZ",
        "~no_read no-read",
        "~bad_frame x",
        "ACK",
    ]


def test_stale_hand() -> None:
    """A bad frame for its hand is stale with its bytes."""
    assert gist(channel().chunk(b"C:9D;", 0, stale=True)) == ["~bad_frame hand"]


def test_lost_is_never_stale() -> None:
    """A lost card stops the dealer, however late it is found."""
    assert gist(channel().chunk(b"?;9D;", 0, stale=True)) == ["bad_frame lost", "~9D"]


def test_stale_beginning() -> None:
    """A reading that begins in stale bytes and ends in fresh ones is stale, and the next is fresh."""
    shoe = channel()
    shoe.chunk(b"9", 0, stale=True)
    assert gist(shoe.chunk(b"D;KH;", 1)) == ["~9D", "KH"]


def test_stale_end() -> None:
    """A reading that begins in fresh bytes and ends in stale ones is stale."""
    shoe = channel()
    shoe.chunk(b"9", 0)
    assert gist(shoe.chunk(b"D;", 1, stale=True)) == ["~9D"]


def test_stale_beginning_of_a_notice() -> None:
    """A notice that begins in stale bytes takes them with it: the card after it is fresh."""
    shoe = channel()
    shoe.chunk(b"*h", 0, stale=True)
    assert gist(shoe.chunk(b"i;KH;", 1)) == ["notice hi", "KH"]


def test_stale_beginning_behind_a_lost_frame() -> None:
    """A frame told as lost was whole before, and leaves the stale bytes to the card after it."""
    shoe = channel()
    shoe.chunk(b"?;9", 0, stale=True)
    assert gist(shoe.chunk(b"D;KH;", 1)) == ["bad_frame lost", "~9D", "KH"]


def test_stale_time_out() -> None:
    """Half a stale frame that times out is stale, and what comes later is fresh."""
    shoe = channel()
    shoe.chunk(b"9", 0, stale=True)
    assert gist(shoe.tick(FRAME_TIMEOUT)) == ["~bad_frame partial"]
    assert gist(shoe.chunk(b"9D;", 3 * S)) == ["9D"]


def test_stale_bytes_in_three_parts() -> None:
    """Stale bytes stay in a frame however many fresh chunks it takes to end it."""
    shoe = channel()
    shoe.chunk(b"1", 0, stale=True)
    assert shoe.chunk(b"0", 1) == []
    assert gist(shoe.chunk(b"D;", 2)) == ["~unknown_code 10D"]


@pytest.mark.parametrize("emptied", [b";", b"?;"])
def test_stale_bytes_that_come_to_nothing(emptied: bytes) -> None:
    """Stale bytes that end without a reading taint nothing."""
    shoe = channel()
    shoe.chunk(emptied[:-1], 0, stale=True)
    shoe.chunk(emptied[-1:], 1)
    assert gist(shoe.chunk(b"AS;", 2))[-1] == "AS"


def test_stale_bytes_forgotten_by_a_time_out() -> None:
    """Stale bytes that a time-out drops without a word taint nothing."""
    shoe = channel()
    shoe.chunk(b"-", 0, stale=True)
    assert gist(shoe.chunk(b"AS;", 3 * S)) == ["AS"]


def test_stale_told_once() -> None:
    """Within one wake a code is told once, and so is a failure without a code, over chunks."""
    shoe = channel()
    shoe.chunk(b"9D;ZZ;!;", 0, stale=True)
    assert gist(shoe.chunk(b"9D;ZZ;!;#x;#y;2C;", 0, stale=True)) == ["~bad_frame x", "~2C"]
    assert shoe.stale_dropped == 4


def test_fresh_is_told_in_a_wake() -> None:
    """A fresh reading is told although its code was told stale, and is not taken for a repetition."""
    shoe = channel()
    shoe.chunk(b"KH;9", 0, stale=True)
    assert gist(shoe.chunk(b"D;KH;", 1)) == ["~9D", "KH"]


def test_tainted_chunk_belongs_to_the_wake() -> None:
    """A code told in the wake is not told again by the frame that the stale bytes began."""
    shoe = channel()
    shoe.chunk(b"9D;9", 0, stale=True)
    assert gist(shoe.chunk(b"D;", 1)) == []


def test_next_wake_tells_again() -> None:
    """A fresh chunk ends the wake: in the next one the code is told again."""
    shoe = channel()
    shoe.chunk(b"9D;", 0, stale=True)
    shoe.chunk(b"KH;", 1)
    assert gist(shoe.chunk(b"9D;", 2, stale=True)) == ["~9D"]


def test_loss_ends_the_wake() -> None:
    """What was stale before a loss taints nothing after it."""
    shoe = channel()
    shoe.chunk(b"9D;9", 0, stale=True)
    shoe.down(1, "EIO")
    shoe.up(2)
    assert gist(shoe.chunk(b"9D;", 3)) == ["9D"]
    assert shoe.stale_dropped == 0


def test_hot_path_and_wake_agree() -> None:
    """The same bytes make the same events in a wake as outside it, staleness aside."""
    data = b"9D;*hi;ZZ;!;#x;A:AS;ack;"
    late = channel().chunk(data, 0, stale=True)
    expected = channel().chunk(data, 0)
    assert expected == [
        replace(event, stale=False) if isinstance(event, Read | FailedRead) else event for event in late
    ]


def _read_by(name: str, chunks: list[tuple[bytes, bool]]) -> list[str]:
    """What an installed driver's bytes become, chunk by chunk; True: a stale chunk."""
    found = Registry().load(name)
    book = load_codebook("rank-suit", Path())
    scanner = Channel("d", found(found.Options()), book, None, 0)
    made = [scanner.chunk(data, t * S // 10, stale=stale) for t, (data, stale) in enumerate(chunks)]
    return gist([one for outputs in made for one in outputs if not isinstance(one, Reply)])


def _report(data: bytes, *, more: bool, name: bytes = b"]C0") -> bytes:
    return (bytes([2, len(data)]) + name + data).ljust(63, b"\0") + bytes([more])


def test_stale_part_of_a_code_taints_it_whatever_comes_between() -> None:
    """A code whose first part is stale is stale, though the device said something else before its last part."""
    part, noise, last = bytes.fromhex("06f300020341fec1"), b"\0", bytes.fromhex("06f300000353feb1")
    assert _read_by("ssi", [(part, True), (noise + last, False)])[-1] == "~AS"
    reports = [(_report(b"A", more=True), True), (_report(b"", more=False, name=b"]X0"), False)]
    assert _read_by("hid-pos", [*reports, (_report(b"S", more=False), False)])[-1] == "~AS"


def test_stale_part_outlives_a_broken_one() -> None:
    """A broken packet behind a stale part is told as it is, and the code that its copy completes is stale."""
    part, broken = bytes.fromhex("06f300020341fec1"), bytes.fromhex("06f300000353feb0")
    again = bytes.fromhex("06f300010353feb0")
    made = _read_by("ssi", [(part, True), (broken, False), (b"", False), (again, False)])
    assert "bad_frame checksum" in made
    assert "~AS" in made


def test_stale_bytes_of_an_empty_frame_taint_no_card() -> None:
    """A stale half frame that ends as nothing leaves the card behind it in the same chunk fresh."""
    assert _read_by("line", [(b"\r", True), (b"\nAS\r\n", False)]) == ["AS"]
    tag, other = bytes.fromhex("0230343135443042333537323503"), bytes.fromhex("0230343135443235434431344503")
    assert _read_by("rfid-serial", [(tag, False), (tag[:5], True), (tag[5:] + other, False)])[-1][:1] != "~"


def test_fresh_part_is_not_made_late_by_a_stale_packet() -> None:
    """A fresh part that a stale, broken packet leaves alone is fresh: its time-out is told as what it is."""
    part, broken = bytes.fromhex("06f300020341fec1"), bytes.fromhex("07f30000033248fe88")
    found = Registry().load("ssi")
    scanner = Channel("d", found(found.Options()), load_codebook("rank-suit", Path()), None, 0)
    scanner.chunk(part + broken[:5], 0)
    scanner.chunk(broken[5:], S // 10, stale=True)
    assert gist(scanner.tick(2 * S)) == ["bad_frame partial"]


def test_a_stale_byte_in_a_full_frame_is_not_overlooked() -> None:
    """A stale byte that fills a frame to its bound makes the frame stale, wherever it ends."""
    found = Registry().load("line")
    options = found.Options.model_validate({"start": "\u0002", "max_length": 2})
    scanner = Channel("d", found(options), load_codebook("rank-suit", Path()), None, 0)
    scanner.chunk(b"\x02A", 0)
    scanner.chunk(b"S", 1, stale=True)
    assert gist(scanner.chunk(b"\n", 2)) == ["~AS"]
