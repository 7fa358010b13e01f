"""The udev rules: no stranger's device is taken, and each scanner gets one link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RULES = sorted((Path(__file__).parent.parent / "udev").glob("*.rules"))

GENERIC_CHIPS = {"0403", "067b", "10c4", "1a86"}
"""Vendors of serial chips that any device may hold: FTDI, Prolific, Silicon Labs, QinHeng."""

_PART = re.compile(r'^[A-Z_]+(?:\{[^}]+\})?(?:==|!=|\+=|:=|=)"[^"]*"$')


def rules() -> list[dict[str, str]]:
    """Each rule as its keys and their values."""
    lines = [line for file in RULES for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        dict(re.findall(r'([A-Z_]+(?:\{[^}]+\})?)[=!+:]+"([^"]*)"', line))
        for line in lines
        if line and not line.startswith("#")
    ]


def linking() -> list[dict[str, str]]:
    """The rules that make a link."""
    return [rule for rule in rules() if "SYMLINK" in rule]


def test_there_are_rules_and_they_are_well_formed() -> None:
    """Every part of a rule is a key, an operator and a quoted value."""
    assert RULES
    for file in RULES:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                assert [] == [part for part in line.split(", ") if not _PART.match(part)]


@pytest.mark.fault(123)
def test_numbers_stand_where_udev_has_looked_already() -> None:
    """A rule file runs after udev has found serial numbers and paths, and before it acts on tags."""
    for file in RULES:
        assert 60 < int(file.name.partition("-")[0]) <= 72


@pytest.mark.fault(125)
def test_each_link_names_subsystem_and_interface() -> None:
    """A rule that makes a link names its subsystem and its interface, and no two make the same link."""
    for rule in linking():
        assert "SUBSYSTEM" in rule
        in_path = rule.get("ENV{ID_PATH}", rule.get("DEVPATH", "").removesuffix("/*"))
        assert "ENV{ID_USB_INTERFACE_NUM}" in rule or re.search(r":\d+\.\d+$", in_path)
    links = [rule["SYMLINK"] for rule in linking()]
    assert len(links) == len(set(links))


def test_links_lie_in_one_folder() -> None:
    """Every link lies in /dev/scannerd."""
    assert {"scannerd"} == {rule["SYMLINK"].partition("/")[0] for rule in linking()}


@pytest.mark.fault(119)
def test_generic_chips_are_never_taken_by_their_ids() -> None:
    """A chip that any device may hold is matched by its own serial number or by its socket."""
    for rule in rules():
        vendors = {rule.get(key, "") for key in ("ENV{ID_VENDOR_ID}", "ATTR{idVendor}", "ATTRS{idVendor}")}
        if vendors & GENERIC_CHIPS:
            assert {"ENV{ID_SERIAL_SHORT}", "ATTR{serial}", "ATTRS{serial}", "ENV{ID_PATH}", "KERNELS"} & rule.keys()


@pytest.mark.fault(119)
def test_no_serial_port_is_matched_by_less_than_one_device() -> None:
    """Every rule that gives a serial port a link names one serial number or one socket."""
    for rule in linking():
        if rule["SUBSYSTEM"] == "tty":
            assert {"ENV{ID_SERIAL_SHORT}", "ATTRS{serial}", "ENV{ID_PATH}", "KERNELS"} & rule.keys()


@pytest.mark.fault(111)
def test_each_link_has_a_group_that_the_unit_has_and_is_closed_to_others() -> None:
    """Every rule that makes a link sets a group that the service's unit is in, and a mode that bars all others."""
    unit = (Path(__file__).parent.parent / "systemd/scannerd@.service").read_text(encoding="utf-8")
    granted = re.search(r"^SupplementaryGroups=(.*)$", unit, re.MULTILINE)
    assert granted
    for rule in linking():
        assert rule["GROUP"] in granted[1].split()
        assert "0660" == rule["MODE"]


@pytest.mark.fault(125)
def test_matches_on_parents_are_of_one_parent() -> None:
    """No rule mixes attributes of a USB device with those of its interface: no parent has both, so none would match."""
    for rule in rules():
        assert not {"ATTRS{idVendor}", "ATTRS{bInterfaceNumber}"} <= rule.keys()


@pytest.mark.fault(121)
def test_modem_manager_leaves_serial_scanners_alone() -> None:
    """ModemManager is told to ignore the port of every serial scanner, and its device."""
    serial = [rule for rule in linking() if rule["SUBSYSTEM"] == "tty"]
    assert serial
    assert ["1"] * len(serial) == [rule.get("ENV{ID_MM_PORT_IGNORE}") for rule in serial]
    devices = [rule for rule in rules() if rule.get("ENV{DEVTYPE}") == "usb_device"]
    assert "1" in [rule.get("ENV{ID_MM_DEVICE_IGNORE}") for rule in devices]
