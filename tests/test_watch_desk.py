"""The supervisor at the keyboard: what a key asks for, and what is sent in the end."""

from __future__ import annotations

import pytest

from scannerd.watching.desk import Act, Leave, Outcome, SignIn, settled
from tests.watched import desk, prompt_fields, round_fields, screen, shown, typed, unplugged


def test_release_needs_nothing_but_a_name() -> None:
    """From the broker alone the first action asks for a name, and a release then goes out at once."""
    held = shown(desk(), "round", round_fields("held"))
    asked, nothing = typed(held, "r")
    assert nothing is None
    assert "Your name:" in screen(asked)
    _, wish = typed(asked, "Ana", "ENTER")
    assert Act("tp-01", "Ana", "release", {}) == wish


def test_name_is_asked_once() -> None:
    """Whoever has given a name at a table is not asked again there."""
    first, _ = typed(desk(), "h", "Ana", "ENTER", "ENTER")
    done, _ = settled(first, Outcome("tp-01", "done", {"command": "hold"}))
    _, wish = typed(done, "h", "card on the floor", "ENTER")
    assert Act("tp-01", "Ana", "hold", {"reason": "card on the floor"}) == wish


def test_pin_is_checked_before_anything_is_asked() -> None:
    """Where a PIN guards the table, name and PIN are checked first, and the action goes on once they fit."""
    waiting, wish = typed(desk(guard="pin"), "v", "Ana", "ENTER", "735190", "ENTER")
    assert SignIn("tp-01", "Ana", "735190") == wish
    signed, nothing = settled(waiting, Outcome("tp-01", "signed_in", {"name": "Ana"}))
    assert nothing is None
    _, act = typed(signed, "wrong card", "ENTER")
    assert Act("tp-01", "Ana", "void", {"reason": "wrong card"}) == act


def test_pin_is_never_shown() -> None:
    """A PIN that is typed stands on the screen as stars, and in no repr."""
    asked, _ = typed(desk(guard="pin"), "h", "Ana", "ENTER", "735190")
    assert "PIN: ******_" in screen(asked)
    waiting, wish = typed(asked, "ENTER")
    for told in (repr(asked), repr(waiting), repr(wish), screen(waiting)):
        assert "735190" not in told


def test_wrong_pin_ends_the_action() -> None:
    """After a wrong PIN nothing is sent, and the screen says how many tries are left."""
    waiting, _ = typed(desk(guard="pin"), "h", "Ana", "ENTER", "1", "ENTER")
    refused, wish = settled(waiting, Outcome("tp-01", "wrong_pin", {"left": "4"}))
    assert (None, {}) == (wish, refused.signed)
    assert "Wrong PIN. Tries left: 4." in screen(refused)


def test_signed_out_is_asked_again() -> None:
    """Once the daemon has signed the supervisor out, the next action asks for name and PIN again."""
    waiting, _ = typed(desk(guard="pin"), "h", "Ana", "ENTER", "735190", "ENTER")
    signed, _ = settled(waiting, Outcome("tp-01", "signed_in", {"name": "Ana"}))
    sent, _ = typed(signed, "ENTER")
    out, _ = settled(sent, Outcome("tp-01", "signed_out"))
    asked, _ = typed(out, "h")
    assert "Your name:" in screen(asked)


def test_entered_card_is_the_due_one() -> None:
    """A card is entered into the due slot, which stands there already; letter case and a 10 are understood."""
    _, wish = typed(desk(), "e", "Ana", "ENTER", "ENTER", "10d", "ENTER", "torn code", "ENTER")
    assert Act("tp-01", "Ana", "enter", {"slot": "B1", "card": "TD", "reason": "torn code"}) == wish


