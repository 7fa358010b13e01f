"""The engine turn by turn: what it writes, what it says and in which order, and what it does when it can't write."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scannerd.core.events import Noticed, ScannerWentDown
from scannerd.core.state import Rules
from scannerd.errors import ScannerdError
from scannerd.inbox import Settle, StopRequested, ThreadDied
from scannerd.journal import JournalDamaged, verify
from scannerd.mqtt.notices import (
    Acknowledged,
    BrokerAlarm,
    CommandReceived,
    Connected,
    Disconnected,
    StatusSeen,
)
from scannerd.roles import Duties
from scannerd.upkeep.machine_watch import LONG_LOG
from tests.fakes import MS, SECOND, SIX, FailingJournal, FakeClock, FakeSpeaker, Table

HOUR = 3600 * SECOND


def data(table: Table, kind: str) -> list[dict[str, object]]:
    """The data of the events of one type."""
    found = [event["data"] for event in table.events() if event["type"] == kind]
    return [one for one in found if isinstance(one, dict)]


def times(table: Table, kind: str) -> list[object]:
    """When the events of one type happened, the date left out."""
    return [str(event["at"])[11:] for event in table.events() if event["type"] == kind]


def acknowledged(table: Table, upto: int | None = None) -> Acknowledged:
    """The broker has the events up to a number, by default all."""
    return Acknowledged(table.clock.now(), len(table.events()) if upto is None else upto)


def alarms(table: Table) -> list[object]:
    """The alarms on the status topic."""
    shown = table.speaker.last("status")["alarms"]
    assert isinstance(shown, list)
    return [alarm["alarm"] for alarm in shown]


class StopsWhenComplete(FakeSpeaker):
    """Asks the engine to stop when the dealer reads that the round is complete."""

    def __init__(self, table: Table) -> None:
        """Belongs to `table`."""
        super().__init__()
        self._inbox = table.inbox

    def show(self, topic: str, payload: bytes) -> None:
        """Notes it, and asks."""
        super().show(topic, payload)
        if topic == "prompt" and self.last("prompt")["code"] == "complete":
            self._inbox.put(StopRequested("complete"))


# --- start and end ---


def test_start_is_told_first(tmp_path: Path) -> None:
    """The first event of a process is `daemon_started`, and the first of a journal has the number 1."""
    table = Table(tmp_path).ready()
    assert ["daemon_started", "scanner_up"] == table.types()
    assert [1, 2] == [event["seq"] for event in table.events()]
    assert {"version": "1.0", "config_digest": "0" * 64, "previous": "first", "resumed": False} == data(
        table, "daemon_started"
    )[0]
    assert "2026-11-30T12:00:00.000000Z" == table.events()[0]["at"]


def test_end_is_told_last(tmp_path: Path) -> None:
    """An orderly end is the last event, and the last status is that of the last will, with what waits."""
    table = Table(tmp_path).ready()
    table.stop()
    assert {"reason": "SIGTERM"} == data(table, "daemon_stopped")[0]
    assert "daemon_stopped" == table.types()[-1]


def test_last_status_is_offline(tmp_path: Path) -> None:
    """After the end the status says `offline`, in the name of this session."""
    table = Table(tmp_path).ready()
    last = json.loads(table.engine.final_status())
    assert ("offline", "session-1") == (last["state"], last["session"])


def test_previous_run_is_named(tmp_path: Path) -> None:
    """A start says whether the run before it ended in an orderly way."""
    Table(tmp_path).ready().stop()
    Table(tmp_path).ready().crash()
    table = Table(tmp_path).ready()
    assert ["first", "clean", "crash"] == [one["previous"] for one in data(table, "daemon_started")]


def test_start_that_could_not_be_written_is_made_up_for(tmp_path: Path) -> None:
    """Where the first write fails, the start is told first after recovery, and a kill then counts as a crash."""
    Table(tmp_path).ready().stop()
    table = Table(tmp_path)
    table.fail()
    table.ready()
    assert "storage_fault" == table.speaker.last("prompt")["code"]
    table.mend()
    table.pass_time(2 * SECOND)
    assert ["daemon_started", "scanner_up"] == table.types()[-2:]
    assert "wait" == table.speaker.last("prompt")["code"]
    table.crash()
    assert ["first", "clean", "crash"] == [one["previous"] for one in data(Table(tmp_path).ready(), "daemon_started")]


def test_numbers_have_no_gap_over_restarts(tmp_path: Path) -> None:
    """Over restarts and kills the numbers go on without a gap, and the chain is whole."""
    for _ in range(3):
        Table(tmp_path).ready("open").crash()
        table = Table(tmp_path).ready()
        table.deal("AS", "KH")
        table.command("void", id=f"void-{table.journal.head.seq}")
        table.stop()
    seqs = [event["seq"] for event in table.events()]
    assert list(range(1, len(seqs) + 1)) == seqs
    assert verify(tmp_path).sound


def test_round_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A round that was being dealt goes on at its due slot."""
    table = Table(tmp_path).ready("open")
    table.deal("AS", "KH")
    table.crash()
    table = Table(tmp_path, clock=table.clock).ready()
    assert data(table, "daemon_started")[-1]["resumed"] is True
    assert ("deal", "A2") == tuple(table.speaker.last("prompt")[key] for key in ("code", "slot"))
    table.deal("9D")
    assert "A2" == data(table, "card_accepted")[-1]["slot"]


