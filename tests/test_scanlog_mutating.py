"""Faults put into recordings: what each does to the bytes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice, pairwise

import pytest

from scannerd.editing.mutating import AGAIN_MS, AWAY_MS, JOINED_MOST, Mutator, Rates, mutated_header
from scannerd.scanlog import Broker, Chunk, End, Entry, Header, Link, Order, Sent

SECOND = 1_000_000
TABLE: list[Entry] = [
    Broker(0, up=False),
    Order(SECOND, "open", {"id": "c1"}),
    *(Chunk(n * SECOND, "desk", b"0123456789\r\n") for n in range(2, 40)),
    Sent(40 * SECOND, "desk", b"\x06"),
    Link(41 * SECOND, "desk", up=False, detail="EIO"),
    Link(44 * SECOND, "desk", up=True),
    *(Chunk(n * SECOND, "left", b"ABCDEFGH", stale=n == 50) for n in range(45, 60)),
    End(60 * SECOND),
]
SEEDS = range(30)


def mutant(rates: Rates, seed: int = 1, reports: tuple[str, ...] = ()) -> list[Entry]:
    """The table's recording with faults."""
    return list(Mutator(rates, seed, reports=reports).entries(iter(TABLE)))


def chunks(entries: list[Entry], scanner: str = "desk") -> list[Chunk]:
    """What a scanner sent."""
    return [one for one in entries if isinstance(one, Chunk) and one.scanner == scanner]


def sent(entries: list[Entry], scanner: str = "desk") -> bytes:
    """All bytes of a scanner."""
    return b"".join(one.data for one in chunks(entries, scanner))


def links(entries: list[Entry]) -> list[Link]:
    """What came and went."""
    return [one for one in entries if isinstance(one, Link)]


def test_without_faults_nothing_changes() -> None:
    """Rates of 0 leave a recording as it is, its own losses and late bytes included."""
    assert TABLE == mutant(Rates())


def test_a_seed_names_a_mutant() -> None:
    """The same seed gives the same mutant, another seed another one."""
    rates = Rates(*(0.2 for _ in Rates._fields))
    assert mutant(rates, 5) == mutant(rates, 5)
    assert mutant(rates, 5) != mutant(rates, 6)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_time_never_goes_back(rate: float) -> None:
    """Whatever is put in, the entries stand in time order and the end comes last."""
    for seed in SEEDS:
        made = mutant(Rates(*(rate for _ in Rates._fields)), seed)
        assert all(one.t <= other.t for one, other in pairwise(made))
        assert [True] == [isinstance(one, End) for one in made if isinstance(one, End)]
        assert isinstance(made[-1], End)


@pytest.mark.parametrize("fault", Rates._fields)
def test_only_bytes_suffer(fault: str) -> None:
    """Commands, the broker and what was sent to the device stay as they were recorded."""
    made = mutant(Rates(**{fault: 1.0}))
    assert [one for one in TABLE if isinstance(one, Order | Broker | Sent)] == [
        one for one in made if isinstance(one, Order | Broker | Sent)
    ]


def test_dropped_bytes_are_gone() -> None:
    """Of a dropped chunk nothing comes, or all but some bytes in a row."""
    found = {one.data for seed in SEEDS for one in chunks(mutant(Rates(drop=1.0), seed))}
    whole = b"0123456789\r\n"
    assert 10 < len(found)
    for data in found:
        assert 0 < len(data) < len(whole)
        missing = len(whole) - len(data)
        assert data in {whole[:first] + whole[first + missing :] for first in range(len(whole))}
    assert 38 > len(chunks(mutant(Rates(drop=1.0)))) > 0


def test_one_bit_is_flipped() -> None:
    """A flipped chunk differs in one bit."""
    for one in chunks(mutant(Rates(flip=1.0))):
        assert 1 == sum((a ^ b).bit_count() for a, b in zip(one.data, b"0123456789\r\n", strict=True))


def test_a_split_chunk_comes_at_the_same_moment() -> None:
    """The parts of a chunk come at its time, and hold its bytes and its mark."""
    made = mutant(Rates(split=1.0))
    assert sent(TABLE) == sent(made)
    assert {one.t for one in chunks(TABLE)} == {one.t for one in chunks(made)}
    assert all(len(one.data) < 12 for one in chunks(made))
    assert b"ABCDEFGH" == b"".join(one.data for one in chunks(made, "left") if one.stale)


def test_a_joined_chunk_comes_with_the_next() -> None:
    """A chunk that waits comes with the next one of its scanner at that one's time; one late byte makes it late."""
    made = mutant(Rates(join=0.5))
    assert sent(TABLE) == sent(made)
    assert len(chunks(made)) < len(chunks(TABLE))
    assert {one.t for one in chunks(made)} <= {one.t for one in chunks(TABLE)} | {41 * SECOND}
    assert [True] == [one.stale for one in chunks(made, "left") if one.stale]


def test_what_waits_comes_before_the_loss() -> None:
    """Chunks that wait for a next one come at the latest when the scanner is lost, or the recording ends."""
    made = mutant(Rates(join=1.0))
    assert [Chunk(41 * SECOND, "desk", b"0123456789\r\n" * 38)] == chunks(made)
    assert made.index(chunks(made)[0]) < made.index(links(made)[0])
    assert [60 * SECOND] == [one.t for one in chunks(made, "left")]


