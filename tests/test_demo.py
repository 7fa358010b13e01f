"""The demo, as somebody sees it who has just installed it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from scannerd.client import TableEvent
from scannerd.demo.lines import paid, told


@pytest.mark.parametrize("rounds", [2])
def test_demo_deals_rounds_and_ends_by_itself(rounds: int) -> None:
    """`scannerd demo --rounds N` prints N whole rounds, with the engine's results, as a subscriber hears them."""
    done = subprocess.run(
        [sys.executable, "-m", "scannerd", "demo", "--rounds", str(rounds), "--speed", "20"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    hands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  Player A")]
    assert ["Player A: 4♠ 10♦ A♠   Player B: 3♥ 10♣ Q♥", "Player A: 8♣ 2♦ K♥   Player B: J♠ 5♥ 3♣"] == hands
    assert "  B1  scan again: no_read\n  B1  J♠   at try 2\n" in done.stdout
    assert "mosquitto_sub" in done.stdout
    assert ["Player A   (A: high card, B: high card)"] * rounds == after(done.stdout, "  result: ")
    assert ["Player A 0.95:1"] * rounds == after(done.stdout, "  pays:   ")
    assert rounds == len(after(done.stdout, "  bets:   "))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_demo_leaves_nothing_behind(number: signal.Signals) -> None:
    """However the demo is ended, broker and pages are gone with it."""
    command = [sys.executable, "-u", "-m", "scannerd", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        ports = [
            int(line.rstrip("/\n").rpartition(":")[2]) for line in (next(demo.stdout) for _ in range(3)) if "//" in line
        ]
        demo.send_signal(number)
        assert 0 == demo.wait(30)
    assert 2 == len(ports)
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def after(printed: str, mark: str) -> list[str]:
    """What stands behind a mark at the beginnings of lines."""
    return [line.removeprefix(mark) for line in printed.splitlines() if line.startswith(mark)]


def event(kind: str, **data: object) -> TableEvent:
    """An event of the table."""
    return TableEvent("demo", "j", 1, kind, "demo/1", datetime.now(UTC), data, b"", "", "")


@pytest.mark.parametrize(
    ("what", "line"),
    [
        (event("card_withdrawn", slot="B1", card="9D", reason="multi_read"), "  B1  9♦ withdrawn: multi_read"),
        (
            event("scan_rejected", slot="A2", card="TS", reason="duplicate", conflict_slot="A1"),
            "  A2  scan again: duplicate (10♠, A1 has it)",
        ),
        (event("scan_rejected", slot=None, card=None, reason="no_round"), "  --  scan again: no_round"),
        (event("alarm_raised", scanner=None, alarm="network"), "  alarm raised: network"),
        (event("round_completed", cards=None), "  "),
    ],
)
def test_events_are_told_in_a_line(what: TableEvent, line: str) -> None:
    """Withdrawals, rejections and alarms are told with what a person needs to know of them."""
    assert [line] == list(told(what))


def test_events_that_say_nothing_to_people_are_left_out() -> None:
    """An event of a kind that the demo does not know is passed over."""
    assert [] == list(told(event("clock_stepped", by_ms=1200)))


RESULT = {
    "state": "settled",
    "reason": None,
    "winner": "tie",
    "pays": {
        "player_a": {"verdict": "returned", "to_one": "0"},
        "tie": {"verdict": "won", "to_one": "50"},
        "pair_plus_a": {"verdict": "lost", "to_one": None},
    },
    "bets": 3,
    "staked": "1300.00",
    "paid": "51234.50",
    "names": {
        "bets": {"player_a": "Player A", "tie": "Tie", "pair_plus_a": "Pair Plus A"},
        "hands": {"A": "pair", "B": "pair"},
        "winner": "Tie",
        "six_cards": "four of a kind",
    },
}


def test_result_is_told_with_pays_and_money() -> None:
    """A result is told with its hands, what pays and what is returned, and amounts as 1,234.00."""
    assert [
        "  result: Tie   (A: pair, B: pair, four of a kind)",
        "  pays:   Player A returned   Tie 50:1",
        "  bets:   3   staked 1,300.00   paid 51,234.50",
    ] == list(paid(RESULT))


def test_void_round_is_told_as_such() -> None:
    """Of a round that was voided before its settlement the demo says that the bets are returned."""
    void = {**RESULT, "state": "voided", "winner": None, "reason": "misdeal"}
    assert ["  result: voided (misdeal), bets returned"] == list(paid(void))
