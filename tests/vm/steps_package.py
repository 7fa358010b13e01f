"""The package in the machine: installed before the daemon runs, upgraded, removed and purged after all else."""

from __future__ import annotations

from tests.guests import steps_package
from tests.guests.report import same
from tests.guests.table import UNIT
from tests.vm.bench import CONFIG, RULES, START_S, Bench
from tests.vm.scanners import guest_file

SECRET = "/etc/credstore/scannerd-tp-01.mqtt-password"
EXAMPLES = "/usr/share/doc/scannerd/examples"

DROP_IN = "/etc/systemd/system/scannerd@.service.d"
START_LIMIT_S = 150
"""In place of the unit's half minute: a guest on a busy machine is fifty times slower than a machine of its own."""

WRITTEN = {
    *("/etc/scannerd", CONFIG, CONFIG.replace("01", "02"), "/etc/credstore", SECRET),
    *(DROP_IN, f"{DROP_IN}/slow.conf"),
    *(f"{RULES}/{name}.rules" for name in ("65-scannerd", "66-acm", "66-wedge", "67-link")),
}
"""What people have written, as far as the package is concerned."""


def begin(bench: Bench) -> dict[str, str]:
    """Installs the package, and writes what people write; returns what was on the disk before."""
    before = steps_package.files(bench)
    steps_package.install(bench, bench.debs)
    bench.machine.write(CONFIG, guest_file("tp-01.toml").read_bytes())
    bench.machine.write(f"{DROP_IN}/slow.conf", f"[Service]\nTimeoutStartSec={START_LIMIT_S}\n")
    bench.machine.write(SECRET, "not used, for there is no user")
    bench.machine.run(f"cp {EXAMPLES}/65-scannerd.rules {RULES}/; udevadm control --reload; systemctl daemon-reload")
    return before


def end(bench: Bench, before: dict[str, str]) -> None:
    """Upgrades, removes and purges; `before` is what was on the disk before all.

    The gadgets did not outlast the power cut: the table is dealt from the shoe alone.
    """
    head, shoe, *_ = guest_file("tp-01.toml").read_text(encoding="utf-8").split("[[scanner]]")
    bench.machine.write(CONFIG, f'{head}[[scanner]]{shoe}[display]\nlisten = ""\n')
    bench.machine.run(f"systemctl start {UNIT}", START_S)
    bench.table.expect("scanner_up", START_S, scanner="shoe")
    steps_package.upgrade(bench, bench.debs)
    _has_links(bench)
    steps_package.remove(bench)
    steps_package.purge(bench, before, WRITTEN)


def _has_links(bench: Bench) -> None:
    """The operator's rule makes a link here and says nothing else."""
    with bench.report.check("a rule that only makes a link: group, mode and ModemManager's leave come by themselves"):
        rule = 'SUBSYSTEM=="tty", ENV{ID_SERIAL_SHORT}=="TP01SHOE", SYMLINK+="scannerd/shoe"'
        bench.machine.run(f"rm {RULES}/6[56]-*.rules; echo '{rule}' >{RULES}/67-link.rules; udevadm control --reload")
        bench.shoe.pull()
        bench.table.expect("scanner_down", scanner="shoe")
        bench.shoe.plug()
        bench.table.expect("scanner_up", scanner="shoe")
        same("dialout 660\n", bench.machine.run("stat -L -c '%G %a' /dev/scannerd/shoe"))
        known = bench.machine.run("udevadm info --query=property /dev/scannerd/shoe").splitlines()
        same([], [key for key in ("ID_MM_DEVICE_IGNORE=1", "ID_MM_PORT_IGNORE=1") if key not in known])
