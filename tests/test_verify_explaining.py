"""How a difference came about: bytes, reading, state, rule and what followed, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.core.events import BrokerChanged, Noticed, ScannerWentUp, Stopping
from scannerd.verify.outcome import Wish
from scannerd.verify.picturing import event_in_words
from scannerd.verify.verifying import verify
from tests.small_recordings import HEADER, read, write, write_lines

OPENED = '{"t":1,"type":"round_opened","round":"tp-01/1"}'
SETTINGS = (
    'settings: start "auto", bounce_ms 400, min_gap_ms 150, max_attempts 3, round_gap_ms 3000, stall_ms 30000, '
    'require_broker true, on_restart "continue"'
)
ACE = '{"t":1,"type":"card_accepted","round":"tp-01/1"}'


def chunk(t: float, text: str, scanner: str = "desk") -> dict[str, object]:
    """Bytes of a scanner."""
    return {"t": t, "scanner": scanner, "rx": text}


def explained(
    folder: Path, expected: list[str], *entries: dict[str, object], prompts: str = "", **header: object
) -> list[str]:
    """The explanation of the first difference between a recording and what is expected of it."""
    recording = write(folder / "x.scanlog", *entries, header={**HEADER, **header})
    write_lines(recording.with_suffix(".expected.jsonl"), expected)
    if prompts:
        write_lines(recording.with_suffix(".prompts.jsonl"), [prompts])
    outcome = verify(recording, wish=Wish(explain=True))
    assert outcome.error is None
    assert outcome.differences
    return outcome.explanation.splitlines()


def test_a_decision_is_shown_from_the_bytes_to_the_state_after_it(tmp_path: Path) -> None:
    """The line, the bytes, what the decoder made, the state before, the rule, the decision, and what it changed."""
    lines = explained(tmp_path, [OPENED, ACE], read(1, "AS"), read(2.5, "KH"))
    assert [
        "explained:  the decision that told it",
        f'entry       {tmp_path / "x.scanlog"}:3: {{"t": 2.5, "scanner": "desk", "rx": "KH\\r\\n"}}',
        "bytes       desk: 4b 48 0d 0a  |KH..|",
        "decoded     code 'KH', from 4b 48 0d",
        "event       t 2.5: read KH of desk",
        "before      phase: dealing tp-01/1 due B1, attempt 1",
        "            cards: A1 AS (desk)",
        "            last card: AS of desk in A1 1500 ms before",
        "            seen: desk AS 1500 ms before",
        f"            {SETTINGS}",
        "rule        10: Any other read -> `card_accepted` for the due slot",
        'decided     card_accepted slot="B1" hand="B" index=1 card="KH" scanner="desk" attempt=1 via="scan"',
        "after       phase: dealing tp-01/1 due A2, attempt 1",
        "            cards: A1 AS (desk), B1 KH (desk)",
        "            last card: KH of desk in B1 just now",
        "            seen: desk KH just now, AS 1500 ms before",
    ] == lines


def test_a_frame_in_several_chunks_is_shown_whole(tmp_path: Path) -> None:
    """All chunks since the decision before are shown, each with its line."""
    lines = explained(tmp_path, [], chunk(1, "A"), chunk(1.01, "S"), chunk(1.02, "\r\n"))
    assert [
        f'entry       {tmp_path / "x.scanlog"}:2: {{"t": 1, "scanner": "desk", "rx": "A"}}',
        "bytes       desk: 41  |A|",
        "pending     41: more is waited for",
        f'entry       {tmp_path / "x.scanlog"}:3: {{"t": 1.01, "scanner": "desk", "rx": "S"}}',
        "bytes       desk: 53  |S|",
        "pending     41 53: more is waited for",
        f'entry       {tmp_path / "x.scanlog"}:4: {{"t": 1.02, "scanner": "desk", "rx": "\\r\\n"}}',
        "bytes       desk: 0d 0a  |..|",
        "decoded     code 'AS', from 41 53 0d",
        "event       t 1.02: read AS of desk",
    ] == lines[1:11]


def test_what_came_before_another_decision_is_not_shown(tmp_path: Path) -> None:
    """The chunks of an earlier decision are none of this one's."""
    lines = explained(tmp_path, [OPENED, ACE], read(1, "AS"), chunk(2, "K"), chunk(2.1, "H\r\n"))
    assert ["bytes       desk: 4b  |K|", "bytes       desk: 48 0d 0a  |H..|"] == [
        line for line in lines if line.startswith("bytes")
    ]


