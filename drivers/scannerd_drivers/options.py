"""Options that drivers share: those of a serial line, and the types their fields are made of.

A driver's options inherit from the mix-ins they need, and override a default where their device has its own.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scannerd.contract import DriverOptions

Milliseconds = Annotated[int, Field(ge=0, le=3_600_000)]
"""A time of an option: whole milliseconds, 0 to one hour."""

TimeoutMilliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
"""A time-out of an option: whole milliseconds, 1 to one hour."""


class SerialOptions(DriverOptions):
    """Options of a scanner on a serial line; a `tcp://` URL has no use for them."""

    baudrate: int = Field(default=9600, ge=50, le=4_000_000)
    """Speed of the serial line in bits per second."""

    dtr: bool | None = None
    """The DTR line while the port is open: true raises it, false keeps it down, left out leaves it as the system does.
    Set it to false for readers on a microcontroller that restarts when DTR is raised."""
