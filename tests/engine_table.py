"""A table without network or time: it deals when asked, as fast as it is asked, and can fail at any step."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from scannerd.client import Answer, BrokerAway, Gap, Item, Position, TableEvent
from teen_patti.keeping import Keeper, Kept
from teen_patti.pacing import Pace
from teen_patti.running import Engine, Play
from teen_patti.simulate import Bettors, shuffled
from teen_patti.state import GAME, PLAN, Round, State
from teen_patti.terms import texts
from tests.engine_play import JOURNAL, T0


class Crash(Exception):  # noqa: N818 - what happens
    """The engine's process dies here."""


@dataclass
class Clock:
    """Seconds since the start, which pass only where somebody waits."""

    seconds: float = 100.0

    def monotonic(self) -> float:
        """The seconds."""
        return self.seconds

    def now(self) -> datetime:
        """The time of day."""
        return T0 + timedelta(seconds=self.seconds)


@dataclass
class FakeTable:
    """A table that deals each round it is asked for, to its end.

    Attributes:
        clock: what passes while the engine waits.
        answers: what it answers to commands, first to last; None: nothing. Afterwards it obeys.
        crash_at: the engine dies at this step: a command, a result shown, or an item handed over; -1: never.
        deals: whether it deals what it is asked for; else the test says what happens.
        goes_out: called with each result and the id of each command, before it goes out.
        waits: called where the engine waits and nothing comes.
    """

    clock: Clock = field(default_factory=Clock)
    answers: deque[Answer | None] = field(default_factory=deque)
    crash_at: int = -1
    deals: bool = True
    connected: bool = True
    state: str | None = "online"
    gap: Gap | None = None
    seq: int = 0
    journal: str = JOURNAL
    steps: int = 0
    shown: list[Mapping[str, object]] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    done: dict[object, Answer] = field(default_factory=dict)
    told: list[Item] = field(default_factory=list)
    waits: Callable[[], None] = lambda: None
    goes_out: Callable[[str], object] = lambda _: None
    position: int = 0
    stopped: bool = False

    def events(self, timeout_s: float | None = None) -> Iterator[Item]:
        """The items not handed over yet; time passes where there is none."""
        self._step()
        while self.position < len(self.told):
            self.position += 1
            yield self.told[self.position - 1]
        assert not self.stopped, "the engine goes on after it was stopped"
        assert self.clock.seconds < 10_000, "the engine waits for ever"
        self.clock.seconds += timeout_s or 0
        self.waits()

    def ask(self, name: str, fields: Mapping[str, object], timeout_s: float = 5.0) -> Answer:
        """Deals a round, once for each id."""
        del timeout_s
        self._step()
        self.goes_out(str(fields["id"]))
        self.asked.append((name, fields))
        planned = self.answers.popleft() if self.answers else Answer(str(fields["id"]), ok=True)
        if planned is None:
            raise BrokerAway("no broker")
        if self.deals and planned.ok and fields["id"] not in self.done:
            self.deal(str(fields["round"]))
        return self.done.setdefault(fields["id"], planned)

    def show(self, topic: str, payload: bytes) -> None:
        """Keeps what stands on the topic."""
        assert topic == "result"
        self._step()
        self.goes_out(payload.decode())
        self.shown.append(json.loads(payload))

    def stop(self) -> None:
        """No more events are wanted."""
        self.stopped = True

    def deal(self, name: str, cards: Sequence[str] = ()) -> None:
        """A whole round."""
        cards = cards or shuffled(7, name)
        self.tell("round_opened", name, game=GAME, plan=list(PLAN), by="engine")
        for slot, card in zip(PLAN, cards, strict=True):
            self.tell("card_accepted", name, slot=slot, card=card)
        self.tell("round_completed", name, cards={"A": list(cards[0::2]), "B": list(cards[1::2])})

    def tell(self, kind: str, name: str | None, /, **data: object) -> None:
        """The next event of the table."""
        self.seq += 1
        at = self.clock.now()
        event = {"table": "tp-01", "journal": self.journal, "seq": self.seq, "type": kind, "round": name}
        body = json.dumps({**event, "at": at.isoformat(), "data": data}).encode()
        position = Position(self.journal, self.seq, f"{self.seq}")
        self.told.append(
            TableEvent("tp-01", self.journal, self.seq, kind, name, at, data, body, f"{self.seq}", "", position)
        )

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash


@dataclass
class Seat:
    """An engine's file and how it plays; `sit` is one process of it."""

    path: Path
    pace: Pace = field(default_factory=Pace)
    bettors: Bettors | None = None
    language: str = "en"
    ended: list[tuple[Round, Mapping[str, object]]] = field(default_factory=list)

    def sit(self, table: FakeTable, rounds: int = 1) -> Engine:
        """Plays so many rounds at the table, going on where the file says."""
        with Keeper(self.path) as keeper:
            engine = self.engine(table, keeper)
            engine.run(rounds)
        return engine

    def engine(self, table: FakeTable, keeper: Keeper) -> Engine:
        """An engine that goes on where the file says."""
        kept = keeper.load("tp-01") or Kept(State("tp-01"), Position(JOURNAL, 0))
        table.position = next((n for n, item in enumerate(table.told, 1) if item.position == kept.position), 0)
        play = Play(
            pace=self.pace,
            words=texts(self.language),
            told=lambda current, message: self.ended.append((current, json.loads(message))),
            bettors=self.bettors,
            now=table.clock.now,
            monotonic=table.clock.monotonic,
        )
        return Engine(table, keeper, kept, play)

    def kept(self) -> Kept:
        """What is in the file."""
        with Keeper(self.path) as keeper:
            kept = keeper.load("tp-01")
        assert kept is not None
        return kept
