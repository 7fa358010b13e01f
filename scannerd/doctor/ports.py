"""The scanners: is each there, may it be opened, does anybody else have it, and will its name last."""

from __future__ import annotations

import grp
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scannerd.config.settings import Scanner
from scannerd.contract import TransportError
from scannerd.doctor.findings import Finding, fail, ok, warn
from scannerd.doctor.site import Holder, Site, content, openers, running

UNIT_GROUPS = ("dialout", "input", "plugdev")
"""The groups that the service's user is in."""

RULE_NUMBERS = (60, 73)
"""Between which numbers a file of udev rules must stand, see udev/65-scannerd.rules."""

_RULE_FOLDERS = ("etc/udev/rules.d", "run/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")
_PASSING_NAME = re.compile(r"/dev/(tty(USB|ACM)\d+|hidraw\d+|input/event\d+)")
_OUR_LINKS = "/dev/scannerd/"
_SERIAL = re.compile(r"/dev/tty[A-Z]+\d+")
_IGNORED = ("E:ID_MM_PORT_IGNORE=1", "E:ID_MM_DEVICE_IGNORE=1")


@dataclass(frozen=True, slots=True)
class Node:
    """A device node.

    Attributes:
        path: the node that the configured path leads to now.
        group: its group's name.
        mode: its permission bits.
        holders: who else has it open.
        pseudo: it is a pseudo-terminal, which whoever made it keeps open.
        modem_ignored: udev was told to keep ModemManager off it.
    """

    path: str
    group: str = "root"
    mode: int = 0o660
    holders: tuple[Holder, ...] = ()
    pseudo: bool = False
    modem_ignored: bool = False


@dataclass(frozen=True, slots=True)
class Port:
    """What is known of a scanner's port.

    Attributes:
        scanner: its name.
        url: as configured.
        node: None where the URL is no path, or nothing is there.
        tried: it was opened and closed, or the attempt failed; not so while a daemon runs the table.
        trouble: why it could not be opened, and the driver's remedy.
        rules: the files of udev rules that make the link, where the path is one of ours.
    """

    scanner: str
    url: str
    node: Node | None = None
    tried: bool = False
    trouble: tuple[str, str] | None = None
    rules: tuple[str, ...] = ()

    @property
    def is_path(self) -> bool:
        """Whether it is named by a path."""
        return self.url.startswith("/")


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of a table, who runs it, and who looks."""

    ports: tuple[Port, ...]
    daemon: int | None = None
    euid: int = 1000
    meddlers: tuple[Holder, ...] = ()


# --- probes -----------------------------------------------------------------------------------------------------


def look_at_ports(site: Site) -> Ports:
    """Looks at each port, and opens and closes it where no daemon runs the table."""
    ports = tuple(_port(scanner, site) for scanner in site.config.scanners)
    meddlers = tuple(one for one in running(site.root) if one.name in {"ModemManager", "brltty"})
    return Ports(ports, site.daemon, site.euid, meddlers)


def _port(scanner: Scanner, site: Site) -> Port:
    node = _node(scanner.url, site.root) if scanner.url.startswith("/") else None
    trouble = None if site.daemon is not None else _tried(scanner)
    return Port(scanner.name, scanner.url, node, site.daemon is None, trouble, _rules(scanner.url, site.root))


def _tried(scanner: Scanner) -> tuple[str, str] | None:
    """Opens and closes the port; nothing is read and nothing is written."""
    try:
        transport = scanner.make_driver().transport(scanner.url)
    except ValueError as error:
        return str(error), "mend `url`; `scannerd drivers` says what the driver reads from"
    try:
        transport.open()
    except TransportError as error:
        return str(error), error.remedy
    finally:
        transport.close()
    return None


def _node(url: str, root: Path) -> Node | None:
    path = os.path.realpath(url)
    try:
        status = Path(path).stat()
    except OSError:
        return None
    number = f"c{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    told = content(root / "run/udev/data" / number).splitlines()
    return Node(
        path,
        _group(status.st_gid),
        stat.S_IMODE(status.st_mode),
        openers(path, root) if stat.S_ISCHR(status.st_mode) else (),
        path.startswith("/dev/pts/"),
        any(line in _IGNORED for line in told),
    )


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _rules(url: str, root: Path) -> tuple[str, ...]:
    if not url.startswith(_OUR_LINKS):
        return ()
    made = re.compile(rf'SYMLINK\+?="[^"]*\bscannerd/{re.escape(url.removeprefix(_OUR_LINKS))}[" ]')
    files = (file for folder in _RULE_FOLDERS for file in sorted((root / folder).glob("*.rules")))
    return tuple(file.name for file in files if made.search(_without_comments(content(file))))


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


# --- judgements -------------------------------------------------------------------------------------------------


def judge_ports(facts: Ports) -> Iterator[Finding]:
    """Each port, then the programs that take ports from others."""
    for port in facts.ports:
        yield _opening(port, facts.daemon)
        yield from _sharing(port, facts.daemon)
        yield from _rights(port, facts.euid)
        yield from _naming(port)
    yield from _meddling(facts)


def _opening(port: Port, daemon: int | None) -> Finding:
    name = f"{port.scanner}: {_place(port)}"
    if port.trouble is not None:
        detail, remedy = port.trouble
        return fail(
            "port", f"{port.scanner}: {detail}", remedy or "see the driver's page; `scannerd devices` lists ports"
        )
    if port.tried:
        return ok("port", f"{name} can be opened")
    if port.is_path and port.node is None:
        remedy = "plug the scanner in; `scannerd devices` shows what is there"
        return fail("port", f"{port.scanner}: no such device: {port.url}", remedy)
    return ok("port", f"{name} was not opened, since the daemon (pid {daemon}) runs the table")


def _place(port: Port) -> str:
    if port.node is None or port.node.path == port.url:
        return port.url
    return f"{port.url} ({port.node.path})"


def _sharing(port: Port, daemon: int | None) -> Iterator[Finding]:
    """Others that have the port open; where it could not be opened, the driver has told who holds it."""
    if port.node is None or port.trouble is not None or port.node.pseudo:
        return
    others = [str(one) for one in port.node.holders if one.pid != daemon]
    if others:
        text = f"{port.scanner}: {port.node.path} is also open in {', '.join(others)}: each gets a part of the bytes"
        yield fail("holder", text, "end the other program, and keep it from starting again")


def _rights(port: Port, euid: int) -> Iterator[Finding]:
    """For root everything opens, so the rights of the service's user are read off the node."""
    node = port.node
    if node is None or euid != 0 or node.pseudo or not node.path.startswith("/dev/"):
        return
    by_group = node.group in UNIT_GROUPS and node.mode & 0o060 == 0o060  # noqa: PLR2004 - read and write
    if not by_group and node.mode & 0o006 != 0o006:  # noqa: PLR2004 - as above
        text = f"{port.scanner}: {node.path} is of group {node.group}, mode {node.mode:04o}: the service can't open it"
        groups = ", ".join(UNIT_GROUPS)
        yield warn("rights", text, f"give it a group of the service ({groups}) by a rule as in udev/65-scannerd.rules")


