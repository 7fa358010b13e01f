"""What a verification says at its end: figures, what an update changed, Markdown, and how far it has come."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.core.rules import Rule
from scannerd.errors import Exit
from scannerd.verify.changes import Change
from scannerd.verify.markdown import MOST_BYTES, report
from scannerd.verify.outcome import Outcome, Updated, Wish
from scannerd.verify.pool import largest_first, size, verify_all
from scannerd.verify.summary import changes_in_words, exit_code, figures, update_in_words
from scannerd.verify.verifying import verify
from tests.small_recordings import ACE, CARDS, HEADER, KING, OPENED, read, write, write_lines

GOOD = Outcome(Path("a.scanlog"), events=3)
ODD = Outcome(Path("b.scanlog"), events=1_234, differences=("one\nmore of it", "two"), explanation="explained: why")
BAD = Outcome(Path("c.scanlog"), error="c.scanlog:2: no JSON")


def pair(folder: Path, name: str, *lines: str) -> Path:
    """A recording of two cards and its expected events."""
    write_lines(folder / f"{name}.expected.jsonl", lines)
    return write(folder / f"{name}.scanlog", *CARDS)


def said(updated: Updated) -> list[str]:
    """The changes of a file, in the order in which they were found."""
    return [str(change) for change in updated.changes or ()]


class TestSummary:
    """The last lines of a verification."""

    def test_figures(self) -> None:
        """Recordings, events and files are counted, one as one."""
        written = Outcome(Path("d"), updated=(Updated(Path("d.expected.jsonl"), 1),))
        assert "1 recording, 3 events: 1 as expected, 0 different, 0 unusable" == str(figures([GOOD]))
        assert "3 recordings, 1237 events: 1 as expected, 1 different, 1 unusable" == str(figures([GOOD, ODD, BAD]))
        assert "1 recording, 0 events: 1 as expected, 0 different, 0 unusable; 1 file written" == str(
            figures([written])
        )

    @pytest.mark.parametrize(
        ("outcomes", "code"),
        [([], 0), ([GOOD], 0), ([GOOD, ODD], 1), ([BAD, GOOD], 2), ([ODD, BAD], 2), ([BAD, ODD], 2)],
    )
    def test_the_worst_decides_how_it_ends(self, outcomes: list[Outcome], code: int) -> None:
        """A recording that can't be used weighs more than a difference, whatever their order."""
        assert code == exit_code(outcomes)


