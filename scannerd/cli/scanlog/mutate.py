"""`scannerd scanlog mutate`: a recording with faults put in, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from scannerd.cli.outputs import STDOUT, many, opened
from scannerd.editing.mutating import AGAIN_MS, Mutator, Rates, mutated_header, placed
from scannerd.errors import DriverUnusable, UsageError
from scannerd.recording.recorded_table import driver_of
from scannerd.registry import Registry
from scannerd.scanlog import Header, ScanlogError, ScanlogWriter, reading

_EACH = 0.05
"""The rate of every fault where none is named."""

_DAY_MS = 86_400_000

_FAULTS = {
    "drop": "How often a chunk is lost, or some bytes of it.",
    "flip": "How often a bit of a chunk is another.",
    "split": "How often a chunk comes in parts, at the same moment.",
    "join": "How often a chunk waits for the scanner's next one and comes with it.",
    "double": f"How often a chunk comes again, within {AGAIN_MS} ms.",
    "delay": "How often a chunk, and what its scanner sends behind it, comes later.",
    "unplug": "How often the scanner is lost within a chunk, and comes back.",
}


def _with_faults(command: Callable[..., None]) -> Callable[..., None]:
    """Adds an option for the rate of each fault."""
    for name, told in reversed(_FAULTS.items()):
        rate = click.FloatRange(0, 1)
        command = click.option(f"--{name}", type=rate, metavar="RATE", help=f"{told} 0 to 1.")(command)
    return command


@click.command(short_help="Put faults in, by a seed.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same mutant.")
@_with_faults
@click.option(
    "--delay-ms",
    type=click.IntRange(1, _DAY_MS),
    default=2_000,
    show_default=True,
    help="The longest delay; short ones are the more likely.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=STDOUT, help="The mutant; by default stdout.")
@click.option("--files", type=click.IntRange(min=1), help="Write so many, each of its own seed, into the folder -o.")
def mutate(*, file: Path, seed: int, delay_ms: int, output: Path, files: int | None, **rates: float | None) -> None:
    """Put faults into a recording, as a bad cable, a slow machine or a loose plug would.

    Each rate is how likely the fault is for a chunk, which is what the transport delivered at once: 0.1 is one in ten.
    Without any rate each is 0.05. The result is a recording as any other, and its note says seed and rates. Commands
    and the broker stay as they were; reports of HID scanners stay whole.

    `scannerd replay MUTANT` shows what the table would have made of it.

    \b
    Examples:
      scannerd scanlog mutate --seed 7 odd.scanlog -o odd-7.scanlog
      scannerd scanlog mutate --flip 0.2 --unplug 0.01 --files 500 odd.scanlog -o mutants
    """  # noqa: D301 - click's mark for lines to be left as they are
    chosen = Rates(**{name: rate or 0.0 for name, rate in rates.items()})
    if all(rate is None for rate in rates.values()):
        chosen = Rates(*(_EACH for _ in Rates._fields))
    seeds, done = range(seed, seed + (files or 1)), Counter[str]()
    for one, target in many(output, file.stem, seeds) if files else [(seed, output)]:
        done += _write(file, target, chosen, one, delay_ms)
    click.echo(f"scannerd: put in: {', '.join(f'{name} {done[name]}' for name in Rates._fields)}", err=True)


def _write(file: Path, output: Path, rates: Rates, seed: int, delay_ms: int) -> Counter[str]:
    """Writes one mutant; returns how often each fault was put in."""
    with reading(file, lambda text: click.echo(f"scannerd: {text}", err=True)) as reader:
        mutator = Mutator(rates, seed, reports=_reports(reader.header, file), longest_ms=delay_ms)
        header = placed(reader.header, file.parent, None if output == STDOUT else output.parent)
        _check_other(output, file)
        with opened(output) as target:
            writer = ScanlogWriter(target, mutated_header(header, rates, seed))
            for entry in mutator.entries(iter(reader)):
                writer.write(entry)
    return mutator.done


def _check_other(output: Path, file: Path) -> None:
    if output != STDOUT and output.exists() and output.samefile(file):
        raise UsageError(f"{file}: a recording is not written over: name another file with -o")


def _reports(header: Header, file: Path) -> set[str]:
    """The scanners whose chunks are reports.

    Raises:
        ScanlogError: a driver can't be used.
    """
    registry = Registry()
    try:
        return {name for name, keys in header.scanners.items() if driver_of(name, keys, registry).reports}
    except (DriverUnusable, ValueError) as unusable:
        raise ScanlogError(f"{file}:1: {unusable}") from unusable
