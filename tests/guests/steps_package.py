"""The life of the package: installed, upgraded in mid-round, removed, purged; by dpkg alone, without a network."""

from __future__ import annotations

from tests.guests.bench import CONFIG, PLAN, START_S, Bench
from tests.guests.debs import Debs
from tests.guests.report import same
from tests.guests.table import UNIT, TableError

INSTALL_S = 300.0
"""In which a package is unpacked, in a guest that is slow."""

OTHER = "scannerd@tp-02.service"
"""A table that is enabled and does not run."""

JOURNAL = "/var/lib/private/scannerd/tp-01/journal.db"

_OTHERS = (
    *("/dev", "/lab", "/proc", "/run", "/sys", "/tmp", "/var/cache", "/var/log", "/var/tmp"),  # noqa: S108 - looked at
    *("/var/lib/apt", "/var/lib/dpkg", "/var/lib/mosquitto", "/var/lib/private", "/var/lib/systemd"),
)
"""Folders that others write to all the time."""


def files(bench: Bench) -> dict[str, str]:
    """All that lies on the guest's disk, by path: kind, mode and owner; and who is known there."""
    pruned = " -o ".join(f"-path {path}" for path in _OTHERS)
    listed = bench.machine.run(f"find / -xdev \\( {pruned} \\) -prune -o -printf '%p\\t%y %m %u %g\\n'")
    known = bench.machine.run("sha256sum /etc/passwd /etc/group /etc/shadow")
    return {path: what for path, _, what in (line.partition("\t") for line in (listed + known).splitlines())}


def install(bench: Bench, debs: Debs) -> None:
    """Checks a fresh installation; no table runs after it."""
    with bench.report.check("over an installation by hand nothing is installed, and what to do is said"):
        bench.machine.run("mkdir /opt/scannerd; touch /opt/scannerd/pyvenv.cfg")
        status, said = bench.machine.ask(f"dpkg -i {bench.machine.put(debs.first)}", INSTALL_S)
        same((True, True), (status != 0, "mv /opt/scannerd /opt/scannerd.by-hand" in said), said)
        same("not-installed", bench.machine.run("dpkg-query -W -f '${db:Status-Status}' scannerd"))
        same("pyvenv.cfg\n", bench.machine.run("ls -A /opt/scannerd; rm -r /opt/scannerd"))
    with bench.report.check("installed: the program is there whole, and neither a configuration nor a table") as found:
        bench.machine.run(f"dpkg -i {bench.machine.put(debs.first)}", INSTALL_S)
        same("ii ", bench.machine.run("dpkg-query -W -f '${db:Status-Abbrev}' scannerd"))
        same("", bench.machine.run("dpkg --verify scannerd; ls -A /etc/scannerd"), "changed files, and configurations")
        same("", bench.machine.run("systemctl list-units --all --plain --no-legend 'scannerd@*.service'"))
        said = bench.machine.run("scannerd --version").strip()
        same(f"scannerd {debs.version}", said)
        found.note(debs.first.name)
    with bench.report.check("`man scannerd-run` and its like have a page; a shell completes commands"):
        commands = bench.machine.run("_SCANNERD_COMPLETE=bash_complete COMP_WORDS=scannerd COMP_CWORD=1 scannerd")
        names = [line.partition(",")[2] for line in commands.splitlines()]
        if "run" not in names:
            same("run among them", names)
        bench.machine.run(" && ".join(f"man -w scannerd-{name} >/dev/null" for name in names))
        bench.machine.run("bash -n /usr/share/bash-completion/completions/scannerd")


def upgrade(bench: Bench, debs: Debs) -> None:
    """Checks an upgrade while a table deals, which runs at the end of it with no round open."""
    cards = ("KS", "KD", "KC", "QS", "QD", "QC")
    config = bench.machine.run(f"sed s/tp-01/tp-02/ {CONFIG} >{CONFIG.replace('01', '02')}; sha256sum {CONFIG}")
    bench.machine.run(f"systemctl enable {OTHER}")
    with bench.report.check("upgraded in mid-round: the table is started anew, keeps its round and deals on") as found:
        bench.open_round()
        for slot, card in zip(PLAN[:2], cards[:2], strict=True):
            bench.deal(bench.shoe, slot, card)
        bench.machine.run(f"dpkg --unpack {bench.machine.put(debs.second)}", INSTALL_S)
        bench.deal(bench.shoe, PLAN[2], cards[2])  # by the old program, whose files are other ones now
        bench.machine.run("dpkg --configure scannerd", INSTALL_S)
        bench.table.expect("daemon_stopped", reason="SIGTERM")
        started = bench.table.expect("daemon_started", START_S)
        same(
            (debs.next_version, "clean", True),
            (started.data["version"], started.data["previous"], started.data["resumed"]),
        )
        bench.table.expect("scanner_up", START_S, scanner=bench.shoe.name)
        bench.table.expect_retained("prompt", code="deal", slot=PLAN[3])
        for slot, card in zip(PLAN[3:], cards[3:], strict=True):
            bench.deal(bench.shoe, slot, card)
        same(list(cards), bench.table.expect("round_completed").data["dealt"])
        found.note(f"{debs.version} to {debs.next_version}, three cards before, three after")
    with bench.report.check("upgraded: no configuration is changed, and no table runs that did not run before"):
        same(config, bench.machine.run(f"sha256sum {CONFIG}"))
        same("inactive\n", bench.machine.ask(f"systemctl is-active {OTHER}")[1])


