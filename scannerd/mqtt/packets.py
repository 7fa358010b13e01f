"""The few MQTT packets that proving rights takes, as bytes (OASIS MQTT 3.1.1 and 5.0); pure.

Why not paho: what is proved with QoS 2 must not be released, and paho releases by itself; see `scannerd.mqtt.prover`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal[4, 5]
"""The protocol level: 4 is MQTT 3.1.1."""

CONNACK, PUBLISH, PUBREC, SUBACK, DISCONNECT = 0x20, 0x30, 0x50, 0x90, 0xE0
"""Kinds of packets, the flags masked out."""

REFUSED = 0x80
"""The lowest reason code that says no."""

TOO_LARGE = 0x95
"""The reason code of a message, or a packet, above the broker's limit."""

_QOS_2, _RETAIN = 0x04, 0x01
_CLEAN, _PASSWORD, _USER = 0x02, 0x40, 0x80
_BYTES, _PAIR = -1, -2
_SIZES = {
    0x11: 4,
    0x12: _BYTES,
    0x13: 2,
    0x15: _BYTES,
    0x16: _BYTES,
    0x1A: _BYTES,
    0x1C: _BYTES,
    0x1F: _BYTES,
    0x21: 2,
    0x22: 2,
    0x24: 1,
    0x25: 1,
    0x26: _PAIR,
    0x27: 4,
    0x28: 1,
    0x29: 1,
    0x2A: 1,
}
_RECEIVE_MAXIMUM, _MAXIMUM_QOS, _MAXIMUM_PACKET_SIZE = 0x21, 0x24, 0x27
_OLD_REFUSALS = {
    1: "unsupported protocol version",
    2: "client identifier not valid",
    3: "server unavailable",
    4: "bad user name or password",
    5: "not authorized",
}
_REASONS = {
    0x80: "unspecified error",
    0x81: "malformed packet",
    0x82: "protocol error",
    0x83: "implementation specific error",
    0x84: "unsupported protocol version",
    0x85: "client identifier not valid",
    0x86: "bad user name or password",
    0x87: "not authorized",
    0x88: "server unavailable",
    0x89: "server busy",
    0x8A: "banned",
    0x8C: "bad authentication method",
    0x8F: "topic filter invalid",
    0x90: "topic name invalid",
    0x95: "packet too large",
    0x97: "quota exceeded",
    0x9A: "retain not supported",
    0x9B: "QoS not supported",
    0x9D: "server moved",
}


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet; `kind` without its flags, `body` what follows the fixed header."""

    kind: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Connack:
    """The broker's answer to CONNECT.

    Attributes:
        refusal: why it said no, None where it said yes.
        other_version: it said no because it does not speak this version.
        receive_maximum: how many messages of QoS 2 it takes unfinished.
        maximum_qos: the highest QoS that it takes.
        maximum_packet_size: in bytes, None: no limit.
    """

    refusal: str | None = None
    other_version: bool = False
    receive_maximum: int = 65535
    maximum_qos: int = 2
    maximum_packet_size: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The broker's answer to packet `mid`; `codes` below 0x80 are a yes."""

    mid: int
    codes: tuple[int, ...]


def reason(code: int) -> str:
    """What a reason code of 0x80 or above means (MQTT 5, 2.4)."""
    return _REASONS.get(code, f"reason 0x{code:02x}")


def split(data: bytes) -> tuple[list[Packet], bytes]:
    """Whole packets at the start of `data`, and what is left of it."""
    packets = []
    while (header := _header(data)) is not None and sum(header) <= len(data):
        start, length = header
        packets.append(Packet(data[0] & 0xF0, data[start : start + length]))
        data = data[start + length :]
    return packets, data


def connect(level: Level, client_id: str, username: str | None, password: str | None, keepalive: int) -> bytes:
    """CONNECT with a clean start and no will; `keepalive` in seconds."""
    flags = _CLEAN | (_USER if username is not None else 0) | (_PASSWORD if password is not None else 0)
    body = _text("MQTT") + struct.pack(">BBH", level, flags, keepalive) + (b"\0" if level == 5 else b"")  # noqa: PLR2004 - the version
    for text in (client_id, username, password):
        body += b"" if text is None else _text(text)
    return _packet(0x10, body)


