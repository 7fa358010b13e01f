"""What a start remembers: a state row and the events behind it give the live state, but for what it forgets."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd import games
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import DECK, Card
from scannerd.core.evolution import evolve
from scannerd.core.state import Memory, Rules, Setup, State
from scannerd.journal import Head, JournalDamaged, Record
from scannerd.messages import decision
from scannerd.notebook import Digests, Notebook, Watched
from scannerd.recall import Checkpoint, Offset, checkpoint, recall
from scannerd.turn import FOLDED, Pen, Turn
from tests.fakes import MS, NOON, SECOND, SIX, TABLE

SCANNERS = ("shoe", "spare")
CARDS = DECK[:9]


def setup(rules: Rules | None = None) -> Setup:
    """A table of two scanners."""
    return Setup(TABLE, games.load("teen-patti-20-20"), rules or Rules(), SCANNERS)


class Past:
    """A journal in memory; pages are as long as they are asked for."""

    def __init__(self) -> None:
        """Nothing is in it."""
        self.written: list[Record] = []
        self.row: tuple[int, bytes] | None = None

    @property
    def rounds(self) -> int:
        """How many rounds were opened."""
        return len(self.recent_rounds())

    @property
    def head(self) -> Head:
        """Where it ends."""
        return Head(self.written[-1].seq, self.written[-1].hash) if self.written else Head()

    def records(self, after: int, limit: int) -> list[Record]:
        """A page."""
        return self.written[after : after + limit]

    def checkpoint(self) -> tuple[int, bytes] | None:
        """The last state row."""
        return self.row

    def recent_rounds(self) -> list[str]:
        """All rounds."""
        return [str(record.round) for record in self.written if record.type == "round_opened"]


class Live:
    """A table that deals, as the engine drives it, on a journal in memory."""

    def __init__(self, rules: Rules | None = None) -> None:
        """It starts at noon."""
        self.past, self.at, self.ahead = Past(), 100 * SECOND, NOON
        self.state = State(setup(rules))
        self.pen = Pen()
        self.take(e.Started(self.at, "1.0", "0" * 64, "first"))

    @property
    def offset(self) -> Offset:
        """Between the clocks, now."""
        return Offset(self.ahead, self.at)

    def take(self, *events: e.Event) -> None:
        """One turn, written to the journal."""
        turn = Turn(self.state, self.offset)
        for event in events:
            turn.decide(event)
        batch = turn.batch("journal-1", self.past.head, TABLE, None, clean=None, pen=self.pen)
        self.state = turn.state
        if batch is None:
            return
        self.past.written += batch.records
        if batch.checkpoint is not None:
            self.past.row = (self.past.head.seq, batch.checkpoint)

    def restart(self) -> None:
        """Another process folds what is there."""
        self.state = recall(self.past, self.state.setup, self.offset)
        self.take(e.Started(self.at, "1.0", "0" * 64, "crash"))

    def deal(self, *cards: str) -> None:
        """Reads cards a second apart."""
        for card in cards:
            self.at += SECOND
            self.take(e.Read(self.at, "shoe", Card(card)))

    def command(self, name: str, **fields: object) -> None:
        """Carries out a command."""
        self.take(e.Command(self.at, name, "sup", fields))


Action = Callable[[Live], None]
scanners = st.sampled_from(SCANNERS)


def _events(make: Callable[..., e.Event], *args: st.SearchStrategy[object]) -> st.SearchStrategy[Action]:
    def action(values: tuple[object, ...]) -> Action:
        return lambda live: live.take(make(live.at, *values))

    return st.tuples(*args).map(action)


def _read(at: int, scanner: str, card: Card, hand: str | None, stale: bool) -> e.Event:  # noqa: FBT001 - drawn
    return e.Read(at, scanner, card, hand, stale, b"x\r")


def _failed(at: int, scanner: str, reason: e.FailedReason, lost: bool) -> e.Event:  # noqa: FBT001 - drawn
    return e.FailedRead(at, scanner, reason, "checksum", lost=lost and reason == "bad_frame")


def _command(at: int, name: str, fields: dict[str, object]) -> e.Event:
    return e.Command(at, name, "sup", fields)


def _alarm(at: int, name: e.AlarmName, up: bool) -> e.Event:  # noqa: FBT001 - drawn
    return e.AlarmChanged(at, name, up, None, "why")


def _broker(at: int, up: bool) -> e.Event:  # noqa: FBT001 - drawn
    return e.BrokerChanged(at, up)


def _pass(micros: int) -> Action:
    def action(live: Live) -> None:
        live.at += micros

    return action


commands: st.SearchStrategy[tuple[str, dict[str, object]]] = st.one_of(
    st.tuples(st.sampled_from(["open", "open", "open", "void", "hold", "release"]), st.just({})),
    st.tuples(st.just("open"), st.fixed_dictionaries({"round": st.sampled_from(["r-1", "r-2", "r-3"])})),
    st.tuples(st.just("rescan"), st.fixed_dictionaries({"slot": st.sampled_from(["all", "A1", "B2"])})),
    st.tuples(
        st.just("enter"),
        st.fixed_dictionaries(
            {"slot": st.sampled_from(["A1", "B1", "A2"]), "card": st.sampled_from(CARDS), "reason": st.just("torn")}
        ),
    ),
)
reads = _events(_read, scanners, st.sampled_from(CARDS), st.sampled_from([None, None, "A", "B"]), st.just(value=False))
actions = st.one_of(
    reads,
    reads,
    reads,
    st.sampled_from([0, 50 * MS, 200 * MS, SECOND, 4 * SECOND, 40 * SECOND]).map(_pass),
    _events(_read, scanners, st.sampled_from(CARDS), st.none(), st.just(value=True)),
    _events(_failed, scanners, st.sampled_from(["no_read", "bad_frame", "unknown_code", "not_in_deck"]), st.booleans()),
    commands.map(lambda one: lambda live: live.take(_command(live.at, *one))),
    _events(e.Noticed, scanners, st.sampled_from(["error", "error_cleared", "warning"]), st.just("jam")),
    _events(e.ScannerWentUp, scanners),
    _events(e.ScannerWentDown, scanners, st.just("EIO")),
    _events(_alarm, st.sampled_from(["denied", "network"]), st.booleans()),
    _events(_broker, st.sampled_from([True, True, False])),
    st.just(lambda live: live.take(e.Deadline(live.at))),
    st.just(Live.restart),
)
all_rules = st.builds(
    Rules,
    start=st.sampled_from(["command", "auto"]),
    min_gap_ms=st.sampled_from([0, 150]),
    max_attempts=st.sampled_from([0, 3]),
    require_broker=st.booleans(),
    on_restart=st.sampled_from(["continue", "hold"]),
)


@given(all_rules, st.lists(actions, max_size=60), st.integers(-(10**9), 10**9))
def test_recall_gives_the_live_state(rules: Rules, what: list[Action], shift: int) -> None:
    """Whatever happened, the fold is the live state; a start makes even what it forgets the same in both."""
    live = Live(rules)
    for action in what:
        action(live)
    folded = recall(live.past, live.state.setup, live.offset)
    assert live.state._replace(memory=Memory(), broker_up=False) == folded._replace(memory=Memory())

    begun = d.DaemonStarted(live.at, "1.0", "0" * 64, "crash", resumed=True)
    assert evolve(live.state, begun) == evolve(folded, begun)

    other = Offset(live.ahead + shift, live.at - shift)  # another boot of the machine: its clock began elsewhere
    if live.state.active_at:  # else it never was any time of day
        assert checkpoint(live.state, live.offset) == checkpoint(recall(live.past, live.state.setup, other), other)


@given(all_rules, st.lists(actions, max_size=40), st.integers(-(10**12), 10**12))
def test_no_time_is_in_the_future(rules: Rules, what: list[Action], step: int) -> None:
    """Wherever the wall clock stands after a restart, nothing that is past lies in the future, and dealing goes on."""
    live = Live(rules)
    for action in what:
        action(live)
    live.ahead += step
    state = recall(live.past, live.state.setup, live.offset)
    ago = [state.active_at, state.ended_at or 0, *state.multi_read_at.values()]
    ago += [alarm.since for alarm in state.alarms.values()]
    ago += [] if state.last is None else [state.last.at]
    ago += [] if state.failed is None else [state.failed[1]]
    ago += [] if state.round is None else [state.round.opened_at, *(dealt.at for dealt in state.round.cards.values())]
    assert max(ago) <= live.at
    live.restart()
    for kind in ("void", "open"):
        live.command(kind)
    assert all(json.loads(record.body)["data"].get("duration_ms", 0) >= 0 for record in live.past.written)


def test_clock_set_back_over_a_restart() -> None:
    """A wall clock that was set back by hours gives a round's duration of no less than nothing."""
    live = Live()
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    live.deal(*SIX)
    live.ahead -= 8 * 3600 * SECOND
    live.restart()
    last = json.loads(live.past.written[-1].body)
    assert ("round_completed", 0) == (last["type"], last["data"]["duration_ms"])


