"""Differences in words, a few lines each."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from scannerd.messages import dumps
from scannerd.verify.changes import rule_told
from scannerd.verify.comparison import Difference
from scannerd.verify.expected import Expected, unequal

_SHOWN = 200
"""Characters of a recording's line that are shown."""


def described(difference: Difference, expected: Expected, recording: Path) -> str:
    """The line, its keys that differ, the recording's line that led to it, and the rule that decided."""
    wanted, told = difference
    if wanted is not None and told is not None:
        keys = [
            f"  {one.key}: expected {as_json(one.expected)}, told {as_json(one.told)}"
            for one in unequal(expected.parsed(wanted), told.parsed)
        ]
        said = [f"{expected.path}:{wanted.number}: told otherwise: {told.text.decode()}", *keys]
    elif wanted is not None:
        said = [f"{expected.path}:{wanted.number}: not told: {wanted.text.decode(errors='replace')}"]
    elif told is not None:
        said = [f"{expected.path}: not expected: {told.text.decode()}"]
    if told is not None:
        said.append(f"  from {recording}:{told.from_line}: {line_of(recording, told.from_line)}")
        rule = rule_told(told)
        said += [] if rule is None else [f"  by rule {rule.name}: {rule.when} -> {rule.verdict}"]
    return "\n".join(said)


def line_of(recording: Path, number: int) -> str:
    """A line of a recording, of a long one its beginning."""
    with recording.open("rb") as source:
        text = next(islice(source, number - 1, None), b"").decode(errors="replace").strip()
    return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text


def as_json(value: object) -> str:
    """A value as it stands in a line."""
    return dumps({"": value}).decode()[4:-1]


def counted(number: int, noun: str) -> str:
    """`1 recording`, `2 recordings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
