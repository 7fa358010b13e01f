"""`scannerd schema`: the contract for programs, and the configuration for editors."""

from __future__ import annotations

import json

import click

from scannerd.config.schema import config_schema
from scannerd.schema import json_schema
from scannerd.schema.asyncapi import asyncapi


@click.command(short_help="Print the contract as JSON Schema or AsyncAPI.")
@click.option("--asyncapi", "as_asyncapi", is_flag=True, help="As AsyncAPI 3.0: topics and operations, too.")
@click.option("--config", "of_config", is_flag=True, help="The schema of the configuration instead, for editors.")
def schema(*, as_asyncapi: bool, of_config: bool) -> None:
    """Print the contract, made of the classes that make the messages.

    By default as JSON Schema (2020-12): every event, round, prompt, status, command and reply, by name under `$defs`.
    With --asyncapi as an AsyncAPI 3.0 document in JSON, which has the topics, too: their parameters, which of them are
    retained, and the quality of service. With --config the schema of a table's configuration, with the options of each
    driver that is installed; an editor such as Taplo takes it from the first line of a file: `#:schema PATH`.

    \b
    Examples:
      scannerd schema > contract.schema.json
      scannerd schema --asyncapi > asyncapi.json
      scannerd schema --config > /etc/scannerd/config.schema.json
    """  # noqa: D301 - click's mark for lines to be left as they are
    if as_asyncapi and of_config:
        raise click.UsageError("--asyncapi and --config are two documents: ask for one")
    document = config_schema() if of_config else asyncapi() if as_asyncapi else json_schema()
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
