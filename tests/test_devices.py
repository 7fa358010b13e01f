"""`scannerd devices`: what is seen in sysfs, which driver takes it, and the stanza and udev line to paste."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.devices import advice
from scannerd.devices.found import Found, look
from scannerd.devices.hid import usage_pages
from scannerd.errors import UsageError
from scannerd.registry import Registry
from tests.sysfs_trees import (
    DIGITS_ONLY,
    FULL_KEYBOARD,
    KEYBOARD_DESCRIPTOR,
    MEDIA_KEYS,
    POS_DESCRIPTOR,
    Tree,
    Usb,
)

CH340_A = Usb("1-1.2", "1a86", "7523", None, "QinHeng", "USB Serial")
CH340_B = Usb("1-1.3", "1a86", "7523", None, "QinHeng", "USB Serial")
FTDI = Usb("1-1.4", "0403", "6001", "TP01SHOE", "FTDI", "FT232R USB UART")
POS = Usb("1-2", "0c2e", "0b01", "18100B4A", "Honeywell", "Xenon")
GENERIC_CHIPS = {"0403", "067b", "10c4", "1a86"}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A machine with nothing plugged in."""
    return Tree(tmp_path)


def only(tree: Tree) -> Found:
    """The one device of a tree."""
    (found,) = look(tree.root)
    return found


def parts(rule: str) -> dict[str, str]:
    """A udev rule as its keys and their values."""
    return dict(re.findall(r'([A-Z_]+(?:\{[^}]+\})?)[=!+:]+"([^"]*)"', rule))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What the command prints."""
    assert 0 == run(["devices", *map(str, arguments)])
    return capsys.readouterr().out


# --- what is seen ---------------------------------------------------------------------------------------------


def test_nothing_plugged_in(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is plugged in, the command says so and is well."""
    tree.console("tty1")
    tree.built_in_port("ttyS3", "0")
    assert "No serial port" in printed(capsys, "--root", tree.root)


def test_built_in_port_with_hardware_is_seen(tree: Tree) -> None:
    """A port of the main board is seen where there is hardware behind it."""
    tree.built_in_port("ttyS0", "4")
    found = only(tree)
    assert ("serial", "/dev/ttyS0", None) == (found.kind, found.node, found.usb)
    assert "/dev/ttyS0" == advice.url(found)
    assert advice.is_lasting(found)
    assert "ttyS0" == parts(advice.udev_rule(found, "shoe"))["KERNEL"]


def test_adapter_with_serial_number(tree: Tree) -> None:
    """An adapter with a serial number of its own is known by it, in the stanza and in the rule."""
    tree.tty(FTDI, "ttyUSB0")
    tree.link("serial/by-id/usb-FTDI_FT232R_USB_UART_TP01SHOE-if00-port0", "ttyUSB0")
    found = only(tree)
    assert "FTDI FT232R USB UART" == found.name
    assert "/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_TP01SHOE-if00-port0" == advice.url(found)
    assert (
        'SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", ATTRS{serial}=="TP01SHOE", '
        'ENV{ID_USB_INTERFACE_NUM}=="00", SYMLINK+="scannerd/shoe", GROUP="dialout", MODE="0660", '
        'ENV{ID_MM_DEVICE_IGNORE}="1", ENV{ID_MM_PORT_IGNORE}="1"'
    ) == advice.udev_rule(found, "shoe")


@pytest.mark.fault(119)
def test_two_adapters_without_serial_number_are_told_apart_by_socket(tree: Tree) -> None:
    """Two equal adapters without serial numbers are each bound to their socket, never to the link they share."""
    tree.tty(CH340_A, "ttyUSB0")
    tree.tty(CH340_B, "ttyUSB1")
    tree.link("serial/by-id/usb-1a86_USB_Serial-if00-port0", "ttyUSB1")
    for port, node in (("1.2", "ttyUSB0"), ("1.3", "ttyUSB1")):
        tree.link(f"serial/by-path/pci-0000:00:14.0-usb-0:{port}:1.0-port0", node)
    found = look(tree.root)
    assert [f"/dev/serial/by-path/pci-0000:00:14.0-usb-0:{port}:1.0-port0" for port in ("1.2", "1.3")] == [
        advice.url(one) for one in found
    ]
    rules = [parts(advice.udev_rule(one, name)) for one, name in zip(found, "ab", strict=True)]
    assert ["1-1.2", "1-1.3"] == [rule["KERNELS"] for rule in rules]
    assert [False, False] == ["ATTRS{serial}" in rule for rule in rules]


