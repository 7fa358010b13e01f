"""`scannerd doctor`: what it finds on a machine, what it says to do, and that it disturbs nobody."""

from __future__ import annotations

import datetime as dt
import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scannerd.app import broker_settings
from scannerd.cli import run
from scannerd.cli.doctor import paragraph, site_of, summary
from scannerd.config import load
from scannerd.doctor.brokers import LARGEST_EVENT, SOON_S, Broker, ask_brokers, judge_brokers
from scannerd.doctor.checks import CHECKS, Check, examine
from scannerd.doctor.findings import Finding, fail, ok, warn
from scannerd.doctor.machine import Machine, judge_machine, look_at_machine
from scannerd.doctor.ports import UNIT_GROUPS, Node, Port, Ports, judge_ports, look_at_ports
from scannerd.doctor.site import Holder, Site, daemon_of, openers
from scannerd.doctor.storage import (
    LOW,
    MUCH_TOO_SLOW_MS,
    SCARCE,
    SLOW_MS,
    JournalFacts,
    Storage,
    file_system,
    judge_journal,
    judge_storage,
    look_at_journal,
    look_at_storage,
)
from scannerd.journal import Journal
from scannerd.journal.schema import VERSION
from scannerd.lock import TableLock
from scannerd.mqtt.address import Failure
from scannerd.mqtt.prover import Proof
from scannerd.publisher import published_topics
from tests.certificates import Authority
from tests.daemon import StartDaemon, Watcher, start_daemon_fixture  # noqa: F401 - pytest finds it by name
from tests.fakes_devices import Pty
from tests.journals import harm
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, free_port, start_broker_fixture  # noqa: F401 - as above
from tests.proxy import proxy_to
from tests.showing import showing

ROOT = Path(__file__).parent.parent
PREFIX = "scannerd/v1/tp-01"


@pytest.fixture(name="pty")
def pty_fixture(tmp_path: Path) -> Iterator[Pty]:
    """A scanner on a pseudo-terminal."""
    pty = Pty(tmp_path / "shoe")
    yield pty
    pty.unplug()


def written(  # noqa: PLR0913 - one argument for each part of a configuration, all with a default
    folder: Path, url: str | Path, *, broker: str = "", mqtt: str = "", listen: str = "", driver: str = "line"
) -> Path:
    """A configuration with one scanner at `url`."""
    config = folder / "tp-01.toml"
    config.write_text(
        f'[table]\nid = "tp-01"\nstate_dir = "state"\n[[scanner]]\nname = "shoe"\ndriver = "{driver}"\n'
        f'url = "{url}"\n[mqtt]\nurl = "{broker or "mqtt://127.0.0.1:1"}"\n{mqtt}\n[display]\nlisten = "{listen}"\n'
    )
    return config


def site(config: Path, root: Path = Path("/"), *, daemon: int | None = None, now: float = 0.0) -> Site:
    """A table on a machine whose clock is right."""
    loaded = load(config)
    broker = broker_settings(loaded, "doctor")
    topics = published_topics(broker.prefix)
    return Site(loaded, broker, topics, root, synchronised=lambda: True, now=lambda: now, euid=1000, daemon=daemon)


def written_to(scanner: Pty) -> bytes:
    """What was written to a scanner and not yet read."""
    return os.read(scanner.master, 4096) if select.select([scanner.master], [], [], 0)[0] else b""


