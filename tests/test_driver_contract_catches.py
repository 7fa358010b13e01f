"""The conformance kit catches broken drivers: for each way to break a driver a test of the kit fails, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.contract import Driver, DriverOptions, Transport
from scannerd.driver_contract import DriverContract, PtyDevice
from scannerd_drivers.transports.serial_port import SerialTransport
from tests import toy_drivers as toys
from tests.toy_drivers import Toy, ToyDriver


class TestToy(DriverContract):
    """The toy stands every test of the kit, so what the kit says of its broken copies is due to what is broken."""

    name = "toy"
    frames = {"AS": b"AS\r", "TD": b"TD\r"}  # noqa: RUF012 - the kit declares it as an attribute of the class
    ignored = b"\r"

    def load(self) -> type[Driver[DriverOptions]]:
        """The toy, which no package offers."""
        return ToyDriver  # type: ignore[return-value] # its options are options


def case(driver: type[ToyDriver]) -> DriverContract:
    """The kit for another driver than the toy's own."""

    class Case(TestToy):
        def load(self) -> type[Driver[DriverOptions]]:
            return driver  # type: ignore[return-value] # as above

    return Case()


def broken(decoder: type[Toy]) -> DriverContract:
    """The kit for a broken decoder."""
    return case(type("Broken", (ToyDriver,), {"decoder_class": decoder}))


@pytest.mark.parametrize(
    ("decoder", "test", "told"),
    [
        (toys.Swallows, "test_garbage_is_told", "lost without a word"),
        (toys.Swallows, "test_spoiled_frame_is_told", "lost without a word"),
        (toys.SwallowsHalves, "test_half_frame_is_told_in_time", "dropped without a word"),
        (toys.Grows, "test_memory_is_bounded", "made it grow by"),
        (toys.NeverGivesUp, "test_frame_without_end_is_told", "over 4096"),
        (toys.TakesChunksForFrames, "test_frame_split", "not as 'AS'"),
        (toys.TakesChunksForFrames, "test_any_bytes_split_anywhere", "whole as"),
        (toys.ReadsOnlyTheFirst, "test_frames_joined", "is read as"),
        (toys.WaitsForEver, "test_half_frame_is_told_in_time", "waits without a deadline"),
        (toys.EndsFramesByTime, "test_half_frame_is_told_in_time", "became a card by silence"),
        (toys.StaysAtItsDeadline, "test_half_frame_is_told_in_time", "the reader would hang"),
        (toys.ForgetsDeadlines, "test_deadline_is_kept_however_late_it_is_told", "told of the deadline"),
        (toys.HidesHalves, "test_half_frame_is_told_in_time", "a loss of the device would hide"),
        (toys.SharesItsBuffer, "test_decoders_know_nothing_of_each_other", "is not read as"),
        (toys.GoesDeaf, "test_reads_again_after_garbage", "is read as"),
        (toys.InventsAtTheEnd, "test_any_bytes_at_any_time", "a card was made of what was pending"),
        (toys.GivesNoBytes, "test_frame_is_its_code", "`raw` of 'AS' is not its frame"),
    ],
)
def test_broken_decoder_is_caught(decoder: type[Toy], test: str, told: str) -> None:
    """A decoder that is broken in one way fails the kit's test for it, which says what is wrong."""
    kit = broken(decoder)
    with pytest.raises(AssertionError, match=told):
        getattr(kit, test)()


def test_decoder_that_raises_is_caught() -> None:
    """A decoder that raises on some bytes fails the kit with its own exception."""
    with pytest.raises(UnicodeDecodeError):
        broken(toys.Raises).test_any_bytes_at_any_time()


@pytest.mark.parametrize(
    ("driver", "test", "told"),
    [
        (toys.Chatty, "test_nothing_is_sent_unless_configured", "would be sent on 'accepted'"),
        (toys.Unexplained, "test_driver_is_found_and_described", "without a description: speed"),
    ],
)
def test_broken_driver_is_caught(driver: type[ToyDriver], test: str, told: str) -> None:
    """A driver that writes unasked, or whose options nobody explains, fails the kit."""
    with pytest.raises(AssertionError, match=told):
        getattr(case(driver), test)()


@pytest.fixture
def device(tmp_path: Path) -> Iterator[PtyDevice]:
    """A scanner on a pseudo-terminal."""
    device = PtyDevice(tmp_path / "scanner")
    yield device
    device.close()


def transport_of(transport: type[SerialTransport], device: PtyDevice) -> tuple[DriverContract, Transport]:
    """The kit and the transport of a driver whose transport is broken."""
    kit = case(type("Broken", (ToyDriver,), {"transport_class": transport}))
    return kit, kit.make_transport(device.url)


def test_transport_that_hides_a_loss_is_caught(device: PtyDevice) -> None:
    """A transport that takes a lost device for a silent one fails the kit."""
    kit, transport = transport_of(toys.HidesLoss, device)
    with pytest.raises(AssertionError, match="the read goes on"):
        kit.test_unplugged_while_reading(device, transport)
    transport.close()


def test_transport_that_raises_another_error_is_caught(device: PtyDevice) -> None:
    """A transport that lets the system's own errors through fails the kit."""
    kit, transport = transport_of(toys.RaisesWhatComes, device)
    with pytest.raises(AssertionError, match="ended in OSError"):
        kit.test_unplugged_while_reading(device, transport)
    transport.close()


def test_transport_that_changes_bytes_is_caught(device: PtyDevice) -> None:
    """A transport that leaves the line cooked fails the kit: CR arrives as LF."""
    kit, transport = transport_of(toys.ChangesBytes, device)
    transport.close()
    with pytest.raises(AssertionError, match="the driver read"):
        kit.test_frame_arrives(device, transport)
    transport.close()


def test_transport_that_leaks_is_caught(device: PtyDevice) -> None:
    """A transport that leaves descriptors behind fails the kit."""
    kit, transport = transport_of(toys.Leaks, device)
    with pytest.raises(AssertionError, match="descriptors are left open"):
        kit.test_opened_and_closed_again_and_again(device, transport)


def test_transport_that_never_comes_back_is_caught(device: PtyDevice) -> None:
    """A transport whose read ignores its time-out fails the kit: the reader could not be stopped."""
    kit, transport = transport_of(toys.NeverComesBack, device)
    with pytest.raises(AssertionError, match="asked to stop and goes on"):
        kit.test_stopped_while_reading(transport)
    toys.NeverComesBack.released.set()
