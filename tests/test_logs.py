"""The log: JSON for machines, words for people, priorities for systemd's journal, and no secrets anywhere."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from scannerd import logs
from scannerd.redaction import HIDDEN


@pytest.fixture(autouse=True)
def _fresh_log() -> Iterator[None]:
    """Leaves no test's log to the next one."""
    yield
    structlog.reset_defaults()


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_lines_are_json() -> None:
    """A line is one JSON object with level, time, part and keys."""
    stream = io.StringIO()
    logs.configure(stream=stream, environ={})
    logs.get("reader").warning("lost", scanner="shoe", card="A♠")
    line = json.loads(stream.getvalue())
    assert ("lost", "warning", "reader", "shoe") == (line["event"], line["level"], line["part"], line["scanner"])
    assert line["timestamp"].endswith("Z")
    assert "A♠" in stream.getvalue()


def test_lines_for_people() -> None:
    """On a terminal a line is in words, without colours where those are not wanted."""
    stream = Terminal()
    logs.configure(stream=stream, environ={"NO_COLOR": "1"})
    logs.get("reader").info("lost", scanner="shoe")
    assert "lost" in stream.getvalue()
    assert "scanner=shoe" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(("level", "priority"), [("error", 3), ("warning", 4), ("info", 6), ("debug", 7)])
def test_lines_for_the_journal_have_priorities(tmp_path: Path, level: str, priority: int) -> None:
    """Where the stream is systemd's journal, a line begins with the priority of its level."""
    with (tmp_path / "journal").open("w+", encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        logs.configure("debug", stream=stream, environ={"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        getattr(logs.get("engine"), level)("said")
        stream.seek(0)
        mark, _, text = stream.read().partition(">")
    assert f"<{priority}" == mark
    assert level == json.loads(text)["level"]


def test_inherited_journal_variable_is_no_journal() -> None:
    """A shell that inherited JOURNAL_STREAM does not make our stream the journal."""
    stream = io.StringIO()
    logs.configure(stream=stream, environ={"JOURNAL_STREAM": "1:2"})
    logs.get("engine").info("said")
    assert stream.getvalue().startswith("{")


def test_secrets_are_hidden_at_any_depth() -> None:
    """A value whose key speaks of a secret is not written, at whatever depth."""
    stream = io.StringIO()
    logs.configure(stream=stream, environ={})
    logs.get("x").info("said", password="p1", pin="p2", mqtt={"Auth-Token": "p3", "user": "u"}, many=[{"secret": "p4"}])
    line = json.loads(stream.getvalue())
    assert [HIDDEN] * 2 == [line["password"], line["pin"]]
    assert {"Auth-Token": HIDDEN, "user": "u"} == line["mqtt"]
    assert [{"secret": HIDDEN}] == line["many"]


def test_words_that_only_look_like_secrets_are_shown() -> None:
    """A key that merely contains the letters `pin` is written."""
    assert {"ping": 1} == logs.hide_secrets(None, "info", {"ping": 1})


def test_level_decides_what_is_written() -> None:
    """Lines below the level are left out."""
    stream = io.StringIO()
    logs.configure("warning", stream=stream, environ={})
    logs.get("x").info("said")
    assert "" == stream.getvalue()


def test_unknown_level_is_refused() -> None:
    """An unknown level is refused."""
    with pytest.raises(ValueError, match="expected a level"):
        logs.configure("loud")


class Full(io.StringIO):
    """A stream on a disk without room, or whose reader is gone."""

    def write(self, text: str) -> int:
        """Refuses it."""
        raise OSError(28, f"No space left on device for {len(text)} characters")

    def flush(self) -> None:
        """Refuses, too."""
        raise BrokenPipeError


def test_log_that_can_not_be_written_stops_nobody() -> None:
    """A line that can't be written is lost, and whoever had something to say goes on."""
    logs.configure(stream=Full())
    logs.get("engine").info("said into the void")
