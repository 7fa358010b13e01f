"""Target: commands as they come over MQTT, as far as the core.

What must hold for any payload, under any name and in any state of the table:

* it is malformed, answered or carried out, and the answer can be written;
* the same id again is answered as before, and does nothing;
* what is decided can be written as JSON, and so can the command in a recording, where it reads as the same;
* a command that is refused changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO

from fuzz.decoders import recording
from fuzz.target import RECORDINGS, Kept, Target, expect, quiet
from scannerd.commands import SHELL_COMMANDS, Answer, Asked, Repeated, Replies, examine, parse
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import DECK
from scannerd.core.commands import COMMANDS
from scannerd.core.games import TEEN_PATTI_20_20
from scannerd.core.prompts import prompt
from scannerd.core.state import Rules, Setup, State
from scannerd.core.validator import step
from scannerd.messages import data as data_of
from scannerd.messages import dumps, told_rounds
from scannerd.scanlog import Order, ScanlogReader

NAMES = (*COMMANDS, *SHELL_COMMANDS, "shuffle")
WALL = datetime(2026, 11, 30, 2, 45, tzinfo=UTC)
SECOND = 1_000_000


class OrderTarget(Target):
    """Commands; the first byte of an input chooses the state of the table, the second the command's name."""

    name = "command"
    about = "the payload of a command, judged in every phase"

    def seeds(self) -> Iterator[bytes]:
        """Each command of the corpus, in each phase."""
        found = dict.fromkeys(
            (NAMES.index(order.name) if order.name in NAMES else len(NAMES) - 1, json.dumps(order.args).encode())
            for path in sorted(RECORDINGS.glob("*.scanlog"))
            for order in _orders(path.read_bytes())
        )
        for number, (name, payload) in enumerate(found):
            yield bytes([number % len(self.states), name]) + payload

    def words(self) -> Iterator[bytes]:
        """The fields that commands have."""
        keys = b"id by reason expires round slot card from to"
        yield from (b'"%b":' % key for key in keys.split())
        yield from rb""""A1" "all" "AS" "tp-01/1" "2026-11-30T02:45:00Z" +14:00 null true 1e999 NaN {} []""".split()
        yield from rb""""\ud800" \u0000 -0 9999-12-31T23:59:59-23:59""".split()

    @cached_property
    def states(self) -> list[State]:
        """A table in each phase: idle, opened, dealt in part, held, all dealt, complete, and without a broker."""
        setup = Setup("tp-01", TEEN_PATTI_20_20, Rules(start="auto", round_gap_ms=0), ("desk",))
        idle = State(setup, broker_up=True, scanners={"desk": "up"})
        opened = _after(idle, e.Command(0, "open", "engine", {"round": "r-9"}))
        part = _after(opened, e.Read(SECOND, "desk", DECK[0]))
        held = _after(part, e.Command(2 * SECOND, "hold", "sup-1", {}))
        full = part
        for number in range(1, 6):
            full = _after(full, e.Read((number + 1) * SECOND, "desk", DECK[number]))
        complete = _after(full, e.Deadline(7 * SECOND))
        return [idle, opened, part, held, full, complete, _after(idle, e.BrokerChanged(0, up=False))]

    def check(self, data: bytes) -> None:
        """See the head of this module."""
        name, payload, state = self._parts(data)
        fields, replies = parse(payload), Replies()
        verdict = examine(name, fields, at=20 * SECOND, wall=WALL, replies=replies)
        expect(not isinstance(verdict, Repeated), "a first command is taken for a repetition")
        if isinstance(verdict, Answer):
            expect(not verdict.ok, "it was answered with ok, and nobody carried it out")
            json.loads(verdict.payload)
        if isinstance(verdict, Asked):
            replies.keep(verdict.id, b"first")
            again = examine("other", fields, at=21 * SECOND, wall=WALL, replies=replies)
            expect(again == Repeated(b"first"), "the same id again is {}", again)
            self._carry_out(state, verdict)
        if fields is not None:
            _expect_recordable(name, fields)

    def kept(self, data: bytes) -> Kept:
        """A recording with the command, or its payload where that is no JSON object."""
        name, payload, _ = self._parts(data)
        fields = parse(payload)
        if fields is None:
            return Kept(f".{name}.json", payload, f"Publish it as a payload of {name}; it becomes a test of commands.")
        order = recording({"found": {"driver": "line"}}, [], Order(SECOND // 2, name, fields))
        return Kept(".scanlog", order, "Replay it: .venv/bin/scannerd replay {file}\nIt becomes a recording.")

    def _parts(self, data: bytes) -> tuple[str, bytes, State]:
        which, name = (*data[:2], 0, 0)[:2]
        return NAMES[name % len(NAMES)], data[2:], self.states[which % len(self.states)]

    @staticmethod
    def _carry_out(state: State, asked: Asked) -> None:
        if asked.command.name in SHELL_COMMANDS:
            return
        for told, after in step(state, asked.command):
            for one, _ in told_rounds(told, state):
                dumps(data_of(one))
            refused = any(isinstance(one, d.Refused) for one in told)
            expect(not refused or (len(told) == 1 and after == state), "refused, and yet it did something: {}", told)
            state = after
            prompt(state)


def _after(state: State, event: e.Event) -> State:
    *_, (_, after) = step(state, event)
    return after


def _orders(whole: bytes) -> list[Order]:
    reader = ScanlogReader(BytesIO(whole), "corpus", quiet)
    return [entry for entry in reader if isinstance(entry, Order)]


def _expect_recordable(name: str, fields: dict[str, object]) -> None:
    """What the always-on capture writes of a command reads as the same command."""
    order = Order(0, name, fields)
    written = recording({"found": {"driver": "line"}}, [], order)
    again = _orders(written)
    expect(again == [order], "recorded, the command reads as {}", again)
