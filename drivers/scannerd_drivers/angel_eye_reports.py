"""What the reports of an Angel Eye II-EX say, and the commands that it understands: bytes to values, no state.

Source: published notes on the shoe's serial interface; the vendor has confirmed none of it. A report is
`05` Seq Data… `03` BCC, where Data is an event letter and payload bytes with bit 7 set. The BCC is two upper-case
hex digits, the XOR of the bytes from Seq to `03`, at some sites with the `05` too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Literal, TypeAlias

from scannerd.contract import BadFrame, CardRead, NoRead, Notice, Reading

STX, ETX, ENQ, ACK, NAK = 0x02, 0x03, 0x05, 0x06, 0x15

BccScope: TypeAlias = Literal["after-start", "with-start", "auto"]

_LENGTHS = {b"D": 2, b"d": 2, b"R": 2, b"E": 1, b"e": 1, b"G": 1, b"L": 1, b"C": 0, b"S": 0}
"""Payload bytes by event letter; of `P`, `M` and unknown letters any number is taken, for nothing is read from them."""

_RANKS = dict(enumerate("A23456789TJQK", start=1))
_SUITS = {1: "D", 2: "C", 3: "S", 4: "H"}
_HANDS = {0: "A", 1: "B"}
_TARGETS = {0: "Player", 1: "Banker", 2: "burn", 4: "first card of a burn count", 5: "burn count"}
_PLACES = {0: "lock", 1: "error", 2: "setting"}
_RESULTS = {0b001: "Player", 0b010: "tie", 0b100: "Banker", 0b111: "forced quit"}
_CANNOT_READ = 1
_ERRORS = {
    _CANNOT_READ: "cannot read",
    2: "overdraw",
    3: "button",
    4: "reversed at exit",
    5: "reversed midway",
    6: "card code",
    7: "time-out",
}


def bcc(data: bytes) -> bytes:
    """The check characters of `data`: the XOR of its bytes as two upper-case hex digits."""
    return b"%02X" % reduce(xor, data, 0)


def bcc_is_right(frame: bytes, scope: BccScope) -> bool:
    """Whether the last two bytes of `frame`, a start byte to a BCC, are its BCC under `scope`."""
    after_start = scope != "with-start" and frame[-2:] == bcc(frame[1:-2])
    with_start = scope != "after-start" and frame[-2:] == bcc(frame[:-2])
    return after_start or with_start


@dataclass(frozen=True, slots=True)
class Report:
    """One report, `05` to BCC, its BCC right or wrong."""

    raw: bytes

    @property
    def seq(self) -> bytes:
        """The sequence character; empty where the report has none."""
        return self.raw[1:-3][:1]

    @property
    def letter(self) -> bytes:
        """The event letter; empty where the report has no data."""
        return self.raw[2:-3][:1]

    @property
    def payload(self) -> bytes:
        """The bytes after the event letter, up to `03`."""
        return self.raw[3:-3]

    @property
    def after_seq(self) -> bytes:
        """The bytes after Seq, BCC included: a new card with the same data has another Seq, hence another BCC."""
        return self.raw[2:]

    @property
    def is_start(self) -> bool:
        """Whether the shoe says that it has started up."""
        return self.letter == b"S"


def meaning(report: Report, accept: Collection[str], *, hand_from_target: bool) -> Reading:
    """What a report with a right BCC says.

    Args:
        report: the report.
        accept: the cards that count as dealt, as letter and target: `D:0`, `d:*`.
        hand_from_target: whether the target (Player, Banker) of `D` and `R` is the hand (A, B).
    """
    length = _LENGTHS.get(report.letter, len(report.payload))
    has_bit_7 = all(byte & 0x80 for byte in report.payload)
    if not report.seq or len(report.payload) != length or not has_bit_7:
        return BadFrame("malformed", report.raw)
    if report.letter in (b"D", b"d", b"R"):
        return _card(report, accept, hand_from_target=hand_from_target)
    if report.letter == b"E":
        return _error(report.payload[0], report.raw)
    return _notice(report)


def _notice(report: Report) -> Notice:
    byte = report.payload[0] if report.payload else 0
    match report.letter:
        case b"e":
            return Notice("error_cleared", _error_name(byte & 0x7F), report.raw)
        case b"G":
            result = byte >> 4 & 0b111
            return Notice("result", _RESULTS.get(result, f"unknown result {result}"), report.raw)
        case b"L":
            return Notice("lock", "locked" if byte & 1 else "unlocked", report.raw)
        case b"C":
            return Notice("cut_card", "", report.raw)
        case b"S":
            return Notice("start", "", report.raw)
        case _:
            return Notice("other", f"report {report.letter.decode('latin-1')!r}", report.raw)


def _card(report: Report, accept: Collection[str], *, hand_from_target: bool) -> Reading:
    letter, target = report.letter.decode(), report.payload[0] >> 4 & 0b111
    if f"{letter}:{target}" not in accept and f"{letter}:*" not in accept:
        names = _PLACES if letter == "d" else _TARGETS
        return Notice("other", f"card not accepted {letter}:{target} {names.get(target, 'unknown')}", report.raw)
    suit, rank = _SUITS.get(report.payload[1] >> 4 & 0b111), _RANKS.get(report.payload[1] & 0x0F)
    if suit is None or rank is None:
        return NoRead(f"no card of the deck {report.payload[1]:02X}", report.raw)
    hand = _HANDS.get(target) if hand_from_target and letter != "d" else None
    return CardRead(rank + suit, hand, report.raw)


def _error(byte: int, raw: bytes) -> Reading:
    detail = _error_name(byte & 0x3F) + ("" if byte & 0x40 else ", not in error mode")
    return NoRead(detail, raw) if byte & 0x3F == _CANNOT_READ else Notice("error", detail, raw)


def _error_name(code: int) -> str:
    return f"{code} {_ERRORS.get(code, 'unknown')}"


def lock_command(scope: BccScope, *, locked: bool) -> bytes:
    """Locks the shoe, or unlocks it."""
    return _command("LK02" if locked else "LK01", scope)


def clear_error_command(scope: BccScope, code: int) -> bytes:
    """Clears the error `code`, 0 to 99.

    Raises:
        ValueError: the code does not fit into two digits.
    """
    if not 0 <= code <= 99:  # noqa: PLR2004 - two digits
        raise ValueError(f"an error code is 0 to 99, not {code}")
    return _command(f"EC{code:02}", scope)


def confirm_command(scope: BccScope) -> bytes:
    """Confirms the shoe's game process."""
    return _command("GP00", scope)


def _command(text: str, scope: BccScope) -> bytes:
    """`02` `OP` text `03` BCC; `auto` counts the `02`, since the one published example (lock: `1B`) does."""
    frame = bytes([STX]) + b"OP" + text.encode() + bytes([ETX])
    return frame + bcc(frame[1:] if scope == "after-start" else frame)
