"""`scannerd scanlog trim`: a span of a recording, or one of its rounds."""

from __future__ import annotations

from pathlib import Path

import click

from scannerd.cli.recording_options import Place, makes_recording, warn
from scannerd.editing.tape import Tape, load
from scannerd.editing.trimming import dealt_at, moment, to_round, to_span
from scannerd.errors import UsageError
from scannerd.registry import Registry


@click.command(short_help="Keep a span of time, or one round.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--from", "start", metavar="TIME", help="Begin here: seconds since the start, or a date and time.")
@click.option("--to", "stop", metavar="TIME", help="End here, included.")
@click.option("--round", "round_id", metavar="ID", help="Keep one round, and what led to its events.")
@makes_recording
def trim(place: Place, file: Path, start: str | None, stop: str | None, round_id: str | None) -> None:
    """Cut a recording down to a span of time or to one round.

    What stood at the beginning, a lost scanner or a broker that was away, is written at its start, and rounds keep the
    ids that they had. A round is kept with as much before it as its events need. A span is cut where you say: a
    round that was being dealt there is not whole, which is told.
    """
    if (round_id is None) == (start is None and stop is None):
        raise click.UsageError("say what to keep: --round, or --from and --to or one of them")
    place.check([file])
    registry, tape = Registry(), load(file, warn)
    if round_id is not None:
        place.put(to_round(tape, round_id, registry), registry)
        return
    begin = _moment(tape, "--from", start, 0)
    end = _moment(tape, "--to", stop, tape.end)
    piece = to_span(tape, begin, end, registry)
    cut_off = dealt_at(tape, begin, registry)
    if cut_off is not None:
        warn(f"round {cut_off} was being dealt then and is not whole; --round {cut_off} keeps it")
    place.put(piece, registry)


def _moment(tape: Tape, option: str, text: str | None, default: int) -> int:
    try:
        return default if text is None else moment(tape, text)
    except ValueError:
        problem = f"{option}: {text!r} is neither seconds, such as 12.5, nor a time such as 2026-11-30T02:45:00Z"
        raise UsageError(problem) from None
