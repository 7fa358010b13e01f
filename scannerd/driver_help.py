"""What people are told of a driver: its summary and its options with types, defaults and descriptions."""

from __future__ import annotations

import types
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from scannerd.contract import Driver, OptionsT

_PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", bytes: "bytes"}


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a driver's own; `default` is plain data, None where the key is required or has no value."""

    name: str
    type: str
    required: bool
    default: object
    description: str


def options(driver: type[Driver[OptionsT]]) -> tuple[Option, ...]:
    """The driver's own keys, in the order in which it declares them."""
    # A dump in JSON mode turns tuples, paths and the like into what TOML would say.
    shown = driver.Options.model_construct().model_dump(mode="json", warnings=False)
    return tuple(
        _option(name, field, _ordered(field, shown.get(name))) for name, field in driver.Options.model_fields.items()
    )


def _ordered(field: FieldInfo, default: object) -> object:
    """A set has an order of its own in every process; people want one."""
    unordered = isinstance(field.get_default(call_default_factory=False), AbstractSet)
    return sorted(default, key=str) if unordered and isinstance(default, list) else default


def _option(name: str, field: FieldInfo, default: object) -> Option:
    required = field.is_required()
    text = " ".join((field.description or "").split())
    return Option(name, type_name(field.annotation), required, None if required else default, text)


def type_name(annotation: object) -> str:
    """A type in the words of somebody who writes TOML."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(part) for part in arguments if part is not type(None))
    if origin in (list, tuple, set, frozenset):
        return f"list of {type_name(arguments[0])}" if arguments else "list"
    if origin is dict:
        return "table"
    if isinstance(annotation, type):
        return _PLAIN.get(annotation, "text")
    return type_name(arguments[0]) if arguments else "text"
