"""The rights that come with scannerd, in a real mosquitto that runs from the example configuration as it stands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scannerd.commands import SHELL_COMMANDS
from scannerd.core.commands import COMMANDS as CORE_COMMANDS
from scannerd.mqtt.address import parse
from scannerd.mqtt.notices import BrokerSettings
from scannerd.mqtt.prover import NoAnswerError, Session
from scannerd.publisher import BrokerAlarm, Reply, published_topics
from tests.certificates import Authority
from tests.mosquitto import Mosquitto, free_port
from tests.publishing import (
    ONLINE,
    Desks,
    desks_fixture,  # noqa: F401 - pytest finds it by name
)
from tests.wire import Subscriber

FOLDER = Path(__file__).parent.parent / "config/mosquitto"
PREFIX = "scannerd/v1/tp-01"
COMMANDS = (*CORE_COMMANDS, *(name for name in SHELL_COMMANDS if name not in CORE_COMMANDS))
ROLES = ("tp-01", "tp-01-engine", "tp-01-supervisor", "tp-01-display", "monitor")

COMMAND_RIGHTS = {
    "tp-01": set[str](),
    "tp-01-engine": {"open", "hold", "resend", "snapshot"},
    "tp-01-supervisor": {"void", "hold", "release", "rescan", "enter", "resend", "snapshot", "self_check"},
    "tp-01-display": set[str](),
    "monitor": set[str](),
}
RESULT = f"{PREFIX}/result"
OWN_TOPICS = {*published_topics(PREFIX), f"{PREFIX}/reply/engine-7", f"{PREFIX}/self_test"}
TOPICS = (
    *sorted(OWN_TOPICS),
    RESULT,
    *(f"{PREFIX}/command/{name}" for name in COMMANDS),
    f"{PREFIX}/event/card_accepted/x",
    f"{PREFIX}/anything",
    "scannerd/v1/tp-02/event/card_accepted",
    "scannerd/v1/tp-02/command/void",
    "elsewhere",
)
SHOWN = {f"{PREFIX}/{topic}" for topic in ("round", "prompt", "status", "result")}
EVENTS = {topic for topic in TOPICS if topic.startswith(f"{PREFIX}/event/") and topic.count("/") == 4}
HEARD = {
    "tp-01": EVENTS
    | {f"{PREFIX}/{topic}" for topic in ("resend", "status", "self_test")}
    | {f"{PREFIX}/command/{name}" for name in COMMANDS},
    "tp-01-engine": EVENTS | SHOWN | {f"{PREFIX}/{topic}" for topic in ("resend", "reply", "reply/engine-7")},
    "tp-01-supervisor": EVENTS | SHOWN | {f"{PREFIX}/{topic}" for topic in ("resend", "reply", "reply/engine-7")},
    "tp-01-display": SHOWN,
    "monitor": EVENTS | SHOWN | {"scannerd/v1/tp-02/event/card_accepted"},
}


@dataclass(frozen=True, slots=True)
class House:
    """A broker that was set up by the README, and what it takes to enter it."""

    broker: Mosquitto
    local_port: int
    folder: Path
    ca: Path

    def password(self, user: str) -> str:
        """The password that the recipe made for `user`."""
        return (self.folder / f"etc/scannerd/{user}.password").read_text().strip()

    def settings(self, user: str) -> BrokerSettings:
        """How `user` comes in."""
        password = "tester" if user == "tester" else self.password(user)
        return BrokerSettings(
            (self.broker.url,), "scannerd", "tp-01", user, username=user, password=password, ca_file=self.ca
        )

    def subscriber(self, user: str, *topics: str) -> Subscriber:
        """A client of `user` on this machine."""
        password = self.settings(user).password
        return Subscriber(self.local_port, *topics, username=user, password=password)

    def session(self, user: str) -> Session:
        """A connection of `user`."""
        return Session(self.settings(user), parse(self.broker.url), "test")


@pytest.fixture(name="house", scope="module")
def house_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The example, the recipe and the rights, with one user more, who may do everything, to be heard by the others."""
    folder = tmp_path_factory.mktemp("house")
    etc = folder / "etc/mosquitto"
    (etc / "certs").mkdir(parents=True)
    run_recipe(folder)
    add = ["mosquitto_passwd", "-b", str(etc / "scannerd.passwd"), "tester", "tester"]
    subprocess.run(add, check=True, capture_output=True)
    (etc / "scannerd.acl").write_text(f"{(FOLDER / 'scannerd.acl').read_text()}\nuser tester\ntopic readwrite #\n")
    (etc / "scannerd.acl").chmod(0o600)
    authority = Authority(folder)
    broker = Mosquitto(folder, port=free_port(), tls=authority.issue("broker"))
    for suffix in ("crt", "key"):
        (folder / f"broker.{suffix}").rename(etc / f"certs/broker.{suffix}")
    local_port = free_port()
    (folder / "mosquitto.conf").write_text(example(folder, broker.port, local_port))
    broker.start()
    yield House(broker, local_port, folder, authority.cert)
    broker.stop()


