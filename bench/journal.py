"""What a long journal costs: starting and scanning with a million events behind, beside an empty journal, in one run.

    python bench/journal.py [--events 1000000] [--lines 200] [--json FILE]

The journal is filled with whole rounds, chained and acknowledged as the daemon would have left them. Then the daemon
starts on it and cards come at 9600 baud, as in table.py; beside that the journal's own parts are measured alone: to
open it and fold what is behind the last round, to add one event with its sync, and to let a batch of old events go.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import statistics
import tempfile
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from table import TOPICS, deals, paced, started, subscriber

from scannerd import games
from scannerd.canonical import seal
from scannerd.core.state import Rules, Setup, State
from scannerd.demo.embedded_broker import EmbeddedBroker
from scannerd.journal import Batch, Head, Journal, Record
from scannerd.messages import CONTRACT, utc
from scannerd.recall import Offset, checkpoint, recall

TABLE = "bench"
DAY_0 = 1_700_000_000_000_000
ROUND = ("round_opened", *("card_accepted",) * 6, "round_completed")
SLOTS = ("A1", "B1", "A2", "B2", "A3", "B3")
SETUP = Setup(TABLE, games.load("teen-patti-20-20"), Rules(), ("shoe",))
BATCH = 8_000
RETAINED = 200


@dataclass(frozen=True, slots=True)
class Figures:
    """With one journal; times in ms, the file in MiB."""

    ready: float
    card_p50: float
    card_p99: float
    open_and_fold: float
    append_p50: float
    append_p99: float
    trim_p50: float
    file: float


def main() -> None:
    """Measures both and prints a table with their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = tuple(Path(folder, str(events)) for events in (0, wanted.events))
        for table in tables:
            fill(table / "state", int(table.name))
        found = measure(tables, wanted.lines)
    print(f"{'events':14}" + "".join(f"{table.name:>12}" for table in tables) + "       ratio")
    for name in Figures.__dataclass_fields__:
        few, many = (getattr(figures, name) for figures in found)
        print(f"{name:14}{few:12.2f}{many:12.2f}" + (f"{many / few:12.2f}" if few else ""))
    if wanted.json:
        named = {table.name: asdict(figures) for table, figures in zip(tables, found, strict=True)}
        wanted.json.write_text(json.dumps(named, indent=2))


def measure(tables: tuple[Path, ...], lines: int) -> list[Figures]:
    """The figures of each table; what is short is measured in turn, for a disk's pace changes."""
    daemons = [daemon(table, lines) for table in tables]
    openings = [[timed(lambda table=table: fold(table / "state")) for table in tables] for _ in range(9)]  # type: ignore[misc]  # a lambda's default has no type
    appending, trimming = writes([table / "state" for table in tables])
    found = []
    for number, table in enumerate(tables):
        ready, delays = daemons[number]
        trims = trimming[number]
        found.append(
            Figures(
                ready,
                statistics.median(delays),
                high(delays),
                statistics.median(times[number] for times in openings),
                statistics.median(appending[number]),
                high(appending[number]),
                statistics.median(trims) if trims else 0.0,
                sum(file.stat().st_size for file in (table / "state").glob("journal.db*")) / 2**20,
            )
        )
    return found


def daemon(table: Path, lines: int) -> tuple[float, list[float]]:
    """How long a start takes, and each card after it, ms."""
    with EmbeddedBroker() as broker:
        port = int(broker.url.rsplit(":", 1)[1])
        master, slave = pty.openpty()
        tty.setraw(slave)
        with (
            subscriber(port, TOPICS["scannerd"]) as heard,
            started("scannerd", os.ttyname(slave), port, table) as running,
        ):
            return running.start_ms, paced(master, heard, deals(1), lines)


def fill(state: Path, events: int) -> None:
    """Makes a journal of whole rounds, about so many events."""
    with Journal.open(state, TABLE, create=True) as journal:
        records: list[Record] = []
        for one in history(journal, events // len(ROUND)):
            records.append(one)
            if len(records) == BATCH:
                journal.append(Batch(tuple(records)))
                records = []
        row = checkpoint(State(SETUP), Offset(0, 0)) if events else None
        journal.append(Batch(tuple(records), checkpoint=row))
        journal.append(Batch(cursor=journal.head.seq))


def history(journal: Journal, rounds: int) -> Iterator[Record]:
    """Rounds of eight events, one after another."""
    head = journal.head
    for number in range(1, rounds + 1):
        for place, kind in enumerate(ROUND):
            one = record(journal, head, kind, f"{TABLE}/{number}", DAY_0 + head.seq * 1_000_000, card(place))
            head = Head(one.seq, one.hash)
            yield one


def card(place: int) -> dict[str, object]:
    """Data as long as that of a card."""
    slot = SLOTS[place % len(SLOTS)]
    told = {"slot": slot, "hand": slot[0], "index": int(slot[1]), "card": "AS", "scanner": "shoe"}
    return {**told, "attempt": 1, "via": "scan", "by": None}


def record(  # noqa: PLR0913, PLR0917 - what an event is made of
    journal: Journal, head: Head, kind: str, round_id: str | None, wall: int, data: dict[str, object]
) -> Record:
    """The event that follows `head`."""
    event: dict[str, object] = {"contract": CONTRACT, "table": TABLE, "journal": journal.journal_id}
    event |= {"seq": head.seq + 1, "type": kind, "round": round_id, "at": utc(wall), "prev": head.hash, "data": data}
    digest, body = seal(event)
    return Record(head.seq + 1, kind, round_id, utc(wall), digest, body)


def fold(state: Path) -> None:
    """What a start does with the journal."""
    with Journal.open(state, TABLE, create=False) as journal:
        recall(journal, SETUP, Offset(0, 0))


def writes(states: list[Path], count: int = 300) -> tuple[list[list[float]], list[list[float]]]:
    """Milliseconds of single events, and of batches of old ones that go, one journal after another."""
    appending: list[list[float]] = [[] for _ in states]
    trimming: list[list[float]] = [[] for _ in states]
    with ExitStack() as stack:
        journals = [stack.enter_context(Journal.open(state, TABLE, create=False)) for state in states]
        for step in range(count):
            for number, journal in enumerate(journals):
                one = record(journal, journal.head, "scanner_up", None, DAY_0, {"scanner": "shoe", "detail": None})
                begin = time.monotonic_ns()
                journal.append(Batch((one,)))
                appending[number].append((time.monotonic_ns() - begin) / 1e6)
                if step % 10 == 0 and journal.cursor > RETAINED * count:
                    begin = time.monotonic_ns()
                    journal.trim(journal.cursor, utc(2 * DAY_0), RETAINED)
                    trimming[number].append((time.monotonic_ns() - begin) / 1e6)
    return appending, trimming


def timed(what: Callable[[], object]) -> float:
    """Milliseconds that it takes."""
    begin = time.monotonic_ns()
    what()
    return (time.monotonic_ns() - begin) / 1e6


def high(times: list[float]) -> float:
    """The 99th percentile."""
    return sorted(times)[int(len(times) * 0.99)]


if __name__ == "__main__":
    main()
