"""A rule as data: in these phases, when this holds, this is decided; of several rows the first that fits decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from scannerd.core import decisions as d
from scannerd.core.outcomes import Decisions
from scannerd.core.state import State

E = TypeVar("E")

ANY: tuple[d.Phase, ...] = ("idle", "dealing", "held", "complete")
BETWEEN: tuple[d.Phase, ...] = ("idle", "complete")


class Row(NamedTuple, Generic[E]):
    """A rule for a read, good or failed; the docstring of `when` says it, `verdict` what follows."""

    number: str
    phases: tuple[d.Phase, ...]
    when: Callable[[State, E], bool]
    then: Callable[[State, E], Decisions]
    verdict: str


ByPhase: TypeAlias = dict[d.Phase, tuple[Row[E], ...]]


def by_phase(rows: tuple[Row[E], ...]) -> ByPhase[E]:
    """The rows of each phase, in their order."""
    return {phase: tuple(row for row in rows if phase in row.phases) for phase in ANY}


def first(rows: ByPhase[E], state: State, event: E) -> Row[E]:
    """The row that decides; the last row of each phase always fits."""
    here, place = rows[state.phase], 0
    while not here[place].when(state, event):
        place += 1
    return here[place]


def sentence(text: str | None) -> str:
    """A condition's docstring on one line, without its full stop."""
    assert text is not None, "every condition says itself in words"
    return " ".join(text.split()).removesuffix(".")
