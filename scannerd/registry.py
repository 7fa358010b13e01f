"""Drivers by name, through the entry-point group `scannerd.drivers`: our own enter as anyone's do.

A name that two packages claim is refused, and so is a class that is not what a driver must be; both are told by the
name of the package. A driver is imported when it is asked for, so a broken one troubles only those who use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import TypeVar

from pydantic import BaseModel

from scannerd.contract import Driver, DriverOptions, OptionsT
from scannerd.errors import DriverUnusable
from scannerd.nearest import nearest

ModelT = TypeVar("ModelT", bound=BaseModel)

GROUP = "scannerd.drivers"

STANZA_KEYS = ("name", "driver", "url", "codes", "hand")
"""The keys of a `[[scanner]]` stanza that are the same for every driver; all others are the driver's own."""


class Registry:
    """The drivers that the installed packages offer."""

    def __init__(self, packages: Iterable[Distribution] | None = None) -> None:
        """Looks at `packages`, or else at all that are installed; imports none of them."""
        self._claims: dict[str, list[tuple[str, EntryPoint]]] = {}
        seen: set[str] = set()
        for package in distributions() if packages is None else packages:
            # The first of a name on the path is the one that gets imported; an old copy behind it claims nothing.
            name = str(package.metadata["Name"])
            if name.lower() not in seen:
                seen.add(name.lower())
                self._add(name, package)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all drivers, in alphabetical order."""
        return tuple(sorted(self._claims))

    def load(self, name: str) -> type[Driver[DriverOptions]]:
        """Imports a driver.

        Raises:
            DriverUnusable: no package offers it, two do, it can't be imported, or it is no driver.
        """
        claims = self._claims.get(name, [])
        if not claims:
            raise DriverUnusable(f"no driver {name!r}{nearest(name, self.names)}")
        if len(claims) > 1:
            raise DriverUnusable(f"driver {name!r} is claimed by {' and by '.join(package for package, _ in claims)}")
        package, entry = claims[0]
        return _checked(name, package, _imported(name, package, entry))

    def package(self, name: str) -> str:
        """The package or packages that offer a driver, for people."""
        return ", ".join(package for package, _ in self._claims.get(name, []))

    def _add(self, name: str, package: Distribution) -> None:
        for entry in package.entry_points.select(group=GROUP):
            self._claims.setdefault(entry.name, []).append((name, entry))


def parse_options(driver: type[Driver[OptionsT]], keys: Mapping[str, object]) -> DriverOptions:
    """Checks a driver's own keys, as a configuration or the header of a recording gives them.

    Types are taken at their word: `"9600"` is no number. A list may stand for a tuple.

    Raises:
        pydantic.ValidationError: an unknown key, or a value that does not fit. Whoever wrote the stanza must act.
    """
    return strictly(driver.Options, keys)


def strictly(model: type[ModelT], keys: Mapping[str, object]) -> ModelT:
    """Makes a model of parsed TOML or JSON without any conversion of types.

    Raises:
        pydantic.ValidationError: an unknown key, or a value that does not fit.
    """
    # Only in its JSON mode does pydantic both refuse "9600" for a number and take a list for a tuple.
    return model.model_validate_json(json.dumps(keys, default=str), strict=True)


def _imported(name: str, package: str, entry: EntryPoint) -> object:
    try:
        return entry.load()
    except Exception as error:  # any fault of somebody else's package is told by its name
        raise DriverUnusable(
            f"driver {name!r} of package {package} can't be imported: {type(error).__name__}: {error}"
        ) from error


def _checked(name: str, package: str, found: object) -> type[Driver[DriverOptions]]:
    if not (isinstance(found, type) and issubclass(found, Driver)):
        raise DriverUnusable(f"driver {name!r} of package {package} is no subclass of scannerd.contract.Driver")
    wrong = _fault(name, found)
    if wrong:
        raise DriverUnusable(f"driver {name!r} of package {package}: {wrong}")
    return found


def _fault(name: str, driver: type[Driver[DriverOptions]]) -> str:
    """What is wrong with a driver's class attributes; empty where nothing is."""
    if getattr(driver, "name", None) != name:
        return f"its class is named {getattr(driver, 'name', None)!r}"
    if not getattr(driver, "summary", ""):
        return "it has no summary"
    options: object = getattr(driver, "Options", None)
    if not (isinstance(options, type) and issubclass(options, DriverOptions)):
        return "its Options are no subclass of scannerd.contract.DriverOptions"
    taken = sorted(set(STANZA_KEYS) & set(options.model_fields))
    return f"its option {taken[0]!r} is a key that every scanner has" if taken else ""
