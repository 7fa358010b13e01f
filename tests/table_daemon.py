"""A whole daemon in a process of its own, without a device: its rounds are opened and dealt by commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.mosquitto import BOUND_S, free_port

ROOT = Path(__file__).parent.parent
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
CARDS = ("AS", "KH", "9D", "2C", "7S", "QH")


class Daemon:
    """One table's daemon; started and stopped as often as the test likes, on one state directory."""

    def __init__(self, folder: Path, url: str, table: str = "tp-01") -> None:
        """Writes its configuration; a scanner is named, and never there."""
        self.state = folder / "state"
        self.config = folder / "table.toml"
        self.config.write_text(
            f'[table]\nid = "{table}"\nstate_dir = "{self.state}"\n'
            f'[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "tcp://127.0.0.1:{free_port()}"\nend = "\\r"\n'
            f'[mqtt]\nurl = "{url}"\n[display]\nlisten = ""\n',
            encoding="utf-8",
        )
        self.state.mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, on the journal that is there or a new one."""
        command = [sys.executable, "-m", "scannerd", "run", "-c", str(self.config)]
        self._process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        """Stops it in an orderly way; may be called twice."""
        if self._process is not None:
            self._process.terminate()
            assert 0 == self._process.wait(BOUND_S)
        self._process = None

    def forget(self) -> None:
        """Takes the journal away, as when a disk is replaced."""
        for file in self.state.iterdir():
            file.unlink()
