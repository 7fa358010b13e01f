"""The example of each driver, and the schema that editors hold a configuration to."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from scannerd.cli import run
from scannerd.config import load
from scannerd.config.schema import config_schema
from scannerd.config.settings import Config
from scannerd.driver_help import options
from scannerd.errors import Exit
from scannerd.registry import Registry
from tests.test_registry import package

CONFIG = Path(__file__).parent.parent / "config"
EXAMPLES = CONFIG / "examples"
DECK = EXAMPLES / "rfid-deck.toml"
REGISTRY = Registry()
OWN = [name for name in REGISTRY.names if REGISTRY.load(name).__module__.startswith("scannerd_drivers")]
VALIDATOR = Draft202012Validator(config_schema())


def example(driver: str) -> Config:
    """What the example of a driver says."""
    return load(EXAMPLES / f"{driver}.toml", environ={})


def shown(text: str) -> list[str]:
    """The keys of a file in its order, those behind a `#` too."""
    return [line.lstrip("# ").partition(" = ")[0] for line in text.splitlines() if " = " in line]


def wrong(text: str) -> list[str]:
    """Where a configuration does not fit the schema."""
    return [error.json_path for error in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_every_driver_has_an_example_and_every_example_a_driver() -> None:
    """Beside the codebook that one of them needs, the folder holds a file for each driver and nothing else."""
    assert sorted(OWN) == sorted(path.stem for path in EXAMPLES.glob("*.toml") if path != DECK)


@pytest.mark.parametrize("driver", OWN)
def test_example_is_valid_and_of_its_driver(driver: str) -> None:
    """An example can be used as it is."""
    assert [driver] == [scanner.driver for scanner in example(driver).scanners]


@pytest.mark.parametrize("driver", OWN)
def test_example_shows_and_explains_every_option(driver: str) -> None:
    """An example shows each of its driver's options, with the words that `scannerd drivers` has for it."""
    text = (EXAMPLES / f"{driver}.toml").read_text(encoding="utf-8")
    explained = " ".join(line.removeprefix("#").strip() for line in text.splitlines())
    for option in options(REGISTRY.load(driver)):
        assert option.name in shown(text)
        assert option.description in explained


@pytest.mark.parametrize("driver", OWN)
def test_example_holds_the_defaults_but_where_it_says_otherwise(driver: str) -> None:
    """What an example sets to another value than the default stands under a comment that names the default."""
    (scanner,) = example(driver).scanners
    text = (EXAMPLES / f"{driver}.toml").read_text(encoding="utf-8")
    set_anew = [name for name, value in scanner.options if value != type(scanner.options).model_fields[name].default]
    assert len(set_anew) == text.count("# By default ")
    for name in set_anew:
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name} = ")]
        before = text.splitlines()[text.splitlines().index(line) - 1]
        assert before.startswith("# By default ")


@pytest.mark.parametrize("path", [CONFIG / "scannerd.example.toml", *sorted(EXAMPLES.glob("*.toml"))], ids=str)
def test_examples_fit_the_schema(path: Path) -> None:
    """An editor that holds the examples to the schema finds nothing to mark."""
    if path != DECK:
        assert [] == wrong(path.read_text(encoding="utf-8"))


def test_schema_is_one() -> None:
    """The schema is a JSON Schema of the draft that it names."""
    Draft202012Validator.check_schema(config_schema())


def test_schema_knows_every_section() -> None:
    """The schema has the sections that the example shows, and no others."""
    sections = tomllib.loads((CONFIG / "scannerd.example.toml").read_text(encoding="utf-8")).keys()
    properties = config_schema()["properties"]
    assert isinstance(properties, dict)
    assert sections == properties.keys()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (('language = "en"', 'language = "fr"'), "$.table.language"),
        (('id = "tp-01"', ""), "$.table"),
        (("bounce_ms = 400", "bounce_ms = -1"), "$.round.bounce_ms"),
        (("bounce_ms = 400", 'bounce_ms = "400"'), "$.round.bounce_ms"),
        (("bounce_ms = 400", "bounce = 400"), "$.round"),
        (("[mqtt]", "[mqttt]"), "$"),
        (('driver = "bee-tek"', 'driver = "bee-tec"'), "$.scanner[0]"),
        (('driver = "bee-tek"', 'driver = "bee-tek"\nlength = 2'), "$.scanner[0]"),
        (('codes = "rank-suit"', "codes = 3"), "$.scanner[0]"),
    ],
)
def test_schema_marks_what_is_wrong(change: tuple[str, str], place: str) -> None:
    """An unknown key, a value of another kind, and an option of another driver are marked where they stand."""
    text = (CONFIG / "scannerd.example.toml").read_text(encoding="utf-8")
    assert change[0] in text
    assert [place] == wrong(text.replace(*change))


def test_codebook_is_required_where_the_driver_has_none() -> None:
    """Without `codes` the stanza of a tag reader does not fit the schema."""
    text = (EXAMPLES / "rfid-serial.toml").read_text(encoding="utf-8")
    assert ["$.scanner[0]"] == wrong(text.replace('codes = "rfid-deck.toml"', ""))


def test_schema_has_the_drivers_of_others_too(tmp_path: Path) -> None:
    """Each driver that can be used is in the schema with its own options; one that can't is left out."""
    packages = package(tmp_path, "theirs", good="tests.test_registry:Good", broken="tests.test_registry:Nameless")
    wide = Draft202012Validator(config_schema(Registry(packages)))
    text = '[table]\nid = "tp-01"\n[[scanner]]\nname = "shoe"\nurl = "/dev/x"\ncodes = "rank-suit"\nspeed = 3\n'
    assert wide.is_valid(tomllib.loads(f'{text}driver = "good"'))
    assert not wide.is_valid(tomllib.loads(f'{text}driver = "good"\nmode = "idle"'))
    assert not wide.is_valid(tomllib.loads(f'{text}driver = "broken"'))


def test_schema_leaves_out_what_has_no_value() -> None:
    """TOML has no null: neither a type nor a default of the schema is one."""
    assert "null" not in json.dumps(config_schema())


def test_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """`scannerd schema --config` prints it."""
    assert Exit.WELL == run(["schema", "--config"])
    assert config_schema() == json.loads(capsys.readouterr().out)


def test_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Two documents at once are refused."""
    assert Exit.USAGE == run(["schema", "--config", "--asyncapi"])
    assert 1 == capsys.readouterr().err.count("\n")
