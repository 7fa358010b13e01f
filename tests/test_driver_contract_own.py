"""Every driver that comes with scannerd stands the conformance kit, as any other driver must."""

# ruff: noqa: RUF012 - the kit declares these attributes as those of the class

from __future__ import annotations

from functools import reduce
from operator import xor
from struct import pack

from scannerd.driver_contract import DecoderContract, DriverContract
from scannerd.registry import Registry
from scannerd_drivers.angel_eye_reports import bcc
from scannerd_drivers.ssi import packet


def report(seq: bytes, card: bytes) -> bytes:
    """A report of an Angel Eye shoe."""
    body = seq + b"D" + card + b"\x03"
    return b"\x05" + body + bcc(body)


def tag(digits: str, line_end: bytes = b"") -> bytes:
    """The frame of a tag."""
    return b"\x02" + f"{digits}{reduce(xor, bytes.fromhex(digits)):02X}".encode() + line_end + b"\x03"


def decoded(code: bytes) -> bytes:
    """A packet of an SSI scanner with a code of symbology 01."""
    return packet(0xF3, b"\x01" + code, source=0)


def pos_report(code: bytes) -> bytes:
    """A report of a HID POS scanner."""
    return bytes([2, len(code)]) + b"]C1" + code.ljust(56, b"\0") + b"\0\0\0"


def boot_reports(*usages: int) -> list[bytes]:
    """Keys pressed and released one after the other, as boot reports, then ENTER."""
    keys = [bytes([0, 0, usage, 0, 0, 0, 0, 0]) for usage in (*usages, 0x28)]
    return [report for key in keys for report in (key, bytes(8))]


def key_events(*keys: int) -> list[bytes]:
    """The same as events of the kernel."""
    return [pack("<qqHHi", 0, 0, 1, key, value) for key in (*keys, 28) for value in (1, 0)]


class TestLine(DriverContract):
    """Text scanners with a line end."""

    name = "line"
    frames = {"AS": b"AS\r\n", "TD": b"TD\r\n", "2C": b"2C\r\n"}
    ignored = b"\r\n"


class TestLineWithStart(DriverContract):
    """Text scanners with STX and ETX."""

    name = "line"
    options = {"start": "\x02", "end": "\x03", "checksum": "xor"}
    frames = {"AS": b"\x02AS12\x03", "TD": b"\x02TD10\x03"}
    ignored = b"\r\n\0 "


class TestLineOverTcp(DriverContract):
    """Text scanners behind a serial server."""

    name = "line"
    options = {"end": "\r\n"}
    frames = {"AS": b"AS\r\n", "TD": b"TD\r\n"}
    ignored = b"\r\n"
    wire = "tcp"
    absent = "tcp://127.0.0.1:1"


class TestBeeTek(DriverContract):
    """Shoes that read micro-dots."""

    name = "bee-tek"
    frames = {"4S": b" [Game]<Card:4S> ", "TH": b" [Game]<Card:H10> "}
    ignored = b" "


class TestAngelEye(DriverContract):
    """Shoes that send each report several times."""

    name = "angel-eye"
    frames = {"AS": report(b"1", b"\x80\xb1"), "TD": report(b"2", b"\x91\x9a")}


class TestRfidSerial(DriverContract):
    """Tag readers that send 14 bytes."""

    name = "rfid-serial"
    frames = {"0415D0B357": tag("0415D0B357"), "0000C0FFEE": tag("0000C0FFEE", b"\r\n")}


class TestSsi(DriverContract):
    """Scanners that wait for an acknowledgement."""

    name = "ssi"
    frames = {"AS": decoded(b"AS"), "TD": decoded(b"TD")}


class TestHidPos(DriverContract):
    """HID scanners of usage page 8C, on a node that gives one report a read."""

    name = "hid-pos"
    frames = {"AS": [pos_report(b"AS")], "TD": [pos_report(b"TD")]}


class TestHidKeyboard(DriverContract):
    """Scanners that type, through hidraw."""

    name = "hid-keyboard"
    options = {"source": "hidraw"}
    frames = {"01": boot_reports(0x27, 0x1E), "52": boot_reports(0x22, 0x1F)}


class TestHidKeyboardEvents(DecoderContract):
    """Scanners that type, through evdev; its node must be grabbed, which no terminal can be."""

    name = "hid-keyboard"
    frames = {"01": key_events(11, 2), "52": key_events(6, 3)}


class TestUsbBulk(DecoderContract):
    """Vendor scanners on a USB endpoint."""

    name = "usb-bulk"
    frames = {"AS": b"AS\r\n", "TD": b"TD\r\n"}
    ignored = b"\r\n"


def all_below(case: type[DecoderContract]) -> set[type[DecoderContract]]:
    """The classes that inherit from a class, over however many steps."""
    return {one for below in case.__subclasses__() for one in ({below} | all_below(below))}


BORROWED = {"replay", "simulator"}
"""Drivers whose decoder is that of another one, and whose device is a file or nothing at all."""


def test_no_driver_is_left_out() -> None:
    """Every driver that comes with scannerd is put to the kit."""
    cases = {case.name for case in all_below(DecoderContract) if case.__module__ == __name__}
    own = {name for name in Registry().names if Registry().package(name) == "scannerd"}
    assert own - BORROWED == cases