@pytest.mark.fault(119)
def test_serial_number_that_two_devices_share_is_none(tree: Tree) -> None:
    """A serial number that two devices at hand share tells nothing: each is bound to its socket."""
    for port, node in (("1-1.2", "ttyUSB0"), ("1-1.3", "ttyUSB1")):
        tree.tty(Usb(port, "10c4", "ea60", "0001"), node)
    assert ["1-1.2", "1-1.3"] == [parts(advice.udev_rule(one, "x"))["KERNELS"] for one in look(tree.root)]


@pytest.mark.fault(129)
def test_port_without_links_is_told_to_need_one(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that may be another device's tomorrow is told to need a link, with the rule that makes it."""
    tree.tty(CH340_A, "ttyUSB0")
    told = printed(capsys, "--root", tree.root)
    assert "may be another's tomorrow" in told
    assert 'KERNELS=="1-1.2"' in told


@pytest.mark.fault(125)
def test_device_with_several_nodes_gets_one_link(tree: Tree) -> None:
    """Of a USB device with tty, hidraw and input nodes each node has a rule that fits no other."""
    combo = Usb("1-3", "0c2e", "0b01", "C1", "Honeywell", "Combo")
    tree.tty(combo, "ttyACM0", interface=2)
    tree.hidraw(combo, "hidraw0", POS_DESCRIPTOR, interface=0)
    tree.hidraw(combo, "hidraw1", KEYBOARD_DESCRIPTOR, interface=1)
    tree.event(combo, "event3", "Honeywell Combo", FULL_KEYBOARD, interface=1)
    rules = {one.kind: parts(advice.udev_rule(one, "x")) for one in look(tree.root)}
    assert {"serial": "tty", "hid-pos": "hidraw", "input": "input"} == {k: r["SUBSYSTEM"] for k, r in rules.items()}
    assert "02" == rules["serial"]["ENV{ID_USB_INTERFACE_NUM}"]
    assert "*:1.0/*" == rules["hid-pos"]["DEVPATH"]
    assert ("01", "event*", "1") == tuple(
        rules["input"][key] for key in ("ENV{ID_USB_INTERFACE_NUM}", "KERNEL", "ENV{ID_INPUT_KEYBOARD}")
    )


def test_two_ports_of_one_device_are_told_apart_by_interface(tree: Tree) -> None:
    """An adapter with two ports gives two rules that differ in the interface, and is no twin of itself."""
    for interface in (0, 1):
        tree.tty(FTDI, f"ttyUSB{interface}", interface=interface)
    found = look(tree.root)
    assert ["00", "01"] == [parts(advice.udev_rule(one, "x"))["ENV{ID_USB_INTERFACE_NUM}"] for one in found]
    assert [True, True] == [one.own_serial for one in found]


def test_hid_scanner_is_known_by_its_usage_page(tree: Tree) -> None:
    """A hidraw node is a scanner if its reports are of usage page 8C, and needs a link."""
    tree.hidraw(POS, "hidraw0", POS_DESCRIPTOR)
    tree.hidraw(Usb("1-4", "046d", "c31c"), "hidraw1", KEYBOARD_DESCRIPTOR)
    found = only(tree)
    assert ("hid-pos", "/dev/hidraw0") == (found.kind, found.node)
    assert ("/dev/hidraw0", False) == (advice.url(found), advice.is_lasting(found))
    assert ("hid-pos",) == advice.drivers_for(found.kind, Registry())


def test_hid_scanners_without_serial_number(tree: Tree) -> None:
    """Of two HID scanners without a serial number each needs a link, by its socket."""
    tree.hidraw(Usb("1-1", "05e0", "1300"), "hidraw0", POS_DESCRIPTOR)
    tree.hidraw(Usb("1-2", "05e0", "1300"), "hidraw1", POS_DESCRIPTOR)
    found = look(tree.root)
    assert ["/dev/hidraw0", "/dev/hidraw1"] == [advice.url(one) for one in found]
    assert ["1-1", "1-2"] == [parts(advice.udev_rule(one, "x"))["KERNELS"] for one in found]
    assert [False, False] == [advice.is_lasting(one) for one in found]


@pytest.mark.parametrize(
    ("descriptor", "pages"),
    [
        ("068c00", {0x8C}),
        ("058c", {0x8C}),
        ("078c000000", {0x8C}),
        ("0501 0906 a101 0507", {1, 7}),
        ("09058c", set()),
        ("26058c 0501", {1}),
        ("fe02aa058c 0501", {1}),
        ("06", {0}),
        ("fe", set()),
        ("", set()),
    ],
)
def test_usage_pages_of_descriptors(descriptor: str, pages: set[int]) -> None:
    """A report descriptor is read item by item, so data that looks like a usage page is none."""
    assert pages == usage_pages(bytes.fromhex(descriptor))


def test_device_that_types_may_be_a_keyboard(tree: Tree) -> None:
    """A device that types is a scanner by its maker or its name; another may be a keyboard, and is told as such."""
    tree.event(Usb("1-1", "05e0", "1200", "S1"), "event0", "Symbol", FULL_KEYBOARD)
    tree.event(Usb("1-2", "ffff", "0035"), "event1", "USB Barcode Reader", DIGITS_ONLY)
    tree.event(Usb("1-3", "046d", "c31c"), "event2", "Logitech Keyboard", FULL_KEYBOARD)
    tree.event(Usb("1-3", "046d", "c31c"), "event3", "Logitech Keyboard", MEDIA_KEYS, interface=1)
    tree.event(None, "event4", "AT Translated Set 2 keyboard", FULL_KEYBOARD)
    found = {one.node: one for one in look(tree.root)}
    assert [True, True, False, False] == [found[f"/dev/input/event{n}"].looks_right for n in (0, 1, 2, 4)]
    assert "/dev/input/event3" not in found
    assert "ENV{ID_INPUT_KEYBOARD}" not in parts(advice.udev_rule(found["/dev/input/event1"], "x"))


def test_device_that_types_is_named_by_its_link(tree: Tree) -> None:
    """A device that types is named by the link that udev made for its keyboard."""
    tree.event(Usb("1-1", "05e0", "1200", "S1"), "event0", "Symbol", FULL_KEYBOARD)
    tree.link("input/by-id/usb-Symbol_S1-event-kbd", "event0")
    assert "/dev/input/by-id/usb-Symbol_S1-event-kbd" == advice.url(only(tree))


# --- what to paste --------------------------------------------------------------------------------------------


def test_stanza_is_toml_with_a_driver_that_is_there(tree: Tree) -> None:
    """The stanza is TOML whose driver is one at hand; the other drivers for a serial line are named beside it."""
    tree.tty(FTDI, "ttyUSB0")
    drivers = advice.drivers_for("serial", Registry())
    pasted = advice.stanza(only(tree), drivers)
    (scanner,) = tomllib.loads(pasted)["scanner"]
    assert {"name": "scanner", "driver": "line", "url": "/dev/ttyUSB0"} == scanner
    assert {"line", "bee-tek", "angel-eye", "rfid-serial", "ssi"} <= set(drivers)
    assert "bee-tek" in pasted


@pytest.mark.fault(119)
def test_no_rule_takes_a_generic_chip_by_its_ids(tree: Tree) -> None:
    """Whatever the device, its rule names its serial number or its socket, not the ids of its chip alone."""
    for number, vendor in enumerate(sorted(GENERIC_CHIPS)):
        tree.tty(Usb(f"1-{number + 1}", vendor, "0001", "S1" if number % 2 else None), f"ttyUSB{number}")
    for found in look(tree.root):
        rule = parts(advice.udev_rule(found, "x"))
        assert rule.get("ATTRS{serial}") or rule.get("KERNELS")


@pytest.mark.fault(121)
def test_modem_manager_is_told_to_leave_serial_ports_alone(tree: Tree) -> None:
    """The rule of a serial port tells ModemManager to ignore port and device."""
    tree.tty(CH340_A, "ttyUSB0")
    rule = parts(advice.udev_rule(only(tree), "x"))
    assert ("1", "1") == (rule["ENV{ID_MM_PORT_IGNORE}"], rule["ENV{ID_MM_DEVICE_IGNORE}"])


@pytest.mark.fault(123)
def test_rules_go_to_a_file_between_what_udev_finds_and_what_it_acts_on() -> None:
    """The file named for rules has a number above 60 and below 73."""
    assert 60 < int(Path(advice.RULES_FILE).name.partition("-")[0]) < 73


def test_odd_serial_number_does_not_break_the_rule(tree: Tree) -> None:
    """Characters of a serial number that mean something to udev stand for any character in its rule."""
    tree.tty(Usb("1-1", "0403", "6001", 'A"*|ü1'), "ttyUSB0")
    assert 'ATTRS{serial}=="A?????1"' in advice.udev_rule(only(tree), "x")


@pytest.mark.parametrize("name", ["", "a b", "../shoe", 'a"', "a/b", "-a"])
def test_link_name_that_can_be_none_is_refused(tree: Tree, name: str) -> None:
    """A name that can't be that of a link is refused."""
    tree.tty(FTDI, "ttyUSB0")
    with pytest.raises(UsageError, match="expected a name"):
        advice.udev_rule(only(tree), name)


# --- the command ----------------------------------------------------------------------------------------------


def test_listing_as_json(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` each device is an object with node, drivers, stanza and rule."""
    tree.tty(FTDI, "ttyUSB0")
    (listed,) = json.loads(printed(capsys, "--root", tree.root, "--json"))
    assert ("/dev/ttyUSB0", "line", "1-1.4") == (listed["node"], listed["drivers"][0], listed["usb"]["port"])
    assert listed["stanza"].startswith("[[scanner]]")
    assert listed["udev"].startswith("SUBSYSTEM==")


def test_udev_line_of_the_only_device(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--udev` the one line for the one scanner at hand is printed, keyboards and built-in ports aside."""
    tree.built_in_port("ttyS0", "4")
    tree.event(Usb("1-3", "046d", "c31c"), "event2", "Logitech Keyboard", FULL_KEYBOARD)
    tree.tty(FTDI, "ttyUSB0")
    told = printed(capsys, "--root", tree.root, "--udev", "shoe")
    assert 1 == told.count("\n")
    assert "scannerd/shoe" == parts(told)["SYMLINK"]


@pytest.mark.parametrize("device", ["/dev/ttyUSB1", "1-1.3", "/dev/serial/by-path/b"])
def test_udev_line_of_a_device_that_is_named(tree: Tree, capsys: pytest.CaptureFixture[str], device: str) -> None:
    """A device is named by its node, by a link to it, or by its socket."""
    tree.tty(CH340_A, "ttyUSB0")
    tree.tty(CH340_B, "ttyUSB1")
    tree.link("serial/by-path/b", "ttyUSB1")
    assert "1-1.3" == parts(printed(capsys, "--root", tree.root, "--udev", "b", device))["KERNELS"]


@pytest.mark.parametrize(("arguments", "told"), [((), "name one device"), (("/dev/ttyUSB7",), "no such device")])
def test_udev_line_of_no_one_device_is_refused(
    tree: Tree, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """Where it is not clear which device is meant, the command ends with 2 and names those that are seen."""
    tree.tty(CH340_A, "ttyUSB0")
    tree.tty(CH340_B, "ttyUSB1")
    assert 2 == run(["devices", "--root", str(tree.root), "--udev", "b", *arguments])
    complaint = capsys.readouterr().err
    assert told in complaint
    assert "/dev/ttyUSB0, /dev/ttyUSB1" in complaint


def test_listing_for_people(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """People are told what each device is, and what speaks against it."""
    tree.event(Usb("1-3", "046d", "c31c"), "event2", "Logitech Keyboard", FULL_KEYBOARD)
    for port, node in (("1-1.2", "ttyUSB0"), ("1-1.3", "ttyUSB1")):
        tree.tty(Usb(port, "10c4", "ea60", "0001"), node)
    told = printed(capsys, "--root", tree.root)
    assert "device that types (may be a keyboard): Logitech Keyboard" in told
    assert "serial number 0001, which another device has too" in told
    assert 'url = "/dev/input/event2"' in told
