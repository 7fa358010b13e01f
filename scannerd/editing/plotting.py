"""A picture of the deal: a lane for each slot, what was scanned into it and what was refused, and who waited for whom.

Colour says nothing that a shape or a word does not say too. Colours are those of Okabe and Ito, which people who tell
red and green apart badly can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scannerd.editing.panels import BANDS, FAINT, INK, LANE, RED, SHARE, WIDTH, Panel, lanes
from scannerd.editing.scenes import Scene, Waiting
from scannerd.errors import UsageError
from scannerd.scanlog import Header

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: Final = (".svg", ".png", ".pdf")

_TITLE: Final = 1.08  # inches of a panel that are no lanes
_WORDS: Final[dict[Waiting, str]] = {
    "deal": "the card is due",
    "rescan": "to be scanned again",
    "held": "held: a supervisor is called",
    "away": "a scanner or the broker is away",
}


def draw(header: Header, name: str, scenes: Sequence[Scene]) -> Figure:
    """The picture of some rounds, one below the other.

    Args:
        header: the recording's.
        name: what the picture is called.
        scenes: at least one.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise UsageError("a picture needs matplotlib: pip install 'scannerd[plot]'") from None
    heights = [_TITLE + LANE * len(lanes(scene)) for scene in scenes]
    total = sum(heights) + 1.1
    figure = Figure(figsize=(WIDTH, total), layout=None, facecolor="white")
    top = total - 0.5
    for scene, height in zip(scenes, heights, strict=True):
        bottom = top - height
        axes = figure.add_axes((0.085, (bottom + 0.42) / total, SHARE, (height - _TITLE) / total))
        Panel(axes, scene).draw()
        top = bottom
    began = f"{header.recorded_at:%Y-%m-%d %H:%M:%S} UTC"
    figure.text(0.012, 1 - 0.26 / total, name, size=13, weight="bold", color=INK, va="center")
    about = f"table {header.table}  ·  {header.game}  ·  seconds since {began}"
    figure.text(0.988, 1 - 0.26 / total, about, size=9, color=FAINT, va="center", ha="right")
    _legend(figure, total)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Writes a picture, the same bytes for the same picture.

    Raises:
        OSError: the file can't be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow to import

    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix, {})
    with rc_context({"svg.hashsalt": "scannerd", "hatch.linewidth": 0.4}):
        figure.savefig(path, format=path.suffix[1:], dpi=110, metadata=metadata)


def _legend(figure: Figure, total: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - the same
    from matplotlib.patches import Patch  # noqa: PLC0415 - the same

    bands = [
        Patch(facecolor=fill, hatch=hatch, edgecolor=FAINT, linewidth=0.5, label=_WORDS[kind])
        for kind, (fill, hatch) in BANDS.items()
    ]
    marks = [
        Line2D(
            [],
            [],
            color="none",
            marker="s",
            markersize=9,
            markerfacecolor="white",
            markeredgecolor=INK,
            label="card accepted",
        ),
        Line2D([], [], color=RED, linewidth=1.6, label="card withdrawn"),
        Line2D(
            [],
            [],
            color="none",
            marker="x",
            markersize=7,
            markeredgewidth=2,
            markeredgecolor=RED,
            label="read refused, and why",
        ),
    ]
    figure.legend(
        handles=[*marks, *bands],
        loc="lower center",
        bbox_to_anchor=(0.5, 0.08 / total),
        ncols=len(marks) + len(bands),
        fontsize=8,
        frameon=False,
        handlelength=1.6,
        columnspacing=1.6,
    )
