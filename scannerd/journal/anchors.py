"""Which files an open connection writes to, and whether their names still lead to them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scannerd.journal.errors import JournalError

if TYPE_CHECKING:
    from pathlib import Path

SIDES: Final = ("-wal", "-shm")
"""What SQLite keeps beside an open database: the log and the shared memory."""


def side_file(path: Path, side: str) -> Path:
    """The file of one of `SIDES` beside the journal at `path`."""
    return path.with_name(path.name + side)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Which files the open connection writes to: their names may be moved or deleted under it.

    What is written afterwards would live in a file that nobody finds again.
    """

    files: tuple[tuple[Path, tuple[int, int]], ...]

    @classmethod
    def of(cls, path: Path) -> Anchors:
        """Notes the journal's file, its log and its shared memory, as they are now."""
        return cls(tuple((file, _identity(file)) for file in (path, *(side_file(path, side) for side in SIDES))))

    def check(self) -> None:
        """Raises JournalError where a name no longer leads to the file that is open."""
        for file, identity in self.files:
            found = None
            with suppress(FileNotFoundError):
                found = _identity(file)
            if found != identity:
                what = "is gone" if found is None else "was replaced"
                raise JournalError(f"{file}: the file {what} while the journal was open")


def _identity(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino
