"""`scannerd simulate`: a recording of deals that never were, with faults at chosen rates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from pydantic import ValidationError

from scannerd import games
from scannerd.cli.outputs import STDOUT, many, opened, told_as_usage
from scannerd.cli.progress import bar
from scannerd.codebooks import load_codebook
from scannerd.errors import UsageError
from scannerd.recording.simulation import (
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
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Header, Order, ScanlogWriter

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
@click.option("--files", type=click.IntRange(min=1), help="Write so many, each of its own seed, into the folder -o.")
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
    *,
    rounds: int,
    seed: int,
    driver: str,
    output: Path,
    files: int | None,
    game: str,
    codes: str | None,
    start: Start,
    **options: object,
) -> None:
    """Write a recording of a dealer at work, with faults at chosen rates.

    The dealer reacts as the prompt asks: scans again what did not read, waits between rounds. A driver whose cards need
    a codebook of their own gets one, `<output>.codes.toml`, unless --codes names one.

    With --files a corpus is written: `DRIVER-SEED.scanlog` for each seed from --seed on, in the folder that -o names.
    Recordings of any length are written as they are dealt, and take no more memory than short ones.

    \b
    Examples:
      scannerd simulate --rounds 100000 --misread 0.01 -o long.scanlog
      scannerd simulate --rounds 20 --files 500 --driver ssi --unplug 0.02 -o corpus && scannerd verify --update corpus
    """  # noqa: D301 - click's mark for lines to be left as they are
    seeds = range(seed, seed + (files or 1))
    for one, target in many(output, driver, seeds) if files else [(seed, output)]:
        made = _simulator(game, {"format": driver, "rounds": rounds, "seed": one, **options})
        with told_as_usage(target):
            book, spell = _codebook(made, codes, target)
        entries = made.entries(SCANNER, spell)
        _write(target, header(made, game, start, book), kept(_with_progress(entries, rounds), start))


def _write(output: Path, head: Header, entries: Iterable[Entry]) -> None:
    with opened(output) as target:
        writer = ScanlogWriter(target, head)
        for entry in entries:
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
    if output == STDOUT:
        raise UsageError("this driver needs a codebook, which can't be written beside stdout: name one with --codes")
    file = output.with_suffix(".codes.toml")
    write_codebook(file, spell)
    return file.name, spell


def _folder(output: Path) -> Path:
    """Where a relative codebook is looked for: beside the recording, as a replay does."""
    return Path() if output == STDOUT else output.parent


def _with_progress(told: Iterator[Entry], rounds: int) -> Iterator[Entry]:
    if not sys.stderr.isatty():
        yield from told
        return
    with bar(rounds, "rounds") as shown:
        for entry in told:
            shown.update(isinstance(entry, Order))
            yield entry
