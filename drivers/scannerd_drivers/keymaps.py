"""Keys and what they type: evdev codes and HID usages to key names, key names to characters by layout.

A key is named after its place on a US keyboard, as evdev names it, without `KEY_`. Sources: the codes of
`linux/input-event-codes.h`; the keyboard page (07) of the HID usage tables; the layouts as Windows and Linux have
them in common. A place is None where the layout has a dead key, or where the two disagree: no character is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Layout: TypeAlias = Literal["us", "fr", "de"]
Characters: TypeAlias = tuple[str | None, str | None]
"""What a key types without and with shift."""


def _named(first: int, names: str) -> dict[int, str]:
    """Numbers from `first` on to the names, which stand between spaces."""
    return dict(enumerate(names.split(), start=first))


EVDEV: Mapping[int, str] = {
    **_named(1, "ESC 1 2 3 4 5 6 7 8 9 0 MINUS EQUAL BACKSPACE TAB"),
    **_named(16, "Q W E R T Y U I O P LEFTBRACE RIGHTBRACE ENTER LEFTCTRL"),
    **_named(30, "A S D F G H J K L SEMICOLON APOSTROPHE GRAVE LEFTSHIFT BACKSLASH"),
    **_named(44, "Z X C V B N M COMMA DOT SLASH RIGHTSHIFT KPASTERISK LEFTALT SPACE CAPSLOCK"),
    **_named(69, "NUMLOCK SCROLLLOCK KP7 KP8 KP9 KPMINUS KP4 KP5 KP6 KPPLUS KP1 KP2 KP3 KP0 KPDOT"),
    **_named(86, "102ND"),
    **_named(96, "KPENTER RIGHTCTRL KPSLASH"),
    **_named(100, "RIGHTALT"),
    **_named(125, "LEFTMETA RIGHTMETA"),
}
"""Codes of EV_KEY events."""

USAGES: Mapping[int, str] = {
    **_named(0x04, "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"),
    **_named(0x1E, "1 2 3 4 5 6 7 8 9 0 ENTER ESC BACKSPACE TAB SPACE MINUS EQUAL LEFTBRACE RIGHTBRACE"),
    **_named(0x31, "BACKSLASH BACKSLASH SEMICOLON APOSTROPHE GRAVE COMMA DOT SLASH CAPSLOCK"),
    **_named(0x47, "SCROLLLOCK"),
    **_named(0x53, "NUMLOCK KPSLASH KPASTERISK KPMINUS KPPLUS KPENTER"),
    **_named(0x59, "KP1 KP2 KP3 KP4 KP5 KP6 KP7 KP8 KP9 KP0 KPDOT 102ND"),
    **_named(0xE0, "LEFTCTRL LEFTSHIFT LEFTALT LEFTMETA RIGHTCTRL RIGHTSHIFT RIGHTALT RIGHTMETA"),
}
"""Usages of the keyboard page; 32 is the ISO keyboards' key at the place of the US backslash."""

SHIFTS = frozenset({"LEFTSHIFT", "RIGHTSHIFT"})
MODIFIERS = frozenset({"LEFTCTRL", "RIGHTCTRL", "LEFTALT", "RIGHTALT", "LEFTMETA", "RIGHTMETA"})
"""Modifiers other than shift."""
LOCKS = frozenset({"CAPSLOCK", "NUMLOCK", "SCROLLLOCK"})
KEY_NAMES = frozenset(EVDEV.values()) - SHIFTS - MODIFIERS - LOCKS
"""The keys that may type or end a code."""


def _row(names: str, plain: str, shifted: str) -> dict[str, Characters]:
    """A row of keys; NUL in place of a character stands for none."""
    typed = zip(names.split(), plain, shifted, strict=True)
    return {name: (low.strip("\0") or None, high.strip("\0") or None) for name, low, high in typed}


_DIGITS = "1 2 3 4 5 6 7 8 9 0 MINUS EQUAL"
_TOP = "Q W E R T Y U I O P LEFTBRACE RIGHTBRACE"
_HOME = "A S D F G H J K L SEMICOLON APOSTROPHE BACKSLASH"
_BOTTOM = "Z X C V B N M COMMA DOT SLASH"
_KEYPAD = "KP0 KP1 KP2 KP3 KP4 KP5 KP6 KP7 KP8 KP9 KPSLASH KPASTERISK KPMINUS KPPLUS"

_EVERYWHERE = _row(_KEYPAD, "0123456789/*-+", "0123456789/*-+") | _row("SPACE", "\N{SPACE}", "\N{SPACE}")

LAYOUTS: Mapping[Layout, Mapping[str, Characters]] = {
    "us": {
        **_EVERYWHERE,
        **_row("GRAVE", "`", "~"),
        **_row(_DIGITS, "1234567890-=", "!@#$%^&*()_+"),
        **_row(_TOP, "qwertyuiop[]", "QWERTYUIOP{}"),
        **_row(_HOME, "asdfghjkl;'\\", 'ASDFGHJKL:"|'),
        **_row(_BOTTOM, "zxcvbnm,./", "ZXCVBNM<>?"),
        **_row("KPDOT", ".", "."),
    },
    "fr": {
        **_EVERYWHERE,
        **_row("GRAVE", "²", "\0"),
        **_row(_DIGITS, "&é\"'(-è_çà)=", "1234567890°+"),
        **_row(_TOP, "azertyuiop\0$", "AZERTYUIOP\0£"),
        **_row(_HOME, "qsdfghjklmù*", "QSDFGHJKLM%µ"),
        **_row(_BOTTOM, "wxcvbn,;:!", "WXCVBN?./§"),
        **_row("102ND", "<", ">"),
        **_row("KPDOT", ".", "."),
    },
    "de": {
        **_EVERYWHERE,
        **_row("GRAVE", "\0", "°"),
        **_row(_DIGITS, "1234567890ß\0", '!"§$%&/()=?\0'),
        **_row(_TOP, "qwertzuiopü+", "QWERTZUIOPÜ*"),
        **_row(_HOME, "asdfghjklöä#", "ASDFGHJKLÖÄ'"),
        **_row(_BOTTOM, "yxcvbnm,.-", "YXCVBNM;:_"),
        **_row("102ND", "<", ">"),
        **_row("KPDOT", ",", ","),
    },
}
"""What each key types; a key that is missing types nothing that could be told for sure."""
