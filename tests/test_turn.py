"""One batch of letters: the events in order, each with its round, and the replies that are due once it is written."""

from __future__ import annotations

import json

from scannerd import games
from scannerd.canonical import FIRST_PREV
from scannerd.commands import Asked, Replies
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.state import Rules, Setup, State
from scannerd.journal import Batch, Head
from scannerd.mqtt.notices import CommandReceived
from scannerd.recall import Offset
from scannerd.turn import Turn
from tests.fakes import NOON, SECOND, SIX, TABLE

AT = 100 * SECOND
HASH = "f" * 64


def turn() -> Turn:
    """A turn of a table that may begin."""
    setup = Setup(TABLE, games.load("teen-patti-20-20"), Rules(min_gap_ms=0), ("shoe",))
    return Turn(State(setup, broker_up=True), Offset(NOON - AT, AT))


def asked(name: str, **fields: object) -> CommandReceived:
    """A command that wants its answer elsewhere."""
    return CommandReceived(AT, name, json.dumps(fields).encode(), False, "engine/replies", b"\x01")  # noqa: FBT003 - retain


def examined(one: Turn, received: CommandReceived) -> Asked:
    """The command, which nothing is wrong with."""
    found = one.examine(received, Replies())
    assert found is not None
    return found


def batch_of(one: Turn, head: Head | None = None, cursor: int | None = None) -> Batch:
    """What the turn writes."""
    made = one.batch("journal-1", head or Head(), TABLE, cursor, clean=None)
    assert made is not None
    return made


def test_empty_turn_writes_nothing() -> None:
    """A turn without events, replies, cursor or mark of an end is not written; each of them alone is."""
    assert turn().batch("journal-1", Head(), TABLE, None, clean=None) is None
    assert 3 == batch_of(turn(), Head(5, HASH), cursor=3).cursor
    assert turn().batch("journal-1", Head(), TABLE, None, clean=True) == Batch(clean=True)
    one = turn()
    one.examine(asked("nonsense", id="c1"), Replies())
    assert ["c1"] == [command_id for command_id, _ in batch_of(one).replies]


def test_events_follow_the_head() -> None:
    """Events are numbered and chained on from the journal's last, each with its round and its own time."""
    one = turn()
    received = asked("open", id="c1", by="engine")
    one.carry_out(received, examined(one, received))
    one.decide(e.Read(AT + SECOND, "shoe", Card("AS"), raw=b"AS\r"))
    records = batch_of(one, Head(41, HASH)).records
    assert [(42, "round_opened", "tp-01/1"), (43, "card_accepted", "tp-01/1")] == [
        (record.seq, record.type, record.round) for record in records
    ]
    bodies = [json.loads(record.body) for record in records]
    assert [HASH, records[0].hash] == [body["prev"] for body in bodies]
    assert ["2026-11-30T12:00:00.000000Z", "2026-11-30T12:00:01.000000Z"] == [body["at"] for body in bodies]
    assert {"contract", "table", "journal", "seq", "type", "round", "at", "prev", "hash", "data"} == set(bodies[0])
    assert ("1.0", TABLE, "journal-1") == tuple(bodies[0][key] for key in ("contract", "table", "journal"))


def test_first_event_follows_nothing() -> None:
    """The first event of a journal has the number 1 and 64 zeros for its predecessor's hash."""
    one = turn()
    one.decide(e.ScannerWentUp(AT, "shoe"))
    (record,) = batch_of(one).records
    assert (1, FIRST_PREV, None) == (record.seq, json.loads(record.body)["prev"], record.round)


def test_state_row_is_written_where_a_round_ends() -> None:
    """A completed or voided round leaves a state row, and nothing else does."""
    one = turn()
    one.decide(e.Command(AT, "open", None, {}))
    assert batch_of(one).checkpoint is None
    for number, card in enumerate(SIX):
        one.decide(e.Read(AT + number * SECOND, "shoe", Card(card)))
    row = batch_of(one).checkpoint
    assert row is not None
    assert "complete" == json.loads(row)["phase"]
    voiding = Turn(one.state, one.offset)
    voiding.decide(e.Command(AT + 9 * SECOND, "void", None, {}))
    assert batch_of(voiding).checkpoint is not None
    assert ["tp-01/1"] == [record.round for record in batch_of(voiding).records]


def test_answer_goes_where_it_was_asked() -> None:
    """A reply, its repetition and the refusal for storage go to the topic that the command named, with its data."""
    one = turn()
    received = asked("open", id="c1")
    one.carry_out(received, examined(one, received))
    assert one.examine(asked("open", id="c1"), Replies()) is None
    assert one.examine(asked("void", id="c0"), Replies([("c0", b'{"id":"c0"}')])) is None
    everything = [*one.answers(0), *one.refused_for_storage()]
    assert {("engine/replies", b"\x01")} == {(reply.topic, reply.correlation) for reply in everything}
    assert [3, 3] == [len(list(one.answers(0))), len(list(one.refused_for_storage()))]


def test_deadline_before_a_refused_command_is_no_event_of_it() -> None:
    """A command that is refused is answered so, though its time brought an event about."""
    one = turn()
    one.decide(e.Command(AT, "open", None, {}))
    late = CommandReceived(AT + 40 * SECOND, "open", b'{"id":"c1"}', retain=False)
    one.carry_out(late, examined(one, late))
    assert ["round_opened", "alarm_raised"] == [told.TYPE for told, _ in one.drafts]
    assert ["round_in_progress"] == [json.loads(reply.payload)["error"] for reply in one.answers(0)]


def test_only_overdue_deadlines_are_decided() -> None:
    """A deadline is decided when its time has come, at its own time, and not before."""
    one = turn()
    one.decide_overdue(AT + 99 * SECOND)
    one.decide(e.Command(AT, "open", None, {}))
    one.decide_overdue(AT + 30 * SECOND - 1)
    assert 1 == len(one.drafts)
    one.decide_overdue(AT + 50 * SECOND)
    assert [AT, AT + 30 * SECOND] == [told.at for told, _ in one.drafts]
