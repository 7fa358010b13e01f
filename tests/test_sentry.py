"""The word that nothing moves: when it covers what the engine showed, and when it is taken away."""

from __future__ import annotations

import threading

import pytest

from scannerd.inbox import ThreadDied
from scannerd.messages import dumps
from scannerd.mqtt.notices import Reply
from scannerd.sentry import NO_TURN, SLOW_WRITE, Sentry
from scannerd.texts import texts
from tests.fakes import FakeSpeaker

DEAL = {"code": "deal", "slot": "A1"}
STATUS = {"state": "online", "alarms": [{"alarm": "network"}]}


class Post:
    """A sentry, whom it speaks to, and an engine that moves when it is told to."""

    def __init__(self) -> None:
        """The engine turns, and has shown a prompt and a status."""
        self.turn = self.write = 0
        self.speaker = FakeSpeaker()
        self.died: list[ThreadDied] = []
        self.told = threading.Event()
        self.sentry = Sentry(
            self.speaker,
            texts("en"),
            turn=lambda: self.turn,
            write=lambda: self.write,
            wall=lambda: 1_796_006_716_123_456,
            post=self.post,
            now=lambda: 7,
        )
        self.sentry.show("prompt", dumps(DEAL))
        self.sentry.show("status", dumps(STATUS))

    def post(self, died: ThreadDied) -> None:
        """Takes the thread's last word."""
        self.died.append(died)
        self.told.set()

    def look(self, times: int) -> str:
        """Looks so many times without a move of the engine; what the prompt is then."""
        for _ in range(times):
            self.sentry.look()
        return str(self.speaker.last("prompt")["code"])


def test_write_that_does_not_return_is_told() -> None:
    """A write that is under way for so many looks covers prompt and status; the other alarms stay."""
    post = Post()
    post.write = 1
    assert "deal" == post.look(SLOW_WRITE)
    assert "storage_fault" == post.look(1)
    prompt, status = post.speaker.last("prompt"), post.speaker.last("status")
    assert ("Storage fault: call the supervisor", "2026-11-30T02:45:16.123456Z") == (prompt["text"], prompt["since"])
    storage = {
        "alarm": "storage",
        "scanner": None,
        "since": "2026-11-30T02:45:16.123456Z",
        "detail": "the journal's disk does not answer",
    }
    assert {"state": "degraded", "alarms": [{"alarm": "network"}, storage]} == status
    said = len(post.speaker.said)
    post.look(100)
    assert said == len(post.speaker.said)


def test_engine_that_does_not_turn_is_told() -> None:
    """An engine that stands still outside a write is told as well, after longer."""
    post = Post()
    assert "deal" == post.look(NO_TURN)
    assert "storage_fault" == post.look(1)
    assert "the daemon stands still" in str(post.speaker.last("status"))


def test_engine_that_moves_is_never_covered() -> None:
    """Whatever it writes, an engine that turns, or writes one after the other, is no standstill."""
    post = Post()
    for number in range(100):
        post.turn, post.write = number // 2, number
        assert "deal" == post.look(1)


def test_cover_is_taken_away_at_the_next_look() -> None:
    """When the engine has moved and says nothing, what it showed last is shown again."""
    post = Post()
    post.write = 1
    post.look(SLOW_WRITE + 1)
    post.write = 0
    assert "deal" == post.look(1)
    assert STATUS == post.speaker.last("status")
    said = len(post.speaker.said)
    post.look(1)
    assert said == len(post.speaker.said)


@pytest.mark.parametrize("word", ["wake", "show", "answer", "resend"])
def test_cover_is_taken_away_by_the_engines_next_word(word: str) -> None:
    """Whatever the engine says first, what it had shown stands before it, and a new prompt is not the old one."""
    post = Post()
    post.write = 1
    post.look(SLOW_WRITE + 1)
    mark = len(post.speaker.said)
    if word == "show":
        post.sentry.show("prompt", dumps({"code": "complete"}))
        assert [("prompt", {"code": "complete"}), ("status", STATUS)] == post.speaker.said[mark:]
        return
    if word == "wake":
        post.sentry.wake(9)
    elif word == "answer":
        post.sentry.answer(Reply(b"{}"))
    else:
        post.sentry.resend(1, 2, Reply(b"{}"))
    assert [("prompt", DEAL), ("status", STATUS)] == post.speaker.said[mark:-1]
    assert word == post.speaker.said[-1][0]


def test_known_fault_is_not_covered() -> None:
    """Where the engine has said itself that nothing can be written, its words stand."""
    post = Post()
    post.sentry.show("prompt", dumps({"code": "storage_fault"}))
    said = len(post.speaker.said)
    post.look(100)
    assert said == len(post.speaker.said)


def test_nothing_is_covered_before_there_is_anything() -> None:
    """Before the first prompt and status there is nothing to be covered."""
    speaker = FakeSpeaker()
    sentry = Sentry(speaker, texts("en"), lambda: 0, lambda: 1, lambda: 0, lambda _: None, lambda: 0)
    for _ in range(100):
        sentry.look()
    assert [] == speaker.said


def test_language_changes() -> None:
    """After a change of the language the cover is in the new one."""
    post = Post()
    post.sentry.speak(texts("pt"))
    post.write = 1
    post.look(SLOW_WRITE + 1)
    assert texts("en") != texts("pt")
    assert "Storage fault" not in str(post.speaker.last("prompt")["text"])


def test_thread_looks_by_itself_and_dies_loudly() -> None:
    """The thread looks without being asked; where it dies the engine is told, for the process must end."""
    post = Post()
    del post.turn
    post.sentry.start()
    assert post.told.wait(10)
    assert ("sentry", 7) == (post.died[0].name, post.died[0].at)
    post.sentry.join()


def test_thread_ends_when_it_is_told_to() -> None:
    """A stop ends the thread, and does nothing where it never ran."""
    post = Post()
    post.sentry.start()
    post.sentry.stop()
    post.sentry.join(10)
    assert "sentry" not in {thread.name for thread in threading.enumerate()}
    never = Post().sentry
    never.stop()
    never.join()
