"""A terminal for tests: a command of `scannerd` in tmux, whose screen is read and whose keys are pressed."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

TMUX = shutil.which("tmux") or ""
BOUND_S = 20.0
"""How long a test waits for the screen before it fails."""


class Terminal:
    """One program in a terminal of its own, 80 columns by 24 lines.

    Nothing here sleeps: what the program writes goes into a pipe too, and each piece of it ends a wait for the screen.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], **environment: str) -> None:
        """Starts the command; its exit code is on the screen once it has ended. `TERM` is what it takes this to be."""
        self._folder = folder
        pipe = folder / "written"
        os.mkfifo(pipe)
        self._written = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        term = [f"TERM={environment['TERM']}"] if "TERM" in environment else []  # tmux sets its own
        command = shlex.join(["env", *term, sys.executable, "-m", "scannerd", *arguments])
        own = {"PYTHONPATH": os.pathsep.join(sys.path), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **environment}
        passed = [part for key, value in own.items() for part in ("-e", f"{key}={value}")]
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", *passed, f"{command}; echo ended $?; exec cat")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", "80", "-y", "24")
        self.tmux("pipe-pane", f"exec cat > {shlex.quote(str(pipe))}")

    def tmux(self, *arguments: str) -> str:
        """Runs a command of tmux and returns what it says."""
        command = [TMUX, "-u", "-S", str(self._folder / "tmux"), "-f", os.devnull, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=BOUND_S).stdout

    def screen(self, *, raw: bool = False) -> str:
        """What stands on the screen now; `raw` with the sequences for colours and the like."""
        return self.tmux("capture-pane", "-p", *(["-e"] if raw else []))

    def wait_for(self, *texts: str) -> str:
        """The screen, once all of `texts` stand on it."""
        return self.wait_until(lambda screen: all(text in screen for text in texts))

    def wait_until(self, wanted: Callable[[str], bool]) -> str:
        """The screen, once it is as `wanted`."""
        while not wanted(screen := self.screen()):
            assert select.select([self._written], [], [], BOUND_S)[0], f"nothing more is written:\n{screen}"
            os.read(self._written, 65536)
        return screen

    def keys(self, *keys: str) -> None:
        """Presses keys, by tmux's names: `h`, `Enter`, `Escape`, `Tab`."""
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Types a text and ends it with Enter."""
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        """Gives the terminal another size."""
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def close(self) -> None:
        """Ends whatever runs."""
        self.tmux("kill-server")
        os.close(self._written)


@contextmanager
def terminal(folder: Path, *arguments: str, **environment: str) -> Iterator[Terminal]:
    """A terminal that runs a command of `scannerd`; ended at the end."""
    own = folder / "terminal"
    own.mkdir()
    found = Terminal(own, arguments, **environment)
    try:
        yield found
    finally:
        found.close()
