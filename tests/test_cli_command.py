"""`scannerd command`: what is sent, what is printed, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    StartBroker,
    broker_fixture,
    free_port,
    start_broker_fixture,
)
from tests.table_daemon import Daemon
from tests.wire import Subscriber

PREFIX = "scannerd/v1/tp-01"


@pytest.fixture(name="daemon")
def daemon_fixture(broker: Mosquitto, tmp_path: Path) -> Iterator[Daemon]:
    """A running daemon of table tp-01."""
    daemon = Daemon(tmp_path, broker.url)
    daemon.start()
    yield daemon
    daemon.stop()


def at(broker: Mosquitto) -> list[str]:
    """The options that lead to the table."""
    return ["--url", broker.url, "--table", "tp-01"]


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The reply on stdout, which must be one line; nothing is on stderr."""
    out, err = capsys.readouterr()
    assert ("", 1) == (err, out.count("\n"))
    reply = json.loads(out)
    assert isinstance(reply, dict)
    return reply


@pytest.mark.parametrize("protocol", ["5", "4"])
def test_command_is_carried_out_and_its_reply_printed(
    broker: Mosquitto, daemon: Daemon, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    """A command that is carried out ends with 0 and prints the reply with the seq of its event."""
    del daemon
    with Subscriber(broker.port, f"{PREFIX}/event/#") as watch:
        arguments = ["open", "round=r-1", "--by", "ana", "--id", "c-1", "--timeout", "15", "--protocol", protocol]
        assert Exit.WELL == run(["command", *arguments, *at(broker)])
        reply = printed(capsys)
        opened = watch.wait_until(lambda message: message.topic.endswith("round_opened")).json()
    assert {"id": "c-1", "ok": True, "seq": opened["seq"]} == reply
    assert ("r-1", "ana") == (opened["round"], opened["data"]["by"] if isinstance(opened["data"], dict) else None)


def test_refusal_ends_with_one(broker: Mosquitto, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that is refused ends with 1 and prints the reply, which says why."""
    del daemon
    assert Exit.DIFFERENCE == run(["command", "hold", *at(broker), "--timeout", "15"])
    reply = printed(capsys)
    assert (False, "not_dealing") == (reply["ok"], reply["error"])


def test_numbers_are_sent_as_numbers(broker: Mosquitto, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """`from` and `to` are sent as numbers, so that events come again; the configuration says where to."""
    with Subscriber(broker.port, f"{PREFIX}/resend") as watch:
        arguments = ["resend", "from=1", "to=1", "-c", str(daemon.config), "--timeout", "15"]
        assert Exit.WELL == run(["command", *arguments])
        assert "daemon_started" == watch.wait_for(1)[0].json()["type"]
    assert printed(capsys)["ok"]


def test_user_and_password_are_shown_to_the_broker(
    start_broker: StartBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user and the password from a file open a broker that wants them; a wrong one is told as such."""
    broker = start_broker(passwords={"ana": "secret"})
    told = []
    for password in ("secret", "wrong"):
        file = tmp_path / password
        file.write_text(f"{password}\n", encoding="utf-8")
        options = ["--username", "ana", "--password-file", str(file), "--timeout", "1"]
        assert Exit.USAGE == run(["command", "hold", *at(broker), *options])
        told.append(capsys.readouterr().err)
    assert "no reply from scannerd/v1/tp-01 to hold" in told[0]
    assert "refused: Not authorized" in told[1]


def test_broker_that_is_away_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a broker the command ends with 2 and one line that names it."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    assert Exit.USAGE == run(["command", "hold", "--url", url, "--table", "tp-01", "--timeout", "0.3"])
    assert f"scannerd: no broker at {url}: connection refused\n" == capsys.readouterr().err


def test_daemon_that_is_away_is_one_line(broker: Mosquitto, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a daemon the command ends with 2 and one line with the id to repeat."""
    assert Exit.USAGE == run(["command", "hold", *at(broker), "--id", "c-1", "--timeout", "0.5"])
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert "repeat it with id c-1" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hold"], "name the table with --table, or its configuration with -c"),
        (["rescan", "A1", "--table", "t"], "'A1' is no KEY=VALUE, such as slot=A1"),
        (["rescan", "=A1", "--table", "t"], "'=A1' is no KEY=VALUE, such as slot=A1"),
        (["rescan", "slot=A1", "slot=A2", "--table", "t"], "slot is there twice"),
        (["resend", "from=one", "--table", "t"], "from is the number of an event, not 'one'"),
        (["hold", "--table", "t", "--url", "http://h"], "a broker's url is mqtt://host[:port] or mqtts://host[:port]"),
        (["hold", "--table", "t", "--timeout", "0"], "Invalid value for '--timeout'"),
        ([], "Missing argument 'NAME'"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    """A command line that can't be used ends with 2 and one line that says what is wrong."""
    assert Exit.USAGE == run(["command", *arguments])
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert err.startswith(f"scannerd: {told}")


def test_name_that_is_no_topic_is_refused(broker: Mosquitto, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that would be another topic ends with 2; nothing is sent."""
    assert Exit.USAGE == run(["command", "open/#", *at(broker)])
    assert "can't be a command" in capsys.readouterr().err


def test_password_file_that_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A password file that can't be read ends with 2 and names it."""
    file = tmp_path / "password"
    file.write_bytes(b"\xff")
    assert Exit.USAGE == run(["command", "hold", "--table", "tp-01", "--password-file", str(file)])
    assert f"scannerd: {file}: can't be read" in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """The help shows every command with its fields, and examples."""
    assert Exit.WELL == run(["command", "--help"])
    shown = capsys.readouterr().out
    assert "enter    slot=SLOT card=CARD" in shown
    assert "scannerd command open --table tp-01 round=r-9" in shown
