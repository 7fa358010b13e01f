"""Deal plans: which orders of slots are games."""

from __future__ import annotations

import pytest

from scannerd.core.games import TEEN_PATTI_20_20, Plan, Slot, plan


def test_teen_patti_is_dealt_alternately() -> None:
    """Two hands of three cards, A first."""
    assert ("A1", "B1", "A2", "B2", "A3", "B3") == TEEN_PATTI_20_20.names
    assert ("A", "B") == TEEN_PATTI_20_20.hands


def test_a_plan_knows_its_slots_by_name() -> None:
    """A slot has a hand and a place; what names none, of whatever type, is none."""
    made = plan("g", ["B1", "A1", "B2"])
    assert Plan("g", (Slot("B1", "B", 1), Slot("A1", "A", 1), Slot("B2", "B", 2))) == made
    assert Slot("B2", "B", 2) == made.slot("B2")
    assert [None] * 4 == [made.slot(name) for name in ("A2", None, 7, ["A1"])]


def test_hands_stand_in_the_order_of_their_first_card() -> None:
    """The hand dealt first is named first."""
    assert ("B", "A") == plan("g", ["B1", "A1", "B2"]).hands


@pytest.mark.parametrize("count", [1, 52])
def test_a_plan_has_as_many_slots_as_a_deck_has_cards_at_most(count: int) -> None:
    """From one slot up to the whole deck is a game."""
    assert count == len(plan("g", [f"A{number}" for number in range(1, count + 1)]).slots)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ([], "1 to 52 slots, not 0"),
        ([f"A{number}" for number in range(1, 54)], "1 to 52 slots, not 53"),
        (["a1"], "'a1' is no slot"),
        (["A0"], "'A0' is no slot"),
        (["A01"], "'A01' is no slot"),
        (["A1\n"], "is no slot"),
        (["AA1"], "'AA1' is no slot"),
        (["A"], "'A' is no slot"),
        (["A100"], "'A100' is no slot"),
        (["A1", "A1"], "A1 comes where A2 is due"),
        (["A2", "A1"], "A2 comes where A1 is due"),
        (["A1", "B1", "A3"], "A3 comes where A2 is due"),
    ],
)
def test_an_order_that_is_no_deal_is_refused(order: list[str], why: str) -> None:
    """Each slot is named once, by a capital letter and the next number of that hand."""
    with pytest.raises(ValueError, match=why):
        plan("g", order)
