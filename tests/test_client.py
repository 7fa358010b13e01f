"""What a consumer is told: the order of events, whatever happens on the way, and the way itself over a real broker."""

from __future__ import annotations

import gc
import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from scannerd.canonical import FIRST_PREV, seal
from scannerd.client import (
    BEGINNING,
    Answer,
    Broken,
    BrokerAway,
    BrokerSettings,
    ChainBroken,
    Client,
    ClientError,
    Commander,
    Gap,
    Item,
    Missing,
    NewJournal,
    NoReply,
    Position,
    PositionFile,
    PositionUnusable,
    Sequencer,
    TableEvent,
    read_event,
)
from scannerd.client.sequencer import CHUNK, FIRST_WAIT_US, GRACE_US, LONGEST_WAIT_US, SERVED_IN_VAIN
from scannerd.journal import Journal as TableJournal
from tests.certificates import Authority
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    StartBroker,
    broker_fixture,
    free_port,
    start_broker_fixture,
)
from tests.refusing import RefusingBroker
from tests.table_daemon import CARDS, SLOTS, Daemon
from tests.test_journal_trim import LATER, allow
from tests.wire import Subscriber

ONE, TWO = "journal-1", "journal-2"
PREFIX = "scannerd/v1/tp-01"


class Journal:
    """A table's journal, as far as a consumer sees it: sealed events, numbered and chained."""

    def __init__(self, name: str = ONE, count: int = 0, table: str = "tp-01") -> None:
        self.name, self.table = name, table
        self.bodies: list[bytes] = []
        self.last = FIRST_PREV
        for _ in range(count):
            self.add()

    def add(self, prev: str | None = None) -> bytes:
        """One more event; a wrong `prev` breaks the chain."""
        seq = len(self.bodies) + 1
        event: dict[str, object] = {"contract": "1.0", "table": self.table, "journal": self.name, "seq": seq}
        event |= {"type": "scanner_up", "round": None, "at": "2026-11-30T02:45:16.123456Z"}
        event |= {"prev": prev or self.last, "data": {"scanner": "shoe", "detail": None}}
        self.last, body = seal(event)
        self.bodies.append(body)
        return body

    def __getitem__(self, seq: int) -> bytes:
        """The bytes of an event."""
        return self.bodies[seq - 1]


def gist(items: list[Item]) -> list[object]:
    """Numbers of events, and a word for what else was told."""
    words: list[object] = []
    for item in items:
        match item:
            case TableEvent():
                words.append(item.seq)
            case NewJournal():
                words.append(item.journal)
            case Missing():
                words.append((item.first, item.last))
            case Broken():
                words.append(f"broken {item.seq}")
    return words


# --- the sequencer --------------------------------------------------------------------------------------------


@dataclass
class World:
    """A table behind a network that loses, doubles and swaps: `faults` are drawn, and then the network is well.

    It never loses what it is asked for so often that the table must be taken not to have it (`SERVED_IN_VAIN`).
    """

    journal: Journal
    sequencer: Sequencer
    kept_from: int = 1
    now: int = 0
    told: list[object] = field(default_factory=list)
    asked: list[Gap] = field(default_factory=list)
    vain: Counter[int] = field(default_factory=Counter)

    def deliver(self, body: bytes, *, resent: bool = False) -> None:
        """One message arrives."""
        self.told += gist(self.sequencer.take(body, self.now, resent=resent))

    def serve(self, loses: Iterator[bool]) -> bool:
        """Answers what is asked for, losing what `loses` says; False where nothing is asked for."""
        gap = self.sequencer.request(self.now)
        if gap is None:
            return False
        self.asked.append(gap)
        if gap.first < self.kept_from or gap.last > len(self.journal.bodies):
            self.told += gist(self.sequencer.answered(gap, "bad_range", self.now))
            return True
        lost = [next(loses, False) for _ in range(gap.first, gap.last + 1)]
        lost[0] = lost[0] and self.vain[gap.first] < SERVED_IN_VAIN - 1
        for seq, gone in enumerate(lost, gap.first):
            if not gone:
                self.deliver(self.journal[seq], resent=True)
        if not next(loses, False):
            self.vain[gap.first] += lost[0]
            self.told += gist(self.sequencer.answered(gap, None, self.now))
        return True

    def settle(self, loses: Iterator[bool]) -> None:
        """Lets time pass until nothing is missing."""
        for _ in range(500):
            if not self.serve(loses):
                due = self.sequencer.due
                if due is None:
                    return
                self.now = max(self.now + 1, due)
        raise AssertionError(f"never whole: {self.told}, asked {self.asked[-5:]}")


