"""Which keys went down: boot reports and kernel events to presses, whatever the layout.

Both sources remember what is down, so that a held or repeated key is one press. Lock keys and modifiers are no keys,
but shift is one: it types nothing, and its press is a press.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Protocol

from scannerd_drivers.keymaps import EVDEV, LOCKS, MODIFIERS, SHIFTS, USAGES

_NO_KEYS = LOCKS | MODIFIERS


@dataclass(frozen=True, slots=True)
class Press:
    """A key went down.

    Attributes:
        key: its name; empty where it has none here.
        shift: whether a shift key was down.
        modified: whether Ctrl, Alt or Meta was down.
    """

    key: str
    shift: bool = False
    modified: bool = False


class EventsLostError(Exception):
    """The kernel dropped events: what is down is not known. The decoder gives the code up."""


class KeySource(Protocol):
    """Chunks to presses; remembers which keys are down."""

    size: ClassVar[int]
    """Bytes of a chunk."""

    def presses(self, chunk: bytes) -> Sequence[Press]:
        """The keys that went down, in order.

        Raises:
            EventsLostError: the kernel dropped events.
        """


@dataclass(slots=True)
class BootReports:
    """Boot reports of a keyboard: modifiers, 0, six keys that are down (HID 1.11, appendix B)."""

    size: ClassVar[int] = 8
    _down: frozenset[int] = field(default_factory=frozenset)
    _shifted: int = 0

    _SHIFT_BITS: ClassVar[int] = 0x22
    _ERRORS: ClassVar[range] = range(1, 4)  # usages of rollover and of failures: what is down is not known

    def presses(self, chunk: bytes) -> Sequence[Press]:
        """The keys that are down now and were not before; see `KeySource`."""
        usages = [usage for usage in dict.fromkeys(chunk[2:]) if usage]
        if any(usage in self._ERRORS for usage in usages):
            return [Press("")]
        new = [USAGES.get(usage, "") for usage in usages if usage not in self._down]
        self._down = frozenset(usages)
        shifted, modified = chunk[0] & self._SHIFT_BITS, bool(chunk[0] & ~self._SHIFT_BITS)
        pressed = ["LEFTSHIFT"] * bool(shifted & ~self._shifted)
        self._shifted = shifted
        return [Press(key, bool(shifted), modified) for key in (*pressed, *new) if key not in _NO_KEYS]


@dataclass(slots=True)
class EvdevEvents:
    """Events of the kernel: `struct input_event` of 64-bit systems, two times, type, code, value."""

    size: ClassVar[int] = 24
    _down: set[str] = field(default_factory=set)

    _EVENT: ClassVar[Struct] = Struct("<qqHHi")
    _SYN, _KEY = 0, 1
    _SYN_DROPPED = 3
    _RELEASED, _PRESSED = 0, 1  # 2 is auto-repeat

    def presses(self, chunk: bytes) -> Sequence[Press]:
        """The key of an event, if it is a new press; see `KeySource`."""
        _, _, kind, code, value = self._EVENT.unpack(chunk)
        if (kind, code) == (self._SYN, self._SYN_DROPPED):
            self._down.clear()
            raise EventsLostError
        if kind != self._KEY or value not in (self._RELEASED, self._PRESSED):
            return []
        return self._changed(EVDEV.get(code, ""), pressed=value == self._PRESSED)

    def _changed(self, key: str, *, pressed: bool) -> Sequence[Press]:
        was_down = key in self._down
        if not pressed:
            self._down.discard(key)
        elif key:
            self._down.add(key)
        if not pressed or was_down or key in _NO_KEYS:
            return []
        return [Press(key, shift=bool(self._down & SHIFTS), modified=bool(self._down & MODIFIERS))]
