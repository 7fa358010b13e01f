"""The table that a recording's header describes: its deal plan, rules, drivers and codebooks, ready to be replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from scannerd import games
from scannerd.channel import Channel, MakesDecoders
from scannerd.codebooks import Codebook, load_codebook
from scannerd.contract import Driver, DriverOptions
from scannerd.core.state import Setup
from scannerd.errors import DriverUnusable
from scannerd.recording.replay import Replay
from scannerd.registry import Registry, parse_options
from scannerd.scanlog import Header, ScanlogError

_NOT_OPTIONS = ("driver", "codes", "hand", "name", "url")


Wrap: TypeAlias = Callable[[str, Driver[DriverOptions]], MakesDecoders]
"""From a scanner's name and its driver to what makes its decoders: for those who want to listen to them."""


def _bare(name: str, driver: Driver[DriverOptions]) -> MakesDecoders:
    del name
    return driver


def replay_of(
    header: Header, recording: Path, registry: Registry, warn: Callable[[str], None], wrap: Wrap = _bare
) -> Replay:
    """Makes what is needed to play a recording.

    Args:
        header: the recording's first line.
        recording: its file: codebooks and games are looked for beside it.
        registry: the drivers at hand.
        warn: told of what is ignored.
        wrap: may put something between the channels and their drivers.

    Raises:
        ScanlogError: a driver, an option, a codebook or the game can't be used.
    """
    try:
        plan = games.load(header.game, recording.parent)
        rules = header.round.rules()
        channels = {}
        for name, keys in header.scanners.items():
            driver, codebook, hand = _parts(name, keys, recording.parent, registry, plan.hands)
            channels[name] = Channel(name, wrap(name, driver), codebook, hand, 0)
    except (DriverUnusable, ValueError, OSError) as unusable:
        raise ScanlogError(f"{recording}:1: {unusable}") from unusable
    setup = Setup(header.table, plan, rules, tuple(header.scanners))
    return Replay(setup, channels, header.recorded_at, warn, header.rounds_before or 0)


def driver_of(name: str, keys: dict[str, object], registry: Registry) -> Driver[DriverOptions]:
    """The driver of a scanner in a header, with its options.

    Raises:
        DriverUnusable: it can't be found or imported.
        ValueError: its options don't fit.
    """
    driver = keys.get("driver")
    if not isinstance(driver, str):
        raise ValueError(f"scanner {name}: driver is required")  # noqa: TRY004 - bad input, not a wrong call
    found = registry.load(driver)
    options = {key: value for key, value in keys.items() if key not in _NOT_OPTIONS}
    try:
        return found(parse_options(found, options))
    except ValidationError as invalid:
        first = invalid.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"scanner {name}: {where}: {first['msg']}") from invalid


def _parts(
    name: str, keys: dict[str, object], beside: Path, registry: Registry, hands: tuple[str, ...]
) -> tuple[Driver[DriverOptions], Codebook, str | None]:
    """A scanner's driver, its codebook and its hand."""
    driver = driver_of(name, keys, registry)
    codes, hand = keys.get("codes", driver.codes), keys.get("hand")
    if not isinstance(codes, str):
        raise ValueError(f"scanner {name}: codes is required: a built-in codebook or a file")  # noqa: TRY004
    if hand is not None and hand not in hands:
        raise ValueError(f"scanner {name}: hand is {' or '.join(hands)}, not {hand!r}")
    return driver, load_codebook(codes, beside), None if hand is None else str(hand)
