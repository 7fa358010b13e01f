"""`scannerd scanlog`: work on recordings, each verb in the module of its name, imported when it is called."""

from __future__ import annotations

import click

from scannerd.cli import LazyGroup

COMMANDS = {
    "show": "Show a recording as a timeline.",
    "plot": "Draw a picture of the deal.",
    "trim": "Keep a span of time, or one round.",
    "anonymise": "Take out what names the studio, its tables and its people.",
    "minimise": "Shrink to the smallest recording that shows the same.",
    "mutate": "Put faults in, by a seed.",
}
"""Every verb with the line that `--help` shows."""


@click.group(cls=LazyGroup, package=__name__, lines=COMMANDS)
def scanlog() -> None:
    """Work on recordings: from trouble at a table to a test.

    A recording is never written over: each verb writes to another file, with -o, or to standard output.
    """
