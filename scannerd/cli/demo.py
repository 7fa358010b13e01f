"""`scannerd demo`: a table without hardware."""

from __future__ import annotations

import signal
from functools import partial
from threading import Event
from types import FrameType

import click

from scannerd.errors import UsageError


@click.command(short_help="Deal rounds from a packaged recording, with a broker and all.")
@click.option("--rounds", type=click.IntRange(min=1), help="End after so many rounds; without it, at Ctrl-C.")
@click.option(
    "--speed", type=click.FloatRange(min=0.1, max=20), default=1.0, show_default=True, help="How fast it is dealt."
)
def demo(rounds: int | None, speed: float) -> None:
    """Deal rounds of Teen Patti 20-20 from a packaged recording of a shoe.

    It starts a broker on this machine alone, on a free port, the daemon of a table and the reference game engine with a
    few simulated bettors, and prints what a subscriber hears of them: every card, what had to be scanned again and why,
    both hands, who won and what was paid. The first lines say how to watch the topics yourself, and where the dealer's
    page is.
    """
    from scannerd import demo as table  # noqa: PLC0415 - brings paho, which `--help` does not need

    asked = Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # what was started ends with us, however that comes
        signal.signal(number, partial(_interrupt, asked))
    try:
        table.run(rounds, speed, click.echo, asked.is_set)
    except KeyboardInterrupt:
        click.echo()
    except ImportError as missing:
        raise UsageError(f"{missing.name} is missing: pip install 'scannerd[demo]'") from missing


def _interrupt(asked: Event, number: int, frame: FrameType | None) -> None:
    """Interrupts, and leaves word: Python drops an exception that comes while it tidies up behind an object."""
    del number, frame
    asked.set()
    raise KeyboardInterrupt
