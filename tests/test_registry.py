"""Drivers by name: found through entry points, refused by the name of their package."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from scannerd.cli.drivers import drivers
from scannerd.contract import Decoder, Driver, DriverOptions, Micros, Transport
from scannerd.driver_help import options, type_name
from scannerd.errors import DriverUnusable, Exit
from scannerd.registry import Registry, parse_options


class GoodOptions(DriverOptions):
    """Options of every kind."""

    speed: int
    """Bits per second."""

    words: tuple[str, ...] = ("a",)
    letters: frozenset[str] = frozenset("zyx")
    mode: Literal["fast", "slow"] = "fast"


class Good(Driver[GoodOptions]):
    """A driver as it must be."""

    name = "good"
    summary = "Reads nothing"
    Options = GoodOptions
    codes = None

    def decoder(self, t: Micros) -> Decoder:
        """Nothing to decode."""
        raise NotImplementedError

    def transport(self, url: str) -> Transport:
        """Nothing to read from."""
        raise NotImplementedError


class Nameless(Good):
    """A driver whose name is not that of its entry point."""

    name = "other"


class Silent(Good):
    """A driver that does not say what it is."""

    summary = ""


class Unconfigurable(Good):
    """A driver whose options are no options."""

    Options = dict  # type: ignore[assignment] # this is the fault


class GreedyOptions(DriverOptions):
    """Options that take a key of every scanner."""

    url: str = ""


class Greedy(Good):
    """A driver with such options."""

    Options = GreedyOptions  # type: ignore[assignment] # this is the fault


def package(folder: Path, name: str, **entries: str) -> list[Distribution]:
    """An installed package with those entry points; a dash in a driver's name is written as `_`."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{driver} = {target}" for driver, target in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[scannerd.drivers]", *lines]), encoding="utf-8")
    return list(distributions(path=[str(folder)]))


def test_driver_is_found_by_name(tmp_path: Path) -> None:
    """A driver of any package is found by the name of its entry point."""
    registry = Registry(package(tmp_path, "acme", good=f"{__name__}:Good"))
    assert ("good",) == registry.names
    assert Good is registry.load("good")
    assert "acme" == registry.package("good")


def test_own_drivers_are_found() -> None:
    """The drivers that come with scannerd enter as anyone's do, and each can be used."""
    registry = Registry()
    assert {"line", "bee-tek"} <= set(registry.names)
    assert list(registry.names) == [registry.load(name).name for name in registry.names]


def test_name_claimed_twice_is_refused_naming_both(tmp_path: Path) -> None:
    """A name that two packages claim is refused, naming both."""
    package(tmp_path, "acme", good=f"{__name__}:Good")
    registry = Registry(package(tmp_path, "zenith", good=f"{__name__}:Good"))
    with pytest.raises(DriverUnusable, match="acme") as caught:
        registry.load("good")
    assert "zenith" in str(caught.value)
    assert Exit.USAGE == caught.value.exit_code


def test_package_seen_twice_claims_once(tmp_path: Path) -> None:
    """One package that is twice on the path, as a new and an old copy, claims its names once."""
    both = [
        *package(tmp_path / "new", "acme", good=f"{__name__}:Good"),
        *package(tmp_path / "old", "Acme", good="gone:Good"),
    ]
    assert Good is Registry(both).load("good")


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("no_such_module:Driver", "can't be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{__name__}:Absent", "can't be imported: AttributeError"),
        ("pathlib:Path", "no subclass of scannerd.contract.Driver"),
        ("json:dumps", "no subclass of scannerd.contract.Driver"),
        (f"{__name__}:Nameless", "its class is named 'other'"),
        (f"{__name__}:Silent", "it has no summary"),
        (f"{__name__}:Unconfigurable", "its Options are no subclass"),
        (f"{__name__}:Greedy", "its option 'url' is a key that every scanner has"),
    ],
)
def test_broken_driver_is_told_by_its_package(tmp_path: Path, target: str, part: str) -> None:
    """A driver that can't be used is told by its package, and troubles only those who use it."""
    registry = Registry(package(tmp_path, "acme", good=target, fine=f"{__name__}:Good"))
    with pytest.raises(DriverUnusable, match="package acme") as caught:
        registry.load("good")
    assert part in str(caught.value)


def test_unknown_driver_names_the_nearest(tmp_path: Path) -> None:
    """An unknown driver is refused with the nearest known name."""
    with pytest.raises(DriverUnusable, match="no driver 'god', did you mean 'good'"):
        Registry(package(tmp_path, "acme", good=f"{__name__}:Good")).load("god")


def test_options_are_taken_at_their_word() -> None:
    """A driver's options are not converted, though a list stands for a tuple."""
    parsed = parse_options(Good, {"speed": 9600, "words": ["b", "c"]})
    assert GoodOptions(speed=9600, words=("b", "c")) == parsed
    for keys in ({"speed": "9600"}, {"speed": 1, "sped": 2}, {}):
        with pytest.raises(ValidationError):
            parse_options(Good, keys)


def test_options_are_told_with_type_default_and_meaning() -> None:
    """Each option is told with its type, its default and what it means."""
    told = {option.name: option for option in options(Good)}
    assert ("whole number", True, None, "Bits per second.") == (
        told["speed"].type,
        told["speed"].required,
        told["speed"].default,
        told["speed"].description,
    )
    assert ("list of text", ["a"]) == (told["words"].type, told["words"].default)
    assert ["x", "y", "z"] == told["letters"].default
    assert '"fast" or "slow"' == told["mode"].type


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool | None, "true or false"),
        (int | str, "whole number or text"),
        (float, "number"),
        (list, "text"),
        (list[int], "list of whole number"),
        (dict[str, int], "table"),
        (Path, "text"),
        (Literal[1, 2], "1 or 2"),
        (None, "text"),
    ],
)
def test_types_in_plain_words(annotation: object, words: str) -> None:
    """Types are told in the words of somebody who writes TOML."""
    assert words == type_name(annotation)


def test_drivers_are_listed_for_people_and_programs() -> None:
    """`scannerd drivers` lists drivers with their options, and the same as JSON."""
    people = CliRunner().invoke(drivers, ["line"])
    assert 0 == people.exit_code
    assert "max_length (whole number; default 64)" in people.output
    listed = json.loads(CliRunner().invoke(drivers, ["--json", "line", "bee-tek"]).output)
    assert ["line", "bee-tek"] == [driver["name"] for driver in listed]
    assert "max_length" in [option["name"] for option in listed[0]["options"]]


def test_all_drivers_are_listed_without_names() -> None:
    """`scannerd drivers` without names lists all that are installed."""
    listed = json.loads(CliRunner().invoke(drivers, ["--json"]).output)
    assert list(Registry().names) == [driver["name"] for driver in listed]
