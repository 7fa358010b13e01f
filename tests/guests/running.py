"""Runs the steps in a guest, and says how it went."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tests.guests.guest import CommandError, Guest
from tests.guests.lines import GoneError
from tests.guests.report import Report

_JOURNAL = "journalctl -b --no-pager -n 200 -o short-monotonic"


def lab() -> Path:
    """Where what the guests are made of is kept."""
    return Path(os.environ.get("SCANNERD_LAB", "/var/tmp/scannerd-lab"))  # noqa: S108 - large, and kept over a reboot


def end_when_asked() -> None:
    """SIGTERM ends this process in order, so that no guest is left over."""

    def asked(number: int, frame: FrameType | None) -> None:
        del frame
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, asked)


def status_of(guest: Guest, report: Report, steps: Callable[[], None]) -> int:
    """Runs the steps and returns the status to end with: 0 if all were made and held."""
    whole = _to_the_end(steps)
    if report.failed or not whole:
        _tell_journal(guest)
    sys.stdout.write(f"{report.passed} held, {report.failed} failed{'' if whole else ', and not all were made'}\n")
    return int(report.failed > 0 or not whole)


def _to_the_end(steps: Callable[[], None]) -> bool:
    try:
        steps()
    except (GoneError, CommandError) as error:
        sys.stdout.write(f"FAILED to go on: {error}\n")
        return False
    return True


def _tell_journal(guest: Guest) -> None:
    """The guest's journal, for whoever looks for the cause."""
    try:
        sys.stderr.write(guest.ask(_JOURNAL)[1])
    except GoneError as error:
        sys.stderr.write(f"no journal: {error}\n")
