"""Reads a configuration: TOML, every key known, every fault told with file, line and key.

Nothing is touched but files: no device, no broker. A relative path is relative to the configuration's own folder,
for a service has no working directory that its administrator would think of. Sections that are left out have the
values that the example shows: a broker on this machine, a dealer's page on port 8470.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from scannerd import games
from scannerd.config.digest import digest
from scannerd.config.problems import Problems, unknown_key
from scannerd.config.scanners import ScannerLoader
from scannerd.config.settings import Alarms, Config, Display, Journal, Mqtt, Record, Round, Section, Table
from scannerd.config.versions import KEY, STEPS, Step, brought_up
from scannerd.core.games import Plan
from scannerd.errors import ConfigError
from scannerd.registry import Registry, strictly
from scannerd.signing import SigningError, signer
from scannerd.toml_lines import Place, key_lines, loads

SectionT = TypeVar("SectionT", bound=Section)

_SECTIONS = ("table", "scanner", "round", "mqtt", "display", "record", "journal", "alarms")
_MQTT_FILES = ("password_file", "ca_file", "cert_file", "key_file")
_DISPLAY_FILES = ("pin_file", "tls_cert", "tls_key")
_CREDENTIAL = "mqtt-password"
_PIN_CREDENTIAL = "display-pin"
_SIGNING_CREDENTIAL = "signing-key"
_CREDSTORE = Path("/etc/credstore")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def load(
    path: Path,
    *,
    registry: Registry | None = None,
    environ: Mapping[str, str] = os.environ,
    credstore: Path = _CREDSTORE,
    steps: Sequence[Step] = STEPS,
) -> Config:
    """Reads and checks a configuration; one of an older version is read as if it had been migrated.

    Args:
        path: the file.
        registry: the drivers; by default those that are installed.
        environ: names the folder of systemd's credentials, in `CREDENTIALS_DIRECTORY`.
        credstore: where systemd finds them for a service; it is looked into where `environ` names no folder, so that
            a command by hand has the secrets that the service has.
        steps: what has changed since the first version.

    Raises:
        ConfigError: it can't be used; all that is wrong is told at once. Whoever wrote the file must act.
    """
    text = read(path)
    parse(path, text)
    text = brought_up(path, text, steps)
    data = parse(path, text)
    problems = Problems(path, key_lines(text))
    secrets = _secrets(path, environ, credstore)
    config = _Loader(path, data, problems, registry or Registry(), secrets).load()
    problems.raise_any()
    if config is None:
        raise ConfigError((f"{path}:1: it can't be used",))
    return config


def _secrets(path: Path, environ: Mapping[str, str], credstore: Path) -> str:
    """What the name of a secret is put behind; `systemd/scannerd@.service` says how they are called."""
    given = environ.get("CREDENTIALS_DIRECTORY")
    return f"{given}/" if given else str(credstore / f"scannerd-{path.stem}.")


def read(path: Path) -> str:
    """The text of a configuration.

    Raises:
        ConfigError: it can't be read, or is no UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError((f"{path}: can't be read: {error.strerror}",)) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            (f"{path}:{line}: expected UTF-8, found the byte 0x{error.object[error.start]:02x}",)
        ) from None


def parse(path: Path, text: str) -> dict[str, object]:
    """What the text of a configuration says.

    Raises:
        ConfigError: it is no TOML.
    """
    try:
        return loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _TOML_PLACE.search(str(error))
        line = match[1] if match and match[1] else text.count("\n") + 1
        raise ConfigError((f"{path}:{line}: expected TOML: {_TOML_PLACE.sub('', str(error))}",)) from None


