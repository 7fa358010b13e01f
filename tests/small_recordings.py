"""Small recordings for tests: one `line` scanner named `desk`, rounds opened by their first card."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

HEADER: dict[str, object] = {
    "scanlog": 1,
    "table": "tp-01",
    "game": "teen-patti-20-20",
    "recorded_at": "2026-11-30T02:45:00Z",
    "round": {"start": "auto"},
    "scanners": {"desk": {"driver": "line"}},
}

OPENED = '{"t":1,"type":"round_opened","round":"tp-01/1","data":{"by":"auto"}}'
"""The first event of `CARDS`, with one key of its data."""

ACE = '{"t":1,"type":"card_accepted","round":"tp-01/1","data":{"slot":"A1","card":"AS"}}'
KING = '{"t":2.5,"type":"card_accepted","round":"tp-01/1","data":{"slot":"B1","card":"KH"}}'
"""The second and third one."""


def read(t: float, code: str) -> dict[str, object]:
    """The scanner sends a code and a line end."""
    return {"t": t, "scanner": "desk", "rx": f"{code}\r\n"}


CARDS = (read(1, "AS"), read(2.5, "KH"))


def write(path: Path, *entries: dict[str, object], header: dict[str, object] | None = None) -> Path:
    """Writes a recording; returns its path."""
    return write_lines(path, map(json.dumps, (HEADER if header is None else header, *entries)))


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    """Writes lines; returns the path."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
