"""Hypothesis strategies for the core: any rules, any table, any events in the order of time, hostile values included.

Times and cards are drawn from a few, so that bounds are met exactly and cards meet each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st

from scannerd.core import events as e
from scannerd.core.cards import DECK
from scannerd.core.commands import COMMANDS
from scannerd.core.games import TEEN_PATTI_20_20, plan
from scannerd.core.state import Rules, Setup

At: TypeAlias = Callable[[int], e.Event]
"""An event that waits for its time."""

SCANNERS = ("shoe", "desk")
PLANS = (plan("one", ("A1",)), plan("two", ("A1", "B1")), plan("three", ("A1", "B1", "A2")), TEEN_PATTI_20_20)
CARDS = DECK[:8]

milliseconds = st.sampled_from((0, 1, 100, 150, 400, 3_000))
rules = st.builds(
    Rules,
    start=st.sampled_from(("command", "auto")),
    bounce_ms=milliseconds,
    min_gap_ms=milliseconds,
    max_attempts=st.integers(0, 4),
    round_gap_ms=milliseconds,
    stall_ms=st.sampled_from((0, 1, 100, 30_000)),
    require_broker=st.booleans(),
    on_restart=st.sampled_from(("continue", "hold")),
)
setups = st.builds(Setup, st.just("tp-01"), st.sampled_from(PLANS), rules, st.just(SCANNERS))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
"""Whatever a command's fields may hold."""

names_of_slots = st.sampled_from(("A1", "B1", "A2", "B2", "A3", "B3", "all", "Z9", "a1"))
rounds = st.sampled_from(("r-1", "r-2", "tp-01/1", "", "a b"))
fields = st.fixed_dictionaries(
    {},
    optional={
        "slot": names_of_slots | json_values,
        "card": st.sampled_from(CARDS).map(str) | st.sampled_from(("XX", "as")) | json_values,
        "reason": st.just("torn") | json_values,
        "round": rounds | json_values,
        "junk": json_values,
    },
)

scanners = st.sampled_from((*SCANNERS, "unheard of"))
maybe_text = st.none() | st.text(max_size=5)
raws = st.binary(max_size=70)
hands = st.sampled_from((None, None, None, "A", "B", "", "Z"))
rarely = st.sampled_from((False, False, False, False, True))


def _events(make: Callable[..., e.Event], *parts: st.SearchStrategy[object]) -> st.SearchStrategy[At]:
    """Events of a kind, each but for its time."""
    return st.tuples(*parts).map(lambda drawn: lambda at: make(at, *drawn))


reads = _events(e.Read, scanners, st.sampled_from(CARDS), hands, rarely, raws)
failed_reads = _events(
    e.FailedRead,
    scanners,
    st.sampled_from(("no_read", "bad_frame", "unknown_code", "not_in_deck")),
    st.text(max_size=5),
    rarely,
    rarely,
    raws,
)
notices = _events(
    e.Noticed,
    scanners,
    st.sampled_from(("error", "error", "error_cleared", "warning", "cut_card", "heartbeat")) | st.text(max_size=5),
    st.sampled_from(("", "jam")),
)
commands = _events(e.Command, st.sampled_from((*COMMANDS, "open", "rescan", "shuffle", "")), maybe_text, fields)
entries = _events(
    lambda at, slot, card: e.Command(at, "enter", "eva", {"slot": slot, "card": card, "reason": "torn"}),
    names_of_slots,
    st.sampled_from(CARDS),
)
others = st.one_of(
    _events(e.ScannerWentUp, scanners, maybe_text),
    _events(e.ScannerWentDown, scanners, maybe_text),
    _events(e.BrokerChanged, st.booleans()),
    _events(
        e.AlarmChanged, st.sampled_from(("network", "stalled", "scanner_error")), st.booleans(), scanners, maybe_text
    ),
    _events(e.ClockJumped, st.integers()),
    _events(e.SelfCheck, st.just("command"), maybe_text, st.just("c" * 64), st.none(), st.just({"shoe": "b" * 64})),
    _events(e.Trimming, st.just(30), st.integers(1, 9), st.just("a" * 64)),
    _events(e.Started, st.just("1.0"), st.just("d1"), st.sampled_from(("first", "clean", "crash"))),
    _events(e.Stopping, st.text(max_size=5)),
    _events(e.Deadline),
)
gaps = st.sampled_from((0, 1, 99_999, 100_000, 149_999, 150_000, 399_999, 400_000, 1_000_000, 3_000_000, 30_000_000))

histories = st.lists(
    st.tuples(gaps, st.one_of(reads, reads, reads, failed_reads, commands, commands, entries, notices, others)),
    max_size=60,
)
"""Events, each with the microseconds since the one before."""
