"""The driver `replay`: a recording's bytes in their time, through the driver that the recording names."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.contract import CardRead, TransportError
from scannerd.registry import parse_options
from scannerd.scanlog import ScanlogError
from scannerd_drivers.pacing import PacedTransport, RealPace
from scannerd_drivers.replay import ReplayDriver, ReplayOptions
from tests.pacing import FakePace, heard
from tests.small_recordings import CARDS, HEADER, read, write

AS, KH = b"AS\r\n", b"KH\r\n"
TWO: dict[str, object] = {"shoe": {"driver": "bee-tek"}, "desk": {"driver": "line", "end": "\r\n"}}


def driver(**options: object) -> ReplayDriver:
    """The driver with options as in a stanza."""
    parsed = parse_options(ReplayDriver, options)
    assert isinstance(parsed, ReplayOptions)
    return ReplayDriver(parsed)


def opened(recording: Path, pace: FakePace, **options: object) -> PacedTransport:
    """Its transport, open."""
    transport = driver(**options).transport(str(recording), pace)
    transport.open()
    return transport


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two cards, at 1 s and 2.5 s, and an end at 4 s."""
    return write(tmp_path / "two.scanlog", *CARDS, {"t": 4, "end": True})


def test_chunks_come_at_their_times(recording: Path) -> None:
    """Each chunk is read when it was recorded, counted from the first open; after the last one the line is idle."""
    pace = FakePace()
    assert [(1.0, AS), (2.5, KH)] == heard(opened(recording, pace), pace, 60)


def test_a_read_lasts_no_longer_than_it_may(recording: Path) -> None:
    """A read ends after its time-out though the next chunk is far away, and at the end of the recording too."""
    pace = FakePace()
    transport = opened(recording, pace, speed=0.001)
    before = pace.time
    assert b"" == transport.read(0.2)
    assert 200_000 == pace.time - before


@pytest.mark.parametrize(("speed", "times"), [(2.0, [0.5, 1.25]), (0.5, [2.0, 5.0]), (0.0, [0.0, 0.0])])
def test_the_speed_is_chosen(recording: Path, speed: float, times: list[float]) -> None:
    """At twice the speed the pauses are half as long; at 0 there are none."""
    pace = FakePace()
    assert list(zip(times, [AS, KH], strict=True)) == heard(opened(recording, pace, speed=speed), pace, 10)


@pytest.mark.fault(132)
def test_a_long_pause_is_cut(tmp_path: Path) -> None:
    """A clock that jumped by eight hours while recording silences the table for `max_gap_s` only."""
    recording = write(tmp_path / "x.scanlog", read(10, "AS"), read(28_810, "KH"), read(28_811, "AS"))
    pace = FakePace()
    assert [(10.0, AS), (40.0, KH), (41.0, AS)] == heard(opened(recording, pace), pace, 100)
    assert [(2.0, AS), (4.0, KH), (5.0, AS)] == heard(opened(recording, pace, max_gap_s=2.0), pace, 100)


def test_a_loop_begins_again_at_the_end(recording: Path) -> None:
    """With `loop` the recording begins again when its last entry's time has come."""
    pace = FakePace()
    times = [(1.0, AS), (2.5, KH), (5.0, AS), (6.5, KH), (9.0, AS)]
    assert times == heard(opened(recording, pace, loop=True), pace, 10)


def test_a_loop_over_nothing_is_idle(tmp_path: Path) -> None:
    """A recording in which the scanner says nothing is idle, and no endless search."""
    recording = write(tmp_path / "x.scanlog", {"t": 0, "end": True})
    pace = FakePace()
    assert [] == heard(opened(recording, pace, loop=True), pace, 1)


def test_a_lost_scanner_is_lost_again(tmp_path: Path) -> None:
    """The transport fails with the recorded words and can't be opened before the recorded return."""
    down = {"t": 1.5, "scanner": "desk", "event": "down", "detail": "EIO"}
    up = {"t": 4, "scanner": "desk", "event": "up"}
    recording = write(tmp_path / "x.scanlog", read(1, "AS"), down, read(2, "2C"), up, read(5, "KH"))
    pace = FakePace()
    transport = opened(recording, pace)
    assert [(1.0, AS), (1.5, "EIO")] == heard(transport, pace, 10)
    transport.close()
    with pytest.raises(TransportError, match="EIO"):
        transport.open()
    pace.wait(6_000_000)
    transport.open()
    assert [(1.0, KH)] == heard(transport, pace, 10)


def test_a_scanner_that_never_comes_back(tmp_path: Path) -> None:
    """A scanner whose recording ends while it is down stays away."""
    recording = write(tmp_path / "x.scanlog", {"t": 1, "scanner": "desk", "event": "down"}, read(2, "AS"))
    pace = FakePace()
    transport = opened(recording, pace)
    assert [(1.0, "down")] == heard(transport, pace, 10)
    pace.wait(60_000_000)
    with pytest.raises(TransportError, match="down"):
        transport.open()


def test_a_loop_begins_with_the_scanner_up(tmp_path: Path) -> None:
    """In a loop a scanner that was down at the end is back at the next beginning."""
    recording = write(tmp_path / "x.scanlog", read(1, "AS"), {"t": 2, "scanner": "desk", "event": "down"})
    pace = FakePace()
    transport = opened(recording, pace, loop=True)
    assert [(1.0, AS), (2.0, "down")] == heard(transport, pace, 10)
    transport.open()
    assert [(1.0, AS), (2.0, "down")] == heard(transport, pace, 10)


