"""Cards as the scanners send them: for each driver the bytes of a card and of a card that did not read.

The other way round than the drivers; for simulated scanners. Where a device has no word for "not read", its misread is
a frame that its driver refuses. A format may remember what it sent, as the device does: it is made anew for each one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import xor
from typing import Final, Protocol

from scannerd.core.cards import DECK, Card
from scannerd_drivers.angel_eye_reports import bcc
from scannerd_drivers.keymaps import LAYOUTS, USAGES
from scannerd_drivers.ssi import packet

Spelling = Callable[[Card], str]
"""From a card to the code that its scanner reads on it."""

_SSI_DATA = 0xF3
_CODE_39 = b"\x01"  # an SSI symbology
_POS_REPORT = 64
_SHIFT = 0x02
_KEY_WITHOUT_CHARACTER = 0x3A  # F1


class Format(Protocol):
    """How one kind of scanner tells cards."""

    @property
    def reports(self) -> bool:
        """Whether a chunk is a report, which comes whole or not at all."""

    def card(self, card: Card) -> list[bytes]:
        """What it sends for a card, a chunk each."""

    def misread(self) -> list[bytes]:
        """What it sends for a card that it could not read."""


class Line:
    """A code and a line end."""

    reports: Final = False

    def __init__(self, spell: Spelling) -> None:
        self._spell = spell

    def card(self, card: Card) -> list[bytes]:
        """The code; see `Format`."""
        return [f"{self._spell(card)}\r\n".encode()]

    def misread(self) -> list[bytes]:
        """What most scanners say; see `Format`."""
        return [b"NOREAD\r\n"]


class BeeTek:
    """Records between spaces; the shoe knows cards, so that there is nothing to spell."""

    reports: Final = False

    def __init__(self, spell: Spelling) -> None:
        del spell

    def card(self, card: Card) -> list[bytes]:
        """Ten is `10`; see `Format`."""
        return [f" [Game]<Card:{card.replace('T', '10')}> ".encode()]

    def misread(self) -> list[bytes]:
        """Alarm E3; see `Format`."""
        return [b" [Game]<Alarm:E3 Card Not Read> "]


class AngelEye:
    """Reports with a Seq, each sent three times."""

    reports: Final = False
    _RANKS = "A23456789TJQK"
    _SUITS = "DCSH"
    _SEQS = b"123456789"

    def __init__(self, spell: Spelling) -> None:
        del spell
        self._sent = 0

    def card(self, card: Card) -> list[bytes]:
        """A card in the game, to the Player; see `Format`."""
        rank, suit = self._RANKS.index(card[0]) + 1, self._SUITS.index(card[1]) + 1
        return self._report(b"D", bytes([0x80, 0x80 | suit << 4 | rank]))

    def misread(self) -> list[bytes]:
        """Error 1, in error mode; see `Format`."""
        return self._report(b"E", b"\xc1")

    def _report(self, letter: bytes, payload: bytes) -> list[bytes]:
        seq = self._SEQS[self._sent % len(self._SEQS)]
        self._sent += 1
        body = bytes([seq]) + letter + payload + b"\x03"
        return [b"\x05" + body + bcc(body)] * 3


class RfidSerial:
    """Frames of an RDM6300; see `tag_of` for the tags of a simulated deck."""

    reports: Final = False

    def __init__(self, spell: Spelling) -> None:
        self._spell = spell

    def card(self, card: Card) -> list[bytes]:
        """The tag; see `Format`."""
        return [self._frame(self._spell(card), damage=0)]

    def misread(self) -> list[bytes]:
        """A tag with a wrong XOR; see `Format`."""
        return [self._frame("0" * 10, damage=1)]

    @staticmethod
    def _frame(digits: str, damage: int) -> bytes:
        check = reduce(xor, bytes.fromhex(digits)) ^ damage
        return b"\x02" + f"{digits}{check:02X}".encode() + b"\x03"


class Ssi:
    """Packets with decoded data."""

    reports: Final = False

    def __init__(self, spell: Spelling) -> None:
        self._spell = spell

    def card(self, card: Card) -> list[bytes]:
        """One packet; see `Format`."""
        return [packet(_SSI_DATA, _CODE_39 + self._spell(card).encode(), source=0)]

    def misread(self) -> list[bytes]:
        """A packet with a wrong checksum; see `Format`."""
        whole = packet(_SSI_DATA, _CODE_39 + b"?", source=0)
        return [whole[:-1] + bytes([whole[-1] ^ 1])]


class HidPos:
    """Reports of 64 bytes."""

    reports: Final = True

    def __init__(self, spell: Spelling) -> None:
        self._spell = spell

    def card(self, card: Card) -> list[bytes]:
        """One report; see `Format`."""
        return [self._report(self._spell(card).encode())]

    def misread(self) -> list[bytes]:
        """A report without a code; see `Format`."""
        return [self._report(b"")]

    @staticmethod
    def _report(code: bytes) -> bytes:
        return (bytes([2, len(code)]) + b"]C0" + code).ljust(_POS_REPORT, b"\0")


class HidKeyboard:
    """Boot reports: each key goes down and up, then ENTER."""

    reports: Final = True

    def __init__(self, spell: Spelling) -> None:
        self._spell = spell
        usages = {name: usage for usage, name in USAGES.items()}
        self._enter = (0, usages["ENTER"])
        self._keys = {
            character: (modifier, usages[name])
            for name, characters in LAYOUTS["us"].items()
            for modifier, character in zip((0, _SHIFT), characters, strict=True)
        }

    def card(self, card: Card) -> list[bytes]:
        """The code as it is typed; see `Format`."""
        return self._typed([self._keys[character] for character in self._spell(card)])

    def misread(self) -> list[bytes]:
        """A key that types nothing; see `Format`."""
        return self._typed([(0, _KEY_WITHOUT_CHARACTER)])

    def _typed(self, keys: list[tuple[int, int]]) -> list[bytes]:
        downs = [bytes([modifier, 0, usage, 0, 0, 0, 0, 0]) for modifier, usage in (*keys, self._enter)]
        return [report for down in downs for report in (down, bytes(8))]


FORMATS: Mapping[str, Callable[[Spelling], Format]] = {
    "angel-eye": AngelEye,
    "bee-tek": BeeTek,
    "hid-keyboard": HidKeyboard,
    "hid-pos": HidPos,
    "line": Line,
    "rfid-serial": RfidSerial,
    "ssi": Ssi,
    "usb-bulk": Line,
}
"""By the name of the driver that reads it."""

DRIVER_OPTIONS: Mapping[str, Mapping[str, object]] = {"hid-keyboard": {"source": "hidraw"}}
"""What a driver must be told to read its format here."""


def spelled(card: Card) -> str:
    """Rank and suit, as on most decks."""
    return str(card)


def tag_of(card: Card) -> str:
    """The tag in a card of a simulated deck: version 01, then the card's place in the deck from 1."""
    return f"01{DECK.index(card) + 1:08X}"


SPELLINGS: Mapping[str, Spelling] = {"rfid-serial": tag_of}
"""Where a format has another spelling than `spelled` unless it is told one."""
