"""A recording played: times of decoders and of the deal, links, commands, alarms, and what is printed."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scannerd.channel import Channel
from scannerd.contract import BadFrame, CardRead, Micros, Reading, Reply
from scannerd.core.cards import Card
from scannerd.core.decisions import AlarmRaised, RoundCompleted
from scannerd.core.events import Deadline
from scannerd.core.state import Rules, Setup, State
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, Replay, Taken, event_lines, lines, seconds
from scannerd.registry import Registry
from scannerd.scanlog import Broker, Chunk, End, Entry, Link, Order, ScanlogError, ScanlogReader, Sent
from tests.core_table import TWO_SLOTS, gist

RECORDED_AT = datetime(2026, 11, 30, 2, 45, tzinfo=UTC)


@dataclass
class Scripted:
    """A decoder that reads `AS` as a card, `?` as the beginning of a frame that times out a second later."""

    deadline: Micros | None = None
    pending: bytes = b""
    stuck: bool = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """A chunk is a card's name, a half frame, or a request for an answer."""
        if chunk == b"?":
            self.deadline, self.pending = t + 1_000_000, chunk
            return []
        return [CardRead(chunk.decode(), None, chunk), Reply(b"ok")]

    def tick(self, t: Micros) -> list[Reading]:
        """The half frame is given up; one that is stuck never ends its time."""
        del t
        if not self.stuck:
            self.deadline, self.pending = None, b""
        return [BadFrame("partial", b"?"), Reply(b"no")]

    def finish(self, t: Micros) -> list[Reading]:
        """Nothing is told of a half frame."""
        del t
        return []


@dataclass
class ScriptedDriver:
    """Makes `Scripted` decoders."""

    reports = False

    stuck: bool = False

    def decoder(self, t: Micros) -> Scripted:
        """A fresh one."""
        del t
        return Scripted(stuck=self.stuck)


class Names:
    """A codebook in which each card is its own code."""

    def lookup(self, code: str) -> Card | None:
        """Every two characters are a card."""
        return Card(code) if len(code) == 2 else None


class Played:
    """A table of two slots with the scanners `a` and `b`, played at once."""

    def __init__(self, *entries: Entry, rules: Rules | None = None, stuck: bool = False) -> None:
        setup = Setup("tp-01", TWO_SLOTS, rules or Rules(start="auto"), ("a", "b"))
        channels = {name: Channel(name, ScriptedDriver(stuck), Names(), None, 0) for name in ("a", "b")}
        self.warnings: list[str] = []
        self.replay = Replay(setup, channels, RECORDED_AT, self.warnings.append)
        self.taken = list(self.replay.play(iter(entries)))

    @property
    def told(self) -> list[str]:
        """All decisions with their times in seconds."""
        return [f"{one.at / 1_000_000:g} {gist(one)}" for taken in self.taken for one in taken.told]


def chunk(t: float, data: str, scanner: str = "a", *, stale: bool = False) -> Chunk:
    """Bytes at a time in seconds."""
    return Chunk(round(t * 1_000_000), scanner, data.encode(), stale)


def order(t: float, name: str, **args: object) -> Order:
    """A command at a time in seconds."""
    return Order(round(t * 1_000_000), name, args)


def end(t: float) -> End:
    """The last moment in seconds."""
    return End(round(t * 1_000_000))


# --- time ------------------------------------------------------------------------------------------------------


def test_virtual_time_runs_to_the_last_entry() -> None:
    """Deadlines up to the last `t` are decided, and none after it."""
    cards = (chunk(1, "AS"), chunk(2, "KH"))
    assert "2.15 completed at 2150" == Played(*cards, end(2.15)).told[-1]
    assert "2 accepted B1 KH try 1" == Played(*cards, end(2.149)).told[-1]
    assert "2 accepted B1 KH try 1" == Played(*cards).told[-1]


def test_an_empty_recording_tells_nothing() -> None:
    """Without entries nothing is decided."""
    assert [] == Played().told


def test_a_decoders_time_out_is_decided_at_its_own_time() -> None:
    """A half frame is told when its time is over, not at the next entry."""
    played = Played(order(0, "open", id="c1"), chunk(1, "?"), end(9))
    assert ["0 opened tp-01/1", "2 rejected bad_frame A1 try 1"] == played.told


