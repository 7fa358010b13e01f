"""The unit file: systemd accepts it, it shuts in what it can, and it restarts what restarting can help."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scannerd.errors import Exit

ROOT = Path(__file__).parent.parent
UNIT = ROOT / "systemd" / "scannerd@.service"
PLUG_IN = ROOT / "systemd" / "plug-in.conf.example"

ANALYZE = shutil.which("systemd-analyze") or ""
SYSTEMCTL = shutil.which("systemctl") or ""

MOST_EXPOSED = 15
"""Tenths of systemd's own measure, from 0 to 100."""


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


@pytest.mark.skipif(not ANALYZE, reason="no systemd here")
def test_unit_is_shut_in() -> None:
    """By systemd's own measure the exposure of the unit is 1.5 or below."""
    measured = subprocess.run(
        [ANALYZE, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == measured.returncode, measured.stdout[-300:] + measured.stderr


def test_unit_waits_for_ready_and_feeds_a_watchdog() -> None:
    """A daemon is up when it says so, and is restarted when it hangs."""
    assert {("Type", "notify"), ("NotifyAccess", "main"), ("WatchdogSec", "30")} <= set(settings())


def test_unit_restarts_all_that_restarting_can_help() -> None:
    """Whatever ended is started again for ever, except where a person must act: configuration and damaged journal."""
    assert {
        ("Restart", "always"),
        ("RestartPreventExitStatus", f"{Exit.USAGE:d} {Exit.JOURNAL_DAMAGED:d}"),
        ("StartLimitIntervalSec", "0"),
    } <= set(settings())


def test_unit_is_not_bound_to_a_device() -> None:
    """A scanner that is pulled out stops no table: the unit neither waits for a device nor ends with one."""
    bound = {"BindsTo", "BindTo", "PartOf", "Requires", "Requisite", "StopWhenUnneeded"}
    assert set() == bound & dict(settings()).keys()
    assert "device" not in dict(settings())["After"]


def test_unit_is_reloaded_by_a_signal() -> None:
    """`systemctl reload` sends the signal that has the configuration read anew."""
    assert "kill -HUP $MAINPID" == dict(settings())["ExecReload"]


def test_secrets_come_as_credentials_where_they_are_there() -> None:
    """Each secret is a credential that is looked for by a name alone: one that is not there does not stop the start."""
    loaded = dict(value.split(":") for key, value in settings() if key == "LoadCredential")
    assert {name: f"scannerd-%i.{name}" for name in ("mqtt-password", "display-pin", "signing-key")} == loaded


@pytest.mark.skipif(not SYSTEMCTL, reason="no systemd here")
def test_table_can_start_when_its_scanner_is_plugged_in(tmp_path: Path) -> None:
    """With the drop-in a table is started by its scanner's link, and not with the machine."""
    units = tmp_path / "etc/systemd/system"
    (units / "scannerd@tp-01.service.d").mkdir(parents=True)
    shutil.copy(UNIT, units)
    shutil.copy(PLUG_IN, units / "scannerd@tp-01.service.d/plug-in.conf")
    subprocess.run([SYSTEMCTL, f"--root={tmp_path}", "enable", "scannerd@tp-01"], check=True, capture_output=True)
    links = [str(link.relative_to(units)) for link in units.rglob("*") if link.is_symlink()]
    assert ["dev-scannerd-shoe.device.wants/scannerd@tp-01.service"] == links


@pytest.mark.fault(111)
def test_unit_grants_scanners_and_nothing_else() -> None:
    """The unit opens serial, input, HID and USB devices and no other, with the groups that own them."""
    granted = {value for key, value in settings() if key == "DeviceAllow"}
    classes = ("ttyS", "ttyUSB", "ttyACM", "input", "hidraw", "usb_device")
    assert {f"char-{name} rw" for name in classes} == granted
    assert {("DevicePolicy", "closed"), ("SupplementaryGroups", "dialout input plugdev")} <= set(settings())
    assert "PrivateDevices" not in dict(settings())
