"""The alarm of too many rejected reads: by scanner and by card, over the last reads, and over a restart."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core.cards import Card
from scannerd.core.events import AlarmChanged
from scannerd.upkeep.reject_rate import ALARM, RejectRate

SCANNERS = ("shoe", "spare")
SHOE, CARDS = (ALARM, "shoe"), (ALARM, None)
FIVE_IN_20000 = (
    "scanner shoe: 5 of its last 5 reads rejected, more than 1 in 5000",
    "card AS: 5 of its last 5 reads rejected, more than 1 in 5000",
)


def good(card: str = "AS", scanner: str | None = "shoe") -> d.CardAccepted:
    """A card that was accepted; without a scanner it was typed."""
    return d.CardAccepted(1, "A1", "A", 1, Card(card), scanner, 1, "scan" if scanner else "manual", None)


def bad(
    reason: d.RejectReason = "duplicate", card: str | None = "AS", attempt: int | None = 1, scanner: str = "shoe"
) -> d.ScanRejected:
    """A read that was rejected."""
    return d.ScanRejected(1, reason, "A1", attempt, scanner, None if card is None else Card(card), None, None, None)


def unread() -> d.ScanRejected:
    """A read that gave no card, between rounds."""
    return d.ScanRejected(1, "no_read", None, None, "shoe", None, None, None, None)


class Watch:
    """Counts reads, with the alarms that are up."""

    def __init__(self, one_in: int = 10, window: int = 40) -> None:
        """Nothing was read yet."""
        self.rate = RejectRate(one_in, window, SCANNERS)
        self.up: dict[tuple[str, str | None], str | None] = {}

    def take(self, *told: d.Told) -> list[AlarmChanged]:
        """What changes after these."""
        changed = []
        for one in told:
            self.rate.count(one)
            changed += self.changes()
        return changed

    def changes(self) -> list[AlarmChanged]:
        """What changes now."""
        changed = self.rate.changes(7, self.up)
        for change in changed:
            key = change.alarm, change.scanner
            if change.up:
                assert key not in self.up
                self.up[key] = change.detail
            else:
                del self.up[key]
        return changed


def test_default_threshold_is_passed_by_the_fifth() -> None:
    """More than one in 5,000 over 20,000 reads are five rejections: four raise nothing, the fifth raises it at once."""
    watch = Watch(5_000, 20_000)
    assert [] == watch.take(*[bad()] * 4)
    assert ["shoe", None] == [change.scanner for change in watch.take(bad())]
    assert {SHOE: FIVE_IN_20000[0], CARDS: FIVE_IN_20000[1]} == watch.up


def test_one_bad_read_at_the_start_is_no_alarm() -> None:
    """One rejection in the first few reads says nothing of the rate."""
    watch = Watch()
    assert [] == watch.take(bad(), good(), good())


def test_alarm_ends_when_the_window_has_passed() -> None:
    """With enough good reads behind the rejections the alarm is over, at the read at which the rate is well again."""
    watch = Watch()
    watch.take(*[unread()] * 5)
    assert {SHOE} == set(watch.up)
    assert [] == watch.take(*[good("2C")] * 35)
    assert [(7, SHOE, False)] == [(one.at, (one.alarm, one.scanner), one.up) for one in watch.take(good("2C"))]
    assert {} == watch.up


def test_rejections_that_are_spread_raise_it_too() -> None:
    """A rate a little above the threshold raises the alarm, one a little below does not."""
    often, seldom = Watch(), Watch()
    for _ in range(20):
        often.take(*[good("2C")] * 7, unread())
        seldom.take(*[good("2C")] * 11, unread())
    assert ({SHOE}, set()) == (set(often.up), set(seldom.up))


def test_failed_tries_count_to_the_card_that_the_slot_got() -> None:
    """A worn code gives no card: its failed tries are the card's that came in the end, typed or scanned."""
    watch = Watch()
    watch.take(*[bad("no_read", card=None)] * 4, good("2C"), bad("no_read", card=None), good("2C", scanner=None))
    assert {SHOE, CARDS} == set(watch.up)
    assert str(watch.up[CARDS]).startswith("card 2C: 5 of its last 6 reads")


def test_failed_tries_of_a_round_that_is_gone_count_to_no_card() -> None:
    """What did not read in a round that was voided is not the next round's card's."""
    watch = Watch()
    opened = d.RoundOpened(1, "r-2", "teen-patti-20-20", ("A1",), None)
    watch.take(*[bad("no_read", card=None)] * 5, opened, good("2C"))
    assert {SHOE} == set(watch.up)


def test_cards_share_one_alarm_that_names_them() -> None:
    """A second worn card is told: the alarm of the cards is cleared and raised anew with both."""
    watch = Watch()
    for card in ("AS", "2C"):
        for scanner in ("shoe", "spare"):
            watch.take(*[bad(card=card, scanner=scanner)] * 3)
    detail = watch.up[CARDS]
    assert detail is not None
    assert ["card 2C: 5", "card AS: 5"] == [part[:10] for part in detail.split("; ")]


@pytest.mark.parametrize(
    "told",
    [
        bad("no_round", attempt=None),
        bad("held", attempt=None),
        bad("extra_card", attempt=None),
        bad("offline", attempt=None),
        bad("stale", attempt=None),
        good(scanner=None),
        d.DaemonStopped(1, "SIGTERM"),
    ],
)
def test_what_tells_nothing_of_reading_is_not_counted(told: d.Told) -> None:
    """A card at the wrong time tells of the dealer, and a typed card of the supervisor: neither is a read."""
    watch = Watch()
    watch.take(*[told] * 50)
    assert {} == watch.rate.counted()


@pytest.mark.parametrize("reason", ["no_read", "bad_frame", "unknown_code", "not_in_deck"])
def test_failed_reads_count_wherever_they_come(reason: d.RejectReason) -> None:
    """A read that gave no card is the scanner's, in a round and outside."""
    watch = Watch()
    assert [SHOE] == [(one.alarm, one.scanner) for one in watch.take(*[bad(reason, None, None)] * 5)]


def test_counts_go_on_over_a_restart() -> None:
    """What a state row kept goes on as if nothing had been; an alarm that is up stays up and is not told again."""
    watch = Watch()
    watch.take(*[bad()] * 4)
    watch.rate = RejectRate(10, 40, SCANNERS, watch.rate.counted())
    assert [SHOE, CARDS] == [(one.alarm, one.scanner) for one in watch.take(bad())]
    watch.rate = RejectRate(10, 40, SCANNERS, watch.rate.counted())
    assert [] == watch.take(good("KD"))
    assert {SHOE, CARDS} == set(watch.up)


def test_another_configuration_makes_the_alarms_right() -> None:
    """Switched off, the alarms end; a wider threshold judges by what was kept; a scanner that is gone is forgotten."""
    watch = Watch()
    watch.take(*[bad()] * 5)
    counted = watch.rate.counted()
    watch.rate = RejectRate(5, 40, SCANNERS, counted)
    watch.changes()
    assert {} == watch.up
    watch.rate = RejectRate(0, 40, SCANNERS, counted)
    assert [] == watch.take(*[bad()] * 50)
    assert {} == watch.rate.counted()
    assert {("card", "AS")} == set(RejectRate(10, 40, ("spare",), counted).counted())


def test_scanner_that_is_not_configured_is_not_counted() -> None:
    """Of a scanner that the table has no more no alarm could ever end."""
    watch = Watch()
    watch.take(*[bad(card=None, scanner="old")] * 50)
    assert {} == watch.rate.counted()