def example(folder: Path, port: int, local_port: int) -> str:
    """The example configuration with a test's folders and ports in place of the real ones."""
    text = (FOLDER / "mosquitto.conf.example").read_text()
    for old, new in (
        ("/etc/mosquitto/", f"{folder}/etc/mosquitto/"),
        ("/var/lib/mosquitto/", f"{folder}/"),
        ("listener 8883", f"listener {port} 127.0.0.1"),
        ("# listener 1883 127.0.0.1", f"listener {local_port} 127.0.0.1"),
        ("log_dest syslog", "log_dest stderr"),
    ):
        assert old in text
        text = text.replace(old, new)
    return f"{text}log_type all\n" + ("user root\n" if os.geteuid() == 0 else "")


def run_recipe(folder: Path) -> None:
    """Runs the README's first block of commands with a test's folder in place of /etc."""
    block = (FOLDER / "README.md").read_text().partition("```sh\n")[2].partition("```")[0]
    assert "mosquitto_passwd" in block
    script = block.replace("/etc/", f"{folder}/etc/")
    subprocess.run(["/bin/sh", "-e", "-c", script], check=True, capture_output=True)


def may_write(house: House, user: str) -> set[str]:
    """Those of all topics on which the broker would take a message of `user`."""
    allowed = set[str]()
    asked = list(TOPICS)
    while asked:
        with house.session(user) as session:
            part, asked = asked[: session.room], asked[session.room :]
            codes = session.would_take([(topic, 1) for topic in part])
        allowed |= {topic for topic, code in zip(part, codes, strict=True) if code < 0x80}
    return allowed


@pytest.mark.parametrize("user", ROLES)
def test_each_user_says_what_is_his_and_nothing_else(house: House, user: str) -> None:
    """Only the daemon speaks for its table; each command may be given by those whose business it is."""
    own = {"tp-01": OWN_TOPICS, "tp-01-engine": {RESULT}}.get(user, set())
    assert own | {f"{PREFIX}/command/{name}" for name in COMMAND_RIGHTS[user]} == may_write(house, user)


@pytest.mark.parametrize("user", ROLES)
def test_each_user_hears_what_is_his_and_nothing_else(house: House, user: str) -> None:
    """Of messages on all topics each user gets those that are for him, and nobody commands but the daemon."""
    with house.subscriber(user, "#") as listener, house.subscriber("tester") as tester:
        for topic in TOPICS:
            tester.publish(topic, b"something")
        tester.publish(f"{PREFIX}/status", b"end")
        listener.wait_until(lambda message: message.payload == b"end")
        assert HEARD[user] == {message.topic for message in listener.messages}


def test_every_command_has_somebody_who_may_give_it() -> None:
    """No command of the contract is out of everybody's reach."""
    assert set(COMMANDS) == set().union(*COMMAND_RIGHTS.values())


@pytest.mark.parametrize(("user", "password"), [("tp-01", "wrong"), ("nobody", "x"), (None, None)])
def test_nobody_enters_without_a_password(house: House, user: str | None, password: str | None) -> None:
    """A wrong password, an unknown name and no name at all are refused."""
    settings = replace(house.settings("tp-01"), username=user, password=password)
    with Session(settings, parse(house.broker.url), "test") as session:
        assert "not authorized" == session.connack.refusal


def test_nobody_enters_without_tls(house: House) -> None:
    """The port speaks TLS and nothing else."""
    with pytest.raises(NoAnswerError):
        Session(house.settings("tp-01"), parse(f"mqtt://localhost:{house.broker.port}"), "test", bound_s=3)


@pytest.mark.parametrize("protocol", [5, 4])
def test_a_table_needs_no_more_rights_than_these(house: House, desks: Desks, protocol: int) -> None:
    """With these rights a publisher says everything that a table has to say, in both versions of MQTT."""
    settings = house.settings("tp-01")
    desk = desks(
        house.broker.url,
        protocol=protocol,
        username=settings.username,
        password=settings.password,
        ca_file=settings.ca_file,
    )
    for topic in ("round", "prompt", "status"):
        desk.publisher.show(topic, ONLINE)
    desk.publisher.answer(Reply(b"{}"))
    desk.write(*(topic.rpartition("/")[2] for topic in sorted(EVENTS)))
    desk.acknowledged()
    assert not [notice for notice in desk.inbox.of(BrokerAlarm) if notice.alarm == "denied"]


def test_passwords_are_for_their_owners_alone(house: House) -> None:
    """The recipe leaves no password readable for others, and none in clear text in the broker's file."""
    for file in [*(house.folder / "etc/scannerd").iterdir(), house.folder / "etc/mosquitto/scannerd.passwd"]:
        assert 0o600 == file.stat().st_mode & 0o777
    hashed = (house.folder / "etc/mosquitto/scannerd.passwd").read_text()
    assert [] == [user for user in ROLES if house.password(user) in hashed]
