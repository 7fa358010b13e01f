"""`python -m fuzz`: searches in every target, or in those that are named, and keeps what it finds as files."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import click

from fuzz.running import Outcome, Search, run_all
from fuzz.target import Target
from fuzz.targets import targets

FOLDER = Path(__file__).resolve().parent.parent / ".fuzz"
"""Where the search keeps what it learnt, so that the next one goes on from there, and what it found."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True, help="How long each target is tried.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="How many at the same time.")
@click.option("--try", "tried", type=click.Path(exists=True, path_type=Path), help="Only try this input of one target.")
@click.option("--list", "listed", is_flag=True, help="Only tell the targets.")
def main(names: tuple[str, ...], seconds: int, jobs: int, tried: Path | None, *, listed: bool) -> None:
    """Search for inputs that break a decoder, the reader of recordings, commands or the configuration.

    It begins with the recordings of tests/recordings and goes on from what earlier runs learnt, in .fuzz/. What it
    finds is written to .fuzz/found/ as a file ready to become a recording or a test, with the input itself beside it.

    Ends with 1 where something was found, with 2 where a target is unknown or atheris is not installed.
    """
    known = targets()
    chosen = {name: _known(known, name) for name in names} or dict(known)
    if listed:
        for name, make in chosen.items():
            click.echo(f"{name:14}{make().about}")
    elif tried is not None:
        if len(names) != 1:
            raise click.UsageError("--try goes with one target: the input is of its kind")
        chosen[names[0]]().check(tried.read_bytes())
        click.echo(f"{names[0]}: nothing wrong with {tried}")
    elif find_spec("atheris") is None:
        raise click.UsageError("atheris is not installed: `make fuzz` does that, or pip install 'scannerd[fuzz]'")
    else:
        _search(chosen, seconds, jobs)


def _search(chosen: Mapping[str, Callable[[], Target]], seconds: int, jobs: int) -> None:
    found = 0
    for outcome in run_all([Search(name, FOLDER, seconds) for name in chosen], jobs):
        click.echo(f"{outcome.name}: {outcome.inputs} inputs, {outcome.coverage} places reached, {_verdict(outcome)}")
        if outcome.artifact is not None:
            found += 1
            click.echo(textwrap.indent(outcome.keep(chosen[outcome.name](), FOLDER / "found"), "  "))
        elif outcome.failed:
            found += 1
            click.echo(textwrap.indent(outcome.log, "  "))
    sys.exit(1 if found else 0)


def _verdict(outcome: Outcome) -> str:
    if outcome.artifact is not None:
        return "a fault was found"
    return "the search itself failed" if outcome.failed else "nothing found"


def _known(known: Mapping[str, Callable[[], Target]], name: str) -> Callable[[], Target]:
    if name not in known:
        raise click.UsageError(f"no target {name!r}; there are {', '.join(known)}")
    return known[name]


if __name__ == "__main__":
    main()
