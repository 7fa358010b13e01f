"""What the sources of decoders say: the words of each fault that they can tell, and the kinds of their notices.

A decoder has no table of its faults: they stand where they are found. Read from there, none can be forgotten.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

from scannerd.contract import Driver, DriverOptions

_FAULTS = {"BadFrame": "bad_frame", "_give_up": "bad_frame", "_refuse": "bad_frame", "NoRead": "no_read"}
"""Who takes the words of a fault, and the reason of the rejection that it leads to."""


class Fault(NamedTuple):
    """A reason of a rejection, and the words that its detail begins with; empty where the device says them."""

    reason: str
    words: str


def decoders(driver: type[Driver[DriverOptions]]) -> list[ModuleType]:
    """The modules that make up a driver: its own, and those of its package that this one imports."""
    found = [sys.modules[driver.__module__]]
    for module in found:
        for value in vars(module).values():
            other = value if isinstance(value, ModuleType) else inspect.getmodule(value)
            name = "" if other is None else other.__name__
            if other is not None and name.startswith("scannerd_drivers.") and name.count(".") == 1:
                found += [] if other in found else [other]
    return found


def faults(module: ModuleType) -> set[Fault]:
    """Each fault that a module can tell."""
    return set(faults_in(ast.parse(inspect.getsource(module))))


def faults_in(tree: ast.AST) -> Iterator[Fault]:
    """Each fault in a syntax tree: what is handed to those who tell one, and what a `_fault` returns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and (reason := _FAULTS.get(_name(node.func))):
            yield from (Fault(reason, words) for words in _words(node.args[0]))
        elif isinstance(node, ast.FunctionDef) and node.name == "_fault":
            for part in ast.walk(node):
                if isinstance(part, ast.Return) and part.value is not None:
                    yield from (Fault("bad_frame", words) for words in _words(part.value) if words)


def constants(module: ModuleType, called: str, keyword: str | None = None) -> set[str]:
    """The constants that a module hands to calls of this name: the first argument, or that keyword."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and _name(node.func) == called:
            given = [one.value for one in node.keywords if one.arg == keyword] if keyword else node.args[:1]
            found |= {str(one.value) for one in given if isinstance(one, ast.Constant)}
    return found


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _words(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(words)):
            yield words
        case ast.JoinedStr(values=[ast.Constant(value=str(words)), *_]):
            yield words
        case ast.IfExp(body=body, orelse=orelse):
            yield from _words(body)
            yield from _words(orelse)
        case _:
            yield ""
