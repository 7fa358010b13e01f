"""What happens to the process: reloaded, stopped and continued, killed in mid-round, asked to end."""

from __future__ import annotations

import time

from scannerd.texts import texts
from tests.guests.report import at_most, same
from tests.guests.table import QUIET, UNIT
from tests.vm.bench import CONFIG, PLAN, START_S, Bench
from tests.vm.steps_plugging import hidraw_nodes
from tests.vm.steps_rules import typed

STOPPED_S = 5.0
"""How long the process stands still; above 2 s what waited is stale, and the watchdog has 30 s."""

WATCHDOG_S = 45.0
"""More than the unit's WatchdogSec."""

STOP_S = 5.0
"""In which it ends, after which systemd would still wait as long again."""


def run(bench: Bench) -> None:
    """All checks of this part; the daemon has ended at its end."""
    _has_its_secrets(bench)
    _reloads(bench)
    _stands_still(bench)
    _is_killed(bench)
    _hangs(bench)
    _ends(bench)
    _loses_power(bench)
    _has_all_events(bench)


def _has_its_secrets(bench: Bench) -> None:
    with bench.report.check("a secret of the credential store reaches the daemon, a missing one stops nothing"):
        same("mqtt-password", bench.machine.run(f"ls /run/credentials/{UNIT}").strip())


def _reloads(bench: Bench) -> None:
    with bench.report.check("reloaded, it goes by another language, and by the old one where the file is broken"):
        bench.open_round()
        for old, new, text in (
            ("[table]", '[table]\nlanguage = "es"', texts("es")),
            ("[table]", "[tabel]", texts("es")),
            ("[tabel]", "[table]", texts("es")),
            ('language = "es"', 'language = "en"', texts("en")),
        ):
            config = bench.machine.run(f"cat {CONFIG}")
            bench.machine.write(CONFIG, config.replace(old, new))
            bench.machine.run(f"systemctl reload {UNIT}")
            bench.machine.wait("reloaded", lambda: bench.service("ActiveState")["ActiveState"] == "active", START_S)
            bench.table.expect_retained("prompt", text=text.prompts["deal"].format(slot=PLAN[0]))
        bench.void_round()
        bench.table.rest()
        shown = bench.service("StatusText", "NRestarts")
        same(("Table tp-01: idle", "0"), (shown["StatusText"], shown["NRestarts"]))


def _stands_still(bench: Bench) -> None:
    cards = ("9D", "8D", "7D", "6D", "5D")
    with bench.report.check("stopped by SIGSTOP: what was scanned meanwhile is stale, of each scanner"):
        bench.open_round()
        bench.machine.run(f"systemctl kill --kill-whom=main -s STOP {UNIT}")
        for scanner, card in zip(bench.scanners, cards, strict=True):
            scanner.say(card)
        same([], bench.table.rest(STOPPED_S), "events of a process that stands still")
        bench.machine.run(f"systemctl kill --kill-whom=main -s CONT {UNIT}")
        events = [event for event in bench.table.rest(QUIET * 2) if event.type != "clock_stepped"]
        told = {
            (str(e.type), str(e.data.get("reason")), str(e.data.get("scanner")), str(e.data.get("card")))
            for e in events
        }
        wanted = {
            ("scan_rejected", "stale", scanner.name, card) for scanner, card in zip(bench.scanners, cards, strict=True)
        }
        same(sorted(wanted), sorted(told))
    with bench.report.check("after that, the next card of each scanner is accepted"):
        for slot, scanner, card in zip(PLAN, bench.scanners, ("2C", "3C", "4C", "5C", "6C"), strict=False):
            bench.deal(scanner, slot, card)


