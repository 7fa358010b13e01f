"""A command as it comes from outside: what is malformed, expired, repeated, and what goes on to the deal."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.commands import LARGEST, REMEMBERED, Answer, Asked, Repeated, Replies, examine, parse
from scannerd.core.events import Command

WALL = datetime(2026, 11, 30, 2, 45, 16, tzinfo=UTC)


def judged(
    name: str, fields: dict[str, object] | None, replies: Replies | None = None, *, retained: bool = False
) -> Asked | Repeated | Answer:
    """What is made of a command that comes at 7 µs."""
    return examine(name, fields, at=7, wall=WALL, replies=replies or Replies(), retained=retained)


def refusal(name: str, fields: dict[str, object] | None, *, retained: bool = False) -> tuple[str | None, str | None]:
    """The id and the error of a refused command."""
    verdict = judged(name, fields, retained=retained)
    assert isinstance(verdict, Answer)
    assert not verdict.ok
    assert verdict.message
    return verdict.id, verdict.error


# --- the payload -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"{",
        b"[]",
        b"7",
        b"null",
        b'"text"',
        b"\xff",
        b'{"id":NaN}',
        b'{"id":-Infinity}',
        b'{"id":"c1","from":1e999}',
        b'{"id":"c1","x":[{"y":-1e999}]}',
        b'{"id":"\\ud800"}',
        b'{"\\udfff":1}',
        b'{"n":' + b"9" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 10_000,
    ],
)
def test_a_payload_that_is_no_object_of_json_is_malformed(payload: bytes) -> None:
    """Whatever the bytes, nothing raises, and nothing is taken that could not be journalled."""
    assert parse(payload) is None


def test_a_payload_over_64_kib_is_not_parsed() -> None:
    """The bound is 65,536 bytes, that many included."""
    at_the_bound = b'{"id":"' + b"x" * (LARGEST - 9) + b'"}'
    assert 65_536 == len(at_the_bound)
    assert {"id": "x" * (LARGEST - 9)} == parse(at_the_bound)
    assert parse(at_the_bound + b" ") is None


def test_a_payload_may_hold_any_text() -> None:
    """Characters beyond ASCII, written out or escaped, are taken."""
    assert {"by": "Іван 😀"} == parse('{"by":"Іван \\ud83d\\ude00"}'.encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_taken(payload: bytes) -> None:
    """No payload raises, and what is made of it is a verdict."""
    assert isinstance(judged("open", parse(payload)), Asked | Repeated | Answer)


# --- the verdict -----------------------------------------------------------------------------------------------


def test_a_command_goes_on_with_its_own_fields() -> None:
    """The deal gets the name, the person, and the fields but `id`, `by` and `expires`."""
    fields: dict[str, object] = {"id": "c1", "by": "eva", "reason": "r", "expires": None, "slot": "A1", "junk": [1]}
    command = Command(7, "rescan", "eva", {"reason": "r", "slot": "A1", "junk": [1]})
    assert Asked("c1", command) == judged("rescan", fields)


@pytest.mark.parametrize("name", ["resend", "snapshot"])
def test_commands_of_the_wire_go_on_too(name: str) -> None:
    """`resend` and `snapshot` are known though the deal does not know them."""
    assert Asked("c1", Command(7, name, None, {})) == judged(name, {"id": "c1"})


def test_malformed_is_answered_without_an_id() -> None:
    """Whatever can't be read has no id to answer to."""
    assert (None, "malformed") == refusal("open", None)


@pytest.mark.parametrize("command_id", [None, "", "x" * 65, 7, True, ["c1"], {}])
def test_an_id_is_required(command_id: object) -> None:
    """An id is text of 1 to 64 characters; the answer to any other names none."""
    assert (None, "bad_id") == refusal("open", {"id": command_id})
    assert (None, "bad_id") == refusal("open", {})


@pytest.mark.parametrize("command_id", ["c", "x" * 64, " ", "é" * 64])
def test_an_id_of_up_to_64_characters_is_one(command_id: str) -> None:
    """Characters are counted, not bytes."""
    assert isinstance(judged("open", {"id": command_id}), Asked)


@pytest.mark.parametrize("field", ["by", "reason"])
@pytest.mark.parametrize("value", [7, True, [], {}])
def test_a_person_and_a_reason_are_text(field: str, value: object) -> None:
    """Anything else is malformed; null is as good as nothing."""
    assert (None, "malformed") == refusal("void", {"id": "c1", field: value})
    assert isinstance(judged("void", {"id": "c1", field: None}), Asked)


