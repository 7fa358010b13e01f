"""The guides in docs/: nothing of the contract is left out, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from scannerd.cli import COMMANDS
from scannerd.core.events import AlarmName
from scannerd.reload import LIVE
from scannerd.texts import texts

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
OPERATORS = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
DRIVERS = (ROOT / "docs" / "drivers.md").read_text(encoding="utf-8")

PROMPTS = {
    "wait",
    "deal",
    "rescan",
    "call_supervisor",
    "scanner_down",
    "scanner_error",
    "network_down",
    "storage_fault",
    "complete",
}
ALARMS = set(get_args(AlarmName))


def rows(heading: str) -> dict[str, list[str]]:
    """The table below a heading of the operator's guide: the other cells by the code in the first one."""
    section = OPERATORS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    return {cells[0].strip("`"): cells[1:] for cells in lines if cells[0].startswith("`")}


@pytest.mark.parametrize(("heading", "codes"), [("What the dealer reads", PROMPTS), ("Alarms", ALARMS)])
def test_each_code_is_explained(heading: str, codes: set[str]) -> None:
    """Every prompt and every alarm has what it means and what to do, and no other is named."""
    found = rows(heading)
    assert codes == found.keys()
    assert all(len(cells) == 2 and all(cells) for cells in found.values())


def test_prompts_are_those_that_have_words() -> None:
    """The prompts of the guide are those that the dealer can read."""
    assert PROMPTS == {re.sub("_(0|bare|conflict)$", "", name) for name in texts("en").prompts}


def test_what_changes_at_a_reload_is_told() -> None:
    """The guide names each key, or its whole section, that a reload takes over."""
    section = OPERATORS.partition("\n## Change a configuration\n")[2].partition("\n## ")[0]
    for key in LIVE:
        name, option = key.split(".")
        assert option in section or f"[{name}]" in section


@pytest.mark.parametrize("path", [*DOCS, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Each link of a guide to a file of the project leads to one."""
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert link.startswith("http") or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_commands_exist(path: Path) -> None:
    """Each command of scannerd that a guide names is one."""
    named = set(re.findall(r"(?:^|[`(])scannerd ([a-z]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert set() == named - COMMANDS.keys()


def test_guide_to_drivers_shows_the_example_that_is_tested() -> None:
    """What the guide shows of the example driver stands in the example."""
    example = ROOT / "tests" / "example_driver"
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", DRIVERS, re.DOTALL)
    there = "".join((example / name).read_text(encoding="utf-8") for name in ("check_example.py", "pyproject.toml"))
    assert 2 == len(shown)
    for text in shown:
        assert text in there


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_tests_exist(path: Path) -> None:
    """Each test that a guide names as a proof is there."""
    for file, name in re.findall(r"`(tests/\w+\.py)::(\w+)`", path.read_text(encoding="utf-8")):
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), name


def test_standards_are_supported_and_not_certified() -> None:
    """The page about standards claims no certification, and each of its rows about GLI-19 names a clause to look up."""
    text = (ROOT / "docs" / "standards.md").read_text(encoding="utf-8")
    assert "no claim of certification" in text
    table = text.partition("## GLI-19")[2].partition("## ")[0]
    clauses = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][1:]
    assert clauses
    assert [] == [one for one in clauses if not re.fullmatch(r"\| [A-C\d]\.[\d.]+(, [A-C\d]\.[\d.]+)*", one)]


@pytest.mark.parametrize("file", ["operators.md", "standards.md"])
def test_options_and_sections_exist(file: str) -> None:
    """Each section and each alarm that a guide names in code is one of the configuration, or of the contract."""
    text = (ROOT / "docs" / file).read_text(encoding="utf-8")
    sections = {"table", "scanner", "round", "mqtt", "display", "record", "journal", "alarms"}
    assert set() == set(re.findall(r"`\[([a-z]+)\]", text)) - sections
    assert set() == set(re.findall(r"[aA]larms? `([a-z_]+)`", text)) - ALARMS