def upgrade_over_a_death(bench: Bench, debs: Debs) -> None:
    """Checks that a table which ended while its files were changed runs again; it runs at the end of it."""
    with bench.report.check("a table that died while its files were changed runs again after the upgrade"):
        bench.machine.run(f"dpkg --unpack {bench.machine.put(debs.second)}", INSTALL_S)
        bench.machine.run(f"systemctl stop {UNIT}")
        bench.table.expect("daemon_stopped", reason="SIGTERM")
        bench.machine.run("dpkg --configure scannerd", INSTALL_S)
        bench.table.expect("daemon_started", START_S, version=debs.next_version)
        same("active\ninactive\n", bench.machine.ask(f"systemctl is-active {UNIT} {OTHER}")[1])


def remove(bench: Bench) -> None:
    """Checks a removal, which ends the table; journal and configuration are there after it."""
    with bench.report.check("removed: the table ends well, program and unit are gone, journal and configuration stay"):
        bench.machine.run("dpkg --remove scannerd", INSTALL_S)
        bench.table.expect("daemon_stopped", reason="SIGTERM")
        bench.table.expect_retained("status", state="offline")
        bench.machine.run(f"test -s {JOURNAL} && test -s {CONFIG}")
        left = "ls -d /opt/scannerd /usr/bin/scannerd /usr/lib/systemd/system/scannerd@.service 2>/dev/null"
        same("", bench.machine.ask(left)[1], "left")


def install_again(bench: Bench, debs: Debs) -> None:
    """Checks that an installation after a removal goes on with what was kept; the table runs."""
    with bench.report.check("installed again: the table goes on with its journal"):
        bench.machine.run(f"dpkg -i {bench.machine.put(debs.second)}", INSTALL_S)
        bench.machine.run("systemctl start scannerd@tp-01", START_S)
        same("clean", bench.table.expect("daemon_started", START_S).data["previous"])
        bench.machine.run("scannerd journal verify -c /etc/scannerd/tp-01.toml")


def purge_unasked(bench: Bench) -> None:
    """Checks that a purge which nobody answers keeps journals; nothing else is there after it."""
    with bench.report.check("purged where nobody can be asked: the journals are kept, and that is said") as found:
        said = bench.machine.run("DEBIAN_FRONTEND=noninteractive dpkg --purge scannerd", INSTALL_S)
        bench.machine.run(f"test -s {JOURNAL}")
        lines = [line for line in said.splitlines() if "were kept" in line]
        if not lines:
            raise TableError(f"it is not said: {said}")
        found.note(lines[0])


def purge(bench: Bench, before: dict[str, str], written: set[str]) -> None:
    """Checks a purge that may delete journals: what is left is what was there before, and what people wrote since.

    Args:
        bench: with the package installed.
        before: what lay on the disk before the package came.
        written: the paths that were written by others than the package.
    """
    with bench.report.check("purged, with the word to delete journals: all is as before, but for what people wrote"):
        bench.machine.run("debconf-set-selections <<<'scannerd scannerd/purge-journals boolean true'")
        bench.machine.run("DEBIAN_FRONTEND=noninteractive dpkg --purge scannerd", INSTALL_S)
        after = files(bench)
        same([], sorted(after.keys() - before.keys() - written), "left")
        same([], sorted(before.keys() - after.keys()), "gone")
        same([], sorted(path for path in before.keys() & after.keys() if before[path] != after[path]), "changed")
        same("", bench.machine.ask("ls -d /var/lib/private/scannerd /var/lib/scannerd 2>/dev/null")[1], "state")
        same("", bench.machine.run("systemctl list-units --all --plain --no-legend 'scannerd@*.service'"), "units")
        same("", bench.machine.ask("dpkg-query -W scannerd 2>/dev/null")[1], "known to dpkg")
        same("", bench.machine.run("debconf-show scannerd"), "known to debconf")
