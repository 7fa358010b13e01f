"""Reads the configuration anew while the daemon runs: what can change without a restart does, the rest is refused.

What changes is what can neither judge a card otherwise in the middle of a round nor lose one: the language, how long
events are kept, and when the reject rate is alarmed. All else (scanners, rules, broker, addresses, keys) waits for a
restart, and the log names it. A file that can't be used changes nothing. The file is read in a thread that lives no
longer, so that no card waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

from scannerd import logs
from scannerd.config import load
from scannerd.config.digest import digest
from scannerd.config.settings import Config, Section
from scannerd.errors import ScannerdError
from scannerd.systemd import Notifier

LIVE = frozenset({"table.language", "journal.keep_days", "alarms.reject_rate", "alarms.reject_window"})
"""The keys that a running daemon takes over."""


class Reloader:
    """Reads when it is asked; what is asked while it reads has it read once more.

    Attributes:
        config: what the daemon goes by now.
    """

    def __init__(
        self,
        config: Config,
        take_over: Callable[[Config], None],
        notifier: Notifier,
        now: Callable[[], int],
        read: Callable[[Path], Config] = load,
    ) -> None:
        """Starts nothing yet.

        Args:
            config: what the daemon began with.
            take_over: is given the configuration to go by from now on; called in the thread.
            notifier: speaks to systemd.
            now: the monotonic clock, microseconds.
            read: reads a configuration.
        """
        self.config = config
        self._take_over, self._notifier, self._now, self._read = take_over, notifier, now, read
        self._log = logs.get("reload")
        self._lock = threading.Lock()
        self._asked = 0
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Begins to read, and returns at once."""
        self._notifier.reloading(self._now())
        with self._lock:
            self._asked += 1
            if self._asked == 1:
                self._thread = threading.Thread(target=self._run, name="reload", daemon=True)
                self._thread.start()

    def join(self, within: float) -> bool:
        """Waits until all that was asked is done, at most `within` seconds; whether it is."""
        if self._thread is not None:
            self._thread.join(within)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        done = 0
        while True:
            with self._lock:
                self._asked -= done
                if not self._asked:
                    self._notifier.ready()
                    return
                done = self._asked
            self._reload()

    def _reload(self) -> None:
        try:
            found = self._read(self.config.path)
        except ScannerdError as trouble:
            self._log.error("configuration refused, nothing changed", error=trouble.line)
            return
        except Exception:  # noqa: BLE001 - whatever it is, the table deals on as before
            self._log.exception("the configuration could not be read, nothing changed")
            return
        changed = differences(self.config, found)
        taken = [key for key in changed if key in LIVE]
        refused = [key for key in changed if key not in LIVE]
        if taken:
            self.config = merged(self.config, found)
            self._take_over(self.config)
        self._log.info("configuration read anew", changed=taken)
        if refused:
            self._log.warning("this changes with a restart only", keys=refused)


def differences(now: Config, found: Config) -> list[str]:
    """The keys in which two configurations differ, as `section.key`; of a scanner, or the deal plan, only which."""
    told = [key for name in _sections() for key in _keys(name, getattr(now, name), getattr(found, name))]
    before = {scanner.name: scanner for scanner in now.scanners}
    after = {scanner.name: scanner for scanner in found.scanners}
    told += [f"scanner {name}" for name in before | after if before.get(name) != after.get(name)]
    if not told and list(before) != list(after):
        told.append("scanner: their order")
    return [*told, "the deal plan"] if now.plan != found.plan else told


def merged(now: Config, found: Config) -> Config:
    """What the daemon goes by, with what of `found` can change while it runs."""
    kept = now
    for name in _sections():
        before, after = getattr(kept, name), getattr(found, name)
        live = {key: getattr(after, key) for key in type(before).model_fields if f"{name}.{key}" in LIVE}
        kept = replace(kept, **{name: before.model_copy(update=live)})
    return replace(kept, digest=digest(kept))


def _sections() -> list[str]:
    return [
        name for name, kind in get_type_hints(Config).items() if isinstance(kind, type) and issubclass(kind, Section)
    ]


def _keys(name: str, before: Section, after: Section) -> list[str]:
    return [f"{name}.{key}" for key in type(before).model_fields if getattr(before, key) != getattr(after, key)]
