"""Simulated recordings: what happens in them, and what the real table makes of it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from itertools import islice
from pathlib import Path
from typing import Literal

import pytest

from scannerd.cli import run
from scannerd.codebooks import BUILT_IN, Codebook, read_codebook
from scannerd.core.cards import DECK, Card
from scannerd.errors import DriverUnusable, Exit, UsageError
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, lines
from scannerd.recording.simulation import (
    SCANNER,
    Simulator,
    Start,
    header,
    kept,
    simulator,
    spelling_of,
    write_codebook,
)
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, End, Entry, Link, Order, ScanlogReader, ScanlogWriter
from scannerd_drivers.formats import FORMATS
from scannerd_drivers.simulator import SimulatorDriver, SimulatorOptions

GAME = "teen-patti-20-20"
ALL_FAULTS: dict[str, object] = {
    "misread": 0.2,
    "duplicate": 0.2,
    "bounce": 0.2,
    "multi_read": 0.2,
    "extra": 0.5,
    "unplug": 0.1,
}


def made(**options: object) -> Simulator:
    """A simulator with options."""
    return SimulatorDriver(SimulatorOptions.model_validate(options))


def written(simulated: Simulator, start: Start, codes: str | None = None) -> bytes:
    """The recording."""
    target = io.BytesIO()
    writer = ScanlogWriter(target, header(simulated, GAME, start, codes))
    for entry in kept(simulated.entries(SCANNER), start):
        writer.write(entry)
    return target.getvalue()


def replayed(recording: bytes, folder: Path) -> list[Line]:
    """The events of a recording that lies in a folder."""
    reader = ScanlogReader(io.BytesIO(recording), "x", pytest.fail)
    return list(lines(replay_of(reader.header, folder / "x.scanlog", Registry(), pytest.fail), iter(reader)))


def counted(events: list[Line]) -> Counter[str]:
    """How often each event came, rejections by their reason."""
    found: Counter[str] = Counter()
    for event in events:
        data = event["data"]
        assert isinstance(data, dict)
        found[str(data["reason"] if event["type"] == "scan_rejected" else event["type"])] += 1
    return found


@pytest.mark.parametrize("start", ["auto", "command"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_round_is_dealt_to_its_end(name: str, start: Literal["auto", "command"], tmp_path: Path) -> None:
    """Whatever the format and the faults, each round is opened, completed and never held, and its faults are told."""
    simulated = made(format=name, rounds=40, seed=3, **ALL_FAULTS)
    codes = "deck.toml" if name == "rfid-serial" else None
    write_codebook(tmp_path / "deck.toml", simulated.spelling())
    found = counted(replayed(written(simulated, start, codes), tmp_path))
    assert (40, 40, 0) == (found["round_opened"], found["round_completed"], found["round_held"])
    assert 240 == found["card_accepted"] - found["card_withdrawn"]
    assert found["card_withdrawn"] == found["multi_read"] > 0
    assert found["scanner_down"] == found["scanner_up"] > 0
    assert min(found["duplicate"], found["extra_card"], found["no_read"] + found["bad_frame"]) > 0


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("misread", {"no_read": 18 * 2}),
        ("duplicate", {"duplicate": 4 * 3 * 2}),
        ("bounce", {}),
        ("multi_read", {"multi_read": 5 * 3 * 2, "card_withdrawn": 5 * 3 * 2, "card_accepted": 18 + 5 * 3 * 2}),
        ("extra", {"extra_card": 3}),
        ("unplug", {"scanner_down": 18, "scanner_up": 18}),
    ],
)
def test_a_fault_that_always_happens(fault: str, told: dict[str, int], tmp_path: Path) -> None:
    """At rate 1 a fault happens wherever it can, twice a slot at most, and leaves its own events only."""
    clean = {"round_opened": 3, "card_accepted": 18, "round_completed": 3}
    recording = written(made(rounds=3, **{fault: 1.0}), "auto")
    assert clean | told == counted(replayed(recording, tmp_path))


def test_the_seed_says_everything() -> None:
    """The same choices give the same bytes, another seed gives others."""
    assert written(made(rounds=5, seed=1, **ALL_FAULTS), "auto") == written(
        made(rounds=5, seed=1, **ALL_FAULTS), "auto"
    )
    assert written(made(rounds=5, seed=1), "auto") != written(made(rounds=5, seed=2), "auto")


def test_time_goes_on() -> None:
    """Entries stand in time order and end with the end, so that the last round is completed."""
    entries = list(made(rounds=3, **ALL_FAULTS).entries(SCANNER))
    times = [entry.t for entry in entries]
    assert sorted(times) == times
    assert isinstance(entries[-1], End)


def test_a_simulation_takes_no_memory() -> None:
    """Rounds are made one after the other, so that one of a million rounds begins at once."""
    entries: Iterator[Entry] = made(rounds=10**9).entries(SCANNER)
    assert 1_000 == len(list(islice(entries, 1_000)))


def test_half_a_card_is_lost_with_its_scanner() -> None:
    """An unplugged scanner has sent a half frame, of a report driver whole reports or none."""
    entries = [entry for entry in made(rounds=1, unplug=1.0).entries(SCANNER) if isinstance(entry, Chunk | Link)]
    half, down, up, whole = entries[:4]
    assert isinstance(half, Chunk)
    assert isinstance(whole, Chunk)
    assert half.data == whole.data[:2]
    assert [False, True] == [link.up for link in (down, up) if isinstance(link, Link)]
    reports = made(rounds=1, unplug=1.0, format="hid-pos").entries(SCANNER)
    assert {64} == {len(entry.data) for entry in reports if isinstance(entry, Chunk)}


def test_cards_open_rounds_where_no_command_does() -> None:
    """With `auto` the commands are left out, else each round begins with one, under an id of its own."""
    told = list(made(rounds=3).entries(SCANNER))
    assert not [entry for entry in kept(told, "auto") if isinstance(entry, Order)]
    orders = [entry for entry in kept(told, "command") if isinstance(entry, Order)]
    assert ["round-1", "round-2", "round-3"] == [order.args["id"] for order in orders]


@pytest.mark.parametrize("cards", [1, 52])
def test_rounds_of_any_length(cards: int) -> None:
    """A round has as many cards as the game deals, the whole deck too."""
    chunks = [entry for entry in made(rounds=1, cards=cards).entries(SCANNER) if isinstance(entry, Chunk)]
    assert cards == len({chunk.data for chunk in chunks})


class TestSpelling:
    """Cards in the codes of a codebook."""

    @pytest.mark.parametrize(("name", "code"), [("rank-suit", "TD"), ("bridge-52", "36"), ("suit-rank-digits", "4100")])
    def test_codes_of_a_codebook(self, name: str, code: str) -> None:
        """Each card has a code that the codebook takes for it, rank and suit where that is one."""
        spell = spelling_of(BUILT_IN[name])
        assert DECK == tuple(BUILT_IN[name].lookup(spell(card)) for card in DECK)
        assert code == spell(Card("TD"))

    def test_codes_that_not_every_scanner_can_send(self) -> None:
        """A codebook whose codes are no plain characters, or that lacks a card, can't be simulated."""
        with pytest.raises(UsageError, match="no code in ASCII for AS"):
            spelling_of(BUILT_IN["unicode"])
        with pytest.raises(UsageError, match="no code in ASCII for KS"):
            spelling_of(Codebook("short", {"1": Card("AS")}))

    def test_a_codebook_that_is_written_is_one(self, tmp_path: Path) -> None:
        """The codebook of a simulated deck of tags can be read, and means what was sent."""
        spell = made(format="rfid-serial").spelling()
        write_codebook(tmp_path / "deck.toml", spell)
        book = read_codebook(tmp_path / "deck.toml")
        assert DECK == tuple(book.lookup(spell(card)) for card in DECK)


