"""The plugin that pytest finds where scannerd is installed: devices made of nothing, for tests of drivers.

The tests that every driver must stand are a class to inherit, `scannerd.driver_contract.DriverContract`. It is not
imported here: pytest loads its plugins in every run, and the kit needs hypothesis, which not everyone has.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scannerd.driver_contract.devices import PtyDevice, TcpDevice


@pytest.fixture
def scanner_pty(tmp_path: Path) -> Iterator[PtyDevice]:
    """A scanner on a pseudo-terminal: `url`, `send`, `unplug`, `plug`."""
    from scannerd.driver_contract.devices import PtyDevice  # noqa: PLC0415 - see the module's docstring

    device = PtyDevice(tmp_path / "scanner")
    yield device
    device.close()


@pytest.fixture
def scanner_tcp() -> Iterator[TcpDevice]:
    """A scanner behind a serial server on loopback: `url`, `send`, `unplug`, `plug`."""
    from scannerd.driver_contract.devices import TcpDevice  # noqa: PLC0415 - see the module's docstring

    device = TcpDevice()
    yield device
    device.close()
