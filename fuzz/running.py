"""Searches in processes of their own, and what came of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fuzz.target import Target

GRACE_S = 120
"""Seconds beyond its time after which a search is ended: it imports and reads its corpus before it begins."""

_ROOT = Path(__file__).resolve().parent.parent
_INPUTS = re.compile(r"number_of_executed_units: (\d+)|^#(\d+)\t", re.MULTILINE)
_COVERAGE = re.compile(r" cov: (\d+)")
_LINES_SHOWN = 30
_BYTES_SHOWN = 1024
_UNCAUGHT = "=== Uncaught Python exception: ==="


@dataclass(frozen=True)
class Outcome:
    """What came of the search in one target.

    Attributes:
        name: the target.
        failed: it ended otherwise than by its time.
        log: what it said at last: from the exception on, or else a few lines.
        inputs: how many it tried.
        coverage: how many places in the code they reached.
        artifact: the input that broke something; None: none did.
    """

    name: str
    failed: bool
    log: str
    inputs: int
    coverage: int
    artifact: Path | None

    def keep(self, target: Target, folder: Path) -> str:
        """Writes what was found to a folder, and says where, what is wrong and what to do."""
        assert self.artifact is not None, "asked only where there is one"  # noqa: S101 - the caller looked
        data = self.artifact.read_bytes()
        kept = target.kept(data)
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{self.name}-{sha256(data).hexdigest()[:8]}"
        file, plain = stem.with_name(stem.name + kept.suffix), stem.with_name(f"{stem.name}.input")
        file.write_bytes(kept.content)
        plain.write_bytes(data)
        again = f"Try it: .venv/bin/python -m fuzz {self.name} --try {plain}"
        return f"{self._fault()}\nInput: {_in_hex(data)}\nWritten: {file}\n{again}\n{kept.advice.format(file=file)}"

    def _fault(self) -> str:
        """What the process said of it: the exception, or that it took too long or too much."""
        said = [line.strip() for line in self.log.splitlines() if line.strip()]
        if said and said[0] == _UNCAUGHT:
            return " ".join(said[1:2])
        return next((line for line in said if "libFuzzer" in line), "see the log")


@dataclass(frozen=True)
class Search:
    """One target, to be searched for so many seconds; its files are in a folder of its own."""

    name: str
    folder: Path
    seconds: int

    def run(self) -> Outcome:
        """Runs it to its end."""
        home = self.folder / self.name
        for old in _artifacts(home):
            old.unlink()  # what was found before is kept elsewhere
        home.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "fuzz.search", self.name, str(home), str(self.seconds)]
        ended = subprocess.run(  # noqa: S603 - our own module
            command,
            cwd=home,  # whatever a target may write without a path lands there
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=self.seconds + GRACE_S,
        )
        said = ended.stdout.decode(errors="replace")
        (home / "log").write_text(said, encoding="utf-8")
        return Outcome(
            self.name,
            ended.returncode != 0,
            _end_of(said),
            max((int(one or other) for one, other in _INPUTS.findall(said)), default=0),
            max(map(int, _COVERAGE.findall(said)), default=0),
            next(iter(_artifacts(home)), None),
        )


def run_all(searches: Sequence[Search], jobs: int) -> Iterator[Outcome]:
    """Runs searches, so many at a time, and yields what came of them, in their order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(Search.run, searches)


def _in_hex(data: bytes) -> str:
    """The input for `xxd -r -p`, in a log that outlives the machine it was found on; of a long one only its length."""
    return data.hex() if len(data) <= _BYTES_SHOWN else f"{len(data)} bytes"


def _end_of(said: str) -> str:
    at = said.rfind(_UNCAUGHT)
    return said[at:] if at >= 0 else "\n".join(said.splitlines()[-_LINES_SHOWN:])


def _artifacts(home: Path) -> list[Path]:
    return sorted(path for path in (home / "artifacts").glob("*-*") if not path.name.startswith("slow-unit"))
