"""What the dealer is asked: each row of the prompt's table, and which one comes first."""

from __future__ import annotations

import pytest

from scannerd.core import events as e
from scannerd.core.prompts import STORAGE_FAULT, Prompt, prompt
from scannerd.core.state import Rules
from tests.core_table import TWO_SLOTS, Table, auto


def error(table: Table, ms: float, scanner: str = "shoe") -> Table:
    """The same table, a scanner of which reports an error."""
    table.notice(ms, "error", "jam", scanner)
    return table


def down(table: Table, ms: float, scanner: str = "shoe") -> Table:
    """The same table, a scanner of which is lost."""
    table.say(e.ScannerWentDown(round(ms * 1_000), scanner, "EIO"))
    return table


def test_a_storage_fault_has_no_fields() -> None:
    """While the journal can't be written the prompt says that alone."""
    assert Prompt("storage_fault", None, None, None, None, None, None) == STORAGE_FAULT


# --- dealing ---------------------------------------------------------------------------------------------------


def test_dealing_asks_for_the_due_slot() -> None:
    """A deal asks for the due slot with its hand, place and the try awaited."""
    table = Table().opened().dealt(["AS", "KH", "QD"])
    assert Prompt("deal", "B2", "B", 2, None, 1, None) == prompt(table.state)


def test_after_a_rejection_the_slot_is_asked_for_again() -> None:
    """A rejected try asks again, with its reason, its conflict and the try awaited."""
    table = Table().opened().dealt(["AS", "KH"])
    table.read(3_000, "AS")
    assert Prompt("rescan", "A2", "A", 2, "duplicate", 2, "A1") == prompt(table.state)
    table.failed(4_000, "bad_frame")
    assert Prompt("rescan", "A2", "A", 2, "bad_frame", 3, None) == prompt(table.state)


def test_an_acceptance_ends_the_asking_again() -> None:
    """Once the slot is filled the next one is asked for at its first try."""
    table = Table().opened()
    table.failed(1_000)
    table.read(2_000, "AS")
    assert "deal B1 try 1" == table.prompt


def test_rejections_that_are_no_try_leave_the_prompt() -> None:
    """Stale cards, a card that lies there and bounces do not ask for the slot again."""
    table = Table().opened().dealt(["AS"])
    table.read(2_000, "KH", stale=True)
    table.failed(2_001, stale=True)
    table.read(2_002, "AS")
    table.read(2_003, "AS")
    assert "deal B1 try 1" == table.prompt


def test_rejections_that_are_no_try_keep_the_reason_of_the_last_that_was() -> None:
    """After a failed read a card that lies there does not change what is asked for."""
    table = Table().opened().dealt(["AS"])
    table.failed(2_000)
    table.read(3_000, "AS")
    assert "rescan B1 no_read try 2" == table.prompt


def test_rejections_while_held_ask_for_nothing_again() -> None:
    """A card rejected during the hold is no reason after the release."""
    table = Table().opened().dealt(["AS"])
    table.command(2_000, "hold")
    table.read(3_000, "KH")
    table.failed(4_000)
    table.command(5_000, "release")
    assert "deal B1 try 1" == table.prompt


def test_a_release_does_not_end_the_asking_again() -> None:
    """After a release the card that did not read still lies there unread: it is asked for again, at try 1."""
    table = Table().opened().dealt(["AS"])
    table.failed(2_000)
    table.command(3_000, "hold")
    table.command(4_000, "release")
    assert "rescan B1 no_read try 1" == table.prompt


def test_a_withdrawn_slot_is_asked_for_again() -> None:
    """A slot whose card was taken back is asked for with the withdrawal's reason."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(3_000, "rescan", slot="A1")
    assert Prompt("rescan", "A1", "A", 1, "rescan", 1, None) == prompt(table.state)


def test_a_rejection_after_a_withdrawal_gives_the_reason() -> None:
    """Of a withdrawal and a later rejection the rejection is told; accepting the card ends both."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(3_000, "rescan", slot="A1")
    table.failed(4_000)
    assert "rescan A1 no_read try 2" == table.prompt
    table.read(5_000, "AS")
    assert "deal A2 try 1" == table.prompt


def test_a_withdrawal_ends_the_reason_of_a_rejection_before_it() -> None:
    """A slot that failed, was filled and is taken back is asked for because of the withdrawal."""
    table = Table().opened()
    table.failed(1_000)
    table.read(2_000, "AS")
    table.failed(3_000)
    table.command(4_000, "rescan", slot="A1")
    assert "rescan A1 rescan try 1" == table.prompt


