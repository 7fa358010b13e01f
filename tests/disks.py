"""A disk in a file: what is synced is in the file, what is not is only in this machine's memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def blank_disk(image: Path) -> Path:
    """A file that holds an empty file system; skips the test where none can be made."""
    program = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip("there is no mkfs.ext4")
    with image.open("wb") as file:
        file.truncate(24 * 2**20)
    subprocess.run([program, "-q", "-F", image], check=True)
    return image


@contextmanager
def mounted(image: Path, where: Path) -> Iterator[Path]:
    """The file system in `image`, what was not synced being only in this machine's memory; skips where none may be."""
    where.mkdir(exist_ok=True)
    command = ["mount", "-o", "loop", str(image), str(where)]  # wherever the system has it
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        pytest.skip("mounting a file system needs root and loop devices")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=True)  # noqa: S607 - as above


def fail_writes(where: Path) -> None:
    """Turns the file system at `where` read-only under the open files, as the kernel does after a disk's error."""
    subprocess.run(["mount", "-o", "remount,abort", where], check=True)  # noqa: S607 - wherever the system has it


@contextmanager
def frozen(where: Path) -> Iterator[None]:
    """Whoever writes to the file system at `where` waits, as on a disk that hangs."""
    subprocess.run(["fsfreeze", "--freeze", where], check=True)  # noqa: S607 - as above
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", where], check=True)  # noqa: S607 - as above


def change_disk(image: Path, where: Path) -> None:
    """Takes the disk at `where` away from under the open files, and puts a new one with its content in its place."""
    subprocess.run(["umount", "-l", where], check=True)  # noqa: S607 - as above
    copy = shutil.copy(image, image.with_name(f"{image.name}-new"))  # the old one still has its loop device
    subprocess.run(["mount", "-o", "loop", copy, where], check=True)  # noqa: S607 - as above
