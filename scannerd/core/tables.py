"""The rules of the deal as Markdown tables, for the README: made of the very rows by which the core decides."""

from __future__ import annotations

from collections.abc import Iterable

from scannerd.core import decisions as d
from scannerd.core.commands import COMMANDS
from scannerd.core.reads import ANY, READ_ROWS


def markdown_reads() -> str:
    """The rows by which a card that was read is judged, in their order."""
    rows = [(row.number, _phases(row.phases), _sentence(row.when.__doc__), row.verdict) for row in READ_ROWS]
    return _table(("#", "phase", "when", "verdict"), rows)


def markdown_commands() -> str:
    """The commands that change a deal: where each is allowed, what it does, and its refusal elsewhere."""
    rows = [(f"`{name}`", _phases(rule.phases), rule.does, f"`{rule.refusal}`") for name, rule in COMMANDS.items()]
    return _table(("command", "allowed", "does", "refused elsewhere with"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _phases(phases: tuple[d.Phase, ...]) -> str:
    return "any" if phases == ANY else ", ".join(phases)


def _sentence(text: str | None) -> str:
    """A docstring on one line, without its full stop."""
    assert text is not None, "every condition says itself in words"
    return " ".join(text.split()).removesuffix(".")
