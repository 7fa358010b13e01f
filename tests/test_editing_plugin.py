"""`pytest --scanlogs DIR`: a test for each recording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_recordings import ACE, CARDS, HEADER, KING, OPENED, write, write_lines

pytest_plugins = ["pytester"]
ALONE = ("-p", "no:cacheprovider", "-p", "no:xdist")


@pytest.fixture(name="corpus")
def _corpus(pytester: pytest.Pytester) -> Path:
    """Two recordings, of which `odd` differs."""
    folder = pytester.mkdir("recordings")
    for name, lines in (("good", [OPENED, ACE, KING]), ("odd", [OPENED, KING])):
        write(folder / f"{name}.scanlog", *CARDS)
        write_lines(folder / f"{name}.expected.jsonl", lines)
    return folder


def test_each_recording_is_a_test(pytester: pytest.Pytester, corpus: Path) -> None:
    """A recording that gives what is expected passes, the other fails with the difference and how it came about."""
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*_ recording odd _*",
            '*odd.expected.jsonl: not expected: {"t":1,"type":"card_accepted"*',
            "  by rule 10: *",
            "decoded     code 'AS', from 41 53 0d",
            "before      phase: idle",
            "as it should be now? scannerd verify --update *odd.scanlog",
            "FAILED recordings/odd.scanlog::odd*",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")
    done.stdout.no_fnmatch_line("*NotAsExpected*")


def test_folder_without_a_recording_is_refused(pytester: pytest.Pytester) -> None:
    """A folder in which no recording lies, as one that was not checked out, does not pass in silence."""
    pytester.makepyfile("def test_of_the_studio(): pass")
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", pytester.mkdir("recordings").name)
    assert pytest.ExitCode.USAGE_ERROR == done.ret
    done.stderr.fnmatch_lines(["*recordings: no recording (.scanlog) in it"])


def test_a_studio_s_own_tests_run_beside_them(pytester: pytest.Pytester, corpus: Path) -> None:
    """What pytest collects without the option it collects with it too."""
    pytester.makepyfile("def test_of_the_studio(): pass")
    (corpus / "odd.scanlog").unlink()
    pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name).assert_outcomes(passed=2)


def test_without_the_option_recordings_are_no_tests(pytester: pytest.Pytester, corpus: Path) -> None:
    """A run that does not ask for recordings collects none, wherever they lie."""
    assert pytest.ExitCode.NO_TESTS_COLLECTED == pytester.runpytest_inprocess(*ALONE, corpus.name).ret


@pytest.mark.parametrize(
    ("expression", "count"), [("odd", 1), ("line", 2), ("teen-patti-20-20 and not odd", 1), ("bee-tek", 0)]
)
def test_words_choose_by_name_driver_and_game(
    pytester: pytest.Pytester, corpus: Path, expression: str, count: int
) -> None:
    """`-k` fits the recording's name, its drivers and its game."""
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name, "-k", expression, "--collect-only", "-q")
    assert count == sum("::" in line for line in done.outlines)


def test_several_folders_each_recording_once(pytester: pytest.Pytester, corpus: Path) -> None:
    """The option may be given several times; a recording below two of the folders is one test."""
    other = write(pytester.mkdir("more") / "third.scanlog", *CARDS)
    write_lines(other.with_suffix(".expected.jsonl"), [OPENED, ACE, KING])
    folders = ("--scanlogs", corpus.name, "--scanlogs", "more", "--scanlogs", corpus.name)
    pytester.runpytest_inprocess(*ALONE, *folders).assert_outcomes(passed=2, failed=1)


def test_links_are_followed(pytester: pytest.Pytester, corpus: Path) -> None:
    """A folder that is reached by a link or over another, or a recording that is a link, is as good as any other."""
    linked = pytester.mkdir("linked")
    for name in ("good.scanlog", "good.expected.jsonl"):
        (linked / name).symlink_to(corpus / name)
    (pytester.path / "link").symlink_to(linked)
    pytester.runpytest_inprocess(*ALONE, "--scanlogs", f"{corpus.name}/../link").assert_outcomes(passed=1)


def test_one_recording_by_its_id(pytester: pytest.Pytester, corpus: Path) -> None:
    """Whoever names a recording of the folder gets that one only, as after a failure."""
    named = f"{corpus.name}/good.scanlog::good"
    pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name, named).assert_outcomes(passed=1)


def test_a_recording_that_can_t_be_used_says_why(pytester: pytest.Pytester, corpus: Path) -> None:
    """The failure of a recording that can't be used is one line with file and line."""
    write(corpus / "odd.scanlog", header={**HEADER, "game": "whist"})
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*odd.scanlog:1: expected a game: *"])


def test_what_was_ignored_is_told_with_a_failure(pytester: pytest.Pytester, corpus: Path) -> None:
    """The warnings of a recording that fails stand in its report."""
    with (corpus / "odd.scanlog").open("a", encoding="utf-8") as file:
        file.write('{"t":9,"en')
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name)
    done.stdout.fnmatch_lines(["*- Captured warnings call -*", "*odd.scanlog:4: *torn*"])


def test_a_fault_of_the_plugin_keeps_its_traceback(pytester: pytest.Pytester, corpus: Path) -> None:
    """What is no verdict on a recording is shown as any error of a test."""
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(item):
            raise RuntimeError("of the machine")
        """
    )
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", corpus.name, "-k", "good")
    done.stdout.fnmatch_lines(["*RuntimeError: of the machine*"])


def test_a_folder_that_is_not_there_ends_the_run(pytester: pytest.Pytester) -> None:
    """A folder that is not there is an error of usage that names it."""
    done = pytester.runpytest_inprocess(*ALONE, "--scanlogs", "nowhere")
    assert pytest.ExitCode.USAGE_ERROR == done.ret
    done.stderr.fnmatch_lines(["ERROR: --scanlogs *nowhere: no such file or folder"])


def test_it_is_there_where_scannerd_is_installed(pytester: pytest.Pytester, corpus: Path) -> None:
    """The plugin needs no `-p`, and several processes of pytest-xdist share the recordings."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--scanlogs", corpus.name]
    done = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED recordings/odd.scanlog::odd" in done.stdout
