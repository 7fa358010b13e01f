"""Many recordings at once, in a process each as far as there are cores; the largest ones first.

A recording is replayed from its beginning, so that one is never split: a long one alone keeps one core, and is begun
first lest the others wait for it at the end. The always-on capture closes its files at their size for that reason too.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from scannerd.verify.verifying import Outcome, Wish, verify


def verify_all(recordings: list[Path], jobs: int, wish: Wish) -> Iterator[Outcome]:
    """Verifies recordings, in as many processes as `jobs` says, and yields each outcome when it is there."""
    if min(jobs, len(recordings)) <= 1:
        yield from (verify(recording, wish=wish) for recording in recordings)
        return
    with ProcessPoolExecutor(min(jobs, len(recordings)), initializer=_leave_ctrl_c_to_the_parent) as pool:
        try:
            waiting = [pool.submit(partial(verify, wish=wish), one) for one in largest_first(recordings)]
            yield from (done.result() for done in as_completed(waiting))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def largest_first(recordings: list[Path]) -> list[Path]:
    """By their size; what can't be looked at comes last."""
    return sorted(recordings, key=size, reverse=True)


def size(recording: Path) -> int:
    """A recording's bytes; 0 where it can't be looked at."""
    try:
        return recording.stat().st_size
    except OSError:
        return 0


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
