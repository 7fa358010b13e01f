"""The retained topics: what is in them, and that they are sent when they changed and not otherwise."""

from __future__ import annotations

import json

from scannerd import games
from scannerd.bulletin import Bulletin, Fault, Identity, Machine, Outbox, status
from scannerd.core.cards import Card
from scannerd.core.prompts import Prompt
from scannerd.core.state import Alarm, Dealt, Round, Rules, Setup, State
from scannerd.notebook import Digests
from scannerd.recall import Offset
from scannerd.texts import texts
from tests.fakes import NOON, SECOND, TABLE, FakeSpeaker

PLAN = games.load("teen-patti-20-20")
IDENTITY = Identity("session-1", "1.0", PLAN.game, "journal-1", "digest-1", ("shoe", "spare"))
STATE = State(Setup(TABLE, PLAN, Rules(), ("shoe", "spare")))
UP = STATE._replace(scanners={"shoe": "up", "spare": "up"})
NOW = Offset(NOON - 100 * SECOND, 100 * SECOND)


def bulletin() -> tuple[Bulletin, FakeSpeaker]:
    """One that has shown nothing."""
    speaker = FakeSpeaker()
    return Bulletin(IDENTITY, texts("en"), speaker.show), speaker


def dealing(*cards: str) -> State:
    """A round in which these cards lie."""
    slots = dict(zip(PLAN.names, cards, strict=False))
    lying = {slot: Dealt(slot, Card(card), "shoe", 0) for slot, card in slots.items()}
    return STATE._replace(phase="dealing", round=Round("tp-01/1", 0, cards=lying))


def test_prompt_is_shown_once() -> None:
    """A prompt is sent when it is another one, with its sentence and since when it stands."""
    board, speaker = bulletin()
    told = [board.prompt(Prompt("deal", "B2", "B", 2, None, 1), NOON + n * SECOND) for n in range(3)]
    assert [True, False, False] == told
    assert [
        {
            "code": "deal",
            "slot": "B2",
            "hand": "B",
            "index": 2,
            "reason": None,
            "attempt": 1,
            "conflict_slot": None,
            "text": texts("en").sentence(Prompt("deal", "B2", "B", 2, None, 1)),
            "since": "2026-11-30T12:00:00.000000Z",
        }
    ] == speaker.all("prompt")


def test_round_is_shown_when_it_changed() -> None:
    """The round is sent when something in it is different; a new number alone is no change."""
    board, speaker = bulletin()
    board.round(STATE, 1)
    board.round(STATE, 2)
    board.round(dealing("AS", "KH"), 5)
    empty: dict[str, object] = {
        "round": None,
        "phase": "idle",
        "plan": ["A1", "B1", "A2", "B2", "A3", "B3"],
        "cards": {},
        "due": None,
        "attempt": None,
        "seq": 1,
    }
    dealt = {**empty, "round": "tp-01/1", "phase": "dealing", "cards": {"A1": "AS", "B1": "KH"}, "due": "A2"}
    assert [empty, {**dealt, "attempt": 1, "seq": 5}] == speaker.all("round")


def test_status_tells_who_and_how() -> None:
    """The status names this process, each configured scanner, what waits, the alarms and the clock."""
    state = UP._replace(
        scanners={"shoe": "up", "spare": None, "gone": "up"},
        alarms={("scanner_error", "shoe"): Alarm(99 * SECOND, "jam"), ("denied", None): Alarm(100 * SECOND, None)},
    )
    told = json.loads(status(IDENTITY, state, NOW, Machine(Outbox(3, "then"), None, synchronised=False)))
    assert {
        "state": "degraded",
        "session": "session-1",
        "version": "1.0",
        "contract": "1.0",
        "game": "teen-patti-20-20",
        "scanners": {"shoe": "up", "spare": "down"},
        "outbox": {"depth": 3, "oldest_at": "then"},
        "alarms": [
            {"alarm": "scanner_error", "scanner": "shoe", "since": "2026-11-30T11:59:59.000000Z", "detail": "jam"},
            {"alarm": "denied", "scanner": None, "since": "2026-11-30T12:00:00.000000Z", "detail": None},
        ],
        "journal": "journal-1",
        "config_digest": "digest-1",
        "clock": {"synchronised": False},
        "self_check": None,
        "display": None,
    } == told


def test_status_tells_what_the_daemon_runs_on() -> None:
    """With a self-check the status has its digests and its time."""
    found = ("2026-11-30T12:00:00.000000Z", Digests("c" * 64, None, {"shoe": "b" * 64}))
    told = json.loads(status(IDENTITY, UP, NOW, Machine(checked=found)))
    assert {
        "at": "2026-11-30T12:00:00.000000Z",
        "code_digest": "c" * 64,
        "config_digest": None,
        "codebooks": {"shoe": "b" * 64},
    } == told["self_check"]


def test_state_of_the_status() -> None:
    """It is `online` when nothing is wrong, `degraded` with an alarm or a scanner down, `offline` at the end."""
    fault = Machine(fault=Fault("full", 100 * SECOND))
    cases = [(UP, Machine(), False), (STATE, Machine(), False), (UP, fault, False), (UP, Machine(), True)]
    told = [json.loads(status(IDENTITY, state, NOW, machine, offline=off))["state"] for state, machine, off in cases]
    assert ["online", "degraded", "degraded", "offline"] == told


def test_status_is_shown_at_each_change() -> None:
    """Another scanner, alarm, outbox, fault or clock sends the status; the same again does not."""
    board, speaker = bulletin()
    changes = [
        (UP, Machine()),
        (STATE, Machine()),
        (UP, Machine(Outbox(1, "then"))),
        (UP, Machine(fault=Fault("full", 0))),
        (UP, Machine(synchronised=True)),
        (UP._replace(alarms={("denied", None): Alarm(0, None)}), Machine()),
    ]
    for state, machine in changes:
        board.status(state, NOW, machine)
        board.status(state._replace(rounds=7), NOW, machine)
        assert machine == board.machine
    assert len(changes) == len(speaker.all("status"))


def test_all_are_shown_anew() -> None:
    """What was asked for anew is sent though nothing changed; what was never shown is not made up."""
    board, speaker = bulletin()
    board.anew(STATE, 1)
    assert ["round"] == [topic for topic, _ in speaker.said]
    board.prompt(Prompt("wait"), NOON)
    board.status(UP, NOW, Machine())
    board.anew(STATE, 9)
    assert ["prompt", "round", "status"] == [topic for topic, _ in speaker.said[-3:]]
    assert 9 == speaker.last("round")["seq"]
