"""The `[[scanner]]` stanzas of a configuration: the driver found, its options checked, the codebook read."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from scannerd import urls
from scannerd.codebooks import Codebook, load_codebook
from scannerd.config.problems import Problems
from scannerd.config.settings import Scanner, Stanza
from scannerd.contract import Driver, DriverOptions, TransportError
from scannerd.core.games import Plan
from scannerd.errors import DriverUnusable
from scannerd.registry import STANZA_KEYS, Registry, parse_options, strictly
from scannerd.toml_lines import Place


class ScannerLoader:
    """Looks at every stanza, whatever is wrong with the others."""

    def __init__(self, data: dict[str, object], beside: Path, problems: Problems, registry: Registry) -> None:
        """Takes the whole document, the configuration's folder, and where to put complaints."""
        self._data = data
        self._beside = beside
        self._problems = problems
        self._registry = registry

    def load(self, plan: Plan | None) -> tuple[Scanner, ...] | None:
        """All scanners in their order, or None where one of them, or the list, has a problem."""
        stanzas = self._data.get("scanner")
        if not (isinstance(stanzas, list) and stanzas and all(isinstance(stanza, dict) for stanza in stanzas)):
            self._problems.add(("scanner",), "required: at least one [[scanner]] with name, driver and url")
            return None
        made = [self._scanner(index, stanza, plan) for index, stanza in enumerate(stanzas)]
        self._check_distinct(stanzas)
        scanners = tuple(scanner for scanner in made if scanner is not None)
        return scanners if len(scanners) == len(made) else None

    def _scanner(self, index: int, keys: dict[str, object], plan: Plan | None) -> Scanner | None:
        place: Place = ("scanner", index)
        stanza = self._stanza(place, keys)
        driver = self._driver(place, keys.get("driver"))
        options = None if driver is None else self._options(place, driver, keys)
        if stanza is None or driver is None:
            return None
        codes = stanza.codes or driver.codes
        codebook = self._codebook(place, codes)
        self._check_hand(place, stanza.hand, plan)
        self._check_url(place, stanza.url, driver, options)
        if options is None or codes is None or codebook is None:
            return None
        return Scanner(stanza.name, stanza.driver, self._url(stanza.url), codes, stanza.hand, options, driver, codebook)

    def _stanza(self, place: Place, keys: dict[str, object]) -> Stanza | None:
        try:
            return strictly(Stanza, keys)
        except ValidationError as error:
            self._problems.add_all(place, error, Stanza)
            return None

    def _driver(self, place: Place, name: object) -> type[Driver[DriverOptions]] | None:
        if not isinstance(name, str):
            return None
        try:
            return self._registry.load(name)
        except DriverUnusable as error:
            self._problems.add((*place, "driver"), str(error))
            return None

    def _options(
        self, place: Place, driver: type[Driver[DriverOptions]], keys: dict[str, object]
    ) -> DriverOptions | None:
        try:
            return parse_options(driver, {key: value for key, value in keys.items() if key not in STANZA_KEYS})
        except ValidationError as error:
            self._problems.add_all(place, error, driver.Options, STANZA_KEYS)
            return None

    def _codebook(self, place: Place, codes: str | None) -> Codebook | None:
        if codes is None:
            self._problems.add((*place, "codes"), "required with this driver: a built-in codebook or a file")
            return None
        try:
            return load_codebook(codes, self._beside)
        except (OSError, ValueError) as error:
            self._problems.add((*place, "codes"), str(error))
            return None

    def _check_hand(self, place: Place, hand: str | None, plan: Plan | None) -> None:
        if hand is not None and plan is not None and hand not in plan.hands:
            self._problems.add(
                (*place, "hand"), f"expected a hand of the game, {' or '.join(plan.hands)}, found {hand!r}"
            )

    def _check_url(
        self, place: Place, url: str, driver: type[Driver[DriverOptions]], options: DriverOptions | None
    ) -> None:
        if options is None:
            return
        try:
            driver(options).transport(self._url(url))
        except TransportError:
            return  # the machine's fault, not the configuration's: the reader will tell it
        except ValueError as error:
            self._problems.add((*place, "url"), str(error))

    def _check_distinct(self, stanzas: list[dict[str, object]]) -> None:
        for index, stanza in enumerate(stanzas):
            for before in range(index):
                self._check_pair(index, stanza, before, stanzas[before])

    def _check_pair(self, index: int, stanza: dict[str, object], before: int, other: dict[str, object]) -> None:
        line = self._problems.line(("scanner", before))
        if isinstance(stanza.get("name"), str) and stanza["name"] == other.get("name"):
            self._problems.add(("scanner", index, "name"), f"{stanza['name']!r} is the scanner at line {line} already")
        if urls.same_device(self._device(stanza), self._device(other)):
            names = f"{stanza.get('name')!r} and {other.get('name')!r} (line {line})"
            self._problems.add(("scanner", index, "url"), f"{names} are on one device, {self._device(stanza)}")

    def _device(self, stanza: dict[str, object]) -> str | None:
        url = stanza.get("url")
        return urls.device(self._url(url)) if isinstance(url, str) else None

    def _url(self, url: str) -> str:
        return url if ":" in url else str(self._beside / url)
