"""The configuration as a JSON Schema, for editors: made of the classes that read it, those of the drivers too.

An editor that knows TOML and JSON Schema completes keys, shows what each is for, and marks a wrong one while it is
written. `scannerd check` sees more: files that must be there, keys that need one another, two scanners on one device.
"""

from __future__ import annotations

from typing import TypeAlias, get_type_hints

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from scannerd.config.settings import Config, Section, Stanza
from scannerd.config.versions import KEY, VERSION
from scannerd.contract import Driver, DriverOptions
from scannerd.errors import DriverUnusable
from scannerd.registry import Registry

Schema: TypeAlias = dict[str, JsonValue]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFS = "#/$defs/{model}"
_VERSION: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": VERSION,
    "default": 1,
    "description": "What the file was written for; `scannerd config migrate` brings an older one to this version.",
}


def config_schema(registry: Registry | None = None) -> Schema:
    """The schema (2020-12) of a table's configuration.

    Args:
        registry: the drivers; by default those that are installed. One that can't be used is left out.
    """
    drivers = _drivers(registry or Registry())
    sections = {name: kind for name, kind in get_type_hints(Config).items() if _is_section(kind)}
    models: list[type[BaseModel]] = [*sections.values(), Stanza, *(driver.Options for driver in drivers.values())]
    refs, made = models_json_schema([(model, "validation") for model in models], ref_template=_REFS)
    defs: Schema = {name: _tidy(part) for name, part in made["$defs"].items()}
    found = {model: str(ref["$ref"]).rpartition("/")[2] for (model, _), ref in refs.items()}
    stanzas: list[JsonValue] = [
        _stanza(name, driver, defs[found[Stanza]], defs[found[driver.Options]]) for name, driver in drivers.items()
    ]
    own = {found[Stanza], *(found[driver.Options] for driver in drivers.values())}
    scanner: Schema = {"type": "array", "minItems": 1, "items": {"anyOf": stanzas}, "description": Stanza.__doc__}
    properties: Schema = {name: {"$ref": _REFS.format(model=found[kind])} for name, kind in sections.items()}
    return {
        "$schema": DIALECT,
        "title": "Configuration of a table of scannerd",
        "type": "object",
        "properties": {KEY: _VERSION, "scanner": scanner, **properties},
        "required": ["table", "scanner"],
        "additionalProperties": False,
        "$defs": {name: part for name, part in defs.items() if name not in own},
    }


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _drivers(registry: Registry) -> dict[str, type[Driver[DriverOptions]]]:
    found = {}
    for name in registry.names:
        try:
            found[name] = registry.load(name)
        except DriverUnusable:
            continue  # `scannerd drivers` says why
    return found


def _stanza(name: str, driver: type[Driver[DriverOptions]], common: JsonValue, own: JsonValue) -> Schema:
    """The stanza of one driver: the keys that all have, and its own."""
    keys = {**_part(common, "properties"), **_part(own, "properties")}
    needed: list[JsonValue] = [*_required(common), *_required(own), *([] if driver.codes else ["codes"])]
    keys["driver"] = {"const": name, "description": driver.summary}
    return {"type": "object", "title": name, "properties": keys, "required": needed, "additionalProperties": False}


def _part(schema: JsonValue, key: str) -> Schema:
    part = schema.get(key) if isinstance(schema, dict) else None
    return part if isinstance(part, dict) else {}


def _required(schema: JsonValue) -> list[JsonValue]:
    found = schema.get("required") if isinstance(schema, dict) else None
    return found if isinstance(found, list) else []


def _tidy(part: JsonValue) -> JsonValue:
    """Without titles, which only repeat the keys, and with each description on one line; TOML has no null."""
    if isinstance(part, list):
        return [_tidy(item) for item in part if item != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if not (key == "title" and isinstance(value, str))}
    if kept.get("default", ...) is None:
        del kept["default"]
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(str(kept["description"]).split())
    return {key: _tidy(value) for key, value in kept.items()}
