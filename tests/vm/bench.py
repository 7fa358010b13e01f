"""What the steps work with: the machine, the table in it, its scanners and the report."""

from __future__ import annotations

from dataclasses import dataclass

from tests.guests import bench
from tests.guests.bench import CONFIG, PACE_S, PLAN, START_S
from tests.guests.debs import Debs
from tests.guests.report import Report
from tests.guests.table import Table
from tests.vm.machine import Machine
from tests.vm.scanners import GADGET, AcmScanner, Keyboard, PosScanner, Scanner, SerialShoe, guest_file

__all__ = ["CONFIG", "PACE_S", "PLAN", "RULES", "START_S", "Bench", "prepared"]

RULES = "/etc/udev/rules.d"


@dataclass(frozen=True)
class Bench(bench.Bench):
    """A machine with a broker, in which scannerd is not yet installed.

    Attributes:
        machine: the guest.
        shoe: on a USB serial adapter.
        acm: with a serial line of its own.
        pos: sends reports, read through hidraw.
        usb: the same, read through libusb.
        wedge: types.
        debs: the package in two versions.
    """

    machine: Machine
    shoe: SerialShoe
    acm: AcmScanner
    pos: PosScanner
    usb: PosScanner
    wedge: Keyboard
    debs: Debs

    @property
    def scanners(self) -> tuple[Scanner, ...]:
        """All of them, in the order of the configuration."""
        return self.shoe, self.acm, self.pos, self.usb, self.wedge


def prepared(machine: Machine, debs: Debs, report: Report) -> Bench:
    """Describes the scanners to the guest, and starts mosquitto."""
    machine.write(GADGET, guest_file("gadget").read_bytes())
    machine.run(f"chmod +x {GADGET}; systemctl start mosquitto")
    return Bench(
        machine,
        report,
        Table(machine),
        SerialShoe(machine, "shoe"),
        AcmScanner(machine, "acm", 0, "1d6b:0104", "ACM01"),
        PosScanner(machine, "pos", 1, "0c2e:0b01", "18100B4A"),
        PosScanner(machine, "usb", 2, "0c2e:0b01", "POS00002"),
        Keyboard(machine, "wedge"),
        debs,
    )
