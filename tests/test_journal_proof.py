"""The proof of a journal names every row that is not as it was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from scannerd.canonical import canonical, seal
from scannerd.journal import Batch, JournalDamaged, JournalMissing, verify
from scannerd.journal.proof import TOLD
from tests.journals import filled, following, harm, opened, record

if TYPE_CHECKING:
    from pathlib import Path


def journal_of(directory: Path) -> Path:
    """Twelve events: two rounds of six, with their states; the broker has acknowledged ten."""
    with opened(directory) as journal:
        for name in ("tp-01/1", "tp-01/2"):
            opening = record(journal.journal_id, journal.head, kind="round_opened", round_id=name)
            journal.append(Batch(records=(opening,)))
            journal.append(Batch(records=following(journal, 5), checkpoint=b"{}"))
        journal.append(Batch(cursor=10))
        return journal.path


def found(path: Path) -> list[tuple[int | None, str]]:
    """The findings as pairs."""
    findings = verify(path)
    assert len(findings.found) == findings.count
    assert findings.sound is (findings.count == 0)
    return [(finding.seq, finding.why) for finding in findings.found]


SWAP = (
    "UPDATE events SET seq = -1 WHERE seq = 3",
    "UPDATE events SET seq = 3 WHERE seq = 4",
    "UPDATE events SET seq = 4 WHERE seq = -1",
)


@pytest.mark.parametrize(
    ("statement", "seq", "why"),
    [
        ("UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq = 3", 3, "the event was changed"),
        ("UPDATE events SET body = CAST(replace(body, ',', ', ') AS BLOB) WHERE seq = 3", 3, "was rewritten"),
        ("UPDATE events SET body = x'00' WHERE seq = 3", 3, "no JSON object"),
        ("UPDATE events SET body = x'5b5d' WHERE seq = 3", 3, "no JSON object"),
        ("UPDATE events SET body = CAST('{\"a\":1.5}' AS BLOB) WHERE seq = 3", 3, "the event is none: float"),
        (
            "UPDATE events SET type = 'card_withdrawn' WHERE seq = 3",
            3,
            "column type is 'card_withdrawn', the event says",
        ),
        ("UPDATE events SET round = NULL WHERE seq = 3", 3, "column round is None"),
        ("UPDATE events SET round = CAST(x'ff' AS TEXT) WHERE seq = 3", 3, "column round is '\ufffd'"),
        ("UPDATE events SET at = '2026-11-30T02:45:16.123457Z' WHERE seq = 3", 3, "column at"),
        ("UPDATE events SET hash = upper(hash) WHERE seq = 3", 3, "column hash"),
        ("DELETE FROM events WHERE seq = 3", 3, "the row is missing"),
        ("DELETE FROM events WHERE seq IN (3, 4, 5)", 3, "the rows 3 to 5 are missing"),
        ("DELETE FROM events WHERE seq = 1", 1, "the row is missing"),
        ("DELETE FROM events WHERE seq > 10", 11, "the rows 11 to 12, the last, are missing"),
        (
            "INSERT INTO events SELECT 13, type, round, at, hash, body FROM events WHERE seq = 12",
            13,
            "the row was added",
        ),
        (
            "INSERT INTO events SELECT 0, type, round, at, hash, body FROM events WHERE seq = 1",
            0,
            "none of this journal",
        ),
        ("UPDATE meta SET hash = lower(hex(randomblob(32)))", 12, "not the one the journal ended with"),
        ("UPDATE meta SET seq = 11", 12, "the row was added: the journal ended at seq 11"),
        ("UPDATE meta SET seq = 14", 13, "the rows 13 to 14, the last, are missing"),
        ("UPDATE meta SET cursor = 13", None, "the cursor, 13, is not among the events"),
        ("UPDATE meta SET table_id = 'tp-02'", 1, "table is 'tp-01', not 'tp-02'"),
        ("UPDATE meta SET journal = 'x'", 1, "journal is "),
        ("UPDATE meta SET rounds = 3", None, "2 rounds were opened, the journal says 3, its table 2"),
        ("DELETE FROM rounds WHERE n = 2", 7, "round 2 is not in the table of rounds"),
        ("UPDATE rounds SET id = 'r' WHERE n = 1", 1, "round 1 is not in the table of rounds"),
        ("INSERT INTO rounds VALUES (3, 'r', 12)", None, "2 rounds were opened, the journal says 2, its table 3"),
        ("UPDATE states SET body = x'7b207d' WHERE seq = 6", 6, "the state row is not what was written"),
        ("UPDATE states SET seq = 20 WHERE seq = 12", 20, "the state row is beyond the last event, 12"),
    ],
)
def test_tampering_is_named_by_its_seq(tmp_path: Path, statement: str, seq: int | None, why: str) -> None:
    """A row that was changed, removed or added, or a column beside the event, is named with its seq and the reason."""
    path = journal_of(tmp_path)
    assert found(path) == []

    harm(path, statement)

    assert any(seq == where and why in told for where, told in found(path))


def test_only_what_is_wrong_is_named(tmp_path: Path) -> None:
    """A changed event is told once, and the sound one behind it is not."""
    path = journal_of(tmp_path)
    harm(path, "UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq IN (3, 9)")

    assert [seq for seq, _ in found(path)] == [3, 9]


def test_swapped_rows_are_named(tmp_path: Path) -> None:
    """Two rows that changed places are both named."""
    path = journal_of(tmp_path)
    harm(path, *SWAP)

    assert {3, 4} <= {seq for seq, why in found(path) if "column seq" in why}


def test_forged_event_breaks_the_chain_behind_it(tmp_path: Path) -> None:
    """An event replaced together with its hash is found by the next one's prev."""
    path = journal_of(tmp_path)
    with opened(tmp_path) as journal:
        event = json.loads(journal.records(2, 1)[0].body)
    event["data"]["card"] = "KS"
    del event["hash"]
    digest, body = seal(event)
    harm(path, f"UPDATE events SET hash = '{digest}', body = x'{body.hex()}' WHERE seq = 3")  # noqa: S608 - hex digits

    assert found(path) == [(4, "prev is not the hash of seq 3: one of the two is not what was written")]


