"""What a table runs on: versions, the system, the unit and the log that systemd has of it."""

from __future__ import annotations

import os
import platform
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes.util import find_library
from importlib.metadata import distributions
from pathlib import Path
from typing import Final, TypeAlias

from scannerd import __version__
from scannerd.clock import clock_synchronised
from scannerd.config.versions import VERSION as CONFIG_VERSION
from scannerd.doctor.site import content
from scannerd.journal.schema import VERSION as SCHEMA
from scannerd.messages import CONTRACT
from scannerd.support.bundle import Item, as_json

Run: TypeAlias = Callable[[Sequence[str]], str]
"""Runs a program of the system and returns what it printed; raises OSError where it can't."""

LOG_LINES: Final = 3_000
"""Of the unit's log, at most."""

_PATIENCE_S: Final = 15.0
_PROPERTIES: Final = (
    "Id,LoadState,ActiveState,SubState,Result,StatusText,UnitFileState,FragmentPath,DropInPaths,NRestarts,ExecMainPID,"
    "ExecMainCode,ExecMainStatus,ExecMainStartTimestamp,ActiveEnterTimestamp,InactiveEnterTimestamp,MemoryCurrent,"
    "CPUUsageNSec,TasksCurrent,WatchdogUSec"
)
"""What is asked of a unit: not its environment, in which an administrator may have put a secret."""


def run(command: Sequence[str]) -> str:
    """Runs a program to its end.

    Raises:
        OSError: it is not there, takes too long, or says that it failed.
    """
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE_S, stdin=subprocess.DEVNULL)  # noqa: S603 - fixed names, and a unit's
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{command[0]} did not end within {_PATIENCE_S:.0f} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise OSError(f"{command[0]} ended with {done.returncode}: {said}")
    return done.stdout.decode(errors="replace")


def versions(root: Path = Path("/")) -> Iterator[Item]:
    """Ours, Python's, the libraries' and the system's."""
    packages = {str(package.metadata["Name"]): package.version for package in distributions()}
    system = dict(line.partition("=")[::2] for line in content(root / "etc/os-release").splitlines())
    told: dict[str, object] = {
        "scannerd": __version__,
        "contract": CONTRACT,
        "journal_schema": SCHEMA,
        "config_version": CONFIG_VERSION,
        "python": sys.version,
        "executable": sys.executable,
        "sqlite": sqlite3.sqlite_version,
        "openssl": ssl.OPENSSL_VERSION,
        "libusb": find_library("usb-1.0"),
        "kernel": f"{platform.system()} {platform.release()} {platform.version()} {platform.machine()}",
        "system": system.get("PRETTY_NAME", "").strip('"'),
        "processors": os.cpu_count(),
        "memory": content(root / "proc/meminfo").splitlines()[:3],
        "load": content(root / "proc/loadavg").strip(),
        "up_s": content(root / "proc/uptime").partition(" ")[0],
        "clock_synchronised": clock_synchronised(),
        "user": os.geteuid(),
        "packages": dict(sorted(packages.items(), key=lambda package: package[0].lower())),
    }
    yield Item("versions.json", as_json(told))


def service(unit: str, execute: Run) -> Iterator[Item]:
    """How the unit stands, as systemd tells it."""
    told = execute(("systemctl", "--version")).partition("\n")[0]
    shown = execute(("systemctl", "show", unit, f"--property={_PROPERTIES}"))
    yield Item("unit.txt", f"{told}\n{shown}".encode())


def log(unit: str, execute: Run) -> Iterator[Item]:
    """The end of the unit's log."""
    which = (f"--unit={unit}", f"--lines={LOG_LINES}")
    yield Item("log.txt", execute(("journalctl", *which, "--no-pager", "--output=short-iso-precise")).encode())
