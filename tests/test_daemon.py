"""The daemon as a process: bytes into a terminal on one side, messages out of a real broker on the other."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from scannerd.canonical import FIRST_PREV, seal
from scannerd.journal import verify
from scannerd.signing import make_pair, prover
from tests.daemon import PREFIX, Daemon, StartDaemon, Watcher, let_pass, start_daemon_fixture
from tests.fakes import SIX
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

QUICK = 'start = "auto"\nmin_gap_ms = 0\nround_gap_ms = 0\nbounce_ms = 0'
"""A shoe that deals as fast as it can."""


def begin(daemon: Daemon, watcher: Watcher) -> None:
    """Starts the daemon, and returns when its scanner is up and the broker knows."""
    daemon.start()
    watcher.wait_for_shown("status", state="online", scanners={"shoe": "up"})


def chain(events: list[dict[str, object]]) -> None:
    """Each event is the one that was sealed, and follows the one before it without a gap."""
    assert list(range(1, len(events) + 1)) == [event["seq"] for event in events]
    prev: object = FIRST_PREV
    for event in events:
        assert prev == event["prev"]
        prev = event["hash"]
        assert prev == seal({key: value for key, value in event.items() if key != "hash"})[0]


@pytest.mark.parametrize("protocol", [5, 4])
def test_six_cards_are_a_round(broker: Mosquitto, start_daemon: StartDaemon, protocol: int) -> None:
    """Six cards through a terminal reach a subscriber as a round, each event on the topic of its type."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    daemon.config.write_text(daemon.config.read_text().replace("[mqtt]", f"[mqtt]\nprotocol = {protocol}"))
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        for number, card in enumerate(SIX, 1):
            daemon.send(card)
            watcher.wait_for_event("card_accepted", number)
        completed = watcher.wait_for_event("round_completed")
        assert {"A": ["AS", "9D", "7S"], "B": ["KH", "2C", "QH"]} == completed["data"]["cards"]  # type: ignore[index]  # JSON
        expected = ["daemon_started", "scanner_up", "round_opened", *["card_accepted"] * 6, "round_completed"]
        assert expected == [event["type"] for event in watcher.events()]
        assert [f"{PREFIX}/event/{kind}" for kind in expected] == [one.topic for one in watcher.on(f"{PREFIX}/event/")]
        chain(watcher.events())
        round_shown = watcher.wait_for_shown("round", phase="complete")
        assert dict(zip(("A1", "B1", "A2", "B2", "A3", "B3"), SIX, strict=True)) == round_shown["cards"]
        watcher.wait_for_shown("prompt", code="complete")
        watcher.wait_for_shown("status", outbox={"depth": 0, "oldest_at": None})


def test_retained_topics_wait_for_who_comes_late(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Whoever subscribes in mid-round finds round, prompt and status on the broker."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS")
        watcher.wait_for_shown("prompt", code="deal", slot="B1")
        watcher.wait_for_shown("round", due="B1")
    with Watcher(broker.port) as late:
        late.wait_for_shown("prompt", code="deal", slot="B1", hand="B", index=1, attempt=1)
        late.wait_for_shown("round", phase="dealing", cards={"A1": "AS"}, due="B1")
        late.wait_for_shown("status", state="online", contract="1.0", game="teen-patti-20-20")
        assert {True} == {message.retain for message in late.messages}