def test_signed_event_is_proved(tmp_path: Path) -> None:
    """A signature in an event is outside its hash, and the event is sound with it."""
    with opened(tmp_path) as journal:
        bare = record(journal.journal_id, journal.head)
        journal.append(Batch(records=(bare,)))
        path = journal.path
    signed = canonical({**json.loads(bare.body), "sig": "00"})
    harm(path, f"UPDATE events SET body = x'{signed.hex()}'")  # noqa: S608 - hex digits

    assert found(path) == []


def test_findings_are_counted_beyond_what_is_kept(tmp_path: Path) -> None:
    """A journal of which everything is wrong does not fill the memory: the first findings are kept, all counted."""
    path = filled(tmp_path, 1500)
    harm(path, "UPDATE events SET type = 'x'")

    findings = verify(path)

    assert (len(findings.found), findings.count) == (TOLD, 1500)


def test_progress_is_told(tmp_path: Path) -> None:
    """A long proof tells how far it has come."""
    path = filled(tmp_path, 20_001)
    told: list[tuple[int, int]] = []

    verify(path, progress=lambda seq, last: told.append((seq, last)))

    assert told == [(10_000, 20_001), (20_000, 20_001)]


def test_missing_journal_is_told(tmp_path: Path) -> None:
    """Where there is no journal, nothing is proved and nothing is made."""
    with pytest.raises(JournalMissing, match="there is no journal"):
        verify(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("seq", "behind"), [(300, r"29\d"), (100, r"\d\d")])
def test_unreadable_page_ends_the_proof_where_it_is(tmp_path: Path, seq: int, behind: str) -> None:
    """A page of events that can't be read ends the proof, which says behind which event; all before it can be read."""
    path = filled(tmp_path, 400)
    content = bytearray(path.read_bytes())
    page = content.index(b'"seq":%d,' % seq) // 4096
    content[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
    path.write_bytes(content)

    with pytest.raises(
        JournalDamaged, match=rf"can't be read behind seq {behind} \(database disk image is malformed\)"
    ):
        verify(path)


def test_damage_beside_the_events_is_found(tmp_path: Path) -> None:
    """Damage in a table beside the events, which the walk does not touch, is found all the same."""
    with opened(tmp_path) as journal:
        journal.append(Batch(replies=tuple((f"c{n}", b"x" * 500) for n in range(100))))
        with journal.reader() as reader, reader.reading() as db:
            (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'replies'").fetchone()
        path = journal.path
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 + 12 : page * 4096] = b"\xa5" * (4096 - 12)
    path.write_bytes(content)

    assert any(seq is None and why.startswith("table replies") for seq, why in found(path))