class TestUpdate:
    """What `--update` says."""

    def test_changes_are_told_by_kind_and_rule(self, tmp_path: Path) -> None:
        """Lines that are added, removed and changed are counted by what they are and the rule that decides now."""
        wrong = ACE.replace('"A1"', '"B3"')
        pair(tmp_path, "x", OPENED, wrong, '{"t":2,"type":"round_held","data":{"reason":"rescan_limit"}}')
        (updated,) = verify(tmp_path / "x.scanlog", wish=Wish(update=True)).updated
        assert [
            f"{tmp_path / 'x.expected.jsonl'}: written: 1 added, 1 removed, 1 changed",
            "  + card_accepted, by rule 10",
            "  - round_held rescan_limit",
            "  ~ card_accepted: data.slot, by rule 10",
        ] == update_in_words(updated)

    def test_changes_of_prompts_are_told(self, tmp_path: Path) -> None:
        """A prompt is known by its code and reason; the one at the start goes back to no rule."""
        pair(tmp_path, "x", OPENED, ACE, KING)
        write_lines(tmp_path / "x.prompts.jsonl", ['{"t":0,"prompt":{"code":"rescan","reason":"no_read"}}'])
        (updated,) = verify(tmp_path / "x.scanlog", wish=Wish(update=True)).updated
        assert ["~ prompt wait: prompt.code, prompt.reason", "+ prompt deal, by rule 10"] == said(updated)

    def test_what_a_round_s_opening_is_laid_to(self, tmp_path: Path) -> None:
        """Of a card that opens a round the opening goes back to the row that opened it, the card to its own."""
        pair(tmp_path, "x")
        (updated,) = verify(tmp_path / "x.scanlog", wish=Wish(update=True)).updated
        assert ["+ round_opened, by rule 6", "+ card_accepted, by rule 10"] == said(updated)

    def test_all_changes_are_counted(self, tmp_path: Path) -> None:
        """However many there are, an update counts them all."""
        recording = write(tmp_path / "x.scanlog", *(read(4 * n, "NOREAD") for n in range(1, 101)))
        write_lines(recording.with_suffix(".expected.jsonl"), [])
        (updated,) = verify(recording, wish=Wish(update=True)).updated
        assert "  + scan_rejected no_read, by rule f6, 100 times" == update_in_words(updated)[1]

    def test_changes_of_all_files_together(self) -> None:
        """Where several files changed, each kind of change is told with the number of files, frequent ones first."""
        more, gone = Change("+", "card_accepted", Rule("10", "Any other", "accepted")), Change("-", "round_held", None)
        rare = Change("+", "alarm_raised stalled", Rule("stall", "Silence", "alarm"))
        updated = [
            Outcome(Path("a"), updated=(Updated(Path("a.jsonl"), 9, Counter({more: 2, rare: 1})),)),
            Outcome(Path("b"), updated=(Updated(Path("b.jsonl"), 9, Counter({more: 1, gone: 1})),)),
        ]
        assert [
            "in 2 files altogether:",
            "  + card_accepted, by rule 10, 3 times, in 2 files",
            "  + alarm_raised stalled, by rule stall, in 1 file",
            "  - round_held, in 1 file",
            "rule 10: Any other -> accepted",
            "rule stall: Silence -> alarm",
        ] == changes_in_words(updated)
        assert ["rule 10: Any other -> accepted"] == changes_in_words(updated[1:])

    def test_no_draft_stays_behind(self, tmp_path: Path) -> None:
        """A recording that can't be replayed to its end leaves nothing beside it, and has no expected file."""
        recording = write(tmp_path / "x.scanlog", *CARDS, {"t": 9, "what": "?"})
        assert verify(recording, wish=Wish(update=True)).error is not None
        assert [recording] == list(tmp_path.iterdir())


