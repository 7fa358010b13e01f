"""Recordings of deals that never were: what the driver `simulator` would send, written down instead of waited for.

The simulated scanner is the driver's; here it becomes a recording, with its header, its codebook and its commands. The
same choices give the same bytes, so the header holds a fixed date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from scannerd.codebooks import Codebook
from scannerd.config.settings import Round
from scannerd.core.cards import DECK, Card
from scannerd.errors import DriverUnusable, UsageError
from scannerd.registry import Registry, parse_options
from scannerd.scanlog import Entry, Header, Order

DRIVER = "simulator"
"""The driver that simulates."""

SCANNER = "shoe"
"""The simulated scanner's name."""

RECORDED_AT = datetime(2026, 1, 1, tzinfo=UTC)

Start = Literal["command", "auto"]
Spelling = Callable[[Card], str]


@runtime_checkable
class Simulator(Protocol):
    """What the driver `simulator` can do besides what every driver can."""

    def stanza(self) -> dict[str, object]:
        """The keys under which a header names the simulated scanner."""

    def spelling(self) -> Spelling:
        """The code of each card unless `entries` is told otherwise."""

    def entries(self, scanner: str, spell: Spelling | None = None) -> Iterator[Entry]:
        """What happens at the table, each round begun by the command `open`."""


def simulator(options: dict[str, object], registry: Registry) -> Simulator:
    """The driver that simulates, with its options.

    Raises:
        DriverUnusable: it is not installed, or it is another one of that name.
        pydantic.ValidationError: an option does not fit.
    """
    found = registry.load(DRIVER)
    made = found(parse_options(found, options))
    if not isinstance(made, Simulator):
        raise DriverUnusable(f"driver {DRIVER!r} of package {registry.package(DRIVER)} does not simulate")
    return made


def has_codebook(made: Simulator, registry: Registry) -> bool:
    """Whether the simulated driver knows its codes without being told a codebook."""
    return registry.load(str(made.stanza()["driver"])).codes is not None


def header(made: Simulator, game: str, start: Start, codes: str | None) -> Header:
    """The first line of the recording; `codes` None: the simulated driver's own codebook."""
    stanza = made.stanza() if codes is None else {**made.stanza(), "codes": codes}
    return Header(
        scanlog=1,
        table="simulated",
        game=game,
        recorded_at=RECORDED_AT,
        round=Round(start=start),
        scanners={SCANNER: stanza},
        note="Simulated.",
    )


def kept(told: Iterable[Entry], start: Start) -> Iterator[Entry]:
    """The entries of the recording: where the first card opens a round, nobody commands it."""
    return (entry for entry in told if start == "command" or not isinstance(entry, Order))


def spelling_of(book: Codebook) -> Spelling:
    """Writes cards in the codes of a codebook: as rank and suit if it has that, else by each card's first code.

    Raises:
        UsageError: it has no code of plain characters, which every format can send, for some card.
    """
    codes: dict[Card, str] = {}
    for code, meaning in book.meanings.items():
        if isinstance(meaning, str) and code.isascii() and code.isprintable():
            codes.setdefault(meaning, code)
    codes |= {card: card for card in DECK if book.lookup(card) == card}
    if len(codes) < len(DECK):
        raise UsageError(
            f"codebook {book.name}: no code in ASCII for {next(card for card in DECK if card not in codes)}"
        )
    return codes.__getitem__


def write_codebook(path: Path, spell: Spelling) -> None:
    """Writes the codebook of a simulated deck whose codes are in no other, over that of another simulated deck at most.

    Raises:
        UsageError: the file is there and is another's, such as one that somebody has enrolled.
        OSError: the file can't be written.
    """
    lines = ["[deck]", 'name = "simulated"', "", "[cards]"]
    if path.exists() and not path.read_bytes().startswith("\n".join(lines).encode()):
        raise UsageError(f"{path}: is another codebook, and is not written over: name it with --codes, or change -o")
    lines += [f"{json.dumps(spell(card))} = {json.dumps(card)}" for card in DECK]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
