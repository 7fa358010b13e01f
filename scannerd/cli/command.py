"""`scannerd command`: one command to a table over MQTT, and its reply."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict, Unpack

import click

from scannerd.client import BrokerSettings, Commander
from scannerd.config import load
from scannerd.errors import Exit, UsageError
from scannerd.settings import Config

_NUMBERS = ("from", "to")
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


class Where(TypedDict):
    """The options that say where the broker is, as click hands them over; each wins over the configuration's."""

    url: str | None
    table: str | None
    root: str | None
    protocol: str | None
    username: str | None
    password_file: Path | None
    ca_file: Path | None
    cert_file: Path | None
    key_file: Path | None


@click.command(short_help="Send a command over MQTT and print the reply.")
@click.argument("name")
@click.argument("fields", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--url", help="The broker, mqtt:// or mqtts://; by default mqtt://127.0.0.1:1883.")
@click.option("--table", metavar="ID", help="The table's id; required without -c.")
@click.option("--root", help="What all topics begin with; by default scannerd.")
@click.option("-c", "--config", "path", type=_FILE, help="A table's configuration: where its broker is, and its id.")
@click.option("--by", help="Who commands; goes into the event.")
@click.option("--reason", help="Why; goes into the event.")
@click.option("--expires", metavar="TIME", help="Not to be carried out after this time (RFC 3339).")
@click.option("--id", "command_id", help="The command's id; repeated with the same id it is carried out once.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Seconds to wait."
)
@click.option("--protocol", type=click.Choice(["5", "4"]), help="5 for MQTT 5 (the default), 4 for 3.1.1.")
@click.option("--username", help="The user at the broker.")
@click.option("--password-file", type=_FILE, help="A file that holds the password.")
@click.option("--ca-file", type=_FILE, help="Certificates to trust, for mqtts://; by default the system's.")
@click.option("--cert-file", type=_FILE, help="Our certificate, where the broker wants one.")
@click.option("--key-file", type=_FILE, help="The key of --cert-file.")
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
    **where: Unpack[Where],
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
    try:
        with Commander(_broker(path, where)) as commander:
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


def _broker(path: Path | None, where: Where) -> BrokerSettings:
    """Where to send it: the options, else the configuration, else the defaults.

    Raises:
        UsageError: nobody names the table, or a file can't be used.
    """
    config = None if path is None else load(path)
    table = where["table"] or (None if config is None else config.table.id)
    if table is None:
        raise UsageError("name the table with --table, or its configuration with -c")
    base = _defaults(table) if config is None else _configured(config, table)
    return BrokerSettings(
        urls=base.urls if where["url"] is None else tuple(where["url"].split(",")),
        root=where["root"] or base.root,
        table=table,
        client_id=base.client_id,
        protocol=base.protocol if where["protocol"] is None else 5 if where["protocol"] == "5" else 4,
        username=where["username"] or base.username,
        password=base.password if where["password_file"] is None else _line(where["password_file"]),
        ca_file=where["ca_file"] or base.ca_file,
        cert_file=where["cert_file"] or base.cert_file,
        key_file=where["key_file"] or base.key_file,
    )


def _defaults(table: str) -> BrokerSettings:
    return BrokerSettings(("mqtt://127.0.0.1:1883",), "scannerd", table, f"scannerd-command-{uuid.uuid4().hex[:12]}")


def _configured(config: Config, table: str) -> BrokerSettings:
    mqtt = config.mqtt
    try:
        password = mqtt.password()
    except OSError as trouble:
        raise UsageError(f"{mqtt.password_file}: can't be read: {trouble.strerror}") from trouble
    return BrokerSettings(
        tuple(url.strip() for url in mqtt.url.split(",")),
        mqtt.root,
        table,
        _defaults(table).client_id,
        mqtt.protocol,
        mqtt.username,
        password,
        mqtt.ca_file,
        mqtt.cert_file,
        mqtt.key_file,
    )


def _line(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as trouble:
        raise UsageError(f"{file}: can't be read: {trouble}") from trouble
