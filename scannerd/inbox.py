"""What the threads put on the engine's inbox: frozen letters, and nothing else passes between them and the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scannerd.core.events import FailedRead, Noticed, Read, ScannerWentDown, ScannerWentUp
from scannerd.mqtt.notices import Notice, ThreadDied
from scannerd.notebook import Digests
from scannerd.readers import Settle
from scannerd.texts import Texts

__all__ = [
    "CheckCause",
    "Checked",
    "Letter",
    "PagesStand",
    "Reconfigured",
    "ReloadAsked",
    "Settle",
    "StopRequested",
    "ThreadDied",
]


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The process is to end in an orderly way; `reason` is journalled."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReloadAsked:
    """The configuration is to be read anew."""


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration was read anew: what of it can change while the daemon runs, and the digest of the whole."""

    texts: Texts
    keep_days: int
    reject_rate: int
    reject_window: int
    config_digest: str


CheckCause: TypeAlias = Literal["start", "daily", "command"]
"""Why the daemon checks itself."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The daemon has checked what it runs on; `by` is who asked for it, where somebody did."""

    cause: CheckCause
    by: str | None
    digests: Digests


@dataclass(frozen=True, slots=True)
class PagesStand:
    """How the pages are, told at each change.

    Attributes:
        listen: the address that the configuration gives them.
        trouble: why nobody can open them; None: they are served.
    """

    listen: str
    trouble: str | None = None


Letter: TypeAlias = (
    Read
    | FailedRead
    | Noticed
    | ScannerWentUp
    | ScannerWentDown
    | Settle
    | Notice
    | Checked
    | ReloadAsked
    | Reconfigured
    | PagesStand
    | StopRequested
)
