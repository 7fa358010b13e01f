"""Trouble that ends a command: somebody must act, and the class says who.

Each carries the exit code of the process and a message of one line, which is all that `main` prints: no log line
before it, no traceback. Trouble that the daemon lives with (a scanner lost, a card misread) is a value, not an error.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class Exit(IntEnum):
    """How a `scannerd` process ends; part of the contract with whoever starts it."""

    WELL = 0
    DIFFERENCE = 1
    """A check did its work and found a difference."""
    USAGE = 2
    """The command line, the configuration or a recording can't be used as it is."""
    ALREADY_RUNNING = 3
    """Another instance runs this table."""
    JOURNAL_DAMAGED = 4
    """The journal can't be trusted; it is never started over silently."""
    INTERNAL = 5
    """A thread died, or anything else that nobody foresaw; a supervisor such as systemd starts the process again."""


class ScannerdError(Exception):
    """Trouble that ends the process with one line on stderr. Whoever started it must act.

    Attributes:
        exit_code: how the process ends.
    """

    exit_code: ClassVar[Exit] = Exit.INTERNAL

    @property
    def line(self) -> str:
        """The message as one line, whatever it was made of."""
        return " ".join(str(self).split())


class UsageError(ScannerdError):
    """A file or an argument that the user named can't be used. The user must name or mend another."""

    exit_code = Exit.USAGE


class ConfigError(UsageError):
    """The configuration can't be used. Whoever wrote it must mend what `problems` name.

    Attributes:
        problems: each `file:line: key: what was expected`, in the order of the file; at least one.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        """Takes all that is wrong, so that one run tells everything."""
        super().__init__("; ".join(problems))
        self.problems = problems


class AlreadyRunning(ScannerdError):  # noqa: N818 - the state of things, not a fault of ours
    """Another instance runs this table. Whoever started this one must stop the other first."""

    exit_code = Exit.ALREADY_RUNNING


class JournalUnusable(ScannerdError):  # noqa: N818 - the base of what the journal finds
    """The journal can't be read or trusted. An administrator must look at it before the table deals on."""

    exit_code = Exit.JOURNAL_DAMAGED


class DriverUnusable(ScannerdError):  # noqa: N818 - it names the driver that can't be used
    """A driver can't be found, imported or trusted. Whoever installed or named it must act."""

    exit_code = Exit.USAGE