@examples(deadline=None)
@given(st.data())
def test_any_losses_doublings_and_swaps_give_each_event_once_in_order(data: st.DataObject) -> None:
    """Whatever a network loses, doubles or swaps, each event is told once and in order, when resends are served."""
    count = data.draw(st.integers(1, 30))
    world = World(Journal(count=count), Sequencer("tp-01", Position(ONE, 0), check_chain=True))
    seqs = data.draw(st.lists(st.integers(1, count), max_size=60))
    for seq in seqs:
        world.deliver(world.journal[seq], resent=data.draw(st.booleans()))
        world.now += data.draw(st.integers(0, LONGEST_WAIT_US))
        if data.draw(st.booleans()):
            world.serve(iter(data.draw(st.lists(st.booleans(), max_size=10))))
    world.told += gist(world.sequencer.head(ONE, count, world.now))
    world.settle(iter(data.draw(st.lists(st.booleans(), max_size=40))))
    assert list(range(1, count + 1)) == world.told
    assert world.sequencer.position == Position(ONE, count, json.loads(world.journal[count])["hash"])


@examples(deadline=None)
@given(st.integers(2, 60), st.data())
def test_what_the_table_no_longer_keeps_is_told_exactly(count: int, data: st.DataObject) -> None:
    """Where the table deleted events, exactly those are told as missing, and every other is told."""
    kept_from = data.draw(st.integers(2, count))
    world = World(Journal(count=count), Sequencer("tp-01", Position(ONE, 0)), kept_from=kept_from)
    world.deliver(world.journal[count])
    world.settle(iter(()))
    assert [(1, kept_from - 1), *range(kept_from, count + 1)] == world.told


def test_first_event_is_where_a_consumer_without_position_begins() -> None:
    """Without a position the first live event is the first that is told, whatever its number."""
    journal = Journal(count=5)
    sequencer = Sequencer("tp-01")
    assert [] == sequencer.head(ONE, 5, 0)
    assert [3] == gist(sequencer.take(journal[3], 0))
    assert [] == gist(sequencer.take(journal[2], 0))


def test_events_that_another_asked_for_begin_nothing() -> None:
    """What another consumer asked for does not make a consumer without position begin in the past."""
    journal = Journal(count=5)
    sequencer = Sequencer("tp-01")
    assert [] == sequencer.take(journal[1], 0, resent=True)
    assert sequencer.gap is None
    assert [5] == gist(sequencer.take(journal[5], 0))


def test_beginning_asks_for_the_whole_journal() -> None:
    """From the beginning, what lies before the first event that comes is asked for."""
    sequencer = Sequencer("tp-01", BEGINNING)
    assert None is sequencer.gap
    assert [] == sequencer.take(Journal(count=4)[4], 0)
    assert Gap(1, 3) == sequencer.request(0)


def test_gap_is_asked_for_at_once_and_then_with_growing_waits() -> None:
    """A gap is asked for at once, and the same again only after waits that double up to a bound."""
    journal = Journal(count=4)
    sequencer = Sequencer("tp-01", Position(ONE, 1))
    sequencer.take(journal[4], 100)
    assert Gap(2, 3) == sequencer.request(100)
    waits, now = [], 100
    for _ in range(6):
        assert None is sequencer.request(now)
        due = sequencer.due
        assert due is not None
        assert None is sequencer.request(due - 1)
        assert Gap(2, 3) == sequencer.request(due)
        waits.append(due - now)
        now = due
    assert [FIRST_WAIT_US << n for n in range(4)] == waits[:4]
    assert LONGEST_WAIT_US == waits[-1]


