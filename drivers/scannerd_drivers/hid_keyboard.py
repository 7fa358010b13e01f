"""`hid-keyboard`: scanners that type, read through evdev (grabbed) or as hidraw boot reports.

A code is made of keys as they go down: keys overlap, repeat and are held, and only a press that is new counts. The
map is the scanner's and the host's layout has no part in it. What can't be told for sure is refused: a key outside the
map, a key with Ctrl, Alt or Meta, events that the kernel dropped. After that, the rest of the code up to its end key
must not pass for a code.

Where the sources are silent: an end key pressed with a modifier other than shift makes its code a bad character and
ends it; more keys down than a boot report can hold is a bad character; a code of more than 256 characters is
`overlong`. `raw` is made of the chunks in which the keys of the code went down.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from scannerd.contract import MS, BadFrame, CardRead, Driver, DriverOptions, Micros, Reading, Transport
from scannerd_drivers.key_sources import BootReports, EvdevEvents, EventsLostError, KeySource, Press
from scannerd_drivers.keymaps import KEY_NAMES, LAYOUTS, SHIFTS, Layout
from scannerd_drivers.options import TimeoutMilliseconds

CODE_CAP = 256
"""At most so many characters of a code are kept."""

RAW_CAP = 64 * 24
"""No more is added to the raw bytes of a code that has so many."""

DROP_FOR: Micros = 1_000 * MS
"""After a broken code, keys are dropped until an end key, or until no key was pressed for so long."""


def _key_name(name: str) -> str:
    if name not in KEY_NAMES:
        raise ValueError(f"no key that could end a code is called {name!r}; known are {', '.join(sorted(KEY_NAMES))}")
    return name


class HidKeyboardOptions(DriverOptions):
    """Options of `hid-keyboard`."""

    source: Literal["evdev", "hidraw"] = "evdev"
    """`evdev` reads `/dev/input/event…` and keeps it from everyone else, `hidraw` reads boot reports."""

    layout: Layout = "us"
    """The layout that the scanner is set to, whatever the host's is."""

    end_keys: Annotated[tuple[Annotated[str, AfterValidator(_key_name)], ...], Field(min_length=1)] = (
        "ENTER",
        "KPENTER",
        "TAB",
    )
    """The keys that end a code, named as evdev names them, without `KEY_`."""

    frame_timeout_ms: TimeoutMilliseconds = 1000
    """How long after the last key press a code without an end key is a `partial`, in ms."""


_SOURCES: dict[str, type[BootReports | EvdevEvents]] = {"evdev": EvdevEvents, "hidraw": BootReports}