class _Loader:
    """One run over one document; a part that has a problem is None from then on, and the others are looked at still."""

    def __init__(
        self,
        path: Path,
        data: dict[str, object],
        problems: Problems,
        registry: Registry,
        secrets: str,
    ) -> None:
        self._path = path
        self._beside = path.resolve().parent
        self._data = data
        self._problems = problems
        self._registry = registry
        self._secrets = secrets

    def load(self) -> Config | None:
        for key in self._data.keys() - {KEY, *_SECTIONS}:
            self._problems.add((key,), unknown_key(key, (KEY, *_SECTIONS)))
        table, round_ = self._section("table", Table), self._section("round", Round)
        mqtt, display = self._section("mqtt", Mqtt), self._section("display", Display)
        record, alarms = self._section("record", Record), self._section("alarms", Alarms)
        journal = self._section("journal", Journal)
        plan = self._plan()
        scanners = ScannerLoader(self._data, self._beside, self._problems, self._registry).load(plan)
        self._check_mqtt(mqtt)
        self._check_display(display)
        journal = self._signing(journal)
        if table is None or plan is None or scanners is None:
            return None
        if round_ is None or mqtt is None or display is None or record is None or journal is None or alarms is None:
            return None
        config = Config(
            path=self._path,
            table=self._absolute(table, ("state_dir",)),
            plan=plan,
            scanners=scanners,
            round=round_,
            mqtt=self._absolute(self._with_credential(mqtt), _MQTT_FILES),
            display=self._absolute(self._with_pin(display), _DISPLAY_FILES),
            record=self._absolute(record, ("directory",)),
            journal=journal,
            alarms=alarms,
            digest="",
        )
        return replace(config, digest=digest(config))

    def _section(self, name: str, model: type[SectionT]) -> SectionT | None:
        return self._model((name,), model, self._data.get(name, {}))

    def _model(self, place: Place, model: type[SectionT], value: object) -> SectionT | None:
        if not isinstance(value, dict):
            self._problems.add(place, f"expected a table, [{place[-1]}]")
            return None
        try:
            return strictly(model, value)
        except ValidationError as error:
            self._problems.add_all(place, error, model)
            return None

    def _plan(self) -> Plan | None:
        """The plan of the game that is named, even where the rest of its section has a problem."""
        table = self._data.get("table")
        game = table.get("game", Table.model_fields["game"].default) if isinstance(table, dict) else None
        if not isinstance(game, str):
            return None
        try:
            return games.load(game, self._beside)
        except ValueError as error:
            self._problems.add(("table", "game"), f"{error}, found {game!r}")
            return None

    def _check_mqtt(self, mqtt: Mqtt | None) -> None:
        if mqtt is None:
            return
        for key in _MQTT_FILES:
            self._check_readable(("mqtt", key), getattr(mqtt, key))
        for key, other in (("key_file", "cert_file"), ("password_file", "username")):
            if getattr(mqtt, key) and not getattr(mqtt, other):
                self._problems.add(("mqtt", key), f"expected `{other}` with it")
        for key in ("ca_file", "cert_file"):
            if getattr(mqtt, key) and not any(broker.tls for broker in mqtt.brokers):
                self._problems.add(("mqtt", key), "expected an mqtts:// url with it")

    def _check_display(self, display: Display | None) -> None:
        if display is None:
            return
        for key in _DISPLAY_FILES:
            self._check_readable(("display", key), getattr(display, key))
        for key, other in (("tls_key", "tls_cert"), ("tls_cert", "tls_key")):
            if getattr(display, key) and not getattr(display, other):
                self._problems.add(("display", key), f"expected `{other}` with it")
        if not (display.on_loopback or display.tls_cert or display.behind_proxy):
            text = f"{display.listen!r} can be reached from elsewhere: expected `tls_cert` and `tls_key` with it, or "
            self._problems.add(("display", "listen"), f"{text}`behind_proxy = true` where a proxy speaks TLS for it")

    def _check_readable(self, place: Place, file: Path | None) -> None:
        try:
            if file is not None:
                (self._beside / file).open("rb").close()
        except OSError as error:
            self._problems.add(place, f"expected a readable file, found {str(file)!r}: {error.strerror}")

    def _with_credential(self, mqtt: Mqtt) -> Mqtt:
        credential = self._credential(_CREDENTIAL)
        if mqtt.username is None or mqtt.password_file is not None or credential is None:
            return mqtt
        return mqtt.model_copy(update={"password_file": credential})

    def _with_pin(self, display: Display) -> Display:
        credential = self._credential(_PIN_CREDENTIAL)
        if display.pin_file is not None or credential is None:
            return display
        return display.model_copy(update={"pin_file": credential})

    def _signing(self, journal: Journal | None) -> Journal | None:
        """The section with its key in place, which must be one."""
        credential = self._credential(_SIGNING_CREDENTIAL)
        if journal is not None and journal.signing_key is None and credential is not None:
            journal = journal.model_copy(update={"signing_key": credential})
        if journal is None or journal.signing_key is None:
            return journal
        journal = self._absolute(journal, ("signing_key",))
        try:
            signer(self._beside / str(journal.signing_key))
        except SigningError as error:
            self._problems.add(("journal", "signing_key"), str(error))
        return journal

    def _credential(self, name: str) -> Path | None:
        """What systemd gives the service under this name; the store is root's alone, and others go without."""
        credential = Path(f"{self._secrets}{name}")
        return credential if os.access(credential, os.R_OK) and credential.is_file() else None

    def _absolute(self, section: SectionT, keys: tuple[str, ...]) -> SectionT:
        written = {key: getattr(section, key) for key in keys}
        return section.model_copy(update={key: self._beside / path for key, path in written.items() if path})
