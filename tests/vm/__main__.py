"""`python -m tests.vm`: makes the machine where it is not there yet, runs all steps, ends with 1 if a check failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from tests.vm import steps_faults, steps_plugging, steps_rules
from tests.vm.bench import install
from tests.vm.lines import GoneError
from tests.vm.machine import CommandError, Machine, prepare, resumed
from tests.vm.report import Report

BUILD = Path(__file__).parent / "build.sh"
BUILD_S = 1200

JOURNAL = "journalctl -b --no-pager -n 200 -o short-monotonic"


def main() -> int:
    """Returns the status to end with."""
    lab = Path(os.environ.get("SCANNERD_LAB", "/var/tmp/scannerd-lab"))  # noqa: S108 - large, and kept over a reboot
    signal.signal(signal.SIGTERM, _asked_to_end)
    for part in (["machine"], ["wheel", sys.executable]):
        subprocess.run(["/bin/bash", BUILD, *part], check=True, timeout=BUILD_S)
    report = Report()
    prepare(lab)
    with resumed(lab) as machine:
        whole = _run(machine, lab, report)
        if report.failed or not whole:
            _tell_journal(machine)
    sys.stdout.write(f"{report.passed} held, {report.failed} failed{'' if whole else ', and not all were made'}\n")
    return int(report.failed > 0 or not whole)


def _run(machine: Machine, lab: Path, report: Report) -> bool:
    """Runs the steps; False if they did not come to their end."""
    try:
        bench = install(machine, lab / "scannerd.tar.gz", report)
        for part in (steps_rules, steps_plugging, steps_faults):
            part.run(bench)
    except (GoneError, CommandError) as error:
        sys.stdout.write(f"FAILED to go on: {error}\n")
        return False
    return True


def _tell_journal(machine: Machine) -> None:
    """The guest's journal, for whoever looks for the cause."""
    try:
        sys.stderr.write(machine.ask(JOURNAL)[1])
    except GoneError as error:
        sys.stderr.write(f"no journal: {error}\n")


def _asked_to_end(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
