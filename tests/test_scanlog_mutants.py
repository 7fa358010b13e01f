"""Thousands of mutants of recordings of every driver: whatever happens to the bytes, the table's promises hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

from scannerd.config.settings import Round
from scannerd.editing.mutating import Mutator, Rates
from scannerd.recording.recorded_table import driver_of, replay_of
from scannerd.recording.replay import Replay
from scannerd.recording.simulation import SCANNER, has_codebook, header, kept, simulator, write_codebook
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, Entry, Header, ScanlogWriter, reading
from tests.invariants import played

FOLDER = Path(__file__).parent / "recordings"
RECORDINGS = sorted(FOLDER.glob("*.scanlog"))
FORMATS = ("angel-eye", "bee-tek", "hid-keyboard", "hid-pos", "line", "rfid-serial", "ssi", "usb-bulk")
MUTANTS = 4_000
"""How many in all, of the recordings and of a simulated deal of each format."""

EACH = -(-MUTANTS // (len(RECORDINGS) + len(FORMATS)))
REGISTRY = Registry()
RATES = (0.0, 0.02, 0.1, 0.3, 0.8)
"""From which the rate of each fault is drawn."""


class Source:
    """A recording that is read once and played often."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with reading(path, _fail) as reader:
            self.header: Header = reader.header
            self.entries: list[Entry] = list(reader)
        self.reports = {name for name, keys in self.header.scanners.items() if driver_of(name, keys, REGISTRY).reports}

    def replay(self, rules: Round | None = None) -> Replay:
        """A fresh table, by other rules if need be; what is ignored, such as bytes of a lost scanner, is no matter."""
        header = self.header if rules is None else self.header.model_copy(update={"round": rules})
        return replay_of(header, self._path, REGISTRY, lambda _: None)

    def mutant(self, rates: Rates, seed: int) -> list[Entry]:
        """The recording with faults."""
        return list(Mutator(rates, seed, reports=self.reports).entries(iter(self.entries)))


@cache
def source(path: Path) -> Source:
    """The recording at a path."""
    return Source(path)


@pytest.fixture(scope="module", params=FORMATS)
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A few simulated rounds of a format."""
    folder = tmp_path_factory.mktemp("simulated")
    made = simulator({"format": request.param, "rounds": 3, "seed": 7, "misread": 0.1, "bounce": 0.2}, REGISTRY)
    book = None if has_codebook(made, REGISTRY) else "deck.toml"
    write_codebook(folder / "deck.toml", made.spelling())
    path = folder / "simulated.scanlog"
    with path.open("wb") as target:
        writer = ScanlogWriter(target, header(made, "teen-patti-20-20", "auto", book))
        for entry in kept(made.entries(SCANNER), "auto"):
            writer.write(entry)
    return Source(path)


def test_the_recordings_have_every_driver() -> None:
    """No driver that reads a device is left out."""
    assert set(REGISTRY.names) - {"replay", "simulator"} == set(FORMATS)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_promises_hold_for_mutants_of_a_recording(path: Path) -> None:
    """No card out of order, none twice, no value invented, one prompt after a rejection, and the journal tells all."""
    _play_mutants(source(path))


def test_promises_hold_for_mutants_of_a_simulated_deal(simulated: Source) -> None:
    """The same for a deal of each format, rounds after rounds."""
    _play_mutants(simulated)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_bytes_split_otherwise_are_the_same_events(path: Path) -> None:
    """However the bytes of one moment are cut into chunks, or put together, the events are the same to the last key."""
    _split(source(path))


def test_a_simulated_deal_split_otherwise_is_the_same(simulated: Source) -> None:
    """The same for a deal of each format."""
    _split(simulated)


def _play_mutants(source: Source) -> None:
    for seed in range(EACH):
        choose = Random(seed)  # noqa: S311 - faults, not secrets
        rates = Rates(*(choose.choice(RATES) for _ in Rates._fields))
        rules = _rules(choose) if choose.random() < 0.5 else source.header.round
        try:
            played(source.replay(rules), source.mutant(rates, seed))
        except Exception as broken:
            broken.add_note(f"seed {seed}: {rates}, {rules}")
            raise


def _rules(choose: Random) -> Round:
    """Any rules, those at their bounds among them."""
    return Round(
        start=choose.choice(("command", "auto")),
        bounce_ms=choose.choice((0, 150, 400)),
        min_gap_ms=choose.choice((0, 150, 1_000)),
        max_attempts=choose.choice((0, 1, 3)),
        round_gap_ms=choose.choice((0, 1_000, 3_000)),
        stall_ms=choose.choice((0, 500, 30_000)),
        require_broker=choose.choice((True, False)),
    )


def _split(source: Source) -> None:
    expected = played(source.replay(), source.entries)
    for seed in range(6):
        mutant = source.mutant(Rates(split=0.7), seed)
        assert expected == played(source.replay(), mutant)
        assert expected == played(source.replay(), _joined(mutant, source.reports, seed))


def _joined(entries: list[Entry], reports: set[str], seed: int) -> list[Entry]:
    """Some chunks of a scanner that come at one moment come as one."""
    choose, made = Random(seed), list[Entry]()  # noqa: S311 - faults, not secrets
    for entry in entries:
        last = made[-1] if made else None
        if not (isinstance(entry, Chunk) and isinstance(last, Chunk)) or entry.scanner in reports:
            made.append(entry)
        elif replace(last, data=b"") == replace(entry, data=b"") and choose.random() < 0.6:
            made[-1] = replace(last, data=last.data + entry.data)
        else:
            made.append(entry)
    return made


def _fail(warning: str) -> None:
    raise AssertionError(warning)
