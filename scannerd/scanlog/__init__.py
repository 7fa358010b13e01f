"""Recordings (`.scanlog`): a header, then what a table saw and was told, one JSON object a line, in time order.

Reading checks every line and names the file and the line of what is wrong. A last line without its line end that
can't be read was cut off while it was written: it is left out, with a warning.
"""

from __future__ import annotations

from scannerd.scanlog.entries import LONGEST_S, SECOND, Broker, Chunk, End, Entry, Link, Order, Sent, seconds
from scannerd.scanlog.header import Header
from scannerd.scanlog.reader import ScanlogError, ScanlogReader, reading
from scannerd.scanlog.writer import ScanlogWriter

__all__ = [
    "LONGEST_S",
    "SECOND",
    "Broker",
    "Chunk",
    "End",
    "Entry",
    "Header",
    "Link",
    "Order",
    "ScanlogError",
    "ScanlogReader",
    "ScanlogWriter",
    "Sent",
    "reading",
    "seconds",
]
