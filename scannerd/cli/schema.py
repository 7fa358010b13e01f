"""`scannerd schema`: the contract for programs."""

from __future__ import annotations

import json

import click

from scannerd.asyncapi import asyncapi
from scannerd.schema import json_schema


@click.command(short_help="Print the contract as JSON Schema or AsyncAPI.")
@click.option("--asyncapi", "as_asyncapi", is_flag=True, help="As AsyncAPI 3.0: topics and operations, too.")
def schema(*, as_asyncapi: bool) -> None:
    """Print the contract, made of the classes that make the messages.

    By default as JSON Schema (2020-12): every event, round, prompt, status, command and reply, by name under `$defs`.
    With --asyncapi as an AsyncAPI 3.0 document in JSON, which has the topics, too: their parameters, which of them are
    retained, and the quality of service.

    \b
    Examples:
      scannerd schema > contract.schema.json
      scannerd schema --asyncapi > asyncapi.json
    """  # noqa: D301 - click's mark for lines to be left as they are
    click.echo(json.dumps(asyncapi() if as_asyncapi else json_schema(), indent=2, ensure_ascii=False))
