"""The composition root: the only place that names concrete classes, the real clock, real paths and signals.

The order matters. The lock comes before the journal, so that a second instance never opens it; the journal before the
log, so that a process that can't begin says one line and nothing else; the engine's start before the threads, so that
`daemon_started` is the first thing that anybody hears. At the end the readers stop first, the publisher last, so that
the last card still goes out.
"""

from __future__ import annotations

import queue
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from scannerd import __version__, logs
from scannerd.bulletin import Machine, status
from scannerd.channel import Channel
from scannerd.clock import SystemClock
from scannerd.config.settings import Config, Scanner
from scannerd.core.state import Setup, State
from scannerd.display import Display, Place, build, require
from scannerd.display.fanout import Fanout, Tap
from scannerd.display.hub import Links
from scannerd.engine import Engine
from scannerd.errors import UsageError
from scannerd.inbox import Letter, Reconfigured, ReloadAsked, StopRequested
from scannerd.journal import Journal
from scannerd.journal.high_water import HighWater
from scannerd.lock import TableLock
from scannerd.mqtt.notices import BrokerSettings
from scannerd.outbox import JournalOutbox
from scannerd.publisher import Publisher
from scannerd.readers import MachineClock, Reader, Recorded
from scannerd.recall import Offset
from scannerd.recording.capture import Capture
from scannerd.recording.recorder import Folder, Target
from scannerd.reload import Reloader
from scannerd.roles import Duties, Inbox, Process
from scannerd.sentry import Sentry
from scannerd.signing import Sign, SigningError, signer
from scannerd.standing import StatusLine
from scannerd.systemd import Notifier
from scannerd.texts import texts
from scannerd.upkeep.self_check import SelfCheck, digests_of
from scannerd.vault import Vault
from scannerd.watchdog import Watchdog

JOIN_S = 1.0
"""Seconds that the readers have together to end; one that is stuck in a device is left alone."""

FAREWELL_S = 1.2
"""Seconds that a broker has at the end to acknowledge what is journalled; the whole end must be over within 2 s."""

BUSY_MS = 700
"""How long the journal waits for another process to let go of its file: the dealer is to know within a second."""

FOLDING_S = 30.0
"""Seconds more that systemd is asked to wait while a long journal is folded, or brought to another schema."""

START_SEQS = 100_000
"""How many events are folded between two such words."""