def test_a_decoders_time_out_at_the_last_moment_is_decided() -> None:
    """A time-out at the last `t` itself is within the recording; one just after it is not."""
    assert ["0 opened tp-01/1", "2 rejected bad_frame A1 try 1"] == Played(
        order(0, "open", id="c1"), chunk(1, "?"), end(2)
    ).told
    assert ["0 opened tp-01/1"] == Played(order(0, "open", id="c1"), chunk(1, "?"), end(1.999)).told


def test_time_outs_of_several_decoders_come_in_the_order_of_their_times() -> None:
    """Whichever scanner stands first, the earlier time-out is told first, and those of one time in their order."""
    played = Played(chunk(1, "?", "b"), chunk(1.5, "?", "a"), end(9))
    assert ["b", "a"] == [event.event.scanner for event in played.taken if hasattr(event.event, "scanner")]
    played = Played(chunk(1, "?", "b"), chunk(1, "?", "a"), end(9))
    assert ["a", "b"] == [event.event.scanner for event in played.taken if hasattr(event.event, "scanner")]


def test_a_deadline_of_the_deal_stands_for_itself() -> None:
    """What was due before an entry was decided on the deadline, and is not laid to what came later."""
    played = Played(chunk(1, "AS"), chunk(2, "KH"), chunk(9, "QD"))
    completed = next(taken for taken in played.taken if isinstance(taken.told[0], RoundCompleted))
    assert Deadline(completed.at) == completed.event


def test_deadlines_of_decoders_and_of_the_deal_are_decided_in_the_order_of_their_times() -> None:
    """A completion before a time-out is told before it, one after it after it, and one at its time first."""
    cards = (chunk(1, "AS"), chunk(2, "KH"))
    later = Played(*cards, chunk(2.05, "?", "b"), end(9)).told
    assert ["2.15 completed at 2150", "3.05 rejected bad_frame"] == later[-2:]
    slow = Rules(start="auto", min_gap_ms=2_000)
    earlier = Played(chunk(1, "AS"), chunk(3, "KH"), chunk(3.05, "?", "b"), end(9), rules=slow).told
    assert ["4.05 rejected bad_frame", "5 completed at 5000"] == earlier[-2:]
    same = Rules(start="auto", min_gap_ms=1_000)
    together = Played(chunk(1, "AS"), chunk(3, "KH"), chunk(3, "?", "b"), end(9), rules=same).told
    assert ["4 completed at 4000", "4 rejected bad_frame"] == together[-2:]


def test_what_is_recorded_at_a_deadline_comes_after_it() -> None:
    """A deadline at the time of an entry is decided first."""
    played = Played(chunk(1, "AS"), chunk(2, "KH"), order(2.15, "void", id="c1"))
    assert ["2.15 completed at 2150", "2.15 voided complete"] == played.told[-2:]


def test_a_decoder_that_does_not_move_on_holds_nothing_up() -> None:
    """A time-out that a faulty decoder goes on naming is asked for once before each entry."""
    played = Played(order(0, "open", id="c1"), chunk(1, "?"), end(3), end(4), stuck=True)
    assert "2 rejected bad_frame A1 try 1" == played.told[1]


def test_the_same_recording_gives_the_same_decisions() -> None:
    """Nothing in a replay looks at a clock."""
    entries = (chunk(1, "AS"), chunk(1.01, "KH"), chunk(1.5, "?", "b"), order(5, "void", id="c1"), end(9))
    assert Played(*entries).taken == Played(*entries).taken


# --- links -----------------------------------------------------------------------------------------------------


def test_every_scanner_and_the_broker_are_up_at_the_start() -> None:
    """No event says so, and an `up` of what is up gives none."""
    played = Played(Link(1, "a", up=True), Broker(2, up=True))
    assert [] == played.told
    assert {"a": "up", "b": "up"} == dict(played.replay.state.scanners)


def test_a_link_that_changes_nothing_resets_nothing() -> None:
    """A half frame outlives an `up` of a scanner that is up, and a second `down` gives no event."""
    played = Played(chunk(1, "?"), Link(1_500_000, "a", up=True), end(3))
    assert ["2 rejected bad_frame"] == played.told
    twice = Played(Link(1, "a", up=False, detail="EIO"), Link(2, "a", up=False, detail="ENOENT"), Link(3, "a", up=True))
    assert ["ScannerDown", "ScannerUp"] == [word.split()[1] for word in twice.told]