def test_commands_are_answered(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Every command is carried out and answered with the number of its last event, or refused with a word."""
    daemon = start_daemon(broker.url, 'start = "command"\nmin_gap_ms = 0', start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        assert (True, 3) == _verdict(watcher.command("open", round="r-1", by="engine"))
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
        assert (True, 5) == _verdict(watcher.command("rescan", slot="A1"))
        assert (True, 6) == _verdict(watcher.command("hold", reason="torn card"))
        assert (True, 7) == _verdict(watcher.command("release"))
        entered = watcher.command("enter", slot="A1", card="TD", by="sup", reason="torn")
        assert (True, 8) == _verdict(entered)
        assert (True, 9) == _verdict(watcher.command("void", by="sup"))
        assert (False, "no_round") == _verdict(watcher.command("void"))
        assert (False, "bad_round_id") == _verdict(watcher.command("open", round="r-1"))
        assert (False, "unknown_command") == _verdict(watcher.command("shuffle"))
        expected = ["round_opened", "card_accepted", "card_withdrawn", "round_held", "round_released", "card_accepted"]
        watcher.wait_for_event("round_voided")
        assert [*expected, "round_voided"] == [event["type"] for event in watcher.events()][2:]


def test_resend_and_snapshot(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A resend brings the same bytes again and then its reply; a snapshot shows all anew and then replies."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send(*SIX)
        watcher.wait_for_event("round_completed")
        assert (True, None) == _verdict(watcher.command("resend", id="again", **{"from": 3, "to": 9}))
        assert [one.payload for one in watcher.on(f"{PREFIX}/event/")[2:9]] == [one.payload for one in watcher.resent()]
        assert f"{PREFIX}/reply" == watcher.messages[-1].topic
        assert (False, "bad_range") == _verdict(watcher.command("resend", **{"from": 3, "to": 11}))
        mark = len(watcher.messages)
        assert (True, None) == _verdict(watcher.command("snapshot"))
        topics = [message.topic.rpartition("/")[2] for message in watcher.messages[mark:]]
        assert {"prompt", "round", "status", "snapshot", "reply"} == set(topics)
        assert "reply" == topics[-1]


def test_command_that_comes_twice_is_done_once(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A repeated id gets its first reply and does nothing, after a restart too, and whatever its name is then."""
    daemon = start_daemon(broker.url, "", start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        first = watcher.command("open", id="once")
        assert first == watcher.command("open", id="once")
        daemon.kill()
        begin(daemon, watcher)
        watcher.wait_for_event("daemon_started", 2)
        assert first == watcher.command("void", id="once")
        assert 1 == len(watcher.events("round_opened"))
        assert [] == watcher.events("round_voided")


def test_bad_commands_are_refused(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """What is malformed, oversized or too late is refused with its word, and the daemon goes on."""
    daemon = start_daemon(broker.url, "", start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        big = json.dumps({"id": "big", "reason": "x" * 70_000}).encode()
        for payload, error in (
            (b"{", "malformed"),
            (b"\xff\x00", "malformed"),
            (big, "malformed"),
            (b'{"id":5}', "bad_id"),
            (b'{"id":"late","expires":"2020-01-01T00:00:00Z"}', "expired"),
        ):
            assert (False, error) == _verdict(watcher.raw_command("open", payload))
        assert (True, 3) == _verdict(watcher.command("open"))


def test_answer_goes_to_the_topic_that_was_named(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Under MQTT 5 the reply goes to the response topic with the correlation data, and not to the table's own."""
    daemon = start_daemon(broker.url, "", start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        answer_to = f"{PREFIX}/reply/engine"
        watcher.publish(f"{PREFIX}/command/open", b'{"id":"c1"}', response_topic=answer_to, correlation=b"\x07")
        watcher.wait(lambda: bool(watcher.on(answer_to)))
        assert (b"\x07", True) == (watcher.on(answer_to)[0].correlation, watcher.on(answer_to)[0].json()["ok"])
        assert [] == watcher.on(f"{PREFIX}/reply")


def test_retained_command_is_refused_with_an_alarm(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A command that was retained before the daemon came is refused and alarmed, and never carried out."""
    daemon = start_daemon(broker.url, "", start=False)
    with Watcher(broker.port) as watcher:
        watcher.publish(f"{PREFIX}/command/open", b'{"id":"old"}', retain=True)
        daemon.start()
        watcher.wait_for_alarm("retained_command")
        watcher.wait(lambda: bool(watcher.on(f"{PREFIX}/reply")))
        assert (False, "retained") == _verdict(watcher.on(f"{PREFIX}/reply")[0].json())
        assert [] == watcher.events("round_opened")


def test_orderly_end(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """SIGTERM ends the daemon with 0: its end is told, the status is offline, and the journal is whole."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send(*SIX[:3])
        watcher.wait_for_event("card_accepted", 3)
        daemon.signal(signal.SIGTERM)
        assert 0 == daemon.process.wait(2)
        watcher.wait_for_shown("status", state="offline")
        assert {"reason": "SIGTERM"} == watcher.wait_for_event("daemon_stopped")["data"]
        chain(watcher.events())
    assert not Path(f"{daemon.journal}-wal").exists()
    told = daemon.run("journal", "verify")
    assert (0, "") == (told.returncode, told.stderr)


@pytest.mark.fault(74)
def test_end_with_a_broker_that_stands_still(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """SIGTERM ends the daemon within 2 s though the broker acknowledges nothing; what waited goes out later."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        broker.pause()
        daemon.send(*SIX)
        daemon.signal(signal.SIGTERM)
        assert 0 == daemon.process.wait(2)
        broker.resume()
        watcher.wait_for_shown("status", state="offline")
        begin(daemon, watcher)
        watcher.wait_for_event("daemon_started", 2)
        seqs = [event["seq"] for event in watcher.events()]
        assert set(range(1, max(int(str(seq)) for seq in seqs) + 1)) == set(seqs)


def test_end_without_a_broker_is_at_once(start_daemon: StartDaemon) -> None:
    """SIGTERM, and Ctrl-C too, end a daemon that never had a broker."""
    daemon = start_daemon("mqtt://127.0.0.1:1")
    daemon.signal(signal.SIGINT)
    assert 0 == daemon.process.wait(2)
    assert verify(daemon.state_dir).sound


@pytest.mark.fault(5)
@pytest.mark.fault(83)
def test_second_instance_is_refused(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A second instance of a table ends with 3 and one line, and the first loses no card over it."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS")
        second = daemon.run("run")
        daemon.send("KH")
        assert 3 == second.returncode
        assert 1 == len(second.stderr.splitlines())
        assert str(daemon.process.pid) in second.stderr
        watcher.wait_for_event("card_accepted", 2)
        assert ["AS", "KH"] == [data["card"] for data in watcher.data("card_accepted")]


def test_damaged_journal_is_refused(start_daemon: StartDaemon) -> None:
    """A damaged journal ends the start with 4 and one line, and is left as it is."""
    daemon = start_daemon("mqtt://127.0.0.1:1")
    assert 0 == daemon.stop()
    content = daemon.journal.read_bytes()
    harmed = content.replace(b'"daemon_started"', b'"daemon_startes"')
    assert content != harmed
    daemon.journal.write_bytes(harmed)
    told = daemon.run("run")
    assert (4, 1) == (told.returncode, len(told.stderr.splitlines()))
    assert "damaged" in told.stderr
    assert harmed == daemon.journal.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [('driver = "line"', 'driver = "lime"'), ("[round]", "[rounds]"), ("state_dir = ", 'state_dir = "/dev/null/x" # ')],
)
def test_bad_configuration_is_refused(start_daemon: StartDaemon, old: str, new: str) -> None:
    """A configuration that can't be used ends the start with 2 and one line that names it."""
    daemon = start_daemon("mqtt://127.0.0.1:1", start=False)
    daemon.config.write_text(daemon.config.read_text().replace(old, new))
    told = daemon.run("run")
    assert (2, 1) == (told.returncode, len(told.stderr.splitlines())), told.stderr
    assert str(daemon.config) in told.stderr


@pytest.mark.fault(73)
def test_broker_that_comes_later(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """Without a broker no round opens; what was told meanwhile goes out once, in order, when it comes."""
    broker = start_broker()
    broker.kill()
    daemon = start_daemon(broker.url, QUICK)
    daemon.wait_for_journal("scanner_up")
    daemon.send("AS")
    daemon.wait_for_beeps(b"-", 1)
    broker.start()
    with Watcher(broker.port) as watcher:
        watcher.wait_for_event("scan_rejected")
        watcher.wait_for_shown("prompt", code="wait")
        daemon.send("KH")
        watcher.wait_for_event("card_accepted")
        assert ["offline"] == [data["reason"] for data in watcher.data("scan_rejected")]
        numbers = [event["seq"] for event in watcher.events()]
        assert sorted(set(map(str, numbers)), key=int) == list(map(str, numbers))


@pytest.mark.fault(76)
def test_broker_that_goes_in_mid_round(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """A round in the deal is dealt to its end without the broker, a new one is refused, and all goes out after."""
    broker = start_broker(persistence=True)
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port, session=True) as watcher:
        begin(daemon, watcher)
        daemon.send(*SIX[:2])
        watcher.wait_for_event("card_accepted", 2)
        broker.stop()
        daemon.wait_for_journal("alarm_raised")
        daemon.send(*SIX[2:])
        daemon.wait_for_beeps(b"+", 6)
        daemon.send("5C")
        daemon.wait_for_beeps(b"-", 1)
        broker.start()
        watcher.wait_for_event("scan_rejected")
        chain(watcher.events())
        assert [*SIX] == [data["card"] for data in watcher.data("card_accepted")]
        assert ["offline"] == [data["reason"] for data in watcher.data("scan_rejected")]


@pytest.mark.fault(84)
def test_broker_that_forgets_everything(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """After a restart of a broker that keeps nothing, the retained topics are there again, and dealing goes on."""
    broker = start_broker()
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
    broker.restart(kill=True)
    with Watcher(broker.port) as watcher:
        watcher.wait_for_shown("status", state="online")
        watcher.wait_for_shown("prompt", slot="B1")
        watcher.wait_for_shown("round", cards={"A1": "AS"})
        daemon.send("KH")
        watcher.wait_for_shown("round", cards={"A1": "AS", "B1": "KH"})
        watcher.wait(lambda: "KH" in [data["card"] for data in watcher.data("card_accepted")])


@pytest.mark.fault(74)
def test_broker_that_stands_still(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A broker that is frozen stops neither the dealing nor the words to systemd, and gets all when it is back."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        broker.pause()
        daemon.send(*SIX[:5])
        daemon.wait_for_beeps(b"+", 5)
        daemon.manager.drain()
        heard = len(daemon.manager.heard)
        daemon.manager.wait_for("WATCHDOG=1", heard)
        broker.resume()
        watcher.wait_for_event("card_accepted", 5)
        assert [*SIX[:5]] == [data["card"] for data in watcher.data("card_accepted")]


@pytest.mark.fault(12)
def test_what_was_scanned_while_we_stood_still_is_stale(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Cards that were scanned while the process was stopped never land in a round: each is rejected `stale`."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
        daemon.pause()
        daemon.send("9D", "2C")
        let_pass(2.3)
        daemon.signal(signal.SIGCONT)
        watcher.wait_for_event("scan_rejected", 2)
        assert [("stale", "9D"), ("stale", "2C")] == [
            (data["reason"], data["card"]) for data in watcher.data("scan_rejected")
        ]
        watcher.wait_for_shown("prompt", slot="B1")
        let_pass(0.3)  # what follows is stale too, until the line was found empty
        daemon.send("9D")
        assert "B1" == watcher.wait_for_event("card_accepted", 2)["data"]["slot"]  # type: ignore[index]  # JSON
        assert [] == watcher.events("clock_stepped")


@pytest.mark.fault(12)
def test_stale_cards_miss_the_round_that_was_opened_meanwhile(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Cards of the old round do not land in the round that an engine opened while the process was stopped."""
    daemon = start_daemon(broker.url, 'start = "command"', start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        watcher.command("open", id="c1")
        daemon.pause()
        daemon.send("9D", "2C")
        watcher.publish(f"{PREFIX}/command/void", b'{"id":"c2"}')
        watcher.publish(f"{PREFIX}/command/open", b'{"id":"c3"}')
        let_pass(2.3)
        daemon.signal(signal.SIGCONT)
        watcher.wait_for_event("scan_rejected", 2)
        watcher.wait_for_event("round_opened", 2)
        assert ["stale", "stale"] == [data["reason"] for data in watcher.data("scan_rejected")]
        watcher.wait_for_shown("prompt", code="deal", slot="A1", attempt=1)
        assert [] == watcher.events("card_accepted")


@pytest.mark.fault(109)
def test_device_and_broker_that_never_answer(start_daemon: StartDaemon) -> None:
    """While neither a device nor the broker answers a connection the daemon is alive, and can be stopped within 2 s."""
    with deaf_listener() as port:
        daemon = start_daemon(f"mqtt://127.0.0.1:{port}", start=False)
        text = daemon.config.read_text()
        daemon.config.write_text(text.replace(str(daemon.scanner.path), f"tcp://127.0.0.1:{port}"))
        daemon.start()
        for _ in range(3):
            daemon.manager.wait_for("WATCHDOG=1", len(daemon.manager.heard))
        daemon.signal(signal.SIGTERM)
        assert 0 == daemon.process.wait(2)


@contextmanager
def deaf_listener() -> Iterator[int]:
    """A port of the loopback interface whose queue is full: whoever connects waits for ever."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = False
        while not waiting:
            client = stack.enter_context(socket.socket())
            client.settimeout(0.2)
            waiting = client.connect_ex(listener.getsockname()) != 0
        yield listener.getsockname()[1]


@pytest.mark.fault(1)
def test_scanner_that_is_plugged_in_again(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A scanner that goes is told within a second and found again by its link; the next card is accepted."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
        daemon.scanner.unplug()
        watcher.wait_for_event("scanner_down", bound=1.0)
        watcher.wait_for_shown("prompt", code="scanner_down", slot="B1", reason="shoe")
        watcher.wait_for_shown("status", state="degraded", scanners={"shoe": "down"})
        daemon.scanner.plug()
        watcher.wait_for_event("scanner_up", 2)
        watcher.wait_for_shown("prompt", code="deal", slot="B1")
        daemon.send("KH")
        assert "B1" == watcher.wait_for_event("card_accepted", 2)["data"]["slot"]  # type: ignore[index]  # JSON
        assert 1 == len(watcher.events("scanner_down"))


@pytest.mark.parametrize(("on_restart", "code"), [("continue", "deal"), ("hold", "call_supervisor")])
def test_restart_in_mid_round(broker: Mosquitto, start_daemon: StartDaemon, on_restart: str, code: str) -> None:
    """A round whose daemon was killed goes on at its due slot, or is held for a supervisor, as configured."""
    daemon = start_daemon(broker.url, f'{QUICK}\non_restart = "{on_restart}"', start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send("AS", "KH")
        watcher.wait_for_event("card_accepted", 2)
        daemon.kill()
        watcher.wait_for_shown("status", state="offline")
        begin(daemon, watcher)
        started = watcher.wait_for_event("daemon_started", 2)["data"]
        assert {"previous": "crash", "resumed": True}.items() <= started.items()  # type: ignore[attr-defined]  # JSON
        watcher.wait_for_shown("prompt", code=code, slot="A2")
        if on_restart == "hold":
            watcher.command("release")
        daemon.send("9D")
        assert "A2" == watcher.wait_for_event("card_accepted", 3)["data"]["slot"]  # type: ignore[index]  # JSON


@pytest.mark.fault(115)
def test_ready_is_said_once_by_the_daemon_itself(start_daemon: StartDaemon) -> None:
    """READY comes once, from the main process, though there is neither a broker nor a scanner."""
    daemon = start_daemon("mqtt://127.0.0.1:1", start=False)
    daemon.scanner.unplug()
    daemon.start()
    daemon.manager.wait_for("WATCHDOG=1")
    assert 0 == daemon.stop()
    daemon.manager.wait_for("STOPPING=1")
    assert [(daemon.process.pid, "READY=1")] == [said for said in daemon.manager.heard if said[1] == "READY=1"]


def _verdict(reply: dict[str, object]) -> tuple[object, object]:
    """Whether it was carried out, and its number or its error."""
    return reply["ok"], reply["seq"] if reply["ok"] else reply["error"]


def test_signed_and_checked(broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """With a key each event is signed and proved; a self-check is on the status, and an event where somebody asks."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    make_pair(tmp_path / "key", tmp_path / "key.pub")
    daemon.config.write_text(f'{daemon.config.read_text()}[journal]\nsigning_key = "{tmp_path / "key"}"\n')
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        watcher.wait(lambda: watcher.shown("status").get("self_check") is not None)
        found = watcher.shown("status")["self_check"]
        assert isinstance(found, dict)
        assert watcher.shown("status")["config_digest"] == found["config_digest"]
        assert (True, None) == _verdict(watcher.command("self_check", by="eva"))
        event = watcher.wait_for_event("self_check")
        assert isinstance(event["data"], dict)
        assert ("command", "eva", found["code_digest"]) == tuple(
            event["data"][key] for key in ("cause", "by", "code_digest")
        )
        assert 0 == daemon.stop()
    proves = prover(tmp_path / "key.pub")
    found_all = verify(daemon.state_dir, keys=[proves])
    assert (True, len(daemon.records()), 0) == (found_all.sound, found_all.signed, found_all.unsigned_to)
