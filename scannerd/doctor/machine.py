"""The rest of the machine: the daemon itself, the clock, the pages' port, libraries, and files that hold secrets."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from scannerd.config.settings import Display
from scannerd.display import PACKAGES
from scannerd.doctor.findings import Finding, fail, ok, warn
from scannerd.doctor.site import Site
from scannerd.watching.page import table_at

_LIBUSB = "usb-1.0"


@dataclass(frozen=True, slots=True)
class Machine:
    """What is known of the machine.

    Attributes:
        daemon: the process that runs the table.
        euid: who we are.
        synchronised: whether the time of day can be trusted.
        listen: the pages' address as configured; empty where they are off.
        table: whose pages these are.
        taken: why that address can't be listened on (errno); None where it can, or was not tried.
        there: the table whose pages answer there; empty where none do. It is asked for only where the daemon runs.
        lacking: packages that the pages need and that are not installed.
        by_libusb: scanners named by USB ids, some drivers of which read through libusb.
        libusb: it is installed.
        open_secrets: configured secret files that everybody may read.
        python: its version.
    """

    daemon: int | None = None
    euid: int = 1000
    synchronised: bool | None = True
    listen: str = ""
    taken: int | None = None
    table: str = ""
    there: str = ""
    lacking: tuple[str, ...] = ()
    by_libusb: tuple[str, ...] = ()
    libusb: bool = True
    open_secrets: tuple[Path, ...] = ()
    python: str = ""


# --- probe ------------------------------------------------------------------------------------------------------


def look_at_machine(site: Site, library: Callable[[str], str | None] = find_library) -> Machine:
    """Looks around; the pages' port is bound for a moment where no daemon runs the table."""
    config = site.config
    address = config.display.address
    secrets = (config.mqtt.password_file, config.mqtt.key_file, config.display.tls_key, config.display.pin_file)
    return Machine(
        daemon=site.daemon,
        euid=site.euid,
        synchronised=site.synchronised(),
        listen=config.display.listen,
        taken=_taken(*address) if address is not None and site.daemon is None else None,
        table=config.table.id,
        there=_there(config.display) if site.daemon is not None else "",
        lacking=tuple(name for name in PACKAGES if find_spec(name) is None),
        by_libusb=tuple(scanner.name for scanner in config.scanners if scanner.url.lower().startswith("usb:")),
        libusb=library(_LIBUSB) is not None,
        open_secrets=tuple(file for file in secrets if file is not None and _for_everybody(file)),
        python=sys.version.partition(" ")[0],
    )


def _taken(host: str, port: int) -> int | None:
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = places[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            probe.listen(1)  # with the address reused, only this tells that another listens
    except socket.gaierror:
        return errno.EADDRNOTAVAIL
    except OSError as error:
        return error.errno
    return None


def _there(display: Display) -> str:
    return (display.address and table_at(*display.address, display.tls_cert)) or ""


def _for_everybody(file: Path) -> bool:
    try:
        return bool(stat.S_IMODE(file.stat().st_mode) & stat.S_IROTH)
    except OSError:
        return False


# --- judgement --------------------------------------------------------------------------------------------------


def judge_machine(facts: Machine) -> Iterator[Finding]:
    """The daemon, the clock, the pages, libraries and secrets."""
    yield _daemon(facts)
    yield _clock(facts)
    yield from _pages(facts)
    yield from _libraries(facts)
    for file in facts.open_secrets:
        yield warn("secret", f"{file} can be read by everybody", f"chmod o= {file}")


def _daemon(facts: Machine) -> Finding:
    if facts.daemon is not None:
        return ok("daemon", f"pid {facts.daemon} runs the table; Python {facts.python}")
    who = "; looked at as root: run as the daemon's user to prove its rights too" if facts.euid == 0 else ""
    return ok("daemon", f"no daemon runs the table now; Python {facts.python}{who}")


def _clock(facts: Machine) -> Finding:
    if facts.synchronised:
        return ok("clock", "the clock is synchronised")
    text = (
        "the clock is not synchronised" if facts.synchronised is False else "whether the clock is right, nobody knows"
    )
    return warn("clock", text, "timedatectl set-ntp true, or install chrony; events carry the time of day")


def _pages(facts: Machine) -> Iterator[Finding]:
    if not facts.listen:
        yield ok("display", "the pages are switched off")
    elif facts.lacking:
        remedy = "pip install 'scannerd[display]', or switch the pages off with listen = \"\""
        yield fail("display", f"the pages need {', '.join(facts.lacking)}, which is not installed", remedy)
    elif facts.taken is not None:
        yield fail(
            "display", f"the pages can't listen on {facts.listen}: {os.strerror(facts.taken).lower()}", _free(facts)
        )
    elif facts.daemon is not None and facts.there != facts.table:
        who = f"table {facts.there}'s pages answer" if facts.there else "no pages of the daemon's answer"
        yield fail("display", f"at {facts.listen} {who}; the daemon tries again to have it", _free(facts))
    else:
        yield ok("display", f"the pages {'have' if facts.daemon else 'can have'} {facts.listen}")


def _free(facts: Machine) -> str:
    port = facts.listen.rpartition(":")[2]
    if facts.taken == errno.EADDRINUSE or facts.daemon is not None:
        return f"`ss -ltnp 'sport = :{port}'` shows who has it; end that, or choose another `display.listen`"
    if facts.taken in {errno.EACCES, errno.EPERM}:
        return "choose a port of 1024 or above in `display.listen`"
    return "use an address of this machine in `display.listen`"


def _libraries(facts: Machine) -> Iterator[Finding]:
    if not facts.by_libusb:
        return
    names = ", ".join(facts.by_libusb)
    if facts.libusb:
        yield ok("libusb", f"libusb 1.0 is installed, for {names}")
    else:
        yield fail("libusb", f"libusb 1.0 is not installed, and {names} may need it", "apt install libusb-1.0-0")
