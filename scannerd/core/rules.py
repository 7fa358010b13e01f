"""Which rule decided: for those who ask why, of a decision that was taken.

`decide` itself stays free of it. A read, good or failed, is judged again, by the rows that judged it; a command is a
row of `COMMANDS`; what remains has few rules, `OTHER_RULES`, which are told apart by what came of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.commands import COMMANDS
from scannerd.core.failed_reads import judging_failed
from scannerd.core.outcomes import Decisions
from scannerd.core.reads import judging
from scannerd.core.rows import Row, sentence
from scannerd.core.state import State


class Rule(NamedTuple):
    """A rule in words.

    Attributes:
        name: by which the README's tables know it: a row's number, a command, or a word or two.
        when: when it fits.
        verdict: what follows.
    """

    name: str
    when: str
    verdict: str


Came: TypeAlias = Callable[[Decisions], bool]


class Other(NamedTuple):
    """A rule for events that are neither reads nor commands, known by what came of it."""

    events: tuple[type, ...]
    came: Came
    rule: Rule


def rules_of(state: State, event: e.Event, told: Decisions) -> tuple[Rule, ...]:
    """The rules by which `told` was decided on `event` in `state`, in their order: one, or two where a card opened."""
    if isinstance(event, e.Read):
        return tuple(map(_in_words, judging(state, event)))
    if isinstance(event, e.FailedRead):
        return (_in_words(judging_failed(state, event)),)
    if isinstance(event, e.Command):
        return (_of_command(event.name, told),)
    return (next(other.rule for other in OTHER_RULES if isinstance(event, other.events) and other.came(told)),)


def _in_words(row: Row[e.Read] | Row[e.FailedRead]) -> Rule:
    return Rule(row.number, sentence(row.when.__doc__), row.verdict)


def _of_command(name: str, told: Decisions) -> Rule:
    refused = next((one for one in told if isinstance(one, d.Refused)), None)
    if refused is not None:
        return Rule(name, refused.message, f"refused `{refused.error}`")
    known = COMMANDS[name]
    return Rule(name, f"The command, while {' or '.join(known.phases)}", known.does)


def _has(*kinds: type) -> Came:
    return lambda told: any(isinstance(one, kinds) for one in told)


def _nothing(told: Decisions) -> bool:
    return not told


def _anything(told: Decisions) -> bool:
    del told
    return True


_COMPLETION, _STALL = "`round_completed`", "the alarm `stalled` is raised"
OTHER_RULES: tuple[Other, ...] = (
    Other(
        (e.Deadline,),
        _has(d.RoundCompleted),
        Rule("last card", "`min_gap_ms` after the last slot was filled, no card withdrawn since", _COMPLETION),
    ),
    Other((e.Deadline,), _has(d.AlarmRaised), Rule("stall", "Nothing has happened in the deal for `stall_ms`", _STALL)),
    Other((e.Deadline,), _nothing, Rule("time", "No deadline is due", "nothing")),
    Other(
        (e.Noticed,),
        _has(d.Bounced),
        Rule("notice again", "The scanner gave the same notice less than `bounce_ms` before", "counted only"),
    ),
    Other(
        (e.Noticed,),
        _has(d.AlarmRaised),
        Rule("error", "The device reports an error", "`scanner_notice`, and the alarm `scanner_error` is raised"),
    ),
    Other((e.Noticed,), _has(d.ScannerNotice), Rule("notice", "The device says what is no card", "`scanner_notice`")),
    Other((e.Noticed,), _nothing, Rule("talk", "The device says what is no matter of the deal", "only logged")),
    Other((e.ScannerWentUp,), _has(d.ScannerUp), Rule("up", "The scanner can be read again", "`scanner_up`")),
    Other((e.ScannerWentDown,), _has(d.ScannerDown), Rule("down", "The scanner can't be read", "`scanner_down`")),
    Other(
        (e.ScannerWentUp, e.ScannerWentDown, e.BrokerChanged, e.AlarmChanged),
        _nothing,
        Rule("no change", "It is so already", "nothing"),
    ),
    Other((e.BrokerChanged,), _anything, Rule("broker", "The broker comes or goes", "no event; the prompt may change")),
    Other((e.AlarmChanged,), _anything, Rule("alarm", "The daemon's own alarms", "`alarm_raised` or `alarm_cleared`")),
    Other((e.Started,), _anything, Rule("start", "The daemon was started", "`daemon_started`, and what is overdue")),
    Other(
        (object,),
        _anything,
        Rule("daemon", "The daemon's own doings", "their event, and no change of the deal"),
    ),
)
