"""A daemon that dies as by `kill -9` at one step of one write: `python -m tests.crashing CONFIG STEP COUNT`.

The steps stand between the decoded card and the mark that the broker has it. At each of them another part of the truth
is only in the process: the card, the transaction, the word that it is written, the acknowledgement.

* `decided`: cards are decided, and nothing of them is on the disk.
* `unsynced`: they are in a transaction that is not committed.
* `synced`: they are on the disk, and nobody was told.
* `acknowledged`: they were told and the broker has them, and the mark is not on the disk.
* `marked`: the mark is on the disk.

At the step `stuck` it does not die, but its engine stands still for ever where it would be `decided`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import TypeAlias

from scannerd import logs
from scannerd.app import App
from scannerd.config import load
from scannerd.errors import JournalUnusable
from scannerd.journal import Batch, Journal
from scannerd.journal.records import Meta
from scannerd.lock import TableLock
from scannerd.systemd import Notifier

STUCK = "stuck"
STEPS = ("decided", "unsynced", "synced", "acknowledged", "marked")
Step: TypeAlias = str


class DyingJournal(Journal):
    """Ends the process at its step, when that has come so many times."""

    step: Step = ""
    left = 0

    def append(self, batch: Batch) -> None:
        """Writes, and dies before or after it where that is the step."""
        cards = any(record.type == "card_accepted" for record in batch.records)
        self._reach("decided", when=cards)
        self._reach(STUCK, when=cards)
        self._reach("acknowledged", when=batch.cursor is not None)
        super().append(batch)
        self._reach("synced", when=cards)
        self._reach("marked", when=batch.cursor is not None)

    def _write(self, db: sqlite3.Connection, batch: Batch, after: Meta) -> None:
        super()._write(db, batch, after)
        self._reach("unsynced", when=any(record.type == "card_accepted" for record in batch.records))

    def _reach(self, step: Step, *, when: bool) -> None:
        if when and step == self.step:
            self.left -= 1
            if self.left == 0 and step == STUCK:
                threading.Event().wait()
            elif self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Runs the daemon until it dies."""
    config = load(Path(sys.argv[1]))
    with TableLock(config.state_dir):
        journal = DyingJournal.open(config.state_dir, config.table.id, create=True)
        if not isinstance(journal, DyingJournal):
            raise JournalUnusable("it opens what it is called on")
        journal.step, journal.left = sys.argv[2], int(sys.argv[3])
        logs.configure()
        App(config, journal, Notifier()).run()


if __name__ == "__main__":
    main()
