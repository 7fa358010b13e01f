"""What the probes look at: a table's configuration and a machine, of which a copied tree may stand in a test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scannerd.clock import clock_synchronised
from scannerd.config.settings import Config
from scannerd.mqtt.notices import BrokerSettings


@dataclass(frozen=True, slots=True)
class Site:
    """A table and the machine that is to run it.

    Attributes:
        config: the table's configuration.
        broker: how the daemon enters its broker, with a client id of our own.
        topics: those on which the daemon speaks.
        root: the root of the file system, with `proc`, `run` and `etc` below it.
        synchronised: whether the time of day can be trusted.
        now: the time of day, seconds since 1970.
        euid: who we are; 0 may do everything.
        daemon: the process that runs the table, None where none does.
    """

    config: Config
    broker: BrokerSettings
    topics: tuple[str, ...]
    root: Path = Path("/")
    synchronised: Callable[[], bool | None] = clock_synchronised
    now: Callable[[], float] = time.time
    euid: int = os.geteuid()
    daemon: int | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a device open."""

    pid: int
    name: str

    def __str__(self) -> str:
        """For people."""
        return f"pid {self.pid} ({self.name})"


def content(path: Path) -> str:
    """A file's text; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def running(root: Path) -> Iterator[Holder]:
    """Every process that we may see."""
    for comm in (root / "proc").glob("[0-9]*/comm"):
        if name := content(comm).strip():
            yield Holder(int(comm.parent.name), name)


def openers(real: str, root: Path) -> tuple[Holder, ...]:
    """Who has the node `real` open, ourselves left out; processes of other users show their files to root only."""
    us = os.getpid()
    return tuple(one for one in running(root) if one.pid != us and real in _open_files(root / f"proc/{one.pid}/fd"))


def daemon_of(state_dir: Path, root: Path = Path("/")) -> int | None:
    """The process that holds the table's lock, as proc_locks(5) shows it.

    The lock itself is not tried: a daemon that starts in that moment would find the table taken, and stay away.
    """
    lock = state_dir / "lock"
    try:
        node = lock.stat()
    except OSError:
        return None
    inode = f"{os.major(node.st_dev):02x}:{os.minor(node.st_dev):02x}:{node.st_ino}"
    written = content(lock).strip()
    for line in content(root / "proc/locks").splitlines():
        fields = line.split()
        # `1: FLOCK  ADVISORY  WRITE 812 00:05:1043 0 EOF`; some file systems show another device than stat does.
        if "FLOCK" not in fields or "->" in fields:
            continue
        pid, place = fields[4:6]
        if place == inode or (place.rpartition(":")[2] == str(node.st_ino) and pid == written):
            return int(pid)
    return None


def _open_files(folder: Path) -> set[str]:
    found = set()
    try:
        for file in folder.iterdir():
            found.add(str(file.readlink()))
    except OSError:  # another user's process, or one that has just ended
        pass
    return found
