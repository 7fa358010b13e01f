"""`scannerd watch` as a command line: what it takes, and what it writes where there is no terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.daemon import Daemon, StartDaemon, Watcher, start_daemon_fixture  # noqa: F401 - pytest finds it by name
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    broker_fixture,
    free_port,
    start_broker_fixture,
)


def written(capsys: pytest.CaptureFixture[str]) -> str:
    """What is on stdout; nothing is on stderr."""
    out, err = capsys.readouterr()
    assert "" == err
    return out


def test_view_is_written_once_where_there_is_no_terminal(
    broker: Mosquitto, start_daemon: StartDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into a pipe the table is written once as it is, in the language that is asked for; that ends with 0."""
    daemon = start_daemon(broker.url)
    with Watcher(broker.port) as watcher:
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
    assert Exit.WELL == run(["watch", "-c", str(daemon.config), "--language", "pt", "--timeout", "15"])
    assert "Leitores:  shoe ligado" in written(capsys)
    assert Exit.WELL == run(["watch", "--mqtt", broker.url, "--table", "tp-01", "--timeout", "15"])
    assert "Scanners:  shoe connected" in written(capsys)


def test_table_that_does_not_answer_ends_with_one(broker: Mosquitto, capsys: pytest.CaptureFixture[str]) -> None:
    """A table that says nothing in time is told as such, and the command ends with 1."""
    assert Exit.DIFFERENCE == run(["watch", "--once", "--mqtt", broker.url, "--table", "tp-02", "--timeout", "0.3"])
    assert ">> Waiting for the table" in written(capsys)
    away = f"mqtt://127.0.0.1:{free_port()}"
    assert Exit.DIFFERENCE == run(["watch", "--once", "--mqtt", away, "--table", "tp-02", "--timeout", "0.3"])
    assert ">> No connection" in written(capsys)


def test_pages_that_are_away_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a configuration whose daemon does not run, the view says so and ends with 1."""
    daemon = Daemon(tmp_path, "mqtt://127.0.0.1:1")
    told = daemon.config.read_text(encoding="utf-8").replace('listen = ""', f'listen = "0.0.0.0:{free_port()}"')
    daemon.config.write_text(f"{told}behind_proxy = true\n", encoding="utf-8")
    assert Exit.DIFFERENCE == run(["watch", "--once", "-c", str(daemon.config), "--timeout", "0.3"])
    assert ">> No connection" in written(capsys)
    daemon.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a table: its configuration with -c, or --mqtt URL and --table ID"),
        (["--table", "tp-01"], "--table goes with --mqtt, which says where the broker is"),
        (["--mqtt", "mqtt://h", "--table", "t", "--table", "t"], "a table is named twice"),
        (["--mqtt", "http://h", "--table", "t"], "a broker's url is mqtt://host[:port] or mqtts://host[:port]"),
        (["--mqtt", "mqtt://h"], "name a table: its configuration with -c, or --mqtt URL and --table ID"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    """A command line that can't be used ends with 2 and one line that says what is wrong."""
    assert Exit.USAGE == run(["watch", *arguments])
    out, err = capsys.readouterr()
    assert ("", f"scannerd: {told}\n") == (out, err)
