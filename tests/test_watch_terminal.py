"""`scannerd watch` in a real terminal, beside a real daemon and a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon import Daemon, StartDaemon, Watcher, start_daemon_fixture  # noqa: F401 - pytest finds it by name
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    broker_fixture,
    free_port,
    start_broker_fixture,
)
from tests.showing import PIN, PIN_LINE
from tests.terminals import TMUX, Terminal, terminal

pytestmark = pytest.mark.skipif(not TMUX, reason="tmux is not installed: apt-get install tmux")


def with_pages(daemon: Daemon) -> Daemon:
    """Starts a daemon with its pages on, and a PIN."""
    pin = daemon.folder / "pin"
    pin.write_text(PIN_LINE, encoding="ascii")
    told = daemon.config.read_text(encoding="utf-8")
    pages = f'listen = "127.0.0.1:{free_port()}"\npin_file = "{pin}"'
    daemon.config.write_text(told.replace('listen = ""', pages), encoding="utf-8")
    daemon.start()
    return daemon


def reds(shown: Terminal) -> int:
    """How many places of the screen are red."""
    return shown.screen(raw=True).count("[31m") + shown.screen(raw=True).count(";31m")


def test_table_is_watched_and_held_through_its_pages(
    broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """A supervisor at a terminal sees each card come, holds with the PIN, and sees the hold with the name it has."""
    daemon = with_pages(start_daemon(broker.url, start=False))
    with terminal(tmp_path, "watch", "-c", str(daemon.config), NO_COLOR="1") as shown:
        shown.wait_for("No round", "shoe connected")
        daemon.send("AS")
        screen = shown.wait_for(">> Deal the next card: B1", "A1[ A♠ ]", ">B1[ ?? ]<", "Accepted  A1  AS  shoe")
        assert "h Hold" in screen
        shown.keys("h")
        shown.wait_for("Your name:")
        shown.type("Ana")
        shown.wait_for("PIN:")
        shown.type("000000")
        shown.wait_for("Wrong PIN. Tries left: 4.")
        shown.keys("h")
        shown.wait_for("Your name:")
        shown.type("Ana")
        shown.wait_for("PIN:")
        shown.type(PIN)
        assert PIN not in shown.wait_for("Reason:")
        shown.type("card on the floor")
        shown.wait_for(">> Call the supervisor: card on the floor", "Held  card on the floor  Ana", "r Release")
        assert 0 == reds(shown)
        shown.keys("r")
        shown.wait_for(">> Deal the next card: B1", "Done: Release")
        shown.keys("q")
        shown.wait_for("ended 0")
    held = [record for record in daemon.records() if record.type == "round_held"]
    assert [True] == [b'"by":"Ana"' in record.body for record in held]


def test_terminal_without_the_languages_letters_is_told_in_plain_ones(
    broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """Over ssh with the locale `C` a card still has its suit and a Ukrainian view is in English, with no odd byte."""
    daemon = with_pages(start_daemon(broker.url, start=False))
    where = ["-c", str(daemon.config), "--language", "uk"]
    with terminal(tmp_path, "watch", *where, LC_ALL="C", LANG="C") as shown:
        shown.wait_for("shoe connected")
        daemon.send("AS")
        shown.wait_for("A1[ AS ]", ">> Deal the next card: B1", ">B1[ ?? ]<")
        shown.keys("q")
        shown.wait_for("ended 0")
    (tmp_path / "terminal").rename(tmp_path / "first")
    with terminal(tmp_path, "watch", *where) as shown:
        shown.wait_for("А1[ A♠ ]", ">> Роздайте наступну карту: Б1")  # noqa: RUF001 - Cyrillic letters are meant
        shown.keys("q")
        shown.wait_for("ended 0")


@pytest.mark.parametrize(
    ("term", "told"),
    [("vt100", ">> No connection"), ("dumb", "cursor can't be moved"), ("nonsense", "(TERM=nonsense)")],
)
def test_terminal_that_can_t_be_drawn_on_is_told(tmp_path: Path, term: str, told: str) -> None:
    """An old terminal without colours is enough; one that can't move its cursor, or that nobody knows, is exit 2."""
    where = ["--mqtt", f"mqtt://127.0.0.1:{free_port()}", "--table", "tp-01"]
    with terminal(tmp_path, "watch", *where, TERM=term) as shown:
        shown.wait_for(told)
        if term == "vt100":
            shown.keys("q")
        shown.wait_for("ended 0" if term == "vt100" else "ended 2")


def test_view_lives_without_network_and_follows_the_size(
    broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """With the broker gone the terminal goes on showing cards and says what waits; it fits any size."""
    daemon = with_pages(start_daemon(broker.url, 'start = "auto"\nmin_gap_ms = 0', start=False))
    with terminal(tmp_path, "watch", "-c", str(daemon.config)) as shown:
        shown.wait_for("shoe connected")
        daemon.send("AS")
        shown.wait_for("Deal the next card: B1")
        broker.kill()
        shown.wait_for("network")
        daemon.send("KH")
        shown.wait_for("Deal the next card: A2", "Events waiting for the network")
        assert reds(shown) > 0
        shown.resize(50, 12)
        shown.wait_until(lambda screen: "q Quit" in screen.splitlines()[11])
        shown.resize(120, 40)
        screen = shown.wait_until(lambda screen: len(screen.splitlines()) == 40 and "q Quit" in screen.splitlines()[39])
        assert "Accepted  B1  KH  shoe" in screen
        daemon.kill()
        shown.wait_for("No connection: stop dealing and wait")
        shown.keys("q")
        shown.wait_for("ended 0")


def test_several_tables_are_watched_from_the_broker_alone(
    broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """From the broker alone no PIN is asked, the tab key turns to the next table, and a card can be entered by hand."""
    daemon = start_daemon(broker.url)
    where = ["--mqtt", broker.url, "--table", "tp-02", "--table", "tp-01"]
    with Watcher(broker.port) as watcher, terminal(tmp_path, "watch", *where) as shown:
        shown.wait_for("tp-02", "Waiting for the table", "the broker's rights decide")
        shown.keys("Tab")
        shown.wait_for("shoe connected")
        daemon.send("AS")
        shown.wait_for("Deal the next card: B1")
        shown.keys("e")
        shown.wait_for("Your name:")
        shown.type("Ana")
        shown.wait_for("Slot: B1")
        shown.keys("Enter")
        shown.wait_for("Card:")
        shown.type("10d")
        shown.wait_for("Reason:")
        shown.type("torn code")
        shown.wait_for("Deal the next card: A2", "Entered by hand  B1  TD  torn code  Ana", "tp-01: Done: Enter card")
        entered = watcher.wait_for_event("card_accepted", 2)
        shown.keys("a")
        shown.wait_for("All tables", "1 ! tp-02  No round  Waiting", "tp-01  Dealing  Deal the next card: A2")
        shown.keys("q")
        shown.wait_for("ended 0")
    assert isinstance(entered["data"], dict)
    assert ("B1", "TD", "manual", "Ana") == tuple(entered["data"][key] for key in ("slot", "card", "via", "by"))
