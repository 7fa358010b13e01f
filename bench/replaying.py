"""How fast a recording is replayed: bytes to events, on one core, beside the decoder alone on the same lines.

    python bench/replaying.py [--reads 60000]

The recording is one of a `line` scanner without faults. Lines are parsed, decoded, decided and told as lines of JSON,
which are built and thrown away.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import time
from pathlib import Path

from scannerd.core.cards import DECK
from scannerd.messages import dumps
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, ScanlogReader

SLOTS = 6
HEADER = {
    "scanlog": 1,
    "table": "bench",
    "game": "teen-patti-20-20",
    "recorded_at": "2026-11-30T00:00:00Z",
    "round": {"start": "auto"},
    "scanners": {"desk": {"driver": "line"}},
}


def main() -> None:
    """Prints reads a second, and memory before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=60_000)
    reads = parser.parse_args().reads
    recording = deal(reads)
    registry = Registry()
    alone = decode_only(recording, registry)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    reader = ScanlogReader(io.BytesIO(recording), "bench", print)
    replay = replay_of(reader.header, Path("bench.scanlog"), registry, print)
    told = sum(1 for line in lines(replay, iter(reader)) if dumps(line))
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"replay: {reads / seconds:,.0f} reads/s, {told:,} events; {alone / (reads / seconds):.1f} times decode only")
    print(f"decode only: {alone:,.0f} reads/s; memory grew by {(after - before) / 1024:.1f} MiB")


def deal(reads: int) -> bytes:
    """A recording of that many reads, six a round."""
    order, t = random.Random(1), 0
    entries: list[dict[str, object]] = [HEADER]
    for number in range(reads):
        if number % SLOTS == 0:
            cards, t = order.sample(DECK, SLOTS), t + 3_500
        t += 500
        entries.append({"t": t / 1_000, "scanner": "desk", "rx": f"{cards[number % SLOTS]}\r\n"})
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def decode_only(recording: bytes, registry: Registry) -> float:
    """Reads a second through the recording's parser and the decoder, and nothing else."""
    reader = ScanlogReader(io.BytesIO(recording), "bench", print)
    found = registry.load("line")
    decoder = found(found.Options()).decoder(0)
    begin, made = time.perf_counter(), 0
    for entry in reader:
        if isinstance(entry, Chunk):
            made += len(decoder.feed(entry.data, entry.t))
    return made / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
