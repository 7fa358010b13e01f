"""How fast `scannerd verify` is, on one core and on all, beside the decoder alone in the same run; and where time goes.

    python -m bench verifying [--reads 60000] [--jobs 2] [--recording FILE] [--profile]

The recording is one of a `line` scanner without faults, or the one that is named, with its expected file beside it. The
stages are those of a verification, each run on top of those before it; their figures are of CPU time, so that a machine
that is busy with something else tells the same. A table's year of ten million reads in four minutes on two cores wants
21,000 reads a second of each.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from replaying import deal

from scannerd.recording.recorded_table import driver_of, replay_of
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, ScanlogReader, reading
from scannerd.verify.expected import Expected
from scannerd.verify.findings import compare, told_by
from scannerd.verify.outcome import Wish
from scannerd.verify.pool import verify_all
from scannerd.verify.verifying import verify

WANTED = 25_000
YEAR = 10_000_000
LONG, SHORT = 10, 1

PEAK = """
import resource, sys
from pathlib import Path
from scannerd.verify.verifying import verify
assert not verify(Path(sys.argv[1])).differences
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    """Prints the stages, the whole on all cores, and memory; or a profile."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        recording = options.recording or _dealt(Path(folder) / "dealt.scanlog", options.reads)
        if options.profile:
            _profile(recording)
            return
        reads = _chunks(recording)
        _stages(recording, reads)
        _all_cores(recording, Path(folder), reads, options.jobs)
        _memory(Path(folder), options.reads // 4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=60_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--profile", action="store_true", help="the functions that take the most time of their own")
    return parser.parse_args()


def _dealt(path: Path, reads: int) -> Path:
    path.write_bytes(deal(reads))
    verify(path, wish=Wish(update=True))
    return path


def _chunks(recording: Path) -> int:
    with reading(recording, print) as reader:
        return sum(isinstance(entry, Chunk) for entry in reader)


def _stages(recording: Path, reads: int) -> None:
    """Each stage again from the beginning, so that none profits from what another left behind."""
    registry = Registry()
    file = Expected(recording.with_suffix(".expected.jsonl"))
    stages: dict[str, Callable[[], object]] = {
        "read lines": lambda: _with_reader(recording, lambda reader: reader),
        "decode": lambda: _with_reader(recording, lambda reader: _decoded(reader, registry)),
        "decide": lambda: _with_reader(
            recording, lambda reader: replay_of(reader.header, recording, registry, print).play(iter(reader))
        ),
        "tell events": lambda: _with_reader(
            recording, lambda reader: told_by(reader, recording, registry, print, prompts=False)
        ),
        "compare": lambda: compare(recording, [file], registry, print),
        "verify": lambda: verify(recording, registry=registry),
    }
    taken = {name: _cpu(run) for name, run in stages.items()}
    print(f"{'up to here':14}{'reads/s':>12}{'us/read':>10}{'share':>8}   (CPU time, one process)")
    before = 0.0
    for name, seconds in taken.items():
        own = max(0.0, seconds - before) / taken["verify"]
        print(f"{name:14}{reads / seconds:12,.0f}{seconds / reads * 1e6:10.1f}{own:8.0%}")
        before = seconds
    ratio = taken["verify"] / taken["decode"]
    print(f"verify: {ratio:.1f} times decode only; {reads / taken['verify'] / WANTED:.2f} times the {WANTED:,} wanted")


def _with_reader(recording: Path, play: Callable[[ScanlogReader], Iterable[object]]) -> None:
    with reading(recording, print) as reader:
        deque(play(reader), maxlen=0)


def _decoded(reader: ScanlogReader, registry: Registry) -> Iterable[object]:
    decoders = {name: driver_of(name, keys, registry).decoder(0) for name, keys in reader.header.scanners.items()}
    return (decoders[entry.scanner].feed(entry.data, entry.t) for entry in reader if isinstance(entry, Chunk))


def _cpu(run: Callable[[], object]) -> float:
    """The least of three times, in seconds."""
    return min(_once(run) for _ in range(3))


def _once(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def _all_cores(recording: Path, folder: Path, reads: int, jobs: int) -> None:
    """The same recording twice for each process."""
    copies = []
    for number in range(2 * jobs):
        copy = folder / f"copy-{number}.scanlog"
        for suffix in (".scanlog", ".expected.jsonl"):
            shutil.copyfile(recording.with_suffix(suffix), copy.with_suffix(suffix))
        copies.append(copy)
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    wrong = sum(bool(outcome.differences or outcome.error) for outcome in verify_all(copies, jobs))
    wall = time.perf_counter() - begin
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    total = reads * len(copies)
    print(f"{jobs} processes: {total / wall:,.0f} reads/s by the clock, {total / cpu:,.0f} reads/s of CPU time in each")
    minutes = [YEAR / rate / 60 for rate in (total / cpu * jobs, total / wall)]
    print(
        f"ten million reads: {minutes[0]:.1f} min if the cores have nothing else to do, {minutes[1]:.1f} as busy as now"
    )
    if wrong:
        raise SystemExit(f"{wrong} recordings are not as expected")


def _memory(folder: Path, reads: int) -> None:
    """The most memory of a fresh process each for a recording and for one ten times as long."""
    peaks = []
    for times in (SHORT, LONG):
        recording = _dealt(folder / f"long-{times}.scanlog", reads * times // LONG)
        done = subprocess.run([sys.executable, "-c", PEAK, str(recording)], capture_output=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    print(f"memory: {peaks[0]:.1f} MiB for {reads // LONG:,} reads, {peaks[1]:.1f} MiB for {reads:,}")


def _profile(recording: Path) -> None:
    profile = cProfile.Profile()
    profile.runcall(verify, recording)
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