def test_a_large_chunk_waits_for_no_other() -> None:
    """What fills a read of the transport comes at once."""
    large = [Chunk(n * SECOND, "desk", b"x" * JOINED_MOST) for n in range(3)]
    assert large == list(Mutator(Rates(join=1.0), 1).entries(iter(large)))


def test_a_doubled_chunk_comes_again_soon() -> None:
    """A doubled chunk is there twice, the copy at most 0.3 s later."""
    made = chunks(mutant(Rates(double=1.0)))
    times = sorted(one.t for one in made)
    assert 2 * len(chunks(TABLE)) == len(made)
    assert all(0 <= again - t <= AGAIN_MS * 1_000 for t, again in zip(times[::2], times[1::2], strict=True))


def test_delayed_bytes_are_late_and_in_order() -> None:
    """A delayed chunk comes later, and its scanner's bytes, and its loss, come in their order all the same."""
    made = mutant(Rates(delay=0.5))
    assert sent(TABLE) == sent(made)
    assert sent(TABLE, "left") == sent(made, "left")
    late = [after.t - before.t for before, after in zip(chunks(TABLE), chunks(made), strict=True)]
    assert min(late) == 0
    assert max(late) > 100_000
    assert chunks(made)[-1].t <= links(made)[0].t


def test_an_unplugged_scanner_comes_back() -> None:
    """The scanner is lost within a chunk, nothing of it comes while it is away, and it is back some seconds later."""
    for seed in SEEDS:
        made = mutant(Rates(unplug=0.2, double=0.5), seed)
        found = links(made)
        for down, up in zip(found[::2], found[1::2], strict=True):
            assert (False, True) == (down.up, up.up)
            assert up.t - down.t >= AWAY_MS[0] * 1_000
            between = made[made.index(down) : made.index(up)]
            assert [] == chunks(between, down.scanner)
    assert b"0123456789\r\n" * 38 != sent(made)


def test_a_scanner_that_is_lost_anyway_is_not_brought_back() -> None:
    """Where the recording itself loses an unplugged scanner, it is away until both are over."""
    lost: list[Entry] = [
        Chunk(SECOND, "desk", b"AS\r\n"),
        Link(SECOND + 1, "desk", up=False),
        Link(9 * SECOND, "desk", up=True),
        End(10 * SECOND),
    ]
    short: list[Entry] = [*lost[:2], Link(SECOND + 2, "desk", up=True), lost[3]]
    for seed in SEEDS:
        made = list(Mutator(Rates(unplug=1.0), seed).entries(iter(lost)))
        assert [(SECOND, False), (9 * SECOND, True)] == [(one.t, one.up) for one in links(made)]
        made = list(Mutator(Rates(unplug=1.0), seed).entries(iter(short)))
        assert [False, True] == [one.up for one in links(made)]
        assert links(made)[1].t >= SECOND + AWAY_MS[0] * 1_000


def test_reports_stay_whole() -> None:
    """A report is dropped whole, and neither split, joined nor cut by a loss."""
    for seed in SEEDS:
        made = mutant(Rates(drop=0.2, split=1.0, join=1.0, unplug=0.1), seed, reports=("desk", "left"))
        assert {b"0123456789\r\n"} == {one.data for one in chunks(made)}
        assert {b"ABCDEFGH"} == {one.data for one in chunks(made, "left")}


def test_an_empty_chunk_suffers_nothing() -> None:
    """A chunk without bytes has none to lose or to flip."""
    empty: list[Entry] = [Chunk(SECOND, "desk", b"")]
    assert empty == list(Mutator(Rates(flip=1.0, split=1.0), 1).entries(iter(empty)))
    assert [] == list(Mutator(Rates(drop=1.0), 1).entries(iter(empty)))
    assert [] == chunks(list(Mutator(Rates(unplug=1.0), 1).entries(iter(empty))))


def test_a_recording_of_any_length_is_mutated_as_it_is_read() -> None:
    """Entries come out while others are still read: one that never ends gives its mutant too."""

    def endless() -> Iterator[Entry]:
        return (Chunk(n * SECOND, "desk", b"AS\r\n") for n in count())

    made = Mutator(Rates(*(0.1 for _ in Rates._fields)), 1).entries(endless())
    assert 5_000 == len(list(islice(made, 5_000)))


def test_what_was_done_is_counted() -> None:
    """Each fault is counted as often as it was put in."""
    mutator = Mutator(Rates(flip=1.0, delay=0.5), 1)
    list(mutator.entries(iter(TABLE)))
    assert (53, 0) == (mutator.done["flip"], mutator.done["drop"])
    assert 10 < mutator.done["delay"] < 43


def test_the_note_says_what_was_done() -> None:
    """The header stays, and its note says seed and rates behind what it said before."""
    header = Header(
        scanlog=1, table="tp-01", game="g", recorded_at=datetime(2026, 1, 1, tzinfo=UTC), scanners={}, note="Odd."
    )
    made = mutated_header(header, Rates(drop=0.25, unplug=0.01), 7)
    assert "Odd. Mutated with seed 7: drop 0.25, unplug 0.01." == made.note
    assert header == made.model_copy(update={"note": "Odd."})
    bare = header.model_copy(update={"note": None})
    assert "Mutated with seed 8: nothing." == mutated_header(bare, Rates(), 8).note
