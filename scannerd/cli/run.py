"""`scannerd run`: the daemon of one table."""

from __future__ import annotations

from pathlib import Path

import click

from scannerd import app
from scannerd.config import load


@click.command(short_help="Run the daemon of one table.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
def run(path: Path) -> None:
    """Run the daemon of one table until SIGTERM or Ctrl-C.

    It reads the scanners, validates the deal, journals each event and publishes it over MQTT. Neither a scanner nor
    the broker need be there at the start.

    Ends with 0 after an orderly stop, 2 where the configuration can't be used, 3 where another instance runs this
    table, 4 where the journal is damaged, 5 after an internal error.
    """
    app.run(load(path))
