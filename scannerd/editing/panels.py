"""One round in a picture: its slots as lanes, time from left to right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scannerd.editing.labels import ABOVE, BELOW, LEVELS, MIDDLE, Box, Labels, Spot
from scannerd.editing.scenes import Mark, Scene, Span, Waiting
from scannerd.editing.timescale import Break, Timescale
from scannerd.scanlog import SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH: Final = 12.0
"""Of a picture, in inches."""

LANE: Final = 0.46
"""How high a lane is, in inches."""

SHARE: Final = 0.895
"""Of the width, for the time."""

_LETTER, _LARGE_LETTER, _HALF_CARD, _THIN = 0.064, 0.11, 0.2, 0.04  # inches
_NO_SLOT, _COMMANDS = "no slot", "commands"
INK, FAINT, _GRID = "#222222", "#777777", "#d8d8d8"
RED, _GREEN, _BLUE = "#b8331f", "#00795a", "#0072b2"
_SUITS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
BANDS: Final[dict[Waiting, tuple[str, str]]] = {
    "deal": ("#dcebf7", ""),
    "rescan": ("#fbe7c6", "////"),
    "held": ("#f6d0c8", "xxxx"),
    "away": ("#dddddd", "...."),
}
"""Fill and hatching of what is waited for."""

_LINES: Final[dict[str, tuple[str, str, str]]] = {
    "held": ("held", RED, "--"),
    "completed": ("complete", _GREEN, "-"),
    "voided": ("void", RED, "-"),
}
"""Word, colour and stroke of what concerns a whole round."""


def lanes(scene: Scene) -> list[str]:
    """The slots, and below them what there is something to show of."""
    beside = [_NO_SLOT] if any(mark.kind == "rejected" and mark.slot is None for mark in scene.marks) else []
    away = [lane for lane in scene.scanners if any(span.lane == lane for span in scene.spans)]
    commands = [_COMMANDS] if any(mark.kind in {"command", "alarm"} for mark in scene.marks) else []
    return [*scene.slots, *beside, *away, *commands]


class Panel:
    """One round in its axes: x in seconds as drawn, y in lanes from the top."""

    def __init__(self, axes: Axes, scene: Scene) -> None:
        """Draws nothing yet; `axes` are empty, and as high as the scene's lanes."""
        self._axes, self._scene, self._lanes = axes, scene, lanes(scene)
        times = [mark.at for mark in scene.marks] + [time for span in scene.spans for time in span[:2]]
        self._scale = Timescale(time / SECOND for time in [scene.begin, scene.end, *times])
        margin = max(0.4, self._scale.width * 0.04)
        self._edges = -margin, self._scale.width + margin
        self._inch = (self._edges[1] - self._edges[0]) / (WIDTH * SHARE)
        self._labels = Labels(*self._edges)

    def draw(self) -> None:
        """Draws all of it: cards first, for words may not lie on them."""
        self._frame()
        marks = self._scene.marks
        gone = {(mark.at, mark.slot) for mark in marks if mark.kind == "withdrawn"}
        for span in self._scene.spans:
            self._band(span)
        for mark in marks:
            if mark.kind in {"accepted", "entered"}:
                self._card(mark, gone=(mark.at, mark.slot) in gone)
        for mark in marks:
            self._mark(mark)
        for silence in self._scale.breaks:
            self._silence(silence)

    def _x(self, at: int) -> float:
        return self._scale.place(at / SECOND)

    def _y(self, lane: str) -> int:
        return self._lanes.index(lane)

    def _frame(self) -> None:
        axes, count = self._axes, len(self._lanes)
        axes.set_xlim(*self._edges)
        axes.set_ylim(count, 0)
        axes.set_yticks([lane + MIDDLE for lane in range(count)], self._lanes, fontsize=9, color=INK)
        times = self._scale.ticks()
        places = [self._scale.place(time) for time in times]
        axes.set_xticks(places, [f"{time:g}" for time in times], fontsize=8, color=FAINT)
        axes.tick_params(length=0)
        axes.set_frame_on(False)
        for place in places:
            axes.axvline(place, color=_GRID, linewidth=0.5, zorder=0)
        for lane in range(count + 1):
            axes.axhline(lane, color=FAINT if lane == len(self._scene.slots) else _GRID, linewidth=0.8, zorder=0)
        axes.set_title(_title(self._scene), loc="left", fontsize=10.5, color=INK, pad=19, weight="bold")

    def _band(self, span: Span) -> None:
        begin, width = self._x(span.begin), self._x(span.end) - self._x(span.begin)
        if width < _THIN * self._inch:
            return
        fill, hatch = BANDS[span.kind]
        top, high = (0.03, 0.94) if span.lane in self._scene.slots else (0.25, 0.5)
        self._axes.broken_barh(
            [(begin, width)],
            (self._y(span.lane) + top, high),
            facecolor=fill,
            hatch=hatch,
            edgecolor="#bbbbbb",
            linewidth=0.0,
            zorder=1,
        )

    def _card(self, mark: Mark, *, gone: bool) -> None:
        x, lane = self._x(mark.at), self._y(str(mark.slot))
        text = _card(mark.text) + (" by hand" if mark.kind == "entered" else "")
        self._axes.text(
            x,
            lane + MIDDLE,
            text,
            size=10.5,
            weight="bold",
            color=FAINT if gone else RED if mark.text[1] in "HD" else INK,
            ha="center",
            va="center",
            zorder=4,
            bbox={
                "boxstyle": "round,pad=0.24",
                "facecolor": "white",
                "edgecolor": FAINT if gone else INK,
                "linewidth": 0.9,
                "linestyle": "--" if mark.kind == "entered" else "-",
            },
        )
        half = (len(text) * _LARGE_LETTER / 2 + 0.06) * self._inch
        self._labels.block(Box(x - half, x + half, lane + 0.26, lane + 0.74))

    def _mark(self, mark: Mark) -> None:
        x = self._x(mark.at)
        if mark.kind == "withdrawn":
            lane, half = self._y(str(mark.slot)), _HALF_CARD * self._inch
            self._axes.plot([x - half, x + half], [lane + 0.8, lane + 0.2], color=RED, linewidth=1.8, zorder=5)
            self._sign(x + half, lane, "", f"withdrawn: {mark.reason}", RED, (ABOVE, BELOW))
        elif mark.kind == "rejected":
            self._sign(x, self._y(mark.slot or _NO_SLOT), "x", f"{_card(mark.text)} {mark.reason}".strip(), RED)
        elif mark.kind == "command":
            self._sign(x, self._y(_COMMANDS), ">", mark.text, _BLUE)
        elif mark.kind == "alarm":
            self._sign(x, self._y(_COMMANDS), "^", f"alarm: {mark.text}", RED)
        elif mark.kind in _LINES:
            self._line(x, mark)

    def _line(self, x: float, mark: Mark) -> None:
        """What concerns the whole round, across its slots, with a word above them."""
        word, colour, style = _LINES[mark.kind]
        self._axes.plot([x, x], [0, len(self._scene.slots)], color=colour, linewidth=1.6, linestyle=style, zorder=2)
        text = f"{word}: {mark.text}" if mark.kind == "held" else word
        self._axes.text(x, -0.1, text, size=8, color=colour, ha="center", va="bottom", weight="bold")

    def _sign(  # noqa: PLR0913, PLR0917 - what there is to say of a sign
        self, x: float, lane: int, sign: str, text: str, colour: str, levels: tuple[float, ...] = LEVELS
    ) -> None:
        """A sign with words beside it."""
        half = 0.07 * self._inch
        spot = self._labels.spot(x, lane, half, len(text) * _LETTER * self._inch, levels)
        if sign:
            edge = 2 if sign == "x" else 0
            y = lane + spot.level
            self._axes.plot([x], [y], marker=sign, markersize=6, markeredgewidth=edge, color=colour, zorder=6)
        self._say(x - 1.3 * half if spot.leftward else x + 1.3 * half, lane, spot, text, colour)

    def _say(self, x: float, lane: int, spot: Spot, text: str, colour: str) -> None:
        self._axes.text(
            x,
            lane + spot.level,
            text,
            size=7.5,
            color=colour,
            ha="right" if spot.leftward else "left",
            va="center",
            zorder=7,
            bbox={"boxstyle": "round,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )

    def _silence(self, silence: Break) -> None:
        x, count = silence.place, len(self._lanes)
        self._axes.plot([x, x], [0, count], color=FAINT, linewidth=0.9, linestyle=(0, (1, 3)), zorder=3)
        words = f"{silence.seconds:.0f} s"
        self._axes.text(x, count + 0.1, words, size=7.5, color=FAINT, ha="center", va="top", style="italic")


def _title(scene: Scene) -> str:
    refused = sum(mark.kind == "rejected" for mark in scene.marks)
    ends = [_ending(mark) for mark in scene.marks if mark.kind in {"completed", "voided"}]
    words = [f"Round {scene.round}" if scene.round else "No round", *ends]
    return "   ·   ".join([*words, f"{refused} refused" if refused else "nothing refused"])


def _card(text: str) -> str:
    """A card as people write it; empty for none."""
    return f"{text[0].replace('T', '10')}{_SUITS[text[1]]}" if text else ""


def _ending(mark: Mark) -> str:
    if mark.kind == "completed":
        return f"complete after {mark.text}"
    return f"void: {mark.text}" if mark.text else "void"
