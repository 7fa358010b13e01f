"""`python -m tests.vm`: makes the machine where it is not there yet, runs all steps, ends with 1 if a check failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.guests.debs import Debs, built
from tests.guests.report import Report
from tests.guests.running import end_when_asked, lab, status_of
from tests.vm import steps_faults, steps_package, steps_plugging, steps_rules
from tests.vm.bench import prepared
from tests.vm.machine import Machine, prepare, resumed

BUILD = Path(__file__).parent / "build.sh"
BUILD_S = 1200


def main() -> int:
    """Returns the status to end with."""
    end_when_asked()
    subprocess.run(["/bin/bash", BUILD], check=True, timeout=BUILD_S)
    prepare(lab())
    report = Report()
    with built() as debs, resumed(lab()) as machine:
        return status_of(machine, report, lambda: _run(machine, debs, report))


def _run(machine: Machine, debs: Debs, report: Report) -> None:
    bench = prepared(machine, debs, report)
    before = steps_package.begin(bench)
    for part in (steps_rules, steps_plugging, steps_faults):
        part.run(bench)
    steps_package.end(bench, before)


if __name__ == "__main__":
    sys.exit(main())
