"""What the steps work with: the guest, the table in it, its shoe and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tests.guests.guest import Guest
from tests.guests.report import Report
from tests.guests.table import UNIT, Table

PLAN = ("A1", "B1", "A2", "B2", "A3", "B3")
PACE_S = 0.5
CONFIG = "/etc/scannerd/tp-01.toml"

START_S = 180.0
"""In which the daemon is started, in a guest that is slow."""


class Sayer(Protocol):
    """A scanner, plugged in.

    Attributes:
        name: its name in the configuration.
    """

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        ...

    def say(self, card: str) -> None:
        """Reads a card."""
        ...


@dataclass(frozen=True)
class Bench:
    """A guest with a broker, in which scannerd is or will be installed.

    Attributes:
        machine: the guest.
        report: where the checks go.
        table: follows the broker.
        shoe: the scanner that deals.
    """

    machine: Guest
    report: Report
    table: Table
    shoe: Sayer

    def service(self, *fields: str) -> dict[str, str]:
        """Fields of the daemon's unit, as systemd knows them."""
        said = self.machine.run(f"systemctl show {UNIT} -p {','.join(fields)}")
        return {key: value for key, _, value in (line.partition("=") for line in said.splitlines())}

    def open_round(self) -> None:
        """Opens a round; one that a failed check left open is voided."""
        if self.table.phase in ("dealing", "held"):
            self.void_round()
        self.table.command("open")
        self.table.expect("round_opened")

    def deal(self, scanner: Sayer, slot: str, card: str) -> None:
        """Says a card and sees it accepted, not sooner after the last one than a dealer can.

        Raises:
            TableError: it was not accepted.
        """
        self.table.listen(PACE_S)
        scanner.say(card)
        self.table.expect("card_accepted", slot=slot, scanner=scanner.name, attempt=1)

    def void_round(self) -> None:
        """Ends the round."""
        self.table.command("void", reason="end of a check")
        self.table.expect("round_voided")
