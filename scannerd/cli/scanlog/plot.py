"""`scannerd scanlog plot`: a picture of the deal."""

from __future__ import annotations

from pathlib import Path

import click

from scannerd.cli.outputs import told_as_usage
from scannerd.cli.recording_options import may_write, warn
from scannerd.editing.plotting import FORMATS, draw, save
from scannerd.editing.scenes import Scene, scenes
from scannerd.editing.tape import load
from scannerd.errors import UsageError
from scannerd.registry import Registry

MOST = 8
"""Rounds that one picture holds."""


@click.command(short_help="Draw a picture of the deal.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Ends in .svg, .png or .pdf."
)
@click.option("--round", "rounds", metavar="ID", multiple=True, help="Only this round; several times for several.")
@click.option("--force", is_flag=True, help="Write over a picture that is there.")
def plot(file: Path, output: Path, rounds: tuple[str, ...], *, force: bool) -> None:
    """Draw each round of a recording: its slots from top to bottom, time from left to right.

    A box is a card that was accepted, a cross a read that was refused, with its reason; behind them stands what was
    waited for: the card, the card again, a supervisor, a scanner. A silence of more than 10 s is drawn short, with its
    length below. It needs matplotlib: pip install 'scannerd[plot]'.
    """
    if output.suffix not in FORMATS:
        raise UsageError(f"{output}: a picture ends in {', '.join(FORMATS)}")
    may_write(output, [file], force=force)
    tape = load(file, warn)
    shown = _chosen(scenes(tape, Registry()), rounds, file)
    with told_as_usage(output):
        save(draw(tape.header, file.name, shown), output)
    click.echo(output, err=True)


def _chosen(found: list[Scene], rounds: tuple[str, ...], file: Path) -> list[Scene]:
    there = [scene.round for scene in found]
    for wanted in rounds:
        if wanted not in there:
            raise UsageError(f"{file}: there is no round {wanted!r}; see `scannerd scanlog show {file}`")
    chosen = [scene for scene in found if not rounds or scene.round in rounds]
    if len(chosen) > MOST:
        warn(f"{len(chosen)} rounds, of which the first {MOST} are drawn; --round draws others")
    return chosen[:MOST]