def test_round_is_held_after_a_restart_where_it_is_asked(tmp_path: Path) -> None:
    """With `on_restart = "hold"` the round waits for a supervisor."""
    rules = Rules(on_restart="hold")
    Table(tmp_path, rules=rules).ready("open").crash()
    table = Table(tmp_path, rules=rules).ready()
    assert {"reason": "restart", "by": None} == data(table, "round_held")[0]
    assert "call_supervisor" == table.speaker.last("prompt")["code"]


def test_full_round_completes_at_the_start(tmp_path: Path) -> None:
    """A round whose last card lay when the daemon was killed is complete at the start, with the start's time."""
    table = Table(tmp_path).ready("open")
    table.deal(*SIX)
    table.crash()
    table.clock.move(10 * SECOND)
    table = Table(tmp_path, clock=table.clock).begin()
    assert ["daemon_started", "round_completed"] == table.types()[-2:]
    assert "12:00:16.000000Z" == times(table, "round_completed")[0]
    assert 6000 == data(table, "round_completed")[0]["duration_ms"]


def test_stall_that_is_past_is_told_at_the_start(tmp_path: Path) -> None:
    """A deadline that passed while no process ran is decided right after the start, with the start's time."""
    table = Table(tmp_path).ready("open")
    table.crash()
    table.clock.move(40 * SECOND)
    table = Table(tmp_path, clock=table.clock).begin()
    assert ["daemon_started", "alarm_raised"] == table.types()[-2:]
    assert "12:00:40.000000Z" == times(table, "alarm_raised")[0]


def test_alarms_of_the_process_before_are_over(tmp_path: Path) -> None:
    """An alarm that told of the process before is cleared at the start; one of the table stays."""
    table = Table(tmp_path).ready()
    table.take(BrokerAlarm(table.clock.now(), "denied", up=True), Noticed(table.clock.now(), "shoe", "error", "jam"))
    table.crash()
    table = Table(tmp_path).begin()
    assert ["denied"] == [one["alarm"] for one in data(table, "alarm_cleared")]
    assert ["scanner_error"] == alarms(table)


# --- deadlines ---


def test_deadline_has_its_own_time(tmp_path: Path) -> None:
    """A completion and a stall have the time at which they were due, however late the turn came."""
    table = Table(tmp_path).ready("open")
    table.deal(*SIX)
    table.pass_time(700 * MS)
    assert ["12:00:06.150000Z"] == times(table, "round_completed")
    table.command("open", id="c2")
    table.pass_time(35 * SECOND)
    assert ["12:00:36.700000Z"] == times(table, "alarm_raised")


def test_read_before_the_deadline_is_not_overtaken(tmp_path: Path) -> None:
    """A read that came just before the completion was due, but reached the engine after it, still doubts the card."""
    table = Table(tmp_path).ready("open")
    table.deal(*SIX)
    table.clock.move(149 * MS)
    late = table.read("5C")
    table.pass_time(2 * MS)
    table.take(late)
    assert ["card_withdrawn", "scan_rejected"] == table.types()[-2:]


def test_engine_turns_for_a_deadline(tmp_path: Path) -> None:
    """A deadline is decided though nothing comes."""
    table = Table(tmp_path)
    table.speaker = StopsWhenComplete(table)
    table.ready("open")
    table.deal(*SIX)
    table.clock.move(200 * MS)
    table.engine.run()
    assert ["round_completed", "daemon_stopped"] == table.types()[-2:]


# --- journal first, then speak ---


def test_nothing_is_said_that_is_not_written(tmp_path: Path) -> None:
    """A card whose write fails is neither published nor shown, and its scanner is not told that it was accepted."""
    table = Table(tmp_path).ready("open")
    said = len(table.speaker.said)
    table.fail()
    table.take(table.read("AS"), Settle("shoe", 1, table.clock.now()))
    assert ["prompt", "status"] == [kind for kind, _ in table.speaker.said[said:]]
    assert "storage_fault" == table.speaker.last("prompt")["code"]
    assert ["restart"] == [told for told in table.stations["shoe"].told if told != "prompt"]


def test_storage_fault_is_on_the_status(tmp_path: Path) -> None:
    """While nothing can be written the status carries the alarm `storage`, with its cause and since when."""
    table = Table(tmp_path).ready("open")
    table.pass_time(SECOND)
    table.fail()
    table.take(table.read("AS"))
    expected = {
        "alarm": "storage",
        "scanner": None,
        "since": "2026-11-30T12:00:01.000000Z",
        "detail": "the disk is full",
    }
    status = table.speaker.last("status")
    assert ("degraded", [expected]) == (status["state"], status["alarms"])
    table.pass_time(5 * SECOND)
    since = table.speaker.last("status")["alarms"]
    assert isinstance(since, list)
    assert [("2026-11-30T12:00:01.000000Z", "the disk is still full")] == [
        (one["since"], one["detail"]) for one in since
    ]
    assert 3 == table.speaker.last("status")["outbox"]["depth"]  # type: ignore[index]  # a JSON object


