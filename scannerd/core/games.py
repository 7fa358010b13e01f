"""Deal plans: which hand gets the next card. The order of a game is data; `config/games/` holds a file for each game.

Only fixed-order games fit: one deck, every slot filled once, in one order that no card changes. A game with a
drawing rule (baccarat's third card) is none of these and would need another kind of plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SLOT = re.compile(r"([A-Z])([1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one card: `A1` is hand A's first."""

    name: str
    hand: str
    index: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A game's name and its slots in the order in which they are dealt."""

    game: str
    slots: tuple[Slot, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The slots' names in plan order."""
        return tuple(slot.name for slot in self.slots)

    @property
    def hands(self) -> tuple[str, ...]:
        """The hands, in the order of their first card."""
        return tuple(dict.fromkeys(slot.hand for slot in self.slots))

    def slot(self, name: object) -> Slot | None:
        """The slot of that name, or None."""
        return next((slot for slot in self.slots if slot.name == name), None)


def plan(game: str, order: list[str] | tuple[str, ...]) -> Plan:
    """Makes a plan of slot names in deal order.

    Raises:
        ValueError: no slot, more than 52, a name that is no slot's, a slot twice, or a hand whose cards are not
            numbered 1, 2, 3 … in the order of the deal.
    """
    if not 1 <= len(order) <= 52:  # noqa: PLR2004 - a deck
        raise ValueError(f"a deal has 1 to 52 slots, not {len(order)}")
    slots = tuple(_parse(name) for name in order)
    counts: dict[str, int] = {}
    for slot in slots:
        counts[slot.hand] = counts.get(slot.hand, 0) + 1
        if slot.index != counts[slot.hand]:
            raise ValueError(f"{slot.name} comes where {slot.hand}{counts[slot.hand]} is due")
    return Plan(game, slots)


def _parse(name: str) -> Slot:
    match = _SLOT.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no slot: a capital letter for the hand and a number from 1, such as A1")
    return Slot(name, match[1], int(match[2]))


TEEN_PATTI_20_20 = plan("teen-patti-20-20", ("A1", "B1", "A2", "B2", "A3", "B3"))
"""Two hands of three cards, face up, dealt alternately."""
