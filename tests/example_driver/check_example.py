"""The example's own tests: the conformance kit, with two frames of the reader. Run `pytest check_example.py`."""

from scannerd.driver_contract import DriverContract


class TestExample(DriverContract):
    """The example stands the kit."""

    name = "example"
    frames = {"AS": b"<AS>", "TD": b"<TD>"}
    ignored = b"\r\n"