def test_an_up_without_a_down_is_nothing(tmp_path: Path) -> None:
    """A recorded `up` of a scanner that is up changes nothing."""
    recording = write(tmp_path / "x.scanlog", {"t": 1, "scanner": "desk", "event": "up"}, read(2, "AS"))
    pace = FakePace()
    assert [(2.0, AS)] == heard(opened(recording, pace), pace, 10)


def test_other_scanners_and_entries_are_left_out(tmp_path: Path) -> None:
    """Of several scanners one is replayed, the chosen one; what was sent, ordered or ended is no input."""
    other = {"t": 0.5, "scanner": "shoe", "rx": " [Game]<Card:4S> "}
    sent = {"t": 1.2, "scanner": "desk", "tx": "?"}
    order = {"t": 1.3, "command": "open", "args": {}}
    recording = write(
        tmp_path / "x.scanlog",
        other,
        read(1, "AS"),
        sent,
        order,
        {"t": 9, "end": True},
        header=HEADER | {"scanners": TWO},
    )
    pace = FakePace()
    assert [(1.0, AS)] == heard(opened(recording, pace, scanner="desk"), pace, 20)


def test_what_is_written_goes_nowhere(recording: Path) -> None:
    """An acknowledgement for a recorded scanner is no trouble."""
    transport = opened(recording, FakePace())
    transport.write(b"\x06")
    transport.close()
    transport.close()


class TestDecoder:
    """The driver that the recording names."""

    def test_it_reads_with_the_recorded_options(self, tmp_path: Path) -> None:
        """Bytes are read as the recorded scanner's stanza says, its codebook and hand aside."""
        stanza = {"driver": "line", "start": "\x02", "end": "\x03", "codes": "rank-suit", "hand": "A"}
        recording = write(tmp_path / "x.scanlog", header=HEADER | {"scanners": {"desk": stanza}})
        made = driver()
        decoder = made.decoder(0)
        made.transport(str(recording))
        assert [CardRead("AS", None, b"\x02AS\x03")] == decoder.feed(b"\x02AS\x03", 1)
        assert (b"", None) == (decoder.pending, decoder.deadline)

    def test_it_forgets_and_times_out_as_the_recorded_one(self, recording: Path) -> None:
        """Half a frame is pending, times out and is dropped as by the recorded driver."""
        made = driver(file=str(recording))
        decoder = made.decoder(0)
        decoder.feed(b"A", 1)
        assert (b"A", 2_000_001) == (decoder.pending, decoder.deadline)
        assert ["partial"] == [getattr(reading, "detail", None) for reading in decoder.tick(2_000_001)]
        decoder.feed(b"K", 3_000_000)
        assert [] == decoder.finish(3_000_001)

    def test_without_a_file_nothing_can_be_read(self) -> None:
        """A header that names the driver `replay` and no file is a fault of the recording."""
        with pytest.raises(ScanlogError, match="not named"):
            driver().decoder(0).feed(b"A", 1)


class TestFile:
    """Where the recording is."""

    def test_a_relative_file_lies_beside_the_url(self, recording: Path) -> None:
        """A relative `file` is looked for in the folder of `url`, which the configuration makes its own."""
        pace = FakePace()
        transport = driver(file=recording.name).transport(str(recording.parent / "anything"), pace)
        transport.open()
        assert 2 == len(heard(transport, pace, 10))

    def test_an_absolute_file_needs_no_url(self, recording: Path) -> None:
        """An absolute `file` is taken whatever `url` says; without a pace of its own it has the real time."""
        assert isinstance(driver(file=str(recording)).transport("replay:"), PacedTransport)
        assert RealPace().now() <= RealPace().now()
        RealPace().wait(0)

    @pytest.mark.parametrize(
        ("scanners", "options", "what"),
        [
            ({"desk": {"driver": "line"}}, {"scanner": "shoe"}, "`scanner` must be one of desk, not shoe"),
            (TWO, {}, "`scanner` must be one of shoe, desk, not None"),
            ({}, {}, "`scanner` must be one of none"),
            ({"desk": {"driver": "lime"}}, {}, "no driver called 'lime'"),
            ({"desk": {"driver": "line", "ends": "x"}}, {}, "ends"),
            ({"desk": {"driver": "replay"}}, {}, "was itself replayed"),
        ],
    )
    def test_what_can_t_be_replayed(
        self, tmp_path: Path, scanners: dict[str, object], options: dict[str, object], what: str
    ) -> None:
        """A scanner that the recording does not have, or a driver that can't be used, is told with the file."""
        recording = write(tmp_path / "x.scanlog", header=HEADER | {"scanners": scanners})
        with pytest.raises(ValueError, match=what) as told:
            driver(**options).transport(str(recording))
        assert f"{recording}:1: " in str(told.value)

    def test_an_absent_file_is_told_at_once(self, tmp_path: Path) -> None:
        """A recording that is not there is a fault of the configuration."""
        with pytest.raises(ValueError, match="No such file"):
            driver().transport(str(tmp_path / "none.scanlog"))

    def test_a_recording_broken_further_on_ends_there(self, tmp_path: Path) -> None:
        """A line that can't be used is a loss that no further try can mend; what came before was read."""
        recording = write(tmp_path / "x.scanlog", read(1, "AS"), {"t": 2, "what": "?"})
        pace = FakePace()
        transport = opened(recording, pace)
        assert [(1.0, AS)] == heard(transport, pace, 1)
        with pytest.raises(TransportError, match=":3: ") as lost:
            transport.read(0.2)
        assert lost.value.fatal
        transport.open()
        assert [] == heard(transport, pace, 1)
