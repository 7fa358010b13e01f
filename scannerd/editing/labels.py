"""Where words go in a picture so that they lie on nothing: beside their mark, in the middle of a lane, below or above.

Places are in the picture's own measure: across in seconds as drawn, down in lanes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MIDDLE: Final = 0.5
BELOW: Final = 0.86
ABOVE: Final = 0.14
"""The levels of a lane, from its top."""

LEVELS: Final = (MIDDLE, BELOW, ABOVE)

_HALF_LINE: Final = 0.11
"""Half the height of a line of small letters, in lanes."""


class Box(NamedTuple):
    """Something that is drawn: from left to right, and from top to bottom."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two lie on each other."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Spot(NamedTuple):
    """Where a mark and its words go: the level in the lane, and whether the words stand to the left of the mark."""

    level: float
    leftward: bool


class Labels:
    """Knows what is drawn already."""

    def __init__(self, left: float, right: float) -> None:
        """Begins with an empty picture between two edges."""
        self._left, self._right = left, right
        self._drawn: list[Box] = []

    def block(self, box: Box) -> None:
        """Keeps words off something."""
        self._drawn.append(box)

    def spot(self, x: float, lane: int, mark: float, words: float, levels: tuple[float, ...] = LEVELS) -> Spot:
        """The first free spot for a mark and its words; the last one, where none is free.

        Args:
            x: where the mark is.
            lane: its lane.
            mark: half the width of the mark.
            words: the width of the words.
            levels: those to try, in this order.
        """
        spots = [Spot(level, leftward) for leftward in (False, True) for level in levels]
        for spot in spots:
            box = _box(x, lane, mark, words, spot)
            if self._left <= box.left and box.right <= self._right and not any(map(box.meets, self._drawn)):
                break
        self.block(box)
        return spot


def _box(x: float, lane: int, mark: float, words: float, spot: Spot) -> Box:
    left, right = (x - mark - words, x + mark) if spot.leftward else (x - mark, x + mark + words)
    return Box(left, right, lane + spot.level - _HALF_LINE, lane + spot.level + _HALF_LINE)
