"""The engine at a live table: one thread that owns the state, and does what the rounds say.

Each turn takes one item from the table or does what is due, writes state and position in one, and only then carries
the effects out: a restart repeats what may be repeated (the command `open` with its id, the result) and pays nothing.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, assert_never

from scannerd.client import Answer, BrokerAway, Item, Missing, NewJournal, NoReply, Position, TableEvent
from teen_patti.bets import Limits
from teen_patti.keeping import Keeper, Kept
from teen_patti.messages import (
    Alarm,
    BetRefused,
    BetTaken,
    Effect,
    Input,
    InputRefused,
    OpenRefused,
    Paid,
    RoundChanged,
    RoundEnded,
    TellTable,
)
from teen_patti.pacing import Pace, due
from teen_patti.results import TOLD, names, result_of
from teen_patti.round import resume, step
from teen_patti.simulate import Bettors, Intent
from teen_patti.state import Phase, Round, State
from teen_patti.table import Table
from teen_patti.table_events import read_event
from teen_patti.terms import Texts

TOPIC: Final = "result"
BY: Final = "teen-patti-engine"
"""Who commands, in the table's events."""

_ASK_S: Final = 2.0
_LONGEST_S: Final = 0.5
_SHORTEST_S: Final = 0.01
_LOG = logging.getLogger("teen_patti")


@dataclass(frozen=True)
class Play:
    """How an engine plays.

    Attributes:
        pace: how fast.
        words: the language of what it publishes and prints.
        told: is told of each round that ended, as text and as the message published.
        bettors: a simulated crowd; None: nobody bets.
        limits: the table's limits.
        now: the time, UTC.
        monotonic: seconds that only go forward.
    """

    pace: Pace
    words: Texts
    told: Callable[[Round, str], None]
    bettors: Bettors | None = None
    limits: Limits = field(default_factory=Limits)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic


