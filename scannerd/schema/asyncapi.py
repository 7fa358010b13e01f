"""The contract as AsyncAPI 3.0: topics, who says what on them, and how it is sent. Seen from the daemon."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scannerd.messages import CONTRACT, TOLD
from scannerd.schema import Json, Schema, definitions
from scannerd.schema.models import COMMANDS, SHOWN

_BINDING = "0.2.0"
_PREFIX = "{root}/v1/{table}"
_PARAMETERS: Schema = {
    "root": {"description": "What all topics begin with.", "default": "scannerd"},
    "table": {"description": "The table's id: 1 to 64 of a-z 0-9 - _."},
}
_ASIDE: dict[str, str] = {
    "round": "The current round; retained.",
    "prompt": "What the dealer must do now; retained.",
    "status": "How the daemon is; retained, and its last will.",
    "resend": "Events that were asked for with the command `resend`, byte for byte as first sent.",
    "reply": "Replies to commands that named no response topic.",
}


def asyncapi() -> Schema:
    """The document."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "scannerd",
            "version": CONTRACT,
            "description": "From card shoes and scanners to MQTT: one daemon per table, validated cards out.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"broker": _server()},
        "channels": _channels(),
        "operations": _operations(),
        "components": {"messages": _messages(), "schemas": _schemas()},
    }


def _server() -> Schema:
    will: Schema = {"topic": f"{_PREFIX}/status", "qos": 1, "retain": True, "message": "a status, state offline"}
    return {
        "host": "127.0.0.1:1883",
        "protocol": "mqtt",
        "protocolVersion": "5.0",
        "description": "Any broker of MQTT 5 or 3.1.1, with or without TLS.",
        "bindings": {"mqtt": {"cleanSession": True, "lastWill": will, "bindingVersion": _BINDING}},
    }


def _channels() -> Schema:
    types: Schema = {"type": {"description": "The event's type.", "enum": [*TOLD]}}
    names: Schema = {"name": {"description": "The command.", "enum": [*COMMANDS]}}
    aside = {name: _channel(name, told, _aside_messages(name)) for name, told in _ASIDE.items()}
    return {
        "event": _channel("event/{type}", "The events, in the order of their seq.", TOLD, types),
        **aside,
        "command": _channel(
            "command/{name}", "Commands; a retained one is refused.", [f"command_{name}" for name in COMMANDS], names
        ),
    }


def _aside_messages(topic: str) -> Iterable[str]:
    return TOLD if topic == "resend" else [topic]


def _channel(topic: str, told: str, messages: Iterable[str], more: Schema | None = None) -> Schema:
    return {
        "address": f"{_PREFIX}/{topic}",
        "description": told,
        "parameters": _PARAMETERS | (more or {}),
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "servers": [{"$ref": "#/servers/broker"}],
    }


def _operations() -> Schema:
    sent = {f"send_{topic}": _operation("send", topic, retain=topic in SHOWN) for topic in ("event", *_ASIDE)}
    reply: Schema = {"channel": {"$ref": "#/channels/reply"}, "messages": [{"$ref": "#/channels/reply/messages/reply"}]}
    return {**sent, "receive_command": _operation("receive", "command", retain=False) | {"reply": reply}}


def _operation(action: str, channel: str, *, retain: bool) -> Schema:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "bindings": {"mqtt": {"qos": 1, "retain": retain, "bindingVersion": _BINDING}},
    }


def _messages() -> Schema:
    schemas = definitions()
    headers: Schema = {"type": "object", "properties": {"contract": {"const": CONTRACT}}}
    asked: Schema = {
        "responseTopic": {"type": "string", "description": "Where the reply is to go, under MQTT 5."},
        "correlationData": {"type": "string", "description": "Comes back with the reply, under MQTT 5."},
        "bindingVersion": _BINDING,
    }
    events = {name: _message(told.__name__, schemas) | {"headers": headers} for name, told in TOLD.items()}
    shown = {name: _message(model.__name__, schemas) for name, model in SHOWN.items()}
    commands = {
        f"command_{name}": _message(model.__name__, schemas) | {"bindings": {"mqtt": asked}}
        for name, model in COMMANDS.items()
    }
    return {**events, **shown, **commands, "reply": _message("Reply", schemas)}


def _message(name: str, schemas: dict[str, Schema]) -> Schema:
    return {
        "name": name,
        "summary": schemas[name]["description"],
        "payload": {"$ref": f"#/components/schemas/{name}"},
    }


def _schemas() -> Json:
    text = json.dumps(definitions()).replace('"#/$defs/', '"#/components/schemas/')
    moved: Json = json.loads(text)
    return moved
