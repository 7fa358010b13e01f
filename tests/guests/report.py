"""What was checked: a line each, and whether all of it held."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.guests.guest import GuestError
from tests.guests.table import TableError


class Found:
    """What a check may add to its line."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Adds a finding."""
        self.notes.append(text)


class Report:
    """Prints a line for each check.

    Attributes:
        failed: how many did not hold.
        passed: how many did.
    """

    def __init__(self) -> None:
        """Nothing was checked yet."""
        self.failed = 0
        self.passed = 0

    @contextmanager
    def check(self, what: str) -> Iterator[Found]:
        """One check: holds if its body ends without a failure; the next one goes on in any case.

        A guest that has gone is no failure of a check, but the end.
        """
        found, began = Found(), time.monotonic()
        try:
            yield found
        except (AssertionError, GuestError) as error:
            self.failed += 1
            self._print("FAILED", what, [*found.notes, str(error) or "see the line of the assertion"], began)
        else:
            self.passed += 1
            self._print("ok", what, found.notes, began)

    @staticmethod
    def _print(word: str, what: str, notes: list[str], began: float) -> None:
        more = f": {'; '.join(notes)}" if notes else ""
        sys.stdout.write(f"{word:6} {what}{more} ({time.monotonic() - began:.1f} s)\n")
        sys.stdout.flush()


def same(expected: object, actual: object, what: str = "") -> None:
    """Compares.

    Raises:
        TableError: they differ.
    """
    if expected != actual:
        raise TableError(f"{what or 'expected'}: {expected!r}, found: {actual!r}")


def at_most(bound: float, seconds: float, what: str) -> None:
    """Compares a time.

    Raises:
        TableError: it is longer than `bound` seconds.
    """
    if seconds > bound:
        raise TableError(f"{what} after {seconds:.2f} s, at most {bound:g} s were expected")
