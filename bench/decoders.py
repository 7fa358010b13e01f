"""How many reads a second each decoder makes beside `line`, whose frames are the plainest; one core, a read a chunk."""

from __future__ import annotations

import itertools
import time

from scannerd.registry import Registry, parse_options

READS = 20_000
STEP = 1_000_000

SAMPLES: dict[str, tuple[dict[str, object], list[bytes]]] = {
    "line": ({}, [b"AS\r\n", b"KH\r\n"]),
    "bee-tek": ({}, [b" [Game]<Card:4S> ", b" [Game]<Card:H3> "]),
    "angel-eye": ({}, [bytes.fromhex("05324481b1033435"), bytes.fromhex("053344919a033746")]),
    "rfid-serial": (
        {},
        [bytes.fromhex("0230343135443042333537323503"), bytes.fromhex("0230343135443235434431344503")],
    ),
    "ssi": ({}, [bytes.fromhex("07f30000033134fe9e"), bytes.fromhex("07f30000033339fe97")]),
    "hid-pos": ({}, [b"\x02\x02]C0AS", b"\x02\x02]C0KH"]),
}


def main() -> None:
    """Prints a row a driver."""
    rates = {name: rate(name) for name in SAMPLES}
    print(f"{'driver':14}{'reads/s':>12}{'to line':>10}")
    for name, found in rates.items():
        print(f"{name:14}{found:12,.0f}{found / rates['line']:10.2f}")


def rate(name: str) -> float:
    """Reads a second of one decoder."""
    options, chunks = SAMPLES[name]
    found = Registry().load(name)
    decoder = found(parse_options(found, options)).decoder(0)
    if found.reports:
        chunks = [chunk.ljust(64, b"\0") for chunk in chunks]
    feed, turn = decoder.feed, itertools.cycle(chunks)
    begin, made = time.perf_counter(), 0
    for count in range(READS):
        made += len(feed(next(turn), count * STEP))
    if made < READS:
        raise SystemExit(f"{name}: {made} readings of {READS} frames")
    return READS / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
