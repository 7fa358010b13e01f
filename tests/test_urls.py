"""URLs: brokers, the page's address, and which scanners are on one device."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.urls import address, brokers, device, same_device


def test_brokers_in_their_order() -> None:
    """Several brokers keep their order, and a scheme's own port is its default."""
    assert (("a", 1883, False), ("b", 8883, True), ("::1", 1, True)) == brokers("mqtt://a, mqtts://b,mqtts://[::1]:1")


@pytest.mark.parametrize("text", ["", "a:1883", "mqtt://", "mqtt://a:0", "mqtt://a?x", "mqtt://a,", "mqtt://u@a"])
def test_no_broker(text: str) -> None:
    """What is no mqtt URL is refused."""
    with pytest.raises(ValueError, match="expected"):
        brokers(text)


def test_addresses() -> None:
    """A page's address is host and port, and an empty one is none."""
    assert ("::1", 0) == address("[::1]:0")
    assert address("") is None


@pytest.mark.parametrize("text", ["8470", ":8470", "a:", "a:70000", "a:x"])
def test_no_address(text: str) -> None:
    """What is no host and port is refused."""
    with pytest.raises(ValueError, match="expected host:port"):
        address(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tcp://box:4001", "socket://BOX:4001"),
        ("tcp://localhost:4001", "rfc2217://127.0.0.1:4001?logging=debug"),
        ("usb:0C2E:0b01", "usb:0c2e:0b01:SN1"),
        ("/dev/null", "spy:///dev/null?file=x"),
        ("/dev/absent", "/dev/../dev/absent"),
    ],
)
def test_one_device(one: str, other: str) -> None:
    """Two ways to write one device are found to be one."""
    assert same_device(device(one), device(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tcp://box:4001", "tcp://box:4002"),
        ("usb:0c2e:0b01:SN1", "usb:0c2e:0b01:SN2"),
        ("/dev/null", "/dev/zero"),
        ("loop://", "loop://"),
        ("/absent/round.scanlog", "/absent/round.scanlog"),
        ("tcp://[::1", "tcp://[::1"),
        ("/dev/a\0", "/dev/a\0"),
    ],
)
def test_two_devices(one: str, other: str) -> None:
    """Different devices, and what several scanners may share, are not taken for one device."""
    assert not same_device(device(one), device(other))


def test_recording_may_be_shared(tmp_path: Path) -> None:
    """Two scanners may read from one regular file: a recording holds both."""
    file = tmp_path / "round"
    file.touch()
    assert device(str(file)) is None
