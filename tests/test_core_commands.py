"""Commands, each in every phase, with what it does, what it refuses and what it clears."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.commands import COMMANDS
from scannerd.core.state import Rules
from tests.core_table import TWO_SLOTS, Table, auto


def in_phase(phase: str) -> Table:
    """A table of two slots whose round is there; a held or dealt one has a card in A1."""
    table = Table(TWO_SLOTS)
    if phase == "idle":
        return table
    table.opened().dealt(["AS"])
    if phase == "held":
        table.command(1_500, "hold", reason="spilled drink")
    if phase == "complete":
        table.dealt(["KH"], 2_000).wait(2_150)
    return table


FIELDS: dict[str, dict[str, object]] = {
    "rescan": {"slot": "A1"},
    "enter": {"slot": "B1", "card": "KH", "reason": "torn"},
}

ALLOWED = {
    ("open", "idle"): ["opened tp-01/1"],
    ("open", "dealing"): ["refused round_in_progress"],
    ("open", "held"): ["refused round_in_progress"],
    ("open", "complete"): ["opened tp-01/2"],
    ("void", "idle"): ["refused no_round"],
    ("void", "dealing"): ["voided dealing"],
    ("void", "held"): ["voided held"],
    ("void", "complete"): ["voided complete"],
    ("hold", "idle"): ["refused not_dealing"],
    ("hold", "dealing"): ["held None"],
    ("hold", "held"): ["refused not_dealing"],
    ("hold", "complete"): ["refused not_dealing"],
    ("release", "idle"): ["refused not_held"],
    ("release", "dealing"): ["refused not_held"],
    ("release", "held"): ["released"],
    ("release", "complete"): ["refused not_held"],
    ("rescan", "idle"): ["refused not_dealing"],
    ("rescan", "dealing"): ["withdrawn A1 AS rescan"],
    ("rescan", "held"): ["withdrawn A1 AS rescan"],
    ("rescan", "complete"): ["refused not_dealing"],
    ("enter", "idle"): ["refused not_dealing"],
    ("enter", "dealing"): ["accepted B1 KH try 1"],
    ("enter", "held"): ["released", "accepted B1 KH try 1"],
    ("enter", "complete"): ["refused not_dealing"],
}


@pytest.mark.parametrize(("name", "phase"), ALLOWED)
def test_a_command_in_each_phase(name: str, phase: str) -> None:
    """Each command does its work in the phases it is allowed in and has one refusal for the others."""
    assert ALLOWED[name, phase] == in_phase(phase).command(3_000, name, "eva", **FIELDS.get(name, {}))


def test_every_command_is_tried_in_every_phase() -> None:
    """The table above leaves out no command."""
    assert set(COMMANDS) == {name for name, _ in ALLOWED}


@pytest.mark.parametrize("phase", ["idle", "dealing", "held", "complete"])
def test_an_unknown_command_is_refused(phase: str) -> None:
    """A name that is no command's is refused in every phase."""
    assert ["refused unknown_command"] == in_phase(phase).command(3_000, "shuffle")


@pytest.mark.parametrize(("name", "phase"), [key for key, told in ALLOWED.items() if told[0].startswith("refused")])
def test_a_refused_command_changes_nothing(name: str, phase: str) -> None:
    """After a refusal the table is as it was before."""
    table = in_phase(phase)
    before = table.state
    table.command(3_000, name, "eva", **FIELDS.get(name, {}))
    assert before == table.state


# --- open ------------------------------------------------------------------------------------------------------


def test_open_says_who_asked_and_the_plan() -> None:
    """The event of an opened round holds the game, its plan and who opened it."""
    told = Table(TWO_SLOTS).put(e.Command(7, "open", "engine", {"round": "r-1"}))
    assert [d.RoundOpened(7, "r-1", "two", ("A1", "B1"), "engine")] == told


def test_open_by_nobody_is_by_null() -> None:
    """A command that names nobody opens a round by null."""
    assert [d.RoundOpened(7, "tp-01/1", "two", ("A1", "B1"), None)] == Table(TWO_SLOTS).put(
        e.Command(7, "open", None, {"round": None})
    )


def test_open_without_the_broker_is_refused() -> None:
    """No round is opened whose cards could not go out, unless the table may do without the broker."""
    table = Table()
    table.broker(0, up=False)
    assert ["refused offline"] == table.command(1, "open")
    table = Table(rules=Rules(require_broker=False))
    table.broker(0, up=False)
    assert ["opened tp-01/1"] == table.command(1, "open")


def test_an_auto_table_may_be_opened_by_command_at_once() -> None:
    """A command opens a round in `auto` too, also within the gap after the last one."""
    table = auto(TWO_SLOTS).dealt(["AS", "KH"])
    assert ["completed at 2150", "opened r-2"] == table.command(2_200, "open", round="r-2")


