"""The options of a command line that say where the broker is, and what is made of them and a configuration."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import click

from scannerd.client import BrokerSettings
from scannerd.config.settings import Config
from scannerd.errors import UsageError

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
"""A file that is there."""

DEFAULT_URL = "mqtt://127.0.0.1:1883"


class Who(TypedDict):
    """The options that say how we enter, as click hands them over; each wins over the configuration's."""

    root: str | None
    protocol: str | None
    username: str | None
    password_file: Path | None
    ca_file: Path | None
    cert_file: Path | None
    key_file: Path | None


_OPTIONS = (
    click.option("--root", help="What all topics begin with; by default scannerd."),
    click.option("--protocol", type=click.Choice(["5", "4"]), help="5 for MQTT 5 (the default), 4 for 3.1.1."),
    click.option("--username", help="The user at the broker."),
    click.option("--password-file", type=FILE, help="A file that holds the password."),
    click.option("--ca-file", type=FILE, help="Certificates to trust, for mqtts://; by default the system's."),
    click.option("--cert-file", type=FILE, help="Our certificate, where the broker wants one."),
    click.option("--key-file", type=FILE, help="The key of --cert-file."),
)


def entering(command: Callable[..., object]) -> Callable[..., object]:
    """Adds the options of `Who` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings(role: str, table: str, url: str | None, who: Who, config: Config | None = None) -> BrokerSettings:
    """Where the broker is and how to enter: the options, else the configuration, else the defaults.

    Args:
        role: what our client id begins with, so that a broker's log tells who came.
        table: the table's id.
        url: one broker or several, comma-separated.
        who: the options.
        config: the table's configuration, where it is at hand.

    Raises:
        UsageError: a file can't be used.
    """
    client_id = f"scannerd-{role}-{uuid.uuid4().hex[:12]}"
    if config is None:
        base = BrokerSettings((DEFAULT_URL,), "scannerd", table, client_id)
    else:
        base = _configured(config, table, client_id)
    return BrokerSettings(
        urls=base.urls if url is None else tuple(url.split(",")),
        root=who["root"] or base.root,
        table=table,
        client_id=client_id,
        protocol=base.protocol if who["protocol"] is None else 5 if who["protocol"] == "5" else 4,
        username=who["username"] or base.username,
        password=base.password if who["password_file"] is None else _line(who["password_file"]),
        ca_file=who["ca_file"] or base.ca_file,
        cert_file=who["cert_file"] or base.cert_file,
        key_file=who["key_file"] or base.key_file,
    )


def _configured(config: Config, table: str, client_id: str) -> BrokerSettings:
    mqtt = config.mqtt
    try:
        password = mqtt.password()
    except OSError as trouble:
        raise UsageError(f"{mqtt.password_file}: can't be read: {trouble.strerror}") from trouble
    return BrokerSettings(
        tuple(url.strip() for url in mqtt.url.split(",")),
        mqtt.root,
        table,
        client_id,
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