def publish(topic: str, payload: bytes, mid: int) -> bytes:
    """PUBLISH (MQTT 5) with QoS 2, not retained."""
    return _packet(PUBLISH | _QOS_2, _text(topic) + struct.pack(">H", mid) + b"\0" + payload)


def subscribe(level: Level, topics: Sequence[str], mid: int) -> bytes:
    """SUBSCRIBE with QoS 0."""
    body = struct.pack(">H", mid) + (b"\0" if level == 5 else b"")  # noqa: PLR2004 - the version
    return _packet(0x82, body + b"".join(_text(topic) + b"\0" for topic in topics))


def disconnect() -> bytes:
    """DISCONNECT, the same in both versions."""
    return bytes([DISCONNECT, 0])


def connack(packet: Packet, level: Level) -> Connack:
    """Reads a CONNACK; a broker of the old version answers in its own form whatever was asked for.

    Raises:
        ValueError: it is none.
    """
    body = packet.body
    if packet.kind != CONNACK or len(body) < 2:  # noqa: PLR2004 - flags and code
        raise ValueError("the broker's first packet is no CONNACK")
    code = body[1]
    if level == 4 or len(body) == 2:  # noqa: PLR2004 - the version, and flags and code alone
        return Connack() if code == 0 else Connack(_OLD_REFUSALS.get(code, reason(code)), code in (1, 0x84))
    if code:
        return Connack(reason(code), code == 0x84)  # noqa: PLR2004 - from the table above
    found = _properties(body[2:])
    return Connack(
        receive_maximum=found.get(_RECEIVE_MAXIMUM, 65535),
        maximum_qos=found.get(_MAXIMUM_QOS, 2),
        maximum_packet_size=found.get(_MAXIMUM_PACKET_SIZE),
    )


def answer(packet: Packet, level: Level) -> Answer:
    """Reads a PUBREC (MQTT 5) or a SUBACK.

    Raises:
        ValueError: it is too short.
    """
    body = packet.body
    if len(body) < 2:  # noqa: PLR2004 - the packet's id
        raise ValueError("an answer without its packet's id")
    mid = int.from_bytes(body[:2], "big")
    if packet.kind == PUBREC:
        return Answer(mid, tuple(body[2:3]) or (0,))
    if level == 4:  # noqa: PLR2004 - the version
        return Answer(mid, tuple(body[2:]))
    length, at = _varint(body, 2)
    return Answer(mid, tuple(body[at + length :]))


def topic_of(packet: Packet) -> str:
    """The topic of a PUBLISH that came."""
    length = int.from_bytes(packet.body[:2], "big")
    return packet.body[2 : 2 + length].decode("utf-8", "replace")


def _properties(data: bytes) -> dict[int, int]:
    """The numeric properties at the start of `data`.

    Raises:
        ValueError: they can't be read.
    """
    length, at = _varint(data, 0)
    end, found = at + length, {}
    while at < end:
        key, at = data[at], at + 1
        if key not in _SIZES:
            raise ValueError(f"unknown property 0x{key:02x}")
        size = _SIZES[key]
        if size > 0:
            found[key] = int.from_bytes(data[at : at + size], "big")
            at += size
        for _ in range(-size):
            at += 2 + int.from_bytes(data[at : at + 2], "big")
    return found


def _packet(first: int, body: bytes) -> bytes:
    length, header = len(body), bytearray([first])
    while True:
        length, digit = length >> 7, length & 0x7F
        header.append(digit | (0x80 if length else 0))
        if not length:
            return bytes(header) + body


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _header(data: bytes) -> tuple[int, int] | None:
    """How many bytes the fixed header has, and how many follow it; None where that is not known yet.

    Raises:
        ValueError: the length can't be one.
    """
    try:
        length, at = _varint(data, 1)
    except IndexError:
        return None
    return at, length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A variable byte integer (MQTT 5, 1.5.5) and where it ends.

    Raises:
        IndexError: the data ends in it.
        ValueError: it is longer than four bytes.
    """
    value = 0
    for index in range(4):
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follow
            return value, at + index + 1
    raise ValueError("a length of more than four bytes")