def test_a_loss_drops_a_half_frame_and_names_it() -> None:
    """What was half read is no failed read, and `scanner_down` says what it was."""
    played = Played(chunk(1, "?"), Link(1_500_000, "a", up=False, detail="EIO"), Link(1_600_000, "a", up=True), end(9))
    assert ["ScannerDown", "ScannerUp"] == [word.split()[1] for word in played.told]
    (line,) = event_lines(played.taken[0])
    assert {"scanner": "a", "detail": "EIO; half frame dropped: 3f"} == line["data"]


def test_bytes_while_a_scanner_is_down_are_ignored_with_a_warning() -> None:
    """What can't have come from a lost device is named and left out; the other scanner reads on."""
    played = Played(Link(1, "a", up=False), chunk(1.5, "AS"), chunk(2, "KH", "b"), Link(3_000_000, "a", up=True))
    assert "2 accepted A1 KH try 1" == played.told[-2]
    assert ["t 1.5: bytes of a while it is down are ignored"] == played.warnings


def test_the_broker_decides_what_may_be_opened() -> None:
    """With the broker away no card opens a round."""
    played = Played(Broker(1, up=False), chunk(1, "AS"), Broker(2_000_000, up=True), chunk(3, "AS"))
    assert ["1e-06 BrokerSwitched", "1 rejected offline", "2 BrokerSwitched"] == played.told[:3]
    assert "3 accepted A1 AS try 1" == played.told[-1]


def test_stale_bytes_are_stale() -> None:
    """An entry that was read late gives stale readings."""
    assert ["1 rejected stale"] == Played(chunk(1, "AS", stale=True)).told


def test_what_was_sent_to_a_device_is_a_note() -> None:
    """Bytes to a device, and replies that a decoder asks for, decide nothing."""
    assert [] == Played(Sent(1, "a", b"ok")).told


# --- commands --------------------------------------------------------------------------------------------------


def test_a_command_is_carried_out_at_its_time() -> None:
    """A recorded command does what it did."""
    played = Played(order(1, "open", id="c1", round="r-1", by="eva"), order(2, "void", id="c2", reason="misdeal"))
    assert ["1 opened r-1", "2 voided dealing"] == played.told


def test_a_repeated_id_does_nothing_again() -> None:
    """The id alone decides, whatever the name, and whether the first was carried out or refused."""
    played = Played(order(1, "open", id="c1"), order(2, "void", id="c1"), order(3, "shuffle", id="c2"))
    assert ["1 opened tp-01/1"] == played.told
    again = Played(order(1, "shuffle", id="c1"), order(2, "open", id="c1"))
    assert [] == again.told


@pytest.mark.parametrize("args", [{}, {"id": ""}, {"id": 7}, {"id": "c1", "by": 7}, {"id": "c1", "expires": "soon"}])
def test_a_command_that_is_not_well_formed_does_nothing(args: dict[str, object]) -> None:
    """Without an id, or with a wrong field, a command is answered and no event."""
    assert [] == Played(Order(1, "open", args)).told


@pytest.mark.parametrize(
    ("expires", "told"), [("2026-11-30T02:45:10Z", []), ("2026-11-30T02:45:10.001Z", ["10 opened r"])]
)
def test_a_command_expires_by_the_recorded_clock(expires: str, told: list[str]) -> None:
    """The wall clock of a replay is `recorded_at` and the entry's time."""
    assert told == Played(order(10, "open", id="c1", round="r", expires=expires)).told


def test_commands_that_change_nothing_are_passed_over() -> None:
    """`resend` and `snapshot` concern the wire and decide nothing."""
    assert [] == Played(order(1, "resend", id="c1", **{"from": 1}), order(2, "snapshot", id="c2")).told


def test_a_refused_command_is_no_event() -> None:
    """What the deal refuses is decided, and printed nowhere."""
    played = Played(order(1, "release", id="c1"))
    assert ["1 refused not_held"] == played.told
    assert [] == [line for taken in played.taken for line in event_lines(taken)]


# --- what is printed --------------------------------------------------------------------------------------------


def test_alarms_that_do_not_follow_from_a_recording_are_not_printed() -> None:
    """Of alarms only `stalled` and `scanner_error` are shown."""
    state = State(Setup("tp-01", TWO_SLOTS, Rules(), ("a",)))
    told = tuple(AlarmRaised(1, alarm, None, None) for alarm in ("network", "stalled", "scanner_error", "storage"))
    shown = event_lines(Taken(1, Deadline(1), told, state, state))
    assert ["stalled", "scanner_error"] == [json.loads(json.dumps(line))["data"]["alarm"] for line in shown]


