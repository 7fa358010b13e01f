"""`scannerd replay`: what it prints, what it compares, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.small_recordings import ACE, CARDS, KING, OPENED, read, write, write_lines

ROOT = Path(__file__).parent.parent


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two cards that are accepted."""
    return write(tmp_path / "two.scanlog", *CARDS)


def test_an_event_is_one_compact_line(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is one line of compact JSON with its keys in the contract's order."""
    assert Exit.WELL == run(["replay", str(recording)])
    lines = capsys.readouterr().out.splitlines()
    data = '{"slot":"B1","hand":"B","index":1,"card":"KH","scanner":"desk","attempt":1,"via":"scan","by":null}'
    assert 3 == len(lines)
    assert f'{{"t":2.5,"type":"card_accepted","round":"tp-01/1","data":{data}}}' == lines[2]


def test_times_have_at_most_three_decimals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A time is printed in seconds with at most three decimals."""
    recording = write(tmp_path / "x.scanlog", read(1.2345, "AS"))
    assert Exit.WELL == run(["replay", str(recording)])
    assert 1.234 == json.loads(capsys.readouterr().out.splitlines()[0])["t"]


def test_prompts_stand_among_the_events(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --prompts the prompt at 0 and each change of it stand among the events, after those of their decision."""
    assert Exit.WELL == run(["replay", "--prompts", str(recording)])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    said = [line["prompt"]["slot"] or line["prompt"]["code"] if "prompt" in line else line["type"] for line in told]
    assert ["wait", "round_opened", "card_accepted", "B1", "card_accepted", "A2"] == said


@pytest.mark.fault(132)
def test_a_jump_of_the_clock_takes_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gap of eight hours in the data is replayed at once, with its times as they are."""
    recording = write(tmp_path / "x.scanlog", read(10, "AS"), read(28_810, "KH"), read(28_811, "2C"))
    assert Exit.WELL == run(["replay", str(recording)])
    assert [10, 10, 40, 28_810, 28_810, 28_811] == [
        json.loads(line)["t"] for line in capsys.readouterr().out.splitlines()
    ]


@pytest.mark.fault(134)
def test_a_reader_that_has_enough_is_no_trouble(tmp_path: Path) -> None:
    """A pipe that is closed early, as by `head`, ends the command well and without a word."""
    cards = ("AS", "KH", "2C", "3D", "4S", "5H")
    recording = write(tmp_path / "long.scanlog", *(read(2 * n + 4 * (n // 6), cards[n % 6]) for n in range(6_000)))
    command = [sys.executable, "-m", "scannerd", "replay", str(recording)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"round_opened" in process.stdout.readline()
        process.stdout.close()
        assert b"" == process.stderr.read()
    assert Exit.WELL == process.returncode


def test_a_broken_recording_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that can't be used ends the command with 2 and one line that names file and line."""
    recording = write(tmp_path / "x.scanlog", read(2, "AS"), read(1, "KH"))
    assert Exit.USAGE == run(["replay", str(recording)])
    told = capsys.readouterr().err
    assert told.startswith(f"scannerd: {recording}:3: ")
    assert 1 == told.count("\n")


def test_an_absent_recording_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there ends the command with 2 and is named."""
    assert Exit.USAGE == run(["replay", str(tmp_path / "none.scanlog")])
    assert f"{tmp_path / 'none.scanlog'}: No such file" in capsys.readouterr().err


def test_what_is_ignored_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes of a scanner that is down are ignored with a warning that names the line."""
    down = {"t": 1, "scanner": "desk", "event": "down"}
    recording = write(tmp_path / "x.scanlog", down, read(2, "AS"))
    assert Exit.WELL == run(["replay", str(recording)])
    assert f"{recording}:3: " in capsys.readouterr().err


def test_many_warnings_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many warnings the first ten are shown and the others counted."""
    down = {"t": 1, "scanner": "desk", "event": "down"}
    recording = write(tmp_path / "x.scanlog", down, *(read(2, "AS") for _ in range(25)))
    assert Exit.WELL == run(["replay", str(recording)])
    told = capsys.readouterr().err.splitlines()
    assert 11 == len(told)
    assert "scannerd: and 15 more" == told[-1]


class TestExpect:
    """`--expect FILE`."""

    def test_what_was_expected_is_well(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A recording that gives what was expected ends the command with 0 and prints nothing."""
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, ACE, KING])
        assert Exit.WELL == run(["replay", str(recording), "--expect", str(expected)])
        assert "" == capsys.readouterr().out

    def test_a_key_left_out_is_not_compared(self, recording: Path) -> None:
        """Keys of `data` that the expected line leaves out are not compared, even all of them."""
        lines = [OPENED, ACE, '{"t":2.5,"type":"card_accepted","round":"tp-01/1"}']
        expected = write_lines(recording.with_suffix(".jsonl"), lines)
        assert Exit.WELL == run(["replay", str(recording), "--expect", str(expected)])

    @pytest.mark.parametrize("key", ["t", "round"])
    def test_other_keys_must_be_there(self, recording: Path, key: str) -> None:
        """A line without time or round expects nothing that can be told."""
        line = json.loads(ACE)
        del line[key]
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, json.dumps(line), KING])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])

    def test_a_difference_is_readable(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A difference names the expected line, the keys with both values, and the recording's line behind it."""
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, ACE, KING.replace("KH", "QH")])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])
        told = capsys.readouterr().out.splitlines()
        assert told[0].startswith(f"{expected}:3: told otherwise: ")
        assert '  data.card: expected "QH", told "KH"' == told[1]
        assert f'  from {recording}:3: {{"t": 2.5, "scanner": "desk", "rx": "KH\\r\\n"}}' == told[2]

    def test_a_missing_event_is_one_difference(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An event that is not told is one difference, and what follows it is compared as before."""
        more = KING.replace("2.5", "1.5")
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, ACE, more, KING])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])
        assert [f"{expected}:3: not told: {more}"] == capsys.readouterr().out.splitlines()

    def test_an_event_too_many_is_one_difference(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An event that nobody expected is one difference, with the recording's line behind it."""
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, KING])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])
        told = capsys.readouterr().out.splitlines()
        assert told[0].startswith(f'{expected}: not expected: {{"t":1,"type":"card_accepted"')
        assert told[1].startswith(f"  from {recording}:2: ")
        assert ["  by rule 10: Any other read -> `card_accepted` for the due slot"] == told[2:]

    def test_missing_at_the_end(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Events that were expected after the last one are differences."""
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, ACE, KING, KING, ""])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])
        assert [f"{expected}:4: not told: {KING}"] == capsys.readouterr().out.splitlines()

    def test_an_empty_file_expects_no_event(self, recording: Path, tmp_path: Path) -> None:
        """An empty expected file expects that no event is told."""
        empty = write_lines(tmp_path / "empty.jsonl", [])
        silent = write(tmp_path / "silent.scanlog", {"t": 1, "end": True})
        assert Exit.WELL == run(["replay", str(silent), "--expect", str(empty)])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(empty)])

    def test_the_file_says_that_prompts_are_compared(self, recording: Path) -> None:
        """A file of prompts alone is compared with the prompts alone, and wrong ones are a difference."""
        prompts = [
            '{"t":0,"prompt":{"code":"wait"}}',
            '{"t":1,"prompt":{"code":"deal","slot":"B1"}}',
            '{"t":2.5,"prompt":{"code":"deal","slot":"A2"}}',
        ]
        expected = write_lines(recording.with_suffix(".jsonl"), prompts)
        assert Exit.WELL == run(["replay", str(recording), "--prompts", "--expect", str(expected)])
        write_lines(expected, [*prompts[:2], prompts[2].replace("A2", "A3")])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])

    def test_the_comparison_ends_after_many_differences(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """After twenty differences the comparison ends and says so."""
        recording = write(tmp_path / "x.scanlog", *(read(4 * n, "NOREAD") for n in range(1, 60)))
        expected = write_lines(tmp_path / "x.jsonl", [])
        assert Exit.DIFFERENCE == run(["replay", str(recording), "--expect", str(expected)])
        told = capsys.readouterr().out
        assert 20 == told.count("not expected")
        assert f"{expected}: 20 differences; what follows was not compared" == told.splitlines()[-1]

    @pytest.mark.parametrize(
        ("line", "what"),
        [
            ("{", "no JSON"),
            ("[]", "neither an event"),
            ('{"t":1}', "neither an event"),
            ('{"t":1,"type":"x","round":null,"dat":{}}', "unknown key 'dat'"),
            ('{"t":1,"type":"x","round":null,"data":[]}', "data is an object"),
        ],
    )
    def test_an_expected_file_that_is_none(
        self, recording: Path, line: str, what: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A line that is neither event nor prompt ends the command with 2 and is named."""
        expected = write_lines(recording.with_suffix(".jsonl"), [OPENED, line])
        assert Exit.USAGE == run(["replay", str(recording), "--expect", str(expected)])
        assert f"scannerd: {expected}:2: {what}" in capsys.readouterr().err

    def test_an_absent_expected_file(self, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An expected file that is not there ends the command with 2."""
        absent = recording.with_suffix(".none")
        assert Exit.USAGE == run(["replay", str(recording), "--expect", str(absent)])
        assert f"{absent}: No such file" in capsys.readouterr().err