@pytest.mark.parametrize(("typed_slot", "sent"), [("a1", "A1"), ("all", "all")])
def test_filled_slots_or_all_are_scanned_again(typed_slot: str, sent: str) -> None:
    """One filled slot can be scanned again, or all of them."""
    _, wish = typed(desk(), "s", "Ana", "ENTER", typed_slot, "ENTER")
    assert Act("tp-01", "Ana", "rescan", {"slot": sent}) == wish


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("h", "ENTER"), "A name is needed."),
        (("v", "Ana", "ENTER", " ", "ENTER"), "A reason is needed."),
        (("s", "Ana", "ENTER", "B1", "ENTER"), "Possible: A1 ALL"),
        (("e", "Ana", "ENTER", "CLEAR", "A1", "ENTER"), "Possible: B1"),
        (("e", "Ana", "ENTER", "ENTER", "1S", "ENTER"), "Write the card as AS, TD or 2C"),
    ],
)
def test_answer_that_cannot_be_is_not_taken(keys: tuple[str, ...], said: str) -> None:
    """An answer that can't be one is not taken: the screen says why and goes on asking."""
    asked, wish = typed(desk(), *keys)
    assert wish is None
    assert said in screen(asked)
    assert asked.asking is not None


@pytest.mark.parametrize(("phase", "keys"), [("idle", ""), ("dealing", "hvse"), ("held", "rvse"), ("complete", "v")])
def test_actions_are_those_of_the_phase(phase: str, keys: str) -> None:
    """Only what makes sense in the phase can be done; another key says so."""
    at = shown(desk(), "round", round_fields(phase))
    assert keys == "".join(at.possible())
    for key in set("hrvse") - set(keys):
        after, _ = typed(at, key)
        assert "Not possible now" in screen(after)


def test_nothing_is_done_at_a_table_that_is_away() -> None:
    """While the table is not connected no action is offered."""
    assert [] == unplugged(desk()).possible()


def test_escape_leaves_the_question() -> None:
    """Escape cancels an action, whatever was typed; keys of actions are letters while something is typed."""
    asked, _ = typed(desk(), "h", "qhv")
    assert "qhv_" in screen(asked)
    left, wish = typed(asked, "ESC")
    assert (None, None) == (left.asking, wish)


def test_typing_can_be_mended() -> None:
    """Backspace takes the last letter away, clear all of them; keys without a letter change nothing."""
    asked, _ = typed(desk(), "h", "Anna", "BACKSPACE", "BACKSPACE", "TAB", "\x07", "a")
    assert "Your name: Ana_" in screen(asked)
    assert "Your name: _" in screen(typed(asked, "CLEAR")[0])


def test_second_action_waits_for_the_first() -> None:
    """While a command is on its way no other can be begun."""
    sent, _ = typed(desk(), "h", "Ana", "ENTER", "ENTER")
    after, wish = typed(sent, "v")
    assert (None, None) == (after.asking, wish)
    refused, _ = settled(sent, Outcome("tp-01", "failed", {"message": "nothing is dealt"}))
    assert "Not done: nothing is dealt" in screen(refused)
    assert typed(refused, "v")[0].asking is not None


def test_tables_are_turned_to() -> None:
    """Tab goes on to the next table and around, digits and the list go anywhere."""
    three = desk("tp-01", "tp-02", "tp-03")
    assert [1, 0, 2, 1] == [typed(three, *keys)[0].at for keys in (("TAB",), ("TAB",) * 3, ("BTAB",), ("2",))]
    listed, _ = typed(three, "a")
    assert listed.listing
    assert ("tp-03", False) == (typed(listed, "3")[0].known.table, typed(listed, "3")[0].listing)
    assert 0 == typed(three, "9")[0].at
    assert not typed(desk(), "a")[0].listing


def test_outcome_goes_to_its_own_table() -> None:
    """Of several tables, a message names the one that it is about."""
    sent, _ = typed(desk("tp-01", "tp-02"), "h", "Ana", "ENTER", "ENTER", "TAB")
    after, _ = settled(sent, Outcome("tp-01", "no_answer"))
    assert "tp-01: No answer in time." in screen(after)


def test_q_ends() -> None:
    """The key q ends the program, unless something is typed."""
    assert Leave() == typed(desk(), "q")[1]
    assert typed(desk(), "h", "q")[1] is None


def test_action_belongs_to_the_table_it_was_begun_at() -> None:
    """A question goes on at its table though the prompt changes meanwhile."""
    asked, _ = typed(desk("tp-01", "tp-02"), "h", "Ana", "ENTER")
    moved = shown(asked, "prompt", prompt_fields("wait", None))
    _, wish = typed(moved, "ENTER")
    assert isinstance(wish, Act)
    assert ("tp-01", "hold") == (wish.table, wish.command)
