"""Before the daemon runs: what `scannerd devices` sees, the rules that it writes, and a keyboard that types."""

from __future__ import annotations

import json

from tests.guests.report import same
from tests.vm.bench import RULES, Bench

CONSOLE = "/run/console"
"""What was typed into the guest's console, a line at a time."""


def run(bench: Bench) -> None:
    """All checks of this part."""
    bench.machine.run(f"systemd-run --quiet --unit=console sh -c 'exec cat </dev/tty1 >{CONSOLE}'")
    for scanner in (bench.acm, bench.wedge):
        scanner.plug()
    bench.machine.run("udevadm settle -t 10")
    _sees_devices(bench)
    _writes_rules(bench)
    _types(bench)
    for scanner in (bench.acm, bench.wedge):
        scanner.pull()
    bench.machine.run("udevadm control --reload; udevadm settle -t 10")


def typed(bench: Bench) -> str:
    """What has been typed into the console so far."""
    return bench.machine.run(f"cat {CONSOLE}")


def _sees_devices(bench: Bench) -> None:
    with bench.report.check("`scannerd devices` sees a CDC-ACM port and a keyboard") as found:
        listed = json.loads(bench.machine.run("scannerd devices --json"))
        seen = {(one["kind"], one["usb"]["serial"]) for one in listed if one["usb"]}
        same({("serial", "ACM01"), ("input", "WEDGE01")}, seen)
        found.note(", ".join(one["node"] for one in listed))


def _writes_rules(bench: Bench) -> None:
    for scanner, node in ((bench.acm, "/dev/ttyACM0"), (bench.wedge, _keyboard_node(bench))):
        with bench.report.check(f"`scannerd devices --udev {scanner.name} {node}` writes a rule that makes the link"):
            bench.machine.run(
                f"scannerd devices --udev {scanner.name} {node} >{RULES}/66-{scanner.name}.rules; "
                f"udevadm control --reload; udevadm trigger --settle {node}"
            )
            same(node, bench.machine.run(f"realpath /dev/scannerd/{scanner.name}").strip())


def _keyboard_node(bench: Bench) -> str:
    return bench.machine.run("realpath /dev/input/by-id/*WEDGE01-event-kbd").strip()


def _types(bench: Bench) -> None:
    with bench.report.check("a keyboard that nobody grabs types into the console"):
        bench.wedge.say("9D")
        bench.machine.wait("9d on the console", lambda: typed(bench) == "9d\n", 10)
