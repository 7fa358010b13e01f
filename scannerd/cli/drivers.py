"""`scannerd drivers`: what can read cards here, and how it is configured."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

import click

from scannerd.driver_help import Option, options
from scannerd.errors import DriverUnusable
from scannerd.registry import Registry

_WIDTH = 100


@click.command(short_help="List the drivers and their options.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="As one JSON array.")
def drivers(names: tuple[str, ...], *, as_json: bool) -> None:
    """List the drivers, or those named, with their options.

    One that can't be used is listed with the reason; named, it ends the command with 2.
    """
    registry = Registry()
    found = [_described(registry, name, must=bool(names)) for name in names or registry.names]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        click.echo("\n\n".join(_for_people(one) for one in found))


def _described(registry: Registry, name: str, *, must: bool) -> dict[str, object]:
    about: dict[str, object] = {"name": name, "package": registry.package(name)}
    try:
        driver = registry.load(name)
    except DriverUnusable as error:
        if must:
            raise
        return about | {"unusable": error.line}
    return about | {
        "summary": driver.summary,
        "codes": driver.codes,
        "options": [asdict(option) for option in options(driver)],
    }


def _for_people(about: dict[str, object]) -> str:
    if "unusable" in about:
        return f"{about['name']}: {about['unusable']}"
    given = about["options"]
    lines = [f"{about['name']}: {about['summary']}", f"  codes: {about['codes'] or 'required'}"]
    for option in given if isinstance(given, list) else []:
        lines += _option_lines(Option(**option))
    return "\n".join(lines)


def _option_lines(option: Option) -> list[str]:
    standing = "required" if option.required else _default(option.default)
    head = f"  {option.name} ({option.type}; {standing})"
    return [head, *textwrap.wrap(option.description, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]


def _default(value: object) -> str:
    return "left out by default" if value is None else f"default {json.dumps(value, ensure_ascii=False)}"
