"""The machine: QEMU without KVM, started from the state that was saved when it had booted."""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tests.guests.guest import RUN_S, Guest
from tests.guests.lines import GoneError, Lines
from tests.vm.qmp import Qmp, QmpError

BOOT_S = 300.0
CONNECT_S = 60.0
QUIT_S = 10.0

LIMIT_S = 2400
"""QEMU is ended after so long, whatever happens to us."""

_READY = "ready"  # the name of the saved state
_BOOT_LINE = "console=ttyS0 quiet loglevel=3 systemd.show_status=0 mitigations=off random.trust_cpu=on"


class Machine(Guest):
    """A running machine; `with` ends it."""

    events_path = "/dev/virtio-ports/events"

    def __init__(self, lab: Path, sockets: Path, disk: Path, *, resume: bool) -> None:
        """Starts QEMU.

        Args:
            lab: where kernel, first stage and disk image are.
            sockets: a folder for its sockets, which is empty.
            disk: what it writes to.
            resume: goes on from the saved state instead of booting.
        """
        self._sockets = sockets
        self._qemu = subprocess.Popen(
            ["/usr/bin/timeout", str(LIMIT_S), *_command(lab, sockets, disk), *(["-loadvm", _READY] if resume else [])],
            stdin=subprocess.DEVNULL,
        )
        try:
            self.qmp = Qmp(self._connect("qmp"))
            self._control = self._connect("control")
            self.events = self._connect("events")
            self.serial = self._connect("serial")
        except BaseException:
            self._qemu.terminate()
            self._qemu.wait()
            raise

    def __enter__(self) -> Self:
        """Nothing more: it runs already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Pulls the plug."""
        self.close()

    def close(self) -> None:
        """Pulls the plug."""
        with suppress(GoneError, OSError):
            self.qmp.command("quit")
        try:
            self._qemu.wait(QUIT_S)
        except subprocess.TimeoutExpired:
            self._qemu.terminate()
            self._qemu.wait()

    def wait_for_boot(self) -> None:
        """Waits for the guest's agent.

        Raises:
            GoneError: it did not come up.
        """
        self._control.next(BOOT_S)

    def reset(self) -> None:
        """Cuts the power and gives it back: what the guest had not written out is gone.

        Raises:
            GoneError: it did not come up again.
        """
        self.qmp.command("system_reset")
        self.wait_for_boot()
        self.events.forget()
        self.set_clock()

    def save(self) -> None:
        """Saves the state to go on from."""
        self.qmp.monitor(f"savevm {_READY}")

    def ask(self, script: str, seconds: float = RUN_S) -> tuple[int, str]:
        """Runs a script, as root; returns its status and what it printed.

        Raises:
            GoneError: it took longer than `seconds`.
        """
        self._control.send(base64.b64encode(script.encode()) + b"\n")
        return self._answer(seconds)

    def put(self, file: Path) -> str:
        """Copies a file of the host into the guest's /run, and returns its path there."""
        target, data = f"/run/{file.name}", file.read_bytes()
        script = f"head -c {len(data)} /dev/virtio-ports/files >{target}"
        files = self._connect("files")
        self._control.send(base64.b64encode(script.encode()) + b"\n")
        files.send(data)  # the guest is reading already: the socket holds less than that
        self._answer(RUN_S)
        files.close()
        return target

    def plug(self, name: str, **device: str | bool) -> None:
        """Plugs a USB device of QEMU in; a pull just before may not be through yet."""

        def plugged() -> bool:
            try:
                self.qmp.command("device_add", id=name, bus="xhci.0", **device)
            except QmpError:
                return False
            return True

        self.wait(f"{name} plugged", plugged, 10)

    def pull(self, name: str) -> None:
        """Pulls a USB device of QEMU; one that is not plugged is left alone."""
        with suppress(QmpError):
            self.qmp.command("device_del", id=name)

    def set_clock(self) -> None:
        """Gives the guest our time of day; its own stands where the state was saved."""
        self.run(f"date -s @{time.time():.0f}")

    def _answer(self, seconds: float) -> tuple[int, str]:
        status, _, output = self._control.next(seconds).partition(b" ")
        return int(status), base64.b64decode(output).decode("utf-8", "replace")

    def _connect(self, name: str) -> Lines:
        return Lines.connected(self._sockets / name, CONNECT_S)


def _command(lab: Path, sockets: Path, disk: Path) -> list[str]:
    ports = [
        option
        for name in ("control", "events", "files")
        for option in (
            *("-chardev", f"socket,id={name},path={sockets / name},server=on,wait=off"),
            *("-device", f"virtserialport,chardev={name},name={name}"),
        )
    ]
    return [
        "/usr/bin/qemu-system-x86_64",
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "768", "-machine", "pc", "-nodefaults"),
        *("-display", "none", "-vga", "none"),
        *("-kernel", str(lab / "vmlinuz"), "-initrd", str(lab / "initrd"), "-append", _BOOT_LINE),
        *("-drive", f"file={disk},if=virtio,format=qcow2,cache=unsafe"),
        *("-serial", f"file:{sockets / 'console'}", "-qmp", f"unix:{sockets / 'qmp'},server=on,wait=off"),
        *("-device", "virtio-rng-pci", "-device", "qemu-xhci,id=xhci", "-device", "virtio-serial-pci"),
        *("-chardev", f"socket,id=serial,path={sockets / 'serial'},server=on,wait=off"),
        *("-chardev", "null,id=nobody"),
        *ports,
    ]


def prepare(lab: Path) -> None:
    """Boots once and saves the state, unless that was done with this image."""
    state = lab / "ready.qcow2"
    if state.exists():
        return
    fresh = lab / "booting.qcow2"
    _qemu_img("create", "-q", "-f", "qcow2", "-b", str(lab / "root.img"), "-F", "raw", str(fresh))
    with tempfile.TemporaryDirectory() as sockets, Machine(lab, Path(sockets), fresh, resume=False) as machine:
        machine.wait_for_boot()
        machine.run("systemctl is-system-running --wait; udevadm settle; sync", BOOT_S)
        machine.save()
    fresh.rename(state)


@contextmanager
def resumed(lab: Path) -> Iterator[Machine]:
    """A machine that has just booted, on a disk of its own."""
    with tempfile.TemporaryDirectory(dir=lab) as folder, tempfile.TemporaryDirectory() as sockets:
        disk = Path(folder) / "disk.qcow2"
        shutil.copy(lab / "ready.qcow2", disk)
        with Machine(lab, Path(sockets), disk, resume=True) as machine:
            machine.set_clock()
            yield machine


def _qemu_img(*arguments: str) -> None:
    subprocess.run(["/usr/bin/qemu-img", *arguments], check=True)