def test_reads_are_thrown_away_during_a_storage_fault(tmp_path: Path) -> None:
    """What is scanned while nothing can be written leaves no trace, and decoders start afresh before and after."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.take(table.read("AS"))
    table.take(table.read("KH"), table.misread(), Noticed(table.clock.now(), "shoe", "error", "jam"))
    table.mend()
    table.pass_time(2 * SECOND)
    assert ["daemon_started", "scanner_up", "round_opened"] == table.types()
    assert ("deal", "A1") == tuple(table.speaker.last("prompt")[key] for key in ("code", "slot"))
    assert ["restart", "restart"] == [told for told in table.stations["shoe"].told if told == "restart"]
    table.deal("AS")
    assert "AS" == data(table, "card_accepted")[0]["card"]


def test_commands_are_refused_during_a_storage_fault(tmp_path: Path) -> None:
    """A command that can't be written is refused `storage`, and its id is free again afterwards."""
    table = Table(tmp_path).ready()
    table.fail()
    for name, command_id in (("open", "c1"), ("open", "c1"), ("resend", "c2"), ("snapshot", "c3")):
        reply = table.command(name, **{"id": command_id, "from": 1})
        assert (command_id, False, "storage") == (reply["id"], reply["ok"], reply["error"])
    garbage = CommandReceived(table.clock.now(), "open", b"{", retain=False)
    huge = CommandReceived(table.clock.now(), "open", b"", retain=False, oversized=True)
    table.take(garbage, huge)
    assert [None, None] == [reply["id"] for reply in table.speaker.all("answer")[-2:]]
    table.mend()
    table.pass_time(2 * SECOND)
    assert table.command("open", id="c1")["ok"] is True


def test_repetition_is_answered_where_the_turn_fails(tmp_path: Path) -> None:
    """Of commands in a turn that can't be written, new ones are refused and a repeated one gets its first reply."""
    table = Table(tmp_path).ready()
    first = table.command("open", id="c1")
    table.fail()
    table.take(
        table.asked("open", id="c1"), table.asked("resend", id="c2", **{"from": 1}), table.asked("void", id="c3")
    )
    replies = {str(reply["id"]): reply for reply in table.speaker.all("answer")[1:]}
    assert first == replies["c1"]
    assert ["storage", "storage"] == [replies[name]["error"] for name in ("c2", "c3")]
    assert [] == table.speaker.all("resend")


