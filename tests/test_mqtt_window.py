"""The window: what may go out next, what the cursor is, whatever the broker answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.mqtt.notices import Record
from scannerd.mqtt.window import DENIED_RETRY_US, Flight, Window
from tests.publishing import Event

TYPES = ("card_accepted", "scan_rejected", "round_completed")


class Sea:
    """A window over a journal, and what is in flight."""

    def __init__(self, types: list[str], width: int = 3) -> None:
        """A journal of events of `types`."""
        self.events = [Event(seq, kind, b"%d" % seq) for seq, kind in enumerate(types, 1)]
        self.window = Window(0, len(types), width, lambda record: record.type)
        self.flying: deque[tuple[Record, Flight]] = deque()
        self.sent: list[int] = []
        self.now = 0

    def read(self, after: int, limit: int) -> list[Record]:
        """A page."""
        return list(self.events[after : after + limit])

    def send(self) -> list[int]:
        """Sends all that may go out; returns its numbers."""
        begun = len(self.sent)
        while (record := self.window.next(self.read, self.now)) is not None:
            self.flying.append((record, self.window.sent(record)))
            self.sent.append(record.seq)
        return self.sent[begun:]

    def answer(self, code: int = 0) -> None:
        """The broker's answer to the oldest message: 0 taken, 0x87 refused, 0x95 too large."""
        record, flight = self.flying.popleft()
        if code == 0:
            self.window.acknowledged(flight, record.type)
        elif code == 0x95:
            self.window.too_large(flight)
        else:
            self.window.denied(flight, self.now)


def test_a_type_that_was_never_taken_goes_alone() -> None:
    """The first event of each topic is sent alone; after its acknowledgement the window opens."""
    sea = Sea(["a", "a", "a", "a", "b", "a"])
    assert [1] == sea.send()
    sea.answer()
    assert [2, 3, 4] == sea.send()
    sea.answer()
    assert [] == sea.send()
    sea.answer()
    sea.answer()
    assert [5] == sea.send()
    sea.answer()
    assert [6] == sea.send()


def test_a_refused_event_is_sent_again_after_five_seconds_alone() -> None:
    """After a refusal nothing goes out for 5 s; then the same event, and after its acknowledgement the rest."""
    sea = Sea(["a", "a", "a", "a"])
    sea.send()
    sea.answer()
    sea.send()
    sea.answer(0x87)
    sea.now = DENIED_RETRY_US - 1
    assert [] == sea.send()
    sea.now += 1
    assert [2] == sea.send()
    assert sea.window.cursor == 1
    sea.answer()
    sea.answer()
    assert [] == sea.send()
    sea.answer()
    assert [3, 4] == sea.send()


def test_acknowledgements_out_of_order_move_the_cursor_when_the_gap_closes() -> None:
    """The cursor waits for the first event that is still owed."""
    sea = Sea(["a"] * 4)
    sea.send()
    sea.answer()
    sea.send()
    sea.flying.rotate(-1)
    sea.answer()
    sea.answer()
    assert sea.window.cursor == 1
    sea.answer()
    assert sea.window.cursor == 4


def test_an_event_set_aside_does_not_move_the_cursor_by_itself() -> None:
    """The cursor goes over an event that was too large only with a later acknowledgement."""
    sea = Sea(["a", "a", "a"])
    sea.send()
    sea.answer()
    for _ in range(2):
        record = sea.window.next(sea.read, 0)
        assert record is not None
        sea.window.set_aside(record)
    assert sea.window.cursor == 1
    assert sea.window.drained
    sea.events.append(Event(4, "a", b"4"))
    sea.window.last = 4
    sea.send()
    sea.answer()
    assert sea.window.cursor == 4


def test_an_event_called_too_large_is_not_tried_again_on_the_next_connection() -> None:
    """What ended a connection by its size is known on the next one, until the cursor is past it."""
    sea = Sea(["a", "a"])
    sea.send()
    sea.answer(0x95)
    sea.window.restart()
    first = sea.window.next(sea.read, 0)
    assert first is not None
    assert sea.window.banned(first)
    sea.window.set_aside(first)
    sea.send()
    sea.answer()
    assert sea.window.cursor == 2
    assert not sea.window.banned(first)


def test_answers_to_what_was_given_up_mean_nothing() -> None:
    """After a refusal the answers to what was in flight behind it neither move the cursor nor block it."""
    sea = Sea(["a"] * 4)
    sea.send()
    sea.answer()
    sea.send()
    for code in (0x87, 0x87, 0x95):
        sea.answer(code)
    assert sea.window.cursor == 1
    assert sea.window.due == DENIED_RETRY_US
    sea.now = DENIED_RETRY_US
    assert [2] == sea.send()


def test_a_journal_that_cant_be_read_is_asked_again() -> None:
    """Nothing is taken for the end of the journal only because it can't be read."""
    sea = Sea(["a"])
    assert sea.window.next(lambda _after, _limit: None, 0) is None
    assert not sea.window.drained
    assert sea.window.waiting
    assert [1] == sea.send()


@given(
    types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=40),
    width=st.integers(1, 5),
    answers=st.lists(st.sampled_from((0, 0, 0, 0x87, 0x95, None)), max_size=120),
)
@pytest.mark.fault(76)
def test_whatever_the_broker_answers_nothing_is_passed_over(
    types: list[str], width: int, answers: list[int | None]
) -> None:
    """The cursor never passes an event that was neither taken nor called too large, and all goes out in the end."""
    sea = Sea(types, width)
    settled: set[int] = set()
    for code in [*answers, *[0] * 400]:
        for record in [*_banned(sea)]:
            settled.add(record.seq)
        begun = sea.send()
        assert sorted(begun) == begun
        if code is None:
            sea.window.restart()
            sea.flying.clear()
        elif sea.flying:
            record = sea.flying[0][0]
            settled |= {record.seq} if code in {0, 0x95} else set()
            sea.answer(code)
        sea.now += DENIED_RETRY_US
        assert len(sea.flying) <= 2 * width
        assert set(range(1, sea.window.cursor + 1)) <= settled
    assert sea.window.drained
    assert set(range(1, len(types) + 1)) == settled


def _banned(sea: Sea) -> list[Record]:
    """Sets aside what is known to be too large, as the courier does."""
    aside = []
    while (record := sea.window.next(sea.read, sea.now)) is not None and sea.window.banned(record):
        sea.window.set_aside(record)
        aside.append(record)
    return aside


@pytest.mark.parametrize("kept_from", [3, 5, 6, 9])
def test_a_range_that_was_deleted_meanwhile_ends(kept_from: int) -> None:
    """A range whose front, or all of it, is deleted while it is sent goes out as far as it is there, and ends."""
    sea = Sea(["a"] * 9)
    sea.window = Window(1, 5, 3, lambda record: record.type)
    del sea.events[: kept_from - 1]

    def read(after: int, limit: int) -> Sequence[Record]:
        return [event for event in sea.events if event.seq > after][:limit]

    while (record := sea.window.next(read, 0)) is not None:
        sea.sent.append(record.seq)
        sea.window.acknowledged(sea.window.sent(record), record.type)
    assert list(range(kept_from, 6)) == sea.sent
    assert sea.window.drained
