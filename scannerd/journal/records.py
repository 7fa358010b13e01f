"""What goes into a journal and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scannerd.canonical import FIRST_PREV

Previous: TypeAlias = Literal["first", "clean", "crash"]
"""How the run before this one ended; `first`: there was none."""


@dataclass(frozen=True, slots=True)
class Record:
    """One event as published.

    Attributes:
        seq: its number, from 1, without gaps.
        type: the event's type.
        round: the round's id, or None.
        at: UTC on the wire, RFC 3339 with microseconds and `Z`.
        hash: 64 hex digits.
        body: the exact bytes that go out: canonical JSON of the whole event with its hash.
    """

    seq: int
    type: str
    round: str | None
    at: str
    hash: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What is written in one transaction with one sync: all of it or nothing.

    Attributes:
        records: events, numbered on from the journal's head.
        replies: a command's id and its reply as JSON; the last 1,000 are kept.
        checkpoint: the state after the last record, from which the next start folds on; opaque here.
        cursor: the last seq that the broker acknowledged.
        clean: True at an orderly stop, False at a start.
    """

    records: tuple[Record, ...] = ()
    replies: tuple[tuple[str, bytes], ...] = ()
    checkpoint: bytes | None = None
    cursor: int | None = None
    clean: bool | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain ends; seq 0 and 64 zeros in an empty journal."""

    seq: int = 0
    hash: str = FIRST_PREV


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The last event that was deleted because of its age, and how many rounds had been opened by then."""

    head: Head = Head()
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """The journal's one row about itself.

    Attributes:
        table: the table's id.
        journal: the journal's UUID.
        head: the last event.
        cursor: the last seq that the broker acknowledged.
        clean: whether the last run ended in an orderly way; None before the first run.
        rounds: how many rounds were opened.
        trimmed: what was deleted because of its age.
    """

    table: str
    journal: str
    head: Head
    cursor: int
    clean: bool | None
    rounds: int
    trimmed: Trimmed = Trimmed()
