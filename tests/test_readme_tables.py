"""The README's tables of rules are those by which the core decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.core.commands import COMMANDS
from scannerd.core.failed_reads import FAILED_ROWS
from scannerd.core.reads import READ_ROWS
from scannerd.core.rules import OTHER_RULES
from scannerd.core.tables import markdown_commands, markdown_failed_reads, markdown_others, markdown_reads

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("reads", markdown_reads()),
        ("failed-reads", markdown_failed_reads()),
        ("commands", markdown_commands()),
        ("others", markdown_others()),
    ],
)
def test_the_readme_shows_the_rules_as_they_are(name: str, made: str) -> None:
    """What stands between a table's marks is what the core's own rows say."""
    _, _, rest = README.read_text(encoding="utf-8").partition(f"<!-- table:{name} -->\n")
    shown, mark, _ = rest.partition(f"<!-- /table:{name} -->")
    assert mark
    assert made == shown


def test_each_row_is_a_line_of_its_table() -> None:
    """The tables leave out no row and no command, and no cell breaks out of its line."""
    reads, failed, commands, others = (
        made.splitlines()
        for made in (markdown_reads(), markdown_failed_reads(), markdown_commands(), markdown_others())
    )
    numbers = [row.number for row in READ_ROWS] + [row.number for row in FAILED_ROWS]
    assert numbers == [line.split(" | ")[0].removeprefix("| ") for line in [*reads[2:], *failed[2:]]]
    assert [f"| `{name}`" for name in COMMANDS] == [line.split(" | ")[0] for line in commands[2:]]
    assert [f"| {other.rule.name}" for other in OTHER_RULES] == [line.split(" | ")[0] for line in others[2:]]
    assert {5} == {line.count("|") for line in [*reads, *failed, *commands]}
    assert {4} == {line.count("|") for line in others}


def test_no_two_rules_have_one_name() -> None:
    """A rule's name says which it is, whatever kind of event it judges."""
    names = [row.number for row in READ_ROWS] + [row.number for row in FAILED_ROWS] + [*COMMANDS]
    names += [other.rule.name for other in OTHER_RULES]
    assert len(names) == len(set(names))
