"""The daemon runs: scanners come and go under it, one after the other, and cards reach the broker."""

from __future__ import annotations

from tests.guests.guest import CommandError
from tests.guests.report import Found, at_most, same
from tests.guests.table import QUIET, UNIT, TableError
from tests.vm.bench import PACE_S, PLAN, START_S, Bench
from tests.vm.scanners import ForeignAdapter, Scanner
from tests.vm.steps_rules import typed

UP_S = 2.0
"""From the link to UP, by the guest's own clock."""

DOWN_S = 1.0
"""From the loss to DOWN, the same way."""

REPLUGS = 5

NODES = {"shoe": "dialout 660", "acm": "dialout 660", "pos": "plugdev 660", "wedge": "input 660"}
"""Group and mode that the rules give to what each link leads to."""


def run(bench: Bench) -> None:
    """All checks of this part; all scanners are plugged in at its end."""
    _starts_with_nothing(bench)
    for scanner in bench.scanners:
        _comes(bench, scanner)
    _is_granted(bench)
    _takes_interface(bench)
    _deals_six_cards(bench)
    _deals_from_all(bench)
    _is_grabbed(bench)
    for scanner in bench.scanners:
        _is_pulled_in_mid_frame(bench, scanner)
    _is_replugged_often(bench)
    _is_no_other(bench)
    _idles(bench)


def _starts_with_nothing(bench: Bench) -> None:
    with bench.report.check("the service is ready with no scanner plugged in, and says so of each") as found:
        bench.machine.run(f"systemctl start {UNIT}", START_S)
        same({"ActiveState": "active", "SubState": "running"}, bench.service("ActiveState", "SubState"))
        bench.table.expect("daemon_started", START_S, previous="first")
        downs = {bench.table.expect("scanner_down").data["scanner"] for _ in bench.scanners}
        same({scanner.name for scanner in bench.scanners}, downs)
        bench.table.expect_retained("status", state="degraded")
        bench.table.expect_retained("prompt", code="scanner_down", reason="shoe")
        ready = bench.service("ActiveEnterTimestampMonotonic", "InactiveExitTimestampMonotonic")
        took = int(ready["ActiveEnterTimestampMonotonic"]) - int(ready["InactiveExitTimestampMonotonic"])
        found.note(f"READY after {took / 1e6:.1f} s")
    if bench.service("ActiveState")["ActiveState"] != "active":
        raise CommandError("the daemon does not run")


def _comes(bench: Bench, scanner: Scanner) -> None:
    with bench.report.check(f"{scanner.name}: plugged in, it is up") as found:
        scanner.plug()
        bench.table.expect("scanner_up", scanner=scanner.name)
        _is_up_in_time(bench, scanner, found)


def _is_up_in_time(bench: Bench, scanner: Scanner, found: Found) -> None:
    found.note(f"UP {bench.table.replug_seconds(scanner.name):.2f} s after the kernel saw it")
    if scanner is not bench.usb:  # which has no link
        seconds = bench.table.link_seconds(scanner.name)
        found.note(f"{seconds:.2f} s after its link was made")
        at_most(UP_S, seconds, "UP")


def _is_granted(bench: Bench) -> None:
    with bench.report.check("udev gives each node its link, group and mode, and tells ModemManager to leave it"):
        nodes = {name: bench.machine.run(f"stat -L -c '%G %a' /dev/scannerd/{name}").strip() for name in sorted(NODES)}
        same(dict(sorted(NODES.items())), nodes)
        for name in ("shoe", "acm"):
            known = bench.machine.run(f"udevadm info --query=property /dev/scannerd/{name}").splitlines()
            same([], [key for key in ("ID_MM_DEVICE_IGNORE=1", "ID_MM_PORT_IGNORE=1") if key not in known], name)
    with bench.report.check("the daemon runs unprivileged under its unit") as found:
        user = bench.machine.run(f"ps -o user= -p $(systemctl show -P MainPID {UNIT})").strip()
        found.note(f"as {user}")
        if user == "root":
            same("another user", user)


def hidraw_nodes(bench: Bench, serial: str) -> list[str]:
    """The hidraw nodes that the kernel has made for a device with this serial number."""
    said = bench.machine.run(f"grep -l HID_UNIQ={serial} /sys/class/hidraw/*/device/uevent || true")
    return said.split()


def _takes_interface(bench: Bench) -> None:
    with bench.report.check("usb: the interface is taken from the kernel's driver; that of the other scanner is not"):
        same((0, 1), (len(hidraw_nodes(bench, "POS00002")), len(hidraw_nodes(bench, "18100B4A"))))