def registry(folder: Path, target: str) -> Registry:
    """The drivers of one package, which offers `simulator`."""
    package = folder / "acme-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(f"[scannerd.drivers]\nsimulator = {target}\n", encoding="utf-8")
    return Registry([PathDistribution(package)])


def test_the_driver_simulates(tmp_path: Path) -> None:
    """The driver `simulator` is found as any driver and takes its options."""
    found = simulator({"rounds": 1}, registry(tmp_path, "scannerd_drivers.simulator:SimulatorDriver"))
    assert {"driver": "line"} == found.stanza()


def test_a_driver_of_that_name_that_does_not_simulate(tmp_path: Path) -> None:
    """Another driver of the name `simulator` is refused by its package."""
    with pytest.raises(DriverUnusable, match="package acme does not simulate"):
        simulator({}, registry(tmp_path, "tests.test_simulation:NoSimulator"))


class NoSimulator(SimulatorDriver):
    """A driver with the name, and nothing more."""

    stanza = None  # type: ignore[assignment]  # what it lacks


class TestCommand:
    """`scannerd simulate`."""

    def test_it_writes_a_recording(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The recording can be verified, and without --start its first cards open the rounds."""
        target = tmp_path / "x.scanlog"
        assert Exit.WELL == run(["simulate", "--rounds", "4", "--misread", "0.5", "-o", str(target)])
        assert Exit.WELL == run(["verify", "--update", str(tmp_path)])
        assert b'"start":"auto"' in target.read_bytes()
        assert b"no_read" in target.with_suffix(".expected.jsonl").read_bytes()
        assert "" == capsys.readouterr().err

    def test_a_dash_is_standard_output(self, capsys: pytest.CaptureFixture[str]) -> None:
        """With `-o -` the recording is printed."""
        assert Exit.WELL == run(["simulate", "--rounds", "1", "--start", "command", "-o", "-"])
        first, second, *_, last = capsys.readouterr().out.splitlines()
        assert first.startswith('{"scanlog":1')
        assert '"command":"open"' in second
        assert '"end":true' in last

    def test_a_deck_without_a_codebook_gets_one(self, tmp_path: Path) -> None:
        """For a driver whose codes stand in no built-in codebook one is written beside the recording."""
        target = tmp_path / "x.scanlog"
        assert Exit.WELL == run(["simulate", "--rounds", "1", "--driver", "rfid-serial", "-o", str(target)])
        assert b'"codes":"x.codes.toml"' in target.read_bytes()
        assert 52 == len(set(read_codebook(tmp_path / "x.codes.toml").meanings.values()))

    def test_an_enrolled_codebook_is_not_written_over(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The codebook beside the recording replaces that of another simulation, but none that somebody has made."""
        arguments = ["simulate", "--rounds", "1", "--driver", "rfid-serial", "-o", str(tmp_path / "x.scanlog")]
        assert [Exit.WELL, Exit.WELL] == [run(arguments), run(arguments)]
        book = tmp_path / "x.codes.toml"
        enrolled = book.read_text(encoding="utf-8").replace("simulated", "blue deck")
        book.write_text(enrolled, encoding="utf-8")
        assert Exit.USAGE == run(arguments)
        assert "x.codes.toml: is another codebook" in capsys.readouterr().err
        assert enrolled == book.read_text(encoding="utf-8")

    def test_a_codebook_is_chosen(self, tmp_path: Path) -> None:
        """With --codes the cards are sent in the codes of that codebook."""
        target = tmp_path / "x.scanlog"
        assert Exit.WELL == run(["simulate", "--rounds", "3", "--codes", "bridge-52", "-o", str(target)])
        assert Exit.WELL == run(["verify", "--update", str(tmp_path)])
        assert 3 == target.with_suffix(".expected.jsonl").read_bytes().count(b"round_completed")

    @pytest.mark.parametrize(
        ("arguments", "what"),
        [
            (["-o", "-", "--driver", "rfid-serial"], "name one with --codes"),
            (["-o", "-", "--driver", "lime"], "--driver: "),
            (["-o", "-", "--game", "rummy"], "--game: "),
            (["-o", "-", "--codes", "none.toml"], "none.toml"),
            (["-o", "-", "--misread", "2"], "--misread"),
            (["-o", "/dev/null/x"], "/dev/null/x: Not a directory"),
        ],
    )
    def test_what_can_t_be_written(self, arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A choice that can't be carried out ends the command with 2 and one line."""
        assert Exit.USAGE == run(["simulate", "--rounds", "1", *arguments])
        told = capsys.readouterr().err
        assert what in told
        assert 1 == told.count("\n")
