"""The container: Debian's own systemd as its first process, with a network and devices of its own."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.guests.guest import PAUSE_S, RUN_S, Guest
from tests.guests.lines import GoneError, Lines

BOOT_S = 120.0
HALT_S = 30.0

LIMIT_S = 900
"""It is ended after so long, whatever happens to us."""

_UP = {"running", "degraded"}
_CGROUPS = Path("/sys/fs/cgroup")
_HIERARCHIES = (_CGROUPS / "unified", _CGROUPS / "systemd", _CGROUPS)


class NoContainerError(Exception):
    """No container can be started on this machine."""


class Container(Guest):
    """A running container; `started` makes and ends it."""

    events_path = "/lab/events"

    def __init__(self, leader: int, share: Path) -> None:
        """Takes one that has booted.

        Args:
            leader: the process id, here, of its first process.
            share: the folder of the host that is its /lab.
        """
        self._share = share
        self._enter = ("/usr/bin/nsenter", "--target", str(leader), "--all", "--", "/bin/bash", "-c")
        os.mkfifo(share / "events")
        self.events = Lines(os.open(share / "events", os.O_RDWR))

    def ask(self, script: str, seconds: float = RUN_S) -> tuple[int, str]:
        """Runs a script, as root; returns its status and what it printed.

        Raises:
            GoneError: it took longer than `seconds`.
        """
        try:
            done = subprocess.run(
                [*self._enter, script],
                check=False,
                timeout=seconds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"HOME": "/root", "PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
                cwd="/",
            )
        except subprocess.TimeoutExpired as error:
            raise GoneError(f"nothing came within {seconds:g} s") from error
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def put(self, file: Path) -> str:
        """Shows a file of the host in /lab, and returns its path there."""
        shutil.copy(file, self._share / file.name)
        return f"/lab/{file.name}"


@contextmanager
def started(root: Path) -> Iterator[Container]:
    """A container that has booted from the tree, of which nothing is changed.

    Raises:
        NoContainerError: it does not boot here.
    """
    with tempfile.TemporaryDirectory() as folder, _cgroup() as groups:
        share = Path(folder)
        share.chmod(0o755)
        with (share / "console").open("wb") as console:
            nspawn = subprocess.Popen(
                ["/bin/bash", "-c", _START, "nspawn", *map(str, groups)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "ROOT": str(root), "SHARE": folder},
            )
        try:
            yield _booted(nspawn, share)
        finally:
            _halt(nspawn)


_START = f"""
for group; do echo $$ >"$group/cgroup.procs"; done
exec timeout -k 5 {LIMIT_S} systemd-nspawn -q -D "$ROOT" --volatile=overlay --machine=scannerd-$$ --private-network \\
    --register=no --keep-unit --bind="$SHARE:/lab" -b systemd.show_status=0
"""


def _booted(nspawn: subprocess.Popen[bytes], share: Path) -> Container:
    """Waits for systemd to have started all it will."""
    end = time.monotonic() + BOOT_S
    container: Container | None = None
    while time.monotonic() < end and nspawn.poll() is None:
        leader = _leader(nspawn.pid)
        if container is None and leader is not None:
            container = Container(leader, share)
        if container is not None and _is_up(container):
            return container
        select.select([], [], [], PAUSE_S)
    console = (share / "console").read_text(encoding="utf-8", errors="replace")
    raise NoContainerError(f"systemd-nspawn does not boot here: {console.strip()[-500:] or 'it says nothing'}")


def _is_up(container: Container) -> bool:
    with suppress(GoneError):
        return container.ask("systemctl is-system-running --wait", BOOT_S)[1].strip() in _UP
    return False


def _leader(parent: int) -> int | None:
    """The first process of the container, among the descendants of ours: the one that is number 1 in there."""
    waiting = [parent]
    while waiting:
        pid = waiting.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            waiting += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
        except OSError:  # it has ended meanwhile
            continue
        numbers = next((line.split() for line in status.splitlines() if line.startswith("NSpid:")), [])
        if len(numbers) > 2 and numbers[-1] == "1":
            return pid
    return None


@contextmanager
def _cgroup() -> Iterator[list[Path]]:
    """A control group for the container alone, in each hierarchy of this machine."""
    roots = [root for root in _HIERARCHIES if (root / "cgroup.procs").exists()]
    groups = [root / f"scannerd-{os.getpid()}" for root in roots]
    try:
        for group in groups:
            group.mkdir()
    except OSError as error:
        raise NoContainerError(f"no control group can be made here: {error}") from error
    try:
        yield groups
    finally:
        for group in groups:
            for folder in (*sorted(group.rglob("*/"), reverse=True), group):
                with suppress(OSError):
                    folder.rmdir()


def _halt(nspawn: subprocess.Popen[bytes]) -> None:
    """Ends the container, as if its power was cut."""
    leader = _leader(nspawn.pid)
    if leader is not None:
        os.kill(leader, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        nspawn.wait(HALT_S)
    nspawn.kill()
    nspawn.wait()
