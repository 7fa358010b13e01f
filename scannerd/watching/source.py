"""What brings a table to the terminal, and takes its wishes away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from scannerd.watching.desk import Guard, Outcome
from scannerd.watching.known import Told

Tell: TypeAlias = Callable[[Told], None]
"""Takes what a source has to tell; from any thread, and at once."""


class Source(Protocol):
    """One table's."""

    @property
    def table(self) -> str:
        """The table's id."""

    @property
    def guard(self) -> Guard:
        """Who decides whether an action is allowed."""

    @property
    def standing(self) -> bool:
        """Whether the table is connected, so that what was told last is what is so."""

    def open(self, tell: Tell) -> None:
        """Begins to tell, and returns at once."""

    def close(self) -> None:
        """Ends; waits no longer than 2 s."""

    def sign_in(self, name: str, pin: str) -> Outcome:
        """Checks who is there; may take some seconds."""

    def act(self, name: str, command: str, fields: Mapping[str, str]) -> Outcome:
        """Sends a command in somebody's name and waits for its reply, at most some seconds."""
