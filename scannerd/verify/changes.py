"""What changed between an expected file and what is told, in a few words each, so that many can be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from scannerd.core.rules import Rule, rules_of
from scannerd.recording.replay import Line, Taken
from scannerd.verify.comparison import Difference, Told
from scannerd.verify.expected import Expected, unequal

Sign: TypeAlias = Literal["+", "-", "~"]
"""A line that is new, is gone, or says something else."""

_ORDER = "+-~"
_SAID = {"+": "added", "-": "removed", "~": "changed"}


class Change(NamedTuple):
    """A kind of change.

    Attributes:
        sign: what became of the line.
        what: its type, and the reason, alarm or code that it gives; of a changed one the keys that changed.
        rule: the rule that decided what is told now; None: nothing is told, or it is the prompt at the start.
    """

    sign: Sign
    what: str
    rule: Rule | None

    def __str__(self) -> str:
        """As a line of a summary."""
        return f"{self.sign} {self.what}{'' if self.rule is None else f', by rule {self.rule.name}'}"


def change_of(difference: Difference, expected: Expected) -> Change:
    """The kind of change that a difference is."""
    wanted, told = difference
    if told is None:
        return Change("-", "" if wanted is None else _what(expected.parsed(wanted)), None)
    rule = rule_told(told)
    if wanted is None:
        return Change("+", _what(told.line), rule)
    keys = ", ".join(one.key for one in unequal(expected.parsed(wanted), told.parsed))
    return Change("~", f"{_what(told.line)}: {keys}", rule)


def rules_taken(taken: Taken | None) -> tuple[Rule, ...]:
    """The rules of a decision; none of the prompt at the start."""
    return () if taken is None else rules_of(taken.before, taken.event, taken.told)


def rule_told(told: Told) -> Rule | None:
    """The rule that a line goes back to: of a card that opened a round, the opening to one, all else to the other."""
    rules = rules_taken(told.taken)
    if not rules:
        return None
    return rules[0] if told.line.get("type") == "round_opened" else rules[-1]


def in_order(changes: Counter[Change]) -> list[tuple[Change, int]]:
    """Additions first, then removals, then the others; the most frequent ones first."""
    return sorted(changes.items(), key=lambda one: (_ORDER.index(one[0].sign), -one[1], str(one[0])))


def in_short(changes: Counter[Change]) -> str:
    """How many lines came, went and changed."""
    signs: Counter[str] = Counter()
    for change, times in changes.items():
        signs[change.sign] += times
    return ", ".join(f"{signs[sign]} {_SAID[sign]}" for sign in _ORDER if signs[sign])


def total(all_changes: Iterable[Counter[Change]]) -> list[tuple[Change, int, int]]:
    """Every kind of change, how often it happened, and in how many recordings."""
    times: Counter[Change] = Counter()
    recordings: Counter[Change] = Counter()
    for changes in all_changes:
        times.update(changes)
        recordings.update(changes.keys())
    return [(change, count, recordings[change]) for change, count in in_order(times)]


def _what(line: Line) -> str:
    prompt = line.get("prompt")
    if isinstance(prompt, dict):
        words = ["prompt", prompt.get("code"), prompt.get("reason")]
    else:
        data = line.get("data")
        told = data if isinstance(data, dict) else {}
        words = [line.get("type"), *(told.get(key) for key in ("reason", "alarm", "kind"))]
    return " ".join(str(word) for word in words if word)