def test_long_gap_is_asked_for_in_pieces() -> None:
    """A long gap is asked for piece by piece, the next as soon as one has come."""
    journal = Journal(count=CHUNK * 2 + 10)
    sequencer = Sequencer("tp-01", Position(ONE, 0))
    sequencer.take(journal[CHUNK * 2 + 10], 0)
    assert Gap(1, CHUNK) == sequencer.request(0)
    for seq in range(1, CHUNK):
        sequencer.take(journal[seq], 0, resent=True)
    assert None is sequencer.request(0)
    sequencer.take(journal[CHUNK], 0, resent=True)
    assert Gap(CHUNK + 1, CHUNK * 2) == sequencer.request(0)


def test_hearsay_waits_a_moment_and_yields_to_a_refusal() -> None:
    """A number that was only heard of is asked for after a moment, and is forgotten when the table refuses it."""
    sequencer = Sequencer("tp-01", Position(ONE, 4))
    assert [] == sequencer.head(ONE, 9, 0)
    assert None is sequencer.request(GRACE_US - 1)
    assert Gap(5, 9) == sequencer.request(GRACE_US)
    assert [] == sequencer.answered(Gap(5, 9), "bad_range", GRACE_US)
    assert None is sequencer.due


def test_events_on_their_way_are_not_asked_for() -> None:
    """While the events that were heard of arrive in order, none of them is asked for."""
    journal = Journal(count=9)
    sequencer = Sequencer("tp-01", Position(ONE, 4))
    sequencer.head(ONE, 9, 0)
    for seq, now in ((5, GRACE_US - 1), (6, 2 * GRACE_US - 2)):
        assert [seq] == gist(sequencer.take(journal[seq], now))
        assert None is sequencer.request(now)


def test_refusal_for_another_reason_is_only_waited_for() -> None:
    """A table that can't serve a resend now is asked again later; nothing is given up."""
    sequencer = Sequencer("tp-01", Position(ONE, 0))
    sequencer.take(Journal(count=3)[3], 0)
    assert Gap(1, 2) == sequencer.request(0)
    assert [] == sequencer.answered(Gap(1, 2), "storage", 0)
    assert Gap(1, 2) == sequencer.request(FIRST_WAIT_US)


def test_reply_to_an_older_question_is_nothing() -> None:
    """A reply to what is no longer asked for changes nothing."""
    sequencer = Sequencer("tp-01", Position(ONE, 0))
    sequencer.take(Journal(count=3)[3], 0)
    sequencer.request(0)
    assert [] == sequencer.answered(Gap(1, 1), "bad_range", 0)
    assert Gap(1, 2) == sequencer.gap


def test_refusal_that_a_live_event_has_overtaken_proves_nothing() -> None:
    """A refused range that reached above an event which came meanwhile is asked for anew, not given up."""
    journal = Journal(count=9)
    sequencer = Sequencer("tp-01", Position(ONE, 0))
    sequencer.head(ONE, 20, 0)
    assert Gap(1, 20) == sequencer.request(GRACE_US)
    sequencer.take(journal[9], GRACE_US)
    assert [] == sequencer.answered(Gap(1, 20), "bad_range", GRACE_US)
    assert Gap(1, 8) == sequencer.request(GRACE_US)


def test_resend_that_never_brings_anything_counts_as_refused() -> None:
    """A resend that is carried out again and again and brings nothing ends: the events are missing."""
    journal = Journal(count=3)
    sequencer = Sequencer("tp-01", Position(ONE, 1))
    sequencer.take(journal[3], 0)
    items: list[Item] = []
    for turn in range(SERVED_IN_VAIN):
        assert [] == items
        now = turn * LONGEST_WAIT_US
        assert Gap(2, 2) == sequencer.request(now)
        items = sequencer.answered(Gap(2, 2), None, now)
    assert [(2, 2), 3] == gist(items)


