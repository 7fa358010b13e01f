"""A card that was read, judged row by row, each row at both sides of its bound."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import DECK, Card, card
from scannerd.core.reads import READ_ROWS
from scannerd.core.state import Rules
from tests.core_table import DEAL, TWO_SLOTS, Table, auto

# --- row 0: stale bytes ----------------------------------------------------------------------------------------


@pytest.mark.fault(12)
def test_a_stale_card_is_rejected_without_an_attempt() -> None:
    """A card whose bytes waited while the process did not run is rejected for the due slot and is no try for it."""
    table = Table().opened()
    assert ["rejected stale A1"] == table.read(1_000, "AS", stale=True)
    assert ["accepted A1 AS try 1"] == table.read(2_000, "AS")


def test_a_stale_card_is_not_remembered_as_seen() -> None:
    """A card that was rejected as stale may be scanned again at once."""
    table = Table().opened()
    table.read(1_000, "AS", stale=True)
    assert ["accepted A1 AS try 1"] == table.read(1_001, "AS")


def test_a_stale_card_leaves_an_older_sighting_as_it_was() -> None:
    """Stale bytes do not start the bounce time of a card anew."""
    table = Table().opened().dealt(["AS"])
    assert ["rejected stale B1"] == table.read(1_300, "AS", stale=True)
    assert ["bounce"] == table.read(1_399, "AS")
    assert ["rejected stale B1"] == table.read(1_700, "AS", stale=True)
    assert ["rejected duplicate B1"] == table.read(1_799, "AS")


@pytest.mark.fault(12)
def test_a_stale_card_comes_before_every_other_row() -> None:
    """A stale card is rejected as such in every phase, even where it would bounce, and opens no round."""
    table = auto()
    assert ["rejected stale"] == table.read(0, "AS", stale=True)
    table.read(1_000, "KH")
    assert ["rejected stale B1"] == table.read(1_001, "KH", stale=True)
    table.command(2_000, "hold")
    assert ["rejected stale B1"] == table.read(2_001, "QD", stale=True)


# --- row 1: a bounce -------------------------------------------------------------------------------------------


@pytest.mark.fault(55)
def test_the_same_card_within_the_bounce_time_is_nothing() -> None:
    """One card seen twice by one scanner in less than `bounce_ms` is one read."""
    table = Table().opened().dealt(["AS"])
    assert ["bounce"] == table.read(1_080, "AS")
    assert {"A1": "AS"} == table.cards
    assert "deal B1 try 1" == table.prompt


@pytest.mark.parametrize(("after", "told"), [(399.999, "bounce"), (400, "rejected duplicate B1")])
def test_the_bounce_time_ends_at_its_bound(after: float, told: str) -> None:
    """A sighting `bounce_ms` after the last one is no bounce any more."""
    assert [told] == Table().opened().dealt(["AS"]).read(1_000 + after, "AS")


def test_each_sighting_starts_the_bounce_time_anew() -> None:
    """A card that is seen every 300 ms stays a bounce for as long as that goes on, rejected sightings included."""
    table = Table().opened().dealt(["AS"])
    for at in range(1_300, 4_000, 300):
        assert ["bounce"] == table.read(at, "AS")
    assert ["rejected duplicate B1"] == table.read(4_300, "AS")
    assert ["bounce"] == table.read(4_699, "AS")


def test_bounces_are_counted_by_scanner() -> None:
    """How often a scanner bounced is kept, for the figures."""
    table = Table().opened().dealt(["AS"])
    table.read(1_100, "AS")
    table.read(1_200, "AS")
    table.failed(1_300, scanner="desk")
    table.failed(1_400, scanner="desk")
    assert {"shoe": 2, "desk": 1} == table.state.memory.bounces


def test_another_scanner_has_a_memory_of_its_own() -> None:
    """A card that one scanner just gave is no bounce from another: either may be the misread one."""
    table = Table().opened().dealt(["AS"])
    assert ["rejected duplicate B1 try 1 A1"] == table.read(1_001, "AS", "desk")


def test_a_rejected_card_is_remembered_for_bounces_too() -> None:
    """A card that no round was open for bounces when a round opens while it still lies there."""
    table = Table()
    assert ["rejected no_round"] == table.read(0, "AS")
    table.opened(100)
    assert ["bounce"] == table.read(399, "AS")
    assert ["accepted A1 AS try 1"] == table.read(799, "AS")


def test_a_bounce_comes_before_the_hold() -> None:
    """While the round is held, the card that still lies there goes on to bounce without a word."""
    table = Table().opened().dealt(["AS"])
    table.command(1_100, "hold")
    assert ["bounce"] == table.read(1_200, "AS")


def test_without_a_bounce_time_nothing_bounces() -> None:
    """With `bounce_ms = 0` each sighting is a read."""
    table = Table(rules=Rules(bounce_ms=0)).opened().dealt(["AS"])
    assert ["rejected duplicate B1"] == table.read(1_000, "AS")


# --- row 2: held -----------------------------------------------------------------------------------------------


def test_while_held_every_card_is_rejected_without_an_attempt() -> None:
    """A held round takes no card; the rejection names the due slot and counts no try."""
    table = Table().opened().dealt(["AS"])
    table.command(2_000, "hold")
    assert ["rejected held B1"] == table.read(3_000, "KH")
    assert ["rejected held B1"] == table.read(4_000, "AS")
    table.command(5_000, "release")
    assert ["accepted B1 KH try 1"] == table.read(6_000, "KH")


# --- row 3: no round, and only a command opens one --------------------------------------------------------------


def test_without_a_round_a_card_is_rejected() -> None:
    """Where a command opens rounds, a card before it is refused as `no_round`."""
    table = Table()
    assert ["rejected no_round"] == table.read(0, "AS")
    assert "wait" == table.prompt


def test_after_the_round_a_card_is_an_extra_one() -> None:
    """Where a command opens rounds, a card after a completed one is refused as `extra_card`, however late."""
    table = Table().opened().dealt()
    table.wait(7_000)
    assert ["rejected extra_card"] == table.read(60_000, "2C")


def test_after_a_void_a_card_has_no_round() -> None:
    """A voided round is gone: a card after it is refused as `no_round`."""
    table = Table().opened().dealt(["AS"])
    table.command(2_000, "void")
    assert ["rejected no_round"] == table.read(2_001, "KH")


# --- row 4: too soon after a round -----------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "told"), [(2_999.999, "rejected extra_card"), (3_000, "opened tp-01/2")])
def test_the_gap_between_rounds_ends_at_its_bound(after: float, told: str) -> None:
    """In `auto` a card less than `round_gap_ms` after the completion opens no round, and one later does."""
    table = auto().dealt()
    assert ["completed at 6150"] == table.wait(6_150)
    assert told == table.read(6_150 + after, "2C")[0]


def test_the_gap_is_counted_from_the_voiding_where_that_was_later() -> None:
    """A completed round that is voided starts the gap anew, and cards in it have no round."""
    table = auto().dealt()
    table.command(8_000, "void")
    assert ["rejected no_round"] == table.read(10_999, "2C")
    assert ["opened tp-01/2", "accepted A1 3C try 1"] == table.read(11_000, "3C")


def test_the_first_round_has_no_gap_before_it() -> None:
    """At the very start the first card opens a round at once."""
    assert ["opened tp-01/1", "accepted A1 AS try 1"] == auto().read(0, "AS")


def test_the_last_card_of_a_round_that_still_lies_there_opens_none() -> None:
    """In `auto` the round's last card is an extra one for as long as its scanner sees it every so often."""
    table = auto().dealt()
    table.wait(6_150)
    for at in range(8_000, 30_000, 2_000):
        assert ["rejected extra_card"] == table.read(at, "9H")
    assert ["rejected extra_card"] == table.read(30_999, "9H")
    assert ["opened tp-01/2", "accepted A1 9H try 1"] == table.read(33_999, "9H")


