"""`scannerd shadow`: a new configuration on a live table's bytes, and where it would have decided otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from scannerd.cli.durations import duration
from scannerd.cli.progress import fitting
from scannerd.config import load
from scannerd.errors import Exit, UsageError
from scannerd.messages import dumps
from scannerd.shadow.following import Captures, followed
from scannerd.shadow.running import Finding, Tables, given, live
from scannerd.shadow.telling import Sum, fields, words
from scannerd.verify.corpus import find

_FILE = click.Path(path_type=Path)
_LOOK_S = 0.2
"""How often a file that grows is looked at, seconds."""


@click.command(short_help="Try a configuration on a live table's bytes; publishes nothing.")
@click.option("-c", "--config", "new", type=_FILE, required=True, help="The configuration to try.")
@click.option(
    "--live-config", "current", type=_FILE, help="That of the live table; by default each recording's header says it."
)
@click.option(
    "--from", "first", type=_FILE, multiple=True, help="Recordings, or folders of them, instead of the live table."
)
@click.argument("others", nargs=-1, metavar="[FILE]...", type=_FILE)
@click.option("--until-rounds", type=click.IntRange(min=1), help="End after so many rounds.")
@click.option("--for", "long", callback=duration, metavar="TIME", help="End after so long: 90s, 10m, 1h30m.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line: each round that differs, then the sum.")
def shadow(  # noqa: PLR0913 - an option each
    *,
    new: Path,
    current: Path | None,
    first: tuple[Path, ...],
    others: tuple[Path, ...],
    until_rounds: int | None,
    long: timedelta | None,
    as_json: bool,
) -> Exit:
    """Run a new configuration, or a new driver, on the bytes of a live table, and tell where it decides otherwise.

    The bytes, commands and losses come from the table's always-on capture, `[record]`, which is followed as it is
    written; both tables are played from it, so what the live one decided is known exactly. Nothing is published, no
    device is opened, no lock taken, and nothing written: the table does not notice.

    A round that is dealt is told when the next one begins. Where it differs, the first difference counts: what follows
    in the round may be its consequence, and the next round begins anew from the live table's state.

    \b
    Examples:
      scannerd shadow -c new.toml --live-config /etc/scannerd/tp-01.toml --for 1h
      scannerd shadow -c new.toml --from /var/log/scannerd/tp-01/*.scanlog
      scannerd shadow -c new.toml --until-rounds 200 --json | jq .differences

    Ends with 1 where a decision differed, also after Ctrl-C, else with 0.
    """  # noqa: D301 - click's mark for lines to be left as they are
    tables = Tables(load(new), None if current is None else load(current), _warn)
    until = None if long is None else time.monotonic() + long.total_seconds()
    total = Sum()

    def over() -> bool:
        late = until is not None and time.monotonic() >= until
        return late or (until_rounds is not None and total.rounds >= until_rounds)

    recordings = (*first, *others)
    with suppress(KeyboardInterrupt):  # the sum is told all the same
        for finding in given(find(recordings), tables) if recordings else _live(tables, over):
            total.add(finding)
            _tell(finding, total, as_json=as_json)
            if over():
                break
    _wipe()
    click.echo(dumps(total.fields).decode() if as_json else total.line)
    return Exit.DIFFERENCE if total.differences else Exit.WELL


def _live(tables: Tables, over: Callable[[], bool]) -> Iterator[Finding]:
    """What the live table records from now on."""
    config = tables.live or tables.new
    if config.record.directory is None:
        raise UsageError(
            f"{config.path}: record.directory is not set, and shadow reads the live table's capture: set it and start "
            "the table anew, name the live configuration with --live-config, or give recordings with --from"
        )

    began = datetime.now(UTC)

    def wait() -> bool:
        time.sleep(_LOOK_S)
        return not over()

    told = f"follows {config.record.directory}, table {config.table.id}; a round is told when the next one begins"
    click.echo(f"scannerd: {told}; Ctrl-C ends it", err=True)
    captures = Captures(config.record.directory, config.table.id)
    return live(followed(captures, wait, _warn), tables, began, over)


def _tell(finding: Finding, total: Sum, *, as_json: bool) -> None:
    """Tells a round that differs; on a terminal, how far it came."""
    if as_json and finding.compared.differences:
        click.echo(dumps(fields(finding)))
    elif finding.compared.differences:
        _wipe()
        click.echo("\n".join(words(finding)))
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{fitting(total.line)}", err=True, nl=False)


def _wipe() -> None:
    """Makes room on a terminal, where a line without its end stands."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)


def _warn(text: str) -> None:
    _wipe()
    click.echo(f"scannerd: {text}", err=True)
