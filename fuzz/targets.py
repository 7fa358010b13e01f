"""All targets, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from fuzz.configurations import CodebookTarget, ConfigurationTarget
from fuzz.decoders import DecoderTarget, drivers
from fuzz.orders import OrderTarget
from fuzz.scanlogs import ScanlogTarget
from fuzz.target import Target
from scannerd.registry import Registry


def targets() -> Mapping[str, Callable[[], Target]]:
    """What makes each target: the decoders in alphabetical order, then what reads recordings, commands and files."""
    registry = Registry()
    made: dict[str, Callable[[], Target]] = {name: partial(DecoderTarget, name, registry) for name in drivers(registry)}
    made |= {"scanlog": partial(ScanlogTarget, registry), "command": OrderTarget}
    return made | {"config": partial(ConfigurationTarget, registry), "codebook": CodebookTarget}
