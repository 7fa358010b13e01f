"""The contract as a schema: every message that is made fits it, and it says what the contract says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from scannerd.bulletin import Bulletin, Fault, Identity, Machine, Outbox, status
from scannerd.canonical import FIRST_PREV, seal
from scannerd.cli import run
from scannerd.commands import SHELL_COMMANDS, Answer
from scannerd.core.commands import COMMANDS as CORE_COMMANDS
from scannerd.core.outcomes import Decisions
from scannerd.core.prompts import prompt
from scannerd.core.state import State
from scannerd.errors import Exit
from scannerd.messages import CONTRACT, TOLD, data, told_rounds, utc
from scannerd.recall import Offset
from scannerd.recording.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.scanlog import reading
from scannerd.schema import json_schema
from scannerd.schema.asyncapi import asyncapi
from scannerd.schema.models import COMMANDS, ERRORS
from scannerd.texts import texts

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.scanlog"))
IDENTITY = Identity("session-1", "0.1.0", "teen-patti-20-20", "journal-1", "0" * 64, ("shoe",))
NOON = 1_796_040_000_000_000
DOCUMENT = json_schema()
FORMATS = FormatChecker(())


@FORMATS.checks("date-time", raises=ValueError)
def is_time(value: object) -> bool:
    """Whether a text is a time with an offset."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def problems(name: str, message: bytes | dict[str, object]) -> list[str]:
    """What the schema's definition `name` has against a message."""
    schema = {"$ref": f"#/$defs/{name}", "$defs": DOCUMENT["$defs"]}
    parsed: object = json.loads(message) if isinstance(message, bytes) else message
    validator = Draft202012Validator(schema, format_checker=FORMATS)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(parsed)]


class Wire:
    """Makes what a daemon would say while a recording is played."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bytes]] = []
        self.seq = 0
        self._prev = FIRST_PREV
        self._bulletin = Bulletin(IDENTITY, texts("en"), lambda topic, body: self.said.append((topic, body)))

    def take(self, told: Decisions, before: State, after: State, at: int) -> None:
        """The events of some decisions, and the retained topics after them."""
        for event, round_id in told_rounds(told, before):
            self.seq += 1
            whole: dict[str, object] = {"contract": CONTRACT, "table": "tp-01", "journal": "journal-1"}
            whole |= {"seq": self.seq, "type": event.TYPE, "round": round_id, "at": utc(NOON + event.at)}
            whole |= {"prev": self._prev, "data": data(event)}
            self._prev, body = seal(whole)
            self.said.append((type(event).__name__, body))
        self._bulletin.prompt(prompt(after), NOON + at)
        self._bulletin.round(after, self.seq)
        self._bulletin.status(after, Offset(NOON, at), Machine(Outbox(1, utc(NOON)), None, None))


def played(recording: Path) -> Iterator[tuple[str, bytes]]:
    """Every message that a recording gives, with its definition's name."""
    wire = Wire()
    with reading(recording, lambda _: None) as reader:
        replay = replay_of(reader.header, recording, Registry(), lambda _: None)
        for taken in replay.play(iter(reader)):
            wire.take(taken.told, taken.before, taken.after, taken.at)
    shown = {"prompt": "Prompt", "round": "Round", "status": "Status"}
    return iter([(shown.get(topic, topic), body) for topic, body in wire.said])


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_every_message_of_a_recording_fits_the_schema(recording: Path) -> None:
    """Every event, round, prompt and status that a recording gives is one that the schema describes."""
    names = set()
    for name, body in played(recording):
        names.add(name)
        assert [] == problems(name, body), body
        if name in {told.__name__ for told in TOLD.values()}:
            assert [] == problems("Event", body), body
    assert {"Prompt", "Round", "Status"} <= names
    assert len(names) > 4


def test_status_fits_the_schema_in_trouble() -> None:
    """A status with a fault of the journal, alarms and the daemon's end fits the schema."""
    recording = next(path for path in RECORDINGS if path.stem == "device-error")
    wire = Wire()
    with reading(recording, lambda _: None) as reader:
        replay = replay_of(reader.header, recording, Registry(), lambda _: None)
        for taken in replay.play(iter(reader)):
            fault = Machine(fault=Fault("the disk is full", taken.at), synchronised=True)
            body = status(IDENTITY, taken.after, Offset(NOON, taken.at), fault, offline=True)
            assert [] == problems("Status", body), body
            wire.take(taken.told, taken.before, taken.after, taken.at)


@pytest.mark.parametrize(
    ("definition", "change"),
    [
        ("CardAccepted", {"seq": 0}),
        ("CardAccepted", {"type": "round_held"}),
        ("CardAccepted", {"at": "yesterday"}),
        ("CardAccepted", {"data": {}}),
        ("Event", {"type": "nonsense"}),
        ("Round", {"phase": "asleep"}),
        ("Prompt", {"code": "dance"}),
        ("Prompt", {"slot": "first"}),
        ("Status", {"state": "fine"}),
        ("Status", {"clock": None}),
    ],
)
def test_schema_refuses_what_is_no_message(definition: str, change: dict[str, object]) -> None:
    """A message with a wrong field does not fit the schema, and nor does one that lacks a field."""
    name = "CardAccepted" if definition == "Event" else definition
    recording = next(path for path in RECORDINGS if path.stem == "clean-line")
    message = json.loads(next(body for found, body in played(recording) if found == name))
    assert [] == problems(definition, message)
    assert [] != problems(definition, message | change)
    lacking = {key: value for key, value in message.items() if key not in change}
    assert [] != problems(definition, lacking)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("c-1", ok=True),
        Answer("c-1", ok=True, seq=7),
        *(Answer(None, ok=False, error=error, message="no") for error in ERRORS),
    ],
)
def test_every_reply_fits_the_schema(answer: Answer) -> None:
    """Each reply that can be made fits the schema, and one with a foreign error does not."""
    assert [] == problems("Reply", answer.payload)
    assert [] != problems("Reply", Answer("c-1", ok=False, error="no_idea", message="no").payload)