@pytest.mark.parametrize("name", ["r", "!", "~", "x" * 64, "tp-01", "tp-02/1", "TP-01/1", "r/1"])
def test_an_engine_may_name_a_round(name: str) -> None:
    """An id is 1 to 64 printable ASCII characters without spaces that does not begin like the daemon's own."""
    assert [f"opened {name}"] == Table().command(0, "open", round=name)


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "a b", " r", "r\n", "\x7f", "\x00", "ä", "tp-01/", "tp-01/1", "tp-01/x", 7, True, [], {}, 0]
)
def test_a_bad_round_id_is_refused(name: object) -> None:
    """Any other id, of whatever type, is refused and opens nothing."""
    assert ["refused bad_round_id"] == Table().command(0, "open", round=name)


def test_a_round_id_is_not_given_twice() -> None:
    """An id of a round, voided ones included, is refused for another."""
    table = Table()
    table.command(0, "open", round="r-1")
    table.command(1, "void")
    assert ["refused bad_round_id"] == table.command(2, "open", round="r-1")


def test_a_round_id_is_remembered_for_a_thousand_rounds() -> None:
    """An id is refused while it is among the last 1,000, and not longer."""
    table = Table()
    for number in range(1_000):
        table.command(number, "open", round=f"r-{number}")
        table.command(number, "void")
    assert ["refused bad_round_id"] == table.command(5_000, "open", round="r-0")
    table.command(5_001, "open", round="r-new")
    table.command(5_002, "void")
    assert ["opened r-0"] == table.command(5_003, "open", round="r-0")


def test_the_daemons_own_ids_count_all_rounds() -> None:
    """Rounds without an engine's id are numbered by all rounds of the journal, those with one included."""
    table = Table()
    table.command(0, "open", round="r-1")
    table.command(1, "void")
    table.command(2, "open")
    table.command(3, "void")
    table.command(4, "open", round="r-3")
    table.command(5, "void")
    assert ["opened tp-01/4"] == table.command(6, "open")


def test_open_clears_all_tries_and_doubts() -> None:
    """A new round begins at try 1, whatever came before."""
    table = Table().opened()
    table.failed(1_000)
    table.failed(2_000)
    table.command(3_000, "void")
    table.command(4_000, "open")
    assert "deal A1 try 1" == table.prompt
    assert ["rejected no_read A1 try 1"] == table.failed(5_000)


# --- void and hold ---------------------------------------------------------------------------------------------


def test_void_says_why_by_whom_and_what_the_round_was() -> None:
    """The event of a voided round holds the reason, the person and the phase."""
    table = in_phase("complete")
    told = table.put(e.Command(9_000_000, "void", "eva", {"reason": "misdeal"}))
    assert [d.RoundVoided(9_000_000, "misdeal", "eva", "complete")] == told
    assert "wait" == table.prompt
    assert ["refused no_round"] == table.command(9_001, "void")


def test_hold_says_why_and_by_whom() -> None:
    """The event of a held round holds the reason and the person, and the prompt the reason."""
    table = in_phase("dealing")
    told = table.put(e.Command(3_000_000, "hold", "eva", {"reason": "spilled drink"}))
    assert [d.RoundHeld(3_000_000, "spilled drink", "eva")] == told
    assert "call_supervisor B1 spilled drink" == table.prompt


@pytest.mark.parametrize("reason", [None, 7, ["x"], {}])
def test_a_reason_that_is_no_text_is_null(reason: object) -> None:
    """A reason that is not given, or no text, is null."""
    table = in_phase("dealing")
    assert [d.RoundHeld(3_000_000, None, None)] == table.put(e.Command(3_000_000, "hold", None, {"reason": reason}))


# --- release ----------------------------------------------------------------------------------------------------


def test_release_clears_the_tries_of_all_slots() -> None:
    """After a release the dealer has all tries again, at every slot."""
    table = Table().opened().dealt(["AS"])
    for at in (2_000, 3_000, 4_000):
        table.failed(at)
    table.command(5_000, "release")
    assert "rescan B1 no_read try 1" == table.prompt
    assert ["rejected no_read B1 try 1"] == table.failed(6_000)


def test_release_lets_a_card_that_was_rejected_while_held_be_scanned_at_once() -> None:
    """A card that came during the hold is taken right after the release: it is no bounce."""
    table = in_phase("held")
    assert ["rejected held B1"] == table.read(3_000, "KH")
    table.command(3_100, "release")
    assert ["accepted B1 KH try 1"] == table.read(3_101, "KH")