def test_two_cards_of_one_chunk_are_both_shown(tmp_path: Path) -> None:
    """Of a chunk with several readings each decision shows the chunk and all its readings."""
    lines = explained(tmp_path, [OPENED, ACE], chunk(1, "AS\r\nKH\r\n"))
    assert ["decoded     code 'AS', from 41 53 0d", "decoded     code 'KH', from 4b 48 0d"] == [
        line for line in lines if line.startswith("decoded")
    ]
    assert "event       t 1: read KH of desk" in lines
    assert [
        'decided     card_withdrawn slot="A1" card="AS" reason="multi_read"',
        'decided     scan_rejected reason="multi_read" slot="A1" attempt=1 scanner="desk" card="KH" raw_hex="4b480d"',
    ] == [line for line in lines if line.startswith("decided")]
    assert "            doubts: A1 multi_read, A1 withdrawn, multi_read" in lines
    assert "            cards: no more" in lines
    assert "            multi-reads: desk just now" in lines


def test_silence_is_shown(tmp_path: Path) -> None:
    """A frame that was given up shows the silence, at its time, and the failed read."""
    lines = explained(tmp_path, [], chunk(1, "A"), {"t": 9, "end": True})
    assert "bytes       desk: none, but silence at t 3" in lines
    assert "decoded     no frame: partial, from 41" in lines
    assert "event       t 3: failed read of desk bad_frame partial" in lines
    assert "rule        f6: Any other failed read -> rejected with its reason, no attempt" in lines
    assert "after       failures: desk bad_frame just now" in lines


def test_a_lost_device_is_shown(tmp_path: Path) -> None:
    """A scanner that went down is shown with why, the half frame that it dropped, and in the state after it."""
    down = {"t": 2, "scanner": "desk", "event": "down", "detail": "EIO"}
    lines = explained(tmp_path, [], chunk(1, "A"), down)
    assert "event       t 2: desk is down: EIO; half frame dropped: 41" in lines
    assert "rule        down: The scanner can't be read -> `scanner_down`" in lines
    assert "after       away: desk" in lines


def test_the_daemon_s_own_events_have_a_word() -> None:
    """What never comes in a recording can be said all the same, for those who show live events."""
    assert "the daemon's own: Stopping" == event_in_words(Stopping(0, "SIGTERM"))
    assert "desk is up" == event_in_words(ScannerWentUp(0, "desk"))
    assert "the broker is away" == event_in_words(BrokerChanged(0, up=False))
    assert "notice cut_card of desk" == event_in_words(Noticed(0, "desk", "cut_card"))


def test_a_command_is_shown(tmp_path: Path) -> None:
    """A command has an entry and no bytes; the hold that follows has its reason in the state."""
    hold = {"t": 2, "command": "hold", "args": {"id": "c1", "by": "eva", "reason": "torn card"}}
    lines = explained(tmp_path, [OPENED, ACE], read(1, "AS"), hold)
    assert lines[1].startswith(f"entry       {tmp_path / 'x.scanlog'}:3: ")
    assert lines[2].startswith("event")
    assert 'event       t 2: command hold by eva {"reason":"torn card"}' in lines
    assert "rule        hold: The command, while dealing -> `round_held`" in lines
    assert "after       phase: held tp-01/1 for torn card due B1, attempt 1" in lines


def test_entries_by_hand_and_a_stall_are_shown(tmp_path: Path) -> None:
    """A card entered by hand is shown as such, and an alarm that is up."""
    enter = {
        "t": 2,
        "command": "enter",
        "args": {"id": "c1", "by": "eva", "slot": "B1", "card": "KH", "reason": "torn"},
    }
    told = [OPENED, ACE, '{"t":2,"type":"card_accepted","round":"tp-01/1"}']
    lines = explained(tmp_path, told, read(1, "AS"), enter, read(32, "QD"))
    assert not any(line.startswith("bytes") for line in lines)
    assert "event       t 32: a deadline has come" in lines
    assert "            cards: A1 AS (desk), B1 KH (by hand)" in lines
    assert "after       alarms: stalled" in lines


