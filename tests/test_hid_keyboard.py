"""Scanners that type: boot reports and kernel events, layouts, broken codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scannerd.contract import BadFrame, CardRead, Reading
from scannerd_drivers.hid_keyboard import CODE_CAP, RAW_CAP, HidKeyboardDecoder, HidKeyboardDriver, HidKeyboardOptions
from scannerd_drivers.keymaps import EVDEV, KEY_NAMES, LAYOUTS, USAGES
from scannerd_drivers.transports.evdev_node import EvdevTransport
from scannerd_drivers.transports.hidraw import HidrawTransport
from tests.decoding import codes, feed_split, gist
from tests.playing import Timed, micros, play

CODES = {name: code for code, name in EVDEV.items()}
DROPPED = pack("<qqHHi", 0, 0, 0, 3, 0)
SYNC = pack("<qqHHi", 0, 0, 0, 0, 0)
SCANCODE = pack("<qqHHi", 0, 0, 4, 4, 0x70004)


def evdev(**options: object) -> HidKeyboardDecoder:
    """A fresh decoder of kernel events."""
    return HidKeyboardDecoder(HidKeyboardOptions.model_validate(options))


def hidraw(**options: object) -> HidKeyboardDecoder:
    """A fresh decoder of boot reports."""
    return evdev(source="hidraw", **options)


def key(name: str, value: int) -> bytes:
    """The event of a key: 1 down, 0 up, 2 repeated."""
    return pack("<qqHHi", 1, 2, 1, CODES[name], value)


def down(name: str) -> bytes:
    """The event of a key that goes down."""
    return key(name, 1)


def stroke(name: str) -> list[bytes]:
    """The events of a key that is struck."""
    return [SCANCODE, down(name), SYNC, SCANCODE, key(name, 0), SYNC]


def strokes(names: str) -> list[bytes]:
    """The events of keys that are struck one after the other; `+` before a key holds shift."""
    return list(chain.from_iterable(_with_shift(name) for name in names.split()))


def _with_shift(name: str) -> Iterator[bytes]:
    shifted, name = name.startswith("+"), name.removeprefix("+")
    yield from [down("LEFTSHIFT")] if shifted else []
    yield from stroke(name)
    yield from [key("LEFTSHIFT", 0)] if shifted else []


def typed(names: str, **options: object) -> list[Reading]:
    """What struck keys make."""
    return feed_split(lambda: evdev(**options), strokes(names))


def boot(*reports: str, end: bool = True, **options: object) -> list[Reading]:
    """What boot reports make, by default with ENTER and its release after them."""
    tail = ["0000000000000000", "0000280000000000", "0000000000000000"] if end else []
    return feed_split(lambda: hidraw(**options), map(bytes.fromhex, [*reports, *tail]))


def at(t: float, names: str) -> list[Timed]:
    """Struck keys, all at one time."""
    return [(t, chunk) for chunk in strokes(names)]


def played(entries: Iterable[Timed], until: float = 0, **options: object) -> list[tuple[float, str]]:
    """What a decoder of kernel events tells of timed chunks, and when."""
    return play(evdev(**options), entries, until)


def test_recording_boot() -> None:
    """Codes of a recorded round are told at their end key, and one that breaks off is partial after a second."""
    codes_at = [
        (0.5, "04 16 28"),
        (2, "21 s07 28"),
        (3.5, "1e 27 06 28"),
        (7.5, "61 0b 28"),
        (9, "0e 07 28"),
        (10.5, "14"),
        (13, "14 16 28"),
    ]
    entries: list[Timed] = []
    for start, usages in codes_at:
        for number, usage in enumerate(usages.split()):
            modifier = "02" if usage.startswith("s") else "00"
            entries.append((start + number * 0.016, f"{modifier}00{usage[-2:]}0000000000"))
            entries.append((start + number * 0.016 + 0.008, "0000000000000000"))

    told = play(hidraw(), entries, until=15)

    assert told == [
        (0.532, "as"),
        (2.032, "4D"),
        (3.548, "10c"),
        (7.532, "9h"),
        (9.032, "kd"),
        (11.5, "bad partial"),
        (13.032, "qs"),
    ]


@pytest.mark.fault(38)
def test_layout_is_the_scanners() -> None:
    """Keys mean what the scanner's layout says; the host's is not asked."""
    assert codes(typed("+H +A 1 1 2 ENTER")) == ["HA112"]
    assert codes(typed("+H +Q +1 +1 +2 ENTER", layout="fr")) == ["HA112"]
    assert codes(typed("+Y +Z 7 ENTER", layout="de")) == ["ZY7"]


@pytest.mark.fault(38)
@pytest.mark.parametrize(
    ("layout", "names"), [("us", "A 102ND"), ("fr", "Q LEFTBRACE"), ("de", "A EQUAL"), ("us", "ESC")]
)
def test_key_outside_the_map(layout: str, names: str) -> None:
    """A key that types nothing for sure, such as a dead key, makes a bad character and never a guess."""
    assert gist(typed(names + " A ENTER B ENTER", layout=layout))[0] == "bad bad"
    assert len(typed(names + " A ENTER B ENTER", layout=layout)) == 2


ALL_KEYS = [
    "GRAVE 1 2 3 4 5 6 7 8 9 0 MINUS EQUAL",
    "Q W E R T Y U I O P LEFTBRACE RIGHTBRACE",
    "A S D F G H J K L SEMICOLON APOSTROPHE BACKSLASH",
    "102ND Z X C V B N M COMMA DOT SLASH",
]


@pytest.mark.parametrize(
    ("layout", "plain", "shifted"),
    [
        (
            "us",
            ["`1234567890-=", "qwertyuiop[]", "asdfghjkl;'\\", "¤zxcvbnm,./"],
            ["~!@#$%^&*()_+", "QWERTYUIOP{}", 'ASDFGHJKL:"|', "¤ZXCVBNM<>?"],
        ),
        (
            "fr",
            ["²&é\"'(-è_çà)=", "azertyuiop¤$", "qsdfghjklmù*", "<wxcvbn,;:!"],
            ["¤1234567890°+", "AZERTYUIOP¤£", "QSDFGHJKLM%µ", ">WXCVBN?./§"],
        ),
        (
            "de",
            ["¤1234567890ß¤", "qwertzuiopü+", "asdfghjklöä#", "<yxcvbnm,.-"],
            ['°!"§$%&/()=?¤', "QWERTZUIOPÜ*", "ASDFGHJKLÖÄ'", ">YXCVBNM;:_"],
        ),
    ],
)
def test_layouts(layout: str, plain: list[str], shifted: list[str]) -> None:
    """Every key types what its layout has in its place, without and with shift; `¤` here means nothing for sure."""
    for row, low, high in zip(ALL_KEYS, plain, shifted, strict=True):
        for name, *expected in zip(row.split(), low, high, strict=True):
            for prefix, character in zip(("", "+"), expected, strict=True):
                told = typed(f"{prefix}{name} ENTER", layout=layout)
                assert gist(told) == (["bad bad"] if character == "¤" else [character])


def test_keypad() -> None:
    """Keypad digits are digits, and its ENTER ends a code."""
    names = " ".join(f"KP{n}" for n in range(10))
    assert codes(typed(f"{names} KPENTER KPDOT ENTER")) == ["0123456789", "."]
    assert codes(boot("0000590000000000", "0000620000000000", "0000000000000000", "0000580000000000", end=False)) == [
        "10"
    ]


def test_sources_agree() -> None:
    """Both sources name the same keys."""
    assert set(EVDEV.values()) == set(USAGES.values())
    assert all(set(layout) <= KEY_NAMES for layout in LAYOUTS.values())


@pytest.mark.fault(40)
def test_shift_in_boot_reports() -> None:
    """Left and right shift of a boot report both make upper case."""
    told = boot("0200040000000000", "0000000000000000", "2000050000000000", "0000000000000000", "0000060000000000")
    assert codes(told) == ["ABc"]


@pytest.mark.parametrize("shift", ["LEFTSHIFT", "RIGHTSHIFT"])
def test_shift_in_events(shift: str) -> None:
    """Either shift key holds from its press to its release, repeated or not."""
    chunks = [down(shift), key(shift, 2), *stroke("A"), key(shift, 0), *stroke("B"), *stroke("ENTER")]
    assert codes(feed_split(evdev, chunks)) == ["Ab"]


DIGITS = dict(zip("1234567890", range(0x1E, 0x28), strict=True))


@pytest.mark.fault(41)
def test_repeated_reports() -> None:
    """A key held over two reports counts once, and the same digit twice counts twice."""
    reports = [f"0000{DIGITS[digit]:02x}0000000000" for digit in "44592201"]
    told = boot(*chain.from_iterable((report, report, "0000000000000000") for report in reports))
    assert codes(told) == ["44592201"]


@pytest.mark.fault(41)
def test_auto_repeat() -> None:
    """Auto-repeat of the kernel, or a second press without a release, is no new key."""
    held = chain.from_iterable((down(d), key(d, 2), key(d, 2), down(d), key(d, 0)) for d in "44592201")
    assert codes(feed_split(evdev, [*held, down("ENTER")])) == ["44592201"]


@pytest.mark.fault(43)
def test_overlapping_keys() -> None:
    """Keys count in the order in which they go down, however they come up."""
    chunks = [down("6"), down("9"), key("6", 0), key("9", 0), down("0"), key("0", 0), down("ENTER")]
    assert codes(feed_split(evdev, chunks)) == ["690"]
    assert codes(boot("0000230000000000", "0000232600000000", "0000260000000000", "0000270000000000")) == ["690"]


def test_two_keys_in_one_report() -> None:
    """Keys that go down within one report count in its order, also across the end of a code."""
    whole = bytes.fromhex("0000041628050000")
    assert feed_split(hidraw, [whole, bytes.fromhex("0000280000000000")]) == [CardRead("as", raw=whole)]
    told = feed_split(hidraw, map(bytes.fromhex, ["0000041628050000", "0000000000000000", "0000280000000000"]))
    assert told == [CardRead("as", raw=whole), CardRead("b", raw=whole + bytes.fromhex("0000280000000000"))]


@pytest.mark.fault(51)
def test_end_key_decides() -> None:
    """The end key ends a code, not time: two codes at one moment are two, a slow one is one."""
    assert codes(typed("A S ENTER K H ENTER")) == ["as", "kh"]
    assert played([*at(1, "A"), *at(1.4, "S ENTER")]) == [(1.4, "as")]


def test_empty_code() -> None:
    """End keys without a code are nothing."""
    assert typed("ENTER TAB KPENTER A TAB TAB") == [CardRead("a", raw=down("A") + down("TAB"))]


def test_end_keys_option() -> None:
    """`end_keys` names the keys that end a code, also one that would type; the others then end none."""
    assert codes(typed("A SEMICOLON B", end_keys=["SEMICOLON"])) == ["a"]
    assert gist(typed("A TAB B ENTER", end_keys=["ENTER"])) == ["bad bad"]


@pytest.mark.fault(53)
def test_partial_as_the_time_strikes() -> None:
    """A code that breaks off is partial a second after its last key, and its start is never glued to the next."""
    assert played([*at(1, "9"), *at(4, "2 C ENTER")]) == [(2.0, "bad partial"), (4.0, "2c")]


def test_tail_of_a_partial() -> None:
    """What follows a partial within a second is dropped up to the end key."""
    assert played([*at(1, "1"), *at(2.9, "0 C"), *at(3.8, "ENTER"), *at(3.9, "A S ENTER")], until=9) == [
        (2.0, "bad partial"),
        (3.9, "as"),
    ]


def test_tail_without_an_end_key() -> None:
    """Without an end key the dropping ends when no key was pressed for a second."""
    told = played([*at(1, "1"), *at(2.9, "0"), *at(3.9, "A S ENTER")])
    assert told == [(2.0, "bad partial"), (3.9, "as")]


def test_silence_is_since_the_last_press() -> None:
    """Releases, repeats and other modifiers are no key presses: they do not lengthen a code."""
    entries: list[Timed] = [(1, down("A")), (1.9, key("A", 2)), (1.95, key("A", 0)), (1.99, down("LEFTCTRL"))]
    assert played(entries, until=3) == [(2.0, "bad partial")]


def test_shift_is_a_key_press() -> None:
    """Shift types nothing, but its press lengthens a code, and what is being dropped; from either source."""
    entries: list[Timed] = [(1, down("A")), (1.9, down("LEFTSHIFT")), (2.1, down("S")), (2.2, down("ENTER"))]
    assert played(entries, until=4) == [(2.2, "aS")]
    reports = [(1, "0000040000000000"), (1.9, "0200000000000000"), (2.1, "0200160000000000"), (2.2, "0200280000000000")]
    assert play(hidraw(), [(t, bytes.fromhex(report)) for t, report in reports], 4) == [(2.2, "aS")]
    dropped: list[Timed] = [(1, down("A")), (2.9, down("LEFTSHIFT")), (3.5, down("S")), (3.6, down("ENTER"))]
    assert played(dropped, until=6) == [(2.0, "bad partial")]


def test_frame_timeout_option() -> None:
    """`frame_timeout_ms` sets how long the silence inside a code may be."""
    assert played(at(1, "A"), until=2, frame_timeout_ms=300) == [(1.3, "bad partial")]


def test_bad_character_is_told_once() -> None:
    """A bad character is told at the end key, once, with the keys of its code."""
    told = typed("A ESC S ESC ENTER K ENTER")
    raw = down("A") + down("ESC") + down("S") + down("ESC") + down("ENTER")
    assert told == [BadFrame("bad character", raw), CardRead("k", raw=down("K") + down("ENTER"))]


def test_bad_character_without_an_end_key() -> None:
    """Without an end key a bad character is told when no key was pressed for a second, and a new code begins."""
    told = played([*at(1, "A ESC"), *at(1.9, "S"), *at(2.9, "K H ENTER")])
    assert told == [(2.9, "bad bad"), (2.9, "kh")]


def test_raw_of_a_bad_character_is_bounded() -> None:
    """The raw bytes of a code with a bad character stop growing."""
    subject = evdev()
    for chunk in stroke("ESC") * 500:
        subject.feed(chunk, micros(1))
    assert len(subject.pending) == RAW_CAP


@pytest.mark.parametrize("modifier", ["LEFTCTRL", "RIGHTALT", "LEFTMETA"])
def test_modifiers(modifier: str) -> None:
    """Modifiers other than shift are no keys, but a key pressed with one is a bad character."""
    assert codes(typed(f"A {modifier} S ENTER")) == ["as"]
    chunks = [*stroke("A"), down(modifier), *stroke("S"), key(modifier, 0), *stroke("ENTER")]
    assert gist(feed_split(evdev, chunks)) == ["bad bad"]


@pytest.mark.parametrize("bit", [0x01, 0x04, 0x08, 0x10, 0x40, 0x80])
def test_modifier_bits(bit: int) -> None:
    """In boot reports every modifier bit other than shift makes a bad character of the key."""
    assert gist(boot(f"{bit:02x}00040000000000")) == ["bad bad"]
    assert codes(boot(f"{bit:02x}00000000000000", "0000040000000000")) == ["a"]


def test_end_key_with_a_modifier() -> None:
    """An end key pressed with a modifier ends its code as a bad character."""
    chunks = [*stroke("A"), down("LEFTCTRL"), *stroke("ENTER"), key("LEFTCTRL", 0), *strokes("B ENTER")]
    assert gist(feed_split(evdev, chunks)) == ["bad bad", "b"]


@pytest.mark.parametrize("lock", ["CAPSLOCK", "NUMLOCK", "SCROLLLOCK"])
def test_lock_keys(lock: str) -> None:
    """Lock keys are no keys."""
    assert codes(typed(f"A {lock} S ENTER")) == ["as"]
    assert codes(boot("0000040000000000", "0000390000000000", "0000160000000000")) == ["as"]


def test_unknown_keys() -> None:
    """A key without a name is a bad character, from either source."""
    unknown = pack("<qqHHi", 0, 0, 1, 0x110, 1)
    assert gist(feed_split(evdev, [*stroke("A"), unknown, *stroke("ENTER")])) == ["bad bad"]
    assert gist(boot("0000040000000000", "0000ff0000000000")) == ["bad bad"]


def test_rollover() -> None:
    """More keys down than a report can hold is a bad character, and those still down are not new after it."""
    assert gist(boot("0000040000000000", "0000010101010101", "0000040000000000")) == ["bad bad"]


def test_events_dropped() -> None:
    """Events that the kernel dropped are partial at once, and the rest of the code is dropped up to its end key."""
    told = feed_split(evdev, [*stroke("A"), DROPPED, *strokes("S ENTER K H ENTER")])
    assert told[:1] == [BadFrame("partial", down("A"))]
    assert gist(told) == ["bad partial", "kh"]


def test_events_dropped_between_codes() -> None:
    """Dropped events are told also between codes, for a whole code may be among them; a second of quiet ends it."""
    assert played([(1, DROPPED), *at(2, "A S ENTER")]) == [(1.0, "bad partial"), (2.0, "as")]


def test_keys_after_dropped_events() -> None:
    """After dropped events shift and all other keys count as released."""
    chunks = [down("LEFTSHIFT"), down("A"), DROPPED, down("ENTER"), down("A"), down("ENTER")]
    assert codes(feed_split(evdev, [*chunks[:4], key("ENTER", 0), *chunks[4:]])) == ["a"]


def test_overlong() -> None:
    """A code of more than 256 characters is refused at once, and its rest dropped."""
    assert codes(typed("A " * CODE_CAP + "ENTER")) == ["a" * CODE_CAP]
    assert gist(typed("A " * (CODE_CAP + 5) + "ENTER B ENTER")) == ["bad overlong", "b"]


@pytest.mark.parametrize("size", [1, 7, 9, 16, 23, 48])
def test_other_size(size: int) -> None:
    """A chunk of another size is no report, and the next code is read."""
    chunk = b"\1" * size
    assert feed_split(hidraw, [chunk]) == [BadFrame("report", chunk)]
    assert gist(feed_split(evdev, [chunk, *strokes("A ENTER")])) == ["bad report", "a"]


def test_other_size_inside_a_code() -> None:
    """A chunk of another size inside a code may have been a key of it, so the code is dropped."""
    assert gist(feed_split(evdev, [*stroke("A"), b"\0", *strokes("S ENTER K ENTER")])) == ["bad report", "k"]


def test_nothing_is_nothing() -> None:
    """An empty chunk is no report of the wrong size."""
    assert feed_split(evdev, [b""]) == []


def test_loss_of_the_device() -> None:
    """When the scanner is lost, half a code is dropped and not told."""
    subject = evdev()
    subject.feed(down("A"), micros(1))
    assert (subject.pending, subject.deadline) == (down("A"), micros(2))
    assert subject.finish(micros(1.5)) == []
    assert (subject.pending, subject.deadline) == (b"", None)


EVENTS = st.binary(max_size=25) | st.builds(
    lambda kind, code, value: pack("<qqHHi", 0, 0, kind, code, value),
    st.integers(0, 5),
    st.integers(0, 130) | st.integers(0, 0xFFFF),
    st.integers(-1, 3),
)
REPORTS = st.binary(max_size=9) | st.binary(min_size=8, max_size=8)


@given(st.lists(st.tuples(st.integers(0, 1500), EVENTS)), st.lists(st.tuples(st.integers(0, 1500), REPORTS)))
def test_any_bytes(events: list[tuple[int, bytes]], reports: list[tuple[int, bytes]]) -> None:
    """Any chunks are taken by either source."""
    for subject, entries in ((evdev(), events), (hidraw(), reports)):
        now = 0
        for gap, chunk in entries:
            now += gap * 1000
            subject.feed(chunk, now)
        subject.finish(now + 5_000_000)
        assert subject.deadline is None


@pytest.mark.parametrize("options", [{"end_keys": []}, {"end_keys": ["LEFTSHIFT"]}, {"layout": "dvorak"}])
def test_wrong_options(options: dict[str, object]) -> None:
    """An end key that can't end a code, none at all, or an unknown layout is refused."""
    with pytest.raises(ValidationError):
        HidKeyboardOptions.model_validate(options)


def test_driver() -> None:
    """The driver reads the node that `source` says, and nothing else."""
    driver = HidKeyboardDriver(HidKeyboardOptions())
    chunks = strokes("A ENTER")
    subject = driver.decoder(0)
    assert codes(reading for chunk in chunks for reading in subject.feed(chunk, 1)) == ["a"]
    assert isinstance(driver.transport("/dev/input/event3"), EvdevTransport)
    raw_driver = HidKeyboardDriver(HidKeyboardOptions(source="hidraw"))
    assert isinstance(raw_driver.transport("/dev/hidraw0"), HidrawTransport)
    assert isinstance(driver.transport("usb:05e0:1200"), EvdevTransport)
    with pytest.raises(ValueError, match="reads an evdev node"):
        driver.transport("tcp://127.0.0.1:4001")
    assert driver.reports
