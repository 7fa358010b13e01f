"""Which rule decided: named of each decision that is taken."""

from __future__ import annotations

from hypothesis import given

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.failed_reads import FAILED_ROWS
from scannerd.core.outcomes import Decisions
from scannerd.core.reads import READ_ROWS
from scannerd.core.rules import OTHER_RULES, rules_of
from scannerd.core.state import MS, Rules, Setup, State
from scannerd.core.validator import decide, step
from tests.core_strategies import At, histories, setups
from tests.core_table import TWO_SLOTS, Table, auto


def names(table: Table, event: e.Event) -> list[str]:
    """The rules that decide an event at a table, which it changes."""
    found = [rule.name for rule in rules_of(table.state, event, decide(table.state, event))]
    table.put(event)
    return found


def read(ms: int, card: str, hand: str | None = None) -> e.Read:
    """A card is read by the shoe."""
    return e.Read(ms * MS, "shoe", Card(card), hand)


def without_stall(told: Decisions) -> Decisions:
    """Decisions but for the end of the alarm `stalled`, which comes before any row."""
    return tuple(one for one in told if not (isinstance(one, d.AlarmCleared) and one.alarm == "stalled"))


def test_each_row_of_a_read_is_named() -> None:
    """A deal with all that can happen to a card names its rows."""
    table = auto(TWO_SLOTS)
    assert [["6", "10"], ["1"], ["7"], ["7a"], ["10"], ["8"], ["10"], ["8b"]] == [
        names(table, event)
        for event in (
            read(10_000, "AS"),
            read(10_100, "AS"),
            read(10_140, "KH"),
            read(10_200, "QD"),
            read(12_000, "AS"),
            read(13_000, "AS"),
            read(14_000, "KH"),
            e.Read(14_149 * MS, "desk", Card("2C")),
        )
    ]


def test_a_card_that_opens_a_round_names_two_rows() -> None:
    """The row that opens the round comes first, the row that judges the card in it second."""
    found = rules_of(auto().state, read(10_000, "AS", "B"), ())
    assert [("6", "`round_opened` by `auto`, then as dealing"), ("9", "rejected `wrong_hand`")] == [
        (rule.name, rule.verdict) for rule in found
    ]


def test_a_failed_read_names_its_row() -> None:
    """Failed reads have rows of their own."""
    table = Table().opened()
    failed = e.FailedRead(10_000 * MS, "shoe", "no_read")
    assert [["f5"], ["f4"]] == [names(table, failed), names(table, failed)]


def test_a_command_names_itself() -> None:
    """A command's rule is the command, with the phases that allow it and what it does."""
    table = Table()
    opening = e.Command(10_000 * MS, "open", None, {})
    (carried_out,) = rules_of(table.state, opening, tuple(table.put(opening)))
    assert ("open", "The command, while idle or complete", "`round_opened`") == carried_out
    (refused,) = rules_of(table.state, opening, tuple(table.put(opening)))
    assert ("open", "open can't be done while dealing", "refused `round_in_progress`") == refused
    unknown = e.Command(10_000 * MS, "shuffle", None, {})
    (refused,) = rules_of(table.state, unknown, tuple(table.put(unknown)))
    assert ("shuffle", "refused `unknown_command`") == (refused.name, refused.verdict)


def test_deadlines_notices_and_links_name_theirs() -> None:
    """What is neither read nor command is told apart by what came of it."""
    table = Table(TWO_SLOTS, rules=Rules(stall_ms=20_000)).opened(10_000)
    assert [
        ["time"],
        ["stall"],
        ["error"],
        ["notice again"],
        ["notice"],
        ["talk"],
        ["down"],
        ["no change"],
        ["up"],
        ["broker"],
        ["no change"],
        ["alarm"],
        ["daemon"],
        ["start"],
    ] == [
        names(table, event)
        for event in (
            e.Deadline(10_001 * MS),
            e.Deadline(30_000 * MS),
            e.Noticed(31_000 * MS, "shoe", "error", "jam"),
            e.Noticed(31_001 * MS, "shoe", "error", "jam"),
            e.Noticed(33_000 * MS, "shoe", "cut_card"),
            e.Noticed(33_000 * MS, "shoe", "heartbeat"),
            e.ScannerWentDown(34_000 * MS, "shoe"),
            e.ScannerWentDown(34_000 * MS, "shoe"),
            e.ScannerWentUp(34_000 * MS, "shoe"),
            e.BrokerChanged(35_000 * MS, up=False),
            e.BrokerChanged(35_000 * MS, up=False),
            e.AlarmChanged(35_000 * MS, "network", up=True),
            e.ClockJumped(35_000 * MS, 2_000),
            e.Started(36_000 * MS, "1.0", "d1", "crash"),
        )
    ]


def test_the_last_card_names_what_completes_the_round() -> None:
    """The end of the wait for a doubt of the last card is a rule."""
    table = Table(TWO_SLOTS).opened().dealt(("AS", "KH"))
    assert ["last card"] == names(table, e.Deadline(2_150 * MS))


@given(setups, histories)
def test_every_decision_has_a_rule_whose_verdict_it_is(setup: Setup, history: list[tuple[int, At]]) -> None:
    """Whatever happens, the row that is named is the one whose verdict was taken."""
    state, at = State(setup), 0
    for gap, make in history:
        at += gap
        event = make(at)
        *overdue, (told, after) = step(state, event)
        before = overdue[-1][1] if overdue else state
        state = after
        rules = rules_of(before, event, told)
        assert 1 <= len(rules) <= 2
        if isinstance(event, e.Read):
            rows = {row.number: row for row in READ_ROWS}
            assert rows[rules[0].name].then(before, event) == without_stall(told)
        elif isinstance(event, e.FailedRead):
            failed = {row.number: row for row in FAILED_ROWS}
            assert failed[rules[0].name].then(before, event) == without_stall(told)


def test_what_no_rule_knows_is_the_daemon_s_own() -> None:
    """The last rule takes what none before it knows, so that whatever is decided has one."""
    assert OTHER_RULES[-1].rule in rules_of(Table().state, e.Stopping(0, "SIGTERM"), ())
