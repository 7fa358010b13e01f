"""The screen: curses from the standard library, which any terminal and ssh can do."""

from __future__ import annotations

import codecs
import contextlib
import curses
import locale
import os
import select
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from scannerd.errors import UsageError
from scannerd.texts import Texts
from scannerd.watching.drawing import Line, Style, draw
from scannerd.watching.session import Session
from scannerd.watching.source import Source

TICK_S = 1.0
"""Seconds after which the screen is drawn anew though nothing came."""

KEYS: dict[str | int, str] = {
    "\n": "ENTER",
    "\r": "ENTER",
    curses.KEY_ENTER: "ENTER",
    "\x7f": "BACKSPACE",
    "\b": "BACKSPACE",
    curses.KEY_BACKSPACE: "BACKSPACE",
    "\x1b": "ESC",
    "\t": "TAB",
    curses.KEY_BTAB: "BTAB",
    "\x15": "CLEAR",
}
"""Keys by what curses calls them."""

_REDRAW = "\x0c"
_ESC_MS = 50
_RED, _GREEN = 1, 2


def watch(sources: Sequence[Source], words: Texts, *, colour: bool) -> None:
    """Shows the tables until the person leaves.

    Raises:
        UsageError: this terminal can't move its cursor.
    """
    _require_cursor()
    with contextlib.ExitStack() as stack:
        wake = _alarm_clock(stack)
        session = Session(sources, words, wake.ring)
        with contextlib.suppress(KeyboardInterrupt):
            try:
                curses.wrapper(lambda screen: _Screen(screen, session, wake, colour=colour).run())
            except curses.error as trouble:
                raise _undrawable(str(trouble)) from trouble
            finally:
                session.close()


def _require_cursor() -> None:
    try:
        curses.setupterm()
    except curses.error as trouble:
        raise _undrawable(str(trouble)) from trouble
    if curses.tigetstr("cup") is None:
        raise _undrawable("its cursor can't be moved")


def _undrawable(why: str) -> UsageError:
    kind = os.environ.get("TERM", "")
    return UsageError(f"this terminal (TERM={kind}) can't be drawn on: {why}; set TERM to what it is, or use --once")


def charset() -> str:
    """The characters that the terminal's locale has, as Python names their encoding.

    Python itself speaks UTF-8 under the locale `C` too; curses does not, and would leave out what it can't write.
    """
    try:
        return codecs.lookup(locale.nl_langinfo(locale.CODESET)).name
    except LookupError:
        return "ascii"


def fits(text: str, encoding: str) -> bool:
    """Whether an encoding has every character of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


class _Alarm:
    """Ends a `select` from any thread."""

    def __init__(self) -> None:
        self.ear, self._hand = os.pipe()
        os.set_blocking(self.ear, False)
        os.set_blocking(self._hand, False)

    def ring(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):  # it rings already, or the program ends
            os.write(self._hand, b"!")

    def hush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.ear, 4096)

    def close(self) -> None:
        os.close(self.ear)
        os.close(self._hand)


def _alarm_clock(stack: contextlib.ExitStack) -> _Alarm:
    """One that also rings when the terminal gets another size, and ends all when the terminal goes away."""
    wake = _Alarm()

    def resized(number: int, frame: FrameType | None) -> None:
        del number, frame
        wake.ring()

    def ended(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    for number, handler in ((signal.SIGWINCH, resized), (signal.SIGTERM, ended), (signal.SIGHUP, ended)):
        stack.callback(signal.signal, number, signal.signal(number, handler))
    return wake


class _Screen:
    """One turn: draw, wait, take what came."""

    def __init__(self, screen: curses.window, session: Session, wake: _Alarm, *, colour: bool) -> None:
        self._screen, self._session, self._wake = screen, session, wake
        self._attributes = _attributes(colour=colour)
        self._charset = charset()
        self._symbols = fits("♠♥♦♣", self._charset)

    def run(self) -> None:
        with contextlib.suppress(curses.error):
            curses.curs_set(0)
        curses.set_escdelay(_ESC_MS)
        self._screen.nodelay(True)  # noqa: FBT003 - curses takes it by position
        self._session.open()
        going = True
        while going:
            self._session.turn()
            self._draw()
            select.select([sys.stdin, self._wake.ear], [], [], TICK_S)
            self._wake.hush()
            going = all(self._session.press(key) for key in self._keys())

    def _keys(self) -> list[str]:
        keys: list[str] = []
        with contextlib.suppress(curses.error):  # there are no more
            while True:
                code = self._screen.get_wch()
                if code == _REDRAW:
                    self._screen.redrawwin()
                elif code in KEYS or isinstance(code, str):
                    keys.append(KEYS.get(code) or str(code))
        return keys

    def _draw(self) -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        if size.lines and size.columns and curses.is_term_resized(size.lines, size.columns):
            curses.resizeterm(size.lines, size.columns)
        height, width = self._screen.getmaxyx()
        lines = draw(self._session.desk, width, height, symbols=self._symbols)
        self._screen.erase()
        for row, line in enumerate(lines):
            self._draw_line(row, line)
        self._screen.refresh()

    def _draw_line(self, row: int, line: Line) -> None:
        with contextlib.suppress(curses.error):  # writing into the last cell is an error, though it is written
            self._screen.move(row, 0)
            for span in line:
                text = span.text.encode(self._charset, "replace").decode(self._charset)
                self._screen.addstr(text, self._attributes[span.style])


def _attributes(*, colour: bool) -> dict[Style, int]:
    """Bold, reverse and underlined say all there is; colours say it again."""
    red = green = 0
    if colour and curses.has_colors():
        with contextlib.suppress(curses.error):
            curses.use_default_colors()
            curses.init_pair(_RED, curses.COLOR_RED, -1)
            curses.init_pair(_GREEN, curses.COLOR_GREEN, -1)
            red, green = curses.color_pair(_RED), curses.color_pair(_GREEN)
    return {
        "plain": curses.A_NORMAL,
        "title": curses.A_BOLD,
        "due": curses.A_REVERSE | curses.A_BOLD,
        "good": curses.A_NORMAL | green,
        "alarm": curses.A_BOLD | red,
        "faint": curses.A_DIM,
    }