def test_where_an_event_was_not_told_the_last_decision_until_then_is_shown(tmp_path: Path) -> None:
    """What was decided last before the time of the missing event is shown, and the chunks that came to nothing."""
    missing = '{"t":2.5,"type":"card_accepted","round":"tp-01/1"}'
    lines = explained(tmp_path, [OPENED, ACE, missing], read(1, "AS"), chunk(2.5, "KH"), {"t": 4, "end": True})
    assert "explained:  the last decision until then" == lines[0]
    assert "event       t 1: read AS of desk" in lines
    assert [
        "then:       without a decision",
        f'entry       {tmp_path / "x.scanlog"}:3: {{"t": 2.5, "scanner": "desk", "rx": "KH"}}',
        "bytes       desk: 4b 48  |KH|",
        "pending     4b 48: more is waited for",
    ] == lines[-4:]


def test_where_nothing_was_decided_the_chunks_are_shown(tmp_path: Path) -> None:
    """Bytes that the decoder makes nothing of are shown as that."""
    lines = explained(tmp_path, [ACE], chunk(0.5, "\r\n"), read(2, "AS"))
    assert ["explained:  nothing was decided until then"] == lines[:1]
    assert "decoded     nothing" in lines
    assert not any("read AS" in line for line in lines)


def test_a_missing_line_without_a_time_is_looked_for_to_the_end(tmp_path: Path) -> None:
    """A line that was expected at no time shows the last decision of all."""
    lines = explained(tmp_path, [OPENED, ACE, '{"type":"round_voided"}'], read(1, "AS"), {"t": 9, "end": True})
    assert "event       t 1: read AS of desk" in lines
    assert not any(line.startswith("then:") for line in lines)


def test_the_first_prompt_has_no_decision_behind_it(tmp_path: Path) -> None:
    """The prompt at the start follows from nothing that was decided."""
    lines = explained(tmp_path, [], {"t": 1, "end": True}, prompts='{"t":0,"prompt":{"code":"deal"}}')
    assert ["explained:  the prompt before anything was decided", "prompt      Idle -> code=wait"] == lines


def test_a_prompt_is_shown_with_its_row(tmp_path: Path) -> None:
    """Of a prompt the decision behind it is shown, and the row of the prompts that says it."""
    lines = explained(tmp_path, [OPENED, ACE], read(1, "AS"), prompts='{"t":0,"prompt":{"code":"wait"}}')
    assert "rule        10: Any other read -> `card_accepted` for the due slot" in lines
    doing = "Dealing: wait where no slot is due, scan again where the due slot is in doubt, else deal"
    assert f"prompt      {doing} -> code=deal slot=B1 hand=B index=1 attempt=1" == lines[-1]


def test_many_bytes_are_cut(tmp_path: Path) -> None:
    """Of a long chunk the first 256 bytes are shown, in rows, and how many more there are."""
    lines = explained(tmp_path, [], chunk(1, "x" * 300))
    rows = [line for line in lines if "desk: 78" in line]
    assert 16 == len(rows)
    assert "            desk: and 44 bytes more" in lines


@pytest.mark.parametrize(
    ("driver", "rx", "said"),
    [
        ("line", "NOREAD\r\n", "decoded     no read, 'NOREAD', from 4e 4f 52 45 41 44 0d"),
        ("bee-tek", "xyz", "decoded     notice other 'bytes outside records', from 78"),
        ("bee-tek", " [Game]<Card:4S> ", "event       t 1: read 4S of desk"),
        ("line", "ZZ\r\n", "event       t 1: failed read of desk unknown_code ZZ"),
    ],
)
def test_each_kind_of_reading_is_said(tmp_path: Path, driver: str, rx: str, said: str) -> None:
    """Cards, failed reads and notices are said in words."""
    lines = explained(tmp_path, ['{"t":7,"type":"x"}'], chunk(1, rx), scanners={"desk": {"driver": driver}})
    assert any(line.startswith(said) for line in lines), lines


def test_hands_late_bytes_and_replies_are_said(tmp_path: Path) -> None:
    """A reader's hand, bytes that waited and what is written to the device are said."""
    scanners = {"desk": {"driver": "ssi", "hand": "B", "codes": "bridge-52"}}
    late = {"t": 1, "scanner": "desk", "rx_hex": "07f30000033134fe9e", "stale": True}
    lines = explained(tmp_path, [], late, scanners=scanners)
    assert "event       t 1: read AH of desk, hand B, stale" in lines
    assert any(line.startswith("decoded     a reply to the device: 04 d0") for line in lines)
