"""`scannerd record`: the daemon, with a recording of all that it sees."""

from __future__ import annotations

from pathlib import Path

import click

from scannerd import app
from scannerd.config import load
from scannerd.recorder import OneFile


@click.command(short_help="Record bytes and events while the daemon runs.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The recording to write."
)
@click.option("--force", is_flag=True, help="Write over a recording that is there.")
def record(path: Path, output: Path, *, force: bool) -> None:
    """Run the daemon of one table and record what its scanners send and what it is told.

    It is `scannerd run` with a recording: stop it with Ctrl-C, then `scannerd replay` gives the same events again.
    To record a table that runs as a service, set `[record]` in its configuration.
    """
    if output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force writes over it")
    app.run(load(path), OneFile(output))
