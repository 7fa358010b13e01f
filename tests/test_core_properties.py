"""What holds whatever happens: any events, in any order, with any values, under any rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from scannerd import messages
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.evolution import evolve
from scannerd.core.outcomes import Decisions
from scannerd.core.prompts import Prompt, prompt
from scannerd.core.state import Setup, State
from scannerd.core.validator import decide, step
from tests.core_strategies import At, histories, setups
from tests.invariants import kept

EXAMPLES = settings(max_examples=200, deadline=None)


def events(history: list[tuple[int, At]]) -> Iterator[e.Event]:
    """The events of a history, each at its time."""
    at = 0
    for gap, make in history:
        at += gap
        yield make(at)


def play(setup: Setup, history: list[tuple[int, At]]) -> Iterator[tuple[e.Event, State, Decisions, State]]:
    """Each decision of a history: its event, the state before, what was decided, the state after."""
    state = State(setup)
    for event in events(history):
        for told, after in step(state, event):
            yield event, state, told, after
            state = after


def stepwise(before: State, told: Decisions) -> Iterator[tuple[State, d.Decision, State]]:
    """Each part of a decision with the states around it."""
    for one in told:
        after = evolve(before, one)
        yield before, one, after
        before = after


@EXAMPLES
@given(setups, histories)
def test_any_event_in_any_state_is_decided(setup: Setup, history: list[tuple[int, At]]) -> None:
    """Nothing raises, and every state has a prompt."""
    for _, _, _, after in play(setup, history):
        assert isinstance(prompt(after), Prompt)


@EXAMPLES
@given(setups, histories)
def test_no_deadline_is_left_behind(setup: Setup, history: list[tuple[int, At]]) -> None:
    """After an event no deadline at or before it is left undecided, a restart's overdue ones included."""
    state = State(setup)
    for event in events(history):
        state = step(state, event)[-1][1]
        assert state.deadline is None or state.deadline > event.at


@EXAMPLES
@given(setups, histories)
def test_no_card_is_ever_out_of_plan_order(setup: Setup, history: list[tuple[int, At]]) -> None:
    """A card is only ever accepted for the first empty slot of the plan, with that slot's hand and place."""
    for _, before, told, _ in play(setup, history):
        for at_the_time, one, _ in stepwise(before, told):
            if isinstance(one, d.CardAccepted):
                filled = () if at_the_time.round is None else at_the_time.round.cards
                first = next(slot for slot in setup.plan.slots if slot.name not in filled)
                assert (first.name, first.hand, first.index) == (one.slot, one.hand, one.index)


@EXAMPLES
@given(setups, histories)
def test_no_card_is_ever_twice_in_a_round(setup: Setup, history: list[tuple[int, At]]) -> None:
    """At no time do two slots hold the same card."""
    for _, _, _, after in play(setup, history):
        cards = [] if after.round is None else [one.card for one in after.round.cards.values()]
        assert len(set(cards)) == len(cards)


@EXAMPLES
@given(setups, histories)
def test_no_value_is_ever_invented(setup: Setup, history: list[tuple[int, At]]) -> None:
    """A card that is accepted is the one that was read, or typed, in this very event."""
    for event, _, told, _ in play(setup, history):
        for one in told:
            if isinstance(one, d.CardAccepted):
                given_card = event.card if isinstance(event, e.Read) else None
                typed = event.fields["card"] if isinstance(event, e.Command) else None
                assert one.card in (given_card, typed)
                assert (one.via == "manual") == isinstance(event, e.Command)


@EXAMPLES
@given(setups, histories)
def test_no_card_is_accepted_but_in_a_deal(setup: Setup, history: list[tuple[int, At]]) -> None:
    """A card fills a slot, and a round completes, only while the round is dealt."""
    for _, before, told, _ in play(setup, history):
        for at_the_time, one, _ in stepwise(before, told):
            if isinstance(one, d.CardAccepted | d.RoundCompleted):
                assert "dealing" == at_the_time.phase


@EXAMPLES
@given(setups, histories)
def test_every_rejection_in_a_deal_leaves_one_thing_to_do(setup: Setup, history: list[tuple[int, At]]) -> None:
    """After a counted rejection the dealer is asked for that slot again, or somebody is called."""
    for _, _, told, after in play(setup, history):
        tries = [one for one in told if isinstance(one, d.ScanRejected) and one.attempt is not None]
        if tries:
            shown = prompt(after)
            assert shown.code in {"rescan", "call_supervisor", "scanner_down", "scanner_error"}
            assert tries[-1].slot == shown.slot


