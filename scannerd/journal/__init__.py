"""The journal: every event of a table, synced before anyone is told of it, each chained to the one before by its hash.

`store` appends and reads, `opening` makes and checks the file, `migrations` bring an old one to this schema, `chain`
judges one row, `proof` walks them all, `selection` and `stats` are for reading it afterwards. Only the daemon writes,
and only from one thread.
"""

from __future__ import annotations

from scannerd.journal.errors import JournalDamaged, JournalError, JournalMismatch, JournalMissing, JournalNewer
from scannerd.journal.proof import Finding, Findings, verify
from scannerd.journal.reading import JournalReader
from scannerd.journal.records import Batch, Head, Previous, Record
from scannerd.journal.store import Journal

__all__ = [
    "Batch",
    "Finding",
    "Findings",
    "Head",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalMismatch",
    "JournalMissing",
    "JournalNewer",
    "JournalReader",
    "Previous",
    "Record",
    "verify",
]
