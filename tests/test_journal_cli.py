"""`scannerd journal` shows, exports, proves and counts a journal."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from scannerd.cli.journal import journal as group
from scannerd.errors import Exit, ScannerdError
from scannerd.journal import Batch, Record
from tests.journals import CARD, REJECTION, filled, following, harm, opened, start, story

if TYPE_CHECKING:
    from pathlib import Path

OPENED: dict[str, object] = {"game": "teen-patti-20-20", "plan": ["A1"], "by": None}
STORY: list[tuple[str, str | None, str, dict[str, object]]] = [
    ("daemon_started", None, "02:59:00", {"version": "1"}),
    ("round_opened", "r-1", "02:59:50", OPENED),
    ("card_accepted", "r-1", "02:59:52", CARD),
    ("scan_rejected", "r-1", "02:59:54", REJECTION),
    ("scan_rejected", "r-1", "02:59:55", {**REJECTION, "reason": "duplicate", "card": "AS", "attempt": None}),
    ("card_accepted", "r-1", "03:00:02", {**CARD, "card": "KD", "scanner": "second"}),
    ("round_voided", "r-1", "03:00:03", {"reason": None, "by": "boss", "was": "dealing"}),
    ("scan_rejected", None, "03:00:04", {**REJECTION, "reason": "no_round", "card": "2C", "attempt": None}),
    ("round_opened", "r-2", "03:00:10", OPENED),
    ("card_accepted", "r-2", "03:00:11", {**CARD, "via": "manual", "scanner": None, "by": "boss, the"}),
    ("round_opened", "r-1", "03:00:20", OPENED),
    ("card_accepted", "r-1", "03:00:19", CARD),
]


def run(*arguments: object) -> Result:
    """Runs `scannerd journal` with the arguments."""
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


def lines(*arguments: object) -> list[str]:
    """What a command that ends well writes."""
    result = run(*arguments)
    assert (result.exception, result.exit_code) == (None, Exit.WELL)
    return result.stdout.splitlines()


def exported(path: Path, *options: object) -> list[int]:
    """The seqs that an export with these options holds."""
    return [json.loads(line)["seq"] for line in lines("export", path, *options)]


def bodies(path: Path) -> list[Record]:
    """All events of the journal."""
    with opened(path.parent) as journal:
        return journal.records(0, 100)


def test_tail_shows_the_last_events(tmp_path: Path) -> None:
    """The tail is a line for each of the last events, with what it says in words."""
    path = story(tmp_path, STORY)

    shown = lines("tail", path, "-n", 2)

    assert len(shown) == 2
    assert "11  2026-11-30T03:00:20.000000Z  r-1" in shown[0]
    assert 'round_opened     game=teen-patti-20-20 plan=["A1"]' in shown[0]
    assert "card=AS" in shown[1]
    assert "by=" not in shown[1]


def test_tail_as_json_is_what_was_sent(tmp_path: Path) -> None:
    """The tail in JSON is the bytes of the events as they were sent."""
    path = story(tmp_path, STORY)

    assert [one.body.decode() for one in bodies(path)[-3:]] == lines("tail", path.parent, "-n", 3, "--json")


def test_tail_goes_on_with_what_is_written(tmp_path: Path) -> None:
    """A followed tail shows an event that is appended later."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 1)))
        with start("from scannerd.cli.journal import journal; journal()", "tail", "-f", str(tmp_path)) as child:
            assert child.stdout is not None
            assert child.stdout.readline().lstrip().startswith(b"1 ")
            journal.append(Batch(records=following(journal, 1)))
            assert child.stdout.readline().lstrip().startswith(b"2 ")
            child.terminate()


def test_export_is_the_bytes_that_were_sent(tmp_path: Path) -> None:
    """The export is by default one line for each event, byte for byte as it was sent."""
    path = story(tmp_path, STORY)

    assert b"".join(one.body + b"\n" for one in bodies(path)) == run("export", path).stdout_bytes


def test_export_chooses(tmp_path: Path) -> None:
    """The export keeps to a round, to seqs, and to times, and to all of them at once."""
    path = story(tmp_path, STORY)

    assert exported(path, "--round", "r-1") == [2, 3, 4, 5, 6, 7, 11, 12]
    assert exported(path, "--round", "r-2") == [9, 10]
    assert exported(path, "--round", "r-1", "--from-seq", 5, "--to-seq", 11) == [5, 6, 7, 11]
    assert exported(path, "--from-seq", 3, "--to-seq", 4) == [3, 4]
    assert exported(path, "--since", "2026-11-30T03:00:02Z", "--until", "2026-11-30T03:00:04Z") == [6, 7]
    assert exported(path, "--since", "2026-11-30 00:00-03:00") == [6, 7, 8, 9, 10, 11, 12]
    assert exported(path, "--since", "2026-12-01") == []


def test_export_as_csv_has_a_column_for_each_thing(tmp_path: Path) -> None:
    """The CSV export has a header, a column for what reads carry, and the whole data beside them."""
    path = story(tmp_path, STORY)

    rows = list(csv.DictReader(io.StringIO(run("export", path, "--format", "csv").stdout)))

    assert len(rows) == 12
    assert tuple(rows[9][name] for name in ("seq", "round", "type", "card", "slot", "scanner", "via", "by")) == (
        "10",
        "r-2",
        "card_accepted",
        "AS",
        "A1",
        "",
        "manual",
        "boss, the",
    )
    assert json.loads(rows[1]["data"]) == OPENED
    assert [one.hash for one in bodies(path)] == [row["hash"] for row in rows]