class HidKeyboardDecoder:
    """Key presses to readings, one report or event a chunk."""

    def __init__(self, options: HidKeyboardOptions) -> None:
        self._keys: KeySource = _SOURCES[options.source]()
        self._characters = LAYOUTS[options.layout]
        self._end_keys = frozenset(options.end_keys)
        self._timeout = options.frame_timeout_ms * MS
        self._text = ""
        self._raw = bytearray()
        self._pressed_at: Micros = 0
        self._bad = False  # a bad character that is not told yet
        self._drop_until: Micros | None = None

    @property
    def pending(self) -> bytes:
        """The chunks in which the keys of the unfinished code went down."""
        return bytes(self._raw)

    @property
    def deadline(self) -> Micros | None:
        """When the silence after the last key press ends the code."""
        if self._bad:
            return self._drop_until
        return self._pressed_at + self._timeout if self._text else None

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes one report or event; see `Decoder`."""
        readings = self.tick(t)
        if len(chunk) != self._keys.size:
            return readings + self._no_report(chunk, t)
        try:
            presses = self._keys.presses(chunk)
        except EventsLostError:
            return [*readings, self._give_up("partial", t)]
        if any(press.key in SHIFTS for press in presses):
            self._renew(t)
        for index, press in enumerate(press for press in presses if press.key not in SHIFTS):
            readings += self._press(press, chunk if index == 0 or not self._raw else b"", t)
        return readings

    def tick(self, t: Micros) -> list[Reading]:
        """Decides the silence after the last key press; see `Decoder`."""
        readings: list[Reading] = []
        due = self.deadline
        if due is not None and due <= t:
            readings = [self._end_bad() if self._bad else self._give_up("partial", due)]
        if self._drop_until is not None and self._drop_until <= t:
            self._drop_until = None
        return readings

    def finish(self, t: Micros) -> list[Reading]:
        """Drops the half code; see `Decoder`."""
        readings = self.tick(t)
        self._take()
        return readings

    def _take(self) -> bytes:
        """Begins anew and returns what there was."""
        raw = bytes(self._raw)
        self._text = ""
        self._raw.clear()
        self._bad = False
        self._drop_until = None
        return raw

    def _give_up(self, detail: str, t: Micros) -> Reading:
        """Refuses the code in hand and starts to drop what follows it."""
        raw = self._take()
        self._drop_until = t + DROP_FOR
        return BadFrame(detail, raw)

    def _end_bad(self) -> Reading:
        return BadFrame("bad character", self._take())

    def _no_report(self, chunk: bytes, t: Micros) -> list[Reading]:
        """A chunk of another size; inside a code it may have been a key of it, so the code is given up."""
        if not chunk:
            return []
        if self._raw:
            self._give_up("report", t)
        return [BadFrame("report", chunk)]

    def _renew(self, t: Micros) -> None:
        """Shift went down: the silence begins anew, and nothing is typed."""
        if self._drop_until is not None:
            self._drop_until = t + DROP_FOR
        elif self._text:
            self._pressed_at = t

    def _press(self, press: Press, chunk: bytes, t: Micros) -> list[Reading]:
        ends = press.key in self._end_keys
        if self._drop_until is None or self._bad:
            self._raw += chunk if len(self._raw) < RAW_CAP else b""
        if self._drop_until is not None:
            return self._drop(t, ends=ends)
        character = self._character(press)
        if press.modified or (character is None and not ends):
            self._bad = True
            return self._drop(t, ends=ends)
        if ends:
            return self._code()
        return self._typed(character or "", t)

    def _character(self, press: Press) -> str | None:
        plain, shifted = self._characters.get(press.key, (None, None))
        return shifted if press.shift else plain

    def _drop(self, t: Micros, *, ends: bool) -> list[Reading]:
        """Drops a key; an end key is the last to be dropped, and tells a bad character."""
        self._drop_until = t + DROP_FOR
        if not ends:
            return []
        if self._bad:
            return [self._end_bad()]
        self._take()
        return []

    def _code(self) -> list[Reading]:
        code, raw = self._text, self._take()
        return [CardRead(code, raw=raw)] if code else []

    def _typed(self, character: str, t: Micros) -> list[Reading]:
        self._text += character
        self._pressed_at = t
        return [self._give_up("overlong", t)] if len(self._text) > CODE_CAP else []


class HidKeyboardDriver(Driver[HidKeyboardOptions]):
    """Scanners that type."""

    name = "hid-keyboard"
    summary = "scanners that type, through evdev (grabbed) or hidraw"
    Options = HidKeyboardOptions
    reports = True

    def decoder(self, t: Micros) -> HidKeyboardDecoder:
        """A fresh decoder."""
        del t
        return HidKeyboardDecoder(self.options)

    def transport(self, url: str) -> Transport:
        """The input node or the hidraw node that `source` says, by its path or by the device's USB ids.

        Raises:
            ValueError: `url` is neither.
        """
        from scannerd_drivers.transports import open_url  # noqa: PLC0415 - evdev is loaded when it is needed

        if not url.startswith(("/", "usb:")):
            raise ValueError(f"hid-keyboard reads an {self.options.source} node: its path or usb:VID:PID, not {url!r}")
        return open_url(url, node=self.options.source)
