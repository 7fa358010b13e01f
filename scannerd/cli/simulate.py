"""`scannerd simulate`: a recording of deals that never were, with faults at chosen rates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click
from pydantic import ValidationError

from scannerd import games
from scannerd.codebooks import load_codebook
from scannerd.errors import UsageError
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Order, ScanlogWriter
from scannerd.simulation import (
    SCANNER,
    Simulator,
    Spelling,
    Start,
    has_codebook,
    header,
    kept,
    simulator,
    spelling_of,
    write_codebook,
)

_STDOUT = Path("-")
_FAULTS = {
    "misread": "How often a card does not read.",
    "duplicate": "How often an earlier card of the round is scanned instead.",
    "bounce": "How often a card is read twice at once.",
    "multi-read": "How often the next card is read with a card.",
    "extra": "How often one more card is scanned after a round.",
    "unplug": "How often the scanner is lost in the middle of a card and comes back.",
}


def _with_faults(command: Callable[..., None]) -> Callable[..., None]:
    """Adds an option for the rate of each fault."""
    for name, told in reversed(_FAULTS.items()):
        rate = click.FloatRange(0, 1)
        command = click.option(f"--{name}", type=rate, default=0.0, metavar="RATE", help=f"{told} 0 to 1.")(command)
    return command


@click.command(short_help="Write a recording with chosen fault rates.")
@click.option("--rounds", type=click.IntRange(min=1), required=True, help="How many rounds are dealt.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same recording.")
@click.option("--driver", default="line", show_default=True, help="The driver that reads it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The recording; - is stdout.")
@click.option("--game", default="teen-patti-20-20", show_default=True, help="The game that is dealt.")
@click.option("--codes", help="The codebook: a built-in name or a file; by default the driver's.")
@click.option(
    "--start",
    type=click.Choice(["command", "auto"]),
    default="auto",
    show_default=True,
    help="What opens a round: a command, or its first card.",
)
@click.option("--card-ms", type=click.IntRange(min=400), default=1500, show_default=True, help="From card to card.")
@_with_faults
def simulate(  # noqa: PLR0913 - an argument an option
    *, rounds: int, driver: str, output: Path, game: str, codes: str | None, start: Start, **options: object
) -> None:
    """Write a recording of a dealer at work, with faults at chosen rates.

    The dealer reacts as the prompt asks: scans again what did not read, waits between rounds. A driver whose cards need
    a codebook of their own gets one, `<output>.codes.toml`, unless --codes names one.
    """
    made = _simulator(game, {"format": driver, "rounds": rounds, **options})
    with _told_as_usage(output):
        book, spell = _codebook(made, codes, output)
        with _opened(output) as target:
            writer = ScanlogWriter(target, header(made, game, start, book))
            for entry in kept(_with_progress(made.entries(SCANNER, spell), rounds), start):
                writer.write(entry)


def _simulator(game: str, options: dict[str, object]) -> Simulator:
    try:
        cards = len(games.load(game).slots)
    except ValueError as error:
        raise UsageError(f"--game: {error}, found {game!r}") from None
    try:
        return simulator({**options, "cards": cards}, Registry())
    except ValidationError as invalid:
        first = invalid.errors()[0]
        name = str(first["loc"][0])
        raise UsageError(f"--{'driver' if name == 'format' else name}: {first['msg']}") from None


def _codebook(made: Simulator, codes: str | None, output: Path) -> tuple[str | None, Spelling]:
    """What the header names, and the code of each card; writes the codebook of a deck that has none."""
    if codes is not None:
        return codes, spelling_of(load_codebook(codes, _folder(output)))
    spell = made.spelling()
    if has_codebook(made, Registry()):
        return None, spell
    if output == _STDOUT:
        raise UsageError("this driver needs a codebook, which can't be written beside stdout: name one with --codes")
    file = output.with_suffix(".codes.toml")
    write_codebook(file, spell)
    return file.name, spell


def _folder(output: Path) -> Path:
    """Where a relative codebook is looked for: beside the recording, as a replay does."""
    return Path() if output == _STDOUT else output.parent


@contextmanager
def _told_as_usage(output: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as trouble:
        raise UsageError(f"{trouble.filename or output}: {trouble.strerror or trouble}") from None


@contextmanager
def _opened(output: Path) -> Iterator[BinaryIO]:
    if output == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with output.open("wb") as target:
            yield target


def _with_progress(told: Iterator[Entry], rounds: int) -> Iterator[Entry]:
    if not sys.stderr.isatty():
        yield from told
        return
    with click.progressbar(length=rounds, label="rounds", file=sys.stderr) as bar:
        for entry in told:
            bar.update(isinstance(entry, Order))
            yield entry
