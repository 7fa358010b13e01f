"""Other drivers by their names, for those that stand in for a device and have no bytes of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import entry_points

from scannerd.contract import Driver, DriverOptions

GROUP = "scannerd.drivers"


def driver(name: str, options: Mapping[str, object]) -> Driver[DriverOptions]:
    """The driver of that name with its options.

    Raises:
        ValueError: it is not installed, or twice; or an option does not fit.
    """
    claims = entry_points(group=GROUP, name=name)
    if len(claims) != 1:
        raise ValueError(f"{'no driver' if not claims else 'more than one driver is'} called {name!r}")
    found: object = claims[name].load()
    if not (isinstance(found, type) and issubclass(found, Driver)):
        raise ValueError(f"{name!r} is no driver")  # noqa: TRY004 - bad input, not a wrong call
    # Only in its JSON mode does pydantic both refuse "9600" for a number and take a list for a tuple.
    made: Driver[DriverOptions] = found(found.Options.model_validate_json(json.dumps(options), strict=True))
    return made