def test_only_a_changed_scanner_is_told_after_a_storage_fault(tmp_path: Path) -> None:
    """What changed and stayed changed during the fault is told once; what went and came back is not."""
    table = Table(tmp_path, scanners="shoe,spare").ready()
    table.fail()
    table.command("open", id="c1")
    down = ScannerWentDown(table.clock.now(), "spare", "EIO")
    table.take(down, table.up("spare"), ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    table.take(BrokerAlarm(table.clock.now(), "network", up=True), Disconnected(table.clock.now(), "gone"))
    before = len(table.types())
    table.mend()
    table.pass_time(2 * SECOND)
    assert ["scanner_down", "alarm_raised"] == table.types()[before:]
    assert "shoe" == data(table, "scanner_down")[0]["scanner"]
    assert table.engine.state.broker_up is False


def test_change_in_the_failing_turn_is_kept(tmp_path: Path) -> None:
    """A scanner that was lost in the very turn that could not be written is told after recovery."""
    table = Table(tmp_path).ready()
    table.fail()
    table.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    table.mend()
    table.pass_time(2 * SECOND)
    assert "scanner_down" == table.types()[-1]
    assert ("scanner_down", "shoe") == tuple(table.speaker.last("prompt")[key] for key in ("code", "reason"))


def test_write_that_got_there_all_the_same_is_told(tmp_path: Path) -> None:
    """An event that reached the disk though its write failed is published and shown after recovery, once."""
    table = Table(tmp_path).ready("open")
    table.fail(lands=True)
    table.take(table.read("AS"))
    assert ("wake", 4) not in table.speaker.said
    table.mend()
    table.pass_time(2 * SECOND)
    assert ("wake", 4) in table.speaker.said
    assert "B1" == table.speaker.last("prompt")["slot"]
    assert 1 == table.types().count("card_accepted")


def test_journal_is_tried_every_two_seconds(tmp_path: Path) -> None:
    """The journal is opened afresh every 2 s until it is sound, and the prompt and the status are not repeated."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.take(table.read("AS"))
    said, start = len(table.speaker.said), table.clock.now()
    for _ in range(14):
        table.pass_time(500 * MS)
    assert [2, 4, 6] == [(at - start) // SECOND for at in table.reopened]
    assert ["status"] == [kind for kind, _ in table.speaker.said[said:]], "the cause is another, which is told once"


def test_storage_fault_wakes_the_engine(tmp_path: Path) -> None:
    """During a fault the engine turns though nothing comes, feeds the watchdog, and recovers by itself."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.take(table.read("AS"))
    table.mend()
    fed = table.alive
    table.clock.move(2 * SECOND)
    table.stop()
    assert fed + 1 == table.alive
    assert "daemon_stopped" == table.types()[-1]


def test_end_during_a_storage_fault(tmp_path: Path) -> None:
    """A stop during a fault ends the process, which counts as a crash at the next start."""
    table = Table(tmp_path).ready()
    table.fail()
    table.command("open", id="c1")
    table.stop()
    assert ["first", "crash"] == [one["previous"] for one in data(Table(tmp_path).begin(), "daemon_started")]


def test_another_journal_is_not_taken_for_ours(tmp_path: Path) -> None:
    """A journal put in the place of ours, or an older copy, is not written to: its numbers would be given twice."""
    table = Table(tmp_path / "own").ready("open")
    table.deal("AS")
    Table(tmp_path / "copy").ready().stop()
    table.fail()
    table.take(table.read("KH"))
    own, table.directory = table.directory, tmp_path / "copy"
    table.mend()
    table.pass_time(2 * SECOND)
    assert "another journal" in str(table.speaker.last("status")["alarms"])
    table.directory = own
    table.pass_time(2 * SECOND)
    assert ["daemon_started", "scanner_up", "round_opened", "card_accepted"] == table.types()
    assert "B1" == table.speaker.last("prompt")["slot"]


def test_older_copy_is_not_written_to(tmp_path: Path) -> None:
    """A copy of the journal from before its last events, put back during a fault, is refused until they are there."""
    table = Table(tmp_path / "own").ready("open")
    table.crash()
    older = (table.directory / "journal.db").read_bytes()
    table = Table(tmp_path / "own").ready()
    table.deal("AS")
    table.fail()
    table.take(table.read("KH"))
    newest = (table.directory / "journal.db").read_bytes()
    (table.directory / "journal.db").write_bytes(older)
    table.mend()
    table.pass_time(2 * SECOND)
    assert "does not hold it" in str(table.speaker.last("status")["alarms"])
    (table.directory / "journal.db").write_bytes(newest)
    table.pass_time(2 * SECOND)
    assert [] == alarms(table)
    assert 1 == table.types().count("card_accepted")


def test_damage_found_on_reopening_ends_the_process(tmp_path: Path) -> None:
    """A journal that is found damaged after a fault is not written to: the process ends with its exit code."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.take(table.read("AS"))
    (table.directory / "journal.db").write_bytes(b"no journal")
    table.mend()
    with pytest.raises(JournalDamaged):
        table.pass_time(2 * SECOND)
    table.engine.close()


def test_journal_that_can_not_be_read_is_a_fault(tmp_path: Path) -> None:
    """A disk that gives an error while the journal is folded again is a fault that goes on, not the end."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.take(table.read("AS"))
    table.mend()

    def unreadable() -> FailingJournal:
        opened = table.open()
        opened.unreadable = True
        return opened

    table.reopening = unreadable
    table.pass_time(2 * SECOND)
    assert "reports an error" in str(table.speaker.last("status")["alarms"])
    table.mend()
    table.pass_time(2 * SECOND)
    assert [] == alarms(table)


def test_unreadable_outbox_is_no_end(tmp_path: Path) -> None:
    """The status names how many events wait though the first of them can't be read, and an alarm while that lasts."""
    table = Table(tmp_path).ready()
    table.journal.unreadable = True
    table.command("open", id="c1")
    table.pass_time(SECOND)
    assert {"depth": 3, "oldest_at": None} == table.speaker.last("status")["outbox"]
    table.pass_time(SECOND)
    assert "what waits for the broker can't be read: the disk reports an error" in str(table.speaker.last("status"))
    table.journal.unreadable = False
    table.pass_time(SECOND)
    table.pass_time(SECOND)
    assert [] == alarms(table)


# --- commands ---


def test_reply_has_the_number_of_its_last_event(tmp_path: Path) -> None:
    """Each reply of a turn names the last event of its own command."""
    table = Table(tmp_path).ready()
    table.take(
        table.asked("open", id="c1"),
        table.asked("hold", id="c2"),
        table.asked("enter", id="c3", slot="A1", card="AS", by="sup", reason="torn"),
        table.asked("void", id="c4"),
        table.asked("void", id="c5"),
    )
    assert [("c1", 3), ("c2", 4), ("c3", 6), ("c4", 7)] == [
        (reply["id"], reply["seq"]) for reply in table.speaker.all("answer")[:4]
    ]
    last = table.speaker.last("answer")
    assert ("c5", False, "no_round") == (last["id"], last["ok"], last["error"])


def test_repeated_id_gets_its_first_reply(tmp_path: Path) -> None:
    """An id that was answered gets the same answer again and does nothing, in the same turn, later, and restarted."""
    table = Table(tmp_path).ready()
    table.take(table.asked("open", id="c1"), table.asked("void", id="c1"))
    table.command("void", id="c1")
    table.crash()
    table = Table(tmp_path).ready()
    table.command("nonsense", id="c1")
    assert {"id": "c1", "ok": True, "seq": 3} == table.speaker.last("answer")
    assert "round_voided" not in table.types()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("nonsense", {}),
        ("open", {"expires": "2020-01-01T00:00:00Z"}),
        ("open", {"by": 5}),
        ("resend", {"from": 1}),
        ("snapshot", {}),
    ],
)
def test_repetition_in_one_turn_is_one_whatever_is_wrong_with_it(
    tmp_path: Path, name: str, fields: dict[str, object]
) -> None:
    """The first reply of an id stands, though its repetition in the same batch would be refused for another reason."""
    table = Table(tmp_path).ready()
    table.take(table.asked("open", id="c1"), table.asked(name, id="c1", **fields))
    assert [{"id": "c1", "ok": True, "seq": 3}] * 2 == table.speaker.all("answer")
    table.crash()
    assert {"id": "c1", "ok": True, "seq": 3} == Table(tmp_path).ready().command("open", id="c1")


