"""The outcomes of a verification summed up, for a terminal and for reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scannerd.errors import Exit
from scannerd.verify.changes import in_order, in_short, total
from scannerd.verify.describing import counted
from scannerd.verify.outcome import Outcome, Updated


class Figures(NamedTuple):
    """How many recordings there were of each kind, events in all, and files that were written."""

    recordings: int
    events: int
    well: int
    different: int
    unusable: int
    written: int

    def __str__(self) -> str:
        """As the last line of a verification."""
        said = (
            f"{counted(self.recordings, 'recording')}, {counted(self.events, 'event')}: "
            f"{self.well} as expected, {self.different} different, {self.unusable} unusable"
        )
        return f"{said}; {counted(self.written, 'file')} written" if self.written else said


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Counts."""
    unusable = sum(one.error is not None for one in outcomes)
    different = sum(one.error is None and bool(one.differences) for one in outcomes)
    return Figures(
        len(outcomes),
        sum(one.events for one in outcomes),
        len(outcomes) - unusable - different,
        different,
        unusable,
        sum(len(one.updated) for one in outcomes),
    )


def exit_code(outcomes: Iterable[Outcome]) -> Exit:
    """2 where a recording can't be used, else 1 where something differs, else 0."""
    worst = Exit.WELL
    for outcome in outcomes:
        if outcome.error is not None:
            return Exit.USAGE
        worst = Exit.DIFFERENCE if outcome.differences else worst
    return worst


def update_in_words(updated: Updated) -> list[str]:
    """What was written, and what changed in it."""
    if updated.changes is None:
        return [f"{updated.path}: written, new: {counted(updated.lines, 'line')}"]
    changes = [f"  {change}{_times(count)}" for change, count in in_order(updated.changes)]
    return [f"{updated.path}: written: {in_short(updated.changes)}", *changes]


def changes_in_words(outcomes: Iterable[Outcome]) -> list[str]:
    """What changed in all files together, where more than one did; and the rules by which, in words."""
    changed = [updated.changes for one in outcomes for updated in one.updated if updated.changes is not None]
    changes = total(changed)
    lines = [f"  {change}{_times(times)}, in {counted(files, 'file')}" for change, times, files in changes]
    altogether = [f"in {counted(len(changed), 'file')} altogether:", *lines] if len(changed) > 1 else []
    rules = dict.fromkeys(change.rule for change, _, _ in changes if change.rule is not None)
    return altogether + [f"rule {rule.name}: {rule.when} -> {rule.verdict}" for rule in rules]


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"
