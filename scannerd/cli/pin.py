"""`scannerd pin`: sets the PIN of the supervisor's page."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from scannerd.display.pin import hashed
from scannerd.errors import UsageError

_MODE = 0o600


@click.command(short_help="Set the PIN of the supervisor's page.")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
def pin(path: Path) -> None:
    """Ask for a PIN and write its hash to FILE, which `pin_file` in [display] names.

    The PIN has 6 to 64 characters. Where the input is no terminal, its first line is the PIN. A running daemon takes
    the new one at the next sign-in, and ends the sessions of the old one. FILE gets mode 0600: give it to a systemd
    service as the credential `display-pin`.
    """
    try:
        line = hashed(_asked())
    except ValueError as fault:
        raise UsageError(f"PIN: {fault}") from None
    try:
        _write(path, line)
    except OSError as trouble:
        raise UsageError(f"{path}: can't be written: {trouble.strerror}") from trouble
    click.echo(f"{path}: the hash of the PIN is in it.")


def _asked() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("PIN", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _write(path: Path, line: str) -> None:
    """Replaces the file at once: a daemon that reads it meets the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
