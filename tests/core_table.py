"""A table of which only the core is real: events go in at a time in ms, and what is decided comes out in words.

`read`, `failed`, `notice`, `command` and `wait` each decide one event, deadlines before it included, and give what
`gist` says of the decisions, so that a test reads like the log of a deal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.games import TEEN_PATTI_20_20, Plan, plan
from scannerd.core.prompts import prompt
from scannerd.core.state import MS, Rules, Setup, State
from scannerd.core.validator import step

DEAL = ("AS", "KH", "QD", "JC", "TS", "9H")
"""A card for each slot of Teen Patti 20-20, in plan order."""

TWO_SLOTS = plan("two", ("A1", "B1"))
"""The shortest game of two hands."""

Text: TypeAlias = list[str]


class Table:
    """A table whose broker and scanners are up; with `start = "command"` unless told otherwise."""

    def __init__(
        self,
        game: Plan = TEEN_PATTI_20_20,
        scanners: tuple[str, ...] = ("shoe", "desk"),
        rules: Rules | None = None,
    ) -> None:
        self.state = State(
            Setup("tp-01", game, rules or Rules(), scanners), broker_up=True, scanners=dict.fromkeys(scanners, "up")
        )
        self.told: list[d.Decision] = []

    def put(self, event: e.Event) -> list[d.Decision]:
        """Decides an event, and gives the decisions themselves."""
        told: list[d.Decision] = []
        for taken, after in step(self.state, event):
            told += taken
            self.state = after
        self.told += told
        return told

    def say(self, event: e.Event) -> Text:
        """Decides an event, and says the decisions."""
        return [gist(one) for one in self.put(event)]

    def read(
        self, ms: float, card: str, scanner: str = "shoe", *, hand: str | None = None, stale: bool = False
    ) -> Text:
        """A card is read."""
        return self.say(e.Read(micros(ms), scanner, Card(card), hand, stale, card.encode()))

    def failed(
        self,
        ms: float,
        reason: e.FailedReason = "no_read",
        scanner: str = "shoe",
        *,
        stale: bool = False,
        lost: bool = False,
    ) -> Text:
        """A read fails."""
        return self.say(e.FailedRead(micros(ms), scanner, reason, "", stale, lost))

    def notice(self, ms: float, kind: str, detail: str = "", scanner: str = "shoe") -> Text:
        """A device says something."""
        return self.say(e.Noticed(micros(ms), scanner, kind, detail))

    def command(self, ms: float, name: str, by: str | None = "eva", /, **fields: object) -> Text:
        """A command comes."""
        return self.say(e.Command(micros(ms), name, by, fields))

    def enter(self, ms: float, slot: str, card: str) -> Text:
        """A supervisor enters a card by hand."""
        return self.command(ms, "enter", slot=slot, card=card, reason="torn card")

    def wait(self, ms: float) -> Text:
        """Time goes on until then."""
        return self.say(e.Deadline(micros(ms)))

    def broker(self, ms: float, *, up: bool) -> Text:
        """The broker comes or goes."""
        return self.say(e.BrokerChanged(micros(ms), up))

    def start(self, ms: float, previous: Literal["first", "clean", "crash"] = "crash") -> Text:
        """The daemon is started on the state that was folded."""
        return self.say(e.Started(micros(ms), "1.0", "d1", previous))

    def opened(self, ms: float = 0) -> Table:
        """The same table, a round being opened by command."""
        self.command(ms, "open")
        return self

    def dealt(self, cards: Iterable[str] = DEAL, ms: float = 1_000, scanner: str = "shoe") -> Table:
        """The same table, these cards being dealt from `ms` on, one a second."""
        for number, card in enumerate(cards):
            self.read(ms + 1_000 * number, card, scanner)
        return self

    @property
    def prompt(self) -> str:
        """What the dealer is asked, in words."""
        shown = prompt(self.state)
        parts = [shown.slot, shown.reason, shown.attempt and f"try {shown.attempt}", shown.conflict_slot]
        return " ".join(str(part) for part in (shown.code, *parts) if part)

    @property
    def cards(self) -> dict[str, str]:
        """What lies in the slots."""
        return {} if self.state.round is None else {slot: one.card for slot, one in self.state.round.cards.items()}


def auto(game: Plan = TEEN_PATTI_20_20, *, rules: Rules | None = None) -> Table:
    """A table at which the first card opens a round."""
    return Table(game, rules=rules or Rules(start="auto"))


def micros(ms: float) -> int:
    """Milliseconds as whole microseconds."""
    return round(ms * MS)


def gist(told: d.Decision) -> str:  # noqa: C901, PLR0911, PLR0912 - one line a decision
    """A decision in a few words; those without words of their own by their type."""
    match told:
        case d.RoundOpened():
            return f"opened {told.round}"
        case d.CardAccepted():
            return f"accepted {told.slot} {told.card} try {told.attempt}"
        case d.ScanRejected():
            words = ["rejected", told.reason, told.slot, told.attempt and f"try {told.attempt}", told.conflict_slot]
            return " ".join(str(word) for word in words if word)
        case d.CardWithdrawn():
            return f"withdrawn {told.slot} {told.card} {told.reason}"
        case d.RoundHeld():
            return f"held {told.reason}"
        case d.RoundReleased():
            return "released"
        case d.RoundCompleted():
            return f"completed at {told.at / MS:g}"
        case d.RoundVoided():
            return f"voided {told.was}"
        case d.AlarmRaised():
            return f"raised {told.alarm} at {told.at / MS:g}"
        case d.AlarmCleared():
            return f"cleared {told.alarm}"
        case d.ScannerNotice():
            return f"notice {told.kind}"
        case d.Bounced():
            return "bounce"
        case d.Refused():
            return f"refused {told.error}"
        case d.DaemonStarted():
            return "started"
        case (
            d.DaemonStopped()
            | d.ScannerUp()
            | d.ScannerDown()
            | d.ClockStepped()
            | d.BrokerSwitched()
            | d.SelfChecked()
            | d.JournalTrimmed()
        ):
            return type(told).__name__
