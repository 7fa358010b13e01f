"""A live table's recording and a configuration to try on it: one `line` scanner named `desk`, as small recordings."""

from __future__ import annotations

from pathlib import Path

from scannerd.config import load
from scannerd.shadow.rounds import Compared
from scannerd.shadow.running import Finding, Tables, given
from tests.small_recordings import read

CONFIG = """
[table]
id = "{table}"
state_dir = "{folder}/state"
[[scanner]]
name = "desk"
driver = "line"
url = "/dev/nothing"
{scanner}
[round]
start = "auto"
{rules}
"""
HANDS = ("AS", "KH", "2C", "3D", "4S", "5H"), ("6C", "7C", "8C", "9C", "TC", "JC"), ("2H", "3H", "4H", "6H", "7H", "8H")
"""The cards of three rounds."""


def configured(folder: Path, *, scanner: str = "", rules: str = "", table: str = "tp-01") -> Path:
    """Writes a configuration: further lines of its scanner and of its rules."""
    path = folder / "new.toml"
    path.write_text(CONFIG.format(folder=folder, scanner=scanner, rules=rules, table=table), encoding="utf-8")
    return path


def deals(*hands: tuple[str, ...], every_s: int = 20) -> list[dict[str, object]]:
    """A round every so many seconds, a card a second from its beginning on."""
    return [
        read(every_s * number + 1 + place, code)
        for number, codes in enumerate(hands)
        for place, code in enumerate(codes)
    ]


def compared(recording: Path, new: Path, live: Path | None = None) -> list[Compared]:
    """Every round of a recording, what came before the first one included."""
    return [finding.compared for finding in found(recording, new, live)]


def found(recording: Path, new: Path, live: Path | None = None) -> list[Finding]:
    """The same, with the times of day."""
    return list(given([recording], Tables(load(new), None if live is None else load(live), lambda _: None)))


def differing(rounds: list[Compared]) -> list[str | None]:
    """The rounds that differ."""
    return [one.round for one in rounds if one.differences]
