"""Targets: each driver's decoder, with the options that the corpus has; what must hold stands in `promises`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from zlib import crc32

from fuzz.promises import SECOND, try_channel, try_decoder, try_memory
from fuzz.scripts import Step, read, recorded, written
from fuzz.target import RECORDINGS, Kept, Target, quiet
from scannerd.codebooks import Codebook, load_codebook
from scannerd.config.settings import Round
from scannerd.contract import Driver, DriverOptions
from scannerd.recording.recorded_table import driver_of
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, End, Header, Link, Order, ScanlogWriter, reading

CAPS = {
    "angel-eye": 128,
    "bee-tek": 64,
    "hid-keyboard": 65 * 24,
    "hid-pos": 257 * 64,
    "rfid-serial": 16,
    "ssi": 256 * 9 + 257,
}
"""The longest `pending` in bytes, as the drivers' modules have it; codes in parts weigh more than their characters.
That of `line` is an option, and its delimiters."""

WEIGHED = 256
"""One input in so many is weighed too, always the same ones: that takes longer than all else."""

_WITHOUT = {"replay", "simulator", "usb-bulk"}
"""Drivers without a decoder of their own: `usb-bulk` has that of `line`, the others whichever they are told."""

_ADVICE = """Replay it: .venv/bin/scannerd replay {file}
When the fault is mended, give it a note of one sentence and what must come of it, and move it to tests/recordings/."""


@dataclass(frozen=True)
class Variant:
    """A driver with options that the corpus has.

    Attributes:
        stanza: the scanner as a header writes it, without a hand.
        driver: the driver that it makes.
        codebook: what codes mean.
    """

    stanza: dict[str, object]
    driver: Driver[DriverOptions]
    codebook: Codebook


class DecoderTarget(Target):
    """A driver's decoder, its channel and the core; the first byte of an input chooses the options."""

    longest = 1024

    def __init__(self, driver: str, registry: Registry) -> None:
        """Takes the driver's name."""
        self.name = driver
        self.about = f"the decoder of `{driver}`, whole and cut, with its channel and the core"
        self._registry = registry

    @cached_property
    def variants(self) -> list[Variant]:
        """The options under which the corpus has this driver, each once."""
        found = {json.dumps(stanza, sort_keys=True): stanza for _, stanza, _ in self._scanners()}
        return [self._variant(found[key]) for key in sorted(found)]

    def seeds(self) -> Iterator[bytes]:
        """What each scanner of this driver does in the corpus."""
        stanzas = [variant.stanza for variant in self.variants]
        for name, stanza, entries in self._scanners():
            yield written(stanzas.index(stanza), recorded(entries, name))[: self.longest]
        for choice, stanza in enumerate(stanzas):
            yield written(choice, _endless(next(entries for _, one, entries in self._scanners() if one == stanza)))

    def check(self, data: bytes) -> None:
        """See `promises`."""
        variant, steps = self._read(data)
        driver = variant.driver
        cap = CAPS.get(self.name) or int(getattr(driver.options, "max_length", 0)) + 2
        try_decoder(driver, steps, cap)
        if crc32(data) % WEIGHED == 0:
            try_memory(driver, steps)
        in_a_row = not driver.reports and self.name != "ssi"
        try_channel(driver, variant.codebook, steps, in_a_row=in_a_row)

    def kept(self, data: bytes) -> Kept:
        """A recording, to be replayed, given its note and expected events, and moved to the corpus."""
        variant, steps = self._read(data)
        return Kept(".scanlog", recording({"found": variant.stanza}, steps), _ADVICE)

    def _read(self, data: bytes) -> tuple[Variant, list[Step]]:
        choice, steps = read(data)
        return self.variants[choice % len(self.variants)], steps

    def _variant(self, stanza: dict[str, object]) -> Variant:
        driver = driver_of("found", stanza, self._registry)
        return Variant(stanza, driver, load_codebook(str(stanza.get("codes", driver.codes)), RECORDINGS))

    def _scanners(self) -> Iterator[tuple[str, dict[str, object], list[Chunk | Link]]]:
        """Each scanner of this driver in the corpus: its name, its stanza, and what happens in the recording."""
        for path in sorted(RECORDINGS.glob("*.scanlog")):
            with reading(path, quiet) as reader:
                entries = [entry for entry in reader if isinstance(entry, Chunk | Link)]
            for name, keys in reader.header.scanners.items():
                if keys["driver"] == self.name:
                    yield name, {key: value for key, value in keys.items() if key != "hand"}, entries


def _endless(entries: Sequence[Chunk | Link]) -> list[Step]:
    """A frame of a recording without its end, which goes on and on; then whole ones, joined and half."""
    chunks = [entry.data for entry in entries if isinstance(entry, Chunk) and entry.data]
    frame = max(chunks[:8], key=len)
    begun, middle = frame[: len(frame) // 2 + 1], frame[len(frame) // 2 :][:1]
    return [
        Step(0, begun),
        Step(0, middle * 200),
        Step(0, frame),
        Step(0, frame * 2),
        Step(0, begun),
        Step(SECOND, frame),
    ]


def recording(scanners: Mapping[str, dict[str, object]], steps: Sequence[Step], *orders: Order) -> bytes:
    """A recording of what was found, rounds opened by their first card."""
    target = BytesIO()
    header = Header(
        scanlog=1,
        table="tp-01",
        game="teen-patti-20-20",
        recorded_at=datetime(2026, 11, 30, 2, 45, tzinfo=UTC),
        round=Round(start="auto", max_attempts=0),
        scanners=dict(scanners),
        note="Found by the fuzzer.",
    )
    writer, t = ScanlogWriter(target, header), SECOND
    for order in orders:
        writer.write(order)
    for one in steps:
        t += one.pause
        writer.write(Chunk(t, "found", one.chunk, one.late))
        if one.lost:
            writer.write(Link(t, "found", up=False, detail="lost"))
            writer.write(Link(t, "found", up=True))
    writer.write(End(t + 5 * SECOND))
    return target.getvalue()


def drivers(registry: Registry) -> list[str]:
    """The drivers with a decoder of their own."""
    return [name for name in registry.names if name not in _WITHOUT]
