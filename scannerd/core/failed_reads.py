"""Failed reads: `FAILED_ROWS` judge them, the first row that fits.

They share no condition with a card's rows, for there is no card to compare, and so stand in a table of their own.
"""

from __future__ import annotations

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.outcomes import Decisions, counted, rejection, stall_over
from scannerd.core.rows import ANY, Row, by_phase, first
from scannerd.core.state import MS, State


def failed_read(state: State, failed: e.FailedRead) -> Decisions:
    """Judges a read that gave no card."""
    told = judging_failed(state, failed).then(state, failed)
    if isinstance(told[0], d.Bounced):
        return told
    return (*stall_over(state, failed.at), *told)


def judging_failed(state: State, failed: e.FailedRead) -> Row[e.FailedRead]:
    """The row that judges it."""
    return first(_ROWS_OF, state, failed)


def _is_lost(state: State, failed: e.FailedRead) -> bool:
    """The device is content, but the card did not reach us: the dealer will deal on."""
    del state
    return failed.lost


def _is_stale(state: State, failed: e.FailedRead) -> bool:
    """The bytes waited while the process did not run."""
    del state
    return failed.stale


def _is_bounce(state: State, failed: e.FailedRead) -> bool:
    """The scanner failed for the same reason less than `bounce_ms` before."""
    before = state.memory.failures.get((failed.scanner, failed.reason))
    return before is not None and failed.at - before < state.setup.rules.bounce_ms * MS


def _always(state: State, failed: e.FailedRead) -> bool:
    """Any other failed read."""
    del state, failed
    return True


def _hold(state: State, failed: e.FailedRead) -> Decisions:
    """Once, though the try may be the last one too."""
    return (_count(state, failed)[0], d.RoundHeld(failed.at, "lost_read", None))


def _reject(state: State, failed: e.FailedRead) -> Decisions:
    return (rejection(failed, failed.reason, state.due),)


def _reject_stale(state: State, failed: e.FailedRead) -> Decisions:
    return (rejection(failed, "stale", state.due),)


def _bounce(state: State, failed: e.FailedRead) -> Decisions:
    del state
    return (d.Bounced(failed.at, failed.scanner, "failure", failed.reason),)


def _count(state: State, failed: e.FailedRead) -> Decisions:
    return counted(state, failed, failed.reason, state.due)


_NOT_DEALING: tuple[d.Phase, ...] = ("idle", "held", "complete")

FAILED_ROWS: tuple[Row[e.FailedRead], ...] = (
    Row("f1", ("dealing",), _is_lost, _hold, "rejected with its reason, and `round_held` (`lost_read`)"),
    Row("f2", _NOT_DEALING, _is_lost, _reject, "rejected with its reason, no attempt"),
    Row("f3", ANY, _is_stale, _reject_stale, "rejected `stale`, no attempt"),
    Row("f4", ANY, _is_bounce, _bounce, "nothing: a bounce, counted only"),
    Row("f5", ("dealing",), _always, _count, "rejected with its reason, a try for the due slot if there is one"),
    Row("f6", _NOT_DEALING, _always, _reject, "rejected with its reason, no attempt"),
)
_ROWS_OF = by_phase(FAILED_ROWS)
