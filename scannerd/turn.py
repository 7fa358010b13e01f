"""What one batch of letters decides: the events in order, the state after them, the replies that they give rise to.

A turn speaks to nobody. The engine writes `batch` down, and only then sends what the turn holds; if that fails the
turn is dropped, and its commands are refused for `storage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from scannerd.canonical import seal
from scannerd.commands import Answer, Asked, Repeated, Replies, examine, parse
from scannerd.contract import Outcome
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.state import State
from scannerd.core.validator import step
from scannerd.journal import Batch, Head, Record
from scannerd.messages import CONTRACT, data, told_rounds, utc
from scannerd.mqtt.notices import CommandReceived, Reply
from scannerd.notebook import Notes
from scannerd.readers import Settle
from scannerd.recall import Offset, checkpoint
from scannerd.signing import Sign

FOLDED = 5_000
"""Events after a state row beyond which there is another, though no round ended: a start folds and checks no more."""


class Pen(NamedTuple):
    """How a turn is written down.

    Attributes:
        sign: signs each event, where there is a key.
        notes: what a state row keeps beside the state.
        row: the seq of the last state row.
    """

    sign: Sign | None = None
    notes: Callable[[], Notes] = Notes
    row: int = 0


@dataclass(frozen=True, slots=True)
class _Due:
    """A reply that goes out when the turn is written: `events` is how many of its events were told by then."""

    received: CommandReceived
    answer: Answer
    events: int
    first: bool


@dataclass(frozen=True, slots=True)
class Resend:
    """Events to send again, both ends included, and the command that asked for them."""

    first: int
    last: int
    received: CommandReceived
    answer: Answer


class Turn:
    """Grows while letters are taken.

    Attributes:
        state: after all that was decided so far.
        offset: between the clocks, at the turn's beginning.
        drafts: the events so far, each with its round.
        settles: what readers wait for.
        resends: events asked for again.
        ticked: this turn looks at what changes without an event.
        anew: the retained topics are asked for.
        lasting: what stays true until it changes again, by what it is about.
    """

    def __init__(self, state: State, offset: Offset) -> None:
        """Begins with the engine's state."""
        self.state, self.offset = state, offset
        self.drafts: list[tuple[d.Told, str | None]] = []
        self.settles: list[Settle] = []
        self.resends: list[Resend] = []
        self.ticked = self.anew = False
        self.lasting: dict[object, e.Event] = {}
        self._due: list[_Due] = []
        self._again: list[tuple[CommandReceived, bytes]] = []

    @property
    def now(self) -> int:
        """The monotonic time at the turn's beginning, microseconds."""
        return self.offset.now

    def decide(self, event: e.Event) -> d.Refused | None:
        """Decides an event, and what was overdue before it.

        Returns:
            The refusal, where the event is a command that is not carried out.
        """
        last: d.Decision | None = None
        for told, after in step(self.state, event):
            self.drafts.extend(told_rounds(told, self.state))
            self.state = after
            last = told[-1] if told else None
        return last if isinstance(last, d.Refused) else None

    def decide_overdue(self, until: int) -> None:
        """Decides the deadlines at or before `until`."""
        deadline = self.state.deadline
        if deadline is not None and deadline <= until:
            self.decide(e.Deadline(until))

    def examine(self, received: CommandReceived, replies: Replies) -> Asked | None:
        """Looks at a command; None where it is answered already."""
        fields = None if received.oversized else parse(received.payload)
        wall = datetime.fromtimestamp(self.offset.day(received.at) / 1_000_000, UTC)
        if fields is not None and self._repeats(received, fields.get("id")):
            return None
        verdict = examine(received.name, fields, at=received.at, wall=wall, replies=replies, retained=received.retain)
        if isinstance(verdict, Asked):
            return verdict
        if isinstance(verdict, Repeated):
            self._again.append((received, verdict.payload))
        else:
            self.reply(received, verdict)
        return None

    def carry_out(self, received: CommandReceived, asked: Asked) -> None:
        """Gives a command to the core and answers it."""
        before = len(self.drafts)
        refused = self.decide(asked.command)
        if refused is None:
            told = len(self.drafts) > before
            self._due.append(_Due(received, Answer(asked.id, ok=True), len(self.drafts) if told else 0, first=True))
        else:
            self.reply(received, Answer(asked.id, ok=False, error=refused.error, message=refused.message))

    def resend(self, received: CommandReceived, asked: Asked, before: int, trimmed: int = 0) -> None:
        """Notes events to be sent again, or refuses a range that is not there.

        Args:
            received: the command as it came.
            asked: the same, examined.
            before: the journal's last seq before this turn, whose own events count too.
            trimmed: the last seq that is deleted.
        """
        fields, head = asked.command.fields, before + len(self.drafts)
        first, last = fields.get("from"), fields.get("to", head)
        last = head if last is None else last
        if type(first) is int and type(last) is int and trimmed < first <= last <= head:
            answer = Answer(asked.id, ok=True)
            self.resends.append(Resend(first, last, received, answer))
        else:
            message = f"from and to are numbers of events, {trimmed + 1} to {head}, from not above to"
            self.reply(received, Answer(asked.id, ok=False, error="bad_range", message=message))

    def reply(self, received: CommandReceived, answer: Answer) -> None:
        """Answers without an event."""
        self._due.append(_Due(received, answer, 0, first=answer.id is not None))

    def _repeats(self, received: CommandReceived, command_id: object) -> bool:
        """Whether this turn itself has answered the id before, whatever is wrong with it now: the same answer again."""
        for due in self._due:
            if due.first and due.answer.id == command_id:
                self._due.append(_Due(received, due.answer, due.events, first=False))
                return True
        for resend in self.resends:
            if resend.answer.id == command_id:
                self._due.append(_Due(received, resend.answer, 0, first=False))
                return True
        return False

    # --- what is written ---

    def batch(  # noqa: PLR0913, PLR0917 - all that an event or a batch holds beside the turn
        self,
        journal: str,
        head: Head,
        table: str,
        cursor: int | None,
        clean: bool | None,  # noqa: FBT001 - None is a third answer
        pen: Pen = Pen(),  # noqa: B008 - a frozen tuple
    ) -> Batch | None:
        """All that the journal must hold before anything is said; None where that is nothing."""
        replies = tuple(self.kept(head.seq))
        if not self.drafts and not replies and cursor is None and clean is None:
            return None
        ended = any(isinstance(told, d.RoundCompleted | d.RoundVoided) for told, _ in self.drafts)
        due = ended or head.seq + len(self.drafts) - pen.row > FOLDED
        row = checkpoint(self.state, self.offset, pen.notes()) if due else None
        return Batch(tuple(self._records(journal, head, table, pen.sign)), replies, row, cursor, clean)

    def _records(self, journal: str, head: Head, table: str, sign: Sign | None) -> Iterator[Record]:
        seq, prev = head.seq, head.hash
        for told, round_id in self.drafts:
            seq += 1
            at = utc(self.offset.day(told.at))
            event = {
                "contract": CONTRACT,
                "table": table,
                "journal": journal,
                "seq": seq,
                "type": told.TYPE,
                "round": round_id,
                "at": at,
                "prev": prev,
                "data": data(told),
            }
            prev, body = seal(event, sign)
            yield Record(seq, told.TYPE, round_id, at, prev, body)

    def kept(self, before: int) -> Iterator[tuple[str, bytes]]:
        """Ids with their first replies, to be remembered; `before` is the journal's last seq before this turn."""
        for due in self._due:
            if due.first and due.answer.id is not None:
                yield due.answer.id, _payload(due, before)
        for resend in self.resends:
            if resend.answer.id is not None:
                yield resend.answer.id, resend.answer.payload

    # --- what is said ---

    def answers(self, before: int) -> Iterator[Reply]:
        """The replies, once the turn is written; `before` as for `kept`."""
        for due in self._due:
            yield _reply(due.received, _payload(due, before))
        for received, payload in self._again:
            yield _reply(received, payload)

    def sent_again(self) -> Iterator[tuple[int, int, Reply]]:
        """The ranges to be sent again, each with the reply that comes after its last event."""
        for resend in self.resends:
            yield resend.first, resend.last, _reply(resend.received, resend.answer.payload)

    def refusals(self) -> Iterator[tuple[str, Answer]]:
        """The commands that are not carried out, each by its name and its answer."""
        for due in self._due:
            if not due.answer.ok:
                yield due.received.name, due.answer

    def refuse_for_storage(self, received: CommandReceived) -> None:
        """Refuses a command while nothing can be written; the refusal is not remembered."""
        fields = None if received.oversized else parse(received.payload)
        command_id = None if fields is None else fields.get("id")
        self._again.append((received, storage_refusal(command_id if isinstance(command_id, str) else None)))

    def refused_for_storage(self) -> Iterator[Reply]:
        """The replies where the turn could not be written."""
        commands = [(due.received, due.answer.id) for due in self._due]
        commands += [(resend.received, resend.answer.id) for resend in self.resends]
        for received, command_id in commands:
            yield _reply(received, storage_refusal(command_id))
        for received, payload in self._again:
            yield _reply(received, payload)

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """What scanners may be told of their reads."""
        for told, _ in self.drafts:
            if isinstance(told, d.CardAccepted) and told.scanner is not None:
                yield told.scanner, "accepted"
            elif isinstance(told, d.ScanRejected):
                yield told.scanner, "rejected"


def storage_refusal(command_id: str | None) -> bytes:
    """The reply to a command that could not be written down."""
    message = "the journal can't be written: nothing is carried out"
    return Answer(command_id, ok=False, error="storage", message=message).payload


def _payload(due: _Due, before: int) -> bytes:
    answer = due.answer
    if not due.events:
        return answer.payload
    return Answer(answer.id, ok=True, seq=before + due.events).payload


def _reply(received: CommandReceived, payload: bytes) -> Reply:
    return Reply(payload, received.response_topic, received.correlation)