def test_repeated_resend_in_one_turn_is_answered(tmp_path: Path) -> None:
    """A resend whose id comes twice in one batch is sent once, and answered twice."""
    table = Table(tmp_path).ready()
    table.take(table.asked("resend", id="c1", **{"from": 1}), table.asked("resend", id="c1", **{"from": 1}))
    reply = {"id": "c1", "ok": True, "seq": None}
    assert [("resend", (1, 2, reply))] == [one for one in table.speaker.said if one[0] == "resend"]
    assert [reply] == table.speaker.all("answer")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"from": 0},
        {"from": 3},
        {"from": 2, "to": 1},
        {"from": 1, "to": 3},
        {"from": True},
        {"from": "1"},
        {"from": 1, "to": 1.5},
    ],
)
def test_resend_of_what_is_not_there_is_refused(tmp_path: Path, fields: dict[str, object]) -> None:
    """A range that is none, or reaches past the ends of the journal, is refused `bad_range`."""
    table = Table(tmp_path).ready()
    assert "bad_range" == table.command("resend", id="c1", **fields)["error"]
    assert [] == [one for one in table.speaker.said if one[0] == "resend"]


def test_resend_reaches_to_the_last_event_of_its_turn(tmp_path: Path) -> None:
    """Without `to` a resend reaches to the last event, those of the same batch included."""
    table = Table(tmp_path).ready()
    table.take(table.asked("open", id="c1"), table.asked("resend", id="c2", **{"from": 3, "to": None}))
    assert ("resend", (3, 3, {"id": "c2", "ok": True, "seq": None})) == table.speaker.said[-1]


def test_snapshot_is_shown_before_it_is_answered(tmp_path: Path) -> None:
    """A snapshot shows prompt, round and status anew, and only then replies."""
    table = Table(tmp_path).ready()
    said = len(table.speaker.said)
    assert {"id": "c1", "ok": True, "seq": None} == table.command("snapshot", id="c1")
    kinds = [kind for kind, _ in table.speaker.said[said:]]
    assert ["prompt", "round", "status", "answer"] == kinds[-4:]


def test_answer_comes_after_what_it_changed(tmp_path: Path) -> None:
    """Whoever has the reply to a command finds its effect on the retained topics."""
    table = Table(tmp_path).ready()
    said = len(table.speaker.said)
    table.command("open", id="c1")
    assert ["wake", "prompt", "round", "answer"] == [kind for kind, _ in table.speaker.said[said:]]


def test_retained_command_is_refused_and_alarmed_for_a_minute(tmp_path: Path) -> None:
    """A command that the broker had kept is refused, and the alarm for it ends 60 s after the last of them."""
    table = Table(tmp_path).ready()
    table.take(table.retained("open", id="c1"))
    assert "retained" == table.speaker.last("answer")["error"]
    table.pass_time(30 * SECOND)
    table.take(table.retained("open", id="c2"), acknowledged(table))
    table.pass_time(59 * SECOND)
    assert ["retained_command"] == alarms(table)
    table.pass_time(2 * SECOND)
    assert [] == alarms(table)
    assert ["alarm_raised", "alarm_cleared"] == table.types()[-2:]


def test_alarm_ends_though_its_end_could_not_be_written(tmp_path: Path) -> None:
    """Where the turn that clears an alarm can't be written, the alarm is cleared after recovery."""
    table = Table(tmp_path).ready()
    table.take(table.retained("open", id="c1"))
    table.fail()
    table.pass_time(61 * SECOND)
    table.mend()
    table.pass_time(2 * SECOND)
    assert [] == alarms(table)


def test_retained_message_may_be_taken_away(tmp_path: Path) -> None:
    """The empty message with which somebody takes a retained command away is no command."""
    table = Table(tmp_path).ready()
    table.take(CommandReceived(table.clock.now(), "open", b"", retain=True))
    assert [] == table.speaker.all("answer")
    assert [] == alarms(table)


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"", "malformed"),
        (b"[]", "malformed"),
        (b'{"id":"c1","by":5}', "malformed"),
        (b'{"id":"c1","expires":"soon"}', "malformed"),
        (b"{}", "bad_id"),
        (b'{"id":""}', "bad_id"),
        (b'{"id":"' + b"x" * 65 + b'"}', "bad_id"),
    ],
)
def test_command_that_can_not_be_read(tmp_path: Path, payload: bytes, error: str) -> None:
    """A command that is no JSON object, or has no usable id, is refused with the id null and not remembered."""
    table = Table(tmp_path).ready()
    table.take(CommandReceived(table.clock.now(), "open", payload, retain=False))
    last = table.speaker.last("answer")
    assert (None, False, error) == (last["id"], last["ok"], last["error"])
    assert table.command("open", id="c1")["ok"] is True


def test_oversized_command_is_malformed(tmp_path: Path) -> None:
    """A command that was too long to be passed on is refused unparsed."""
    table = Table(tmp_path).ready()
    table.take(CommandReceived(table.clock.now(), "open", b"", retain=False, oversized=True))
    assert "malformed" == table.speaker.last("answer")["error"]


def test_expired_command_is_not_carried_out(tmp_path: Path) -> None:
    """A command is refused from the time of day on that it names, and its refusal is remembered."""
    table = Table(tmp_path).ready()
    expired = table.command("open", id="c1", expires="2026-11-30T12:00:00Z")
    assert "expired" == expired["error"]
    assert table.command("open", id="c2", expires="2026-11-30T12:00:01Z")["ok"] is True
    assert expired == table.command("open", id="c1")


# --- what else the inbox brings ---


