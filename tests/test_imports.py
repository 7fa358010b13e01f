"""The direction of imports, read from the source: what is below knows nothing of what is above."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TREES = {"scannerd": ROOT, "scannerd_drivers": ROOT / "drivers", "teen_patti": ROOT / "engine"}


def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package, root in TREES.items()
        for file in (root / package).rglob("*.py")
    }


def imports(file: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it, for types alone too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)


def importers(package: str) -> set[str]:
    """The modules of the project that import a package or something in it."""
    return {
        name
        for name, file in modules().items()
        if any(found == package or found.startswith(f"{package}.") for found in imports(file))
    }


def within(names: set[str], *packages: str) -> set[str]:
    """Those of `names` that are one of the packages or in one."""
    return {name for name in names if any(name == package or name.startswith(f"{package}.") for package in packages)}


def test_core_imports_only_the_standard_library() -> None:
    """The core knows the standard library and itself, and of that no clock, file, socket, thread or logger."""
    barred = {"asyncio", "io", "logging", "os", "pathlib", "queue", "random", "select", "socket", "subprocess"}
    barred |= {"sys", "tempfile", "threading", "time"}
    allowed = (sys.stdlib_module_names - barred) | {"scannerd.core"}
    core = {name: file for name, file in modules().items() if within({name}, "scannerd.core")}
    assert len(core) > 3
    for name, file in core.items():
        found = set(imports(file))
        assert set() == {
            imported
            for imported in found
            if imported.partition(".")[0] not in allowed and not within({imported}, "scannerd.core")
        }, name


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("paho", ("scannerd.publisher", "scannerd.mqtt", "scannerd.client")),
        ("serial", ("scannerd_drivers",)),
        ("usb", ("scannerd_drivers",)),
        ("evdev", ("scannerd_drivers",)),
        ("iotcore", ()),
        ("cryptography", ("scannerd.signing",)),
    ],
)
def test_outer_packages_stay_behind_one_wall(package: str, allowed: tuple[str, ...]) -> None:
    """A package that touches the world is imported only by those who are there to touch it."""
    users = importers(package)
    assert set() == users - within(users, *allowed)


def test_drivers_know_the_contract_and_nothing_above() -> None:
    """A driver imports of scannerd what a stranger's driver would: the contract, and reading recordings."""
    allowed = {"scannerd.contract", "scannerd.scanlog", "scannerd.core"}
    for name, file in modules().items():
        if within({name}, "scannerd_drivers"):
            used = within(set(imports(file)), "scannerd")
            assert set() == used - within(used, *allowed), name


def test_contract_knows_nothing_of_the_daemon() -> None:
    """What a driver's author imports pulls nothing of the daemon in."""
    assert set() == within(set(imports(modules()["scannerd.contract"])), "scannerd")


def test_daemon_names_no_driver() -> None:
    """The daemon finds drivers by their entry points and imports none."""
    assert set() == within(importers("scannerd_drivers"), "scannerd")


def test_reference_engine_is_a_consumer_of_the_contract() -> None:
    """The reference game engine uses the client, as anyone's engine would, and nothing else of the daemon."""
    for name, file in modules().items():
        if within({name}, "teen_patti"):
            used = within(set(imports(file)), "scannerd")
            assert set() == used - within(used, "scannerd.client", "scannerd.errors"), name


def test_commands_are_on_top() -> None:
    """Nothing but the entry point imports the command line, and nothing below it the composition root."""
    assert set() == importers("scannerd.cli") - within(importers("scannerd.cli"), "scannerd.cli", "scannerd.__main__")
    assert set() == importers("scannerd.app") - within(importers("scannerd.app"), "scannerd.cli", "scannerd.app")
