"""A corpus: recordings in folders, and beside each what it must give.

Beside `x.scanlog` stands `x.expected.jsonl`, the events, and where somebody wants to have the prompts looked at too
`x.prompts.jsonl`. A recording without expected events is a failure: a corpus must not shrink in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from scannerd.errors import UsageError
from scannerd.verify.expected import Kind

RECORDING = ".scanlog"
EXPECTED: dict[Kind, str] = {"event": ".expected.jsonl", "prompt": ".prompts.jsonl"}
"""The ending of the files beside a recording, by what they hold."""


def find(paths: Iterable[Path]) -> list[Path]:
    """The recordings that are named, and those in the folders that are named, each once.

    Raises:
        UsageError: a path is not there, a folder can't be looked through, or there is no recording at all.
    """
    found: dict[str, Path] = {}
    for path in paths:
        for recording in _named(path):
            found.setdefault(os.path.abspath(recording), recording)  # noqa: PTH100 - a link has a name of its own
    if not found:
        raise UsageError(f"no recording ({RECORDING}) in {', '.join(map(str, paths))}")
    return list(found.values())


def _named(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            return sorted(_below(path))
        if path.is_file():
            return [path]
    except OSError as trouble:
        _refuse(trouble)
    raise UsageError(f"{path}: no such file or folder")


def _below(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder, onerror=_refuse):
        yield from (Path(where, name) for name in names if name.endswith(RECORDING))


def _refuse(trouble: OSError) -> NoReturn:
    """A folder that can't be looked through would shrink the corpus in silence."""
    raise UsageError(f"{trouble.filename}: {trouble.strerror}") from None


def orphans(paths: Iterable[Path]) -> list[Path]:
    """The expected files in the folders that are named whose recording is gone, as after a renaming."""
    there = {file for path in paths for ending in EXPECTED.values() for file in path.rglob(f"*{ending}")}
    return sorted(file for file in there if not _recording_of(file).exists())


def _recording_of(file: Path) -> Path:
    ending = next(ending for ending in EXPECTED.values() if file.name.endswith(ending))
    return file.with_name(file.name.removesuffix(ending) + RECORDING)


def beside(recording: Path, what: Kind) -> Path:
    """The file with the expected events or prompts of a recording."""
    return recording.with_suffix(EXPECTED[what])
