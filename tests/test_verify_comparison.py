"""What is told beside what is expected: lines that are missing, too many or otherwise, wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scannerd.verify.comparison import AHEAD, Comparison, Difference, Told
from scannerd.verify.expected import Expected, kind
from tests.small_recordings import write_lines


def line(number: int, kind_: str = "card_accepted") -> str:
    """An event that is known by its time."""
    return f'{{"t":{number},"type":"{kind_}","round":null,"data":{{"n":{number}}}}}'


def told(text: str) -> Told:
    """The line as a replay tells it."""
    parsed = json.loads(text)
    return Told(parsed, text.encode(), kind(parsed), 1, None)


def differences(path: Path, expected: list[str], lines: list[str]) -> list[str]:
    """Each difference: `-` and the number of a missing line, `+` one too many, `~` one told otherwise."""
    found: list[Difference] = []
    comparison = Comparison(Expected(write_lines(path, expected)), found.append)
    for one in lines:
        comparison.take(told(one))
    comparison.finish()
    return [_sign(one) for one in found]


def _sign(difference: Difference) -> str:
    wanted, other = difference
    if wanted is None:
        assert other is not None
        return f"+{other.line['t']}"
    t = json.loads(wanted.text)["t"]
    return f"-{t}" if other is None else f"~{t}"


@pytest.mark.parametrize(
    ("expected", "lines", "found"),
    [
        ([], [], []),
        ([1, 2, 3], [1, 2, 3], []),
        ([1, 2, 3], [1, 3], ["-2"]),
        ([1, 3], [1, 2, 3], ["+2"]),
        ([1, 2, 3], [1, 2], ["-3"]),
        ([1, 2], [1, 2, 3], ["+3"]),
        ([1, 2, 3], [1, 9, 3], ["~2"]),
        ([1, 2, 3, 4], [1, 3, 9, 4], ["-2", "+9"]),
        ([1, 2, 3], [], ["-1", "-2", "-3"]),
        ([], [1, 2], ["+1", "+2"]),
    ],
)
def test_small_differences(tmp_path: Path, expected: list[int], lines: list[int], found: list[str]) -> None:
    """A line that is missing, too many or told otherwise is one difference, and does not spoil what follows."""
    assert found == differences(tmp_path / "x", list(map(line, expected)), list(map(line, lines)))


def test_lines_of_different_types_are_two_differences(tmp_path: Path) -> None:
    """A line is told otherwise only where its type is the same."""
    assert ["-2", "+2"] == differences(tmp_path / "x", [line(1), line(2)], [line(1), line(2, "round_held")])


def test_differences_further_apart_than_is_looked_ahead(tmp_path: Path) -> None:
    """Each of many differences is found, however long the file is."""
    numbers = range(20 * AHEAD)
    gone = {AHEAD, 5 * AHEAD, 5 * AHEAD + 1, 20 * AHEAD - 1}
    found = differences(tmp_path / "x", [line(n) for n in numbers], [line(n) for n in numbers if n not in gone])
    assert [f"-{n}" for n in sorted(gone)] == found


def test_a_gap_wider_than_is_looked_ahead(tmp_path: Path) -> None:
    """Lines that never agree again are differences all the same, each once."""
    expected = [line(n) for n in range(3 * AHEAD)]
    found = differences(tmp_path / "x", expected, [line(1_000 + n) for n in range(3 * AHEAD)])
    assert [f"~{n}" for n in range(3 * AHEAD)] == found


numbers = st.lists(st.integers(0, 5), max_size=80)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers, numbers)
def test_differences_make_one_of_the_other(tmp_path: Path, expected: list[int], lines: list[int]) -> None:
    """Whatever the two are, what is not told and what is too many account for every line, and equals differ nowhere."""
    found = differences(tmp_path / "x", list(map(line, expected)), list(map(line, lines)))
    removed = sum(one[0] == "-" for one in found)
    added = sum(one[0] == "+" for one in found)
    assert len(lines) == len(expected) - removed + added
    assert (expected == lines) == (found == [])
