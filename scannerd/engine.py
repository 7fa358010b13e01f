"""The only owner of the state: takes what is in the inbox, decides, writes it down with one sync, and only then speaks.

Every other thread puts frozen events on the inbox and waits for nothing. What a batch of events decides is a `Turn`; a
turn that can't be written never happened: its state is dropped, nobody is told, and the journal is opened afresh until
it is sound again. Meanwhile reads are thrown away and commands refused, and the dealer's prompt says so.

A deadline is decided `GRACE` after its time, with its own time, so that a read that came before it but is still on its
way from a reader's thread is not overtaken by it.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import assert_never, cast

from scannerd import logs
from scannerd.bulletin import Bulletin, Identity, Machine, status
from scannerd.clock import Clock
from scannerd.commands import Answer, Asked, Replies
from scannerd.core import events as e
from scannerd.core.prompts import STORAGE_FAULT, prompt
from scannerd.core.state import Setup, State
from scannerd.core.validator import TOLD_NOTICES
from scannerd.errors import ScannerdError
from scannerd.event_log import RefusalLog, log_events
from scannerd.inbox import (
    Checked,
    Letter,
    PagesStand,
    Reconfigured,
    ReloadAsked,
    Settle,
    StopRequested,
    ThreadDied,
)
from scannerd.journal import Journal, Record
from scannerd.messages import utc
from scannerd.mqtt.notices import (
    Acknowledged,
    BrokerAlarm,
    CommandReceived,
    Connected,
    Disconnected,
    StatusSeen,
)
from scannerd.notebook import Digests, Notebook, Watched
from scannerd.recall import Offset, recall
from scannerd.roles import DEALING_ONLY, Duties, Inbox, Process, Speaker, Station
from scannerd.texts import Texts
from scannerd.turn import Pen, Turn
from scannerd.upkeep.line_watch import LineWatch
from scannerd.upkeep.machine_watch import MachineWatch
from scannerd.upkeep.reject_rate import ALARM as REJECT_RATE
from scannerd.upkeep.retention import Retention
from scannerd.vault import Vault

GRACE = 10_000
"""Microseconds for which a deadline waits for reads that came before it."""

BATCH = 256
"""Letters that are decided with one sync, at most."""

TICK = 1_000_000
"""Microseconds between two looks at the clocks, the outbox and the alarms that end by themselves."""

CLOCK_STEP = 1_000_000
"""Microseconds by which the wall clock must jump to be told."""

RETAINED_ALARM = 60_000_000
"""Microseconds for which a retained command is alarmed."""

STEADY = 1_000
"""Microseconds within which both clocks must be read to be compared: the process may be stopped between the two."""

SELF_CHECK = 86_400_000_000
"""Microseconds between two self-checks."""

CORE_ALARMS = frozenset({"stalled", "scanner_error"})
"""Alarms that the core raises and clears; others tell of the process or the machine, and a new process begins anew."""


class Engine:
    """Runs in the main thread; see the module.

    Attributes:
        state: the table, as the journal tells it.
        progress: grows with every turn, for the watchdog.
    """

    def __init__(  # noqa: PLR0913 - its seams, each handed in once by the composition root
        self,
        setup: Setup,
        process: Process,
        *,
        inbox: Inbox,
        clock: Clock,
        vault: Vault,
        texts: Texts,
        alive: Callable[[], None] = lambda: None,
        duties: Duties = DEALING_ONLY,
    ) -> None:
        """Touches nothing yet.

        Args:
            setup: the table.
            process: who we are.
            inbox: where every thread puts what happened.
            clock: the clocks.
            vault: the journal, open; the engine closes it.
            texts: the dealer's language.
            alive: called once a second, for the watchdog.
            duties: what the configuration asks beside dealing.
        """
        self._duties = duties
        self._watched = Watched(duties.reject_rate, duties.reject_window, setup.scanners)
        self._notebook = Notebook(self._watched)
        self._retention = Retention(duties.keep_days, clock.now())
        self._check_at = 0
        self._found: tuple[str, Digests] | None = None
        self._pages: PagesStand | None = None
        self._alive = alive
        self._setup, self._process, self._inbox, self._clock, self._vault = setup, process, inbox, clock, vault
        self._previous = vault.sound().previous
        self.identity = Identity(
            process.session,
            process.version,
            setup.plan.game,
            vault.sound().journal_id,
            process.config_digest,
            setup.scanners,
        )
        self._texts = texts
        self._log = logs.get("engine")
        self._refusals = RefusalLog(self._log)
        self.state = State(setup)
        self.progress = 0
        self._replies = Replies()
        self._lines, self._machine = LineWatch(), MachineWatch()
        self._began = False
        self._stop: str | None = None
        self._missed: dict[object, e.Event] = {}
        self._tick_at = 0
        self._ahead: int | None = None
        self._retained_until = 0

    def begin(self, speaker: Speaker, stations: Mapping[str, Station], progress: Callable[[int], None]) -> None:
        """Folds the journal and tells that the daemon has started, before anything else is told.

        Args:
            speaker: the publisher; it need not run yet.
            stations: the readers by scanner; they need not run yet.
            progress: told while a long fold goes on.
        """
        self._speaker, self._stations = speaker, stations
        self._bulletin = Bulletin(self.identity, self._texts, speaker.show)
        self._recall(self._vault.sound(), progress)
        turn = self._turn()
        self._start(turn)
        self._settle(turn)

    def _start(self, turn: Turn) -> None:
        """The first decision of this process, and the end of alarms that told of the one before."""
        process = self._process
        turn.decide(e.Started(turn.now, process.version, process.config_digest, self._previous))
        for name, scanner in tuple(turn.state.alarms):
            counted = name == REJECT_RATE and (scanner is None or scanner in self._setup.scanners)
            if name not in CORE_ALARMS and not counted:
                known = cast("e.AlarmName", name)  # another version may have known others, which end here too
                turn.decide(e.AlarmChanged(turn.now, known, up=False, scanner=scanner))
        self._watch_rejects(turn)
        self._check_at = turn.now + SELF_CHECK
        self._duties.check("start", None)
        self._tick(turn)

    def run(self) -> None:
        """Turns until a stop is asked for, and tells of it.

        Raises:
            ScannerdError: a thread died, or the journal is damaged: the process must end.
        """
        while self._stop is None:
            self.turn(self._letters())
        self._end(self._stop)

    def turn(self, letters: list[Letter]) -> None:
        """Decides what has come and what is overdue, writes it down, and speaks."""
        self.progress += 1
        turn = self._turn()
        if self._vault.journal is None and turn.now >= self._vault.reopen_at:
            turn = self._reopen(turn)
        self._tick(turn)
        for letter in letters:
            self._take(turn, letter)
        if self._vault.journal is not None:
            turn.decide_overdue(turn.now - GRACE)
            self._settle(turn)
        else:
            self._answer_all(turn)
        if not letters and self._inbox.empty() and self._vault.journal is not None:
            self._let_go(turn)

    def final_status(self) -> bytes:
        """What the status topic says after an orderly end."""
        machine = Machine(self._vault.outbox(), self._vault.fault, self._clock.synchronised(), self._found, self._pages)
        return status(self.identity, self.state, self._offset(), machine, offline=True)

    def close(self) -> None:
        """Closes the journal, with what the broker has acknowledged to the last."""
        while not self._inbox.empty():
            letter = self._inbox.get_nowait()
            if isinstance(letter, Acknowledged):
                self._vault.cursor = max(self._vault.cursor, letter.upto)
        self._vault.close()

    def _letters(self) -> list[Letter]:
        letters: list[Letter] = []
        with suppress(queue.Empty):
            letters.append(self._inbox.get(timeout=self._patience()))
            while len(letters) < BATCH:
                letters.append(self._inbox.get_nowait())
        return letters

    def _patience(self) -> float:
        """Seconds until something is due though nothing comes."""
        due = [self._tick_at]
        if self._vault.journal is None:
            due.append(self._vault.reopen_at)
        elif self.state.deadline is not None:
            due.append(self.state.deadline + GRACE)
        return max(0, min(due) - self._clock.now()) / 1_000_000

    def _turn(self) -> Turn:
        return Turn(self.state, self._offset())

    def _offset(self) -> Offset:
        """Between the clocks, read close together."""
        for _ in range(3):
            now, wall = self._clock.now(), self._clock.wall()
            if self._clock.now() - now < STEADY:
                break
        return Offset(wall - now, now)

    # --- letters ---

    def _take(self, turn: Turn, letter: Letter) -> None:  # noqa: C901, PLR0912 - one line a kind of letter
        match letter:
            case e.Read() | e.FailedRead() | e.Noticed():
                self._scan(turn, letter)
            case e.ScannerWentUp() | e.ScannerWentDown():
                self._change(turn, letter.scanner, letter)
            case Connected():
                self._log.info("broker connected", broker=letter.address)
                self._change(turn, "", e.BrokerChanged(letter.at, up=True))
            case Disconnected():
                self._log.warning("broker lost", cause=letter.cause)
                self._change(turn, "", e.BrokerChanged(letter.at, up=False))
            case BrokerAlarm():
                alarm = e.AlarmChanged(letter.at, letter.alarm, letter.up, None, letter.detail)
                self._change(turn, (letter.alarm,), alarm)
            case CommandReceived():
                self._command(turn, letter)
            case Acknowledged():
                self._vault.cursor = max(self._vault.cursor, letter.upto)
            case Checked():
                self._checked(turn, letter)
            case ReloadAsked():
                self._duties.reload()
            case Reconfigured():
                self._reconfigure(turn, letter)
            case PagesStand():
                self._pages = letter
            case Settle():
                turn.settles.append(letter)
            case StatusSeen():
                self._log.debug("our status topic carried something else", payload=letter.payload[:80])
            case StopRequested():
                self._stop = letter.reason
            case ThreadDied():
                raise ScannerdError(f"thread {letter.name} died: {letter.error}")
            case _ as never:
                assert_never(never)

    def _scan(self, turn: Turn, seen: e.Read | e.FailedRead | e.Noticed) -> None:
        """Reads are thrown away while nothing can be written."""
        if isinstance(seen, e.Noticed) and seen.kind not in TOLD_NOTICES:
            self._log.info("scanner notice", scanner=seen.scanner, kind=seen.kind, detail=seen.detail)
        elif self._vault.journal is not None:
            self._decide_noted(turn, seen)
            alarm = None if isinstance(seen, e.Noticed) else self._lines.seen(seen, turn.state.alarms)
            if alarm is not None:
                turn.decide(alarm)

    def _decide_noted(self, turn: Turn, event: e.Event) -> None:
        """Decides what the notebook has to know of."""
        before = len(turn.drafts)
        turn.decide(event)
        for told, _ in turn.drafts[before:]:
            self._notebook.note(told)
        if len(turn.drafts) > before:
            self._watch_rejects(turn)

    def _watch_rejects(self, turn: Turn) -> None:
        for alarm in self._notebook.rejects.changes(turn.now, turn.state.alarms):
            turn.decide(alarm)

    def _checked(self, turn: Turn, checked: Checked) -> None:
        """Shows what a self-check found; it is an event where something is not as before, or somebody asked."""
        if self._vault.journal is None:
            return  # there is another check when it is sound again
        found, before = checked.digests, self._notebook.checked
        self._found = utc(turn.offset.day(turn.now)), found
        was = (None, None, None) if before is None else before
        changed = () if before is None else found.other_than(before)
        if before is None:
            self._notebook.checked = found  # the next round's state row keeps it
        if changed or checked.cause == "command":
            self._decide_noted(turn, e.SelfCheck(turn.now, checked.cause, checked.by, *found, changed, *was))

    def _reconfigure(self, turn: Turn, new: Reconfigured) -> None:
        """Goes by another configuration; a self-check then writes down that there is one."""
        self.identity = replace(self.identity, config_digest=new.config_digest)
        self._bulletin.change(self.identity, new.texts)
        self._retention.keep(new.keep_days)
        self._watched = Watched(new.reject_rate, new.reject_window, self._setup.scanners)
        self._notebook.watch(self._watched)
        if self._vault.journal is not None:
            self._watch_rejects(turn)
        self._duties.check("command", "reload")

    def _change(self, turn: Turn, key: object, change: e.Event) -> None:
        """What stays true until it changes again is kept for later while nothing can be written."""
        turn.lasting[key] = change
        if self._vault.journal is not None:
            turn.decide(change)

    def _command(self, turn: Turn, received: CommandReceived) -> None:
        if received.retain and not received.payload and not received.oversized:
            return  # so a retained message is taken away: nobody commands anything
        if self._vault.journal is None:
            turn.refuse_for_storage(received)
            return
        if received.retain:
            self._retained_until = turn.now + RETAINED_ALARM
            detail = f"command {received.name} was retained"
            turn.decide(e.AlarmChanged(turn.now, "retained_command", up=True, detail=detail))
        asked = turn.examine(received, self._replies)
        if asked is not None:
            self._carry_out(turn, received, asked)

    def _carry_out(self, turn: Turn, received: CommandReceived, asked: Asked) -> None:
        match asked.command.name:
            case "snapshot":
                turn.anew = True
                turn.reply(received, Answer(asked.id, ok=True))
            case "self_check":
                self._duties.check("command", asked.command.by)
                turn.reply(received, Answer(asked.id, ok=True))
            case "resend":
                turn.resend(received, asked, self._vault.head.seq, self._vault.sound().trimmed)
            case _:
                turn.carry_out(received, asked)

    # --- writing, then speaking ---

    def _settle(self, turn: Turn, *, clean: bool | None = None) -> None:
        """Writes the turn down, and only then lets it be the state and speaks of it."""
        before = self._vault.head
        cursor = self._vault.unwritten if turn.drafts or turn.ticked else None
        clean = clean if self._began else False
        pen = Pen(self._duties.sign, self._notebook.notes, self._vault.state_seq)
        batch = turn.batch(self.identity.journal, before, self._setup.table, cursor, clean, pen)
        if batch is not None and not self._vault.write(batch, turn.now):
            self._fail(turn)
            return
        self.state = turn.state
        self._began = True
        if turn.ticked:
            self._ahead = turn.offset.ahead
        for command_id, payload in turn.kept(before.seq):
            self._replies.keep(command_id, payload)
        self._speak(turn, before.seq, () if batch is None else batch.records)

    def _speak(self, turn: Turn, before: int, fresh: Sequence[Record]) -> None:
        head = self._vault.head.seq
        if turn.drafts or turn.anew:  # after a fault there may be events that we did not know to be written
            self._speaker.wake(head, fresh)
        asked_anew = self._show(turn, head)
        for reply in turn.answers(before):
            self._speaker.answer(reply)
        for first, last, then in turn.sent_again():
            self._speaker.resend(first, last, then)
        for settle in turn.settles:
            self._stations[settle.scanner].settled(settle.token)
        for scanner, outcome in turn.outcomes():
            self._stations[scanner].feedback(outcome)
        if asked_anew:
            for station in self._stations.values():
                station.feedback("prompt")
        log_events(self._log, turn.drafts, before)  # last: whoever reads the log can wait, and may be slow
        self._refusals.tell(turn.refusals(), turn.now)

    def _show(self, turn: Turn, head: int) -> bool:
        """The retained topics; True where the dealer is asked for something new."""
        changed = self._bulletin.prompt(prompt(self.state), turn.offset.day(turn.now))
        self._bulletin.round(self.state, head)
        machine = replace(self._bulletin.machine, fault=None, checked=self._found, pages=self._pages)
        if turn.ticked or (machine.outbox.depth and self._vault.cursor >= head):
            machine = Machine(self._vault.outbox(), None, self._clock.synchronised(), self._found, self._pages)
        self._bulletin.status(self.state, turn.offset, machine)
        if turn.anew:
            self._bulletin.anew(self.state, head)
        return changed

    # --- storage faults ---

    def _fail(self, turn: Turn) -> None:
        """Nothing of the turn was said, and nothing of it is believed."""
        self._restart_decoders()
        self._answer_all(turn)

    def _restart_decoders(self) -> None:
        """What a device sent while nothing could be written is forgotten, and no reply is owed for it."""
        for station in self._stations.values():
            station.restart_decoder()

    def _answer_all(self, turn: Turn) -> None:
        """Tells what can be told without a journal."""
        self._missed |= turn.lasting
        for reply in turn.refused_for_storage():
            self._speaker.answer(reply)
        self._bulletin.prompt(STORAGE_FAULT, turn.offset.day(turn.now))
        machine = replace(self._bulletin.machine, fault=self._vault.fault, pages=self._pages)
        self._bulletin.status(self.state, turn.offset, machine)

    def _reopen(self, turn: Turn) -> Turn:
        """The turn to go on with: after a success it begins with what was missed."""
        if not self._vault.reopen(turn.now, lambda journal: self._recall(journal, lambda _: None)):
            return turn
        self._restart_decoders()
        turn = self._turn()
        turn.anew, self._check_at = True, turn.now
        if not self._began:
            self._start(turn)
        missed, self._missed = self._missed, {}
        for key, change in missed.items():
            self._change(turn, key, change)
        return turn

    def _recall(self, journal: Journal, progress: Callable[[int], None]) -> None:
        """Drops the state and folds what the journal holds."""
        broker_up, self._notebook = self.state.broker_up, Notebook(self._watched)
        folded = recall(journal, self._setup, self._offset(), progress, self._notebook)
        self.state = folded._replace(broker_up=broker_up)
        self._replies = Replies(journal.replies())

    # --- the clock, and the end ---

    def _tick(self, turn: Turn) -> None:
        """Once a second: has the wall clock jumped, has an alarm ended by itself."""
        if turn.now < self._tick_at:
            return
        turn.ticked = True
        self._tick_at = turn.now + TICK
        self._alive()
        if self._vault.journal is None:
            return
        jump = 0 if self._ahead is None else turn.offset.ahead - self._ahead
        if abs(jump) >= CLOCK_STEP:
            turn.decide(e.ClockJumped(turn.now, round(jump / 1_000)))
        if turn.now >= self._retained_until:
            turn.decide(e.AlarmChanged(turn.now, "retained_command", up=False))
        if turn.now >= self._check_at:
            self._check_at = turn.now + SELF_CHECK
            self._duties.check("daily", None)
        for alarm in self._machine.look(turn.now, self._vault, self._clock.synchronised()):
            turn.decide(alarm)

    def _let_go(self, turn: Turn) -> None:
        """Nothing else is to be done: old events may go, if they are not to be kept."""
        wall = turn.offset.day(turn.now)
        old = self._retention.look(self._vault, turn.now, wall, self._clock.synchronised)
        if old is not None:
            telling = self._turn()
            telling.decide(old)
            self._settle(telling)
            if self._vault.journal is not None:
                self._retention.allow(old.last_seq)
        elif not self._retention.clear(self._vault, turn.now, wall):
            self._fail(turn)

    def _end(self, reason: str) -> None:
        """The orderly end: it is written down that this was no crash."""
        if self._vault.journal is not None:
            turn = self._turn()
            turn.decide(e.Stopping(turn.now, reason))
            self._settle(turn, clean=True)
