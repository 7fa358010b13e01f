"""The demo, as somebody sees it who has just installed it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("rounds", [2])
def test_demo_deals_rounds_and_ends_by_itself(rounds: int) -> None:
    """`scannerd demo --rounds N` prints N whole rounds as a subscriber hears them, and ends with 0."""
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
