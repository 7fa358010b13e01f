"""`scannerd record`: the daemon, with a recording of all that it sees; or what a running one has recorded lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from scannerd import app
from scannerd.cli.durations import duration
from scannerd.cli.recording_options import Place
from scannerd.config import load
from scannerd.recording.recorder import OneFile


@click.command(short_help="Record bytes and events while the daemon runs.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The recording to write."
)
@click.option(
    "--last",
    callback=duration,
    metavar="TIME",
    help="Run nothing: take what the table's capture, `[record]`, has of so long: 90s, 10m, 1h30m.",
)
@click.option("--expect", is_flag=True, help="With --last: write its events beside it, as .expected.jsonl.")
@click.option("--force", is_flag=True, help="Write over a recording that is there.")
def record(path: Path, output: Path, *, last: timedelta | None, expect: bool, force: bool) -> int | None:
    """Run the daemon of one table and record what its scanners send and what it is told.

    It is `scannerd run` with a recording: stop it with Ctrl-C, then `scannerd replay` gives the same events again.
    To record a table that runs as a service, set `[record]` in its configuration.

    With --last nothing is run: the recording is made of what that service has recorded, whether it runs or not. It is
    replayed at once and compared with the journal: where the two differ this is said, and the command ends with 1.
    """
    if expect and last is None:
        raise click.UsageError("--expect goes with --last: a recording that is being made has no events yet")
    place = Place(output, expect, force)
    place.check()
    config = load(path)
    if last is None:
        app.run(config, OneFile(output))
        return None
    since = datetime.now(UTC) - last
    return place.put_excerpt(config, lambda excerpts: excerpts.since(since))