class Engine:
    """Plays at one table until it is stopped.

    Attributes:
        dealt: how many rounds were dealt and have ended: settled, or voided.
    """

    def __init__(self, table: Table, keeper: Keeper, kept: Kept, play: Play) -> None:
        """Does nothing yet; `table` begins behind the position in `kept`."""
        self.dealt = 0
        self._table, self._keeper, self._kept, self._play = table, keeper, kept, play
        self._stopped = False
        self._stands: tuple[str | None, Phase | None, bool] | None = None
        self._stands_since = play.monotonic()

    def run(self, rounds: int | None = None) -> None:
        """Plays until `stop`, or until so many rounds were dealt and have ended.

        Raises:
            ClientError: the table can't be followed any more.
            StateNotWritten: the disk did not take the state.
        """
        if self._kept.result is not None:
            self._table.show(TOPIC, self._kept.result.encode())
        self._carry_out(resume(self._state))
        while not self._stopped and (rounds is None or self.dealt < rounds):
            item = next(self._table.events(self._left()), None)
            if item is not None:
                self._take(item)
            self._turn()

    def stop(self) -> None:
        """Ends `run` after what it is at; from any thread, and from a signal's handler."""
        self._stopped = True
        self._table.stop()

    @property
    def _state(self) -> State:
        return self._kept.state

    # --- turns ---

    def _take(self, item: Item) -> None:
        match item:
            case TableEvent():
                self._do((read_event(item.body),), item.position)
            case NewJournal():
                _LOG.warning("the table began a new journal, %s", item.journal)
                self._do((), item.position)
            case Missing():
                _LOG.error("events %d to %d of journal %s can't be had", item.first, item.last, item.journal)
                self._do((), item.position)
            case _:  # what is broken is raised by the table
                return

    def _turn(self) -> None:
        """Does what is due, if the round has stood where it stands for long enough."""
        self._look()
        if self._left() > _SHORTEST_S:
            return
        self._stands_since = self._play.monotonic()
        inputs = due(self._state, self._play.now(), in_sight=self._in_sight())
        if inputs:
            self._do(inputs)
        else:
            self._carry_out(resume(self._state))
        self._look()

    def _look(self) -> None:
        """Notes where the round stands, and since when; the crowd bets as it comes to bet, and too late afterwards."""
        current, before = self._state.round, self._stands
        round_id, phase = (None, None) if current is None else (current.id, current.phase)
        stands = (round_id, phase, self._in_sight())
        if before == stands:
            return
        self._stands, self._stands_since = stands, self._play.monotonic()
        if current is not None and (before is None or before[:2] != stands[:2]):
            self._bet(current, before[1] if before is not None and before[0] == round_id else None)

    def _bet(self, current: Round, before: Phase | None) -> None:
        """The bets in time once the betting is open, those too late once it is closed."""
        if current.phase is Phase.BETTING_OPEN or before is Phase.BETTING_OPEN:
            opening = current.phase is Phase.BETTING_OPEN
            self._do(intent.request for intent in self._intents(current.id) if _in_time(intent) is opening)

    def _intents(self, name: str) -> tuple[Intent, ...]:
        return () if self._play.bettors is None else self._play.bettors.intents(name, self._play.now())

    def _left(self) -> float:
        """Seconds until something is due; bounded, so that a lost connection is seen."""
        if self._stands is None:
            return _SHORTEST_S
        _, phase, in_sight = self._stands
        wait_s = self._play.pace.wait_s(phase, in_sight=in_sight)
        if wait_s is None:
            return _LONGEST_S
        left = self._stands_since + wait_s - self._play.monotonic()
        return min(_LONGEST_S, max(_SHORTEST_S, left))

    def _in_sight(self) -> bool:
        """Whether what we know of the table is what there is."""
        table = self._table
        return table.connected and table.gap is None and table.state in {"online", "degraded"}

    # --- inputs and effects ---

    def _do(self, inputs: Iterable[Input], position: Position | None = None) -> None:
        """Puts inputs in, writes down what came of them, then carries the effects out."""
        state, effects = self._state, list[Effect]()
        messages = list[tuple[Round, str]]()
        for asked in inputs:
            state, done = step(state, asked, self._play.limits)
            effects += done
            messages += told(state, done, self._play.words)
        position = position or self._kept.position
        result = messages[-1][1] if messages else self._kept.result
        kept = Kept(state, position, result)
        if kept != self._kept:
            self._keeper.save(kept)
        self._kept = kept
        for current, payload in messages:
            self._tell(current, payload)
        self._carry_out(effects)

    def _tell(self, current: Round, payload: str) -> None:
        self._table.show(TOPIC, payload.encode())
        if current.phase.ended:
            self.dealt += current.phase is not Phase.CANCELLED
            self._play.told(current, payload)

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        answers = [answer for effect in effects if (answer := self._effect(effect)) is not None]
        if answers:
            self._do(answers)

    def _effect(self, effect: Effect) -> OpenRefused | None:
        """Carries one effect out; gives the table's refusal, if that comes of it."""
        match effect:
            case TellTable():
                return self._ask(effect)
            case Alarm():
                _LOG.error("alarm %s: %s", effect.code, effect.detail)
            case BetRefused():
                bet = effect.request
                _LOG.info("bet refused, %s: %s of %s, %s on %s", effect.reason, bet.id, bet.bettor, bet.stake, bet.kind)
            case InputRefused():
                _LOG.warning("%s refused: %s", effect.asked, effect.reason)
            case BetTaken() | Paid() | RoundChanged() | RoundEnded():
                pass
            case _:
                assert_never(effect)
        return None

    def _ask(self, effect: TellTable) -> OpenRefused | None:
        """Sends a command; where no answer comes nothing is known, and it is sent again in time, with the same id."""
        try:
            answer: Answer = self._table.ask(effect.name, {"id": effect.id, "by": BY, **effect.fields}, _ASK_S)
        except (BrokerAway, NoReply) as silence:
            _LOG.warning("%s is not answered: %s", effect.name, silence)
            return None
        if answer.ok:
            return None
        _LOG.warning("the table refuses %s: %s (%s)", effect.name, answer.error, answer.message)
        return OpenRefused(self._play.now(), effect.id, answer.error or "unknown") if effect.name == "open" else None


def _in_time(intent: Intent) -> bool:
    return intent.expected is None or intent.expected.value != "late"


def told(state: State, effects: Iterable[Effect], words: Texts) -> list[tuple[Round, str]]:
    """What `…/result` is to say after a step: the ends of rounds, or the result that may still be corrected."""
    effects = tuple(effects)
    rounds = [effect.round for effect in effects if isinstance(effect, RoundEnded)]
    current = state.round
    if not rounds and current is not None and current.phase in TOLD and RoundChanged(current.id) in effects:
        rounds.append(current)
    return [(one, message(state.table, one, words)) for one in rounds]


def message(table: str, current: Round, words: Texts) -> str:
    """The message on `…/result` for a round, with the names of one language."""
    found = {**result_of(table, current), "names": names(current, words)}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
