"""Where the terminal's view comes from: the daemon's own pages, or the broker alone."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scannerd.client import BrokerSettings
from scannerd.watching.broker import BrokerSource
from scannerd.watching.desk import Outcome
from scannerd.watching.known import Happened, Known, Told, learned
from scannerd.watching.page import PageSource, Place, table_at
from scannerd.watching.source import Source
from tests.certificates import Authority
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    Mosquitto,
    StartBroker,
    broker_fixture,
    free_port,
    start_broker_fixture,
)
from tests.showing import PATIENCE, PIN, PIN_LINE, Show, showing
from tests.watched import event, prompt_fields, round_fields, status_fields
from tests.wire import Subscriber

PREFIX = "scannerd/v1/tp-01"


class Ear:
    """Learns what a source tells, and waits for it with a bound."""

    def __init__(self, source: Source) -> None:
        """Begins to listen."""
        self._source = source
        self._told: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self.known = Known(source.table)
        source.open(self._told.put)

    def wait(self, wanted: Callable[[Known], bool]) -> Known:
        """What is known, once it is as `wanted`."""
        while not wanted(self.known):
            self.known = learned(self.known, self._told.get(timeout=PATIENCE))
        return self.known

    def wait_standing(self, *, standing: bool) -> None:
        """Returns once the source is connected, or is not; it tells something at each change."""
        while self._source.standing is not standing:
            self.known = learned(self.known, self._told.get(timeout=PATIENCE))

    def wait_told(self, count: int) -> None:
        """Returns once the source has told so much."""
        for _ in range(count):
            self.known = learned(self.known, self._told.get(timeout=PATIENCE))


@contextmanager
def listening(source: Source) -> Iterator[Ear]:
    """An ear on a source; closed at the end."""
    try:
        yield Ear(source)
    finally:
        source.close()


def page(show: Show, **place: object) -> PageSource:
    """The pages of a table on show."""
    certificate = place.get("certificate")
    assert certificate is None or isinstance(certificate, Path)
    return PageSource(Place("tp-01", "127.0.0.1", show.port, show.directory, certificate))


def mqtt(broker: Mosquitto, **login: str) -> BrokerSettings:
    """How to reach the table by the broker."""
    return BrokerSettings((broker.url,), "scannerd", "tp-01", "watch-1", **login)  # type: ignore[arg-type] # name and password


def codes(known: Known) -> str | None:
    """The prompt's code."""
    return None if known.prompt is None else known.prompt.code


def test_pages_tell_topics_and_the_journals_events(tmp_path: Path) -> None:
    """From the pages the view gets each change, and its events from the journal, older ones too."""
    with showing(tmp_path) as show:
        show.deal("AS")
        with listening(page(show)) as ear:
            known = ear.wait(lambda known: any(event.type == "card_accepted" for event in known.events))
            assert known.round is not None
            assert ("A1", "AS") == next(iter(known.round.cards.items()))
            show.deal("KH")
            ear.wait(lambda known: known.round is not None and known.round.due == "A2")
            ear.wait(lambda known: sum(event.type == "card_accepted" for event in known.events) == 2)


def test_pages_carry_out_actions_with_the_pin(tmp_path: Path) -> None:
    """An action through the pages is refused without the PIN and journalled with the name that signed in."""
    with showing(tmp_path) as show, listening(page(show)) as ear:
        source = page(show)
        assert "signed_out" == source.act("Ana", "hold", {}).kind
        assert Outcome("tp-01", "wrong_pin", {"left": "4"}) == source.sign_in("Ana", "000000")
        assert "signed_in" == source.sign_in("Ana", PIN).kind
        assert "done" == source.act("Ana", "hold", {"reason": "card on the floor"}).kind
        known = ear.wait(lambda known: any(event.type == "round_held" for event in known.events))
        held = known.events[-1]
        assert ("Ana", "card on the floor") == (held.data["by"], held.data["reason"])
        assert "failed" == source.act("Ana", "hold", {}).kind
        assert "reason_needed" == source.act("Ana", "void", {}).kind


def test_pages_lock_after_five_wrong_pins(tmp_path: Path) -> None:
    """The daemon counts wrong PINs of terminals too: the fifth locks, for the right one as well."""
    with showing(tmp_path) as show:
        source = page(show)
        kinds = [source.sign_in("Ana", "000000").kind for _ in range(5)]
        assert ["wrong_pin"] * 4 + ["locked"] == kinds
        assert Outcome("tp-01", "locked", {"minutes": "5"}) == source.sign_in("Ana", PIN)


def test_pages_without_a_pin_let_nobody_act(tmp_path: Path) -> None:
    """Where the table has no PIN nobody can sign in."""
    with showing(tmp_path, pin=None) as show:
        assert "no_pin" == page(show).sign_in("Ana", PIN).kind


def test_pages_over_tls_are_trusted_by_their_certificate(tmp_path: Path) -> None:
    """Pages with a certificate are reached by https, and only the configured certificate is trusted."""
    authority = Authority(tmp_path, "ours")
    own, other = authority.issue("table"), Authority(tmp_path, "theirs").issue("other")
    with (
        showing(tmp_path / "table", tls_cert=own.cert, tls_key=own.key) as show,
        listening(page(show, certificate=own.cert)) as ear,
    ):
        ear.wait(lambda known: codes(known) == "deal")
        stranger = page(show, certificate=other.cert)
        assert "failed" == stranger.sign_in("Ana", PIN).kind
        assert "signed_in" == page(show, certificate=own.cert).sign_in("Ana", PIN).kind