def test_new_journal_is_told_as_such() -> None:
    """A new journal is told, its numbers begin at 1, and what is missing of it is asked for."""
    sequencer = Sequencer("tp-01", Position(ONE, 7, "h"))
    new = Journal(TWO, 3)
    items = sequencer.take(new[3], 0)
    assert [NewJournal("tp-01", TWO, ONE, Position(TWO, 0, FIRST_PREV, (ONE,)))] == items
    assert Gap(1, 2) == sequencer.request(0)
    assert [1] == gist(sequencer.take(new[1], 0, resent=True))


def test_rest_of_an_old_journal_is_told_before_the_new_one() -> None:
    """What waited behind a gap of the old journal is told, with the gap named, before the new journal is."""
    old, new = Journal(count=6), Journal(TWO, 1)
    sequencer = Sequencer("tp-01", Position(ONE, 1))
    sequencer.take(old[3], 0)
    sequencer.take(old[6], 0)
    assert [(2, 2), 3, (4, 5), 6, TWO, 1] == gist(sequencer.take(new[1], 0))


def test_past_journal_never_comes_back() -> None:
    """A late message of a past journal is nothing, after a restart of the consumer too."""
    old, new = Journal(count=2), Journal(TWO, 1)
    before = Sequencer("tp-01", Position(ONE, 1))
    before.take(new[1], 0)
    after = Sequencer("tp-01", before.position)
    assert [] == after.take(old[2], 0)
    assert [] == after.head(ONE, 2, 0)
    assert before.position == after.position


def test_memory_is_bounded_behind_a_gap() -> None:
    """Behind a gap that nobody fills no more than a bound is kept, and what was left out is asked for later."""
    count = 23
    journal = Journal(count=count)
    world = World(journal, Sequencer("tp-01", Position(ONE, 0), most_waiting=20))
    for seq in range(2, count + 1):
        world.deliver(journal[seq])
    assert [] == world.told
    world.settle(iter(()))
    assert list(range(1, count + 1)) == world.told
    assert [Gap(1, 1), Gap(count - 1, count)] == world.asked


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"seq":1}', b"\xff", Journal(table="tp-02", count=1)[1]])
def test_what_is_no_event_of_the_table_is_a_stray(body: bytes) -> None:
    """Bytes that are no event, or another table's, are counted and change nothing."""
    sequencer = Sequencer("tp-01")
    assert [] == sequencer.take(body, 0)
    assert 1 == sequencer.strays
    assert None is sequencer.position


def test_event_is_read_whole() -> None:
    """An event has the contract's fields, its bytes, and the position that it leads to."""
    journal = Journal(count=1)
    event = read_event(journal[1])
    assert event is not None
    assert ("tp-01", ONE, 1, "scanner_up", None) == (event.table, event.journal, event.seq, event.type, event.round)
    assert {"scanner": "shoe", "detail": None} == event.data
    assert "2026-11-30T02:45:16.123456+00:00" == event.at.isoformat()
    assert (journal[1], journal.last, FIRST_PREV) == (event.body, event.hash, event.prev)
    told = Sequencer("tp-01", BEGINNING).take(journal[1], 0)[0]
    assert Position(ONE, 1, journal.last) == told.position


def test_changed_event_is_asked_for_again() -> None:
    """With the chain checked, an event whose content does not give its hash is a stray, and the true one is told."""
    journal = Journal(count=2)
    sequencer = Sequencer("tp-01", Position(ONE, 0), check_chain=True)
    assert [] == sequencer.take(journal[1].replace(b"shoe", b"sh0e"), 0)
    assert [] == sequencer.take(journal[1].replace(b'"detail":null', b'"detail":0.25'), 0)
    assert 2 == sequencer.strays
    sequencer.take(journal[2], 0)
    assert Gap(1, 1) == sequencer.request(0)
    assert [1, 2] == gist(sequencer.take(journal[1], 0))