def test_reader_is_told_when_its_reading_is_written(tmp_path: Path) -> None:
    """What a reader waits for is told after the write, and before the outcome."""
    table = Table(tmp_path).ready("open")
    told = table.stations["shoe"].told
    told.clear()
    table.take(table.read("AS"), Settle("shoe", 7, table.clock.now()))
    assert ["settled 7", "accepted", "prompt"] == told
    table.clock.move(SECOND)
    table.take(table.misread())
    assert ["rejected", "prompt"] == told[3:]


def test_accepted_by_hand_is_no_scanners_outcome(tmp_path: Path) -> None:
    """A card that a supervisor enters beeps on no scanner; the new prompt is told to all."""
    table = Table(tmp_path, scanners="shoe,spare").ready("open")
    for station in table.stations.values():
        station.told.clear()
    table.command("enter", id="c1", slot="A1", card="AS", by="sup", reason="torn")
    assert [["prompt"], ["prompt"]] == [station.told for station in table.stations.values()]


def test_notice_that_is_no_event_is_only_logged(tmp_path: Path) -> None:
    """A heartbeat of a device is no event; a warning is one."""
    table = Table(tmp_path).ready()
    table.take(Noticed(table.clock.now(), "shoe", "heartbeat"), Noticed(table.clock.now(), "shoe", "warning", "low"))
    assert ["scanner_up", "scanner_notice"] == table.types()[-2:]


def test_status_of_ours_that_another_wrote_changes_nothing(tmp_path: Path) -> None:
    """What somebody else put on the status topic is no event and is answered by nothing."""
    table = Table(tmp_path).ready()
    said = len(table.speaker.said)
    table.take(StatusSeen(table.clock.now(), b"{}"))
    assert said == len(table.speaker.said)


def test_dead_thread_ends_the_process(tmp_path: Path) -> None:
    """A thread that died ends the process, which says which and why."""
    table = Table(tmp_path).ready()
    with pytest.raises(ScannerdError, match="reader-shoe died: boom"):
        table.take(ThreadDied(table.clock.now(), "reader-shoe", "boom"))


def test_outbox_is_told_once_a_second_and_when_it_is_empty(tmp_path: Path) -> None:
    """The status follows the outbox at most once a second, but says at once that it is empty."""
    table = Table(tmp_path).ready("open")
    shown = len(table.speaker.all("status"))
    for card in SIX[:4]:
        table.clock.move(200 * MS)
        table.take(table.read(card))
    assert shown == len(table.speaker.all("status"))
    table.pass_time(200 * MS)
    assert [7] == [one["outbox"]["depth"] for one in table.speaker.all("status")[shown:]]  # type: ignore[index]  # JSON
    table.take(Acknowledged(table.clock.now(), 6))
    assert shown + 1 == len(table.speaker.all("status"))
    table.take(Acknowledged(table.clock.now(), 7))
    assert {"depth": 0, "oldest_at": None} == table.speaker.last("status")["outbox"]


def test_acknowledged_is_remembered(tmp_path: Path) -> None:
    """What the broker acknowledged is written with the next events, each second, and at the end."""
    table = Table(tmp_path).ready()
    table.take(Acknowledged(table.clock.now(), 1))
    assert 0 == table.journal.cursor
    table.pass_time(SECOND)
    assert 1 == table.journal.cursor
    table.take(Acknowledged(table.clock.now(), 2))
    table.engine.close()
    with table.open() as journal:
        assert 2 == journal.cursor


def test_last_acknowledgement_is_found_in_the_inbox(tmp_path: Path) -> None:
    """An acknowledgement that came after the last turn is written before the journal is closed."""
    table = Table(tmp_path).ready()
    table.inbox.put(Acknowledged(table.clock.now(), 2))
    table.inbox.put(Connected(table.clock.now(), "broker"))
    table.engine.close()
    table.engine.close()
    with table.open() as journal:
        assert 2 == journal.cursor


def test_long_queue_is_decided_in_batches(tmp_path: Path) -> None:
    """A thousand letters that wait are written in a few batches, in order, and none is left."""
    table = Table(tmp_path).ready()
    for number in range(1000):
        table.inbox.put(table.asked("nonsense", id=f"c{number}"))
    before = table.engine.progress
    table.stop()
    assert [f"c{number}" for number in range(1000)] == [reply["id"] for reply in table.speaker.all("answer")]
    assert 4 == table.engine.progress - before


def test_watchdog_is_fed_once_a_second(tmp_path: Path) -> None:
    """However many turns there are, systemd is told once a second."""
    table = Table(tmp_path).ready()
    before = table.alive
    for _ in range(40):
        table.pass_time(50 * MS)
    assert 2 == table.alive - before


# --- clocks ---


@pytest.mark.fault(113)
def test_clock_step_touches_no_duration(tmp_path: Path) -> None:
    """The wall clock may jump by hours in mid-round: it is told, and bounces, stalls and completions go on."""
    table = Table(tmp_path).ready("open")
    table.deal("AS", "KH")
    for step in (8 * HOUR, -8 * HOUR):
        table.clock.step(step)
        table.clock.move(200 * MS)
        table.take(table.read("KH"))  # a bounce all the while
        table.clock.move(200 * MS)
        table.take(table.read("KH"))
        table.pass_time(SECOND)
    table.deal("9D", "2C", "7S", "QH")
    table.pass_time(SECOND)
    assert [8 * 3600 * 1000, -8 * 3600 * 1000] == [one["by_ms"] for one in data(table, "clock_stepped")]
    assert [] == data(table, "alarm_raised")
    assert ["round_completed"] == table.types()[-1:]
    seqs = [event["seq"] for event in table.events()]
    assert list(range(1, len(seqs) + 1)) == seqs


