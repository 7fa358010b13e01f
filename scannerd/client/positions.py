"""A consumer's position in a file, which is always whole: what was there, or what is there now."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scannerd.client.errors import PositionUnusable
from scannerd.client.events import Position


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    table: str
    journal: str | None
    seq: int = Field(ge=0)
    hash: str | None
    past: list[str]


class PositionFile:
    """One table's position, in one file."""

    def __init__(self, path: Path, table: str) -> None:
        """Touches nothing yet; the folder of `path` must be there."""
        self._path, self._table = path, table

    def load(self) -> Position | None:
        """The position, or None where there is no file.

        Raises:
            PositionUnusable: it can't be read, is damaged, or another table's.
        """
        try:
            kept = _File.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as trouble:
            raise PositionUnusable(f"{self._path}: can't be read: {trouble.strerror}") from trouble
        except ValidationError as damaged:
            raise PositionUnusable(f"{self._path}: is no position: {damaged.errors()[0]['msg']}") from damaged
        if kept.table != self._table:
            raise PositionUnusable(f"{self._path}: is the position at table {kept.table}, not {self._table}")
        return Position(kept.journal, kept.seq, kept.hash, tuple(kept.past))

    def save(self, position: Position) -> None:
        """Writes the position and syncs it; a power cut leaves the old one or the new one.

        Raises:
            PositionUnusable: it can't be written.
        """
        kept = _File.model_construct(
            table=self._table,
            journal=position.journal,
            seq=position.seq,
            hash=position.hash,
            past=list(position.past),
        )
        try:
            self._replace(kept.model_dump_json().encode() + b"\n")
        except OSError as trouble:
            raise PositionUnusable(f"{self._path}: can't be written: {trouble.strerror}") from trouble

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
