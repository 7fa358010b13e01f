"""One daemon per table: a lock that lasts as long as the process and that the system drops when it dies."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from scannerd.errors import AlreadyRunning

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_MODE = 0o640
_DIRECTORY_MODE = 0o750


class TableLocked(AlreadyRunning):
    """Another instance runs this table. Whoever started this one must stop one of the two.

    Attributes:
        pid: the other's process id, or None where it is not known.
    """

    def __init__(self, directory: Path, pid: int | None) -> None:
        """`directory` is the table's state directory."""
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"{directory}: {holder} runs this table already")
        self.pid = pid


class TableLock:
    """Holds the file `lock` in a table's state directory, with this process's id in it.

    The lock is the system's (`flock`), so a file left by a killed process locks nobody out. The file is never
    deleted: a second instance could otherwise lock the name that this one no longer holds.
    """

    def __init__(self, directory: Path) -> None:
        """Takes the lock; makes the directory (mode 0750) where it is missing.

        Raises:
            TableLocked: another instance holds it.
            OSError: the directory or the file can't be made or opened. The administrator must act.
        """
        directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        self._fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, _MODE)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(self._fd)
            os.close(self._fd)
            raise TableLocked(directory, pid) from None
        with suppress(OSError):  # the id is only for people; a full disk must not keep the table from starting
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Gives the lock up; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _pid_in(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None