def _deals_six_cards(bench: Bench) -> None:
    cards = ("4S", "H3", "TD", "10C", "AH", "QS")
    with bench.report.check("shoe: six cards reach the broker, in order, and the round is complete"):
        bench.table.expect_retained("status", state="online")
        bench.open_round()
        for slot, card in zip(PLAN, cards, strict=True):
            bench.table.expect_retained("prompt", code="deal", slot=slot)
            bench.deal(bench.shoe, slot, card)
        told = bench.table.expect("round_completed")
        same(["4S", "3H", "TD", "TC", "AH", "QS"], told.data["dealt"])
        bench.table.expect_retained("prompt", code="complete")


def _deals_from_all(bench: Bench) -> None:
    cards = ("2S", "3S", "4S", "5S", "6S", "7S")
    with bench.report.check("a card from each scanner, and one more: the round is complete"):
        bench.open_round()
        for slot, card, scanner in zip(PLAN, cards, (*bench.scanners, bench.shoe), strict=True):
            bench.deal(scanner, slot, card)
        same(list(cards), bench.table.expect("round_completed").data["dealt"])


def _is_grabbed(bench: Bench) -> None:
    with bench.report.check("wedge: nothing of what it types reaches the console"):
        same("9d\n", typed(bench))


def _is_pulled_in_mid_frame(bench: Bench, scanner: Scanner) -> None:
    name = scanner.name
    with bench.report.check(f"{name}: pulled in mid-frame, it is down and the half frame is named") as found:
        bench.open_round()
        bench.deal(scanner, "A1", "KH")
        bench.table.listen(PACE_S)
        scanner.say_half("9D")
        bench.table.listen(PACE_S)
        scanner.pull()
        down = bench.table.expect("scanner_down", scanner=name)
        bench.table.expect_retained("prompt", code="scanner_down", reason=name, slot="B1")
        seconds = bench.table.unplug_seconds(name)
        found.note(f"{seconds:.2f} s after the kernel missed it, {down.data['detail']!r}")
        at_most(DOWN_S, seconds, "DOWN")
        if "half frame dropped" not in str(down.data["detail"]):
            raise TableError("the half frame is not named")
    with bench.report.check(f"{name}: plugged in again, it is up, and the due card is asked for and accepted") as found:
        scanner.plug()
        bench.table.expect("scanner_up", scanner=name)
        bench.table.expect_retained("prompt", code="deal", slot="B1")
        same([], bench.table.rest(), "events of the half frame")
        bench.deal(scanner, "B1", "QC")
        _is_up_in_time(bench, scanner, found)
    bench.void_round()


def _is_replugged_often(bench: Bench) -> None:
    with bench.report.check(f"shoe: up within {UP_S:g} s each time, replugged {REPLUGS} times") as found:
        times = []
        for _ in range(REPLUGS):
            bench.shoe.pull()
            bench.table.expect("scanner_down", scanner="shoe")
            bench.table.listen(1.0)
            bench.shoe.plug()
            bench.table.expect("scanner_up", scanner="shoe")
            times.append(bench.table.replug_seconds("shoe"))
        found.note(f"UP {', '.join(f'{seconds:.2f}' for seconds in times)} s after the kernel saw it")
        found.note(f"it is {bench.machine.run('realpath /dev/scannerd/shoe').strip()}")
        at_most(UP_S, max(times), "UP")


def _is_no_other(bench: Bench) -> None:
    other = ForeignAdapter(bench.machine, "other")
    with bench.report.check("shoe: another adapter of its make that has its node is not taken for it"):
        bench.shoe.pull()
        bench.table.expect("scanner_down", scanner="shoe")
        other.plug()
        bench.machine.wait("ttyUSB0", lambda: bench.machine.ask("test -e /dev/ttyUSB0")[0] == 0, 10)
        bench.machine.run("udevadm settle -t 10")
        same([], bench.table.rest(UP_S * 2), "events")
        bench.shoe.plug()
        bench.table.expect("scanner_up", scanner="shoe")
        same("/dev/ttyUSB1", bench.machine.run("realpath /dev/scannerd/shoe").strip())
        bench.open_round()
        bench.deal(bench.shoe, "A1", "JS")
        bench.void_round()
    other.pull()


def _idles(bench: Bench) -> None:
    with bench.report.check("five scanners that say nothing cost little") as found:
        bench.table.listen(QUIET)
        used = [int(bench.service("CPUUsageNSec")["CPUUsageNSec"])]
        uptime = [float(bench.machine.run("cut -d' ' -f1 /proc/uptime"))]
        bench.table.listen(10)
        used.append(int(bench.service("CPUUsageNSec")["CPUUsageNSec"]))
        uptime.append(float(bench.machine.run("cut -d' ' -f1 /proc/uptime")))
        share = (used[1] - used[0]) / 1e9 / (uptime[1] - uptime[0])
        found.note(f"{100 * share:.1f} % of a core that is ten times slower than ours")
        at_most(0.25, share, "a quarter of a core")
