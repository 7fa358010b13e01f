"""Recordings through both tables: those that are given, or those that a live table is writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from scannerd.codebooks import BUILT_IN
from scannerd.config.settings import Config, Scanner
from scannerd.recording.recorded_table import replay_of
from scannerd.registry import STANZA_KEYS, Registry, parse_options
from scannerd.scanlog import Header, ScanlogReader, reading
from scannerd.shadow.rounds import Compared, Shadow
from scannerd.shadow.sides import Place, Side, side_of_config


class Finding(NamedTuple):
    """A round of a recording that was compared, and the time of day at which it was opened."""

    compared: Compared
    opened_at: datetime
    recorded_at: datetime


@dataclass
class Tables:
    """Makes both tables for each recording.

    Attributes:
        new: the configuration that is tried.
        live: the live table's; None: what each recording's header says.
        warn: told of what is ignored, or looks wrong.
    """

    new: Config
    live: Config | None
    warn: Callable[[str], None]
    _registry: Registry = field(default_factory=Registry)

    def sides(self, header: Header, recording: Path) -> tuple[Side, Side]:
        """The live table and the new one, at the recording's beginning.

        Raises:
            UsageError: a driver, a codebook or the game can't be used, or a scanner is not configured.
        """
        new = side_of_config(self.new, header, _quiet)
        if self.live is None:
            return Side(replay_of(header, recording, self._registry, self.warn)), new
        if not _alike(self.live, header):
            self.warn(f"{recording}: the live table ran with another configuration than {self.live.path}")
        return side_of_config(self.live, header, self.warn), new


def given(recordings: Iterable[Path], tables: Tables) -> Iterator[Finding]:
    """Compares recordings, each from its beginning.

    Raises:
        UsageError: one can't be used.
    """
    for path in recordings:
        with reading(path, tables.warn) as reader:
            yield from _compared(path, reader, tables)


def live(
    opened: Iterable[tuple[Path, ScanlogReader]], tables: Tables, since: datetime, stopped: Callable[[], bool]
) -> Iterator[Finding]:
    """Compares what a live table records, as it does.

    Args:
        opened: the recordings as they come, see `followed`.
        tables: makes both tables.
        since: rounds opened before are played, so that both tables know what came before, and not told.
        stopped: whether to end; a round that has not ended by then is left out.

    Raises:
        UsageError: a recording can't be used.
    """
    for path, reader in opened:
        for finding in _compared(path, reader, tables):
            if stopped() and not finding.compared.ended:
                return
            if finding.opened_at >= since:
                yield finding
            if stopped():
                return


def _compared(path: Path, reader: ScanlogReader, tables: Tables) -> Iterator[Finding]:
    shadow, began = Shadow(*tables.sides(reader.header, path)), reader.header.recorded_at
    for entry in reader:
        compared = shadow.take(entry, Place(path, reader.line))
        if compared is not None:
            yield _finding(compared, began)
    yield _finding(shadow.end(), began)


def _finding(compared: Compared, began: datetime) -> Finding:
    return Finding(compared, began + timedelta(microseconds=compared.at), began)


def _alike(config: Config, header: Header) -> bool:
    """Whether a recording was made with this configuration; codebooks' files may lie elsewhere here."""
    if (config.table.game, config.round) != (header.game, header.round):
        return False
    stanzas = {scanner.name: scanner for scanner in config.scanners}
    return stanzas.keys() == header.scanners.keys() and all(
        _same(stanzas[name], keys) for name, keys in header.scanners.items()
    )


def _same(scanner: Scanner, keys: dict[str, object]) -> bool:
    codes = keys.get("codes", scanner.driver_class.codes)
    if (scanner.driver, scanner.hand) != (keys.get("driver"), keys.get("hand")):
        return False
    if codes != scanner.codes and {codes, scanner.codes} & BUILT_IN.keys():
        return False
    own = {key: value for key, value in keys.items() if key not in STANZA_KEYS}
    try:
        return scanner.options == parse_options(scanner.driver_class, own)
    except ValidationError:  # it was made by another version of the driver
        return False


def _quiet(text: str) -> None:
    del text