def test_schema_has_every_command() -> None:
    """Each command that the daemon carries out is in the schema, and no other."""
    assert {*CORE_COMMANDS, *SHELL_COMMANDS} == set(COMMANDS)


@pytest.mark.parametrize(
    ("command", "required", "optional"),
    [
        ("open", {"id"}, {"by", "reason", "expires", "round"}),
        ("void", {"id"}, {"by", "reason", "expires"}),
        ("hold", {"id"}, {"by", "reason", "expires"}),
        ("release", {"id"}, {"by", "reason", "expires"}),
        ("rescan", {"id", "slot"}, {"by", "reason", "expires"}),
        ("enter", {"id", "slot", "card", "by", "reason"}, {"expires"}),
        ("resend", {"id", "from"}, {"by", "reason", "expires", "to"}),
        ("snapshot", {"id"}, {"by", "reason", "expires"}),
        ("self_check", {"id"}, {"by", "reason", "expires"}),
    ],
)
def test_commands_have_their_fields(command: str, required: set[str], optional: set[str]) -> None:
    """A command's schema has exactly the contract's fields, the required ones marked."""
    schema = defined(COMMANDS[command].__name__)
    assert required == set(strings(schema["required"]))
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert required | optional == set(properties)


def defined(name: str) -> dict[str, object]:
    """A definition of the document."""
    definitions = DOCUMENT["$defs"]
    assert isinstance(definitions, dict)
    found = definitions[name]
    assert isinstance(found, dict)
    return {**found}


def strings(value: object) -> list[str]:
    """A list of strings."""
    assert isinstance(value, list)
    return [str(item) for item in value]


def walk(part: object) -> Iterator[dict[str, object]]:
    """Every object in a document."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from walk(value)
    elif isinstance(part, list):
        for value in part:
            yield from walk(value)


def at(document: object, pointer: str) -> object:
    """What a `#/…` reference names."""
    for step in pointer.removeprefix("#/").split("/"):
        assert isinstance(document, dict), pointer
        document = document[step.replace("~1", "/")]
    return document


def test_document_is_a_schema_and_describes_every_field() -> None:
    """The document is JSON Schema 2020-12; every definition and every field beside `data` has a description."""
    Draft202012Validator.check_schema(DOCUMENT)
    definitions = DOCUMENT["$defs"]
    assert isinstance(definitions, dict)
    for name in definitions:
        schema = defined(name)
        assert schema.get("description"), name
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        for key, field in properties.items():
            assert isinstance(field, dict)
            assert key in {"type", "data", "ok"} or field.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("document", [json_schema(), asyncapi()], ids=["json-schema", "asyncapi"])
def test_every_reference_leads_somewhere(document: dict[str, object]) -> None:
    """No reference in the documents points to nothing."""
    references = [part["$ref"] for part in walk(document) if isinstance(part.get("$ref"), str)]
    assert len(references) > 50
    for reference in references:
        assert isinstance(at(document, str(reference)), dict)


def test_asyncapi_has_the_topics_of_the_contract() -> None:
    """The AsyncAPI document has each topic with its parameters, and each event type on the topic of events."""
    document = asyncapi()
    assert "3.0.0" == document["asyncapi"]
    prefix = "{root}/v1/{table}"
    topics = ("event/{type}", "round", "prompt", "status", "resend", "reply", "command/{name}")
    channels = document["channels"]
    assert isinstance(channels, dict)
    assert {f"{prefix}/{topic}" for topic in topics} == {at(channels, f"#/{name}/address") for name in channels}
    for name in channels:
        parameters, address = at(channels, f"#/{name}/parameters"), at(channels, f"#/{name}/address")
        assert isinstance(parameters, dict)
        assert isinstance(address, str)
        assert {part[1:-1] for part in address.split("/") if part[0] == "{"} == set(parameters)
    assert [*TOLD] == list(walk_keys(at(channels, "#/event/messages")))
    assert [f"command_{name}" for name in COMMANDS] == list(walk_keys(at(channels, "#/command/messages")))


def walk_keys(value: object) -> Iterator[str]:
    """The keys of an object."""
    assert isinstance(value, dict)
    yield from value


def test_asyncapi_says_how_messages_are_sent() -> None:
    """Everything is QoS 1; round, prompt and status alone are retained, and the status is the last will."""
    document = asyncapi()
    operations = document["operations"]
    assert isinstance(operations, dict)
    bindings = {name: at(operations, f"#/{name}/bindings/mqtt") for name in operations}
    assert {1} == {at(binding, "#/qos") for binding in bindings.values()}
    retained = {name for name, binding in bindings.items() if at(binding, "#/retain")}
    assert {"send_round", "send_prompt", "send_status"} == retained
    assert "{root}/v1/{table}/status" == at(document, "#/servers/broker/bindings/mqtt/lastWill/topic")
    assert "receive" == at(operations, "#/receive_command/action")


@pytest.mark.parametrize(("arguments", "key"), [([], "$schema"), (["--asyncapi"], "asyncapi")])
def test_command_prints_the_document(capsys: pytest.CaptureFixture[str], arguments: list[str], key: str) -> None:
    """`scannerd schema` prints the document as JSON."""
    assert Exit.WELL == run(["schema", *arguments])
    assert key in json.loads(capsys.readouterr().out)
