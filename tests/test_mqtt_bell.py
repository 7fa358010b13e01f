"""The bell that calls the publisher."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from scannerd.mqtt.bell import Bell


class RingsWhileEmptied(socket.socket):
    """An ear during whose emptying somebody rings."""

    somebody: Callable[[], None] | None = None

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Rings once, then is emptied."""
        somebody, self.somebody = self.somebody, None
        if somebody is not None:
            somebody()
        return super().recv(size, flags)


def rings(bell: Bell) -> bool:
    """Whether it ends a wait."""
    return bool(select.select([bell], [], [], 0)[0])


def test_bell_rings_until_it_is_heard() -> None:
    """However often it was rung, one hearing ends it, and the next ring is heard again."""
    bell = Bell()
    assert not rings(bell)
    bell.ring()
    bell.ring()
    assert rings(bell)
    bell.heard()
    assert not rings(bell)
    bell.ring()
    assert rings(bell)
    bell.close()


def test_a_ring_while_the_ear_is_emptied_silences_nothing() -> None:
    """Somebody who rings in the middle of a hearing does not make the bell deaf to those after it."""
    ear, mouth = socket.socketpair()
    listening = RingsWhileEmptied(fileno=ear.detach())
    bell = Bell((listening, mouth))
    listening.somebody = bell.ring
    bell.ring()
    bell.heard()
    bell.ring()
    assert rings(bell)
    bell.close()


def test_a_closed_bell_is_rung_in_vain() -> None:
    """To ring after the end is nothing."""
    bell = Bell()
    bell.close()
    bell.ring()
