"""How far a command has come, on a terminal that is narrow."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.small_recordings import CARDS, write

CONFIG = (
    '[table]\nid = "tp-01"\n[[scanner]]\nname = "desk"\ndriver = "line"\nurl = "/dev/desk"\n[round]\nstart = "auto"\n'
)


@pytest.mark.parametrize("columns", [30, 40])
@pytest.mark.parametrize("command", ["verify", "shadow", "simulate"])
def test_progress_fits_a_narrow_terminal(tmp_path: Path, command: str, columns: int) -> None:
    """No line of progress is wider than the terminal, on which it would be left behind at each step."""
    recording, config = write(tmp_path / "a.scanlog", *CARDS), tmp_path / "new.toml"
    config.write_text(CONFIG)
    options = {
        "verify": ["--update", str(recording)],
        "shadow": ["-c", str(config), str(recording)],
        "simulate": ["--rounds", "20", "-o", str(tmp_path / "b.scanlog")],
    }
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(
        [sys.executable, "-m", "scannerd", command, *options[command]],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        check=True,
        timeout=60,
    )
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", shown))]
    assert any(lines)
    assert [] == [line for line in lines if len(line) > columns]
