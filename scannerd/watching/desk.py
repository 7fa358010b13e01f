"""The supervisor at the keyboard: a key gives the next desk and perhaps a wish, which somebody else carries out.

A name, and a PIN where the table's source checks one, are asked for before the first action at a table, and kept by
the source until it says that the supervisor is signed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from scannerd.core.cards import DECK
from scannerd.texts import Texts
from scannerd.watching.known import Known, Told, learned

Guard: TypeAlias = Literal["pin", "broker"]
"""Who decides whether an action is allowed: whoever knows the PIN, or the broker by its rights."""

LONGEST = 200
"""Characters of one answer."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a key does.

    Attributes:
        command: the command's name.
        phases: when it makes sense.
        wanted: what it asks for, in this order.
        optional: which of those may stay empty.
    """

    command: str
    phases: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "h": Action("hold", ("dealing",), ("reason",), ("reason",)),
        "r": Action("release", ("held",)),
        "v": Action("void", ("dealing", "held", "complete"), ("reason",)),
        "s": Action("rescan", ("dealing", "held"), ("slot",)),
        "e": Action("enter", ("dealing", "held"), ("slot", "card", "reason")),
    }
)
"""The supervisor's actions by their keys."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """Check who this is."""

    table: str
    name: str
    pin: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Act:
    """Send a command, in the name of whoever is signed in."""

    table: str
    name: str
    command: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Leave:
    """End the program."""


Wish: TypeAlias = SignIn | Act | Leave


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a wish ended.

    Attributes:
        kind: the key of a text of the section `supervisor`.
        fields: what that text has blanks for; the name of `signed_in`, the command of `done`.
    """

    table: str
    kind: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asking:
    """Questions that are being answered, one after another; the first of `wanted` is typed now."""

    table: str
    action: Action
    wanted: tuple[str, ...]
    answers: Mapping[str, str] = field(default_factory=dict, repr=False)
    typed: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Desk:
    """All tables, the one that is looked at, and what is being asked.

    Attributes:
        guards: table to who decides there.
        signed: table to the name that is signed in there.
        listing: all tables in a list instead of one.
        waiting: a wish is being carried out.
    """

    words: Texts
    tables: tuple[Known, ...]
    guards: Mapping[str, Guard]
    at: int = 0
    listing: bool = False
    signed: Mapping[str, str] = field(default_factory=dict)
    asking: Asking | None = None
    waiting: bool = False
    message: str = ""

    @property
    def known(self) -> Known:
        """The table that is looked at."""
        return self.tables[self.at]

    def word(self, section: str, key: str, **blanks: str) -> str:
        """A text in the supervisor's language."""
        return self.words.words[section][key].format(**blanks)

    def possible(self) -> list[str]:
        """Keys of the actions that make sense now."""
        phase = self.known.round.phase if self.known.round and self.known.standing and not self.known.away else None
        return [key for key, action in ACTIONS.items() if phase in action.phases]


def told(desk: Desk, news: Told) -> Desk:
    """The desk once a source told something."""
    tables = tuple(learned(known, news) if known.table == news.table else known for known in desk.tables)
    return replace(desk, tables=tables)


def stood(desk: Desk, standing: Mapping[str, bool]) -> Desk:
    """The desk once it is known which sources are connected."""
    return replace(desk, tables=tuple(replace(known, standing=standing[known.table]) for known in desk.tables))


def pressed(desk: Desk, key: str) -> tuple[Desk, Wish | None]:
    """The desk after a key: a character, or `ENTER`, `BACKSPACE`, `ESC`, `TAB`, `BTAB`, `CLEAR`."""
    if desk.asking is not None:
        return (desk, None) if desk.waiting else _answering(desk, desk.asking, key)
    if key in ACTIONS:
        return _begun(desk, ACTIONS[key]) if not desk.waiting and not desk.listing else (desk, None)
    if key == "q":
        return desk, Leave()
    return _turned(desk, key), None


def settled(desk: Desk, outcome: Outcome) -> tuple[Desk, Wish | None]:
    """The desk after a wish ended; a sign-in goes on with what it was for."""
    desk, asking = replace(desk, waiting=False), desk.asking
    if outcome.kind == "signed_in":
        desk = replace(desk, signed={**desk.signed, outcome.table: outcome.fields["name"]})
        return (desk, None) if asking is None else _next(desk, asking)
    if outcome.kind == "signed_out":
        desk = replace(desk, signed={table: name for table, name in desk.signed.items() if table != outcome.table})
    blanks = {**outcome.fields}
    if outcome.kind == "done":
        blanks["command"] = desk.word("supervisor", blanks["command"])
    message = desk.word("supervisor", outcome.kind, **blanks)
    named = message if len(desk.tables) == 1 else f"{outcome.table}: {message}"
    return replace(desk, asking=None, message=named), None


