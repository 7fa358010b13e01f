"""What every decoder promises, tried with a script of bytes: alone, and with its channel and the core behind it.

* No exception, and nothing but readings; `pending` within its cap, and no more memory than its share.
* It makes no difference how bytes were cut, nor whether a deadline was told or found out late. A report decoder gets
  whole reports, so only the latter.
* Time makes no card, and neither does the loss of the device.
* What was read late is stale, and nothing else is; no card with a late byte in it counts.
* The core decides whatever comes of it, and what it decides can be written as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fuzz.scripts import Step
from fuzz.target import expect
from scannerd.channel import Channel, Codebook, MakesDecoders, Output
from scannerd.contract import CardRead, Decoder, Micros, Reading, Reply
from scannerd.core.events import FailedRead, Read
from scannerd.core.games import TEEN_PATTI_20_20
from scannerd.core.state import Rules, Setup, State
from scannerd.core.validator import step as decided
from scannerd.driver_contract.feeding import READINGS, codes, held, rest, silence
from scannerd.messages import data as data_of
from scannerd.messages import dumps, told_rounds

SECOND: Micros = 1_000_000
SHARE = 192 * 1024
"""Bytes of memory that a decoder may come to hold beyond those of a fresh one: `line` remembers 256 frames."""

LOAD = 16 * 1024
"""Bytes that a decoder is fed, the same again and again, before it is weighed."""


def try_decoder(driver: MakesDecoders, steps: Sequence[Step], cap: int) -> None:
    """Feeds three decoders the same: whole, cut into single bytes, and with every deadline told in time.

    Args:
        driver: what makes the decoders.
        steps: what the device does.
        cap: the longest `pending` in bytes.

    Raises:
        BrokenPromiseError: they differ, or one of them does what it must not.
    """
    t = SECOND
    whole, cut, punctual = (driver.decoder(0) for _ in range(3))
    for step in steps:
        t += step.pause
        made = whole.feed(step.chunk, t)
        expect(all(isinstance(one, READINGS) for one in made), "{} are no readings", made)
        expect(len(whole.pending) <= cap, "pending are {} bytes, over {}", len(whole.pending), cap)
        apart = [one for part in _cut(step.chunk, reports=driver.reports) for one in cut.feed(part, t)]
        expect(made == apart, "at {}: whole {}, byte by byte {}", t, made, apart)
        told = _ticked(punctual, t) + punctual.feed(step.chunk, t)
        expect(made == told, "at {}: deadlines found out late {}, told {}", t, made, told)
        expect(rest(whole) == rest(cut) == rest(punctual), "at {} are left {}, {}", t, rest(whole), rest(cut))
        if step.lost:
            expect(not codes(whole.finish(t)), "the loss of the device made a card")
            expect(rest(whole) == (b"", None), "after `finish` it waits with {}", rest(whole))
            whole, cut, punctual = (driver.decoder(t) for _ in range(3))
    expect(not codes(silence(whole)), "silence made a card")


def try_memory(driver: MakesDecoders, steps: Sequence[Step]) -> None:
    """Feeds a decoder the steps again and again, without a loss, and weighs it.

    Raises:
        BrokenPromiseError: it holds more than its share.
    """
    size = sum(len(step.chunk) for step in steps)
    if not size:
        return
    decoder, t = driver.decoder(0), SECOND
    fresh = held(decoder)
    for step in list(steps) * (LOAD // size + 1):
        t += step.pause
        decoder.feed(step.chunk, t)
    grown = held(decoder) - fresh
    expect(grown <= SHARE, "{} bytes made it grow by {} bytes of memory", LOAD, grown)


def try_channel(driver: MakesDecoders, codebook: Codebook, steps: Sequence[Step], *, in_a_row: bool) -> None:
    """Plays the steps through the channel and the core, bytes that were read late being marked.

    Args:
        driver: what makes the decoders.
        codebook: what codes mean.
        steps: what the device does.
        in_a_row: a card's frame is made of neighbouring bytes, so that it can be seen whether one of them was late.

    Raises:
        BrokenPromiseError: a card with a late byte counts, or one without is refused for it.
    """
    channel = Channel("found", driver, codebook, None, 0)
    shadow, table, t = _Shadow(driver), _Table(), SECOND
    seen = in_a_row and any(step.late for step in steps)
    for number, step in enumerate(steps, start=1):
        t += step.pause
        made = channel.chunk(step.chunk, t, stale=step.late)
        _expect_right_ages(made, steps[:number])
        if seen:
            clean, fresh = shadow.feed(step, t), Counter(_fresh(made))
            expect(fresh <= clean, "fresh are {}, without a late byte {}", dict(fresh), dict(clean))
        if step.lost:
            made += [*channel.down(t, "lost"), *channel.up(t)]
            shadow.restart(t)
        table.take(made)


class _Shadow:
    """Another decoder, fed byte by byte, which knows of each card whether one of its bytes was late."""

    def __init__(self, driver: MakesDecoders) -> None:
        self._driver = driver
        self.restart(0)

    def restart(self, t: Micros) -> None:
        """Begins anew."""
        self._decoder = self._driver.decoder(t)
        self._late: list[bool] = []

    def feed(self, step: Step, t: Micros) -> Counter[bytes]:
        """The frames of cards in these bytes that hold no late byte, and how often each."""
        clean: Counter[bytes] = Counter()
        for part in _cut(step.chunk, reports=False):
            self._late += [step.late] * len(part)
            for one in self._decoder.feed(part, t):
                if isinstance(one, CardRead) and not any(self._late[-len(one.raw) :]):
                    clean[one.raw] += 1
        return clean


class _Table:
    """The core, which must decide whatever comes; cards open rounds, and tries hold none."""

    def __init__(self) -> None:
        setup = Setup("tp-01", TEEN_PATTI_20_20, Rules(start="auto", max_attempts=0), ("found",))
        self._state = State(setup, broker_up=True, scanners={"found": "up"})

    def take(self, made: Sequence[Output]) -> None:
        """Decides events, and writes what is decided."""
        for event in made:
            if isinstance(event, Reply):
                continue
            for told, after in decided(self._state, event):
                for one, _ in told_rounds(told, self._state):
                    dumps(data_of(one))
                self._state = after


def _cut(chunk: bytes, *, reports: bool) -> list[bytes]:
    """Single bytes, or the chunk itself where it is a report or empty."""
    return [chunk] if reports or not chunk else [chunk[at : at + 1] for at in range(len(chunk))]


def _ticked(decoder: Decoder, t: Micros) -> list[Reading]:
    """Tells a decoder each deadline up to `t` at its time."""
    made: list[Reading] = []
    while (due := decoder.deadline) is not None and due <= t:
        made += decoder.tick(due)
        expect(decoder.deadline != due, "a deadline that was told is still there")
    return made


def _fresh(made: Sequence[Output]) -> Iterator[bytes]:
    return (one.raw for one in made if isinstance(one, Read) and not one.stale)


def _expect_right_ages(made: Sequence[Output], steps: Sequence[Step]) -> None:
    """Where all bytes so far were late no card is fresh, and where none was nothing is stale."""
    told = [one for one in made if isinstance(one, Read | FailedRead)]
    if all(step.late for step in steps):
        expect(all(one.stale for one in told if isinstance(one, Read)), "fresh, though all was late: {}", told)
    if not any(step.late for step in steps):
        expect(not any(one.stale for one in told), "stale, though nothing was late: {}", told)
