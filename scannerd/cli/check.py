"""`scannerd check`: is a configuration fit to run?"""

from __future__ import annotations

from pathlib import Path

import click

from scannerd.config import load
from scannerd.display import require


@click.command(short_help="Check a configuration.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
def check(path: Path) -> None:
    """Check a configuration; touches neither device nor broker.

    Ends with 0, or with 2 and one line that names every fault: file, line, key, what was expected, and the nearest
    known key.
    """
    config = load(path)
    require(config)
    scanners = ", ".join(f"{scanner.name} ({scanner.driver})" for scanner in config.scanners)
    click.echo(f"{path}: well. Table {config.table.id}, {config.plan.game}, {scanners}; to {config.mqtt.url}.")