def test_broken_chain_ends_what_is_told() -> None:
    """An event that does not follow from the one before is told as broken, and nothing after it is told."""
    journal = Journal(count=1)
    forged = journal.add(prev="f" * 64)
    after = journal.add()
    sequencer = Sequencer("tp-01", BEGINNING, check_chain=True)
    sequencer.take(journal[1], 0)
    sequencer.take(after, 0)
    assert ["broken 2"] == gist(sequencer.take(forged, 0))
    assert [] == sequencer.take(journal.add(), 0)
    assert [] == sequencer.take(Journal(TWO, 1)[1], 0)
    assert [] == sequencer.head(ONE, 9, 0)
    assert None is sequencer.request(LONGEST_WAIT_US)


def test_chain_that_breaks_in_the_rest_of_an_old_journal_ends_what_is_told() -> None:
    """A broken chain in what waited of an old journal ends what is told; the new journal is not begun."""
    journal = Journal(count=3)
    journal.add(prev="f" * 64)
    sequencer = Sequencer("tp-01", Position(ONE, 1), check_chain=True)
    sequencer.take(journal[3], 0)
    sequencer.take(journal[4], 0)
    assert [(2, 2), 3, "broken 4"] == gist(sequencer.take(Journal(TWO, 1)[1], 0))
    assert [] == sequencer.take(journal.add(), 0)


# --- the position's file --------------------------------------------------------------------------------------


def test_position_survives_in_its_file(tmp_path: Path) -> None:
    """A position that was saved is loaded again, whole, and nothing else is left in the folder."""
    file = PositionFile(tmp_path / "p.json", "tp-01")
    assert None is file.load()
    for position in (Position(None, 0), Position(TWO, 12, "ab", (ONE,))):
        file.save(position)
        assert position == PositionFile(tmp_path / "p.json", "tp-01").load()
    assert ["p.json"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is no position"),
        (b'{"table":"tp-01","seq":-1}', "is no position"),
        (b'{"table":"tp-02","journal":null,"seq":0,"hash":null,"past":[]}', "is the position at table tp-02"),
    ],
)
def test_damaged_position_is_never_guessed(tmp_path: Path, content: bytes, why: str) -> None:
    """A position file that is damaged or another table's is refused; a consumer never silently begins anew."""
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(PositionUnusable, match=why):
        PositionFile(path, "tp-01").load()


def test_position_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """A position file that can't be read or written is told with its name."""
    with pytest.raises(PositionUnusable, match="can't be read"):
        PositionFile(tmp_path, "tp-01").load()
    with pytest.raises(PositionUnusable, match="can't be written"):
        PositionFile(tmp_path / "none" / "p.json", "tp-01").save(BEGINNING)


# --- over a real broker ---------------------------------------------------------------------------------------


def settings(*urls: str, client_id: str = "engine-1", protocol: int = 5) -> BrokerSettings:
    """An engine's settings."""
    return BrokerSettings(urls, "scannerd", "tp-01", client_id, protocol=5 if protocol == 5 else 4)


@pytest.fixture(name="daemon")
def daemon_fixture(broker: Mosquitto, tmp_path: Path) -> Iterator[Daemon]:
    """A running daemon of table tp-01."""
    daemon = Daemon(tmp_path, broker.url)
    with Subscriber(broker.port, f"{PREFIX}/status") as watch:
        daemon.start()
        watch.wait_until(lambda message: b'"state":"offline"' not in message.payload)
    yield daemon
    daemon.stop()


def deal(commander: Commander, round_id: str) -> None:
    """Opens a round and deals it by hand to the last card."""
    assert commander.command("open", round=round_id, id=f"open-{round_id}").ok
    for slot, card in zip(SLOTS, CARDS, strict=True):
        assert commander.command("enter", slot=slot, card=card, by="ana", reason="test").ok


def until(client: Client, type_: str) -> list[Item]:
    """The items up to the first event of a type."""
    told: list[Item] = []
    for item in client.events(20.0):
        told.append(item)
        if isinstance(item, TableEvent) and item.type == type_:
            return told
    raise AssertionError(f"no {type_}: {told}")