def test_release_clears_stale_cards_too() -> None:
    """A card that was rejected while held for any reason, stale included, is forgotten by the release."""
    table = in_phase("held")
    table.command(2_000, "release")
    table.read(2_001, "AS")
    table.command(2_002, "hold")
    table.read(2_003, "AS", stale=True)
    table.command(2_004, "release")
    assert ["rejected duplicate B1"] == table.read(2_005, "AS")


def test_release_leaves_other_cards_remembered() -> None:
    """A card that was not rejected during the hold goes on to bounce."""
    table = in_phase("dealing")
    table.command(1_100, "hold")
    table.command(1_200, "release")
    assert ["bounce"] == table.read(1_399, "AS")


def test_a_release_leaves_what_an_earlier_hold_rejected() -> None:
    """Cards that were rejected in a hold that ended in a void are no matter of the next round's release."""
    table = in_phase("held")
    table.read(3_000, "KH")
    table.command(3_100, "void")
    table.opened(3_200)
    table.read(4_000, "KH")
    table.command(4_100, "hold")
    table.command(4_200, "release")
    assert ["bounce"] == table.read(4_300, "KH")


def test_release_says_by_whom() -> None:
    """The event of a released round holds the person."""
    table = in_phase("held")
    assert [d.RoundReleased(3_000_000, "eva")] == table.put(e.Command(3_000_000, "release", "eva", {}))


# --- rescan ----------------------------------------------------------------------------------------------------


def test_rescan_of_all_withdraws_in_plan_order() -> None:
    """`all` takes back every card, in the order of the plan, and the first slot is due."""
    table = Table().opened().dealt(["AS", "KH", "QD"])
    expected = ["withdrawn A1 AS rescan", "withdrawn B1 KH rescan", "withdrawn A2 QD rescan"]
    assert expected == table.command(4_000, "rescan", slot="all")
    assert "rescan A1 rescan try 1" == table.prompt


def test_rescan_lets_the_withdrawn_card_be_scanned_at_once() -> None:
    """A card that is taken back is no bounce from any scanner."""
    table = Table().opened().dealt(["AS"])
    table.command(1_010, "rescan", slot="A1")
    assert ["accepted A1 AS try 1"] == table.read(1_020, "AS")


def test_rescan_leaves_other_cards_remembered() -> None:
    """A card that stays goes on to bounce."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(2_100, "rescan", slot="A1")
    assert ["bounce"] == table.read(2_200, "KH")


def test_rescan_clears_the_tries_of_its_slots_alone() -> None:
    """The withdrawn slot begins at try 1; the slot that was due before keeps its count."""
    table = Table().opened()
    table.failed(1_000)
    table.dealt(["AS"], 2_000)
    table.failed(3_000)
    table.command(4_000, "rescan", slot="A1")
    assert ["accepted A1 QD try 1"] == table.read(5_000, "QD")
    assert "deal B1 try 2" == table.prompt


def test_rescan_while_held_stays_held() -> None:
    """A supervisor may take cards back before the release."""
    table = in_phase("held")
    table.command(3_000, "rescan", slot="all")
    assert "call_supervisor A1 spilled drink" == table.prompt


@pytest.mark.parametrize("slot", ["B1", "A9", "a1", "", None, 7, ["A1"], {"A1": 1}, True])
def test_rescan_of_a_slot_without_a_card_is_refused(slot: object) -> None:
    """A slot that is empty, or none at all, has nothing to take back."""
    assert ["refused empty_slot"] == in_phase("dealing").command(3_000, "rescan", slot=slot)


def test_rescan_of_all_without_cards_is_refused() -> None:
    """`all` of nothing is refused too, and so is no slot."""
    table = Table().opened()
    assert ["refused empty_slot"] == table.command(1, "rescan", slot="all")
    assert ["refused empty_slot"] == table.command(2, "rescan")


def test_rescan_of_the_last_card_stops_the_completion() -> None:
    """A card taken back while the round is about to complete keeps it open."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert ["withdrawn A1 AS rescan"] == table.command(2_149, "rescan", slot="A1")
    assert [] == table.wait(10_000)
    assert ["accepted A1 QD try 1"] == table.read(11_000, "QD")
    assert ["completed at 11150"] == table.wait(12_000)


def test_rescan_says_by_whom() -> None:
    """The event of a withdrawn card holds the person."""
    told = in_phase("dealing").put(e.Command(3_000_000, "rescan", "eva", {"slot": "A1"}))
    assert [d.CardWithdrawn(3_000_000, "A1", Card("AS"), "rescan", "eva")] == told


# --- enter -----------------------------------------------------------------------------------------------------