def test_clock_set_forward_over_a_restart() -> None:
    """A wall clock that was set forward lets the round gap be over, and makes a stall of the pause."""
    live = Live()
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    live.deal("AS")
    live.ahead += 8 * 3600 * SECOND
    live.restart()
    assert ["daemon_started", "alarm_raised"] == [record.type for record in live.past.written[-2:]]


def test_long_journal_is_folded_in_pages() -> None:
    """A journal without a state row is folded page by page, and whoever waits is told after each."""
    live = Live(Rules(max_attempts=0))
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    for _ in range(1500):
        live.at += SECOND
        live.take(e.FailedRead(live.at, "shoe", "no_read"))
    told: list[int] = []
    state = recall(live.past, live.state.setup, live.offset, told.append)
    assert [512, 1024, live.past.head.seq] == told
    assert 1500 == (state.round and state.round.rejections)


def test_round_ids_of_engines_are_remembered() -> None:
    """An id that an engine gave to a past round stays taken after a restart; the daemon's own go on counting."""
    live = Live()
    live.take(e.BrokerChanged(live.at, up=True))
    for fields in ({"round": "r-1"}, {}):
        live.command("open", **fields)
        live.command("void")
    live.restart()
    assert {"r-1": None} == live.state.recent
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    assert "tp-01/3" == live.past.written[-1].round


