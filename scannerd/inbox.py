"""What the threads put on the engine's inbox: frozen letters, and nothing else passes between them and the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scannerd.core.events import FailedRead, Noticed, Read, ScannerWentDown, ScannerWentUp
from scannerd.mqtt.notices import Notice, ThreadDied
from scannerd.notebook import Digests
from scannerd.readers import Settle

__all__ = ["CheckCause", "Checked", "Letter", "Settle", "StopRequested", "ThreadDied"]


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The process is to end in an orderly way; `reason` is journalled."""

    reason: str


CheckCause: TypeAlias = Literal["start", "daily", "command"]
"""Why the daemon checks itself."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The daemon has checked what it runs on; `by` is who asked for it, where somebody did."""

    cause: CheckCause
    by: str | None
    digests: Digests


Letter: TypeAlias = (
    Read | FailedRead | Noticed | ScannerWentUp | ScannerWentDown | Settle | Notice | Checked | StopRequested
)
