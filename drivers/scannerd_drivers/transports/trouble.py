"""From what the system says to what a person can do: errors of devices become `TransportError`s with a remedy."""

from __future__ import annotations

import errno
import grp
import os
import stat
import termios
from pathlib import Path

from scannerd.contract import TransportError

UDEV_RULES = "udev/65-scannerd.rules"
"""The rules that give a scanner's node its link and its group; they come with scannerd."""

_BUSY = (errno.EBUSY, errno.EWOULDBLOCK)


def cannot_open(path: str, error: OSError | termios.error) -> TransportError:
    """What to tell when `path` can't be opened."""
    number = error_number(error)
    if number == errno.ENOENT:
        return TransportError(
            f"no such device: {path}",
            remedy="plug the scanner in; `scannerd devices` shows what is there",
        )
    if number in (errno.EACCES, errno.EPERM):
        return TransportError(f"no permission to open {path}", remedy=_permission_remedy(path))
    if number in _BUSY:
        return in_use(path)
    return TransportError(f"can't open {path}: {words(error)}", remedy="unplug the scanner and plug it in again")


def in_use(path: str) -> TransportError:
    """What to tell when another process has `path`; names the process where the system shows it."""
    holder = holder_of(path)
    by = f" by {holder}" if holder else ""
    remedy = "end the other program; if it is ModemManager, install the rules of " + UDEV_RULES
    return TransportError(f"port in use{by}: {path}", remedy=remedy)


def lost(error: OSError | termios.error) -> TransportError:
    """What to tell when a device that was open is gone."""
    return TransportError(words(error), remedy="check the cable and the scanner's power")


def words(error: OSError | termios.error) -> str:
    """The error's symbol and meaning, `EIO input/output error`; its own text where it has no number."""
    number = error_number(error)
    if number is None:
        return str(error) or type(error).__name__
    return f"{errno.errorcode.get(number, number)} {os.strerror(number).lower()}"


def error_number(error: OSError | termios.error) -> int | None:
    """The system's number of an error, None where it carries none; a `termios.error` is no `OSError`."""
    first = error.errno if isinstance(error, OSError) else next(iter(error.args), None)
    return first if isinstance(first, int) else None


def holder_of(path: str, proc: Path = Path("/proc")) -> str | None:
    """`pid 812 (minicom)`: who holds the lock on `path`, or else who has it open; None where nobody is seen.

    Processes of other users show their open files to root only.
    """
    try:
        node = Path(path).stat()
    except OSError:
        return None
    pid = _lock_holder(node, proc) or _opener(os.path.realpath(path), proc)
    return f"pid {pid} ({_name(pid, proc)})" if pid else None


def _lock_holder(node: os.stat_result, proc: Path) -> str | None:
    """Looks it up in /proc/locks, proc_locks(5): `1: FLOCK ADVISORY WRITE 812 00:05:1043 0 EOF`."""
    inode = f"{os.major(node.st_dev):02x}:{os.minor(node.st_dev):02x}:{node.st_ino}"
    for line in _text(proc / "locks").splitlines():
        fields = line.split()
        if "FLOCK" in fields and inode in fields:
            return fields[fields.index(inode) - 1]
    return None


def _opener(real: str, proc: Path) -> str | None:
    for files in proc.glob("[0-9]*/fd"):
        pid = files.parent.name
        if pid != str(os.getpid()) and real in _links(files):
            return pid
    return None


def _links(files: Path) -> set[str]:
    found = set()
    try:
        for file in files.iterdir():
            found.add(str(file.readlink()))
    except OSError:  # another user's process, or one that has just ended
        pass
    return found


def _name(pid: str, proc: Path) -> str:
    return _text(proc / pid / "comm").strip() or "?"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _permission_remedy(path: str) -> str:
    try:
        node = Path(path).stat()
        group = grp.getgrgid(node.st_gid).gr_name
    except (OSError, KeyError):
        return f"install {UDEV_RULES} and plug the scanner in again"
    if not stat.S_IMODE(node.st_mode) & stat.S_IRGRP:
        return f"its mode gives the group {group} nothing: install {UDEV_RULES} and plug the scanner in again"
    return f"add the daemon's user to the group {group}, or install {UDEV_RULES} and plug the scanner in again"