def _naming(port: Port) -> Iterator[Finding]:
    if _PASSING_NAME.fullmatch(port.url):
        text = f"{port.scanner}: {port.url} may be another device tomorrow"
        yield warn(
            "link", text, f"make a link: `scannerd devices --udev {_word(port.scanner)} {port.url}` prints the rule"
        )
    if not port.url.startswith(_OUR_LINKS):
        return
    link = port.url.removeprefix(_OUR_LINKS)
    if not port.rules:
        remedy = f"`scannerd devices --udev {link} DEVICE` prints the rule for /etc/udev/rules.d/65-scannerd.rules"
        text = f"{port.scanner}: no udev rule makes the link {port.url}"
        yield fail("link", text, remedy) if port.node is None else warn("link", text, remedy)
    for file in port.rules:
        yield _ranked(port, file)


def _ranked(port: Port, file: str) -> Finding:
    number = re.match(r"\d+", file)
    lowest, highest = RULE_NUMBERS
    if number is not None and lowest < int(number[0]) < highest:
        return ok("link", f"{port.scanner}: {file} makes the link {port.url}")
    remedy = "rename it to 65-scannerd.rules, then `udevadm control --reload && udevadm trigger`"
    return warn(
        "link", f"{port.scanner}: {file} runs before udev knows serial numbers, or after it acts on tags", remedy
    )


def _meddling(facts: Ports) -> Iterator[Finding]:
    serial = [port for port in facts.ports if port.node is not None and _SERIAL.fullmatch(port.node.path)]
    open_to_modems = [port for port in serial if port.node is not None and not port.node.modem_ignored]
    for program in facts.meddlers:
        if program.name == "ModemManager" and open_to_modems:
            places = ", ".join(_place(port) for port in open_to_modems)
            text = f"{program} sends AT commands to new serial ports and holds them for seconds: {places}"
            remedy = "`scannerd devices --udev NAME` prints a rule with ID_MM_PORT_IGNORE; or mask ModemManager"
            yield fail("meddler", text, remedy)
        elif program.name == "brltty" and serial:
            text = f"{program} takes serial adapters for Braille displays"
            yield fail(
                "meddler", text, "apt purge brltty, or `systemctl mask --now brltty.service brltty-udev.service`"
            )
        else:
            yield ok("meddler", f"{program} runs, and has nothing to do with these scanners")
    if not facts.meddlers:
        yield ok("meddler", "neither ModemManager nor brltty runs")


def _word(name: str) -> str:
    """A scanner's name as that of a link."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "scanner"
