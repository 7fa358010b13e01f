"""What the engine does by itself, and when."""

from __future__ import annotations

import pytest

from teen_patti.messages import CloseBetting, Fault, OpenBetting, SendOpen, SettleNow
from teen_patti.pacing import AFTER_CANCEL_S, ASK_AGAIN_S, OUT_OF_SIGHT_S, Pace, due
from teen_patti.state import Phase, State
from tests.engine_play import T0, Play

PACE = Pace(betting_s=12, settle_s=3)


@pytest.mark.parametrize(
    ("phase", "seen", "lost"),
    [
        (None, 0, None),
        (Phase.BETTING_OPEN, 12, OUT_OF_SIGHT_S),
        (Phase.BETTING_CLOSED, 0, OUT_OF_SIGHT_S),
        (Phase.OPEN_SENT, ASK_AGAIN_S, None),
        (Phase.DEALING, None, None),
        (Phase.PAUSED, None, None),
        (Phase.RESULT, 3, None),
        (Phase.SETTLED, 0, None),
        (Phase.CANCELLED, AFTER_CANCEL_S, None),
        (Phase.VOIDED, 0, None),
    ],
)
def test_each_phase_has_its_wait(phase: Phase | None, seen: float | None, lost: float | None) -> None:
    """In each phase the next move is due after a time of its own; out of sight only what has not begun is moved."""
    assert (seen, lost) == (PACE.wait_s(phase, in_sight=True), PACE.wait_s(phase, in_sight=False))


def test_a_table_that_deals_by_itself_ends_the_betting() -> None:
    """Where the table opens rounds by itself, no time ends the betting."""
    assert None is Pace(follow=True).wait_s(Phase.BETTING_OPEN, in_sight=True)


def test_what_is_due_follows_from_the_phase() -> None:
    """Open the betting, close it and send `open`, settle: each when its phase is over, on the round in play."""
    play = Play()
    assert (OpenBetting(T0, "20261130-024500-000"),) == due(State("tp-01"), T0, in_sight=True)
    play.open()
    assert (CloseBetting(T0), SendOpen(T0, "open-r-1")) == due(play.state, T0, in_sight=True)
    assert (Fault(T0, "network"),) == due(play.state, T0, in_sight=False)
    play.close()
    assert (SendOpen(T0, "open-r-1"),) == due(play.state, T0, in_sight=True)
    play.ask(SendOpen(T0, "open-r-1"))
    assert () == due(play.state, T0, in_sight=True)
    play.opened()
    play.cards()
    play.completed()
    assert (SettleNow(T0, "r-1"),) == due(play.state, T0, in_sight=True)
    play.settle()
    assert (OpenBetting(T0, "20261130-024500-000"),) == due(play.state, T0, in_sight=True)
