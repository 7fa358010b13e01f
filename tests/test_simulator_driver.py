"""The driver `simulator`: a scanner of any kind that deals by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic import ValidationError

from scannerd.contract import BadFrame, CardRead, NoRead, Reading, TransportError
from scannerd.core.cards import DECK
from scannerd.registry import parse_options
from scannerd_drivers.formats import FORMATS, spelled, tag_of
from scannerd_drivers.pacing import PacedTransport
from scannerd_drivers.simulator import SimulatorDriver, SimulatorOptions
from tests.pacing import FakePace, heard


def driver(**options: object) -> SimulatorDriver:
    """The driver with options as in a stanza."""
    parsed = parse_options(SimulatorDriver, options)
    assert isinstance(parsed, SimulatorOptions)
    return SimulatorDriver(parsed)


def readings(name: str, chunks: list[bytes]) -> list[Reading]:
    """What the driver of that format makes of chunks."""
    decoder = driver(format=name).decoder(0)
    return [
        reading
        for at, chunk in enumerate(chunks)
        for reading in decoder.feed(chunk, at * 8_000)
        if isinstance(reading, CardRead | NoRead | BadFrame)
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_card_in_every_format(name: str) -> None:
    """The driver of a format reads each of the 52 cards from the bytes that the format makes of it, once."""
    spell = tag_of if name == "rfid-serial" else spelled
    form = FORMATS[name](spell)
    decoder = driver(format=name).decoder(0)
    for number, card in enumerate(DECK):
        chunks = enumerate(form.card(card))
        told = [reading for at, chunk in chunks for reading in decoder.feed(chunk, number * 2_000_000 + at * 8_000)]
        assert [spell(card)] == [reading.code for reading in told if isinstance(reading, CardRead)]


@pytest.mark.parametrize("name", FORMATS)
def test_a_misread_in_every_format(name: str) -> None:
    """The driver of a format makes one failed read of the format's misread."""
    (told,) = readings(name, FORMATS[name](spelled).misread())
    assert isinstance(told, NoRead | BadFrame)


def test_cards_come_in_real_time() -> None:
    """Six cards a round come one after the other, about `card_ms` apart, and then the line is idle."""
    pace = FakePace()
    transport = driver(rounds=1, card_ms=1_000).transport("anything", pace)
    transport.open()
    told = heard(transport, pace, 60)
    times = [t for t, _ in told]
    assert 6 == len(told)
    assert all(0.7 <= later - earlier <= 1.3 for earlier, later in pairwise(times))


def test_it_deals_without_end() -> None:
    """Without `rounds` there is always a next round."""
    pace = FakePace()
    transport = driver().transport("anything", pace)
    transport.open()
    assert len(heard(transport, pace, 3_600)) > 1_000


def test_the_seed_says_which_cards() -> None:
    """The same seed gives the same bytes at the same times, another one others."""

    def of(seed: int) -> list[tuple[float, bytes | str]]:
        pace = FakePace()
        transport = driver(rounds=3, seed=seed).transport("anything", pace)
        transport.open()
        return heard(transport, pace, 60)

    assert of(7) == of(7)
    assert of(7) != of(8)


def test_an_unplugged_scanner_comes_back() -> None:
    """An unplugged scanner fails, can't be opened for a while, and then goes on."""
    pace = FakePace()
    transport = driver(rounds=1, unplug=1.0).transport("anything", pace)
    transport.open()
    assert "unplugged" == heard(transport, pace, 60)[-1][1]
    with pytest.raises(TransportError, match="unplugged"):
        transport.open()
    pace.wait(4_000_000)
    transport.open()
    assert heard(transport, pace, 60)


def test_without_a_pace_it_has_the_real_time() -> None:
    """In the daemon time is the machine's own."""
    assert isinstance(driver().transport("anything"), PacedTransport)


@pytest.mark.parametrize(
    "options", [{"format": "replay"}, {"misread": 1.5}, {"card_ms": 100}, {"rounds": -1}, {"speed": 1}]
)
def test_options_that_make_no_sense(options: dict[str, object]) -> None:
    """A format that is none, a rate beyond 1 and unknown keys are refused."""
    with pytest.raises(ValidationError):
        driver(**options)
