"""The contract as JSON Schema (2020-12) and as AsyncAPI 3.0, made of the classes that make the messages.

An event's `data` is its decision's fields; everything else has a model in `wire_models`. Consumers read leniently:
under `1.x` new types, fields and reasons may come, so a list of reasons is what this version says, not what any will.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from scannerd.commands import Answer
from scannerd.core import decisions as d
from scannerd.messages import CONTRACT, TOLD
from scannerd.schema.models import COMMANDS, SHOWN, Done, Envelope, Refused

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Schema: TypeAlias = dict[str, Json]

_REFS = "#/$defs/{model}"
_BESIDE = ("at", "round")
_CARD: Schema = {
    "type": "string",
    "pattern": "^[AKQJT98765432][SHDC]$",
    "description": "A card, rank then suit: AS, TD, 2C.",
}
_SLOT: Schema = {
    "type": "string",
    "pattern": "^[A-Z][1-9][0-9]?$",
    "description": "A place for one card: the hand's letter, and the number of the card in it.",
}
_NAMED: dict[str, str] = dict.fromkeys(("card", "cards", "dealt"), "Card") | dict.fromkeys(
    ("slot", "conflict_slot", "plan", "due"), "Slot"
)
"""Fields that hold cards or slots, whatever is round them."""

_MODELS: tuple[type[BaseModel], ...] = (Envelope, *SHOWN.values(), *COMMANDS.values(), Done, Refused)


def definitions() -> dict[str, Schema]:
    """Every message's schema by name: an event's is its decision's, such as `CardAccepted`."""
    _, made = models_json_schema([(model, "validation") for model in _MODELS], ref_template=_REFS)
    parts = {name: _tidy(part) for name, part in _objects(made["$defs"]).items()}
    events = {told.__name__: _event(parts["Envelope"], told) for told in TOLD.values()}
    reply = f"The reply to a command. {_doc(Answer)}"
    return {
        "Card": _CARD,
        "Slot": _SLOT,
        **parts,
        **events,
        "Event": {"description": _doc(Envelope), "oneOf": [_ref(name) for name in events]},
        "Reply": {"description": reply, "oneOf": [_ref("Done"), _ref("Refused")]},
    }


def json_schema() -> Schema:
    """The contract as one JSON Schema document: a message is any of its definitions; name the one that is meant."""
    told: list[Json] = [_ref(name) for name in ("Event", "Round", "Prompt", "Status", "Reply")]
    told += [_ref(model.__name__) for model in COMMANDS.values()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:scannerd:contract:{CONTRACT}",
        "title": f"scannerd: contract {CONTRACT}",
        "description": "New types, fields and reasons may come under 1.x; none changes its meaning or goes.",
        "anyOf": told,
        "$defs": dict(definitions()),
    }


def _event(envelope: Schema, told: type[d.Told]) -> Schema:
    """The envelope with one type's word and data."""
    data = _tidy(_objects({"": TypeAdapter(told).json_schema(ref_template=_REFS)})[""])
    data.pop("description", None)
    fields, required = _object(data["properties"]), data["required"]
    data["properties"] = {name: schema for name, schema in fields.items() if name not in _BESIDE}
    data["required"] = [name for name in required if name not in _BESIDE] if isinstance(required, list) else []
    properties = _object(envelope["properties"]) | {"type": {"const": told.TYPE}, "data": data}
    return {**envelope, "description": _doc(told), "properties": properties}


def _tidy(part: Schema) -> Schema:
    """The same without generated titles, and with cards and slots as such."""
    return _object(_tidied(part, ""))


def _tidied(part: Json, named: str) -> Json:
    if isinstance(part, list):
        return [_tidied(one, named) for one in part]
    if not isinstance(part, dict):
        return part
    if named and part.get("type") == "string" and "pattern" not in part:
        more = {"description": part["description"]} if "description" in part else {}
        return {**_ref(named), **more}
    tidy: Schema = {}
    for key, value in part.items():
        if key == "properties":
            tidy[key] = {name: _tidied(schema, _NAMED.get(name, "")) for name, schema in _object(value).items()}
        elif key != "title":
            tidy[key] = _tidied(value, named)
    return tidy


def _object(value: Json) -> Schema:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def _objects(value: object) -> dict[str, Schema]:
    """What pydantic answered, whose types say nothing, through JSON."""
    found: dict[str, Schema] = json.loads(json.dumps(value))
    return found


def _ref(name: str) -> Schema:
    return {"$ref": _REFS.format(model=name)}


def _doc(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n\n")[0].strip()
