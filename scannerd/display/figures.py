"""The figures at `/metrics`, for Prometheus: counted from the journal as it grows, and read off the snapshot.

Every name is in `NAMES`; the dashboard and the alert rules in `config/` use no other. Counters begin at 0 with the
process, as Prometheus expects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from scannerd.display.fanout import MARKS
from scannerd.display.hub import Hub
from scannerd.journal import Record
from scannerd.messages import CONTRACT, microseconds

_JOURNAL_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_ACKNOWLEDGE_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0)

NAMES = {
    "scannerd_reads_total": "Reads: accepted, rejected, and bounces.",
    "scannerd_cards_accepted_total": "Cards that filled a slot, by scan or by hand.",
    "scannerd_scans_rejected_total": "Reads that were rejected, by reason.",
    "scannerd_bounces_total": "The same card again too soon to be meant.",
    "scannerd_rounds_ended_total": "Rounds that were completed or voided.",
    "scannerd_alarms_raised_total": "Alarms raised.",
    "scannerd_scanner_losses_total": "How often a scanner was lost.",
    "scannerd_scan_to_journal_seconds": "From the bytes of a read to its event synced in the journal.",
    "scannerd_scan_to_acknowledge_seconds": "From the bytes of a read to the broker's acknowledgement of its event.",
    "scannerd_broker_reconnects_total": "Connections to a broker after the first.",
    "scannerd_broker_connected": "Whether a broker has us.",
    "scannerd_outbox_depth": "Events that the broker has not acknowledged.",
    "scannerd_outbox_oldest_age_seconds": "Age of the oldest of them.",
    "scannerd_scanner_up": "Whether a scanner can be read.",
    "scannerd_alarm": "1 for each alarm that is up.",
    "scannerd_engine_alive": "Whether the engine turns.",
    "scannerd_pages_open": "Pages that listen.",
    "scannerd_build_info": "Version, contract, game and configuration.",
}
"""Every metric with its help text."""


Values: TypeAlias = Mapping[tuple[str, ...], float]
"""A value for each combination of labels."""


class Figures:
    """Counts in the pages' thread."""

    def __init__(self, hub: Hub, table: str) -> None:
        """All is 0."""
        self._hub, self._fanout = hub, hub.fanout
        self._table = table
        self._registry = CollectorRegistry()
        self._accepted = self._counter("scannerd_cards_accepted", "scanner", "via")
        self._rejected = self._counter("scannerd_scans_rejected", "scanner", "reason")
        self._ended = self._counter("scannerd_rounds_ended", "end")
        self._alarms = self._counter("scannerd_alarms_raised", "alarm")
        self._losses = self._counter("scannerd_scanner_losses", "scanner")
        self._journalled = self._histogram("scannerd_scan_to_journal_seconds", _JOURNAL_BUCKETS)
        self._acknowledged = self._histogram("scannerd_scan_to_acknowledge_seconds", _ACKNOWLEDGE_BUCKETS)
        self._reads: dict[str, int] = {}
        self._awaited: dict[int, int] = {}
        self._counted_to = 0
        self._registry.register(_Reading(self))
        hub.follow = self.follow

    def text(self) -> bytes:
        """All figures in Prometheus' own format."""
        self.follow()
        return generate_latest(self._registry)

    def follow(self) -> None:
        """Counts what was journalled and acknowledged since the last time."""
        while self._fanout.written:
            written = self._fanout.written.popleft()
            for record in written.records:
                self._take(record, written.wall)
        self._settle()

    def _take(self, record: Record, wall: int) -> None:
        self._counted_to = record.seq
        data: Mapping[str, Any] = json.loads(record.body)["data"]
        match record.type:
            case "card_accepted":
                self._accepted.labels(self._table, data["scanner"] or "", data["via"]).inc()
            case "scan_rejected":
                self._rejected.labels(self._table, data["scanner"], data["reason"]).inc()
            case "round_completed" | "round_voided":
                self._ended.labels(self._table, record.type.removeprefix("round_")).inc()
            case "alarm_raised":
                self._alarms.labels(self._table, data["alarm"]).inc()
            case "scanner_down":
                self._losses.labels(self._table, data["scanner"]).inc()
            case _:
                return
        if record.type == "scan_rejected":
            self._hub.refuse(record.seq, data)
        if record.type == "scan_rejected" or data.get("via") == "scan":
            self._read(record, str(data["scanner"]), wall)

    def _settle(self) -> None:
        """Takes the times at which the broker acknowledged, as far as the events have been counted."""
        marks = self._fanout.tap.acknowledged
        while marks and marks[0].seq <= self._counted_to:
            mark = marks.popleft()
            while self._awaited and (seq := next(iter(self._awaited))) <= mark.seq:
                self._acknowledged.labels(self._table).observe(_seconds(mark.wall - self._awaited.pop(seq)))

    def _read(self, record: Record, scanner: str, wall: int) -> None:
        self._reads[scanner] = self._reads.get(scanner, 0) + 1
        at = microseconds(record.at)
        self._journalled.labels(self._table).observe(_seconds(wall - at))
        self._awaited[record.seq] = at
        if len(self._awaited) > MARKS:
            del self._awaited[next(iter(self._awaited))]

    def _counter(self, name: str, *labels: str) -> Counter:
        return Counter(name, NAMES[f"{name}_total"], ("table", *labels), registry=self._registry)

    def _histogram(self, name: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, NAMES[name], ("table",), buckets=buckets, registry=self._registry)

    # --- read at the moment of the question ---

    def collect(self) -> Iterator[Metric]:
        """What is not counted but read."""
        bounces = self._hub.links.bounces()
        scanners = sorted({*self._reads, *bounces})
        reads: Values = {(name,): float(self._reads.get(name, 0) + bounces.get(name, 0)) for name in scanners}
        yield self._counted("scannerd_reads", ("scanner",), reads)
        yield self._counted("scannerd_bounces", ("scanner",), {(name,): float(n) for name, n in bounces.items()})
        yield self._counted("scannerd_broker_reconnects", (), {(): float(max(0, self._fanout.tap.connections - 1))})
        yield self._gauge("scannerd_broker_connected", (), {(): float(self._fanout.tap.connected)})
        yield self._gauge("scannerd_engine_alive", (), {(): float(self._hub.alive)})
        yield self._gauge("scannerd_pages_open", (), {(): float(self._hub.pages)})
        yield from self._of_status(json.loads(self._fanout.shown.topics.get("status", b"null")))

    def _of_status(self, status: Mapping[str, Any] | None) -> Iterator[Metric]:
        if status is None:
            return
        up: Values = {(name,): float(state == "up") for name, state in status["scanners"].items()}
        yield self._gauge("scannerd_scanner_up", ("scanner",), up)
        alarms: Values = {(alarm["alarm"], alarm["scanner"] or ""): 1.0 for alarm in status["alarms"]}
        yield self._gauge("scannerd_alarm", ("alarm", "scanner"), alarms)
        yield self._gauge("scannerd_outbox_depth", (), {(): float(status["outbox"]["depth"])})
        yield self._gauge("scannerd_outbox_oldest_age_seconds", (), {(): self._age(status["outbox"]["oldest_at"])})
        built: Values = {(status["version"], CONTRACT, status["game"], status["config_digest"]): 1.0}
        yield self._gauge("scannerd_build_info", ("version", "contract", "game", "config_digest"), built)

    def _age(self, oldest_at: str | None) -> float:
        if oldest_at is None:
            return 0.0
        return max(0.0, self._hub.links.wall() / 1_000_000 - datetime.fromisoformat(oldest_at).timestamp())

    def _counted(self, name: str, labels: tuple[str, ...], values: Values) -> Metric:
        family = CounterMetricFamily(name, NAMES[f"{name}_total"], labels=("table", *labels))
        for key, value in values.items():
            family.add_metric((self._table, *key), value)
        return family

    def _gauge(self, name: str, labels: tuple[str, ...], values: Values) -> Metric:
        family = GaugeMetricFamily(name, NAMES[name], labels=("table", *labels))
        for key, value in values.items():
            family.add_metric((self._table, *key), value)
        return family


class _Reading:
    """Asks the figures at each scrape."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        """Called by the registry."""
        return self._figures.collect()

    def describe(self) -> Iterable[Metric]:
        """Nothing to promise: what there is depends on the table."""
        return ()


def _seconds(micros: int) -> float:
    return max(0, micros) / 1_000_000