class App:
    """One daemon, built and not yet started."""

    def __init__(self, config: Config, journal: Journal, notifier: Notifier, capture: Capture | None = None) -> None:
        """Builds every part; starts none.

        Args:
            config: the table's.
            journal: open, under the table's lock.
            notifier: speaks to systemd.
            capture: records what comes, or None.
        """
        self._config, self._notifier, self._capture = config, notifier, capture
        self._log = logs.get("app")
        self._first = journal.previous == "first"
        self.inbox: Inbox = queue.SimpleQueue()
        clock = SystemClock()
        setup = Setup(
            config.table.id, config.plan, config.round.rules(), tuple(scanner.name for scanner in config.scanners)
        )
        process = Process(str(uuid.uuid4()), __version__, config.digest)
        self._high_water = HighWater(config.state_dir)
        vault = Vault(journal, lambda: _open(config, create=False), self._high_water.note)
        record = _record_nothing if capture is None else capture.scanner
        post = self.inbox.put if capture is None else capture.tapped(self.inbox.put)
        self.readers = {scanner.name: _reader(scanner, self.inbox.put, record) for scanner in config.scanners}
        words = texts(config.table.language)
        self.self_check = SelfCheck(lambda: digests_of(config), self.inbox.put)
        self.reloader = Reloader(config, self._take_over, notifier, clock.now)
        self.engine = Engine(
            setup,
            process,
            inbox=self.inbox,
            clock=clock,
            vault=vault,
            texts=words,
            alive=self._feed,
            duties=_duties(config, self.self_check, self.reloader),
        )
        will = status(self.engine.identity, State(setup), Offset(0, 0), Machine(), offline=True)
        tap = Tap(post, clock.wall)
        self.publisher = Publisher(
            broker_settings(config, journal.journal_id),
            lambda: JournalOutbox(config.state_dir),
            journal.cursor,
            tap,
            will,
            clock.now,
            random.Random(),  # noqa: S311 - jitter, not a secret
        )
        self.fanout = Fanout(self.publisher, tap, clock.wall)
        self.sentry = Sentry(
            self.fanout,
            words,
            turn=lambda: self.engine.progress,
            write=lambda: vault.writing,
            wall=clock.wall,
            post=self.inbox.put,
            now=clock.now,
        )
        self.display = self._pages(process.session, clock, post)
        self._status_line = StatusLine(config.table.id, notifier)
        self._watchdog = Watchdog(notifier, self.publisher, tuple(self.readers.values()))

    def run(self) -> None:
        """Runs until a stop is asked for.

        Raises:
            ScannerdError: the process must end, with the exit code that the error has.
        """
        started: list[Reader] = []
        try:
            if self._capture is not None:
                self._capture.start()
            self.engine.begin(self.sentry, self.readers, self._folding)
            self.publisher.start()
            self.sentry.start()
            if self.display is not None:
                self.display.start()
            for reader in self.readers.values():
                reader.start()
                started.append(reader)
            self._notifier.ready()
            if self._first:
                self._log.warning("a new journal begins", journal=self.engine.identity.journal)
            self._log.info("ready", scanners=list(self.readers), version=__version__)
            self.engine.run()
            self.sentry.stop()
            self._notifier.stopping()
            until = _stop(started)
            self._close_pages()
            self.publisher.stop(self.engine.final_status(), FAREWELL_S)
            self.sentry.join(max(0.0, until - time.monotonic()))
            _join(started, until)
            self._join_pages(until)
            self.self_check.join(until)
        except BaseException:
            self.sentry.stop()
            until = _stop(started)
            self._close_pages()
            _join(started, until)
            self._join_pages(until)
            self.self_check.join(until)
            raise
        finally:
            self.engine.close()
            self._high_water.close()
            if self._capture is not None:
                self._capture.stop()

    def stop(self, reason: str) -> None:
        """Asks for an orderly end; returns at once."""
        self.inbox.put(StopRequested(reason))

    def reload(self) -> None:
        """Asks for the configuration to be read anew; returns at once."""
        self.inbox.put(ReloadAsked())

    def _take_over(self, config: Config) -> None:
        """Goes by what of a configuration can change while the daemon runs; called in the reloader's thread."""
        alarms, language = config.alarms, config.table.language
        words, days = texts(language), config.journal.keep_days
        self.inbox.put(Reconfigured(words, days, alarms.reject_rate, alarms.reject_window, config.digest))
        self.sentry.speak(words)
        if self.display is not None:
            self.display.speak(language)

    def _pages(self, session: str, clock: SystemClock, post: Callable[[Letter], None]) -> Display | None:
        config = self._config
        place = Place(config.table.id, config.table.language, __version__, session, config.state_dir)
        links = Links(
            post=post,
            now=clock.now,
            wall=clock.wall,
            pulse=lambda: self.engine.progress,
            bounces=lambda: self.engine.state.memory.bounces,
        )
        return build(config, place, self.fanout, links)

    def _close_pages(self) -> None:
        if self.display is not None:
            self.display.stop()

    def _join_pages(self, until: float) -> None:
        if self.display is not None and not self.display.join(max(0.0, until - time.monotonic())):
            self._log.warning("the pages did not end in time")

    def _feed(self) -> None:
        self._watchdog.feed()
        self._status_line.show(self.engine.state)
        if self._capture is not None:
            self._capture.pause(self.engine.state)

    def _folding(self, seq: int) -> None:
        if seq % START_SEQS < START_SEQS // 100:
            self._notifier.extend_timeout(FOLDING_S)


