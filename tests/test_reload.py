"""The configuration read anew by a running daemon: what changes, what is refused, and what systemd is told."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from structlog.testing import capture_logs

from scannerd.config import load
from scannerd.config.settings import Config
from scannerd.core.events import ScannerWentDown
from scannerd.core.prompts import prompt
from scannerd.errors import ConfigError
from scannerd.inbox import Reconfigured, ReloadAsked
from scannerd.mqtt.notices import Acknowledged
from scannerd.reload import LIVE, Reloader, differences, merged
from scannerd.standing import StatusLine, standing
from scannerd.systemd import Notifier
from scannerd.texts import texts
from scannerd.upkeep.retention import FIRST
from tests.daemon import Daemon, StartDaemon, Watcher, start_daemon_fixture
from tests.fakes import SECOND, Table
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture
from tests.showing import showing
from tests.test_display import Events
from tests.test_retention import aged, first

__all__ = ["StartBroker", "broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

BOUND_S = 10.0
DAY = 86_400 * SECOND
TEXT = '[table]\nid = "tp-01"\n[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/scannerd/shoe"\n'
SPARE = '[[scanner]]\nname = "spare"\ndriver = "line"\nurl = "/dev/scannerd/spare"\n'


def written(folder: Path, text: str) -> Config:
    """What a file of that text says."""
    path = folder / "tp-01.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ={})


class Bench:
    """A reloader on a real file, with systemd's end of its socket."""

    def __init__(self, folder: Path) -> None:
        """Begins with the least configuration."""
        self.folder = folder
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.settimeout(BOUND_S)
        self.notifier = Notifier({"NOTIFY_SOCKET": str(folder / "notify")})
        self.taken: list[Config] = []
        self.reloader = Reloader(written(folder, TEXT), self.taken.append, self.notifier, lambda: 77, self.read)
        self.entered, self.go_on = Event(), Event()
        self.go_on.set()
        self.reads = 0

    def read(self, path: Path) -> Config:
        """Reads the file, once it may."""
        self.reads += 1
        self.entered.set()
        assert self.go_on.wait(BOUND_S)
        return load(path, environ={})

    def reload(self, text: str) -> list[dict[str, object]]:
        """Has another text read, and returns what the log says of it."""
        (self.folder / "tp-01.toml").write_text(text, encoding="utf-8")
        with capture_logs() as lines:
            self.reloader.ask()
            assert self.reloader.join(BOUND_S)
        return [dict(line) for line in lines]

    def words(self) -> list[bytes]:
        """What systemd was told, up to READY."""
        heard = [self.manager.recv(100)]
        while heard[-1] != b"READY=1":
            heard.append(self.manager.recv(100))
        return heard

    def close(self) -> None:
        """Listens no more."""
        self.notifier.close()
        self.manager.close()


@pytest.fixture(name="bench")
def bench_fixture(tmp_path: Path) -> Iterator[Bench]:
    """A reloader that has read nothing yet."""
    with closing(Bench(tmp_path)) as bench:
        yield bench


def test_what_can_change_changes(bench: Bench) -> None:
    """Language, retention and the reject rate are taken over, with the digest that a restart would give."""
    text = TEXT.replace('id = "tp-01"', 'id = "tp-01"\nlanguage = "pt"')
    text += "[journal]\nkeep_days = 30\n[alarms]\nreject_rate = 10\nreject_window = 100\n"
    (line,) = bench.reload(text)
    assert sorted(LIVE) == sorted(line["changed"])  # type: ignore[call-overload]  # a list, in a log line
    (taken,) = bench.taken
    assert ("pt", 30, 10, 100) == (
        taken.table.language,
        taken.journal.keep_days,
        taken.alarms.reject_rate,
        taken.alarms.reject_window,
    )
    assert load(bench.folder / "tp-01.toml", environ={}).digest == taken.digest


def test_what_waits_for_a_restart_is_named(bench: Bench) -> None:
    """What can't change is left as it was, with a warning that names each key, and the rest is taken over."""
    lines = bench.reload(
        TEXT.replace('"tp-01"', '"tp-01"\nlanguage = "uk"') + "length = 2\n[round]\nbounce_ms = 1\nstall_ms = 2\n"
    )
    assert (["table.language"], ["round.bounce_ms", "round.stall_ms", "scanner shoe"]) == (
        lines[0]["changed"],
        lines[1]["keys"],
    )
    assert ["info", "warning"] == [line["log_level"] for line in lines]
    assert (400, "uk") == (bench.reloader.config.round.bounce_ms, bench.reloader.config.table.language)
    assert load(bench.folder / "tp-01.toml", environ={}).digest != bench.reloader.config.digest


@pytest.mark.parametrize("text", ["[table", TEXT + "[round]\nbounce = 1\n", TEXT + "[round]\nbounce_ms = -1\n"])
def test_broken_file_changes_nothing(bench: Bench, text: str) -> None:
    """A file that can't be used is refused whole, and the log says where it is wrong."""
    (line,) = bench.reload(text)
    assert ("error", []) == (line["log_level"], bench.taken)
    with pytest.raises(ConfigError) as refused:
        load(bench.folder / "tp-01.toml")
    assert refused.value.line == line["error"]
    assert [b"RELOADING=1\nMONOTONIC_USEC=77", b"READY=1"] == bench.words()


