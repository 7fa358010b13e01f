"""`scannerd replay`: the events of a recording, and whether they are those that were expected."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from scannerd.errors import Exit
from scannerd.messages import dumps
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines
from scannerd.registry import Registry
from scannerd.scanlog import reading
from scannerd.verify.expected import Expected
from scannerd.verify.findings import compare
from scannerd.verify.outcome import Warnings


@click.command(short_help="Replay a recording and print its events.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--expect", type=click.Path(path_type=Path), help="Compare with this file instead of printing.")
@click.option("--prompts", is_flag=True, help="Print each change of the dealer's prompt too.")
def replay(file: Path, *, expect: Path | None, prompts: bool) -> int:
    """Replay a recording on a virtual clock and print its events, one JSON object a line.

    No time passes, whatever the times in the recording: a jump of hours takes as long as one of a millisecond.

    With --expect nothing is printed but differences, and they end the command with 1. The file's own lines say what is
    compared: events, prompts, or both; keys of `data` that a line leaves out are not. A recording that can't be used
    ends it with 2 and one line that names file and line.
    """
    warnings = Warnings()
    try:
        if expect is None:
            _print(file, warnings, prompts=prompts)
            return Exit.WELL
        return _compare(file, expect, warnings)
    finally:
        for text in warnings.told:
            click.echo(f"scannerd: {text}", err=True)


def _print(file: Path, warnings: Warnings, *, prompts: bool) -> None:
    with reading(file, warnings) as reader:
        played = replay_of(reader.header, file, Registry(), lambda text: warnings(f"{file}:{reader.line}: {text}"))
        write = sys.stdout.buffer.write
        for line in lines(played, iter(reader), prompts=prompts):
            write(dumps(line) + b"\n")
        sys.stdout.buffer.flush()


def _compare(file: Path, expect: Path, warnings: Warnings) -> int:
    _, (found,) = compare(file, [Expected(expect)], Registry(), warnings)
    for text in found.texts(file):
        click.echo(text)
    return Exit.DIFFERENCE if found.first else Exit.WELL
