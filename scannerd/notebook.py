"""What the daemon remembers over restarts beside the table's state: how well reads went, and its last self-check.

It lives in the journal's state rows and is folded from the events after the last one, as the state is; the core, which
decides about cards, has no part in it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from scannerd.core import decisions as d
from scannerd.upkeep.reject_rate import Counted, RejectRate


class Watched(NamedTuple):
    """Which reject rate is too high, and of which scanners."""

    one_in: int = 0
    window: int = 0
    scanners: tuple[str, ...] = ()


class Digests(NamedTuple):
    """What a self-check found; None where it could not be read."""

    code: str | None
    config: str | None
    codebooks: dict[str, str]

    def other_than(self, before: Digests) -> tuple[Literal["code", "config", "codebooks"], ...]:
        """What is not as it was."""
        names: tuple[Literal["code", "config", "codebooks"], ...] = ("code", "config", "codebooks")
        return tuple(name for name in names if getattr(self, name) != getattr(before, name))


class Notes(BaseModel):
    """The notebook as a state row keeps it.

    `reads` has, for each scanner and card, which it is, its reads, and the places of its last rejections.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    reads: list[tuple[str, str, int, tuple[int, ...]]] = []
    checked: Digests | None = None


class Notebook:
    """Takes every event that is written down.

    Attributes:
        rejects: how often reads are rejected.
        checked: what the last self-check found, or None before the first.
    """

    def __init__(self, watched: Watched = Watched()) -> None:  # noqa: B008 - a frozen tuple
        """Nothing is in it yet."""
        self._watched = watched
        self.rejects = RejectRate(*watched)
        self.checked: Digests | None = None

    def watch(self, watched: Watched) -> None:
        """From now on another reject rate is too high; what was counted counts on."""
        self._watched = watched
        self.rejects = RejectRate(*watched, self.rejects.counted())

    def restore(self, notes: Notes) -> None:
        """Takes what a state row kept."""
        past = {(kind, which): Counted(reads, rejected) for kind, which, reads, rejected in notes.reads}
        self.rejects = RejectRate(*self._watched, past)
        self.checked = notes.checked

    def note(self, told: d.Told) -> None:
        """Takes an event."""
        self.rejects.count(told)
        if isinstance(told, d.SelfChecked):
            self.checked = Digests(told.code_digest, told.config_digest, told.codebooks)

    def notes(self) -> Notes:
        """For a state row."""
        counted = self.rejects.counted().items()
        reads = [(kind, which, reads, rejected) for (kind, which), (reads, rejected) in counted]
        return Notes.model_construct(reads=reads, checked=self.checked)