def test_bounces_of_the_last_card_keep_it_lying_there() -> None:
    """A sighting that only bounced still says that the card lies there."""
    table = auto().dealt()
    table.wait(6_150)
    for at in range(6_300, 9_600, 300):
        assert ["bounce"] == table.read(at, "9H")
    assert ["rejected extra_card"] == table.read(12_299, "9H")


def test_the_last_card_from_another_scanner_may_open_a_round() -> None:
    """Only the scanner on which the last card lies sees it lying there."""
    table = auto().dealt()
    table.read(8_000, "9H")
    assert ["opened tp-01/2", "accepted A1 9H try 1"] == table.read(9_150, "9H", "desk")


def test_another_card_than_the_last_may_open_a_round() -> None:
    """Only the last card may still lie there; any other seen of late opens a round."""
    table = auto().dealt()
    table.read(8_000, "2C")
    assert ["opened tp-01/2", "accepted A1 2C try 1"] == table.read(9_150, "2C")


def test_the_last_card_of_a_voided_round_that_still_lies_there_opens_none() -> None:
    """After a void the round's last card is refused as `no_round` while its scanner goes on seeing it."""
    table = auto().dealt(["AS", "KH"])
    table.command(2_100, "void")
    assert ["rejected no_round"] == table.read(4_900, "KH")
    assert ["rejected no_round"] == table.read(7_899, "KH")
    assert ["opened tp-01/2", "accepted A1 KH try 1"] == table.read(10_899, "KH")


