"""What a table left behind and shows now: the last recordings, the files of its state, and the figures of its pages."""

from __future__ import annotations

import http.client
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from scannerd.recording.recorder import Folder
from scannerd.support.bundle import Item, as_json

Fetch: TypeAlias = Callable[[str, int, str], bytes]
"""Asks a host and port for a path over HTTP; raises OSError where nobody answers well."""

_LEAST: Final = 4_096
"""Bytes of a recording that are worth being looked at."""
_PATIENCE_S: Final = 5.0
_LARGEST_ANSWER: Final = 4 * 1024 * 1024


def recordings(folder: Path, table: str, budget: int) -> Iterator[Item]:
    """The last recordings, the newest first, until `budget` bytes are full; of one that is larger, its end.

    Only files of the folder itself: who may write there is not root, and could have it read anything by a link.

    Raises:
        OSError: the folder or a recording can't be read.
    """
    for path in reversed(Folder(folder, table, file_bytes=1, files=2).kept()):
        if budget < _LEAST:
            return
        if path.is_symlink():
            continue
        with _opened(path) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                continue
            content = _end(file, status.st_size, budget)
        whole = len(content) == status.st_size
        budget -= len(content)
        yield Item(f"recordings/{path.name if whole else f'{path.stem}.end.scanlog'}", content)


def _opened(path: Path) -> BinaryIO:
    """Opens a file, but no link; a pipe is not waited for."""
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")  # noqa: PTH123 - of a descriptor


def _end(file: BinaryIO, size: int, budget: int) -> bytes:
    """All of a recording, or its header and as many of its last lines as there is room for."""
    if size <= budget:
        return file.read(budget)
    header = file.readline(budget)
    file.seek(max(file.tell(), size - (budget - len(header))))
    file.readline()  # the rest of a line that was cut
    return header + file.read(budget - len(header))


def state(folder: Path) -> Iterator[Item]:
    """The names, sizes and times of what lies in the state directory.

    Raises:
        OSError: it can't be read.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        at = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
        kind, owner = stat.filemode(status.st_mode), f"{status.st_uid}:{status.st_gid}"
        found.append({"name": str(path.relative_to(folder)), "bytes": status.st_size, "changed_at": at, "mode": kind})
        found[-1]["owner"] = owner
    yield Item("state.json", as_json({"folder": str(folder), "files": found}))


def metrics(host: str, port: int, fetch: Fetch) -> Iterator[Item]:
    """The figures of a daemon that runs, as Prometheus reads them."""
    yield Item("metrics.txt", fetch(host, port, "/metrics"))


def fetch(host: str, port: int, path: str) -> bytes:
    """Asks for a page.

    Raises:
        OSError: nobody answers, or not with a page.
    """
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read(_LARGEST_ANSWER)
    except http.client.HTTPException as error:
        raise OSError(f"{host}:{port} does not speak HTTP: {error!r}") from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise OSError(f"{host}:{port}{path} answers {answer.status} {answer.reason}")
    return content
