"""What the threads put on the engine's inbox: frozen letters, and nothing else passes between them and the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from scannerd.core.events import FailedRead, Noticed, Read, ScannerWentDown, ScannerWentUp
from scannerd.mqtt.notices import Notice, ThreadDied
from scannerd.readers import Settle

__all__ = ["Letter", "Settle", "StopRequested", "ThreadDied"]


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The process is to end in an orderly way; `reason` is journalled."""

    reason: str


Letter: TypeAlias = Read | FailedRead | Noticed | ScannerWentUp | ScannerWentDown | Settle | Notice | StopRequested
