"""One instance per table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from scannerd.errors import Exit
from scannerd.lock import TableLock, TableLocked
from tests.journals import start

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys
from pathlib import Path
from scannerd.lock import TableLock
lock = TableLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_second_instance_is_told_whose_the_table_is(tmp_path: Path) -> None:
    """A second instance is refused with exit code 3 and the process id of the first."""
    with TableLock(tmp_path), pytest.raises(TableLocked, match=f"process {os.getpid()} runs") as refused:
        TableLock(tmp_path)

    assert os.getpid() == refused.value.pid
    assert refused.value.exit_code is Exit.ALREADY_RUNNING


def test_lock_ends_with_its_process(tmp_path: Path) -> None:
    """A table whose daemon was killed can be taken at once, though the lock file is still there."""
    with start(HOLDER, str(tmp_path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(TableLocked, match=str(holder.pid)):
            TableLock(tmp_path)
        holder.kill()

    with TableLock(tmp_path):
        assert f"{os.getpid()}\n" == (tmp_path / "lock").read_text()


def test_released_lock_can_be_taken(tmp_path: Path) -> None:
    """A lock that was given up, even twice, can be taken by another."""
    lock = TableLock(tmp_path)
    lock.release()
    lock.release()

    TableLock(tmp_path).release()


def test_lock_makes_the_state_directory(tmp_path: Path) -> None:
    """A missing state directory is made, closed to others."""
    with TableLock(tmp_path / "state" / "tp-01"):
        assert (tmp_path / "state" / "tp-01").stat().st_mode & 0o777 == 0o750


def test_holder_without_a_readable_id_is_another_process(tmp_path: Path) -> None:
    """A lock whose file says nothing useful is refused all the same, without a process id."""
    with TableLock(tmp_path):
        (tmp_path / "lock").write_text("?")
        with pytest.raises(TableLocked, match="another process") as refused:
            TableLock(tmp_path)

    assert refused.value.pid is None