def run(config: Config, record_to: Target | None = None) -> None:
    """Runs the daemon of one table in this process, until SIGTERM or SIGINT; SIGHUP has the configuration read anew.

    Args:
        config: the table's.
        record_to: where to record what comes; None: where the configuration says, if it does.

    Raises:
        AlreadyRunning: another instance runs this table.
        JournalUnusable: the journal is damaged, another table's, or can't be opened.
        UsageError: the state directory can't be made or used.
        ScannerdError: a thread died.
    """
    require(config)
    notifier = Notifier()
    with _lock(config):
        journal = _open(config, create=True, tell=_patience(notifier))
        HighWater(config.state_dir).check(journal.journal_id, journal.head.seq)
        logs.configure(always={"table": config.table.id})
        _tell_of(journal)
        target = record_to or _folder(config)
        capture = None if target is None else Capture(config, target, SystemClock().now, journal.rounds)
        app = App(config, journal, notifier, capture)
        _on_signals(app)
        app.run()


def broker_settings(config: Config, journal_id: str) -> BrokerSettings:
    """Where the broker is; the client id names the table and this installation of it."""
    mqtt = config.mqtt
    return BrokerSettings(
        urls=tuple(url.strip() for url in mqtt.url.split(",")),
        root=mqtt.root,
        table=config.table.id,
        client_id=f"scannerd-{config.table.id}-{journal_id[:8]}",
        protocol=mqtt.protocol,
        username=mqtt.username,
        password=mqtt.password(),
        ca_file=mqtt.ca_file,
        cert_file=mqtt.cert_file,
        key_file=mqtt.key_file,
        keepalive_s=mqtt.keepalive_s,
    )


def _duties(config: Config, check: SelfCheck, reloader: Reloader) -> Duties:
    """What the engine does beside dealing."""
    key = config.journal.signing_key
    return Duties(
        sign=None if key is None else _signer(key),
        reject_rate=config.alarms.reject_rate,
        reject_window=config.alarms.reject_window,
        keep_days=config.journal.keep_days,
        check=check.ask,
        reload=reloader.ask,
    )


def _signer(key: Path) -> Sign:
    try:
        return signer(key)
    except SigningError as trouble:  # it was well when the configuration was read
        raise UsageError(str(trouble)) from trouble


def _lock(config: Config) -> TableLock:
    try:
        return TableLock(config.state_dir)
    except OSError as trouble:
        raise UsageError(f"{config.path}: table.state_dir: {config.state_dir}: {trouble.strerror}") from trouble


def _open(config: Config, *, create: bool, tell: Callable[[str], object] = lambda _: None) -> Journal:
    return Journal.open(config.state_dir, config.table.id, create=create, busy_ms=BUSY_MS, tell=tell)


def _patience(notifier: Notifier) -> Callable[[str], object]:
    """Asks systemd for more time with each word about a long opening."""

    def tell(word: str) -> None:
        notifier.extend_timeout(FOLDING_S)
        notifier.status(word)

    return tell


def _tell_of(journal: Journal) -> None:
    """The log begins after the journal is open."""
    done = journal.migrated
    if done is not None:
        logs.get("journal").warning(
            "the journal was brought to another schema", before=done.before, after=done.after, backup=str(done.backup)
        )


def _stop(readers: Sequence[Reader]) -> float:
    """Asks the readers to end; returns when they must have, on the monotonic clock."""
    for reader in readers:
        reader.stop()
    return time.monotonic() + JOIN_S


def _join(readers: Sequence[Reader], until: float) -> None:
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))


def _reader(scanner: Scanner, post: Callable[[Letter], None], record: Callable[[Recorded], None]) -> Reader:
    driver, clock = scanner.make_driver(), MachineClock()
    channel = Channel(scanner.name, driver, scanner.codebook, scanner.hand, clock.now())
    return Reader(channel, driver.transport(scanner.url), post, clock=clock, feedback=driver.feedback, record=record)


def _folder(config: Config) -> Folder | None:
    """Where the configuration wants recordings, if it does."""
    record = config.record
    if record.directory is None:
        return None
    return Folder(record.directory, config.table.id, record.file_mib * 2**20, record.files)


def _record_nothing(_recorded: Recorded) -> None:
    """Without a capture."""


def _on_signals(app: App) -> None:
    def asked(number: int, frame: FrameType | None) -> None:
        del frame
        if number == reloading:
            app.reload()
        else:
            app.stop(signal.Signals(number).name)

    # On a terminal SIGHUP says that it is gone, and whoever ran us there with it.
    reloading = None if sys.stderr.isatty() else signal.SIGHUP
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, asked)