def troubles(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are not well."""
    return [finding for finding in findings if finding.level != "ok"]


def only(findings: Iterable[Finding]) -> Finding:
    """The one that is not well."""
    (found,) = troubles(findings)
    return found


# --- the command ------------------------------------------------------------------------------------------------


def test_a_sound_machine_ends_with_0(
    tmp_path: Path, pty: Pty, broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where scanner, broker and disk are as they should be nothing fails."""
    config = written(tmp_path, pty.path, broker=broker.url, listen=f"127.0.0.1:{free_port()}")
    assert 0 == run(["doctor", "-c", str(config)])
    told = capsys.readouterr().out
    assert "  fail" not in told
    for group in ("machine", "scanners", "state", "journal", "broker"):
        assert f"{group}\n  " in told


def test_a_finding_ends_with_1_and_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not well has a remedy of one line, for people and as JSON, and what failed is exit 1."""
    config = written(tmp_path, "/dev/scannerd/nothing")
    assert 1 == run(["doctor", "-c", str(config), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {"fail", "ok"} <= {one["level"] for one in found}
    for one in found:
        assert {"group", "check", "level", "text", "remedy"} == set(one)
        assert (one["level"] == "ok") is (one["remedy"] == "")
        assert "\n" not in one["text"] + one["remedy"]
    assert 1 == run(["doctor", "-c", str(config)])
    told = capsys.readouterr().out
    for one in found:
        assert one["text"] in told or one["check"] in {"disk", "sync"}
        assert one["remedy"] in told


def test_a_configuration_that_cannot_be_used_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that nobody knows is told with file and line, and nothing is looked at."""
    config = written(tmp_path, "/dev/x")
    config.write_text(f"{config.read_text()}\n[rounds]\n")
    assert 2 == run(["doctor", "-c", str(config)])
    assert "" == capsys.readouterr().out


def test_people_read_words(tmp_path: Path) -> None:
    """A group is a heading, its findings with ok, warn or fail and what to do; the last line counts them."""
    findings = [ok("a", "well"), warn("b", "doubtful", "look"), fail("c", "wrong", "mend")]
    expected = "broker\n  ok    well\n  warn  doubtful\n        do: look\n  fail  wrong\n        do: mend\n"
    assert expected == paragraph("broker", findings)
    assert "1 failed, 1 to look at, 1 well." == summary(findings)
    assert "All is well." == summary(findings[:1])
    assert "scannerd-tp-01-doctor" == site_of(written(tmp_path, "/dev/x")).broker.client_id


def test_what_cannot_be_looked_at_is_a_finding(tmp_path: Path) -> None:
    """A probe that the system refuses fails by itself and keeps no other from its work."""

    def refused(_: Site) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", "/proc/1/fd")

    checks = (
        Check("a", refused, lambda _: [ok("x", "never")]),
        Check("b", lambda _: "fine", lambda text: [ok("y", text)]),
    )
    found = dict(examine(site(written(tmp_path, "/dev/x")), checks))
    assert ["fail"] == [finding.level for finding in found["a"]]
    assert [ok("y", "fine")] == found["b"]


def test_every_check_has_a_group_of_its_own() -> None:
    """No two checks share a heading."""
    groups = [check.group for check in CHECKS]
    assert len(groups) == len(set(groups))


# --- beside a running daemon ------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [5, 4])
def test_a_running_daemon_is_not_disturbed(broker: Mosquitto, start_daemon: StartDaemon, protocol: int) -> None:
    """Beside a daemon that deals nothing fails, no byte goes to the scanner, and no message to a consumer."""
    lines = f'start = "auto"\n[mqtt]\nprotocol = {protocol}'
    daemon = start_daemon(broker.url, start=False)
    daemon.config.write_text(daemon.config.read_text().replace("[mqtt]", lines.partition("\n")[2]))
    daemon.start()
    with Watcher(broker.port) as watcher:
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
        daemon.send("AS")
        daemon.wait_for_outcomes(1)
        watcher.wait_for_event("card_accepted")
        daemon.forget_beeps()
        before = watcher.command("snapshot")
        begun = len(watcher.messages)
        told = daemon.run("doctor", "--json")
        after = watcher.command("snapshot")
        since = {message.topic.removeprefix(f"{PREFIX}/") for message in watcher.messages[begun:]}
    assert 0 == told.returncode, told.stdout + told.stderr
    found = {one["text"] for one in json.loads(told.stdout)}
    assert any(f"pid {daemon.process.pid} runs the table" in text for text in found)
    assert any("was not opened" in text for text in found)
    assert b"" == written_to(daemon.scanner).replace(b"p", b"")  # the daemon's own word for a new prompt
    assert before["ok"] is after["ok"] is True
    own_doing = {"event/self_check", "event/alarm_raised", "event/alarm_cleared"}
    assert {"round", "prompt", "status", "reply", "command/snapshot"} == since - own_doing


def test_a_port_is_opened_and_left_as_it_was(tmp_path: Path, pty: Pty) -> None:
    """Where no daemon runs, the port is opened and closed, free afterwards, and nothing was written to it."""
    (port,) = look_at_ports(site(written(tmp_path, pty.path))).ports
    assert (True, None) == (port.tried, port.trouble)
    assert b"" == written_to(pty)
    fcntl.flock(pty.slave, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_daemon_is_known_by_its_lock(tmp_path: Path) -> None:
    """Who holds the table's lock is read from the system; the lock itself is not tried."""
    assert daemon_of(tmp_path) is None
    with TableLock(tmp_path):
        assert os.getpid() == daemon_of(tmp_path)
    assert daemon_of(tmp_path) is None


@pytest.mark.parametrize(
    ("line", "pid"),
    [
        ("3: FLOCK  ADVISORY  WRITE 812 00:05:{inode} 0 EOF", 812),
        ("3: FLOCK  ADVISORY  WRITE 813 00:05:{inode} 0 EOF", None),
        ("3: -> FLOCK  ADVISORY  WRITE 812 00:05:{inode} 0 EOF", None),
        ("3: POSIX  ADVISORY  WRITE 812 00:05:{inode} 0 EOF", None),
    ],
)
def test_a_lock_on_a_layered_file_system_is_known_too(tmp_path: Path, line: str, pid: int | None) -> None:
    """Where the system shows another device than the file has, the process id in the file decides."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "lock").write_text("812\n")
    inode = (tmp_path / "lock").stat().st_ino
    (tmp_path / "proc/locks").write_text(f"{line.format(inode=inode)}\n")
    assert pid == daemon_of(tmp_path, tmp_path)


# --- ports ------------------------------------------------------------------------------------------------------


def test_a_port_that_is_not_there(tmp_path: Path) -> None:
    """A path that leads nowhere is a finding, whether it could be tried or a daemon runs."""
    config = written(tmp_path, tmp_path / "gone")
    for daemon in (None, 812):
        finding = only(judge_ports(look_at_ports(site(config, tmp_path, daemon=daemon))))
        assert ("port", "fail") == (finding.check, finding.level)
        assert f"no such device: {tmp_path}/gone" in finding.text
        assert "scannerd devices" in finding.remedy


def test_a_port_that_another_has_locked(tmp_path: Path, pty: Pty) -> None:
    """A port that another process holds for itself is told with the process."""
    fcntl.flock(pty.slave, fcntl.LOCK_EX)
    finding = only(judge_ports(look_at_ports(site(written(tmp_path, pty.path), tmp_path))))
    assert f"port in use by pid {os.getpid()}" in finding.text
    assert "end the other program" in finding.remedy


@pytest.mark.fault(111)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_port_without_the_right_to_open_it(tmp_path: Path, pty: Pty) -> None:
    """A user who may not open the node is told the group to join and the rule to install."""
    os.fchmod(pty.slave, 0o660)
    looked = site(written(tmp_path, os.ttyname(pty.slave)))
    assert [] == troubles(judge_ports(look_at_ports(looked)))
    os.fchown(pty.slave, 0, 1)
    os.seteuid(65534)
    try:
        facts = look_at_ports(looked)
    finally:
        os.seteuid(0)
    finding = only(judge_ports(facts))
    assert "no permission to open" in finding.text
    assert "group" in finding.remedy
    assert "udev/65-scannerd.rules" in finding.remedy


@pytest.mark.fault(111)
def test_the_service_is_in_the_groups_that_are_asked_for() -> None:
    """The groups that the remedy names are those of the service, and no more."""
    unit = (ROOT / "systemd/scannerd@.service").read_text()
    assert f"SupplementaryGroups={' '.join(UNIT_GROUPS)}\n" in unit


TTY = "/dev/ttyUSB0"
LINK = "/dev/scannerd/shoe"
NODE = Node(TTY, "dialout", 0o660, modem_ignored=True)
PORT = Port("shoe", LINK, NODE, tried=True, rules=("65-scannerd.rules",))
MODEM_MANAGER, BRLTTY, MINICOM = Holder(7, "ModemManager"), Holder(8, "brltty"), Holder(9, "minicom")


@pytest.mark.parametrize(
    ("facts", "check", "words", "remedy"),
    [
        (Ports((replace(PORT, trouble=("no such device: x", "")),)), "port", "no such device", "scannerd devices"),
        (Ports((replace(PORT, node=replace(NODE, holders=(MINICOM,))),)), "holder", "pid 9 (minicom)", "end the other"),
        (Ports((replace(PORT, node=replace(NODE, mode=0o600)),), euid=0), "rights", "mode 0600", "dialout"),
        (Ports((replace(PORT, node=replace(NODE, group="root")),), euid=0), "rights", "group root", "dialout"),
        (Ports((replace(PORT, url=TTY, rules=()),)), "link", "another device tomorrow", "--udev shoe /dev/ttyUSB0"),
        (Ports((replace(PORT, rules=()),)), "link", "no udev rule makes", "--udev shoe"),
        (Ports((replace(PORT, rules=("99-x.rules",)),)), "link", "99-x.rules", "65-scannerd.rules"),
        (Ports((replace(PORT, rules=("40-x.rules",)),)), "link", "40-x.rules", "65-scannerd.rules"),
        (
            Ports((replace(PORT, node=replace(NODE, modem_ignored=False)),), meddlers=(MODEM_MANAGER,)),
            "meddler",
            "pid 7 (ModemManager)",
            "ID_MM_PORT_IGNORE",
        ),
        (Ports((PORT,), meddlers=(BRLTTY,)), "meddler", "Braille", "brltty"),
    ],
)
def test_a_port_in_trouble(facts: Ports, check: str, words: str, remedy: str) -> None:
    """Each trouble of a port is one finding, which names it and what to do."""
    finding = only(judge_ports(facts))
    assert check == finding.check
    assert words in finding.text
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    "facts",
    [
        Ports((PORT,)),
        Ports((PORT,), euid=0),
        Ports((replace(PORT, node=replace(NODE, group="x", mode=0o666)),), euid=0),
        Ports((replace(PORT, tried=False),), daemon=9),
        Ports((replace(PORT, tried=False, node=replace(NODE, holders=(MINICOM,))),), daemon=9),
        Ports((PORT,), meddlers=(MODEM_MANAGER,)),
        Ports((Port("box", "tcp://10.0.0.5:4001", tried=True),), meddlers=(MODEM_MANAGER, BRLTTY)),
        Ports(
            (Port("shoe", "/srv/shoe", Node("/dev/pts/3", "tty", 0o620, (MINICOM,), pseudo=True), tried=True),), euid=0
        ),
        Ports((Port("pos", "usb:0c2e:0b01"),), daemon=9),
    ],
)
def test_a_port_that_is_well(facts: Ports) -> None:
    """A port that opens, or that the daemon has, is no finding; nor is ModemManager where it is kept off."""
    found = list(judge_ports(facts))
    assert [] == troubles(found)
    assert len(found) > 1


def test_a_link_without_rule_and_device_is_a_failure() -> None:
    """A link that no rule makes and that is not there fails twice: it has no device, and never will have."""
    facts = Ports((replace(PORT, node=None, trouble=("no such device", "plug it in"), rules=()),))
    assert [("port", "fail"), ("link", "fail")] == [(one.check, one.level) for one in troubles(judge_ports(facts))]


@pytest.mark.fault(121)
def test_udev_and_the_processes_are_read(tmp_path: Path, pty: Pty) -> None:
    """What udev was told of a node, and which programs run, is read from the system's own files."""
    number = os.fstat(pty.slave).st_rdev
    data = tmp_path / f"run/udev/data/c{os.major(number)}:{os.minor(number)}"
    data.parent.mkdir(parents=True)
    processes = {"7": "ModemManager", "8": "bash", "9": "brltty"}
    for pid, name in processes.items():
        (tmp_path / f"proc/{pid}/fd").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(f"{name}\n")
    (tmp_path / "proc/8/fd/3").symlink_to(os.ttyname(pty.slave))
    config = written(tmp_path, pty.path)
    for told, ignored in (("E:ID_BUS=usb\n", False), ("E:ID_BUS=usb\nE:ID_MM_PORT_IGNORE=1\n", True)):
        data.write_text(told)
        facts = look_at_ports(site(config, tmp_path))
        (node,) = [port.node for port in facts.ports]
        assert node is not None
        assert (ignored, (Holder(8, "bash"),), True) == (node.modem_ignored, node.holders, node.pseudo)
        assert {MODEM_MANAGER, Holder(9, "brltty")} == set(facts.meddlers)


def test_openers_are_seen_on_this_machine(pty: Pty) -> None:
    """A process that has a node open is found; we ourselves are not."""
    real = os.ttyname(pty.slave)
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=pty.slave) as other:
        assert (Holder(other.pid, "cat"),) == openers(real, Path("/"))
        other.send_signal(signal.SIGKILL)


def test_rules_of_udev_are_found(tmp_path: Path) -> None:
    """A rule that makes the link is found in whichever folder it is; one in a comment, or of another link, is none."""
    for folder, name, text in (
        ("etc", "65-scannerd.rules", '#SYMLINK+="scannerd/shoe"\nSYMLINK+="scannerd/shoe2"\n'),
        ("usr/lib", "66-own.rules", 'SUBSYSTEM=="tty", SYMLINK+="shoe scannerd/shoe", MODE="0660"\n'),
    ):
        file = tmp_path / folder / "udev/rules.d" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (port,) = look_at_ports(site(written(tmp_path, "/dev/scannerd/shoe"), tmp_path, daemon=1)).ports
    assert ("66-own.rules",) == port.rules


def test_a_url_that_the_driver_cannot_read(tmp_path: Path) -> None:
    """A URL of the wrong kind is a finding with the driver's own words."""
    looked = site(written(tmp_path, "/dev/hidraw9", driver="hid-pos"), tmp_path)
    (scanner,) = looked.config.scanners
    elsewhere = replace(looked.config, scanners=(replace(scanner, url="tcp://h:1"),))
    finding = only(judge_ports(look_at_ports(replace(looked, config=elsewhere))))
    assert "hid-pos reads usb:VID:PID" in finding.text


# --- brokers ----------------------------------------------------------------------------------------------------


def broker_troubles(config: Path, now: float = 0.0) -> list[Finding]:
    """What is not well at the brokers of a configuration."""
    return troubles(judge_brokers(ask_brokers(site(config, now=now))))


@pytest.mark.parametrize("protocol", [5, 4])
def test_a_broker_that_lets_us_do_our_work(tmp_path: Path, broker: Mosquitto, protocol: int) -> None:
    """A broker that takes us and forbids nothing is no finding, and is told in its version."""
    config = written(tmp_path, "/dev/x", broker=broker.url, mqtt=f"protocol = {protocol}")
    found = list(judge_brokers(ask_brokers(site(config))))
    assert [] == troubles(found)
    assert "MQTT 5," if protocol == 5 else "MQTT 3.1.1," in found[0].text


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    """Nobody at the port, and a name that nobody has, are told as that; of several brokers each is looked at."""
    config = written(tmp_path, "/dev/x", broker=f"mqtt://127.0.0.1:{free_port()},mqtt://broker.invalid")
    refused, unknown = broker_troubles(config)
    assert "connection refused" in refused.text
    assert "start the broker" in refused.remedy
    assert "unknown host name" in unknown.text


@pytest.mark.fault(91)
def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    """A server that says nothing is told as that; the bound is that of the daemon's own attempt."""
    with proxy_to(0) as mute:
        looked = site(written(tmp_path, "/dev/x", broker=f"mqtts://127.0.0.1:{mute.port}"))
        finding = only(judge_brokers(ask_brokers(looked, bound_s=0.2)))
    assert "no answer in time" in finding.text
    assert "firewalls" in finding.remedy


@pytest.mark.fault(91)
@pytest.mark.parametrize("fault", ["expired", "wrong name", "unknown CA"])
def test_a_certificate_that_is_not_good(tmp_path: Path, start_broker: StartBroker, fault: str) -> None:
    """An expired certificate, one for another name and one of an unknown authority have a remedy each."""
    trusted, other = Authority(tmp_path, "trusted"), Authority(tmp_path, "other")
    certificate = {
        "expired": trusted.issue("a", life=dt.timedelta(days=-1)),
        "wrong name": trusted.issue("b", hosts=("broker.example",)),
        "unknown CA": other.issue("c"),
    }[fault]
    broker = start_broker(tls=certificate)
    (finding,) = broker_troubles(written(tmp_path, "/dev/x", broker=broker.url, mqtt='ca_file = "trusted.crt"'))
    assert "certificate" == finding.check
    assert fault.split(maxsplit=1)[0] in finding.text
    assert {"expired": "renew", "wrong name": "name the broker", "unknown CA": "ca_file"}[fault] in finding.remedy


@pytest.mark.fault(91)
def test_a_certificate_that_ends_soon(tmp_path: Path, start_broker: StartBroker) -> None:
    """A certificate that ends within two weeks is spoken of with its day, before it ends."""
    authority = Authority(tmp_path)
    broker = start_broker(tls=authority.issue("a", life=dt.timedelta(days=30)))
    config = written(tmp_path, "/dev/x", broker=broker.url, mqtt='ca_file = "test-ca.crt"')
    today = dt.datetime.now(dt.UTC)
    assert [] == broker_troubles(config, today.timestamp())
    (finding,) = broker_troubles(config, today.timestamp() + 30 * 24 * 3600 - SOON_S + 60)
    assert str((today + dt.timedelta(days=30)).date()) in finding.text


def test_a_broker_that_wants_a_certificate_of_ours(tmp_path: Path, start_broker: StartBroker) -> None:
    """Where the broker hangs up for want of a client certificate, the remedy names the key to set."""
    authority = Authority(tmp_path)
    broker = start_broker(tls=authority.issue("server"), client_authority=authority.cert)
    (finding,) = broker_troubles(written(tmp_path, "/dev/x", broker=broker.url, mqtt='ca_file = "test-ca.crt"'))
    assert "mqtt.cert_file" in finding.remedy


def test_a_port_that_speaks_no_tls(tmp_path: Path, broker: Mosquitto) -> None:
    """mqtts:// at a port without TLS is told with the way out."""
    (finding,) = broker_troubles(written(tmp_path, "/dev/x", broker=f"mqtts://127.0.0.1:{broker.port}"))
    assert "mqtt.url" in finding.remedy


@pytest.mark.fault(95)
@pytest.mark.parametrize("protocol", [5, 4])
def test_a_password_that_is_wrong(tmp_path: Path, start_broker: StartBroker, protocol: int) -> None:
    """A refused CONNACK is no login, in both versions, and the user is named; with the right password all is well."""
    broker = start_broker(passwords={"tp-01": "right"})
    (tmp_path / "password").write_text("wrong\n")
    mqtt = f'protocol = {protocol}\nusername = "tp-01"\npassword_file = "password"'
    config = written(tmp_path, "/dev/x", broker=broker.url, mqtt=mqtt)
    (finding,) = broker_troubles(config)
    assert "login" == finding.check
    assert "refuses user tp-01: not authorized" in finding.text
    assert "password" in finding.remedy
    (tmp_path / "password").write_text("right\n")
    assert [] == broker_troubles(config)


@pytest.mark.fault(87)
@pytest.mark.parametrize("protocol", [5, 4])
def test_each_topic_that_is_denied(tmp_path: Path, start_broker: StartBroker, protocol: int) -> None:
    """Each topic on which the broker drops what we say is a finding, in both versions, with the right to give."""
    denied = [f"{PREFIX}/event/card_accepted", f"{PREFIX}/status"]
    broker = start_broker(acl="topic readwrite #\n" + "".join(f"topic deny {topic}\n" for topic in denied))
    found = broker_troubles(written(tmp_path, "/dev/x", broker=broker.url, mqtt=f"protocol = {protocol}"))
    assert [f"{broker.url[7:]}: may not say {topic}: not authorized" for topic in denied] == [one.text for one in found]
    assert all(f"write {topic}" in one.remedy for topic, one in zip(denied, found, strict=True))


def test_a_broker_with_a_low_limit(tmp_path: Path, start_broker: StartBroker) -> None:
    """A broker that would not take a long event is told, with the settings to raise."""
    broker = start_broker(config=["message_size_limit 1000"])
    (finding,) = broker_troubles(written(tmp_path, "/dev/x", broker=broker.url))
    assert f"{LARGEST_EVENT} bytes" in finding.text
    assert "message_size_limit" in finding.remedy


HERE = Broker("10.0.0.5:1883", proof=Proof())


@pytest.mark.parametrize(
    ("facts", "level", "words", "remedy"),
    [
        (replace(HERE, proof=Proof("no MQTT 5")), "warn", "can't be proved: no MQTT 5", "alarm `denied`"),
        (replace(HERE, proof=Proof("hung up", passing=True)), "warn", "can't be proved: hung up", "try again"),
        (replace(HERE, proof=None), "warn", "not asked", "try again"),
        (replace(HERE, open_text=True), "warn", "clear text", "mqtts://"),
        (replace(HERE, refused=(("a/+", "not authorized"),)), "fail", "may not hear a/+", "read a/+"),
        (replace(HERE, failure=Failure("network", "something new")), "fail", "something new", "the broker's log"),
        (replace(HERE, refusal="unsupported protocol version"), "fail", "without a name", "mqtt.protocol"),
    ],
)
def test_a_broker_in_trouble(facts: Broker, level: str, words: str, remedy: str) -> None:
    """What only some brokers do is one finding each."""
    finding = only(judge_brokers((facts,)))
    assert level == finding.level
    assert words in finding.text
    assert remedy in finding.remedy


def test_a_password_over_the_network_without_tls(tmp_path: Path) -> None:
    """A password that would leave this machine in clear text is noticed; on the loopback interface it does not."""
    (tmp_path / "password").write_text("x")
    mqtt = 'username = "tp-01"\npassword_file = "password"'
    urls = f"mqtt://127.0.0.1:{free_port()},mqtt://broker.invalid,mqtts://broker.invalid"
    asked = ask_brokers(site(written(tmp_path, "/dev/x", broker=urls, mqtt=mqtt)))
    assert [False, True, False] == [one.open_text for one in asked]


# --- state and journal ------------------------------------------------------------------------------------------


def test_a_state_directory_that_is_well(tmp_path: Path) -> None:
    """A directory of ours has rights, room and a measured sync, and nothing stays behind in it."""
    looked = site(written(tmp_path, "/dev/x"))
    assert [] == troubles(judge_storage(look_at_storage(looked)))
    (tmp_path / "state").mkdir(mode=0o750)
    facts = look_at_storage(looked)
    assert (True, True, 0o750, (), True) == (facts.exists, facts.usable, facts.mode, facts.foreign, facts.inodes)
    assert facts.free > 0
    assert facts.sync_ms is not None
    assert [] == list((tmp_path / "state").iterdir())


def test_a_file_in_the_place_of_the_state_directory(tmp_path: Path) -> None:
    """A file where the directory should be is told as that."""
    (tmp_path / "state").write_text("")
    finding = only(judge_storage(look_at_storage(site(written(tmp_path, "/dev/x")))))
    assert "is no directory" in finding.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_journal_that_root_has_left_behind(tmp_path: Path) -> None:
    """Files of another user than the directory's keep the daemon from starting, and are named."""
    (tmp_path / "state").mkdir(mode=0o750)
    (tmp_path / "state/journal.db").write_text("")
    os.chown(tmp_path / "state", 65534, 65534)
    found = troubles(judge_storage(look_at_storage(site(written(tmp_path, "/dev/x")))))
    assert ["state_dir"] == [one.check for one in found if one.level == "fail"]
    assert "journal.db belong to another user" in found[0].text
    assert "chown" in found[0].remedy


STATE = Storage(Path("/s"), owner="nobody", sync_ms=0.5)


@pytest.mark.parametrize(
    ("facts", "check", "level", "words"),
    [
        (replace(STATE, exists=False, creatable=False), "state_dir", "fail", "may not make it"),
        (replace(STATE, usable=False), "state_dir", "fail", "belongs to nobody"),
        (replace(STATE, mode=0o755), "state_dir", "warn", "mode 0755"),
        (replace(STATE, kind="nfs4"), "disk", "fail", "nfs4"),
        (replace(STATE, kind="tmpfs"), "disk", "warn", "in memory"),
        (replace(STATE, free=SCARCE - 1), "disk", "fail", "64 MiB free"),
        (replace(STATE, free=LOW - 1), "disk", "warn", "1024 MiB free"),
        (replace(STATE, inodes=False), "disk", "fail", "no free inodes"),
        (replace(STATE, sync_ms=None), "sync", "warn", "could not be measured"),
        (replace(STATE, sync_ms=SLOW_MS), "sync", "warn", "20.00 ms"),
        (replace(STATE, sync_ms=MUCH_TOO_SLOW_MS), "sync", "fail", "200.00 ms"),
    ],
)
def test_a_state_directory_in_trouble(facts: Storage, check: str, level: str, words: str) -> None:
    """Each trouble of the directory and its disk is one finding."""
    finding = only(judge_storage(facts))
    assert (check, level) == (finding.check, finding.level)
    assert words in finding.text


def test_the_file_system_is_that_of_the_longest_mount() -> None:
    """Of nested mounts the innermost counts, and one whose name only begins alike does not."""
    mounts = (
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /srv rw shared:1 - nfs4 server:/srv rw\n"
        "31 30 0:41 / /srv/tables rw - tmpfs tmpfs rw\n"
    )
    expected = ["tmpfs", "nfs4", "nfs4", "ext4"]
    assert expected == [file_system(Path(path), mounts) for path in ("/srv/tables/a", "/srv/tab", "/srv", "/var")]
    assert "" == file_system(Path("/a"), "")


def test_a_sound_journal_is_counted(tmp_path: Path) -> None:
    """A journal that the daemon could start from is well, and what waits for the broker is counted."""
    looked = site(written(tmp_path, "/dev/x"))
    assert look_at_journal(looked).missing
    Journal.open(tmp_path / "state", "tp-01", create=True).close()
    assert [] == troubles(judge_journal(look_at_journal(looked)))
    (told,) = judge_journal(JournalFacts(Path("/s/journal.db"), head=10, waiting=3))
    assert "10 events, 3 of them not yet at the broker" in told.text


def test_a_damaged_journal(tmp_path: Path) -> None:
    """A journal that is not what was written is a finding, and is never touched."""
    Journal.open(tmp_path / "state", "tp-01", create=True).close()
    file = tmp_path / "state/journal.db"
    file.write_bytes(b"not a database")
    finding = only(judge_journal(look_at_journal(site(written(tmp_path, "/dev/x")))))
    assert "damaged" in finding.text
    assert "scannerd journal verify" in finding.remedy
    assert b"not a database" == file.read_bytes()


def test_the_journal_of_another_table(tmp_path: Path) -> None:
    """A journal of another table is told with both names."""
    Journal.open(tmp_path / "state", "tp-02", create=True).close()
    finding = only(judge_journal(look_at_journal(site(written(tmp_path, "/dev/x")))))
    assert "'tp-02', not of 'tp-01'" in finding.text
    assert "table.id" in finding.remedy


def test_the_journal_of_another_version(tmp_path: Path) -> None:
    """A journal of an older version is well, and what the next start does to it is told; a newer one is a finding."""
    Journal.open(tmp_path / "state", "tp-01", create=True).close()
    told = [finding.text for finding in judge_journal(JournalFacts(Path("/s/journal.db"), schema=VERSION - 1))]
    assert f"the next start backs it up and brings it to {VERSION}" in told[1]
    harm(tmp_path / "state/journal.db", f"PRAGMA user_version = {VERSION + 1}")
    finding = only(judge_journal(look_at_journal(site(written(tmp_path, "/dev/x")))))
    assert "written by a newer scannerd" in finding.text
    assert "install the newer version" in finding.remedy


# --- the machine ------------------------------------------------------------------------------------------------


def test_a_port_of_the_pages_that_is_taken(tmp_path: Path) -> None:
    """An address on which another listens is a finding, until it is free again."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config = written(tmp_path, "/dev/x", listen=f"127.0.0.1:{port}")
        finding = only(judge_machine(look_at_machine(site(config))))
    assert "address already in use" in finding.text
    assert f":{port}" in finding.remedy
    assert [] == troubles(judge_machine(look_at_machine(site(config))))


def test_a_running_daemons_pages_are_asked_whose_they_are(tmp_path: Path) -> None:
    """Beside a running daemon its own pages must answer at the address: not another table's, and not nobody."""
    with showing(tmp_path / "table") as show:
        listen = f"127.0.0.1:{show.port}"
        ours = site(written(tmp_path, "/dev/x", listen=listen), daemon=812)
        assert [] == troubles(judge_machine(look_at_machine(ours)))
        facts = replace(look_at_machine(ours), table="tp-02")
    finding = only(judge_machine(facts))
    assert f"at {listen} table tp-01's pages answer" in finding.text
    assert f":{show.port}" in finding.remedy
    assert "no pages of the daemon's answer" in only(judge_machine(look_at_machine(ours))).text


@pytest.mark.parametrize("host", ["192.0.2.1", "host.invalid"])
def test_an_address_that_is_not_ours(tmp_path: Path, host: str) -> None:
    """An address, or a name, that this machine does not have can't be listened on."""
    config = written(tmp_path, "/dev/x", listen=f"{host}:8470")
    config.write_text(f"{config.read_text()}behind_proxy = true\n")
    finding = only(judge_machine(look_at_machine(site(config))))
    assert "an address of this machine" in finding.remedy


def test_libusb_is_looked_for_where_it_may_be_needed(tmp_path: Path) -> None:
    """A scanner named by USB ids on a machine without libusb is a finding; without such a scanner it is not."""
    for url, missing in (("usb:0c2e:0b01", True), ("/dev/hidraw0", False)):
        looked = site(written(tmp_path, url, driver="hid-pos"))
        found = [one for one in judge_machine(look_at_machine(looked, lambda _: None)) if one.level == "fail"]
        assert missing is any("libusb-1.0-0" in one.remedy for one in found)


def test_a_secret_that_everybody_may_read(tmp_path: Path) -> None:
    """A password file that others may read is spoken of."""
    (tmp_path / "password").write_text("x")
    config = written(tmp_path, "/dev/x", mqtt='username = "tp-01"\npassword_file = "password"')
    for mode, spoken in ((0o644, True), (0o640, False)):
        (tmp_path / "password").chmod(mode)
        found = troubles(judge_machine(look_at_machine(site(config))))
        assert spoken is any("password can be read by everybody" in one.text for one in found)


@pytest.mark.parametrize(
    ("facts", "level", "words", "remedy"),
    [
        (Machine(synchronised=False), "warn", "not synchronised", "set-ntp"),
        (Machine(synchronised=None), "warn", "nobody knows", "set-ntp"),
        (Machine(listen="a:80", lacking=("uvicorn",)), "fail", "uvicorn", "scannerd[display]"),
        (Machine(listen="a:80", taken=errno.EACCES), "fail", "permission denied", "1024"),
        (Machine(by_libusb=("pos",), libusb=False), "fail", "libusb", "apt install"),
    ],
)
def test_a_machine_in_trouble(facts: Machine, level: str, words: str, remedy: str) -> None:
    """Each trouble of the machine is one finding."""
    finding = only(judge_machine(facts))
    assert level == finding.level
    assert words in finding.text
    assert remedy in finding.remedy


def test_a_machine_that_is_well() -> None:
    """A machine with everything that is needed has nothing but good to be said of it."""
    facts = Machine(
        daemon=7, listen="127.0.0.1:8470", table="tp-01", there="tp-01", by_libusb=("pos",), python="3.11.7"
    )
    assert {"ok"} == {finding.level for finding in judge_machine(facts)}
