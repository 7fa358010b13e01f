"""Computes what the daemon runs on: digests of its code, its configuration and its codebooks, from the disk.

That takes some ten milliseconds of reading, so it is done in a thread of its own that lives no longer, and whose result
is a letter on the engine's inbox. What can't be read now is None in it: the event says so, and the table deals on.

The code is every file of the package `scannerd` and of the packages that the drivers in use come from, compiled ones
aside. The configuration is read afresh: what has changed on the disk since the start is what the next start would run.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from scannerd import logs
from scannerd.config import load
from scannerd.config.settings import Config
from scannerd.errors import ConfigError
from scannerd.inbox import CheckCause, Checked
from scannerd.notebook import Digests

_COMPILED = {"__pycache__"}


class SelfCheck:
    """Checks when it is asked to, one check at a time; what is asked meanwhile is answered by the one under way."""

    def __init__(self, digests: Callable[[], Digests], post: Callable[[Checked], None]) -> None:
        """Starts nothing yet.

        Args:
            digests: computes them; called in the thread.
            post: takes the result, from the thread.
        """
        self._digests, self._post = digests, post
        self._log = logs.get("self-check")
        self._thread: threading.Thread | None = None

    def ask(self, cause: CheckCause, by: str | None = None) -> None:
        """Begins a check, and returns at once."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, args=(cause, by), name="self-check", daemon=True)
            self._thread.start()

    def join(self, until: float) -> None:
        """Waits for a check under way, until `until` on the monotonic clock, in seconds."""
        if self._thread is not None:
            self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self, cause: CheckCause, by: str | None) -> None:
        try:
            found = self._digests()
        except Exception:  # noqa: BLE001 - whatever it is, no table stands still for it: the event shows that nothing was found
            self._log.exception("the self-check failed")
            found = Digests(None, None, {})
        self._post(Checked(cause, by, found))


def digests_of(config: Config) -> Digests:
    """The digests of what is on the disk now."""
    roots = packages({"scannerd", *(scanner.driver_class.__module__ for scanner in config.scanners)})
    code = found = None
    with suppress(OSError):
        code = code_digest(roots)
    with suppress(ConfigError):
        found = load(config.path)
    if found is None:
        return Digests(code, None, {})
    return Digests(code, found.digest, {scanner.name: scanner.codebook.digest for scanner in found.scanners})


def packages(modules: Iterable[str]) -> dict[str, Path]:
    """The packages, or single modules, that these modules are in, by name: where their files lie."""
    found = {}
    for name in sorted({module.partition(".")[0] for module in modules}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            path = Path(file)
            found[name] = path.parent if path.name == "__init__.py" else path
    return found


def code_digest(roots: dict[str, Path]) -> str:
    """SHA-256, 64 hex digits, over names and contents of all files below `roots`, wherever these lie.

    Raises:
        OSError: a file can't be read.
    """
    whole = sha256()
    for name, root in sorted(roots.items()):
        for inner, file in sorted(_files(root)):
            content = file.read_bytes()
            whole.update(f"{name}/{inner}\0{len(content)}\0".encode())
            whole.update(content)
    return whole.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    if root.is_file():
        yield root.name, root
        return
    for file in root.rglob("*"):
        if file.is_file() and not _COMPILED & set(file.parts):
            yield file.relative_to(root).as_posix(), file
