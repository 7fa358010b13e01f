"""The unit file: systemd accepts it, and it restarts what restarting can help."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNIT = Path(__file__).parent.parent / "systemd" / "scannerd@.service"

ANALYZE = shutil.which("systemd-analyze") or ""


def settings() -> list[tuple[str, str]]:
    """Each key and value of the unit, in order."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return [(key, value) for key, _, value in pairs]


@pytest.mark.skipif(not ANALYZE, reason="no systemd here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """Every key and value of the unit is known to systemd."""
    text = UNIT.read_text(encoding="utf-8").replace("/opt/scannerd/bin/scannerd", sys.executable)
    instance = tmp_path / "scannerd@tp-01.service"
    instance.write_text(text.replace("man:scannerd(1)", "https://example.org"), encoding="utf-8")
    verified = subprocess.run(
        [ANALYZE, "verify", "--man=no", "--recursive-errors=yes", instance],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (verified.returncode, verified.stderr)


def test_unit_waits_for_ready_and_feeds_a_watchdog() -> None:
    """A daemon is up when it says so, and is restarted when it hangs."""
    assert {("Type", "notify"), ("NotifyAccess", "main"), ("WatchdogSec", "30")} <= set(settings())


def test_unit_restarts_only_what_restarting_can_help() -> None:
    """A wrong configuration, a second instance and a damaged journal are not tried again."""
    assert {("Restart", "on-failure"), ("RestartPreventExitStatus", "2 3 4")} <= set(settings())


@pytest.mark.fault(111)
def test_unit_grants_scanners_and_nothing_else() -> None:
    """The unit opens serial, input, HID and USB devices and no other, with the groups that own them."""
    granted = {value for key, value in settings() if key == "DeviceAllow"}
    classes = ("ttyS", "ttyUSB", "ttyACM", "input", "hidraw", "usb_device")
    assert {f"char-{name} rw" for name in classes} == granted
    assert {("DevicePolicy", "closed"), ("SupplementaryGroups", "dialout input plugdev")} <= set(settings())
    assert "PrivateDevices" not in dict(settings())
