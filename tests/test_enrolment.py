"""Enrolling a deck and comparing one with its codebook: the pure part, and the loop that reads a scanner."""

from __future__ import annotations

import io
import itertools
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.codebooks import BUILT_IN, Codebook, Meaning, read_codebook
from scannerd.codebooks.large_cards import large
from scannerd.contract import BadFrame, CardRead, NoRead, Notice, Reply, TransportError
from scannerd.core.cards import DECK
from scannerd.enrolment import Enrolment, Guided, spoken
from scannerd.enrolment.deck_check import DeckCheck
from scannerd.enrolment.loop import GONE, SILENT, Device, Keyboard, Screen, guide
from tests.fakes_devices import FakeTransport, WordDriver

SECOND = 1_000_000
CODES: dict[str, str] = {card: f"04{number:08X}" for number, card in enumerate(DECK)}


def enrolled(guided: Guided, *codes: str) -> list[str]:
    """What is said of codes scanned one after the other."""
    return [guided.hear(CardRead(code)) for code in codes]


# --- enrolling --------------------------------------------------------------------------------------------------


def test_cards_get_their_codes_in_the_order_shown(tmp_path: Path) -> None:
    """Each code scanned is that of the card shown, and the codebook of the whole deck says so."""
    enrolment = Enrolment()
    for card in DECK:
        assert card == enrolment.due
        enrolled(enrolment, CODES[card])
    assert (True, (52, 52), None) == (enrolment.finished, enrolment.progress(), enrolment.due)
    file = tmp_path / "deck.toml"
    file.write_text(enrolment.text("blue 7"), encoding="utf-8")
    book = read_codebook(file)
    assert "blue 7" == book.name
    assert list(DECK) == [book.lookup(CODES[card]) for card in DECK]


def test_code_seen_before_is_refused_with_its_place() -> None:
    """A code that was seen before is refused at once, with the card and the place where it was seen."""
    enrolment = Enrolment()
    *_, told = enrolled(enrolment, "one", "two", "three", "one")
    assert "one is AS already, scanned as number 1" in told
    assert ("JS", ["one", "two", "three"]) == (enrolment.due, enrolment.codes)


def test_card_that_still_lies_there_is_no_repetition() -> None:
    """The code of the card scanned just now means that it still lies there."""
    enrolment = Enrolment()
    assert "scanned just now: take it away and scan KS" in enrolled(enrolment, "one", "one")[1]
    assert "KS" == enrolment.due


def test_last_card_can_be_taken_back() -> None:
    """Taking back asks for the last card again, and its code is free."""
    enrolment = Enrolment()
    enrolled(enrolment, "one", "two")
    assert "KS is no longer two: scan it again" == enrolment.undo()
    assert "KS is two" == enrolled(enrolment, "two")[0]
    enrolment.undo()
    enrolment.undo()
    assert ("there is nothing to take back", "AS") == (enrolment.undo(), enrolment.due)


def test_reads_that_fail_ask_for_the_card_again() -> None:
    """A read that fails is named and the same card asked for; notices that matter are told, others not."""
    enrolment = Enrolment()
    assert "not read (partial): scan AS again" == enrolment.hear(BadFrame("partial"))
    assert "not read (no-read): scan AS again" == enrolment.hear(NoRead("no-read"))
    assert "the scanner says error: E7" == enrolment.hear(Notice("error", "E7"))
    assert ["", ""] == [enrolment.hear(Notice("heartbeat")), enrolment.hear(Reply(b"ACK"))]
    assert (0, 52) == enrolment.progress()


def test_no_codebook_of_half_a_deck() -> None:
    """There is no codebook before every card has its code."""
    enrolment = Enrolment()
    enrolled(enrolment, *list(CODES.values())[:51])
    with pytest.raises(ValueError, match="2C has no code yet"):
        enrolment.text("deck")


def test_codes_after_the_last_card_change_nothing() -> None:
    """A code that comes when the deck is complete is told and changes nothing."""
    enrolment = Enrolment(("AS",))
    assert "two: the deck is complete" == enrolled(enrolment, "one", "two")[1]
    assert ["one"] == enrolment.codes


def test_jokers_and_cut_cards_are_enrolled_as_extra(tmp_path: Path) -> None:
    """Cards of the pack that are not dealt can be scanned too, and stand in the codebook as such."""
    enrolment = Enrolment((*DECK, "joker", "joker", "cut"))
    enrolled(enrolment, *CODES.values(), "J1", "J2", "C1")
    file = tmp_path / "deck.toml"
    file.write_text(enrolment.text("deck"), encoding="utf-8")
    assert {"J1": "joker", "J2": "joker", "C1": "cut"} == tomllib.loads(file.read_text(encoding="utf-8"))["extra"]
    read_codebook(file)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=52, max_size=52, unique=True), st.text())
