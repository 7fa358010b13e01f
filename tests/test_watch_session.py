"""One person at one terminal, without the terminal: keys in, wishes to the tables, outcomes back."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping

from scannerd.texts import texts
from scannerd.watching.desk import Guard, Outcome
from scannerd.watching.drawing import draw, text_of
from scannerd.watching.known import Shown
from scannerd.watching.session import Session
from scannerd.watching.source import Tell
from tests.watched import prompt_fields, round_fields, status_fields

PATIENCE = 10.0


class FakeSource:
    """A table that shows one round, and does what it is told to."""

    def __init__(self, table: str, guard: Guard = "pin") -> None:
        """Stands at once; `opened` and `closed` count."""
        self.table, self.guard = table, guard
        self.standing = True
        self.opened = self.closed = 0
        self.pins: list[str] = []
        self.acts: list[tuple[str, str, Mapping[str, str]]] = []
        self.doing: Callable[[], Outcome] = lambda: Outcome(table, "done", {"command": "hold"})

    def open(self, tell: Tell) -> None:
        """Tells all that there is."""
        self.opened += 1
        for topic, fields in (("round", round_fields()), ("prompt", prompt_fields()), ("status", status_fields())):
            tell(Shown(self.table, topic, fields))  # type: ignore[arg-type] # the three topics

    def close(self) -> None:
        """Counts."""
        self.closed += 1

    def sign_in(self, name: str, pin: str) -> Outcome:
        """Takes any PIN."""
        self.pins.append(pin)
        return Outcome(self.table, "signed_in", {"name": name})

    def act(self, name: str, command: str, fields: Mapping[str, str]) -> Outcome:
        """Does what it was told to do."""
        self.acts.append((name, command, fields))
        return self.doing()


class Person:
    """Someone at a session; looks when it rings."""

    def __init__(self, *sources: FakeSource) -> None:
        """Sits down."""
        self._rung: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.session = Session(sources, texts("en"), lambda: self._rung.put(None))
        self.session.open()
        self.session.turn()

    def type(self, *keys: str) -> None:
        """Presses keys, each a character or a word such as `ENTER`; a longer text is typed letter by letter."""
        for key in keys:
            for one in [key] if key.isupper() else key:
                assert self.session.press(one)

    def wait_for(self, text: str) -> str:
        """The screen, once `text` stands on it."""
        while text not in (screen := "\n".join(map(text_of, draw(self.session.desk, 80, 24)))):
            self._rung.get(timeout=PATIENCE)
            self.session.turn()
        return screen


def test_action_waits_for_the_pin_and_then_for_its_answers() -> None:
    """The PIN is checked by the table before the reason is asked, and the command then goes to that table alone."""
    one, two = FakeSource("tp-01"), FakeSource("tp-02")
    person = Person(one, two)
    person.type("TAB", "h", "Ana", "ENTER", "735190", "ENTER")
    person.wait_for("Reason:")
    person.type("wet table", "ENTER")
    person.wait_for("tp-02: Done: Hold")
    assert (["735190"], [("Ana", "hold", {"reason": "wet table"})]) == (two.pins, two.acts)
    assert ([], []) == (one.pins, one.acts)


def test_fault_while_acting_is_told_and_ends_nothing() -> None:
    """A command that ends in a fault nobody expected is told as not done, and the next one goes out."""

    def fail() -> Outcome:
        raise RuntimeError("no such luck")

    source = FakeSource("tp-01", "broker")
    source.doing = fail
    person = Person(source)
    person.type("h", "Ana", "ENTER", "ENTER")
    person.wait_for("no such luck")
    source.doing = lambda: Outcome("tp-01", "done", {"command": "hold"})
    person.type("h", "ENTER")
    person.wait_for("Done: Hold")


def test_keys_do_nothing_while_a_command_is_out() -> None:
    """While a command's outcome is awaited another can't be given."""
    go: queue.SimpleQueue[None] = queue.SimpleQueue()

    def slow() -> Outcome:
        go.get(timeout=PATIENCE)
        return Outcome("tp-01", "done", {"command": "hold"})

    source = FakeSource("tp-01", "broker")
    source.doing = slow
    person = Person(source)
    person.type("h", "Ana", "ENTER", "ENTER")
    person.wait_for("One moment")
    person.type("v")
    go.put(None)
    assert "Reason:" not in person.wait_for("Done: Hold")
    assert ["hold"] == [command for _, command, _ in source.acts]


def test_table_that_went_away_offers_no_action() -> None:
    """Where a table no longer stands the view says so, and its keys are gone."""
    source = FakeSource("tp-01")
    person = Person(source)
    assert "h Hold" in person.wait_for("Deal the next card: B1")
    source.standing = False
    person.session.turn()
    assert "h Hold" not in person.wait_for("No connection: stop dealing and wait")


def test_leaving_closes_what_was_opened() -> None:
    """The key that leaves is the last one, and each table is left once; a session that never began leaves none."""
    source = FakeSource("tp-01")
    person = Person(source)
    assert not person.session.press("q")
    person.session.close()
    assert (1, 1) == (source.opened, source.closed)
    untouched = FakeSource("tp-02")
    Session([untouched], texts("en"), lambda: None).close()
    assert 0 == untouched.closed
