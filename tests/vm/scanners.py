"""The scanners that are plugged into the machine: each can be plugged, pulled, and made to say a card, or half of one.

Serial adapter and keyboard are QEMU's; the others are gadgets, which the guest's kernel plays on virtual controllers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from tests.vm.machine import Machine

GADGET = "/usr/local/sbin/gadget"

# HID POS Usage Tables 1.02: usage page 8C, usage 02. Report 2: length, three bytes AIM identifier, 56 of data, 3 more.
_BAR_CODE_SCANNER = bytes.fromhex(
    "058c0902a10185021500 26ff007508 950105 01093b8102 058c9503 09fb09fc09fd8102 953809fe82020195 0309ff8102c0"
)
_AIM, _DATA = b"]C1", 56


class Scanner(ABC):
    """A scanner with its cable.

    Attributes:
        name: its name in the configuration.
    """

    def __init__(self, machine: Machine, name: str) -> None:
        """It is not plugged in yet."""
        self.name = name
        self._machine = machine

    @abstractmethod
    def plug(self) -> None:
        """Plugs the cable in."""

    @abstractmethod
    def pull(self) -> None:
        """Pulls the cable."""

    @abstractmethod
    def say(self, card: str) -> None:
        """Reads a card."""

    @abstractmethod
    def say_half(self, card: str) -> None:
        """Begins to send a card, and stops in the middle."""


class SerialShoe(Scanner):
    """A Bee-Tek shoe behind an FTDI adapter, 0403:6001, which QEMU plays."""

    def plug(self) -> None:
        """Plugs the cable in."""
        self._machine.plug(
            self.name, driver="usb-serial", chardev="serial", serial="TP01SHOE", **{"always-plugged": True}
        )

    def pull(self) -> None:
        """Pulls the cable."""
        self._machine.pull(self.name)

    def say(self, card: str) -> None:
        """Sends the card's record."""
        self._machine.serial.send(f" [Game]<Card:{card}> ".encode())

    def say_half(self, card: str) -> None:
        """Sends the record up to the card's suit."""
        self._machine.serial.send(f" [Game]<Card:{card[0]}".encode())


class ForeignAdapter(Scanner):
    """An FTDI adapter that is not the shoe's and on which nothing hangs."""

    def plug(self) -> None:
        """Plugs the cable in."""
        self._machine.plug(
            self.name, driver="usb-serial", chardev="nobody", serial="FOREIGN1", **{"always-plugged": True}
        )

    def pull(self) -> None:
        """Pulls the cable."""
        self._machine.pull(self.name)

    def say(self, card: str) -> None:
        """Says nothing."""

    def say_half(self, card: str) -> None:
        """Says nothing."""


class Keyboard(Scanner):
    """A scanner that types, 0627:0001, which QEMU plays."""

    def plug(self) -> None:
        """Plugs the cable in."""
        self._machine.plug(self.name, driver="usb-kbd", serial="WEDGE01")

    def pull(self) -> None:
        """Pulls the cable."""
        self._machine.pull(self.name)

    def say(self, card: str) -> None:
        """Types the card and Enter."""
        self._machine.qmp.type(card.lower() + "\n")

    def say_half(self, card: str) -> None:
        """Types the rank alone."""
        self._machine.qmp.type(card[0].lower())


class Gadget(Scanner):
    """A device made of software."""

    def __init__(self, machine: Machine, name: str, controller: int, ids: str, serial: str) -> None:
        """Describes the device to the guest's kernel.

        Args:
            machine: where it is.
            name: its name in the configuration.
            controller: the virtual controller that it is plugged into, 0 to 3.
            ids: vendor and product, `0c2e:0b01`.
            serial: its serial number.
        """
        super().__init__(machine, name)
        machine.run(f"{GADGET} make {name} {controller} {ids} {serial} {self._describe()}")

    def plug(self) -> None:
        """Plugs the cable in."""
        self._machine.run(f"{GADGET} plug {self.name}")

    def pull(self) -> None:
        """Pulls the cable."""
        self._machine.run(f"{GADGET} pull {self.name}")

    def _describe(self) -> str:
        raise NotImplementedError

    def _send(self, data: bytes) -> None:
        self._machine.write("/run/said", data)
        self._machine.run(f"{GADGET} send {self.name} /run/said")


class AcmScanner(Gadget):
    """A scanner with a serial line of its own, CDC-ACM."""

    def say(self, card: str) -> None:
        """Sends a line."""
        self._send(card.encode() + b"\r")

    def say_half(self, card: str) -> None:
        """Sends the rank alone."""
        self._send(card[:1].encode())

    def _describe(self) -> str:
        return "acm"


class PosScanner(Gadget):
    """A scanner that sends reports, HID POS."""

    def say(self, card: str) -> None:
        """Sends a report."""
        self._send(_report(card, more=False))

    def say_half(self, card: str) -> None:
        """Sends a report that says that more follows."""
        self._send(_report(card, more=True))

    def _describe(self) -> str:
        self._machine.write("/run/descriptor", _BAR_CODE_SCANNER)
        return "hid /run/descriptor"


def _report(code: str, *, more: bool) -> bytes:
    data = code.encode().ljust(_DATA, b"\0")
    return bytes([2, len(code)]) + _AIM + data + bytes([0, 0, int(more)])


def guest_file(name: str) -> Path:
    """A file of ours that the guest gets."""
    return Path(__file__).parent / "guest" / name