def test_any_codes_stand_in_the_codebook_as_they_were_scanned(codes: list[str], name: str) -> None:
    """Whatever characters codes hold, the codebook has them as they were scanned."""
    enrolment = Enrolment()
    enrolled(enrolment, *codes)
    name = name.encode("utf-8", "replace").decode("utf-8")
    read = tomllib.loads(enrolment.text(name))
    assert (name, codes) == (read["deck"]["name"], list(read["cards"]))


def test_cards_in_words() -> None:
    """A card is spoken in full."""
    told = [spoken(card) for card in ("AS", "TD", "2C", "9H", "joker")]
    assert ["ace of spades", "ten of diamonds", "two of clubs", "nine of hearts", "joker"] == told


# --- comparing --------------------------------------------------------------------------------------------------


def codebook() -> Codebook:
    """A deck whose codes are `CODES`, with a joker."""
    cards: dict[str, Meaning] = {CODES[card]: card for card in DECK}
    return Codebook("deck", cards | {"JK": BUILT_IN["rank-suit"].meanings["JK"]})


def test_whole_deck_is_sound() -> None:
    """A deck of which every card is seen once, in any order, is sound."""
    check = DeckCheck(codebook())
    enrolled(check, *reversed(CODES.values()))
    assert (True, True) == (check.finished, check.sound)
    assert "deck: 52 of 52 cards seen in 52 scans\nthe deck is sound" == check.report()


def test_report_names_what_is_wrong() -> None:
    """The report names cards missing, seen twice, unknown and not dealt, each with its place, and reads that failed."""
    check = DeckCheck(codebook())
    few = [CODES[card] for card in DECK if card not in ("7H", "2C")]
    enrolled(check, *few, few[0], "FFFF", "JK", "FFFF")
    check.hear(NoRead(""))
    check.hear(BadFrame("checksum wrong"))
    assert not check.sound
    assert [
        "deck: 50 of 52 cards seen in 54 scans",
        "missing: 7H 2C",
        "more than once: AS as number 1 and number 51",
        "not in the codebook: FFFF as number 52 and number 54",
        "of no use: JK, a joker",
        "not read: 1 no read, 1 checksum",
        "the deck is not that of the codebook",
    ] == check.report().splitlines()


def test_each_scan_of_a_comparison_is_told() -> None:
    """Each scan is told with its number and card, a repetition with its place, a card that lies there not again."""
    check = DeckCheck(codebook())
    told = enrolled(check, CODES["AS"], CODES["AS"], CODES["KS"], CODES["AS"], "FFFF", "JK")
    assert [f"1: {CODES['AS']} is AS", "", f"2: {CODES['KS']} is KS"] == told[:3]
    assert f"3: {CODES['AS']} is AS, seen as number 1 too" == told[3]
    assert ["4: FFFF is in no card of the codebook", "5: JK is a joker, which is not dealt"] == told[4:]


def test_scan_of_a_comparison_can_be_taken_back() -> None:
    """A scan taken back is not in the report."""
    check = DeckCheck(codebook())
    enrolled(check, "FFFF")
    assert "FFFF was not scanned" == check.undo()
    assert "there is nothing to take back" == check.undo()
    assert "FFFF" not in check.report()
    assert (None, (0, 52)) == (check.due, check.progress())


def test_readings_of_no_matter_are_not_told_in_a_comparison() -> None:
    """A notice is no failed read of the deck."""
    check = DeckCheck(codebook())
    assert "" == check.hear(Notice("heartbeat"))
    assert "not read" not in check.report()


# --- the loop ---------------------------------------------------------------------------------------------------


class TypedKeys:
    """Keys that are typed one poll after the other; after the last nobody types any more."""

    def __init__(self, *polls: str) -> None:
        self.polls = list(polls)

    @property
    def closed(self) -> bool:
        """Whether the last key was typed."""
        return not self.polls

    def poll(self, wait: float = 0) -> str:
        """The next keys."""
        del wait
        return self.polls.pop(0) if self.polls else ""


def looped(guided: Guided, transport: FakeTransport, *polls: str) -> tuple[bool, list[str]]:
    """Runs the loop and returns whether all was done, and what was shown."""
    shown: list[str] = []
    device = Device(WordDriver(transport), transport)  # type: ignore[arg-type] # its options are options
    done = guide(guided, device, TypedKeys(*polls), Screen(shown.append, large_cards=False))
    device.close()
    return done, shown


@pytest.fixture
def transport() -> FakeTransport:
    """A scanner that does as it is told."""
    return FakeTransport()


def test_loop_ends_when_the_deck_is_complete(transport: FakeTransport) -> None:
    """The loop shows each card, takes codes however they are cut, and ends with the last."""
    for chunk in (b"on", b"e;two", b";"):
        transport.reads.put(chunk)
    done, shown = looped(Enrolment(("AS", "KS")), transport)
    assert done
    assert [
        "the scanner is ready\n0 of 2: scan AS, the ace of spades\n",
        "AS is one\n1 of 2: scan KS, the king of spades\n",
        "KS is two\n",
    ] == shown


