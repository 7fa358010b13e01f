"""What may go out under MQTT 3.1.1, under which the broker itself never says that it refused something.

On each connection the rights are proved before the first event goes out (see `scannerd.mqtt.prover`); as long as
something is denied, again every 5 s. An event whose topic is denied waits, and all after it, as under MQTT 5. An event
that is longer than what the broker was seen to take waits for a proof of its length, and is set aside where the
broker would not take it.

Where nothing can be proved (the broker speaks no MQTT 5, or hands probes on), each event proves itself: the daemon
subscribes to its own events, and holds one for delivered when it was acknowledged and has come back. Rights that
change in the middle of a connection are noticed in that case only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import TypeAlias

from scannerd.mqtt.address import Address
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.prover import Proof
from scannerd.mqtt.window import DENIED_RETRY_US

Prove: TypeAlias = Callable[[Address, Sequence[int]], Proof]
"""Proves the rights at a broker, and payloads of so many bytes; blocks for some seconds at the worst."""

USUAL_SIZE = 2_048
"""Bytes of payload that are proved at once: hardly any event is longer."""


class Verdict(Enum):
    """What is to be done with an event."""

    SEND = auto()
    WAIT = auto()
    SET_ASIDE = auto()


class Rights:
    """Knows what the broker of the connection at hand takes. Used by the publisher's thread alone.

    Attributes:
        echoing: nothing could be proved, so that each event must be seen to come back.
    """

    def __init__(self, prove: Prove, topics: Sequence[str], alarms: Alarms, wake: Callable[[], None]) -> None:
        """Takes how to prove, and what.

        Args:
            prove: called in a thread of its own.
            topics: those that are proved.
            alarms: told of each topic that is denied or allowed.
            wake: called from that thread when there is a result.
        """
        self.echoing = False
        self._prove = prove
        self._topics = topics
        self._alarms = alarms
        self._wake = wake
        self._address: Address | None = None
        self._errand: _Errand | None = None
        self._known = False
        self._denied: frozenset[str] = frozenset()
        self._fits = 0
        self._too_large: int | None = None
        self._wanted = USUAL_SIZE
        self._due: int | None = None
        self._not_before = 0

    @property
    def due(self) -> int | None:
        """When `turn` has something to do; it is called at the end of a proof too."""
        return None if self._errand is not None else self._due

    def begin(self, address: Address, now: int) -> None:
        """A broker at `address` accepted us: nothing is known of it."""
        self.end()
        self._address, self._due, self._not_before = address, now, now
        self._known = self.echoing = False
        self._denied, self._fits, self._too_large, self._wanted = frozenset(), 0, None, USUAL_SIZE

    def end(self) -> None:
        """The connection is gone."""
        self._errand = self._due = self._address = None

    def turn(self, now: int) -> None:
        """Begins a proof that is due, takes up one that has ended."""
        errand = self._errand
        if errand is not None and errand.proof is not None:
            self._errand = None
            self._learn(errand.proof, errand.size, now)
        if self._due is not None and now >= self._due and self._errand is None and self._address is not None:
            self._due = None
            self._errand = _Errand(self._prove, self._address, self._wanted, self._wake)

    def judge(self, topic: str, size: int, now: int) -> Verdict:
        """What to do with an event of `size` bytes for `topic`."""
        if self.echoing:
            return Verdict.SEND
        if not self._known or topic in self._denied:
            return Verdict.WAIT
        if size <= self._fits:
            return Verdict.SEND
        if self._too_large is not None and size >= self._too_large:
            return Verdict.SET_ASIDE
        if self._wanted != size:
            self._wanted, self._due = size, max(now, self._not_before)
        return Verdict.WAIT

    def denies(self, topic: str) -> bool:
        """Whether the broker is known to drop what is sent on `topic`, though it acknowledges it."""
        return topic in self._denied

    def _learn(self, proof: Proof, size: int, now: int) -> None:
        if proof.unknown is not None:
            self.echoing = not self._known
            self._not_before = now + DENIED_RETRY_US
            self._due = self._not_before if proof.passing else None
            return
        self._known, self.echoing = True, False
        self._denied = frozenset(proof.denied)
        if size in proof.too_large:
            self._too_large = min(size, self._too_large or size)
        elif len(proof.denied) < len(self._topics):  # of a size, a broker is asked on a topic that it allows
            self._fits = max(size, self._fits)
        for topic in self._topics:
            if topic in proof.denied:
                self._alarms.denied(topic, f"{proof.denied[topic]}; the broker acknowledges and drops it", now)
            else:
                self._alarms.allowed(topic, now)
        if proof.denied:
            self._due = now + DENIED_RETRY_US


class _Errand:
    """One proof in a thread of its own, so that the publisher's loop never blocks; nobody need wait for its end."""

    def __init__(self, prove: Prove, address: Address, size: int, wake: Callable[[], None]) -> None:
        self.proof: Proof | None = None
        self.size = size
        self._prove = prove
        self._address = address
        self._wake = wake
        threading.Thread(target=self._run, name="mqtt-proof", daemon=True).start()

    def _run(self) -> None:
        try:
            self.proof = self._prove(self._address, (self.size,))
        except Exception as error:  # noqa: BLE001 - whatever it was, the loop must hear of it and go on
            self.proof = Proof(f"the proof failed: {error!r}", passing=True)
        self._wake()