@pytest.mark.parametrize("arguments", [("--since", "yesterday"), ("--from-seq", "0"), ("--format", "xml")])
def test_wrong_option_is_a_usage_error(tmp_path: Path, arguments: tuple[str, str]) -> None:
    """An option that can't be understood ends with exit code 2."""
    result = run("export", filled(tmp_path, 1), *arguments)

    assert result.exit_code == Exit.USAGE
    assert arguments[0] in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("export", "{path}", "--round", "r-9"), Exit.USAGE),
        (("tail",), Exit.USAGE),
        (("stats", "{path}", "-c", "table.toml"), Exit.USAGE),
        (("verify", "{path}/absent"), Exit.JOURNAL_DAMAGED),
    ],
)
def test_what_can_not_be_done_has_an_exit_code(tmp_path: Path, arguments: tuple[str, ...], code: Exit) -> None:
    """A round that is not there or a missing argument ends with exit code 2, a missing journal with 4."""
    filled(tmp_path, 1)

    result = run(*(argument.replace("{path}", str(tmp_path)) for argument in arguments))

    assert isinstance(result.exception, ScannerdError)
    assert code is result.exception.exit_code


def test_configuration_names_the_journal(tmp_path: Path) -> None:
    """With -c the journal is that of the table's state directory."""
    filled(tmp_path / "state", 4)
    config = tmp_path / "table.toml"
    config.write_text(
        f'[table]\nid = "tp-01"\nstate_dir = "{tmp_path}/state"\n'
        '[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "tcp://127.0.0.1:4001"\n'
    )

    assert len(lines("export", "-c", config)) == 4


def test_sound_journal_is_proved(tmp_path: Path) -> None:
    """The proof of a sound journal ends well and says how much it proved."""
    path = story(tmp_path, STORY)

    assert [f"{path}: 12 events of table tp-01: sound"] == lines("verify", path)
    assert tuple(json.loads(lines("verify", path, "--json")[0])[key] for key in ("sound", "findings")) == (True, [])


def test_broken_chain_is_named(tmp_path: Path) -> None:
    """The proof of a changed journal ends with exit code 1 and names the seq."""
    path = story(tmp_path, STORY)
    harm(path, "DELETE FROM events WHERE seq = 5")

    result = run("verify", path)
    as_json = run("verify", "--json", path)

    assert (result.exit_code, as_json.exit_code) == (Exit.DIFFERENCE, Exit.DIFFERENCE)
    assert "seq 5: the row is missing" in result.stdout
    assert {"seq": 5, "why": "the row is missing"} in json.loads(as_json.stdout)["findings"]


def test_stats_count_reads(tmp_path: Path) -> None:
    """The figures are reads, rejections, rescans, duplicates and seconds per card, by scanner, card and hour."""
    path = story(tmp_path, STORY)

    figures = json.loads(lines("stats", path, "--json")[0])

    assert figures["total"] == {
        "accepted": 3,
        "entered": 1,
        "rejected": 3,
        "rescans": 1,
        "duplicates": 1,
        "reject_rate": 0.5,
        "seconds_per_card": 3.25,  # 2, 10 and 1 s, and 0 where the clock was set back
        "reasons": {"no_read": 1, "duplicate": 1, "no_round": 1},
    }
    assert pairs(figures["scanners"]) == {"second": (1, 0), "shoe": (2, 3)}
    assert pairs(figures["cards"]) == {"2C": (0, 1), "AS": (2, 1), "KD": (1, 0)}
    assert pairs(figures["hours"]) == {"2026-11-30T02": (1, 2), "2026-11-30T03": (2, 1)}
    assert figures["unreadable"] == 0


def pairs(group: dict[str, dict[str, int]]) -> dict[str, tuple[int, int]]:
    """Accepted and rejected reads of each."""
    return {key: (counts["accepted"], counts["rejected"]) for key, counts in group.items()}


def test_stats_for_people(tmp_path: Path) -> None:
    """The figures for people are one line for all, and one for each scanner, card and hour."""
    path = story(tmp_path, STORY)

    shown = lines("stats", path)

    names = ["all", "scanner second", "scanner shoe", "card 2C", "card AS", "card KD"]
    assert [*names, "hour 2026-11-30T02", "hour 2026-11-30T03"] == [line.split("  ")[0] for line in shown[1:-1]]
    assert "50.0000%" in shown[1]
    assert shown[-1] == "cards entered by hand: 1"


def test_stats_of_nothing(tmp_path: Path) -> None:
    """Where there were no reads there is no rate."""
    path = story(tmp_path, STORY[:2])

    assert "-" in lines("stats", path)[1]
    assert json.loads(lines("stats", path, "--json")[0])["total"]["reject_rate"] is None


@pytest.mark.fault(102)
def test_damaged_event_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """A damaged event is shown as such, left out of the figures and told there, and all others are there."""
    path = story(tmp_path, STORY)
    harm(path, "UPDATE events SET body = x'7b' WHERE seq = 3")

    assert [
        line.partition("card_accepted")[2].strip() for line in lines("tail", path, "-n", 10) if " 3  2026" in line
    ] == ["(unreadable, see `scannerd journal verify`)"]
    assert lines("stats", path)[-1] == "damaged events that were left out: 1, see `scannerd journal verify`"
    assert len(lines("export", path, "--format", "csv")) == 13


@pytest.mark.fault(134)
@pytest.mark.parametrize("command", [("tail", "-n", "10000"), ("export",), ("export", "--format", "csv")])
def test_reader_that_has_seen_enough_is_no_trouble(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Output that is piped into a program which stops reading ends well, without a word on stderr."""
    filled(tmp_path, 10_000)

    with start("from scannerd.cli.journal import journal; journal()", *command, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""

    assert child.returncode == 0
