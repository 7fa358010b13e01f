"""`scannerd config`: work on a configuration itself."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from scannerd.config import parse, read
from scannerd.config.versions import STEPS, Step, migrated, version_of
from scannerd.errors import Exit, UsageError


@click.group()
def config() -> None:
    """Work on a configuration file itself; `scannerd check` says whether it can be used."""


@config.command(short_help="Bring an older configuration to this version.")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Change the file, and keep a copy of the old one beside it.")
def migrate(path: Path, *, write: bool) -> int:
    """Bring a configuration of an older scannerd to this version; without --write only show what would change.

    Comments and the order of lines stay. A daemon understands an older file without this, so that there is no hurry;
    what can't be changed safely is named with its line, for a person to change.

    Ends with 0 where nothing is to be changed or all was, and with 1 where a change was only shown.
    """
    return bring_up(path, write=write)


def bring_up(path: Path, *, write: bool, steps: Sequence[Step] = STEPS) -> int:
    """Shows what would change in a configuration, or changes it.

    Raises:
        UsageError: the file can't be used or written, or something in it must be changed by hand.
    """
    old = read(path)
    version = version_of(path, old, parse(path, old), 1 + len(steps))
    new = migrated(path, old, steps)
    if new == old:
        click.echo(f"{path}: is of this version ({version}) already.")
        return Exit.WELL
    if not write:
        click.echo("".join(difflib.unified_diff(_lines(old), _lines(new), str(path), f"{path} (new)")), nl=False)
        return Exit.DIFFERENCE
    try:
        copy = _replace(path.resolve(), new, version)
    except OSError as trouble:
        raise UsageError(f"{trouble.filename or path}: can't be written: {trouble.strerror}") from trouble
    click.echo(f"{path}: is of version {1 + len(steps)} now; what it was is kept in {copy}.")
    return Exit.WELL


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").splitlines(keepends=True)


def _replace(path: Path, text: str, version: int) -> Path:
    """Keeps the old file under another name and replaces it at once: a daemon meets the old one or the new one."""
    copy = path.with_name(f"{path.name}.version-{version}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    beside = path.with_name(f".{path.name}.new")
    _create(copy, path.read_bytes(), path)
    beside.unlink(missing_ok=True)
    _create(beside, text.encode(), path)
    beside.replace(path)
    return copy


def _create(path: Path, content: bytes, like: Path) -> None:
    """Writes a new file with the rights of another one, and its owner where we may; it is whole or not there."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            status = like.stat()
            with suppress(PermissionError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            shutil.copymode(like, path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
