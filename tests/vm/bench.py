"""What the steps work with: the machine, the table in it, its scanners and the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.vm.machine import Machine
from tests.vm.report import Report
from tests.vm.scanners import GADGET, AcmScanner, Keyboard, PosScanner, Scanner, SerialShoe, guest_file
from tests.vm.table import UNIT, Table

TREE = Path(__file__).parents[2]
PLAN = ("A1", "B1", "A2", "B2", "A3", "B3")
PACE_S = 0.5
RULES = "/etc/udev/rules.d"
CONFIG = "/etc/scannerd/tp-01.toml"


@dataclass(frozen=True)
class Bench:
    """A machine in which scannerd is installed and not yet running.

    Attributes:
        machine: the guest.
        report: where the checks go.
        table: follows the broker.
        shoe: on a USB serial adapter.
        acm: with a serial line of its own.
        pos: sends reports, read through hidraw.
        usb: the same, read through libusb.
        wedge: types.
    """

    machine: Machine
    report: Report
    table: Table
    shoe: SerialShoe
    acm: AcmScanner
    pos: PosScanner
    usb: PosScanner
    wedge: Keyboard

    @property
    def scanners(self) -> tuple[Scanner, ...]:
        """All of them, in the order of the configuration."""
        return self.shoe, self.acm, self.pos, self.usb, self.wedge

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

    def deal(self, scanner: Scanner, slot: str, card: str) -> None:
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


def install(machine: Machine, wheel: Path, report: Report) -> Bench:
    """Puts scannerd, its unit, its rules and the table's configuration into the guest, and starts mosquitto."""
    machine.unpack(wheel)
    machine.write(GADGET, guest_file("gadget").read_bytes())
    machine.write(f"/etc/systemd/system/{_unit().name}", _unit().read_bytes())
    machine.write(f"{RULES}/65-scannerd.rules", (TREE / "udev/65-scannerd.rules").read_bytes())
    machine.write(CONFIG, guest_file("tp-01.toml").read_bytes())
    machine.write("/etc/credstore/scannerd-tp-01.mqtt-password", "not used, for there is no user")
    machine.run(f"chmod +x {GADGET}; systemctl daemon-reload; udevadm control --reload; systemctl start mosquitto")
    return Bench(
        machine,
        report,
        Table(machine),
        SerialShoe(machine, "shoe"),
        AcmScanner(machine, "acm", 0, "1d6b:0104", "ACM01"),
        PosScanner(machine, "pos", 1, "0c2e:0b01", "18100B4A"),
        PosScanner(machine, "usb", 2, "0c2e:0b01", "POS00002"),
        Keyboard(machine, "wedge"),
    )


def _unit() -> Path:
    return TREE / "systemd/scannerd@.service"
