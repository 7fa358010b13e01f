"""Where a command writes a recording: a file, or standard output where that is named `-`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from scannerd.errors import UsageError

STDOUT = Path("-")


@contextmanager
def opened(output: Path) -> Iterator[BinaryIO]:
    """The file, emptied, or standard output.

    Raises:
        UsageError: it can't be written, or what is written within the `with` has another trouble with a file.
    """
    with told_as_usage(output):
        if output == STDOUT:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with output.open("wb") as target:
                yield target


@contextmanager
def told_as_usage(output: Path) -> Iterator[None]:
    """Tells a file's trouble in one line.

    Raises:
        UsageError: with the file's name, or else that of `output`.
    """
    try:
        yield
    except BrokenPipeError:  # whoever reads has enough, which is no trouble
        raise
    except OSError as trouble:
        raise UsageError(f"{trouble.filename or output}: {trouble.strerror or trouble}") from None


def many(folder: Path, stem: str, seeds: range) -> Iterator[tuple[int, Path]]:
    """The files `<stem>-<seed>.scanlog` of a folder, which is made where it is not there, each with its seed.

    Raises:
        UsageError: it is no folder, or standard output.
    """
    if folder == STDOUT:
        raise UsageError("-o: several files go into a folder, not to stdout")
    with told_as_usage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    width = len(str(seeds[-1]))
    for seed in seeds:
        yield seed, folder / f"{stem}-{seed:0{width}}.scanlog"
