"""Many recordings at once, in a process each as far as there are cores; the largest ones first.

A recording is replayed from its beginning, so that one is never split: a long one alone keeps one core, and is begun
first lest the others wait for it at the end. The always-on capture closes its files at their size for that reason too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Final

from scannerd.errors import ScannerdError
from scannerd.verify.findings import Came, unheard
from scannerd.verify.outcome import NOTHING_MORE, Outcome, Wish
from scannerd.verify.verifying import discard_drafts, verify

LOOKS_S: Final = 0.2
"""Seconds between two looks at how far the processes have come."""

_shared: list[Synchronized[int]] = []
"""In a process of the pool: the bytes that all of them have behind them."""
_at: list[Path] = []
"""In a process of the pool: the recording that it is at."""

_KILLED: Final = "a process was killed before its recording was verified, as where memory runs short: try --jobs 1"


class ProcessKilled(ScannerdError):  # noqa: N818 - what befell it
    """A process of the pool was killed, as where memory runs short. Whoever started it must let it have less to do."""


def verify_all(
    recordings: list[Path], jobs: int, wish: Wish = NOTHING_MORE, came: Came = unheard
) -> Generator[Outcome, None, None]:
    """Verifies recordings, in as many processes as `jobs` says, and yields each outcome when it is there.

    Args:
        recordings: their files.
        jobs: how many processes at most, 1 or more.
        wish: what is wanted besides the comparison.
        came: told now and then how many bytes of all the recordings are behind.

    Raises:
        ProcessKilled: a process was killed from outside.
    """
    if min(jobs, len(recordings)) <= 1:
        yield from _one_by_one(recordings, wish, came)
        return
    behind: Synchronized[int] = multiprocessing.Value("q", 0)
    others = set(multiprocessing.active_children())
    begun: set[BaseProcess] = set()
    with ProcessPoolExecutor(min(jobs, len(recordings)), initializer=_begin, initargs=(behind,)) as pool:
        try:
            waiting = {pool.submit(_in_pool, one, wish) for one in largest_first(recordings)}
            begun = set(multiprocessing.active_children()) - others
            seen = behind.get_obj()  # without the lock, which a process that was killed may hold
            yield from _as_they_come(waiting, lambda: came(seen.value))
        except BaseException as why:  # Ctrl-C, or whoever asked has enough: a long recording is not waited for
            _end(begun | (set(multiprocessing.active_children()) - others), recordings)
            if isinstance(why, BrokenProcessPool):
                raise ProcessKilled(_KILLED) from None
            raise


def largest_first(recordings: list[Path]) -> list[Path]:
    """By their size; what can't be looked at comes last."""
    return sorted(recordings, key=size, reverse=True)


def size(recording: Path) -> int:
    """A recording's bytes; 0 where it can't be looked at."""
    try:
        return recording.stat().st_size
    except OSError:
        return 0


def _one_by_one(recordings: list[Path], wish: Wish, came: Came) -> Iterator[Outcome]:
    behind = 0

    def came_in_this(position: int) -> None:
        came(behind + position)

    for recording in recordings:
        yield verify(recording, wish=wish, came=came_in_this)
        behind += size(recording)
        came(behind)


def _as_they_come(waiting: set[Future[Outcome]], look: Callable[[], None]) -> Iterator[Outcome]:
    while waiting:
        done, waiting = wait(waiting, LOOKS_S, FIRST_COMPLETED)
        look()
        yield from (one.result() for one in done)


def _begin(behind: Synchronized[int]) -> None:
    """Ctrl-C is the parent's business, and without the parent there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _shared.append(behind)


def _end(processes: set[BaseProcess], recordings: list[Path]) -> None:
    """Ends processes at once, whatever they wait for, and takes away the drafts that they leave."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
        for recording in recordings:
            discard_drafts(recording, process.pid)


def _end_with_the_parent() -> None:
    """A parent that was killed ends nothing: its processes would go on, and then wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        for recording in _at:
            discard_drafts(recording, os.getpid())
        os._exit(128 + signal.SIGTERM)


def _in_pool(recording: Path, wish: Wish) -> Outcome:
    (behind,), own = _shared, 0

    def came(position: int) -> None:
        nonlocal own
        with behind.get_lock():
            behind.value += position - own
        own = position

    _at[:] = [recording]
    outcome = verify(recording, wish=wish, came=came)
    came(size(recording))
    return outcome
