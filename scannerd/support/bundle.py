"""The file of a report: a .tar.gz whose content is the same for the same parts, with a manifest of digests."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from scannerd.errors import UsageError
from scannerd.redaction import HIDDEN

MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Item:
    """A file in the report; `name` is its path there."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Lack:
    """What could not be had, and why."""

    what: str
    why: str


@dataclass(slots=True)
class Bundle:
    """Gathers items; secrets are taken out of each on its way in.

    Attributes:
        title: the folder in which all lie.
        made_at: when; the time of each file in it.
        secrets: finds what must not be in any.
        items: what is inside.
        lacking: what is not, though it should be.
    """

    title: str
    made_at: datetime
    secrets: re.Pattern[bytes] | None = None
    items: list[Item] = field(default_factory=list)
    lacking: list[Lack] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Puts a file in."""
        self.items.append(Item(item.name, self._clean(item.content)))

    def lack(self, what: str, why: str) -> None:
        """Notes that something could not be had."""
        self.lacking.append(Lack(what, self._clean(" ".join(why.split()).encode()).decode(errors="replace")))

    def write(self, file: BinaryIO, about: dict[str, object]) -> None:
        """Writes the archive: the manifest first, then the items by name.

        Args:
            file: where to.
            about: what the manifest says beside the list.
        """
        items = sorted(self.items, key=lambda item: item.name)
        manifest = Item(MANIFEST, self._clean(self._manifest(items, about)))
        stamp = int(self.made_at.timestamp())
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=stamp) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for item in (manifest, *items):
                entry = tarfile.TarInfo(f"{self.title}/{item.name}")
                entry.size, entry.mtime, entry.mode = len(item.content), stamp, 0o600
                archive.addfile(entry, io.BytesIO(item.content))

    def _manifest(self, items: Sequence[Item], about: dict[str, object]) -> bytes:
        files = [
            {"name": item.name, "bytes": len(item.content), "sha256": sha256(item.content).hexdigest()}
            for item in items
        ]
        whole = {**about, "made_at": self.made_at.isoformat(timespec="seconds"), "files": files}
        return as_json({**whole, "lacking": [asdict(lack) for lack in self.lacking]})

    def _clean(self, content: bytes) -> bytes:
        return content if self.secrets is None else self.secrets.sub(HIDDEN.encode(), content)


def as_json(value: object) -> bytes:
    """A value as a file in the report: indented, for people."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str).encode(errors="surrogateescape") + b"\n"


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that was not there before and that only we may read; it is taken away again where writing fails.

    Raises:
        UsageError: there is one of that name, or it can't be made or written.
    """
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise UsageError(f"{path}: is there already, and is not written over: name another file") from None
    except OSError as trouble:
        raise UsageError(f"{path}: can't be made: {trouble.strerror}") from trouble
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            yield file
            file.flush()
            os.fsync(fd)
    except OSError as trouble:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path}: can't be written: {trouble.strerror}") from trouble
    except BaseException:
        path.unlink(missing_ok=True)
        raise
