"""What a check says: that something is in order, or may become trouble, or is wrong, and then what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["ok", "warn", "fail"]
"""`fail`: the table does not run as it should, or will not; `warn`: worth knowing, and no reason to stop."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: what was looked at, one word, for machines.
        level: how it stands.
        text: what was found, one line.
        remedy: what to do, one line; empty where all is well.
    """

    check: str
    level: Level
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", text)


def warn(check: str, text: str, remedy: str) -> Finding:
    """It may become trouble."""
    return Finding(check, "warn", text, remedy)


def fail(check: str, text: str, remedy: str) -> Finding:
    """It is wrong."""
    return Finding(check, "fail", text, remedy)
