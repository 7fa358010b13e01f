"""A table runs from the package: ready, dealt at, killed, stuck; then the life of the package goes on."""

from __future__ import annotations

from pathlib import Path

from tests.guests import steps_package
from tests.guests.bench import CONFIG, PLAN, START_S, Bench
from tests.guests.debs import Debs
from tests.guests.guest import Guest
from tests.guests.report import Report, same
from tests.guests.table import UNIT, Table

DROP_IN = "/etc/systemd/system/scannerd@.service.d"
WATCHDOG_S = 10
"""In place of the unit's half minute, which a test need not wait for."""

PORT = 4001
PIPE = "/run/shoe"
SHOE = "/lab/shoe.py"

WRITTEN = {
    *("/etc/scannerd", CONFIG, CONFIG.replace("01", "02")),
    *(DROP_IN, f"{DROP_IN}/watchdog.conf"),
}
"""What people have written, as far as the package is concerned."""

_CONFIG = f"""
[table]
id = "tp-01"

[[scanner]]
name = "shoe"
driver = "bee-tek"
url = "tcp://127.0.0.1:{PORT}"
"""


class TcpShoe:
    """A Bee-Tek shoe on a serial server.

    Attributes:
        name: its name in the configuration.
    """

    name = "shoe"

    def __init__(self, machine: Guest) -> None:
        """Switches the serial server on."""
        self._machine = machine
        machine.put(Path(__file__).with_name("shoe.py"))
        machine.run(f"systemd-run --quiet --unit=shoe /usr/bin/python3 {SHOE} {PIPE} {PORT}")

    def say(self, card: str) -> None:
        """Sends the card's record."""
        self._machine.run(f"echo -n ' [Game]<Card:{card}> ' >{PIPE}")


def run(machine: Guest, debs: Debs, report: Report) -> None:
    """All checks."""
    machine.run("systemctl start mosquitto")
    bench = Bench(machine, report, Table(machine), TcpShoe(machine))
    before = steps_package.files(bench)
    steps_package.install(bench, debs)
    _starts(bench)
    _deals(bench)
    _is_killed(bench)
    _is_stuck(bench)
    steps_package.upgrade(bench, debs)
    steps_package.upgrade_over_a_death(bench, debs)
    steps_package.remove(bench)
    steps_package.install_again(bench, debs)
    steps_package.purge_unasked(bench)
    _has_all_events(bench)
    steps_package.install_again(bench, debs)
    steps_package.purge(bench, before, WRITTEN)


def _starts(bench: Bench) -> None:
    with bench.report.check("enabled and started: the service is ready, unprivileged, and the shoe is up"):
        bench.machine.write(CONFIG, _CONFIG)
        bench.machine.write(f"{DROP_IN}/watchdog.conf", f"[Service]\nWatchdogSec={WATCHDOG_S}\nTimeoutAbortSec=1\n")
        bench.machine.run("scannerd check -c /etc/scannerd/tp-01.toml")
        bench.machine.run("systemctl daemon-reload; systemctl enable --now scannerd@tp-01", START_S)
        same({"ActiveState": "active", "SubState": "running"}, bench.service("ActiveState", "SubState"))
        bench.table.expect("daemon_started", previous="first")
        bench.table.expect("scanner_up", scanner="shoe")
        user = bench.machine.run(f"stat -c %u /proc/$(systemctl show -P MainPID {UNIT})").strip()
        if user == "0":
            same("another user", "root")


def _deals(bench: Bench) -> None:
    cards = ("4S", "3H", "TD", "TC", "AH", "QS")
    with bench.report.check("six cards reach the broker, in order, and the round is complete"):
        bench.open_round()
        for slot, card in zip(PLAN, cards, strict=True):
            bench.table.expect_retained("prompt", code="deal", slot=slot)
            bench.deal(bench.shoe, slot, card)
        same(list(cards), bench.table.expect("round_completed").data["dealt"])


def _is_killed(bench: Bench) -> None:
    with bench.report.check("killed in mid-round: systemd starts it again and the round goes on"):
        bench.open_round()
        bench.deal(bench.shoe, PLAN[0], "2C")
        bench.machine.run(f"systemctl kill --kill-whom=main -s KILL {UNIT}")
        _goes_on(bench, PLAN[1], "3C")


def _is_stuck(bench: Bench) -> None:
    with bench.report.check("stopped for good in mid-round: the watchdog ends it, and the round goes on") as found:
        bench.machine.run(f"systemctl kill --kill-whom=main -s STOP {UNIT}")
        _goes_on(bench, PLAN[2], "4C")
        found.note(f"restarts: {bench.service('NRestarts')['NRestarts']}")
    bench.void_round()


def _goes_on(bench: Bench, slot: str, card: str) -> None:
    started = bench.table.expect("daemon_started", WATCHDOG_S + START_S)
    same(("crash", True), (started.data["previous"], started.data["resumed"]))
    bench.table.expect("scanner_up", START_S, scanner="shoe")
    bench.deal(bench.shoe, slot, card)


def _has_all_events(bench: Bench) -> None:
    with bench.report.check("every event came to the broker, over two crashes, an upgrade and two installations"):
        same([], bench.table.missing(), "events missing")
