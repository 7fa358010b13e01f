"""The fingerprint of a configuration: two daemons with one digest decide alike.

In it: what was written, defaults filled in, each codebook's digest and the deal plan. Not in it: passwords and where
files lie, so that moving a configuration changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from hashlib import sha256

from scannerd.config.settings import Config, Scanner

_FILES = {"password_file", "ca_file", "cert_file", "key_file", "pin_file", "tls_cert", "tls_key", "signing_key"}


def digest(config: Config) -> str:
    """SHA-256, 64 hex digits, over the configuration as JSON with sorted keys."""
    whole = {
        "table": config.table.model_dump(mode="json", exclude={"state_dir"}),
        "plan": config.plan.names,
        "scanner": [_scanner(scanner) for scanner in config.scanners],
        "round": config.round.model_dump(mode="json"),
        "mqtt": config.mqtt.model_dump(mode="json", exclude=_FILES),
        "display": config.display.model_dump(mode="json", exclude=_FILES),
        "journal": config.journal.model_dump(mode="json", exclude=_FILES),
        "alarms": config.alarms.model_dump(mode="json"),
    }
    return sha256(json.dumps(whole, sort_keys=True, separators=(",", ":"), default=_plain).encode()).hexdigest()


def _scanner(scanner: Scanner) -> dict[str, object]:
    return {
        "name": scanner.name,
        "driver": scanner.driver,
        "url": scanner.url,
        "codes": scanner.codebook.digest,
        "hand": scanner.hand,
        "options": scanner.options.model_dump(),
    }


def _plain(value: object) -> object:
    """What JSON does not know; a set has an order of its own in every process, so it is sorted."""
    return sorted(value, key=str) if isinstance(value, AbstractSet) else str(value)
