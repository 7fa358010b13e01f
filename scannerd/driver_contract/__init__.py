r"""The conformance kit: what every driver must stand, ours or anyone's, as a class of tests to inherit.

A driver's test file needs no more than this:

```python
from scannerd.driver_contract import DriverContract

class TestAcme(DriverContract):
    name = "acme"                                  # the driver's entry point
    frames = {"AS": b"<AS>\r", "TD": b"<TD>\r"}    # code -> the bytes that the scanner sends for it
```

The tests of `DecoderContract` need no device: bytes whole, split, joined, as garbage, half, overlong and spoiled; no
exception, no silence, no growth. Those of `TransportContract` run the driver's own transport on a pseudo-terminal or a
TCP connection: 200 times open and close, unplugged while reading, stopped while reading. A driver for a bus that can't
be had without hardware inherits `DecoderContract` alone, or makes its own `Device`.

The kit imports pytest and hypothesis (`pip install scannerd[kit]`), and so is no part of the running daemon. Where
scannerd is installed pytest also has the fixtures `scanner_pty` and `scanner_tcp`, for further tests of a driver.
"""

from __future__ import annotations

from scannerd.driver_contract.decoding import DecoderContract
from scannerd.driver_contract.devices import Device, PtyDevice, TcpDevice
from scannerd.driver_contract.transport import TransportContract

__all__ = ["DecoderContract", "Device", "DriverContract", "PtyDevice", "TcpDevice", "TransportContract"]


class DriverContract(DecoderContract, TransportContract):
    """All that a driver must stand; see `DriverCase` for the attributes that a subclass sets."""
