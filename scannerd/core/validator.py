"""`decide(state, event) -> decisions`: total, and pure; and `step`, which decides the deadlines before an event too.

Reads are judged by the rows of `reads.py` and `failed_reads.py`, commands by those of `commands.py`. Nothing here is an
exception: a duplicate, a misread, a refused command are decisions.
"""

from __future__ import annotations

from typing import Literal, assert_never

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.commands import carry_out
from scannerd.core.evolution import notice_key
from scannerd.core.failed_reads import failed_read
from scannerd.core.outcomes import Decisions, completion, error_over, evolve_all
from scannerd.core.reads import read_card
from scannerd.core.state import MS, State

TOLD_NOTICES = frozenset({"error", "error_cleared", "warning", "cut_card", "lock", "start", "result"})
"""Notices that are events; others are only logged."""


def step(state: State, event: e.Event) -> list[tuple[Decisions, State]]:
    """Decides `event` after every deadline at or before it, each at the deadline's own time.

    Returns:
        For each decision taken, in order, its decisions and the state after them. A start decides what is overdue
        itself: its past deadlines have the start's time.
    """
    taken = []
    if not isinstance(event, e.Started):
        deadline = state.deadline
        while deadline is not None and deadline <= event.at:
            told = decide(state, e.Deadline(deadline))
            state = evolve_all(state, told)
            taken.append((told, state))
            deadline = state.deadline
    told = decide(state, event)
    state = evolve_all(state, told)
    taken.append((told, state))
    return taken


def decide(state: State, event: e.Event) -> Decisions:  # noqa: C901, PLR0911, PLR0912 - one line an event
    """What follows from `event`, no deadline of the state being at or before it."""
    match event:
        case e.Read():
            return read_card(state, event)
        case e.FailedRead():
            return failed_read(state, event)
        case e.Deadline():
            return _overdue(state, event.at)
        case e.Command():
            return carry_out(state, event)
        case e.Noticed():
            return _noticed(state, event)
        case e.ScannerWentUp():
            known = state.scanners.get(event.scanner) == "up"
            return () if known else (d.ScannerUp(event.at, event.scanner, event.detail),)
        case e.ScannerWentDown():
            known = state.scanners.get(event.scanner) == "down"
            return () if known else (d.ScannerDown(event.at, event.scanner, event.detail),)
        case e.BrokerChanged():
            return () if event.up == state.broker_up else (d.BrokerSwitched(event.at, event.up),)
        case e.AlarmChanged():
            return _alarm(state, event)
        case e.ClockJumped():
            return (d.ClockStepped(event.at, event.by_ms),)
        case e.SelfCheck():
            return (_self_checked(event),)
        case e.Trimming():
            return (d.JournalTrimmed(event.at, event.keep_days, event.last_seq, event.last_hash),)
        case e.Started():
            return _started(state, event)
        case e.Stopping():
            return (d.DaemonStopped(event.at, event.reason),)
        case _ as never:
            assert_never(never)


def _noticed(state: State, notice: e.Noticed) -> Decisions:
    if notice.kind not in TOLD_NOTICES:
        return ()
    return (*_notice(state, notice), *error_over(state, notice.scanner, notice.at, notice.kind == "error_cleared"))


def _notice(state: State, notice: e.Noticed) -> Decisions:
    key = notice_key(notice.kind, notice.detail)
    before = state.memory.notices.get((notice.scanner, key))
    if before is not None and notice.at - before < state.setup.rules.bounce_ms * MS:
        return (d.Bounced(notice.at, notice.scanner, "notice", key),)
    kind: Literal["error"] = notice.kind  # type: ignore[assignment]  # one of TOLD_NOTICES, which mypy can't see
    told = d.ScannerNotice(notice.at, notice.scanner, kind, notice.detail or None)
    if notice.kind != "error" or ("scanner_error", notice.scanner) in state.alarms:
        return (told,)
    return (told, d.AlarmRaised(notice.at, "scanner_error", notice.scanner, notice.detail or None))


def _alarm(state: State, change: e.AlarmChanged) -> Decisions:
    if change.up == ((change.alarm, change.scanner) in state.alarms):
        return ()
    told = d.AlarmRaised if change.up else d.AlarmCleared
    return (told(change.at, change.alarm, change.scanner, change.detail),)


def _self_checked(check: e.SelfCheck) -> d.SelfChecked:
    return d.SelfChecked(
        at=check.at,
        cause=check.cause,
        by=check.by,
        code_digest=check.code_digest,
        config_digest=check.config_digest,
        codebooks=check.codebooks,
        changed=check.changed,
        previous_code_digest=check.previous_code_digest,
        previous_config_digest=check.previous_config_digest,
        previous_codebooks=check.previous_codebooks,
    )


def _overdue(state: State, at: int) -> Decisions:
    if state.completion_at is not None and state.completion_at <= at:
        return (completion(state, at),)
    if state.stall_at is not None and state.stall_at <= at:
        return (d.AlarmRaised(at, "stalled", None, None),)
    return ()


def _started(state: State, start: e.Started) -> Decisions:
    at, dealing = start.at, state.phase == "dealing"
    resumed = dealing or state.phase == "held"
    told = d.DaemonStarted(at, start.version, start.config_digest, start.previous, resumed)
    if dealing and state.due is None:
        return (told, completion(state, at))
    if dealing and state.setup.rules.on_restart == "hold":
        return (told, d.RoundHeld(at, "restart", None))
    return (told, *_overdue(state, at))