def test_any_other_trouble_changes_nothing(bench: Bench) -> None:
    """Whatever goes wrong while the file is read, the daemon goes on as before and systemd hears of the end."""

    def broken(path: Path) -> Config:
        raise MemoryError(path)

    reloader = Reloader(bench.reloader.config, bench.taken.append, bench.notifier, lambda: 77, broken)
    with capture_logs() as lines:
        reloader.ask()
        assert reloader.join(BOUND_S)
    assert ([], ["error"]) == (bench.taken, [line["log_level"] for line in lines])
    assert [b"RELOADING=1\nMONOTONIC_USEC=77", b"READY=1"] == bench.words()


def test_unchanged_file_is_read_and_that_is_all(bench: Bench) -> None:
    """A file in which nothing changed has nothing taken over."""
    (line,) = bench.reload(f"# another comment\n{TEXT}")
    assert ([], []) == (line["changed"], bench.taken)


def test_what_is_asked_meanwhile_is_read_once_more(bench: Bench) -> None:
    """A file that changes while it is read is read again, and systemd hears READY once, after the last time."""
    bench.go_on.clear()
    bench.reloader.ask()
    assert bench.entered.wait(BOUND_S)
    for _ in range(3):
        bench.reloader.ask()
    bench.go_on.set()
    assert bench.reloader.join(BOUND_S)
    assert 2 == bench.reads
    assert [b"RELOADING=1\nMONOTONIC_USEC=77"] * 4 + [b"READY=1"] == bench.words()


def test_reloader_that_was_never_asked_has_ended(bench: Bench) -> None:
    """Where nothing was asked there is nothing to wait for."""
    assert bench.reloader.join(0)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (TEXT, TEXT, []),
        (TEXT, TEXT + SPARE, ["scanner spare"]),
        (TEXT + SPARE, TEXT, ["scanner spare"]),
        (TEXT + SPARE, TEXT.partition("[[")[0] + SPARE + "[[" + TEXT.partition("[[")[2], ["scanner: their order"]),
        (TEXT, TEXT.replace('"tp-01"', '"tp-02"'), ["table.id"]),
        (TEXT, TEXT.replace('"tp-01"', '"tp-01"\ngame = "war-of-bets"'), ["table.game", "the deal plan"]),
        (TEXT, TEXT + '[mqtt]\nurl = "mqtt://10.0.0.1"\n', ["mqtt.url"]),
    ],
)
def test_differences_are_named(tmp_path: Path, before: str, after: str, told: list[str]) -> None:
    """Each difference between two configurations is named by its key, a scanner by its name."""
    first = written(tmp_path, before)
    assert told == differences(first, written(tmp_path, after))


def test_merging_takes_nothing_else(tmp_path: Path) -> None:
    """What can't change is the old configuration's after all."""
    first = written(tmp_path, TEXT)
    second = written(tmp_path, TEXT.replace('"tp-01"', '"tp-01"\nlanguage = "ms"') + "[round]\nmax_attempts = 9\n")
    both = merged(first, second)
    assert ["table.language"] == differences(first, both)
    assert ["round.max_attempts"] == differences(both, second)


# --- the engine ---


def changed(language: str = "en", rate: int = 0, days: int = 0) -> Reconfigured:
    """What a reload asks of the engine."""
    return Reconfigured(texts(language), days, rate, 100, "1" * 64)


def test_prompt_is_told_anew_in_the_new_language(tmp_path: Path) -> None:
    """The prompt that stands is shown in the new language at once, and stands since when it did."""
    table = Table(tmp_path).ready("open")
    before = table.speaker.last("prompt")
    table.clock.move(5 * SECOND)
    table.take(changed("pt"))
    after = table.speaker.last("prompt")
    assert before | {"text": texts("pt").sentence(prompt(table.engine.state))} == after
    table.deal("AS")
    assert texts("pt").sentence(prompt(table.engine.state)) == table.speaker.last("prompt")["text"]


def test_status_names_the_new_configuration(tmp_path: Path) -> None:
    """After a reload the status, and the last one of an orderly end, carry the digest of what the daemon goes by."""
    table = Table(tmp_path).ready()
    table.take(changed())
    assert "1" * 64 == table.speaker.last("status")["config_digest"]
    assert "1" * 64 == json.loads(table.engine.final_status())["config_digest"]


def test_reads_counted_before_count_for_a_new_rate(tmp_path: Path) -> None:
    """With another reject rate what was read before counts on, and the alarm that it makes right goes down at once."""
    table = Table(tmp_path)
    table.begin()
    table.take(changed(rate=50))
    table.command("open", id="c-1")
    for card in ("AS", "KH"):
        table.deal(card)
    for _ in range(3):
        table.clock.move(SECOND)
        table.take(table.misread())
    assert ("reject_rate", "shoe") in table.engine.state.alarms
    table.take(changed(rate=10))
    assert ("reject_rate", "shoe") not in table.engine.state.alarms


