"""`scannerd command`: one command to a table over MQTT, and its reply."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

import click

from scannerd.cli.broker_options import FILE, Who, entering, settings
from scannerd.client import Commander
from scannerd.config import load
from scannerd.errors import Exit, UsageError

_NUMBERS = ("from", "to")


@click.command(short_help="Send a command over MQTT and print the reply.")
@click.argument("name")
@click.argument("fields", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--url", help="The broker, mqtt:// or mqtts://; by default mqtt://127.0.0.1:1883.")
@click.option("--table", metavar="ID", help="The table's id; required without -c.")
@click.option("-c", "--config", "path", type=FILE, help="A table's configuration: where its broker is, and its id.")
@click.option("--by", help="Who commands; goes into the event.")
@click.option("--reason", help="Why; goes into the event.")
@click.option("--expires", metavar="TIME", help="Not to be carried out after this time (RFC 3339).")
@click.option("--id", "command_id", help="The command's id; repeated with the same id it is carried out once.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Seconds to wait."
)
@entering
def command(  # noqa: PLR0913 - a command line's options, by name
    name: str,
    fields: tuple[str, ...],
    *,
    path: Path | None,
    by: str | None,
    reason: str | None,
    expires: str | None,
    command_id: str | None,
    timeout: float,
    url: str | None,
    table: str | None,
    **who: Unpack[Who],
) -> Exit:
    """Send the command NAME to a table, wait for the reply and print it as one line of JSON.

    \b
    NAME     KEY=VALUE
    open     [round=ID]             begin a round
    void                            the round does not count
    hold                            accept nothing until released
    release                         go on
    rescan   slot=SLOT|all          take accepted cards back
    enter    slot=SLOT card=CARD    the due card by hand; --by and --reason are required
    resend   from=SEQ [to=SEQ]      send events again, on the topic `resend`
    snapshot                        publish round, prompt and status anew
    self_check                      tell the digests of code, configuration and codebooks, as an event

    \b
    Examples:
      scannerd command open --table tp-01 round=r-9
      scannerd command hold -c /etc/scannerd/tp-01.toml --by ana --reason "card on the floor"
      scannerd command enter --table tp-01 slot=B2 card=TD --by ana --reason "torn code"
      scannerd command resend --table tp-01 --url mqtts://broker:8883 from=120 to=140

    Ends with 0 where the command was carried out, 1 where it was refused (the reply says why), 2 where the command line
    is wrong, or the broker or the daemon does not answer. Then nobody knows whether it was carried out: repeat it with
    the --id that is named, and the first reply comes again.
    """  # noqa: D301 - click's mark for lines to be left as they are
    asked = _fields(fields) | {
        key: value
        for key, value in {"by": by, "reason": reason, "expires": expires, "id": command_id}.items()
        if value is not None
    }
    config = None if path is None else load(path)
    name_of_table = table or (None if config is None else config.table.id)
    if name_of_table is None:
        raise UsageError("name the table with --table, or its configuration with -c")
    try:
        with Commander(settings("command", name_of_table, url, who, config)) as commander:
            answer = commander.ask(name, asked, timeout)
    except ValueError as unfit:
        raise UsageError(str(unfit)) from unfit
    click.echo(answer.payload.decode())
    return Exit.WELL if answer.ok else Exit.DIFFERENCE


def _fields(pairs: Iterable[str]) -> dict[str, object]:
    """The command's own fields; those that are numbers as numbers.

    Raises:
        UsageError: one is no KEY=VALUE, is there twice, or no number where one is expected.
    """
    found: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair!r} is no KEY=VALUE, such as slot=A1")
        if key in found:
            raise UsageError(f"{key} is there twice")
        found[key] = _number(key, value) if key in _NUMBERS else value
    return found


def _number(key: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"{key} is the number of an event, not {value!r}")
    return int(value)
