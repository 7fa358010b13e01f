"""`usb-bulk`: vendor scanners on a bulk or interrupt IN endpoint, whose bytes are lines of text.

The framing is that of `line`, with all its options; only the way to the bytes differs. One packet is one chunk: a
device that ends a transfer with a full packet would otherwise be waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from scannerd.contract import Driver, DriverOptions, Micros, Outcome
from scannerd_drivers.line import LineDecoder, LineFraming
from scannerd_drivers.options import FeedbackOptions

if TYPE_CHECKING:
    from scannerd.contract import Transport

NOT_TEXT = b"\xff"
"""No character of ASCII: the frame that holds it is refused."""


class UsbBulkOptions(FeedbackOptions, LineFraming):
    """Options of the driver `usb-bulk`."""

    interface: int | None = Field(default=None, ge=0, le=255)
    """The number of the interface to read; left out where the device has only one with such an endpoint."""

    endpoint: int | None = Field(default=None, ge=0x81, le=0x8F)
    """The address of the IN endpoint, 0x81 to 0x8F; left out where the interface has only one."""


class UsbBulkDriver(Driver[UsbBulkOptions]):
    """Lines of text from a USB endpoint."""

    name: ClassVar[str] = "usb-bulk"
    summary: ClassVar[str] = "vendor scanners on a USB bulk or interrupt endpoint"
    Options: ClassVar[type[DriverOptions]] = UsbBulkOptions

    def decoder(self, t: Micros) -> LineDecoder:
        """A fresh decoder for a scanner that was opened at `t`."""
        return LineDecoder(self.options, t)

    def transport(self, url: str) -> Transport:
        """The endpoint of the device that `url` names.

        Raises:
            ValueError: `url` is not `usb:VID:PID[:serial]`.
        """
        from scannerd_drivers.transports.settings import UsbSettings  # noqa: PLC0415 - as below
        from scannerd_drivers.transports.usb_device import UsbTransport  # noqa: PLC0415 - loads pyusb

        return UsbTransport(url, UsbSettings(self.options.interface, self.options.endpoint, overflow=self._overflow()))

    def feedback(self, outcome: Outcome) -> bytes:
        """The bytes configured for the outcome."""
        return self.options.feedback(outcome)

    def _overflow(self) -> bytes:
        """Stands in for a packet that was lost: it spoils the frame that the packet was part of, and ends it."""
        end = "\r" if self.options.end == "any" else self.options.end
        return NOT_TEXT + end.encode("latin-1")
