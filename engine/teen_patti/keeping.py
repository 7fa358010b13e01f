"""The engine's file: its state and its position at the table in one, so that each event counts exactly once.

It is always whole: what was there, or what is there now. A lock beside it keeps a second engine out, since two would
pay twice.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter

from scannerd.client import Position
from teen_patti.errors import StateDamaged, StateLocked, StateNotWritten, StateUnusable
from teen_patti.state import State

_MODE = 0o640


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives the process.

    Attributes:
        state: rounds, ledgers, balances.
        position: the table's last event that is in `state`.
        result: the message that stands on `…/result`, or is to; None before the first.
    """

    state: State
    position: Position
    result: str | None = None


_KEPT = TypeAdapter(Kept)


class Keeper:
    """One engine's file, locked while this is open."""

    def __init__(self, path: Path) -> None:
        """Takes the lock; the folder must be there.

        Raises:
            StateLocked: another engine holds it.
            StateUnusable: the folder can't be used.
        """
        self._path = path
        try:
            self._lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, _MODE)
        except OSError as trouble:
            raise StateUnusable(f"{path}: can't be used: {trouble.strerror}") from trouble
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise StateLocked(f"{path}: another engine runs with this file") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives the lock back."""
        os.close(self._lock)

    def load(self, table: str) -> Kept | None:
        """What was kept, or None where there is no file.

        Raises:
            StateUnusable: it can't be read, or is another table's.
            StateDamaged: it is no state.
        """
        try:
            kept = _KEPT.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as trouble:
            raise StateUnusable(f"{self._path}: can't be read: {trouble.strerror}") from trouble
        except ValueError as damaged:
            raise StateDamaged(f"{self._path}: is no state of this engine; restore it from a copy") from damaged
        if kept.state.table != table:
            raise StateUnusable(f"{self._path}: is the state at table {kept.state.table}, not {table}")
        return kept

    def save(self, kept: Kept) -> None:
        """Writes it and syncs it; a power cut leaves the old one or the new one.

        Raises:
            StateNotWritten: the disk did not take it.
        """
        try:
            self._replace(_KEPT.dump_json(kept) + b"\n")
        except OSError as trouble:
            raise StateNotWritten(f"{self._path}: can't be written: {trouble.strerror}") from trouble

    def _replace(self, content: bytes) -> None:
        beside = self._path.with_name(f".{self._path.name}.new")
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
