"""How far a command has come, on the terminal of standard error: a bar or a line, and never wider than the terminal.

What is wider would be wrapped, and each step would leave a line behind.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_USUAL: Final = 80
_BAR: Final = 36
_BESIDE: Final = 25
"""Columns for brackets, percent and the time that is left."""


def bar(length: int, label: str) -> ProgressBar[int]:
    """A bar of `length` steps."""
    width = max(1, min(_BAR, columns() - len(label) - _BESIDE))
    return click.progressbar(length=length, label=label, file=sys.stderr, width=width)


def fitting(text: str) -> str:
    """As much of a line as the terminal has room for, but for its last column."""
    return text[: columns() - 1]


def columns() -> int:
    """The width of the terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except OSError:
        return _USUAL
