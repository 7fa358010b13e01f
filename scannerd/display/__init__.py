"""The pages of a table: the dealer's, the supervisor's and the figures, served from one thread of the daemon.

The thread only reads snapshots and posts commands to the inbox. What it needs beyond the daemon comes with the extra
`display`; this module imports none of it, so that a daemon without pages runs without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from scannerd.config.settings import Config
from scannerd.display.fanout import Fanout
from scannerd.display.hub import Links
from scannerd.errors import UsageError

PACKAGES = ("starlette", "uvicorn", "prometheus_client")
"""What the extra `display` brings."""


def require(config: Config, packages: tuple[str, ...] = PACKAGES) -> None:
    """Makes sure that the pages which a configuration asks for can be served.

    Raises:
        UsageError: they are asked for, but a package is missing. Whoever installed scannerd must act.
    """
    lacking = [name for name in packages if find_spec(name) is None]
    if lacking and config.display.address is not None:
        raise UsageError(
            f"{config.path}: display.listen: {', '.join(lacking)} not installed: "
            'install scannerd[display], or switch the pages off with listen = ""'
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pages are and what they are of.

    Attributes:
        table: the table's id.
        language: the pages' language until somebody chooses another.
        version: of the daemon; a page that was made by another loads itself anew.
        session: of the process.
        directory: the table's state directory.
    """

    table: str
    language: str
    version: str
    session: str
    directory: Path


class Display(Protocol):
    """The pages, as the composition root holds them."""

    def start(self) -> bool:
        """Begins to serve; False where that is not possible yet: the status topic says why, and it is tried again."""

    def speak(self, language: str) -> None:
        """Pages that connect from now on begin in another language; may be called from any thread."""

    def stop(self) -> None:
        """Asks for the end; returns at once."""

    def join(self, within: float) -> bool:
        """Waits for it, at most `within` seconds; whether it came."""


def build(config: Config, place: Place, fanout: Fanout, links: Links) -> Display | None:
    """The pages that a configuration asks for, not yet served; None where it asks for none.

    Raises:
        UsageError: what serves them is not installed.
    """
    if config.display.address is None:
        return None
    require(config)
    from scannerd.display.server import WebDisplay  # noqa: PLC0415 - brought by the extra `display`

    return WebDisplay(config.display, place, fanout, links)