@pytest.mark.parametrize("protocol", [5, 4])
def test_consumer_follows_a_table(broker: Mosquitto, daemon: Daemon, protocol: int) -> None:
    """A consumer opens a round and is told each of its events, from the journal's first on, chain checked."""
    del daemon
    with Client(settings(broker.url, protocol=protocol), start=BEGINNING, check_chain=True) as client:
        deal(client, "r-1")
        told = until(client, "round_completed")
        assert (None, 0) == (client.gap, client.strays)
    events = [item for item in told if isinstance(item, TableEvent)]
    assert list(range(1, len(told) + 1)) == [event.seq for event in events]
    assert "daemon_started" == events[0].type
    assert [*CARDS] == [event.data["card"] for event in events if event.type == "card_accepted"]
    assert {None, "r-1"} == {event.round for event in events}


@pytest.mark.fault(89)
def test_events_that_the_broker_dropped_are_had_from_the_journal(start_broker: StartBroker, tmp_path: Path) -> None:
    """A consumer that was away longer than the broker's queue gets all events, though nothing new happens."""
    broker = start_broker(config=["max_queued_messages 10"])
    daemon = Daemon(tmp_path, broker.url)
    daemon.start()
    keep = tmp_path / "position.json"
    with Client(settings(broker.url), start=BEGINNING, keep=keep) as client:
        deal(client, "r-1")
        before = until(client, "round_completed")
    with Commander(settings(broker.url, client_id="other")) as other:
        deal(other, "r-2")
    with Client(settings(broker.url), keep=keep) as client:
        after = until(client, "round_completed")
    daemon.stop()
    seqs = [item.seq for item in before + after if isinstance(item, TableEvent)]
    assert [*range(1, len(before) + 1), *range(len(before), len(seqs))] == seqs, "the unfinished item alone comes twice"


def test_item_is_done_when_the_next_is_asked_for(broker: Mosquitto, daemon: Daemon, tmp_path: Path) -> None:
    """The file moves on once the next item is asked for: what was being worked on in a crash is told again."""
    del daemon
    keep = tmp_path / "position.json"
    with Client(settings(broker.url), start=BEGINNING, keep=keep) as client:
        events = client.events(20.0)
        next(events)
        assert None is PositionFile(keep, "tp-01").load()
        next(events)
        kept = PositionFile(keep, "tp-01").load()
    assert kept is not None
    assert 1 == kept.seq


def test_new_journal_reaches_the_consumer(broker: Mosquitto, daemon: Daemon, tmp_path: Path) -> None:
    """A daemon that begins a new journal while its consumer is away is told as such, and its first event comes."""
    keep = tmp_path / "position.json"
    with Client(settings(broker.url), start=BEGINNING, keep=keep) as client:
        until(client, "scanner_down")
    daemon.stop()
    daemon.forget()
    daemon.start()
    with Client(settings(broker.url), keep=keep) as client:
        for item in client.events(20.0):
            if isinstance(item, NewJournal):
                break
        first = next(client.events(20.0))
    assert isinstance(item, NewJournal)
    assert isinstance(first, TableEvent)
    assert (item.journal, 1, "daemon_started") == (first.journal, first.seq, first.type)


def test_consumer_is_told_what_the_table_no_longer_keeps(broker: Mosquitto, daemon: Daemon, tmp_path: Path) -> None:
    """Whoever was away for longer than events are kept is told exactly which are gone, and all that is left."""
    ended = Subscriber(broker.port, f"{PREFIX}/event/round_completed")
    with Commander(settings(broker.url, client_id="other")) as other, ended:
        for number in range(1, 5):
            deal(other, f"r-{number}")
            ended.wait_for(number)
    keep = tmp_path / "position.json"
    with Client(settings(broker.url), start=BEGINNING, keep=keep) as client:
        before = [item.seq for item in until(client, "card_accepted") if isinstance(item, TableEvent)]
    daemon.stop()
    with TableJournal.open(daemon.state, "tp-01", create=False) as journal:
        last = allow(journal)
        assert last == journal.trim(last, LATER, 1000)
    with Subscriber(broker.port, f"{PREFIX}/event/daemon_started") as watch:
        daemon.start()
        watch.wait_for(1)
    with Client(settings(broker.url), keep=keep) as client:
        (gone, *rest) = until(client, "daemon_started")
    assert isinstance(gone, Missing)
    assert (before[-1], last) == (gone.first, gone.last), "the item that was being worked on is gone with the others"
    assert list(range(last + 1, last + 1 + len(rest))) == [item.seq for item in rest if isinstance(item, TableEvent)]


