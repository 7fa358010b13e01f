"""`python -m tests.nspawn`: builds the package and checks it; ends with 1 if a check failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.guests.debs import built
from tests.guests.report import Report
from tests.guests.running import end_when_asked, lab, status_of
from tests.nspawn import steps
from tests.nspawn.container import NoContainerError, started

ROOT = Path(__file__).parents[1] / "guests/root.sh"
ROOT_S = 900

TOOLS = {"systemd-nspawn": "systemd-container", "debootstrap": "debootstrap", "/usr/bin/python3": "python3"}
"""What is needed, and the Debian package that has it."""


def main() -> int:
    """Returns the status to end with."""
    end_when_asked()
    try:
        return _checked()
    except NoContainerError as error:
        sys.stdout.write(f"skipped: the package was not installed and run, since {error}\n")
        return int(os.environ.get("SCANNERD_CONTAINER") == "required")


def _checked() -> int:
    if os.geteuid() != 0:
        raise NoContainerError("only root can start a container")
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        raise NoContainerError(f"this machine lacks the Debian packages {', '.join(missing)}")
    if subprocess.run(["/bin/bash", ROOT, lab() / "root"], check=False, timeout=ROOT_S).returncode != 0:
        raise NoContainerError("no Debian tree could be made for it; see above")
    report = Report()
    with built() as debs, started(lab() / "root") as container:
        return status_of(container, report, lambda: steps.run(container, debs, report))


if __name__ == "__main__":
    sys.exit(main())
