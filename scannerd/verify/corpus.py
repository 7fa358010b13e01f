"""A corpus: recordings in folders, and beside each what it must give.

Beside `x.scanlog` stands `x.expected.jsonl`, the events, and where somebody wants to have the prompts looked at too
`x.prompts.jsonl`. A recording without expected events is a failure: a corpus must not shrink in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scannerd.errors import UsageError
from scannerd.verify.expected import Kind

RECORDING = ".scanlog"
EXPECTED: dict[Kind, str] = {"event": ".expected.jsonl", "prompt": ".prompts.jsonl"}
"""The ending of the files beside a recording, by what they hold."""


def find(paths: Iterable[Path]) -> list[Path]:
    """The recordings that are named, and those in the folders that are named, each once.

    Raises:
        UsageError: a path is not there, or there is no recording at all.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(path.rglob(f"*{RECORDING}")))
        elif path.is_file():
            found[path] = None
        else:
            raise UsageError(f"{path}: no such file or folder")
    if not found:
        raise UsageError(f"no recording ({RECORDING}) in {', '.join(map(str, paths))}")
    return list(found)


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