def test_clock_step_is_found_within_two_seconds(tmp_path: Path) -> None:
    """A step of a second is told by the next look at the clocks; a smaller one is none."""
    table = Table(tmp_path).ready()
    table.clock.step(999 * MS)
    table.pass_time(SECOND)
    assert [] == data(table, "clock_stepped")
    table.clock.step(-SECOND)
    table.pass_time(SECOND)
    assert [-1000] == [one["by_ms"] for one in data(table, "clock_stepped")]


def test_clock_step_during_a_storage_fault_is_told_after_it(tmp_path: Path) -> None:
    """A step that could not be written when it was found is told once the journal is sound again."""
    table = Table(tmp_path).ready()
    table.fail()
    table.clock.step(5 * SECOND)
    table.pass_time(SECOND)
    table.pass_time(SECOND)
    table.mend()
    table.pass_time(2 * SECOND)
    assert [5000] == [one["by_ms"] for one in data(table, "clock_stepped")]


def test_process_stopped_between_two_clocks_is_no_step(tmp_path: Path) -> None:
    """A process that is stopped for a while just between reading both clocks tells no step and no wrong time."""
    table = Table(tmp_path).ready()
    table.clock.move(SECOND)
    table.clock.before_wall = lambda: table.clock.move(60 * SECOND)
    table.command("open", id="c1")
    assert [] == data(table, "clock_stepped")
    assert ["12:00:01.000000Z"] == times(table, "round_opened")


def test_machine_too_slow_to_compare_its_clocks(tmp_path: Path) -> None:
    """A machine on which reading both clocks always takes long deals all the same."""
    table = Table(tmp_path).ready()

    def slow() -> None:
        table.clock.move(2 * MS)
        table.clock.before_wall = slow

    slow()
    assert table.command("open", id="c1")["ok"] is True


def test_lost_time_server_is_on_the_status(tmp_path: Path) -> None:
    """The status follows whether the time of day is synchronised."""
    table = Table(tmp_path).ready()
    table.clock.trusted = False
    table.pass_time(SECOND)
    assert {"synchronised": False} == table.speaker.last("status")["clock"]


# --- the line ---


@pytest.mark.fault(8)
def test_undecodable_frames_in_a_row_raise_an_alarm(tmp_path: Path) -> None:
    """Five undecodable frames of one scanner in a row raise `check_line` once; its next card clears it."""
    table = Table(tmp_path, rules=Rules(max_attempts=0), scanners="shoe,spare").ready("open")
    for _ in range(7):
        table.clock.move(100 * MS)
        table.take(table.misread("undecodable"), table.misread("checksum", "spare"))
    assert ["check_line"] == [one["alarm"] for one in data(table, "alarm_raised")]
    assert "shoe" == data(table, "alarm_raised")[0]["scanner"]
    table.clock.move(SECOND)
    table.take(table.misread("partial"), table.read("AS", "spare"))
    assert ["check_line"] == alarms(table)
    table.clock.move(SECOND)
    table.take(table.read("KH"))
    assert [] == alarms(table)
    assert ["card_accepted", "alarm_cleared"] == table.types()[-2:]


@pytest.mark.fault(8)
@pytest.mark.parametrize("between", ["checksum", "card", "unknown_code"])
def test_frame_that_is_understood_ends_the_row(tmp_path: Path, between: str) -> None:
    """Undecodable frames with another frame among them are not in a row."""
    table = Table(tmp_path, rules=Rules(max_attempts=0)).ready("open")
    for number in range(8):
        table.clock.move(SECOND)
        table.take(table.misread("undecodable"))
        if number == 3:
            table.take(table.read("AS") if between == "card" else table.misread(between))
    assert [] == data(table, "alarm_raised")


@pytest.mark.fault(98)
def test_log_that_somebody_elses_read_keeps_long_is_alarmed(tmp_path: Path) -> None:
    """While the journal's log is longer than a table ever makes it the alarm `storage` is up, and dealing goes on."""
    table = Table(tmp_path).ready("open")
    os.truncate(tmp_path / "journal.db-wal", LONG_LOG)
    for card in ("AS", "KH"):
        table.deal(card)
    assert ["storage"] == alarms(table)
    assert ["storage"] == [one["alarm"] for one in data(table, "alarm_raised")]
    with closing(sqlite3.connect(tmp_path / "journal.db")) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    table.deal("9D")
    assert [] == alarms(table)
    assert {"A1": "AS", "B1": "KH", "A2": "9D"} == table.speaker.last("round")["cards"]


# --- what lasts ---


def test_events_that_wait_too_long_are_alarmed(tmp_path: Path) -> None:
    """An event that the broker has not acknowledged for a minute raises `outbox`; the alarm ends when none waits."""
    table = Table(tmp_path).ready()
    for _ in range(59):
        table.pass_time(SECOND)
    assert [] == alarms(table)
    for _ in range(3):
        table.pass_time(SECOND)
    assert ["outbox"] == alarms(table)
    assert "over 60 s" in str(data(table, "alarm_raised")[0]["detail"])
    table.take(acknowledged(table, 1))
    table.pass_time(SECOND)
    assert ["outbox"] == alarms(table)
    table.take(acknowledged(table))
    table.pass_time(SECOND)
    assert [] == alarms(table)
    assert 1 == table.types().count("alarm_raised")


