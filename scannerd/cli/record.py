"""`scannerd record`: the daemon, with a recording of all that it sees; or what a running one has recorded lately."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from scannerd import app
from scannerd.cli.recording_options import Place
from scannerd.config import load
from scannerd.recorder import OneFile

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d+){unit})?" for unit in _UNITS))
_LONGEST_S = 86_400 * 366 * 100


def _duration(context: click.Context, option: click.Parameter, text: str | None) -> timedelta | None:
    if text is None:
        return None
    parts = _DURATION.fullmatch(text)
    given = {} if parts is None else {unit: int(count) for unit, count in parts.groupdict().items() if count}
    long = sum(count * _UNITS[unit] for unit, count in given.items())
    if not 0 < long <= _LONGEST_S:
        raise click.BadParameter(f"{text!r} is no length of time, such as 90s, 10m or 1h30m", context, option)
    return timedelta(seconds=long)


@click.command(short_help="Record bytes and events while the daemon runs.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The recording to write."
)
@click.option(
    "--last",
    callback=_duration,
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