def test_an_entered_card_says_that_it_is_one() -> None:
    """The event holds no scanner, the way `manual`, the person and the reason."""
    fields: dict[str, object] = {"slot": "B1", "card": "KH", "reason": "torn"}
    told = in_phase("dealing").put(e.Command(3_000_000, "enter", "eva", fields))
    assert [d.CardAccepted(3_000_000, "B1", "B", 1, Card("KH"), None, 1, "manual", "eva", "torn")] == told


def test_enter_counts_the_tries_before_it() -> None:
    """A card entered after a failed read is the second try."""
    table = in_phase("dealing")
    table.failed(2_000)
    assert ["accepted B1 KH try 2"] == table.enter(3_000, "B1", "KH")


def test_enter_while_held_releases_first_and_clears_the_tries() -> None:
    """A held round is released by an entered card, which is then at its first try."""
    table = Table().opened()
    for at in (1_000, 2_000, 3_000):
        table.failed(at)
    assert ["released", "accepted A1 AS try 1"] == table.enter(4_000, "A1", "AS")
    assert "deal B1 try 1" == table.prompt


@pytest.mark.parametrize("missing", ["slot", "card", "reason"])
@pytest.mark.parametrize("empty", [None, ""])
def test_enter_needs_all_its_fields(missing: str, empty: str | None) -> None:
    """A field that is not given, null or empty is missing."""
    fields: dict[str, object] = {"slot": "B1", "card": "KH", "reason": "torn"}
    assert ["refused missing_field"] == in_phase("dealing").command(3_000, "enter", "eva", **fields | {missing: empty})
    del fields[missing]
    assert ["refused missing_field"] == in_phase("dealing").command(3_000, "enter", "eva", **fields)


@pytest.mark.parametrize("by", [None, ""])
def test_enter_needs_a_person(by: str | None) -> None:
    """Nobody may enter a card namelessly."""
    told = in_phase("dealing").command(3_000, "enter", by, slot="B1", card="KH", reason="torn")
    assert ["refused missing_field"] == told


@pytest.mark.parametrize("slot", ["A1", "A2", "b1", 7, ["B1"], {}])
def test_enter_into_another_slot_than_the_due_one_is_refused(slot: object) -> None:
    """A card is entered for the due slot or not at all."""
    told = in_phase("dealing").command(3_000, "enter", "eva", slot=slot, card="KH", reason="torn")
    assert ["refused not_due"] == told


def test_enter_while_no_slot_is_due_is_refused() -> None:
    """With every slot filled there is nothing to enter."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert ["refused not_due"] == table.enter(2_100, "B1", "QD")


@pytest.mark.parametrize("card", ["XX", "kh", "10H", "KH ", 7, ["KH"], {}, True])
def test_enter_of_what_is_no_card_is_refused(card: object) -> None:
    """A card is rank then suit in capitals, and nothing is guessed."""
    told = in_phase("held").command(3_000, "enter", "eva", slot="B1", card=card, reason="torn")
    assert ["refused bad_card"] == told


def test_enter_of_a_card_of_the_round_is_refused() -> None:
    """No card is twice in a round, by hand either, and a held round stays held."""
    table = in_phase("held")
    assert ["refused duplicate"] == table.enter(3_000, "B1", "AS")
    assert "held" == table.state.phase


def test_an_entered_card_leaves_nothing_to_bounce() -> None:
    """A card entered by hand was seen by no scanner: when one sees it, that is a duplicate."""
    table = Table().opened()
    table.enter(1_000, "A1", "AS")
    assert ["rejected duplicate B1"] == table.read(1_001, "AS")


def test_the_last_card_entered_waits_for_the_gap_too() -> None:
    """A round whose last card was entered completes after `min_gap_ms`, and a scan meanwhile can't doubt it."""
    table = Table(TWO_SLOTS).opened().dealt(["AS"])
    table.enter(2_000, "B1", "KH")
    assert ["rejected extra_card"] == table.read(2_100, "QD")
    assert ["completed at 2150"] == table.wait(2_150)


def test_release_leaves_a_card_remembered_that_was_rejected_before_the_hold() -> None:
    """Only what was rejected while held is forgotten: a card refused in the deal goes on to bounce."""
    table = in_phase("dealing")
    table.read(2_000, "KH", hand="A")
    table.command(2_100, "hold")
    table.command(2_200, "release")
    assert ["bounce"] == table.read(2_300, "KH", hand="B")


def test_release_leaves_what_a_hold_before_the_last_rejected() -> None:
    """A card that one hold rejected and the deal took since goes on to bounce after the next hold."""
    table = in_phase("held")
    table.read(3_000, "KH")
    table.command(3_100, "release")
    table.read(3_200, "KH")
    table.command(3_250, "hold")
    table.command(3_300, "release")
    assert ["bounce"] == table.read(3_340, "KH")