def test_outbox_that_moves_is_no_alarm(tmp_path: Path) -> None:
    """A broker that acknowledges slowly, but each event within a minute, raises nothing, however many wait."""
    table = Table(tmp_path).ready()
    for _ in range(10):
        table.command("hold", id="none")
        before = len(table.events())
        table.pass_time(50 * SECOND)
        table.take(Noticed(table.clock.now(), "shoe", "warning", f"at {table.clock.now()}"))
        table.take(acknowledged(table, before))
        table.pass_time(SECOND)
    assert [] == data(table, "alarm_raised")


def test_clock_that_nobody_sets_is_alarmed(tmp_path: Path) -> None:
    """Ten minutes with an unsynchronised clock raise `clock`; one that was only just started is given that time."""
    clock = FakeClock()
    clock.trusted = False
    table = Table(tmp_path, clock=clock).ready()

    def wait(seconds: int) -> None:
        table.take(acknowledged(table))
        table.pass_time(seconds * SECOND)

    wait(1)
    wait(598)
    assert [] == alarms(table)
    wait(2)
    assert ["clock"] == alarms(table)
    clock.trusted = None
    wait(1)
    assert [] == alarms(table)
    clock.trusted = False
    wait(1)
    wait(590)
    assert [] == alarms(table)


# --- rejected reads ---

WATCHING = Duties(reject_rate=10, reject_window=20)


def reject(table: Table, times: int) -> None:
    """Reads that fail, a second apart."""
    for _ in range(times):
        table.clock.move(SECOND)
        table.take(table.misread())


def test_too_many_rejected_reads_are_alarmed(tmp_path: Path) -> None:
    """The rejection that passes the threshold raises `reject_rate` behind its event, with the scanner and the rate."""
    table = Table(tmp_path, duties=WATCHING).ready()
    reject(table, 2)
    assert [] == data(table, "alarm_raised")
    reject(table, 1)
    assert ["scan_rejected", "alarm_raised"] == table.types()[-2:]
    detail = "scanner shoe: 3 of its last 3 reads rejected, more than 1 in 10"
    assert {"alarm": "reject_rate", "scanner": "shoe", "detail": detail} == data(table, "alarm_raised")[0]
    assert ["reject_rate"] == alarms(table)


def test_reject_rate_goes_on_over_restarts(tmp_path: Path) -> None:
    """The alarm and the counts survive the process; with enough good reads it is cleared."""
    table = Table(tmp_path, duties=WATCHING, rules=Rules(max_attempts=0)).ready()
    reject(table, 3)
    for number in range(2):
        table.crash()
        table = Table(tmp_path, clock=table.clock, duties=WATCHING, rules=Rules(max_attempts=0)).ready()
        assert [] == data(table, "alarm_cleared")
        table.command("open", id=f"again-{number}")
        table.deal(*SIX)
        table.pass_time(SECOND)
    assert ["reject_rate"] == alarms(table)
    table.command("open", id="last")
    table.deal(*SIX[:5])
    assert [] == data(table, "alarm_cleared")
    table.deal(SIX[5])
    assert [{"alarm": "reject_rate", "scanner": "shoe", "detail": None}] == data(table, "alarm_cleared")


def test_reject_rate_that_was_not_written_is_not_counted(tmp_path: Path) -> None:
    """Rejections that a failed write took back count for nothing."""
    table = Table(tmp_path, duties=WATCHING).ready()
    reject(table, 1)
    table.fail()
    reject(table, 2)
    table.mend()
    table.pass_time(3 * SECOND)
    reject(table, 1)
    assert [] == data(table, "alarm_raised")
    reject(table, 1)
    assert ["reject_rate"] == [one["alarm"] for one in data(table, "alarm_raised")]


@pytest.mark.parametrize("scanners", ["shoe", "spare"])
def test_reject_rate_that_nobody_watches_ends(tmp_path: Path, scanners: str) -> None:
    """With the alarm switched off, or its scanner taken out of the configuration, a start clears it."""
    table = Table(tmp_path, duties=WATCHING).ready()
    reject(table, 3)
    table.crash()
    duties = WATCHING if scanners == "spare" else Duties()
    table = Table(tmp_path, clock=table.clock, duties=duties, scanners=scanners).ready()
    assert ["reject_rate"] == [one["alarm"] for one in data(table, "alarm_cleared")]


def test_events_are_signed_with_the_key(tmp_path: Path) -> None:
    """With a key each event has its signature over its hash, in the journal and so on the wire."""
    table = Table(tmp_path, duties=Duties(sign=lambda digest: digest[::-1])).ready()
    assert [str(event["hash"])[::-1] for event in table.events()] == [event["sig"] for event in table.events()]
    assert verify(tmp_path).sound


def test_journal_that_fails_with_a_long_log_is_one_alarm(tmp_path: Path) -> None:
    """Of a long log and a journal that can't be written the status tells the latter alone."""
    table = Table(tmp_path).ready("open")
    os.truncate(tmp_path / "journal.db-wal", LONG_LOG)
    table.deal("AS")
    table.fail()
    table.deal("KH")
    assert ["storage"] == alarms(table)
    assert "the disk is full" in json.dumps(table.speaker.last("status"))