def test_an_unknown_command_is_answered_with_those_there_are() -> None:
    """The refusal names every command."""
    verdict = judged("shuffle", {"id": "c1"})
    assert isinstance(verdict, Answer)
    assert ("c1", "unknown_command") == (verdict.id, verdict.error)
    known = "enter, hold, open, release, rescan, resend, self_check, snapshot, void"
    assert f"no command 'shuffle'; there are {known}" == verdict.message


def test_a_retained_command_is_never_carried_out() -> None:
    """Nobody knows how old it is: it is refused, whatever it is."""
    assert ("c1", "retained") == refusal("open", {"id": "c1"}, retained=True)
    assert ("c1", "retained") == refusal("shuffle", {"id": "c1"}, retained=True)


# --- expiry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expires",
    ["2026-11-30T02:45:16Z", "2026-11-30T02:45:15.999999Z", "2026-11-30T04:45:16+02:00", "1999-01-01t00:00:00z"],
)
def test_a_command_whose_time_has_come_is_expired(expires: str) -> None:
    """At its time and after it a command is refused."""
    assert ("c1", "expired") == refusal("open", {"id": "c1", "expires": expires})


@pytest.mark.parametrize(
    "expires",
    [
        "2026-11-30T02:45:17Z",
        "2026-11-30T02:45:16.000001Z",
        "2026-11-30t04:45:17+02:00",
        "2026-11-29 22:45:17-04:00",
        None,
    ],
)
def test_a_command_whose_time_is_to_come_goes_on(expires: str | None) -> None:
    """Before its time, or without one, a command is carried out."""
    assert isinstance(judged("open", {"id": "c1", "expires": expires}), Asked)


@pytest.mark.parametrize(
    "expires",
    [
        "",
        "soon",
        "2026-11-30",
        "2026-11-30T02:45:17",
        "2026-11-30T02:45Z",
        "20261130T024517Z",
        "2026-W49-1T02:45:17Z",
        "2026-13-30T02:45:17Z",
        "2026-11-30T25:45:17Z",
        "0001-01-01T00:00:00+23:00",
        "9999-12-31T23:59:59-23:00",
        "2026-11-30T02:45:17+0200",
        "\uff12\uff10\uff12\uff16-11-30T02:45:17Z",
        "2026-11-30T02:45:17Z\n",
        1_796_000_000,
        True,
        [],
    ],
)
def test_a_time_that_can_not_be_read_is_malformed(expires: object) -> None:
    """What is no time of RFC 3339 is never taken for one that is to come."""
    assert (None, "malformed") == refusal("open", {"id": "c1", "expires": expires})


# --- repetitions -----------------------------------------------------------------------------------------------


def test_a_repeated_id_gets_the_first_reply() -> None:
    """The id alone decides: another name, a wrong field or an old retained copy gets the same answer."""
    replies = Replies([("c1", b"first")])
    assert Repeated(b"first") == judged("open", {"id": "c1"}, replies)
    assert Repeated(b"first") == judged("shuffle", {"id": "c1", "by": 7, "expires": "soon"}, replies)
    assert Repeated(b"first") == judged("open", {"id": "c1"}, replies, retained=True)


def test_the_last_thousand_replies_are_remembered() -> None:
    """The oldest reply gives way to the thousand-and-first."""
    replies = Replies()
    for number in range(REMEMBERED):
        replies.keep(f"c{number}", b"%d" % number)
    assert b"0" == replies.get("c0")
    replies.keep("new", b"new")
    assert [None, b"1", b"new"] == [replies.get(one) for one in ("c0", "c1", "new")]
    assert 1_000 == REMEMBERED


# --- the reply -------------------------------------------------------------------------------------------------


def test_a_reply_says_what_was_done_or_why_not() -> None:
    """A carried-out command is answered with its last event's number, a refused one with its error."""
    assert {"id": "c1", "ok": True, "seq": 7} == json.loads(Answer("c1", ok=True, seq=7).payload)
    assert {"id": "c1", "ok": True, "seq": None} == json.loads(Answer("c1", ok=True).payload)
    refused = Answer(None, ok=False, error="malformed", message="é")
    assert {"id": None, "ok": False, "error": "malformed", "message": "é"} == json.loads(refused.payload)
