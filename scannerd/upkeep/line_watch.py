"""Watches for a line that is set up wrongly: frame after frame of bytes that are no text.

A wrong speed or parity makes no silence but nonsense, which looks like cards that don't read. Several such frames in a
row are told as the alarm `check_line`, once for each scanner, until a card of that scanner is read.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from scannerd.core.events import AlarmChanged, FailedRead, Read

ALARM: Final = "check_line"
IN_A_ROW = 5
"""So many undecodable frames of one scanner, and none between them that could be read, raise the alarm."""

_DETAIL = f"{IN_A_ROW} undecodable frames in a row: check the line's speed and parity"


class LineWatch:
    """Counts the undecodable frames of each scanner, those that the core takes for a bounce included."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._in_a_row: dict[str, int] = {}

    def seen(self, read: Read | FailedRead, alarms: Container[tuple[str, str | None]]) -> AlarmChanged | None:
        """Takes what a scanner read, and says what becomes of its alarm.

        Args:
            read: in the order of its scanner's frames.
            alarms: those that are up, by name and scanner.
        """
        scanner, up = read.scanner, (ALARM, read.scanner) in alarms
        if isinstance(read, FailedRead) and read.reason == "bad_frame" and read.detail.startswith("undecodable"):
            count = self._in_a_row[scanner] = self._in_a_row.get(scanner, 0) + 1
            raised = count >= IN_A_ROW and not up
            return AlarmChanged(read.at, ALARM, up=True, scanner=scanner, detail=_DETAIL) if raised else None
        self._in_a_row[scanner] = 0
        over = up and isinstance(read, Read)
        return AlarmChanged(read.at, ALARM, up=False, scanner=scanner) if over else None