def test_a_last_card_entered_by_hand_lies_on_no_scanner() -> None:
    """A last card that was typed in opens a round when it is scanned after the gap."""
    table = auto(TWO_SLOTS).dealt(["AS"])
    table.enter(2_000, "B1", "KH")
    table.wait(2_150)
    table.read(5_100, "KH")
    assert ["opened tp-01/2", "accepted A1 KH try 1"] == table.read(5_600, "KH")


# --- rows 5 and 6: a card opens a round --------------------------------------------------------------------------


def test_without_the_broker_a_card_opens_no_round() -> None:
    """In `auto` no round begins while the broker is away: its cards could not go out."""
    table = auto()
    table.broker(0, up=False)
    assert ["rejected offline"] == table.read(1_000, "AS")
    assert "network_down" == table.prompt
    table.broker(2_000, up=True)
    assert ["opened tp-01/1", "accepted A1 AS try 1"] == table.read(3_000, "AS")


def test_the_gap_comes_before_the_broker() -> None:
    """A card in the gap after a round is an extra one, whether the broker is there or not."""
    table = auto().dealt()
    table.broker(6_150, up=False)
    assert ["rejected extra_card"] == table.read(7_000, "2C")
    assert ["rejected offline"] == table.read(9_150, "2C")


def test_a_table_may_do_without_the_broker() -> None:
    """With `require_broker = false` a card opens a round though the broker is away."""
    table = auto(rules=Rules(start="auto", require_broker=False))
    table.broker(0, up=False)
    assert ["opened tp-01/1", "accepted A1 AS try 1"] == table.read(0, "AS")


def test_a_round_that_has_begun_is_dealt_without_the_broker() -> None:
    """A network fault does not stop a round that was opened."""
    table = auto().dealt(["AS"])
    table.broker(1_500, up=False)
    table.dealt(DEAL[1:], 2_000)
    assert ["completed at 6150"] == table.wait(6_150)


def test_the_card_that_opens_a_round_says_so() -> None:
    """A round that a card opened is `by` `auto` and carries the plan."""
    opened = auto().put(e.Read(0, "shoe", Card("AS")))[0]
    plan = ("A1", "B1", "A2", "B2", "A3", "B3")
    assert d.RoundOpened(0, "tp-01/1", "teen-patti-20-20", plan, "auto") == opened


def test_the_card_that_opens_a_round_is_judged_like_any_other() -> None:
    """A first card from the wrong hand's reader opens the round and is refused."""
    assert ["opened tp-01/1", "rejected wrong_hand A1 try 1"] == auto().read(0, "AS", hand="B")