@pytest.mark.parametrize(
    ("micros", "printed"),
    [
        (0, "0"),
        (1_000_000, "1"),
        (1_500_000, "1.5"),
        (2_080_000, "2.08"),
        (1_234_567, "1.235"),
        (999, "0.001"),
        (400, "0"),
    ],
)
def test_times_are_printed_in_whole_milliseconds(micros: int, printed: str) -> None:
    """`t` has up to three decimals, and none where it is whole."""
    assert printed == json.dumps(seconds(micros))


RECORDING = """\
{"scanlog":1,"table":"tp-01","game":"teen-patti-20-20","recorded_at":"2026-11-30T02:45:00Z","round":{"start":"auto"},\
"scanners":{"desk":{"driver":"line"}}}
{"t":1,"scanner":"desk","rx":"AS\\r\\n"}
{"t":2,"scanner":"desk","rx":"K"}
"""


def printed(text: str, *, prompts: bool = False) -> list[Line]:
    """What is printed of a recording, as read back from JSON."""
    reader = ScanlogReader(io.BytesIO(text.encode()), "f", print)
    replay = replay_of(reader.header, Path("f.scanlog"), Registry(), print)
    return [json.loads(json.dumps(line)) for line in lines(replay, iter(reader), prompts=prompts)]


def test_events_are_printed_with_their_time_type_round_and_data() -> None:
    """A line holds what the event on the wire holds, without the parts that a journal adds."""
    told = printed(RECORDING)
    assert [["t", "type", "round", "data"]] * 2 == [list(line) for line in told]
    plan = ["A1", "B1", "A2", "B2", "A3", "B3"]
    data = {"game": "teen-patti-20-20", "plan": plan, "by": "auto"}
    assert {"t": 1, "type": "round_opened", "round": "tp-01/1", "data": data} == told[0]


def test_prompts_are_printed_on_request() -> None:
    """With `prompts` the prompt at 0 and each change stand among the events."""
    told = printed(RECORDING, prompts=True)
    assert ["prompt", "type", "type", "prompt"] == ["type" if "type" in line else "prompt" for line in told]
    deal = {"code": "deal", "slot": "B1", "hand": "B", "index": 1, "reason": None, "attempt": 1, "conflict_slot": None}
    assert {"t": 1, "prompt": deal} == told[-1]


@pytest.mark.parametrize(
    ("scanner", "why"),
    [
        ({}, "scanner desk: driver is required"),
        ({"driver": 7}, "scanner desk: driver is required"),
        ({"driver": "lime"}, "no driver 'lime'"),
        ({"driver": "line", "colour": "red"}, "scanner desk: colour: "),
        ({"driver": "line", "codes": 7}, "scanner desk: codes is required"),
        ({"driver": "rfid-serial"}, "scanner desk: codes is required"),
        ({"driver": "line", "codes": "nowhere.toml"}, "nowhere.toml"),
        ({"driver": "line", "hand": "C"}, "scanner desk: hand is A or B, not 'C'"),
    ],
)
def test_a_header_that_describes_no_table_is_refused(scanner: dict[str, object], why: str) -> None:
    """A driver, option, codebook or hand that can't be used is named with file and line 1."""
    header = json.loads(RECORDING.splitlines()[0]) | {"scanners": {"desk": scanner}}
    with pytest.raises(ScanlogError) as caught:
        printed(json.dumps(header) + "\n")
    assert caught.value.line.startswith("f.scanlog:1: ")
    assert why in caught.value.line


def test_a_game_that_is_not_there_is_refused() -> None:
    """A header's game must be at hand."""
    header = json.loads(RECORDING.splitlines()[0]) | {"game": "whist"}
    with pytest.raises(ScanlogError, match=r"f\.scanlog:1: expected a game"):
        printed(json.dumps(header) + "\n")


def test_a_hand_may_be_given_in_the_header() -> None:
    """A reader of one hand, as in a configuration, refuses the other's slot."""
    header = json.loads(RECORDING.splitlines()[0]) | {"scanners": {"desk": {"driver": "line", "hand": "B"}}}
    told = printed("\n".join([json.dumps(header), *RECORDING.splitlines()[1:]]))
    data = told[1]["data"]
    assert isinstance(data, dict)
    assert "wrong_hand" == data["reason"]