def test_event_of_a_newer_version_is_passed_over() -> None:
    """An event or a field that this version does not know changes nothing, so that one can go back a version."""
    live = Live()
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    body = json.loads(live.past.written[-1].body)
    body["data"]["lucky"] = True
    newer = Record(3, "mascot_changed", None, live.past.written[-1].at, "h", b'{"data":{}}')
    live.past.written[-1] = live.past.written[-1].__class__(
        2, "round_opened", "tp-01/1", newer.at, "h", json.dumps(body).encode()
    )
    live.past.written.append(newer)
    assert live.state._replace(memory=Memory(), broker_up=False) == recall(live.past, setup(), live.offset)


@pytest.mark.parametrize("body", [b"{", b"{}", b'{"data":{}}', b'{"data":[]}'])
def test_event_that_can_not_be_folded_is_damage(body: bytes) -> None:
    """An event without its fields is damage, told in one line, and no crash of the daemon."""
    live = Live()
    live.past.written.append(Record(2, "scanner_up", None, "2026-11-30T12:00:00.000000Z", "h", body))
    with pytest.raises(JournalDamaged, match="can't be folded"):
        recall(live.past, setup(), live.offset)


def test_event_that_can_not_follow_is_damage() -> None:
    """A card that was accepted in no round is damage too: nothing is made up around it."""
    live = Live()
    live.past.written += opened_round()[-1:]
    with pytest.raises(JournalDamaged):
        recall(live.past, setup(), live.offset)


def opened_round() -> list[Record]:
    """The events of a round with one card."""
    live = Live()
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    live.deal("AS")
    return live.past.written


def test_state_row_that_can_not_be_read_is_damage() -> None:
    """A state row without its fields is damage; a field that this version does not know is passed over."""
    live = Live()
    row = json.loads(checkpoint(live.state, live.offset))
    live.past.row = (1, json.dumps({**row, "lucky": True}).encode())
    assert live.state._replace(memory=Memory()) == recall(live.past, setup(), live.offset)
    live.past.row = (1, b"{}")
    with pytest.raises(JournalDamaged):
        recall(live.past, setup(), live.offset)
    assert set(row) == set(Checkpoint.model_fields)


@given(all_rules, st.lists(actions, max_size=60))
def test_state_row_may_stand_anywhere(rules: Rules, what: list[Action]) -> None:
    """A state row after any event, in the middle of a round too, gives the live state as one behind a round does."""
    live = Live(rules)
    live.pen = Pen(row=-10_000)
    live.take(e.ScannerWentUp(live.at, "shoe"))
    assert live.past.row is not None
    for action in what:
        action(live)
    folded = recall(live.past, live.state.setup, live.offset)
    assert live.state._replace(memory=Memory(), broker_up=False) == folded._replace(memory=Memory())


def test_long_time_without_a_round_leaves_a_state_row() -> None:
    """Where no round ends for thousands of events there is a state row all the same: no start folds more."""
    live = Live(Rules(max_attempts=0))
    rows = []
    for _ in range(2 * FOLDED + 2):
        live.at += SECOND
        live.take(e.FailedRead(live.at, "shoe", "no_read"))
        if live.past.row is not None and live.past.row[0] != live.pen.row:
            live.pen = live.pen._replace(row=live.past.row[0])
            rows.append(live.past.row[0])
    assert [FOLDED + 1, 2 * FOLDED + 2] == rows


def test_notebook_is_remembered() -> None:
    """How well reads went and the last self-check come from the state row and the events behind it."""
    watched = Watched(5_000, 20_000, SCANNERS)
    live, notebook = Live(Rules(max_attempts=0)), Notebook(watched)
    live.take(e.BrokerChanged(live.at, up=True))
    live.command("open")
    check = e.SelfCheck(live.at, "start", None, "c", None, {"shoe": "b"})
    for before in (True, False):
        live.pen = Pen(notes=notebook.notes, row=-10_000 if before else live.past.head.seq)
        live.at += SECOND
        seen = len(live.past.written)
        live.take(e.FailedRead(live.at, "shoe", "no_read"), check)
        if before:
            for record in live.past.written[seen:]:
                told = decision(record.type, json.loads(record.body)["data"], 1, record.round)
                assert told is not None
                notebook.note(told)
            live.past.row = (live.past.head.seq, checkpoint(live.state, live.offset, notebook.notes()))
    found = Notebook(watched)
    recall(live.past, live.state.setup, live.offset, notebook=found)
    assert {("scanner", "shoe"): (2, (1, 2))} == found.rejects.counted()
    assert Digests("c", None, {"shoe": "b"}) == found.checked
