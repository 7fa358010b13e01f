"""Every recording gives its expected events and prompts, through the real drivers and the real core."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, lines
from scannerd.scanlog import reading
from tests.corpus import FOLDER, README, RECORDINGS, REGISTRY, corpus, note, with_index


def played(recording: Path) -> list[Line]:
    """All that a replay prints, as read back from its JSON; a warning is a failure."""
    warnings: list[str] = []
    with reading(recording, warnings.append) as reader:
        replay = replay_of(reader.header, recording, REGISTRY, warnings.append)
        told = [json.loads(json.dumps(line)) for line in lines(replay, iter(reader), prompts=True)]
    assert [] == warnings
    return told


def expected(recording: Path, ending: str) -> list[Line]:
    """The lines of a file beside a recording."""
    text = (recording.with_suffix(ending) if ending else recording).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def as_far_as(expected: list[Line], told: list[Line]) -> list[Line]:
    """Told events without the keys of `data` that the expected event at the same place leaves open."""
    return [
        line | {"data": {key: value for key, value in data(line).items() if key in data(wanted)}}
        for line, wanted in zip(told, expected, strict=True)
    ]


def data(line: Line) -> dict[str, object]:
    """The data of an event."""
    found = line["data"]
    assert isinstance(found, dict)
    return found


def time(line: Line) -> float:
    """When a line was told."""
    at = line["t"]
    assert isinstance(at, float | int)
    return at


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_gives_its_expected_events(recording: Path) -> None:
    """The events, their times and their rounds are those that were written down beforehand."""
    told = [line for line in played(recording) if "type" in line]
    wanted = expected(recording, ".expected.jsonl")
    assert [line["type"] for line in wanted] == [line["type"] for line in told]
    assert wanted == as_far_as(wanted, told)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_gives_its_expected_prompts(recording: Path) -> None:
    """The dealer is asked what was written down beforehand, at the times written down."""
    told = [line for line in played(recording) if "prompt" in line]
    assert expected(recording, ".prompts.jsonl") == told


def test_every_expectation_has_its_recording() -> None:
    """No expected file is left over, and no recording is without both."""
    names = {path.stem for path in RECORDINGS}
    for ending in (".expected.jsonl", ".prompts.jsonl"):
        assert names == {path.name.removesuffix(ending) for path in FOLDER.glob(f"*{ending}")}
    assert len(names) >= 60


def test_commands_that_were_not_carried_out() -> None:
    """Each command that is refused, and each repeated id, is written down with its reason, and no other."""
    ending = ".replies.jsonl"
    written = {path.name.removesuffix(ending): expected(path, "") for path in FOLDER.glob(f"*{ending}")}
    assert written == {one.recording.stem: list(one.replies) for one in corpus() if one.replies}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_says_in_a_sentence_what_it_shows(recording: Path) -> None:
    """Its header has a note of one sentence."""
    assert re.fullmatch(r"[A-Z](?:[^.]|\.(?! |$)){19,}\.", note(recording))


def test_the_index_names_every_recording() -> None:
    """The folder's README lists each recording with its note; `python -m tests.corpus` writes it."""
    readme = README.read_text(encoding="utf-8")
    assert with_index(readme) == readme
    assert all(f"| `{path.stem}` |" in readme for path in RECORDINGS)


def test_a_prompt_stands_after_the_events_of_its_decision() -> None:
    """Two events of one decision are printed, then the prompt that follows from both."""
    told = [line for line in played(FOLDER / "multi-read.scanlog") if line["t"] == 2.08]
    assert ["card_withdrawn", "scan_rejected", "a prompt"] == [line.get("type", "a prompt") for line in told]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_only_changed_prompts_are_printed_and_time_goes_on(recording: Path) -> None:
    """The first line is the prompt at 0; later ones differ from the one before, and no time goes back."""
    told = played(recording)
    prompts = [line["prompt"] for line in told if "prompt" in line]
    times = [time(line) for line in told]
    assert {"t": 0, "prompt": prompts[0]} == told[0]
    assert all(one != other for one, other in pairwise(prompts))
    assert all(one <= other for one, other in pairwise(times))
