"""Which recordings of a corpus are looked at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scannerd.errors import UsageError
from scannerd.verify.choosing import Choice, chosen
from scannerd.verify.corpus import find
from tests.small_recordings import CARDS, HEADER, write, write_lines


@pytest.fixture(name="corpus")
def _corpus(tmp_path: Path) -> Path:
    """Three recordings in folders, of two drivers, the second with a rejection."""
    folder = tmp_path / "line-7"  # a word that fits a driver, above the folder that is given
    for name, driver, told in (
        ("shoe-4/clean", "line", ['{"t":1,"type":"round_opened"}']),
        ("shoe-4/multi", "bee-tek", ['{"t":1,"type":"scan_rejected","data":{"reason":"multi_read"}}']),
        ("shoe-5/Late", "bee-tek", ['{"t":1,"type":"round_held","data":{"reason":"rescan_limit"}}']),
    ):
        recording = folder / f"{name}.scanlog"
        recording.parent.mkdir(parents=True, exist_ok=True)
        write(recording, *CARDS, header={**HEADER, "scanners": {"desk": {"driver": driver}}})
        write_lines(recording.with_suffix(".expected.jsonl"), told)
    return folder


def names(corpus: Path, choice: Choice) -> list[str]:
    """The names of those that fit."""
    return [recording.stem for recording in chosen(find([corpus]), choice, [corpus])]


@pytest.mark.parametrize(
    ("expression", "fit"),
    [
        ("", ["clean", "multi", "Late"]),
        ("multi", ["multi"]),
        ("shoe-4", ["clean", "multi"]),
        ("late", ["Late"]),
        ("line", ["clean"]),
        ("not bee-tek", ["clean"]),
        ("shoe-4 and not clean", ["multi"]),
        ("clean or late", ["clean", "Late"]),
        ("not clean or multi", ["multi", "Late"]),
        ("not (clean or multi)", ["Late"]),
        ("shoe-4 and (late or multi)", ["multi"]),
        ("not not late", ["Late"]),
        ("teen-patti and c*n", ["clean"]),
        ("shoe-?", ["clean", "multi", "Late"]),
    ],
)
def test_words(corpus: Path, expression: str, fit: list[str]) -> None:
    """Words fit names, folders, drivers and games in part, those with a star wholly, and combine as in logic."""
    assert fit == names(corpus, Choice(expression))


def test_no_recording_fits(corpus: Path) -> None:
    """Filters that leave nothing over are an error: a CI job must not pass because it looked at nothing."""
    with pytest.raises(UsageError, match="no recording fits"):
        names(corpus, Choice("*lea"))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("and", "a word is missing before 'and'"),
        ("clean or", "a word is missing at its end"),
        ("(clean", "a parenthesis is not closed"),
        ("clean)", "')' is too much"),
        ("clean late", "'late' is too much"),
        ("not", "a word is missing at its end"),
        ("()", "a word is missing before ')'"),
    ],
)
def test_an_expression_that_can_t_be_read(corpus: Path, expression: str, why: str) -> None:
    """What is wrong with an expression is named, with what is meant."""
    with pytest.raises(UsageError, match=re.escape(f"{why}; words with")):
        names(corpus, Choice(expression))


@pytest.mark.parametrize(
    ("choice", "fit"),
    [
        (Choice(drivers=("bee-tek",)), ["multi", "Late"]),
        (Choice(drivers=("bee-tek", "line")), ["clean", "multi", "Late"]),
        (Choice(types=("round_held", "round_opened")), ["clean", "Late"]),
        (Choice(reasons=("multi_read",)), ["multi"]),
        (Choice(drivers=("bee-tek",), reasons=("multi_read", "rescan_limit"), types=("round_held",)), ["Late"]),
    ],
)
def test_what_a_recording_holds(corpus: Path, choice: Choice, fit: list[str]) -> None:
    """Of each option one value must fit, and all options must."""
    assert fit == names(corpus, choice)


def test_what_can_t_be_used_is_not_passed_over(corpus: Path) -> None:
    """A recording or an expected file that can't be used is looked at, so that the replay can say why."""
    write_lines(corpus / "shoe-4" / "clean.expected.jsonl", ["{"])
    write_lines(corpus / "shoe-5" / "Late.scanlog", ["{"])
    assert ["clean", "multi"] == names(corpus, Choice(reasons=("multi_read",)))
    assert ["Late"] == names(corpus, Choice("late"))


def test_a_recording_without_expected_events_expects_nothing(corpus: Path) -> None:
    """By type and reason only a recording is found whose expected file says so."""
    (corpus / "shoe-4" / "multi.expected.jsonl").unlink()
    with pytest.raises(UsageError, match="no recording fits"):
        names(corpus, Choice(reasons=("multi_read",)))


def test_a_recording_that_is_named_is_known_by_its_name_alone(corpus: Path) -> None:
    """The folders of a recording that is given itself don't count."""
    recording = corpus / "shoe-4" / "clean.scanlog"
    assert [recording] == chosen([recording], Choice("clean"), [recording])
    with pytest.raises(UsageError, match="no recording fits"):
        chosen([recording], Choice("shoe-4"), [recording])