def test_every_withdrawn_slot_is_asked_for_again_in_turn() -> None:
    """With all cards taken back each slot is asked for again, until it is filled."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(3_000, "rescan", slot="all")
    table.read(4_000, "QD")
    assert "rescan B1 rescan try 1" == table.prompt
    table.enter(5_000, "B1", "JC")
    assert "deal A2 try 1" == table.prompt


def test_a_multi_read_is_told_as_the_rejection() -> None:
    """After two cards at once the emptied slot is asked for with `multi_read` and the second try."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH")
    assert Prompt("rescan", "A1", "A", 1, "multi_read", 2, None) == prompt(table.state)


def test_a_new_round_asks_for_nothing_again() -> None:
    """What was in doubt in a voided round is not in the next."""
    table = Table().opened().dealt(["AS"])
    table.command(2_000, "rescan", slot="A1")
    table.failed(3_000)
    table.command(4_000, "void")
    table.command(5_000, "open")
    assert "deal A1 try 1" == table.prompt


def test_while_no_slot_is_due_the_dealer_waits() -> None:
    """Between the last card and the completion there is nothing to do."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert Prompt("wait") == prompt(table.state)


def test_the_broker_is_of_no_matter_in_a_deal() -> None:
    """A network fault does not change what a deal asks for."""
    table = Table().opened()
    table.broker(1, up=False)
    assert "deal A1 try 1" == table.prompt


# --- held, down, error -----------------------------------------------------------------------------------------


def test_held_calls_the_supervisor() -> None:
    """A held round names the due slot and why it is held, without a try."""
    table = Table().opened().dealt(["AS"])
    table.command(2_000, "hold", reason="spilled drink")
    assert Prompt("call_supervisor", "B1", "B", 1, "spilled drink", None, None) == prompt(table.state)


def test_held_without_a_due_slot_names_none() -> None:
    """A round held with every slot filled names no slot."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    table.command(2_050, "hold", reason="look")
    assert Prompt("call_supervisor", reason="look") == prompt(table.state)


def test_held_comes_before_a_scanner_that_is_down() -> None:
    """A held round calls the supervisor, whatever else is wrong."""
    table = error(down(Table().opened(), 1), 2)
    table.command(3, "hold")
    assert "call_supervisor A1" == table.prompt


@pytest.mark.fault(1)
def test_a_scanner_that_is_down_is_told_with_the_due_slot() -> None:
    """A lost scanner changes no phase: the prompt names it and the slot that stays due."""
    table = down(Table().opened().dealt(["AS"]), 2_000)
    assert Prompt("scanner_down", "B1", "B", 1, "shoe", None, None) == prompt(table.state)
    table.say(e.ScannerWentUp(3_000_000, "shoe"))
    assert "deal B1 try 1" == table.prompt


def test_a_scanner_that_is_down_is_told_in_every_phase_but_held() -> None:
    """Between rounds, and while the last card may still be doubted, a lost scanner is told without a slot."""
    assert Prompt("scanner_down", reason="shoe") == prompt(down(Table(), 0).state)
    full = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert "scanner_down shoe" == down(full, 2_050).prompt
    full.wait(2_150)
    assert "complete" == full.state.phase
    assert "scanner_down shoe" == full.prompt


def test_a_scanner_that_is_down_comes_before_an_error_and_the_broker() -> None:
    """Of a lost scanner, another's error and a lost broker the lost scanner is told."""
    table = error(down(Table(), 0, "desk"), 1, "shoe")
    table.broker(2, up=False)
    assert "scanner_down desk" == table.prompt


def test_of_several_scanners_the_first_of_the_configuration_is_told() -> None:
    """Whichever was lost or jammed first, the order of the configuration decides."""
    assert "scanner_down shoe" == down(down(Table(), 0, "desk"), 1, "shoe").prompt
    assert "scanner_error A1 shoe" == error(error(Table().opened(), 1, "desk"), 2, "shoe").prompt


def test_a_scanner_that_is_not_configured_is_not_told() -> None:
    """A scanner left over from an older configuration is nobody's to mend."""
    assert "wait" == error(down(Table(), 0, "old"), 1, "old").prompt


def test_a_scanners_error_is_told_with_the_due_slot() -> None:
    """A device that reports an error is named, with the slot that stays due, until it is mended or gives a card."""
    table = error(Table().opened().dealt(["AS"]), 2_000)
    assert Prompt("scanner_error", "B1", "B", 1, "shoe", None, None) == prompt(table.state)
    table.read(3_000, "KH")
    assert "deal A2 try 1" == table.prompt


