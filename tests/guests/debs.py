"""The package in two versions: that of this tree, and one of a later release, as an upgrade finds them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).parents[2]
BUILD_S = 900

_VERSION = "scannerd/__init__.py"


@dataclass(frozen=True)
class Debs:
    """Both packages.

    Attributes:
        first: of this tree.
        second: the same with a higher version.
        version: what the first one's daemon calls itself.
        next_version: the second one's.
    """

    first: Path
    second: Path
    version: str
    next_version: str


@contextmanager
def built() -> Iterator[Debs]:
    """Builds both, in a folder that is deleted at the end."""
    with tempfile.TemporaryDirectory() as folder:
        yield _both(Path(folder))


def _both(folder: Path) -> Debs:
    copied = folder / "tree"
    shutil.copytree(TREE, copied, ignore=shutil.ignore_patterns(".*", "__pycache__", "dist", "build"))
    line = (copied / _VERSION).read_text(encoding="utf-8")
    version = line.split('"')[-2]
    later = f"{version}.post1"
    first = _build(copied, folder)
    (copied / _VERSION).write_text(line.replace(f'"{version}"', f'"{later}"'), encoding="utf-8")
    return Debs(first, _build(copied, folder), version, later)


def _build(tree: Path, folder: Path) -> Path:
    """Builds the package of a tree, and returns it; made in haste, it is larger than what `make deb` makes."""
    haste = {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    said = subprocess.run(
        [tree / "deb/build.sh", folder],
        check=True,
        timeout=BUILD_S,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TOOLS": str(Path(sys.executable).parent), **haste},
    )
    return Path(said.stdout.strip().splitlines()[-1])