def test_reload_without_a_journal_is_taken_over(tmp_path: Path) -> None:
    """While nothing can be written the dealer reads of it in the new language."""
    table = Table(tmp_path).ready("open")
    table.fail()
    table.deal("AS")
    table.take(changed("es"))
    shown = table.speaker.last("prompt")
    assert ("storage_fault", texts("es").prompts["storage_fault"]) == (shown["code"], shown["text"])


def test_reload_asked_of_an_engine_that_can_not_is_nothing(tmp_path: Path) -> None:
    """An engine that was given nothing to reload with goes on."""
    table = Table(tmp_path).ready()
    before = table.types()
    table.take(ReloadAsked())
    assert before == table.types()


def test_retention_follows_the_new_days(tmp_path: Path) -> None:
    """Events that were to be kept for ever are let go once the configuration gives them an end."""
    table = Table(tmp_path).ready()
    for number in range(3):
        table.command("open", id=f"o-{number}")
        table.command("void", id=f"v-{number}")
    table.take(Acknowledged(table.clock.now(), len(table.types())))
    table.pass_time(3 * DAY)
    assert "journal_trimmed" not in table.types()
    table.take(changed(days=1))
    table.pass_time(DAY)
    assert "journal_trimmed" in table.types()


def test_what_was_about_to_go_stays_where_all_is_kept(tmp_path: Path) -> None:
    """Once events are to be kept for ever, those that might have gone already stay as well."""
    table = aged(tmp_path)
    table.pass_time(FIRST)
    assert "journal_trimmed" in table.types()
    table.take(changed(days=0))
    for _ in range(3):
        table.pass_time(SECOND)
    assert 1 == first(table)


# --- the pages ---


def test_pages_begin_in_the_new_language(tmp_path: Path) -> None:
    """A page that connects after a reload is told the new language first."""
    with showing(tmp_path) as show:
        show.display.speak("uk")
        with closing(Events(show.port)) as events:
            assert ("hello", "uk") == ((told := events.next())[0], told[1]["language"])


# --- systemd's status line ---


def test_status_line_tells_how_the_table_stands(tmp_path: Path) -> None:
    """Phase, round, due slot, lost scanners and an absent broker are in one line."""
    table = Table(tmp_path, scanners="shoe,spare")
    table.begin()
    assert "idle, the broker is away" == standing(table.engine.state)
    table = Table(tmp_path / "other").ready("open")
    assert "dealing, round tp-01/1, A1 is due" == standing(table.engine.state)
    table.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    assert "dealing, round tp-01/1, A1 is due, scanner shoe is down" == standing(table.engine.state)


def test_status_line_is_told_when_it_changed(bench: Bench, tmp_path: Path) -> None:
    """The line is told to systemd once, until it is another one."""
    table = Table(tmp_path / "journal").ready()
    line = StatusLine("tp-01", bench.notifier)
    for _ in range(3):
        line.show(table.engine.state)
    table.command("open", id="c-1")
    line.show(table.engine.state)
    bench.notifier.ready()
    assert [
        b"STATUS=Table tp-01: idle",
        b"STATUS=Table tp-01: dealing, round tp-01/1, A1 is due",
        b"READY=1",
    ] == bench.words()


# --- the whole daemon ---


def rewrite(daemon: Daemon, old: str, new: str) -> None:
    """Changes the configuration and sends the signal, and returns when systemd was told of the end."""
    text = daemon.config.read_text(encoding="utf-8")
    assert old in text
    daemon.config.write_text(text.replace(old, new), encoding="utf-8")
    daemon.manager.drain()
    since = len(daemon.manager.heard)
    daemon.signal(signal.SIGHUP)
    daemon.manager.wait_for("READY=1", since)


def test_daemon_reloads_on_the_signal(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """SIGHUP has the configuration read anew: the prompt changes its language, and the deal goes on."""
    daemon = start_daemon(broker.url, start=False)
    with Watcher(broker.port) as watcher:
        daemon.start()
        watcher.wait_for_shown("prompt", code="wait", text="Wait")
        before = watcher.shown("status")["config_digest"]
        rewrite(daemon, "[table]", '[table]\nlanguage = "es"')
        watcher.wait_for_shown("prompt", code="wait", text=texts("es").prompts["wait"])
        watcher.wait_for_shown("status", config_digest=load(daemon.config).digest)
        assert before != watcher.shown("status")["config_digest"]
        watcher.wait(lambda: load(daemon.config).digest in str(watcher.shown("status").get("self_check")), BOUND_S)
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
    assert 0 == daemon.stop()


def test_daemon_goes_on_with_a_broken_file(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A configuration that can't be used is refused in the log, and the daemon deals on as before."""
    daemon = start_daemon(broker.url)
    with Watcher(broker.port) as watcher:
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
        rewrite(daemon, "[table]", "[tabel]")
        assert "configuration refused, nothing changed" in daemon.errors()
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
    assert 0 == daemon.stop()
