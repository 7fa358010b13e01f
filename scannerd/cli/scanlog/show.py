"""`scannerd scanlog show`: a recording as a timeline for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path

import click

from scannerd.cli.recording_options import warn
from scannerd.editing.timeline import Row, Tone, one_line, timeline
from scannerd.recording.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.scanlog import Header, reading
from scannerd.texts import LANGUAGES

_STYLES: dict[Tone, Callable[[str], str]] = {
    "plain": str,
    "good": partial(click.style, fg="green"),
    "bad": partial(click.style, fg="red"),
    "faint": partial(click.style, dim=True),
    "strong": partial(click.style, fg="cyan", bold=True),
}


@click.command(short_help="Show a recording as a timeline.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--wall", is_flag=True, help="The time of day (UTC) instead of seconds since the start.")
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Of the prompts.")
@click.option("--colour/--no-colour", default=None, help="By default colour on a terminal, unless NO_COLOR is set.")
def show(file: Path, *, wall: bool, language: str, colour: bool | None) -> None:
    """Show what a recording holds and what follows from it, as a timeline.

    A line has the time, the scanner, what is told, and it: the `bytes` as they came, what was `decoded` from them,
    the `event` that was decided, `nothing` for a bounce, and the `prompt` that the dealer then saw.
    A time stands where it is another than on the line above.
    """
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") if colour is None else colour
    with reading(file, warn) as reader:
        header = reader.header
        rows = timeline(reader, lambda tell: replay_of(header, file, Registry(), tell), language)
        first = next(rows)  # what is wrong with the header is told before anything is shown
        for line in _heading(file, header):
            click.echo(line)
        width = max(map(len, header.scanners), default=0)
        t = None
        for row in chain((first,), rows):
            time = _time(row, header, wall=wall) if row.t != t else ""
            line = f"{time:>12}  {row.scanner:<{width}}  {row.kind:<8} {row.text}"
            click.echo(_STYLES[row.tone](line) if coloured else line, color=coloured)
            t = row.t


def _heading(file: Path, header: Header) -> Iterator[str]:
    scanners = ", ".join(f"{name} ({keys.get('driver')})" for name, keys in header.scanners.items())
    rules = header.round.model_dump(exclude_defaults=True)
    yield f"{file}: table {header.table}, {header.game}, recorded at {header.recorded_at:%Y-%m-%d %H:%M:%S.%f} UTC"
    yield f"scanners: {one_line(scanners) or 'none'}"
    if rules:
        yield f"round: {', '.join(f'{name} {value}' for name, value in rules.items())}"
    if header.note:
        yield f"note: {one_line(header.note)}"
    yield ""


def _time(row: Row, header: Header, *, wall: bool) -> str:
    if wall:
        return f"{header.recorded_at + timedelta(microseconds=row.t):%H:%M:%S.%f}"[:-3]
    return f"{row.t / 1_000_000:.3f}"