def _is_killed(bench: Bench) -> None:
    with bench.report.check("killed in mid-round: systemd starts it again and the round goes on") as found:
        bench.machine.run(f"systemctl kill --kill-whom=main -s KILL {UNIT}")
        started = bench.table.expect("daemon_started", START_S)
        same(("crash", True), (started.data["previous"], started.data["resumed"]))
        ups = {bench.table.expect("scanner_up", START_S).data["scanner"] for _ in bench.scanners}
        same({scanner.name for scanner in bench.scanners}, ups)
        bench.deal(bench.shoe, "B3", "AS")
        same(["2C", "3C", "4C", "5C", "6C", "AS"], bench.table.expect("round_completed").data["dealt"])
        found.note(f"restarts: {bench.service('NRestarts')['NRestarts']}")


def _hangs(bench: Bench) -> None:
    with bench.report.check("stopped for good: the watchdog has it killed and started again") as found:
        bench.machine.run(f"systemctl kill --kill-whom=main -s STOP {UNIT}")
        started = bench.table.expect("daemon_started", WATCHDOG_S + START_S)
        same("crash", started.data["previous"])
        ups = {bench.table.expect("scanner_up", START_S).data["scanner"] for _ in bench.scanners}
        same({scanner.name for scanner in bench.scanners}, ups)
        found.note(f"restarts: {bench.service('NRestarts')['NRestarts']}")


def _ends(bench: Bench) -> None:
    with bench.report.check("asked to end, it ends well and in time, offline on the broker") as found:
        began = time.monotonic()
        bench.machine.run(f"systemctl stop {UNIT}")
        took = time.monotonic() - began
        bench.table.expect("daemon_stopped", reason="SIGTERM")
        bench.table.expect_retained("status", state="offline")
        ended = bench.service("Result", "ExecMainStatus")
        same(("success", "0"), (ended["Result"], ended["ExecMainStatus"]))
        found.note(f"after {took:.1f} s")
        at_most(STOP_S, took, "the end")
    with bench.report.check("usb: the interface is given back to the kernel's driver"):
        same(1, len(hidraw_nodes(bench, "POS00002")))
    with bench.report.check("wedge: it types into the console again"):
        bench.wedge.say("8D")
        bench.machine.wait("8d on the console", lambda: typed(bench).endswith("8d\n"), 10)
        same("9d\n8d\n", typed(bench))


def _loses_power(bench: Bench) -> None:
    cards = ("AC", "2D", "3H", "4S", "5C", "6D")
    with bench.report.check("power cut in mid-round: what was told is kept, and the round goes on") as found:
        bench.machine.run(f"systemctl start {UNIT}", START_S)
        bench.table.expect("scanner_up", START_S, scanner="shoe")
        bench.open_round()
        for slot, card in zip(PLAN[:3], cards[:3], strict=True):
            bench.deal(bench.shoe, slot, card)
        began = time.monotonic()
        bench.machine.reset()
        found.note(f"booted again in {time.monotonic() - began:.0f} s")
        bench.machine.run("systemctl start mosquitto")
        bench.table.follow()
        bench.machine.run(f"systemctl start {UNIT}", START_S)
        started = bench.table.expect("daemon_started", START_S)
        same(("crash", True), (started.data["previous"], started.data["resumed"]))
        bench.table.expect("scanner_up", START_S, scanner="shoe")
        for slot, card in zip(PLAN[3:], cards[3:], strict=True):
            bench.deal(bench.shoe, slot, card)
        same(list(cards), bench.table.expect("round_completed").data["dealt"])
        found.note("three cards before, three after")
        bench.machine.run(f"systemctl stop {UNIT}")
        bench.table.expect("daemon_stopped")


def _has_all_events(bench: Bench) -> None:
    with bench.report.check(
        "every event came to the broker, none out of order but what was sent again after a crash"
    ) as found:
        same([], bench.table.missing(), "events missing")
        again = bench.table.out_of_order()
        found.note(f"{len(again)} sent again")
        at_most(5, len(again), "events sent again")
    with bench.report.check("`scannerd journal verify` proves the chain"):
        bench.machine.run("scannerd journal verify -c /etc/scannerd/tp-01.toml")