@EXAMPLES
@given(setups, histories)
def test_tries_never_pass_the_limit(setup: Setup, history: list[tuple[int, At]]) -> None:
    """A slot's count reaches `max_attempts` only together with a hold."""
    limit = setup.rules.max_attempts
    for _, _, told, after in play(setup, history):
        for one in told:
            if limit and isinstance(one, d.ScanRejected) and one.attempt is not None:
                assert one.attempt <= limit
                assert (one.attempt == limit) <= (after.phase == "held")


@EXAMPLES
@given(setups, histories)
def test_a_completed_round_is_the_sum_of_its_events(setup: Setup, history: list[tuple[int, At]]) -> None:
    """The result holds what the accepted and withdrawn cards add up to, and counts every rejection."""
    slots: dict[str, str] = {}
    rejections = 0
    for _, _, told, _ in play(setup, history):
        for one in told:
            if isinstance(one, d.RoundOpened):
                slots, rejections = {}, 0
            elif isinstance(one, d.CardAccepted):
                slots[one.slot] = one.card
            elif isinstance(one, d.CardWithdrawn):
                assert one.card == slots.pop(one.slot)
            elif isinstance(one, d.ScanRejected):
                rejections += 1
            elif isinstance(one, d.RoundCompleted):
                assert tuple(slots[name] for name in setup.plan.names) == one.dealt
                assert sorted(one.dealt) == sorted(card for hand in one.cards.values() for card in hand)
                assert rejections == one.rejections
                assert one.duration_ms >= 0


@EXAMPLES
@given(setups, histories)
def test_a_round_id_is_never_given_twice(setup: Setup, history: list[tuple[int, At]]) -> None:
    """Whoever names the rounds, and however they end, no two have one id."""
    opened = [one.round for _, _, told, _ in play(setup, history) for one in told if isinstance(one, d.RoundOpened)]
    assert len(set(opened)) == len(opened)


@EXAMPLES
@given(setups, histories)
def test_the_journal_tells_the_state(setup: Setup, history: list[tuple[int, At]]) -> None:
    """Folding what was told, through its JSON and back, gives the live state, but for what a restart forgets."""
    folded = State(setup)
    for _, before, told, after in play(setup, history):
        for one, round_id in messages.told_rounds(told, before):
            data = json.loads(json.dumps(messages.data(one)))
            read_back = messages.decision(one.TYPE, data, one.at, round_id)
            assert read_back == one
            folded = evolve(folded, one)
        assert kept(after) == kept(folded)


@EXAMPLES
@given(setups, histories)
def test_events_of_a_round_carry_its_id(setup: Setup, history: list[tuple[int, At]]) -> None:
    """From its opening to the next one, or to its own voiding included, every event is told with the round's id."""
    current = None
    for _, before, told, _ in play(setup, history):
        for one, round_id in messages.told_rounds(told, before):
            current = one.round if isinstance(one, d.RoundOpened) else current
            assert current == round_id
            current = None if isinstance(one, d.RoundVoided) else current


@EXAMPLES
@given(setups, histories)
def test_an_alarm_is_raised_and_cleared_in_turn(setup: Setup, history: list[tuple[int, At]]) -> None:
    """An alarm is told once for each cause: raised only while it is down, cleared only while it is up."""
    up: set[tuple[str, str | None]] = set()
    for _, _, told, _ in play(setup, history):
        for one in told:
            if isinstance(one, d.AlarmRaised):
                assert (one.alarm, one.scanner) not in up
                up.add((one.alarm, one.scanner))
            elif isinstance(one, d.AlarmCleared):
                up.remove((one.alarm, one.scanner))


@EXAMPLES
@given(setups, histories)
def test_deciding_changes_nothing(setup: Setup, history: list[tuple[int, At]]) -> None:
    """The same event in the same state gives the same decisions, and the state is left as it was."""
    for event, before, _, _ in play(setup, history):
        untouched = deepcopy(before)
        assert decide(before, event) == decide(before, event)
        assert untouched == before


@EXAMPLES
@given(setups, histories, st.data())
def test_a_deadline_told_early_or_twice_changes_nothing(
    setup: Setup, history: list[tuple[int, At]], data: st.DataObject
) -> None:
    """A timer may fire whenever it likes: the same is decided as without it."""
    plain = [told for _, _, decided, _ in play(setup, history) for told in decided]
    timers = data.draw(st.lists(st.booleans(), min_size=len(history), max_size=len(history)))
    with_timers = [
        entry
        for timer, (gap, make) in zip(timers, history, strict=True)
        for entry in ([(gap // 2, e.Deadline), (gap - gap // 2, make)] if timer else [(gap, make)])
    ]
    assert plain == [told for _, _, decided, _ in play(setup, with_timers) for told in decided]