def test_a_first_card_may_hold_the_round_that_it_opened() -> None:
    """With `max_attempts = 1` a first card from the wrong reader opens the round, is refused and holds it."""
    table = auto(rules=Rules(start="auto", max_attempts=1))
    expected = ["opened tp-01/1", "rejected wrong_hand A1 try 1", "held rescan_limit"]
    assert expected == table.read(0, "AS", hand="B")


# --- rows 7 and 7a: two cards that can't be told apart -----------------------------------------------------------


@pytest.mark.fault(70)
def test_two_cards_at_once_are_both_asked_for_again() -> None:
    """Two cards within `min_gap_ms` withdraw the first and reject the second: neither stays."""
    table = Table().opened()
    table.read(1_000, "AS")
    assert ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1"] == table.read(1_020, "7H")
    assert {} == table.cards
    assert "rescan A1 multi_read try 2" == table.prompt


@pytest.mark.parametrize(
    ("after", "told"),
    [(149.999, ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1"]), (150, ["accepted B1 KH try 1"])],
)
def test_two_cards_can_be_told_apart_from_the_bound_on(after: float, told: list[str]) -> None:
    """A card `min_gap_ms` after the last one is a card of its own."""
    assert told == Table().opened().dealt(["AS"]).read(1_000 + after, "KH")


def test_two_scanners_may_give_cards_at_once() -> None:
    """Where two scanners read, their cards are told apart however quickly they come."""
    table = Table().opened().dealt(["AS"])
    assert ["accepted B1 KH try 1"] == table.read(1_001, "KH", "desk")


def test_a_card_of_another_scanner_in_between_ends_the_doubt() -> None:
    """Only the last accepted card is withdrawn: one before it, followed by another scanner's, stays."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH", "desk")
    assert ["accepted A2 QD try 1"] == table.read(1_020, "QD")


def test_a_card_already_in_the_round_is_a_multi_read_too_when_it_comes_too_soon() -> None:
    """A card of the round that comes with the next one leaves both in doubt."""
    table = Table().opened().dealt(["AS", "KH"])
    assert ["withdrawn B1 KH multi_read", "rejected multi_read B1 try 1"] == table.read(2_010, "AS")


def test_a_third_card_at_once_is_rejected_too() -> None:
    """After two cards at once, further ones within `min_gap_ms` of each other are tries without a withdrawal."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH")
    assert ["rejected multi_read A1 try 2"] == table.read(1_159.999, "QD")
    assert ["rejected multi_read A1 try 3", "held rescan_limit"] == table.read(1_309.998, "JC")


def test_after_a_multi_read_cards_are_taken_again_from_the_bound_on() -> None:
    """A card `min_gap_ms` after a multi-read fills the slot that was emptied."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH")
    assert ["accepted A1 QD try 2"] == table.read(1_160, "QD")


def test_a_multi_read_of_one_scanner_does_not_bind_another() -> None:
    """After two cards at once on one scanner, another's card is taken at once."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH")
    assert ["accepted A1 QD try 2"] == table.read(1_020, "QD", "desk")


def test_the_withdrawn_card_bounces_until_its_time_is_over() -> None:
    """A card withdrawn by a multi-read is still remembered: while it lies there it is a bounce, later it is taken."""
    table = Table().opened().dealt(["AS"])
    table.read(1_010, "KH")
    assert ["bounce"] == table.read(1_200, "AS")
    assert ["accepted A1 AS try 2"] == table.read(1_600, "AS")


def test_a_withdrawn_last_card_is_not_withdrawn_again() -> None:
    """A card that a supervisor took back is no longer in doubt: the next one, however soon, is judged for itself."""
    table = Table().opened().dealt(["AS"])
    table.command(1_010, "rescan", slot="A1")
    assert ["accepted A1 KH try 1"] == table.read(1_020, "KH")


def test_a_multi_read_is_counted_for_the_slot_that_was_emptied() -> None:
    """Tries of a slot before its card was accepted count on when that card is withdrawn by a multi-read."""
    table = Table().opened()
    table.failed(1_000)
    assert ["accepted A1 AS try 2"] == table.read(2_000, "AS")
    assert ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 2"] == table.read(2_010, "KH")
    assert "rescan A1 multi_read try 3" == table.prompt


def test_the_last_try_of_a_multi_read_holds_the_round() -> None:
    """A multi-read that is the last try allowed withdraws, rejects and holds in one decision."""
    table = Table(rules=Rules(max_attempts=1)).opened().dealt(["AS"])
    expected = ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1", "held rescan_limit"]
    assert expected == table.read(1_010, "KH")


def test_the_last_card_of_the_round_may_be_doubted() -> None:
    """A seventh card within `min_gap_ms` of the sixth takes the sixth back, and the round goes on."""
    table = Table().opened().dealt()
    assert ["withdrawn B3 9H multi_read", "rejected multi_read B3 try 1"] == table.read(6_149, "2C")
    assert [] == table.wait(10_000)
    assert ["accepted B3 9H try 2"] == table.read(11_000, "9H")


def test_without_a_minimum_gap_any_two_cards_are_told_apart() -> None:
    """With `min_gap_ms = 0` a second card at the same moment fills the next slot."""
    table = Table(rules=Rules(min_gap_ms=0)).opened().dealt(["AS"])
    assert ["accepted B1 KH try 1"] == table.read(1_000, "KH")


def test_a_multi_read_while_no_slot_is_due_names_none() -> None:
    """A third card at once that finds every slot filled, by another scanner meanwhile, is refused without a try."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    table.read(2_010, "QD")
    table.read(2_020, "JC", "desk")
    assert ["rejected multi_read"] == table.read(2_030, "TS")


# --- rows 8, 8a, 8b ---------------------------------------------------------------------------------------------


@pytest.mark.fault(59)
def test_a_card_that_lies_on_its_scanner_is_a_duplicate_without_an_attempt() -> None:
    """The card last accepted from a scanner may lie there for as long as it likes: the round is never held for it."""
    table = Table().opened().dealt(["AS"])
    for at in range(2_000, 20_000, 1_000):
        assert ["rejected duplicate B1"] == table.read(at, "AS")
    assert "deal B1 try 1" == table.prompt


def test_each_scanner_has_its_own_card_lying_there() -> None:
    """The last card of one scanner still lies there though another scanner gave cards since."""
    table = Table().opened().dealt(["AS"])
    table.read(2_000, "KH", "desk")
    assert ["rejected duplicate A2"] == table.read(3_000, "AS")
    assert ["rejected duplicate A2 try 1 B1"] == table.read(4_000, "KH")


def test_a_card_entered_by_hand_is_a_duplicate_without_an_attempt() -> None:
    """A card that a supervisor typed in may be scanned after all, and nothing is doubted."""
    table = Table().opened()
    table.enter(1_000, "A1", "AS")
    assert ["rejected duplicate B1"] == table.read(2_000, "AS")
    assert "deal B1 try 1" == table.prompt


def test_a_card_already_in_the_round_names_the_other_slot() -> None:
    """A second card of the same face is refused with the slot of the first: either may be the misread one."""
    table = Table().opened().dealt(["AS", "KH"])
    assert ["rejected duplicate A2 try 1 A1"] == table.read(3_000, "AS")
    assert "rescan A2 duplicate try 2 A1" == table.prompt


def test_a_duplicate_is_none_of_the_last_card_once_that_was_withdrawn() -> None:
    """After the last card was taken back, the one before it is a conflict, not a card that lies there."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(2_500, "rescan", slot="B1")
    assert ["rejected duplicate B1 try 1 A1"] == table.read(3_000, "AS")


def test_three_duplicates_hold_the_round() -> None:
    """Conflicts count as tries: the third for a slot holds the round, in the same decision."""
    table = Table().opened().dealt(["AS", "KH"])
    table.read(3_000, "AS")
    table.read(4_000, "AS")
    assert ["rejected duplicate A2 try 3 A1", "held rescan_limit"] == table.read(5_000, "AS")
    assert "call_supervisor A2 rescan_limit" == table.prompt


def test_a_duplicate_while_no_slot_is_due_names_the_conflict_alone() -> None:
    """A card of the round that comes while the last one is still doubted is a duplicate for no slot and no try."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert ["rejected duplicate A1"] == table.read(2_100, "AS", "desk")


def test_a_further_card_while_no_slot_is_due_is_an_extra_one() -> None:
    """Before the round is complete, another scanner's new card is refused without a try, and the round completes."""
    table = Table().opened().dealt()
    assert ["rejected extra_card"] == table.read(6_100, "2C", "desk")
    assert ["completed at 6150"] == table.wait(7_000)


# --- rows 9 and 10 ----------------------------------------------------------------------------------------------


def test_a_card_from_the_other_hands_reader_is_refused() -> None:
    """A reader of hand B can't fill a slot of hand A."""
    table = Table().opened()
    assert ["rejected wrong_hand A1 try 1"] == table.read(1_000, "AS", hand="B")
    assert "rescan A1 wrong_hand try 2" == table.prompt
    assert ["accepted A1 KH try 2"] == table.read(2_000, "KH", hand="A")


def test_a_reader_without_a_hand_fills_any_slot() -> None:
    """A scanner that reads for both hands fills the due slot, whosever it is."""
    table = Table().opened().dealt()
    assert ["AS", "KH", "QD", "JC", "TS", "9H"] == list(table.cards.values())


def test_a_duplicate_comes_before_the_wrong_hand() -> None:
    """A card of the round from the wrong reader is told as the duplicate that it is."""
    table = Table().opened().dealt(["AS", "KH"])
    assert ["rejected duplicate A2 try 1 A1"] == table.read(3_000, "AS", hand="B")


def test_an_accepted_card_says_all_of_itself() -> None:
    """The event of an accepted card holds its slot, hand, place, scanner, try and way."""
    table = Table().opened()
    accepted = table.put(e.Read(1_000_000, "shoe", Card("AS"), "A", raw=b"AS\r\n"))
    assert [d.CardAccepted(1_000_000, "A1", "A", 1, Card("AS"), "shoe", 1, "scan", None)] == accepted


def test_a_rejected_card_says_all_of_itself() -> None:
    """The event of a rejected card holds the card and the first 64 bytes of its frame."""
    table = Table()
    rejected = table.put(e.Read(5, "shoe", Card("AS"), raw=bytes(range(100))))
    raw = bytes(range(64)).hex()
    assert [d.ScanRejected(5, "no_round", None, None, "shoe", Card("AS"), None, raw, None)] == rejected


# --- the table as a whole ---------------------------------------------------------------------------------------


def test_every_phase_has_a_row_for_every_read() -> None:
    """In each phase the last row takes whatever came so far."""
    for phase in ("idle", "dealing", "held", "complete"):
        last = [row for row in READ_ROWS if phase in row.phases][-1]
        assert "_always" == last.when.__name__


def test_a_deck_has_52_cards() -> None:
    """Each rank and suit is there once, and nothing else names a card."""
    assert 52 == len(set(DECK))
    assert [Card("TD"), None, None, None] == [card("TD"), card("td"), card("1D"), card("")]


def test_a_round_is_told_with_its_cards_by_hand_and_in_order() -> None:
    """A completed round holds both hands, the cards as dealt, all rejections and the time to the last card."""
    table = Table().opened(500)
    table.failed(700)
    table.dealt()
    hands: dict[str, tuple[Card, ...]] = {
        "A": (Card("AS"), Card("QD"), Card("TS")),
        "B": (Card("KH"), Card("JC"), Card("9H")),
    }
    dealt = tuple(Card(one) for one in DEAL)
    assert [d.RoundCompleted(6_150_000, hands, dealt, 1, 5_500)] == table.put(e.Deadline(6_150_000))
