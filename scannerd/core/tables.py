"""The rules of the deal as Markdown tables, for the README: made of the very rows by which the core decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from scannerd.core import decisions as d
from scannerd.core.commands import COMMANDS
from scannerd.core.failed_reads import FAILED_ROWS
from scannerd.core.reads import READ_ROWS
from scannerd.core.rows import ANY, Row, sentence
from scannerd.core.rules import OTHER_RULES

E = TypeVar("E")


def markdown_reads() -> str:
    """The rows by which a card that was read is judged, in their order."""
    return _rows(READ_ROWS)


def markdown_failed_reads() -> str:
    """The rows by which a read that gave no card is judged, in their order."""
    return _rows(FAILED_ROWS)


def markdown_others() -> str:
    """The rules of what is neither a read nor a command."""
    return _table(("rule", "when", "what follows"), (other.rule for other in OTHER_RULES))


def markdown_commands() -> str:
    """The commands that change a deal: where each is allowed, what it does, and its refusal elsewhere."""
    rows = [(f"`{name}`", _phases(rule.phases), rule.does, f"`{rule.refusal}`") for name, rule in COMMANDS.items()]
    return _table(("command", "allowed", "does", "refused elsewhere with"), rows)


def _rows(rows: tuple[Row[E], ...]) -> str:
    cells = [(row.number, _phases(row.phases), sentence(row.when.__doc__), row.verdict) for row in rows]
    return _table(("#", "phase", "when", "verdict"), cells)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _phases(phases: tuple[d.Phase, ...]) -> str:
    return "any" if phases == ANY else ", ".join(phases)
