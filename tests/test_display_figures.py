"""The figures at /metrics, and the dashboard and alert rules that are made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scannerd.core.events import ScannerWentDown
from scannerd.display.figures import NAMES
from scannerd.mqtt.notices import Acknowledged, Connected, Disconnected
from tests.showing import Browser, Show, showing

CONFIG = Path(__file__).parent.parent / "config"
MADE_OF_FIGURES = (CONFIG / "grafana" / "scannerd.json", CONFIG / "prometheus" / "scannerd.rules.yml")


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table with an open round."""
    with showing(tmp_path) as made:
        yield made


def figures(show: Show) -> dict[str, float]:
    """Every sample as Prometheus would read it: `name{label,…}` without the table's own label."""
    told = Browser(show.port).get("/metrics").body.decode()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(told):
        for sample in family.samples:
            assert sample.labels.get("table") == "tp-01", sample
            labels = ",".join(value for name, value in sorted(sample.labels.items()) if name != "table")
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_reads_are_counted_by_what_became_of_them(show: Show) -> None:
    """A read counts as accepted, as rejected with its reason, or as a bounce, and each of them as a read."""
    show.deal("AS")
    show.take(show.table.read("AS"))
    show.misread()
    found = figures(show)
    assert found["scannerd_cards_accepted_total{shoe,scan}"] == 1
    assert found["scannerd_scans_rejected_total{bad_frame,shoe}"] == 1
    assert found["scannerd_bounces_total{shoe}"] == 1
    assert found["scannerd_reads_total{shoe}"] == 3


def test_card_entered_by_hand_is_no_read(show: Show) -> None:
    """A card that a supervisor typed counts as accepted by hand, and as no read."""
    show.take(show.table.asked("enter", id="c", slot="A1", card="AS", by="Ana", reason="worn"))
    found = figures(show)
    assert found["scannerd_cards_accepted_total{,manual}"] == 1
    assert "scannerd_reads_total{shoe}" not in found


def test_time_to_the_journal_is_measured(show: Show) -> None:
    """From the bytes of a read to its event in the journal: once for each read."""
    show.deal("AS", "KH")
    found = figures(show)
    assert found["scannerd_scan_to_journal_seconds_count{}"] == 2
    assert found["scannerd_scan_to_journal_seconds_bucket{0.0005}"] == 2


def test_time_to_the_acknowledgement_is_measured(show: Show) -> None:
    """From the bytes of a read to the broker's acknowledgement, once each, as far as the broker has come."""
    show.deal("AS", "KH")
    seqs = [int(str(event["seq"])) for event in show.run(show.table.events) if event["type"] == "card_accepted"]
    show.table.clock.move(150_000)
    show.tap(Acknowledged(show.table.clock.now(), seqs[0]))
    found = figures(show)
    assert found["scannerd_scan_to_acknowledge_seconds_count{}"] == 1
    assert found["scannerd_scan_to_acknowledge_seconds_sum{}"] == 1.15
    show.tap(Acknowledged(show.table.clock.now(), seqs[1] + 1))
    assert figures(show)["scannerd_scan_to_acknowledge_seconds_count{}"] == 1, "the next event is not counted yet"
    show.misread()
    assert figures(show)["scannerd_scan_to_acknowledge_seconds_count{}"] == 3


def test_rounds_are_counted_by_their_end(show: Show) -> None:
    """A round ends completed or voided."""
    show.deal("AS", "KH", "9D", "2C", "7S", "QH")
    show.run(lambda: show.table.pass_time(1_000_000))
    show.take(show.table.asked("void", id="c", reason="spilt"))
    found = figures(show)
    assert found["scannerd_rounds_ended_total{completed}"] == 1
    assert found["scannerd_rounds_ended_total{voided}"] == 1


def test_scanner_and_alarms_are_shown(show: Show) -> None:
    """A scanner that is lost is down, and its loss is counted; an alarm that is up is 1."""
    assert figures(show)["scannerd_scanner_up{shoe}"] == 1
    show.take(ScannerWentDown(show.table.clock.now(), "shoe", "EIO"))
    show.take(show.table.up())
    show.run(lambda: show.table.pass_time(31_000_000))
    found = figures(show)
    assert found["scannerd_scanner_losses_total{shoe}"] == 1
    assert found["scannerd_scanner_up{shoe}"] == 1
    assert found["scannerd_alarm{stalled,}"] == 1
    assert found["scannerd_alarms_raised_total{stalled}"] == 1


def test_reconnects_are_counted(show: Show) -> None:
    """The first connection to a broker is none; each after it is a reconnect."""
    now = show.table.clock.now()
    assert figures(show)["scannerd_broker_connected{}"] == 0
    for notice in (Connected(now, "b:1883"), Disconnected(now, "gone"), Connected(now, "b:1883")):
        show.tap(notice)
    found = figures(show)
    assert found["scannerd_broker_reconnects_total{}"] == 1
    assert found["scannerd_broker_connected{}"] == 1


def test_outbox_is_shown_with_its_age(show: Show) -> None:
    """What the broker has not acknowledged is counted, and the oldest has an age."""
    show.run(lambda: show.table.pass_time(5_000_000))
    found = figures(show)
    assert found["scannerd_outbox_depth{}"] == len(show.run(show.table.events))
    assert found["scannerd_outbox_oldest_age_seconds{}"] == 5


def test_every_figure_has_its_name_in_the_list(show: Show) -> None:
    """What `/metrics` tells is what `NAMES` promises, all of it."""
    show.deal("AS")
    show.misread()
    told = Browser(show.port).get("/metrics").body.decode()
    helped = set(re.findall(r"^# HELP (\S+)", told, re.MULTILINE))
    assert set(NAMES) == {name for name in helped if not name.endswith("_created")}


@pytest.mark.parametrize("path", MADE_OF_FIGURES, ids=lambda path: path.name)
def test_dashboard_and_alerts_use_figures_that_exist(path: Path) -> None:
    """Each metric that the dashboard or an alert rule asks for is one that we tell."""
    used = set(re.findall(r"\bscannerd_[a-z_]+", path.read_text(encoding="utf-8")))
    assert len(used) > 5
    assert set() == {re.sub(r"_(bucket|sum|count)$", "", name) for name in used} - set(NAMES)


def test_dashboard_shows_every_figure() -> None:
    """No figure is told that the dashboard does not show."""
    text = MADE_OF_FIGURES[0].read_text(encoding="utf-8")
    assert [] == [name for name in NAMES if name not in text]
    panels = json.loads(text)["panels"]
    assert len(panels) == len({panel["id"] for panel in panels})
