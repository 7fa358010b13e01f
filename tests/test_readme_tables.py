"""The README's tables of rules are those by which the core decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.core.commands import COMMANDS
from scannerd.core.reads import READ_ROWS
from scannerd.core.tables import markdown_commands, markdown_reads

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize(("name", "made"), [("reads", markdown_reads()), ("commands", markdown_commands())])
def test_the_readme_shows_the_rules_as_they_are(name: str, made: str) -> None:
    """What stands between a table's marks is what the core's own rows say."""
    _, _, rest = README.read_text(encoding="utf-8").partition(f"<!-- table:{name} -->\n")
    shown, mark, _ = rest.partition(f"<!-- /table:{name} -->")
    assert mark
    assert made == shown


def test_each_row_is_a_line_of_its_table() -> None:
    """The tables leave out no row and no command, and no cell breaks out of its line."""
    reads, commands = markdown_reads().splitlines(), markdown_commands().splitlines()
    assert [row.number for row in READ_ROWS] == [line.split(" | ")[0].removeprefix("| ") for line in reads[2:]]
    assert [f"| `{name}`" for name in COMMANDS] == [line.split(" | ")[0] for line in commands[2:]]
    assert {5} == {line.count("|") for line in [*reads, *commands]}