def test_loop_undoes_and_ends_by_key(transport: FakeTransport) -> None:
    """The key u takes the last card back, q ends."""
    transport.reads.put(b"one;")
    enrolment = Enrolment(("AS", "KS"))
    done, shown = looped(enrolment, transport, "ux", "", "q", "u")
    assert not done
    assert [] == enrolment.codes
    assert "AS is no longer one: scan it again" in shown[-1]


def test_lost_scanner_is_opened_again_and_nothing_is_forgotten(transport: FakeTransport) -> None:
    """A scanner that is lost is told once and opened again; the cards scanned stay."""
    lost = TransportError("EIO input/output error", remedy="check the cable")
    for step in (b"one;tw", lost, b"two;"):
        transport.reads.put(step)
    for _ in range(2):
        transport.opens.put(b"")
    enrolment = Enrolment(("AS", "KS"))
    done, shown = looped(enrolment, transport)
    assert (True, ["one", "two"]) == (done, enrolment.codes)
    assert 1 == sum("no scanner: EIO input/output error; check the cable" in text for text in shown)


def test_scanner_that_cannot_be_opened_is_told_once(transport: FakeTransport) -> None:
    """A scanner that is absent is told once, however often it is tried."""
    for _ in range(3):
        transport.opens.put(TransportError("no such device"))
    _, shown = looped(Enrolment(("AS",)), transport, "", "", "q")
    assert ["no scanner: no such device\n0 of 1: scan AS, the ace of spades\n"] == shown


def test_scanner_that_waits_for_a_reply_gets_it(transport: FakeTransport) -> None:
    """Replies that the scanner waits for are written at once."""
    transport.reads.put(b"settle;one;")
    looped(Enrolment(("AS",)), transport)
    assert b"SETTLED" == transport.written.get_nowait()


def test_comparison_ends_by_key_or_when_nobody_types(transport: FakeTransport) -> None:
    """A comparison goes on when all cards were seen, as there may be more, until q; or until nobody can type."""
    transport.reads.put(b"".join(b"%s;" % card.encode() for card in DECK))
    transport.reads.put(b"AS;")
    check = DeckCheck(BUILT_IN["rank-suit"])
    done, _ = looped(check, transport, "", "", "q")
    assert done
    assert "more than once: AS as number 1 and number 53" in check.report()
    transport.reads.put(b"".join(b"%s;" % card.encode() for card in DECK))
    assert looped(DeckCheck(BUILT_IN["rank-suit"]), transport)[0]


@pytest.mark.parametrize(("absent", "turns"), [(False, SILENT // SECOND), (True, GONE // SECOND)])
def test_loop_ends_where_nobody_types_and_nothing_comes(transport: FakeTransport, *, absent: bool, turns: int) -> None:
    """Without a keyboard the loop ends when the scanner is silent for long, or sooner where there is none at all."""
    transport.reads.put(b"one;")
    if absent:
        transport.reads.put(TransportError("unplugged"))
        transport.opens.put(b"")
        for _ in range(turns + 2):
            transport.opens.put(TransportError("no such device"))
    shown: list[str] = []
    device = Device(WordDriver(transport), transport)  # type: ignore[arg-type] # its options are options
    clock = itertools.count(0, SECOND)
    enrolment = Enrolment(("AS", "KS"))
    keys, screen = TypedKeys(), Screen(shown.append, large_cards=False)
    assert not guide(enrolment, device, keys, screen, lambda: next(clock))
    assert ["one"] == enrolment.codes
    assert "nothing comes from the scanner, and nobody can type" in shown[-1]
    assert turns <= next(clock) // SECOND <= turns + 5


def test_terminal_shows_the_card_large() -> None:
    """On a terminal the card to scan next fills the screen, with its name, the progress and the keys."""
    shown: list[str] = []
    screen = Screen(shown.append, large_cards=True)
    enrolment = Enrolment()
    screen.show(enrolment, "the scanner is ready")
    assert large("AS") in shown[0]
    for part in ("ace of spades", "0 of 52", "the scanner is ready", "q and Enter"):
        assert part in shown[0]
    screen.show(DeckCheck(codebook()))
    assert "any card" in shown[1]


def test_large_cards_differ() -> None:
    """Every card has a picture of its own, five lines high; a joker is its name."""
    assert 52 == len({large(card) for card in DECK})
    assert {5} == {len(large(card).splitlines()) for card in DECK}
    assert "joker" == large("joker")


@pytest.fixture
def typed() -> Iterator[tuple[io.TextIOWrapper, int]]:
    """The two ends of a keyboard."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stream:
        yield stream, writing


def test_keyboard_gives_first_letters_of_lines(typed: tuple[io.TextIOWrapper, int]) -> None:
    """Of each line typed the first letter counts, in any case, once the line is whole; then the end is noticed."""
    stream, writing = typed
    keys = Keyboard(stream)
    assert "" == keys.poll()
    os.write(writing, b"u\nUndo\nq")
    assert ("uu", False) == (keys.poll(), keys.closed)
    os.write(writing, b"uit\n\n")
    assert "q" == keys.poll()
    os.close(writing)
    assert ("", True) == (keys.poll(), keys.closed)
    assert "" == keys.poll()