def _turned(desk: Desk, key: str) -> Desk:
    count = len(desk.tables)
    if key in {"TAB", "BTAB"}:
        return replace(desk, at=(desk.at + (1 if key == "TAB" else -1)) % count, message="")
    if key.isascii() and key.isdigit() and 1 <= int(key) <= count:
        return replace(desk, at=int(key) - 1, listing=False, message="")
    if key == "a" and count > 1:
        return replace(desk, listing=not desk.listing, message="")
    return replace(desk, listing=desk.listing and key != "ENTER", message="")


def _begun(desk: Desk, action: Action) -> tuple[Desk, Wish | None]:
    table = desk.known.table
    if action not in [ACTIONS[key] for key in desk.possible()]:
        return replace(desk, message=desk.word("watch", "not_now")), None
    if table in desk.signed:
        first: tuple[str, ...] = ()
    else:
        first = ("name", "pin") if desk.guards[table] == "pin" else ("name",)
    return _next(replace(desk, message=""), Asking(table, action, (*first, *action.wanted)))


def _answering(desk: Desk, asking: Asking, key: str) -> tuple[Desk, Wish | None]:
    if key == "ESC":
        return replace(desk, asking=None, message=""), None
    if key == "ENTER":
        return _answered(desk, asking)
    typed = {"BACKSPACE": asking.typed[:-1], "CLEAR": ""}.get(key)
    if typed is None:
        typed = (asking.typed + (key if len(key) == 1 and key.isprintable() else ""))[:LONGEST]
    return replace(desk, asking=replace(asking, typed=typed), message=""), None


def _answered(desk: Desk, asking: Asking) -> tuple[Desk, Wish | None]:
    """Takes the answer where it can be one, else says what is wrong."""
    field_name, typed = asking.wanted[0], asking.typed.strip()
    if field_name in {"slot", "card"}:
        typed = typed.upper()
    fault = _fault(desk, asking, field_name, typed)
    if fault:
        return replace(desk, message=fault), None
    answers = {**asking.answers, field_name: typed}
    asking = replace(asking, wanted=asking.wanted[1:], answers=answers, typed="")
    if field_name == "pin":
        waiting = replace(desk, asking=replace(asking, answers=_without_pin(answers)), waiting=True)
        return waiting, SignIn(asking.table, answers["name"], typed)
    if field_name == "name" and "pin" not in asking.wanted:
        desk = replace(desk, signed={**desk.signed, asking.table: typed})
    return _next(desk, asking)


def _fault(desk: Desk, asking: Asking, field_name: str, typed: str) -> str:
    """What is wrong with an answer; empty where nothing is."""
    match field_name:
        case "slot":
            slots = _slots(desk, asking)
            return "" if typed in slots else desk.word("watch", "wrong_slot", slots=" ".join(slots))
        case "card":
            return "" if typed.replace("10", "T") in DECK else desk.word("watch", "wrong_card")
        case "name":
            return "" if typed else desk.word("supervisor", "name_needed")
        case "reason":
            return "" if typed or "reason" in asking.action.optional else desk.word("supervisor", "reason_needed")
        case _:
            return ""


def _next(desk: Desk, asking: Asking) -> tuple[Desk, Wish | None]:
    """The next question, or the command where all are answered."""
    if not asking.wanted:
        given = {key: answer for key, answer in asking.answers.items() if key != "name" and answer}
        fields = {key: _spelt(key, answer) for key, answer in given.items()}
        name = desk.signed.get(asking.table, "")
        act = Act(asking.table, name, asking.action.command, fields)
        return replace(desk, asking=None, waiting=True, message=desk.word("watch", "working")), act
    slots = _slots(desk, asking) if asking.wanted[0] == "slot" else []
    return replace(desk, asking=replace(asking, typed=slots[0] if len(slots) == 1 else "")), None


def _spelt(key: str, answer: str) -> str:
    if key == "card":
        return answer.replace("10", "T")
    return "all" if key == "slot" and answer == "ALL" else answer


def _slots(desk: Desk, asking: Asking) -> list[str]:
    """Slots that an action may name: the due one is entered, filled ones are scanned again."""
    found = next(known.round for known in desk.tables if known.table == asking.table)
    if found is None:
        return []
    if asking.action.command == "enter":
        return [found.due] if found.due else []
    return [*(slot for slot in found.plan if slot in found.cards), "ALL"]


def _without_pin(answers: Mapping[str, str]) -> Mapping[str, str]:
    return {key: answer for key, answer in answers.items() if key != "pin"}