def test_callback_runs_until_it_is_stopped(broker: Mosquitto, daemon: Daemon) -> None:
    """`run` hands each item to a callback, which may stop it."""
    del daemon
    told: list[Item] = []
    with Client(settings(broker.url), start=BEGINNING) as client:

        def take(item: Item) -> None:
            told.append(item)
            client.stop()

        client.run(take)
    assert 1 == gist(told)[0]


def test_waiting_for_events_has_a_bound(broker: Mosquitto) -> None:
    """With a bound, a table that says nothing ends the wait."""
    with Client(settings(broker.url)) as client:
        assert [] == list(client.events(0.2))


def test_repeated_command_gets_the_first_answer(broker: Mosquitto, daemon: Daemon) -> None:
    """The same id again does nothing and gets the same answer, under either protocol and after a restart."""
    with Commander(settings(broker.url)) as five, Commander(settings(broker.url, client_id="e4", protocol=4)) as four:
        first = five.command("open", id="c-1", round="r-1")
        assert (True, "c-1") == (first.ok, first.id)
        assert first == four.command("open", id="c-1", round="r-1")
        daemon.stop()
        daemon.start()
        assert first == five.command("open", id="c-1", round="r-1")
        refused = four.command("open", round="r-2")
    assert (False, "round_in_progress") == (refused.ok, refused.error)


def test_refusal_without_an_id_finds_its_sender(broker: Mosquitto, daemon: Daemon) -> None:
    """A refusal that can't name the command's id reaches its sender by the correlation data."""
    del daemon
    with Commander(settings(broker.url)) as commander:
        answer = commander.command("open", id="x" * 65)
    assert (None, "bad_id") == (answer.id, answer.error)


def test_command_outlives_a_daemon_that_is_not_there_yet(broker: Mosquitto, tmp_path: Path) -> None:
    """A command that nobody took is sent again until the daemon is there."""
    daemon = Daemon(tmp_path, broker.url)
    with Subscriber(broker.port, f"{PREFIX}/command/+") as watch, Commander(settings(broker.url)) as commander:
        waiting: list[Answer] = []
        thread = threading.Thread(target=lambda: waiting.append(commander.ask("snapshot", {}, 15.0)))
        thread.start()
        watch.wait_for(1)
        daemon.start()
        thread.join(20.0)
    daemon.stop()
    assert [True] == [answer.ok for answer in waiting]
    assert 1 == len({message.json()["id"] for message in watch.messages})


def test_daemon_that_is_silent_is_told(broker: Mosquitto) -> None:
    """Where no daemon answers, the error says so, with what the broker said and the id to repeat."""
    with Commander(settings(broker.url)) as commander, pytest.raises(NoReply) as told:
        commander.ask("hold", {"id": "c-7"}, 0.5)
    assert "no matching subscribers" in str(told.value)
    assert "repeat it with id c-7" in str(told.value)


def test_broker_that_is_away_is_told() -> None:
    """Where no broker is, the error says which were tried and why they failed."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    with Commander(settings(url)) as commander, pytest.raises(BrokerAway, match=f"no broker at {url}: .*refused"):
        commander.ask("hold", {}, 0.5)


def test_next_broker_is_tried(broker: Mosquitto) -> None:
    """Of several brokers the one that is there is found."""
    with Commander(settings(f"mqtt://127.0.0.1:{free_port()}", broker.url)) as commander, pytest.raises(NoReply):
        commander.ask("hold", {}, 4.0)


@pytest.mark.fault(95)
@pytest.mark.parametrize("protocol", [5, 4])
def test_refused_password_is_told(start_broker: StartBroker, protocol: int) -> None:
    """A broker that refuses us is never taken for a connection, and its reason is told."""
    broker = start_broker(passwords={"engine": "secret"})
    with (
        Commander(settings(broker.url, protocol=protocol)) as commander,
        pytest.raises(BrokerAway, match="refused: Not authorized"),
    ):
        commander.ask("hold", {}, 3.0)


def test_refused_topic_is_told() -> None:
    """Where the broker lets us not read the table's topics, following it ends with an error, not with silence."""
    with (
        RefusingBroker(1) as broker,
        Client(settings(f"mqtt://127.0.0.1:{broker.port}")) as client,
        pytest.raises(BrokerAway, match=f"refuses us the topic {PREFIX}/event"),
    ):
        list(client.events(10.0))