class TestMarkdown:
    """`--markdown FILE`."""

    def test_what_is_wrong_is_a_row_and_a_fold(self) -> None:
        """The figures, a row for each recording that is not as expected, and its details to be unfolded."""
        text = report([GOOD, ODD, BAD])
        assert text.startswith("## Recordings: not as expected\n\n3 recordings, ")
        assert "| `b.scanlog` | 2 different | `one` |\n| `c.scanlog` | unusable | `c.scanlog:2: no JSON` |\n" in text
        assert "<details><summary>b.scanlog</summary>\n\n<pre>one\nmore of it\ntwo\nexplained: why</pre>" in text
        assert "a.scanlog" not in text

    def test_all_as_expected(self) -> None:
        """Where nothing is wrong there is nothing but the figures."""
        assert (
            "## Recordings: as expected\n\n1 recording, 3 events: 1 as expected, 0 different, 0 unusable\n"
            == report([GOOD])
        )

    def test_nothing_of_a_recording_is_taken_for_markup(self) -> None:
        """What a recording holds breaks out of no cell and no fold."""
        text = report([Outcome(Path("a|b`c.scanlog"), differences=("<b>|`</pre>\n<script>",))])
        assert "| `` a\\|b`c.scanlog `` | 1 different | `` <b>\\|`</pre> `` |" in text
        assert "&lt;/pre&gt;\n&lt;script&gt;" in text

    def test_a_report_too_large_is_cut(self) -> None:
        """A report fits into what a job's summary may hold, and says what it leaves out."""
        large = [Outcome(Path(f"{n}.scanlog"), differences=("x" * 100_000,)) for n in range(20)]
        text = report(large)
        assert len(text.encode()) < MOST_BYTES + 1_000
        assert text.endswith("What follows is left out; the report for machines (`--junit`) has it.\n")

    def test_a_run_appends_to_the_summary(self, tmp_path: Path) -> None:
        """The report is put behind what stands in the file, with what an update changed."""
        pair(tmp_path, "x", OPENED, KING)
        summary = tmp_path / "summary.md"
        summary.write_text("# Of the step before\n", encoding="utf-8")
        assert Exit.WELL == run(["verify", str(tmp_path), "--update", "--markdown", str(summary)])
        text = summary.read_text(encoding="utf-8")
        assert text.startswith("# Of the step before\n## Recordings: as expected\n")
        assert "<summary>What was updated</summary>" in text
        assert "  + card_accepted, by rule 10" in text

    def test_a_report_that_can_t_be_written(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A report that can't be written ends the command with 2."""
        pair(tmp_path, "x", OPENED, ACE, KING)
        assert Exit.USAGE == run(["verify", str(tmp_path), "--markdown", str(tmp_path)])
        assert "Is a directory" in capsys.readouterr().err


class TestPool:
    """Many recordings."""

    def test_the_largest_come_first(self, tmp_path: Path) -> None:
        """A long recording is begun first, so that the others don't wait for it at the end."""
        short, long = pair(tmp_path, "short", OPENED), write(tmp_path / "long.scanlog", *CARDS, *CARDS[1:])
        assert [long, short, tmp_path / "gone"] == largest_first([short, tmp_path / "gone", long])

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_how_far_it_has_come(self, tmp_path: Path, jobs: int) -> None:
        """The bytes that are behind grow until they are those of all recordings."""
        recordings = [pair(tmp_path, name, OPENED, ACE, KING) for name in "abc"]
        came: list[int] = []
        outcomes = list(verify_all(recordings, jobs, came=came.append))
        assert set(recordings) == {outcome.recording for outcome in outcomes}
        assert sorted(came) == came
        assert sum(map(size, recordings)) == came[-1]

    def test_whoever_has_enough_ends_it(self, tmp_path: Path) -> None:
        """The processes end when nobody wants the rest of the outcomes."""
        recordings = [pair(tmp_path, f"n{n}", OPENED, ACE, KING) for n in range(8)]
        outcomes = verify_all(recordings, 2)
        assert next(outcomes).recording in recordings
        outcomes.close()


def test_the_list_says_what_a_recording_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` names the recordings that fit, with their drivers and notes, and replays none."""
    write(tmp_path / "a.scanlog", header={**HEADER, "note": "Two cards."})
    write_lines(tmp_path / "b.scanlog", ["{"])
    assert Exit.WELL == run(["verify", str(tmp_path), "--list"])
    told = capsys.readouterr().out.splitlines()
    assert [f"{tmp_path / 'a.scanlog'}  line: Two cards.", str(tmp_path / "b.scanlog")] == told


def test_explain_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--explain` tells how the first difference of a recording came about, behind its differences."""
    pair(tmp_path, "x", OPENED, KING)
    assert Exit.DIFFERENCE == run(["verify", str(tmp_path), "--explain"])
    told = capsys.readouterr().out.splitlines()
    assert "  by rule 10: Any other read -> `card_accepted` for the due slot" in told
    assert "explained:  the decision that told it" in told


def test_filters_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the recordings that fit are replayed; none that fits ends the command with 2."""
    pair(tmp_path, "one", OPENED, ACE, KING)
    pair(tmp_path, "two", OPENED, KING)
    assert Exit.WELL == run(["verify", str(tmp_path), "-k", "one"])
    assert capsys.readouterr().out.startswith("1 recording,")
    assert Exit.USAGE == run(["verify", str(tmp_path), "--driver", "ssi"])
    assert "no recording fits" in capsys.readouterr().err


def test_a_long_recording_takes_no_more_memory(tmp_path: Path) -> None:
    """A recording of ten times the length is verified, and its files are written, in the memory of a short one."""
    peaks = []
    for reads in (1_000, 10_000):
        recording = write(tmp_path / f"{reads}.scanlog", *(read(4 * n, "AS") for n in range(1, reads)))
        recording.with_suffix(".prompts.jsonl").touch()
        verify(recording, wish=Wish(update=True))
        tracemalloc.start()
        assert not verify(recording).differences
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000