def test_a_scanners_error_comes_before_waiting_for_the_completion() -> None:
    """With every slot filled an error is told, without a slot."""
    table = error(Table(TWO_SLOTS).opened().dealt(["AS", "KH"]), 2_050)
    assert Prompt("scanner_error", reason="shoe") == prompt(table.state)


# --- between rounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["idle", "complete"])
def test_between_rounds_the_lost_broker_comes_before_an_error(phase: str) -> None:
    """No round could be opened: that is told first, then a device's error."""
    table = Table(TWO_SLOTS)
    if phase == "complete":
        table.opened().dealt(["AS", "KH"]).wait(2_150)
    error(table, 3_000)
    assert Prompt("scanner_error", reason="shoe") == prompt(table.state)
    table.broker(4_000, up=False)
    assert Prompt("network_down") == prompt(table.state)


def test_a_table_that_may_do_without_the_broker_does_not_wait_for_it() -> None:
    """With `require_broker = false` a lost broker is on no prompt."""
    table = Table(rules=Rules(require_broker=False))
    table.broker(0, up=False)
    assert Prompt("wait") == prompt(table.state)


def test_in_auto_a_first_card_that_did_not_read_is_asked_for_again() -> None:
    """In `auto` a failed read before the round asks for the first slot, at try 1."""
    table = auto()
    table.failed(0, "unknown_code")
    assert Prompt("rescan", "A1", "A", 1, "unknown_code", 1, None) == prompt(table.state)
    table.read(1_000, "AS")
    assert "deal B1 try 1" == table.prompt


def test_with_rounds_opened_by_command_a_failed_read_between_them_asks_for_nothing() -> None:
    """Where no card opens a round there is no card to scan again."""
    table = Table()
    table.failed(0)
    assert "wait" == table.prompt


@pytest.mark.parametrize(
    ("after", "asked"),
    [(2_999.999, "complete"), (3_000, "rescan A1 no_read try 1"), (9_000, "rescan A1 no_read try 1")],
)
def test_a_failed_read_in_the_gap_after_a_round_asks_for_nothing(after: float, asked: str) -> None:
    """What fails less than `round_gap_ms` after a round is taken for its rests."""
    table = auto(TWO_SLOTS).dealt(["AS", "KH"])
    table.wait(2_150)
    table.failed(2_150 + after)
    assert asked == table.prompt


def test_a_failed_read_in_the_gap_asks_for_nothing_later_either() -> None:
    """When the gap is over, a failure in it is forgotten."""
    table = auto(TWO_SLOTS).dealt(["AS", "KH"])
    table.wait(2_150)
    table.failed(3_000)
    table.wait(60_000)
    assert "complete" == table.prompt


def test_voiding_ends_the_asking_for_the_first_card() -> None:
    """A failure before the last voiding is none of the next round's."""
    table = auto(TWO_SLOTS).dealt(["AS", "KH"])
    table.wait(2_150)
    table.failed(6_000)
    table.command(7_000, "void")
    assert "wait" == table.prompt


def test_a_completion_ends_the_asking_for_the_first_card() -> None:
    """A failure before the round is none of what comes after it."""
    table = auto(TWO_SLOTS)
    table.failed(0)
    table.dealt(["AS", "KH"]).wait(2_150)
    assert "complete" == table.prompt


def test_stale_and_refused_cards_do_not_ask_for_the_first_card() -> None:
    """Only a failed read asks for the first slot; a stale one, or a card refused, does not."""
    table = auto()
    table.failed(0, stale=True)
    table.broker(1, up=False)
    table.read(2, "AS")
    table.broker(3, up=True)
    assert "wait" == table.prompt


def test_the_lost_broker_and_an_error_come_before_the_first_card() -> None:
    """A card that did not read is asked for again only when a round could be opened with it."""
    table = auto()
    table.failed(0)
    error(table, 1)
    assert "scanner_error shoe" == table.prompt
    table.broker(2, up=False)
    assert "network_down" == table.prompt


def test_complete_and_idle_say_so() -> None:
    """A completed round is told until the next, and a table without a round waits."""
    table = Table(TWO_SLOTS)
    assert Prompt("wait") == prompt(table.state)
    table.opened().dealt(["AS", "KH"]).wait(2_150)
    assert Prompt("complete") == prompt(table.state)
    table.command(3_000, "void")
    assert Prompt("wait") == prompt(table.state)


def test_a_withdrawal_of_another_card_ends_the_reason_of_a_rejection() -> None:
    """A slot that was taken back and failed since is asked for because of the withdrawal once another card follows."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(3_000, "rescan", slot="A1")
    table.failed(4_000)
    table.command(5_000, "rescan", slot="B1")
    assert "rescan A1 rescan try 2" == table.prompt
