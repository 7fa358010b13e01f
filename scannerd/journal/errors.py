"""What can be wrong with a journal, told in one line that names the file, the trouble and what to do."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, ClassVar, Final

from scannerd.errors import Exit, JournalUnusable

if TYPE_CHECKING:
    from pathlib import Path


class JournalError(JournalUnusable):
    """The journal can't be written or read now: the disk is full, the file locked, moved, or may not be written.

    The daemon holds the table and opens the journal afresh; an administrator must make room or give the right.
    """


class JournalMissing(JournalError):  # noqa: N818 - it names the journal's state
    """There is no journal where one must be. An administrator must bring it back, or start the table anew."""


class JournalDamaged(JournalError):  # noqa: N818 - it names the journal's state
    """The file is not what was written. It is never started over: an administrator must look at it first."""


class JournalMismatch(JournalError):  # noqa: N818 - it names the journal's state
    """The journal is sound, but another table's or a newer version's. The configuration or the version is wrong."""

    exit_code: ClassVar[Exit] = Exit.USAGE


class JournalNewer(JournalMismatch):
    """A newer scannerd wrote the journal. An administrator must install that version again."""


_WORDS: Final = {
    "SQLITE_BUSY": "locked by another process",
    "SQLITE_LOCKED": "locked by another connection",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "may not be written: look at the rights of the file, its directory and the mount",
    "SQLITE_CANTOPEN": "can't be opened: look at the rights of the file and its directory",
    "SQLITE_IOERR": "the disk reports an error",
    "SQLITE_PROTOCOL": "locked by another process",
    "SQLITE_NOMEM": "there is no memory left",
}
_TEMPORARY: Final = tuple(_WORDS)


def damaged(path: Path, what: str) -> JournalDamaged:
    """The error that says `what` is wrong with the journal at `path`, and how to learn more."""
    return JournalDamaged(f"{path}: the journal is damaged: {what}; see `scannerd journal verify` and `recover`")


def told(path: Path, error: sqlite3.Error | OSError) -> JournalError:
    """Puts a fault of SQLite or the system into the journal's words.

    All statements on a journal are fixed, so what is no trouble of the moment (lock, space, rights, I/O) can only
    come from the file's content.
    """
    if isinstance(error, OSError):
        return JournalError(f"{path}: {error.strerror or error}")
    name: str = getattr(error, "sqlite_errorname", "")
    for prefix in _TEMPORARY:
        if name.startswith(prefix):
            return JournalError(f"{path}: {_WORDS[prefix]} ({error})")
    return damaged(path, "it is no SQLite file" if name == "SQLITE_NOTADB" else str(error))
