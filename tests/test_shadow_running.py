"""A live table's rounds as they come: which are told, and which are left out at either end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scannerd.config import load
from scannerd.scanlog import reading
from scannerd.shadow.following import Captures, followed
from scannerd.shadow.running import Tables, live
from tests.shadowing import HANDS, configured, deals
from tests.small_recordings import write

BEGAN = datetime(2026, 11, 30, 2, 45, tzinfo=UTC)


class Table:
    """Recordings of a live table, and how long they are followed."""

    def __init__(self, folder: Path, *recordings: Path) -> None:
        self._tables = Tables(load(configured(folder)), None, pytest.fail)
        self._recordings = recordings
        self.stopped = False

    def rounds(self, since: datetime = BEGAN) -> Iterator[str | None]:
        """The rounds that are told."""
        with ExitStack() as stack:
            opened = ((path, stack.enter_context(reading(path, pytest.fail))) for path in self._recordings)
            yield from (finding.compared.round for finding in live(opened, self._tables, since, lambda: self.stopped))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three rounds, the third of which is not complete when the recording ends."""
    return write(tmp_path / "x.scanlog", *deals(*HANDS))


def test_rounds_that_began_before_are_not_told(tmp_path: Path, recording: Path) -> None:
    """What a capture holds from before is played, so that the tables know it, and not told."""
    assert [None, "tp-01/1", "tp-01/2", "tp-01/3"] == list(Table(tmp_path, recording).rounds())
    assert ["tp-01/2", "tp-01/3"] == list(Table(tmp_path, recording).rounds(BEGAN + timedelta(seconds=10)))


def test_a_round_that_has_not_ended_is_left_out_at_the_end(tmp_path: Path, recording: Path) -> None:
    """When it is to end, a round that the live table has not ended is not told: nobody knows yet how it would."""
    table = Table(tmp_path, recording)
    told = []
    for name in table.rounds(BEGAN + timedelta(seconds=1)):
        told.append(name)
        table.stopped = name == "tp-01/2"
    assert ["tp-01/1", "tp-01/2"] == told


def test_a_deal_is_left_out_when_waiting_ends(tmp_path: Path) -> None:
    """Where the waiting ends in the midst of a deal, the round is not told; one that is complete is."""
    tables, over = Tables(load(configured(tmp_path)), None, pytest.fail), [False]
    name = "tp-01-20261130T024500000000Z.scanlog"

    def wait() -> bool:
        over[0] = True
        return False

    for cards, expected in ((4, [None]), (6, [None, "tp-01/1"])):
        over[0] = False
        write(tmp_path / name, *deals(HANDS[0][:cards]), {"t": 10, "broker": "down"})
        opened = followed(Captures(tmp_path, "tp-01"), wait, pytest.fail)
        told = [finding.compared.round for finding in live(opened, tables, BEGAN, lambda: over[0])]
        assert expected == told


def test_a_recording_is_followed_by_the_next(tmp_path: Path, recording: Path) -> None:
    """Each recording begins from an idle table; a round that ends with its recording is told."""
    again = write(tmp_path / "y.scanlog", *deals(HANDS[0]))
    rounds = list(Table(tmp_path, recording, again).rounds(BEGAN + timedelta(seconds=1)))
    assert ["tp-01/1", "tp-01/2", "tp-01/3", "tp-01/1"] == rounds
