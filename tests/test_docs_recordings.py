"""The guide from trouble to a test: what it shows is what the commands print, and each of them is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.cli.scanlog import COMMANDS
from scannerd.errors import Exit

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")


def test_the_guide_shows_what_the_timeline_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of a timeline in the guide are those of the recording that its picture is of."""
    assert Exit.WELL == run(["scanlog", "show", str(ROOT / "tests" / "recordings" / "odd-round.scanlog")])
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    (shown,) = [block for language, block in blocks if not language]
    assert shown in capsys.readouterr().out


def test_the_guide_names_every_verb() -> None:
    """Every verb of `scannerd scanlog` has its place in the guide."""
    assert set(COMMANDS) == set(re.findall(r"scannerd scanlog ([a-z]+)", GUIDE))