def test_journal_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Who may not read the journal sees the table all the same, and that the events are missing."""
    with showing(tmp_path / "table") as show:
        source = PageSource(Place("tp-01", "127.0.0.1", show.port, tmp_path / "elsewhere"))
        with listening(source) as ear:
            known = ear.wait(lambda known: known.unreadable)
            assert ("deal", ()) == (codes(known), known.events)


def test_daemon_that_ends_is_told(tmp_path: Path) -> None:
    """When the daemon is gone the source no longer stands, and actions get no answer."""
    with showing(tmp_path) as show:
        source = page(show)
        with listening(source) as ear:
            ear.wait_standing(standing=True)
            show.display.stop()
            assert show.display.join(PATIENCE)
            ear.wait_standing(standing=False)
            assert "no_answer" == source.act("Ana", "hold", {}).kind
            assert "failed" == source.sign_in("Ana", PIN).kind


def test_pages_of_another_table_are_never_taken_for_this_one(tmp_path: Path) -> None:
    """Where another table's daemon has the port nothing of it is shown, and nothing is done to it."""
    with showing(tmp_path) as show:
        source = PageSource(Place("tp-02", "127.0.0.1", show.port, show.directory))
        with listening(source) as ear:
            ear.wait_told(1)
            assert (False, None) == (source.standing, ear.known.round)
            assert "another table" in source.sign_in("Ana", PIN).fields["message"]
            assert "signed_out" == source.act("Ana", "hold", {}).kind
        assert ("tp-01", None) == (table_at("127.0.0.1", show.port), table_at("127.0.0.1", free_port()))


def test_broker_tells_topics_and_events(broker: Mosquitto) -> None:
    """From the broker the view gets the retained topics and each event; what can't be read changes nothing."""
    with Subscriber(broker.port) as table, listening(BrokerSource(mqtt(broker))) as ear:
        for topic, fields in (("prompt", prompt_fields()), ("round", round_fields()), ("status", status_fields())):
            table.publish(f"{PREFIX}/{topic}", json.dumps(fields).encode(), retain=True)
        table.publish(f"{PREFIX}/prompt", b"{", retain=False)
        known = ear.wait(
            lambda known: known.prompt is not None and known.round is not None and known.status is not None
        )
        assert ("deal", "B1") == (codes(known), known.round and known.round.due)
        body = {
            key: getattr(event(9, "round_held", by="ana"), key) for key in ("table", "journal", "seq", "type", "round")
        }
        body |= {"at": "2026-11-30T02:45:16Z", "data": {"by": "ana"}, "hash": "0", "prev": "0"}
        table.publish(f"{PREFIX}/event/round_held", b"no event")
        table.publish(f"{PREFIX}/event/round_held", json.dumps(body).encode())
        assert ["round_held"] == [event.type for event in ear.wait(lambda known: bool(known.events)).events]


def test_broker_away_and_back_is_told(broker: Mosquitto) -> None:
    """A broker that takes us is told at once."""
    source = BrokerSource(mqtt(broker))
    with listening(source) as ear:
        ear.wait_standing(standing=True)
        broker.kill()
        assert "failed" == source.act("Ana", "hold", {}).kind


def test_rights_of_the_broker_decide(start_broker: StartBroker) -> None:
    """From the broker alone an action that its rights forbid ends with the broker's own word."""
    acl = f"user ana\ntopic read {PREFIX}/#\n"
    broker = start_broker(acl=acl, passwords={"ana": "secret"})
    source = BrokerSource(mqtt(broker, username="ana", password="secret"))
    with listening(source) as ear:
        ear.wait_standing(standing=True)
        outcome = source.act("Ana", "hold", {})
    assert "failed" == outcome.kind
    assert "the broker says: not authorized" in outcome.fields["message"]


def test_pin_is_checked_here_where_the_pages_are_off(broker: Mosquitto, tmp_path: Path) -> None:
    """With the configuration at hand and no pages, the PIN of its file is checked, and locks after five wrong ones."""
    pin = tmp_path / "pin"
    pin.write_text(PIN_LINE, encoding="ascii")
    source = BrokerSource(mqtt(broker), pin)
    assert ("pin", "signed_in") == (source.guard, source.sign_in("Ana", PIN).kind)
    kinds = [source.sign_in("Ana", "000000").kind for _ in range(5)]
    assert ["wrong_pin"] * 4 + ["locked"] == kinds
    assert Outcome("tp-01", "locked", {"minutes": "5"}) == source.sign_in("Ana", PIN)


@pytest.mark.parametrize("line", [None, "", "scrypt$1$2"])
def test_without_a_sound_pin_file_nobody_acts(broker: Mosquitto, tmp_path: Path, line: str | None) -> None:
    """A PIN file that is missing, empty or broken lets nobody in."""
    pin = tmp_path / "pin"
    if line is not None:
        pin.write_text(line, encoding="ascii")
    assert "signed_in" != BrokerSource(mqtt(broker), pin).sign_in("Ana", PIN).kind
    assert "no_pin" == BrokerSource(mqtt(broker), None).sign_in("Ana", PIN).kind


def test_nothing_told_changes_nothing() -> None:
    """A sign of life without news leaves what is known as it is."""
    blind = Known("tp-01", unreadable=True)
    assert blind == learned(blind, Happened("tp-01", ()))