def test_forged_event_ends_the_stream(broker: Mosquitto) -> None:
    """With the chain checked, an event that does not follow ends the stream with an error."""
    journal = Journal(count=1)
    journal.add(prev="f" * 64)
    with Client(settings(broker.url), check_chain=True) as client, Subscriber(broker.port) as forger:
        forger.publish(f"{PREFIX}/event/scanner_up", b"no event")
        client._link.wait(10.0)  # noqa: SLF001 - the forger must not speak before we listen
        forger.publish(f"{PREFIX}/status", b"no status")
        forger.publish(f"{PREFIX}/event/scanner_up", journal[1])
        forger.publish(f"{PREFIX}/event/scanner_up", journal[2])
        with pytest.raises(ChainBroken, match="event 2 of journal journal-1"):
            list(client.events(10.0))


def test_leaving_at_once_leaves_no_connection(broker: Mosquitto) -> None:
    """Who leaves while the connection is still being made leaves none behind."""
    for number in range(10):
        with Commander(settings(broker.url, client_id=f"passer-by-{number}")):
            list(range(number * 4_000))  # now a little earlier, now a little later
    gc.collect()  # an open connection that nobody has any more is a ResourceWarning, and so a failure


def test_tls_is_verified(start_broker: StartBroker, tmp_path: Path) -> None:
    """Over mqtts the broker must have a certificate that we trust; the fault is named where it has not."""
    authority = Authority(tmp_path)
    broker = start_broker(tls=authority.issue("localhost"))
    trusting = replace(settings(broker.url), ca_file=authority.cert)
    with Commander(trusting) as commander, pytest.raises(NoReply):
        commander.ask("hold", {}, 2.0)
    with Commander(settings(broker.url)) as stranger, pytest.raises(BrokerAway, match="unknown CA"):
        stranger.ask("hold", {}, 1.0)


def test_missing_certificate_file_is_named(tmp_path: Path) -> None:
    """A certificate file that is not there is named before anything is opened."""
    with pytest.raises(ClientError, match=r"none\.pem: No such file"):
        Commander(replace(settings("mqtts://localhost"), ca_file=tmp_path / "none.pem"))


def test_what_is_no_reply_is_passed_over(broker: Mosquitto) -> None:
    """Bytes on the topic of replies that are none, or another's, answer no command."""
    with Commander(settings(broker.url)) as commander, Subscriber(broker.port) as other:
        commander._link.wait(10.0)  # noqa: SLF001 - the other must not speak before we listen
        for payload in (b"{", b'{"id":"x","ok":true,"seq":1}'):
            other.publish(f"{PREFIX}/reply", payload)
        with pytest.raises(NoReply):
            commander.ask("hold", {}, 0.5)


@pytest.mark.parametrize(
    ("urls", "why"),
    [
        (("http://h",), "url is mqtt://"),
        (("mqtt://h", "mqtts://h"), "brokers of one kind"),
    ],
)
def test_unusable_settings_are_refused(urls: tuple[str, ...], why: str) -> None:
    """Settings that can't be used are refused before anything is opened."""
    with pytest.raises(ClientError, match=why):
        Commander(settings(*urls))


def test_command_that_cannot_be_a_topic_is_refused(broker: Mosquitto) -> None:
    """A command's name that would be another topic is refused."""
    with Commander(settings(broker.url)) as commander, pytest.raises(ValueError, match="can't be a command"):
        commander.command("open/#")
