"""How long a reader waits before it tries again."""

from __future__ import annotations

import pytest

from scannerd.backoff import Backoff


def test_first_try_at_once() -> None:
    """The first try does not wait."""
    assert Backoff(lambda: 1.0).next() == 0


@pytest.mark.fault(17)
def test_bound_doubles_to_the_cap() -> None:
    """With the worst luck the waits double until they reach the cap, and stay there."""
    backoff = Backoff(lambda: 1.0, least=0.5, cap=3.0)
    assert [backoff.next() for _ in range(6)] == [0, 1, 2, 3, 3, 3]


@pytest.mark.fault(17)
def test_never_more_than_twice_a_second() -> None:
    """With the best luck there is half a second between tries."""
    backoff = Backoff(lambda: 0.0)
    assert [backoff.next() for _ in range(4)] == [0, 0.5, 0.5, 0.5]


def test_device_that_is_back_is_found_within_two_seconds() -> None:
    """The longest wait leaves half a second of the two for opening the device."""
    backoff = Backoff(lambda: 1.0)
    assert max(backoff.next() for _ in range(10_000)) == 1.5


def test_reset() -> None:
    """After a success the next try is a first one."""
    backoff = Backoff(lambda: 1.0)
    backoff.next()
    backoff.next()
    backoff.reset()
    assert [backoff.next(), backoff.next()] == [0, 1]
