"""Mutants that no test killed, and the reasons why none can."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

EXPLAINED = Path(__file__).with_name("explained.toml")


@dataclass(frozen=True, slots=True)
class Survivor:
    """A change that no test noticed.

    Attributes:
        module: the file, from the root of the tree.
        operator: cosmic-ray's name for the kind of change, without its `core/`.
        before: the line as it is, without its indentation.
        after: the line as the mutant has it.
    """

    module: str
    operator: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.module}: {self.operator}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why mutants of one line that match `operator`, a pattern as of a shell, can't be killed."""

    module: str
    line: str
    operator: str
    why: str

    def fits(self, survivor: Survivor) -> bool:
        """Whether it is this mutant that is explained."""
        same = (self.module, self.line) == (survivor.module, survivor.before)
        return same and fnmatchcase(survivor.operator, self.operator)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a run: survivors that nobody explained, and explanations of what did not survive."""

    unexplained: Sequence[Survivor]
    needless: Sequence[Explanation]

    @property
    def well(self) -> bool:
        """Whether nothing is left to do."""
        return not self.unexplained and not self.needless


def explanations(path: Path = EXPLAINED) -> list[Explanation]:
    """What `explained.toml` says.

    Raises:
        TypeError: an entry lacks a key, or has one too many.
    """
    return [Explanation(**entry) for entry in tomllib.loads(path.read_text()).get("mutant", [])]


def judge(survivors: Iterable[Survivor], explained: Sequence[Explanation]) -> Verdict:
    """Holds the survivors against the explanations."""
    found = tuple(survivors)
    unexplained = tuple(one for one in found if not any(why.fits(one) for why in explained))
    needless = tuple(why for why in explained if not any(why.fits(one) for one in found))
    return Verdict(unexplained, needless)


def survivors(dump: Iterable[str]) -> Iterator[Survivor]:
    """The survivors among what `cosmic-ray dump` prints: a work item and its result on each line."""
    for line in dump:
        item, result = json.loads(line)
        if result is not None and result["test_outcome"] == "survived":
            change = item["mutations"][0]
            before, after = _lines(result["diff"])
            yield Survivor(change["module_path"], change["operator_name"].removeprefix("core/"), before, after)


def _lines(diff: str) -> tuple[str, str]:
    """The first line that a difference takes away, and the first that it adds instead."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    gone = (line[1:].strip() for line in lines if line.startswith("-"))
    come = (line[1:].strip() for line in lines if line.startswith("+"))
    return next(gone, ""), next(come, "")
