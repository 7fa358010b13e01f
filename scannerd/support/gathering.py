"""Fills a report, part by part: a part that fails is named with its reason, and the others are there all the same."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from scannerd import __version__
from scannerd.config import load, parse, read
from scannerd.config.settings import Config
from scannerd.doctor.findings import Finding
from scannerd.errors import ConfigError, ScannerdError
from scannerd.redaction import scrubber
from scannerd.support import journal, machine, traces
from scannerd.support.bundle import Bundle, Item, as_json
from scannerd.support.configuration import Shown, show
from scannerd.urls import is_loopback

Examine: TypeAlias = Callable[[Path], Iterable[tuple[str, list[Finding]]]]
"""What `scannerd doctor` finds with a configuration, group by group."""

Part: TypeAlias = tuple[str, Callable[[], Iterator[Item]]]
"""What it is, for people, and what it brings."""

NOT_INSIDE = (
    "passwords, PINs, keys and tokens, and the files that hold them",
    "comments and unknown keys of the configuration",
    "codebooks: of them only the digests, in the journal's events",
    "the journal itself, of which only the last events are inside",
    "anything of other tables or programs of this machine",
)
"""What is left out on purpose; said to whoever sends the report."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        config: the table's configuration, or None: only the machine is looked at.
        events: how many of the journal's last events.
        recorded_bytes: how much of the last recordings.
        prove: whether the journal is proved from end to end, which takes a minute for some million events.
    """

    config: Path | None
    events: int = 2_000
    recorded_bytes: int = 8 * 1024 * 1024
    prove: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """What is asked outside this process.

    Attributes:
        examine: what `scannerd doctor` finds.
        run: runs a program of the system.
        fetch: asks the daemon's own pages.
        credentials: the folder where systemd finds secrets.
    """

    examine: Examine
    run: machine.Run = machine.run
    fetch: traces.Fetch = traces.fetch
    credentials: Path = Path("/etc/credstore")


@dataclass(slots=True)
class Table:
    """What is known of the table, be its configuration ever so broken.

    Attributes:
        path: its configuration.
        unit: what systemd calls it.
        trouble: what is wrong with the configuration.
        config: read, or None where it can't be used.
        shown: the configuration without its secrets.
        said: the configuration as TOML alone tells it.
    """

    path: Path
    unit: str
    trouble: tuple[str, ...] = ()
    config: Config | None = None
    shown: Shown = field(default_factory=Shown)
    said: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path, credentials: Path) -> Table:
        """Looks at a configuration; `credentials` is the folder where systemd finds secrets."""
        table = cls(path, f"scannerd@{path.stem}.service")
        try:
            text = read(path)
            table.shown = show(path, text, credentials)
            table.said = parse(path, text)
            table.config = load(path)
        except ConfigError as error:
            table.trouble = error.problems
        except Exception as error:  # noqa: BLE001 - a fault of ours is part of what is to be told
            table.trouble = (repr(error),)
        return table

    @property
    def id(self) -> str:
        """The table's id; where nobody can tell, the file's name."""
        return _text(self.said, "table", "id") or self.path.stem

    @property
    def state_dir(self) -> Path:
        """Where its journal lies."""
        told = _text(self.said, "table", "state_dir")
        return self.path.resolve().parent / told if told else Path("/var/lib/scannerd") / self.id

    @property
    def recordings(self) -> Path | None:
        """Where its recordings lie, if there are any."""
        told = _text(self.said, "record", "directory")
        return self.path.resolve().parent / told if told else None


def gathered(wish: Wish, world: World, now: datetime) -> Bundle:
    """Gathers a report."""
    table = None if wish.config is None else Table.at(wish.config, world.credentials)
    name = "machine" if table is None else table.path.stem
    secrets = None if table is None else scrubber(table.shown.secrets)
    bundle = Bundle(f"scannerd-support-{name}-{now:%Y%m%dT%H%M%SZ}", now, secrets)
    parts = [("versions", machine.versions)] if table is None else [*_parts(table, wish, world)]
    for what, part in parts:
        _fill(bundle, what, part)
    return bundle


def about(wish: Wish) -> dict[str, object]:
    """What the manifest says beside the list."""
    config = None if wish.config is None else str(wish.config)
    return {"bundle": 1, "scannerd": __version__, "config": config, "not_inside": NOT_INSIDE}


def _parts(table: Table, wish: Wish, world: World) -> Iterator[Part]:
    yield "versions", machine.versions
    yield "the configuration", lambda: _configuration(table)
    yield "the unit", lambda: machine.service(table.unit, world.run)
    yield "the log", lambda: machine.log(table.unit, world.run)
    yield "the state directory", lambda: traces.state(table.state_dir)
    yield "the journal", lambda: journal.about(table.state_dir)
    yield "the journal's last events", lambda: journal.tail(table.state_dir, wish.events)
    yield "the journal's figures", lambda: journal.figures(table.state_dir)
    if wish.prove:
        yield "the journal's proof", lambda: journal.proof(table.state_dir)
    yield "recordings", lambda: _recordings(table, wish)
    yield "the pages' figures", lambda: _metrics(table, world)
    yield "doctor", lambda: _doctor(table, world)


def _fill(bundle: Bundle, what: str, part: Callable[[], Iterator[Item]]) -> None:
    try:
        for item in part():
            bundle.add(item)
    except (ScannerdError, OSError) as trouble:
        bundle.lack(what, str(trouble))
    except Exception as trouble:  # noqa: BLE001 - a fault of ours belongs into the report, and takes nothing from the rest
        bundle.lack(what, repr(trouble))
        bundle.add(Item(f"faults/{what.replace(' ', '-')}.txt", traceback.format_exc().encode()))


def _configuration(table: Table) -> Iterator[Item]:
    verdict = "\n".join(table.trouble) or "well"
    yield Item("config/check.txt", f"{verdict}\n".encode(errors="surrogateescape"))
    if table.shown.data is not None:
        digest = None if table.config is None else table.config.digest
        yield Item("config/config.json", as_json({"digest": digest, "says": table.shown.data}))
    elif table.shown.lines:
        yield Item("config/config.toml", "\n".join(table.shown.lines).encode())


def _recordings(table: Table, wish: Wish) -> Iterator[Item]:
    if table.recordings is None:
        raise OSError("the configuration names no [record] directory: nothing is recorded")
    yield from traces.recordings(table.recordings, table.id, wish.recorded_bytes)


def _metrics(table: Table, world: World) -> Iterator[Item]:
    display = None if table.config is None else table.config.display
    address = None if display is None else display.address
    if display is None or address is None or display.tls_cert or not is_loopback(address[0]) or not address[1]:
        raise OSError("the pages are off, or not on plain HTTP of this machine alone")
    yield from traces.metrics(*address, world.fetch)


def _doctor(table: Table, world: World) -> Iterator[Item]:
    if table.config is None:
        raise OSError("the configuration can't be used")
    found = [{"group": group} | asdict(finding) for group, told in world.examine(table.path) for finding in told]
    yield Item("doctor.json", json.dumps(found, indent=2, ensure_ascii=False).encode())


def _text(data: Mapping[str, object], section: str, key: str) -> str | None:
    keys = data.get(section)
    value = keys.get(key) if isinstance(keys, dict) else None
    return value if isinstance(value, str) and value else None
