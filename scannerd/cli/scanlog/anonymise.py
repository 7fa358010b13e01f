"""`scannerd scanlog anonymise`: a recording that tells nobody whose it is."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scannerd.cli.outputs import told_as_usage
from scannerd.cli.recording_options import Place, makes_recording, may_write, warn
from scannerd.editing.anonymising import Anonymiser, anonymous_book
from scannerd.editing.tape import load
from scannerd.registry import Registry


@click.command(short_help="Take out what names the studio, its tables and its people.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--names", type=click.Path(path_type=Path, dir_okay=False), help="Write what each name has become; keep it."
)
@makes_recording
def anonymise(place: Place, file: Path, names: Path | None) -> None:
    """Write a recording that replays to the same deal and tells nobody whose it is.

    Other names get: the table, scanners, rounds, commands' ids, who gave them and why. Out go the date, the time of
    day, the number of rounds before, notes, what the system said of a lost device but for its plain cause, names and
    remarks of codebooks, and what nothing is decided by. The bytes stay as they came, since they are what is looked
    at: see with `scannerd scanlog show` whether your devices tell their serial number in them.
    """
    place.check([file])
    if names is not None:
        may_write(names, [file, place.output], force=place.force)
    anonymiser = Anonymiser(load(file, warn))
    place.put(anonymiser.tape(), Registry(), book=anonymous_book)
    if names is not None:
        with told_as_usage(names):
            names.write_text(json.dumps(anonymiser.names, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        click.echo(names, err=True)
