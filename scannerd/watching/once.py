"""The tables written once as plain text: for scripts, pipes, and terminals that can't move their cursor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from scannerd.texts import Texts
from scannerd.watching.desk import Desk
from scannerd.watching.drawing import draw, text_of
from scannerd.watching.session import Session
from scannerd.watching.source import Source

WIDTH = 100
HEIGHT = 24


def written_once(
    sources: Sequence[Source], words: Texts, within_s: float, write: Callable[[str], None], *, symbols: bool
) -> bool:
    """Writes each table's view once all are known, or after `within_s` seconds; returns whether all were known."""
    news = threading.Semaphore(0)
    session = Session(sources, words, news.release)
    session.open()
    try:
        until = time.monotonic() + within_s
        while not _known(session.desk) and (left := until - time.monotonic()) > 0:
            news.acquire(timeout=left)
            session.turn()
    finally:
        session.close()
    for number in range(len(session.desk.tables)):
        for line in _lines(replace(session.desk, at=number), symbols=symbols):
            write(line)
    return _known(session.desk)


def _known(desk: Desk) -> bool:
    return all(known.standing and known.prompt and known.round and known.status for known in desk.tables)


def _lines(desk: Desk, *, symbols: bool) -> list[str]:
    """A view without the keys, which nobody could press, and without what only tells tables apart on a screen."""
    alone = replace(desk, tables=(desk.known,), at=0, guards={desk.known.table: "pin"})
    lines = [text_of(line) for line in draw(alone, WIDTH, HEIGHT, symbols=symbols)][:-1]
    while lines and not lines[-1]:
        lines.pop()
    return lines
