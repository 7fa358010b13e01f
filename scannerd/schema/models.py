"""The models of what goes over the wire beside the events' data: for the schema, and for whoever checks a message.

`messages`, `bulletin` and `commands` build and read these field by field, for speed and for exact refusals. The tests
hold every message of every recording against these models, so that the two can't drift apart.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from scannerd.bulletin import Standing
from scannerd.core import decisions as d
from scannerd.core.prompts import Code

_SHELL_ERRORS = ("bad_id", "expired", "retained", "malformed", "bad_range", "storage")
ERRORS: tuple[str, ...] = tuple(dict.fromkeys((*get_args(d.Refusal), *_SHELL_ERRORS)))
"""Why a command may be refused."""

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Seq = Annotated[int, Field(ge=1)]


class Model(BaseModel):
    """What stands below each field is its description in the schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Envelope(Model):
    """What every event has; consumers tell events apart by `table`, `journal` and `seq`."""

    contract: Annotated[str, Field(pattern=r"^1\.\d+$")]
    """The version of the contract."""
    table: str
    """The table's id."""
    journal: str
    """The UUID of the journal that the event stands in."""
    seq: Seq
    """The event's number in its journal: from 1, without gaps, over restarts too."""
    type: str
    """What happened."""
    round: str | None
    """The round that it belongs to: a completed one stays the current one until the next is opened."""
    at: AwareDatetime
    """UTC, when the deciding bytes arrived, or the time of the command or deadline."""
    prev: Digest
    """The hash of the event before; 64 zeros at first."""
    hash: Digest
    """SHA-256 over the event without `hash` and `sig`, as canonical JSON (RFC 8785)."""
    sig: Annotated[str, Field(pattern="^[0-9a-f]{128}$")] | None = None
    """Ed25519 over the 32 bytes of the hash, 64 bytes as hex digits; only where the table has a key."""
    data: dict[str, object]
    """The fields of its type."""


class Round(Model):
    """The current round, for whoever comes late."""

    round: str | None
    """Its id; null before the first one and after a voiding."""
    phase: d.Phase
    """What the table is doing."""
    plan: list[str]
    """The game's slots in the order of the deal."""
    cards: dict[str, str]
    """What lies in each filled slot."""
    due: str | None
    """The slot that the next card is for."""
    attempt: int | None
    """The number of the try awaited for the due slot, from 1."""
    seq: Annotated[int, Field(ge=0)]
    """The journal's last event when this was made; 0: none yet."""


class Prompt(Model):
    """What the dealer must do now; fields that do not apply are null."""

    code: Code
    """What is to be done."""
    slot: str | None
    """The slot it is about."""
    hand: str | None
    """The slot's hand."""
    index: int | None
    """The number of the card in its hand, from 1."""
    reason: str | None
    """Why: of the rejection, the withdrawal or the hold, or the scanner's name."""
    attempt: int | None
    """The number of the try awaited, from 1."""
    conflict_slot: str | None
    """Where the same card lies already: either of the two may be the misread one."""
    text: str
    """The same as a sentence in the table's language."""
    since: AwareDatetime
    """Since when this is the prompt."""


class StatusAlarm(Model):
    """An alarm that is up."""

    alarm: str
    """Its name."""
    scanner: str | None
    """The scanner it is about."""
    since: AwareDatetime
    """Since when."""
    detail: str | None
    """What is known."""


class StatusOutbox(Model):
    """What the broker has not acknowledged."""

    depth: Annotated[int, Field(ge=0)]
    """How many events."""
    oldest_at: AwareDatetime | None
    """The `at` of the first of them."""


class StatusClock(Model):
    """The machine's time of day."""

    synchronised: bool | None
    """Whether it can be trusted; null where nobody knows."""


class StatusSelfCheck(Model):
    """What the daemon's files were when it last looked: at its start, every 24 h and on command."""

    at: AwareDatetime
    """When."""
    code_digest: Digest | None
    """SHA-256 of the code of the daemon and of the drivers in use; null where it could not be read."""
    config_digest: Digest | None
    """SHA-256 of what is configured in the file, as a start would read it; null where it could not be read."""
    codebooks: dict[str, Digest]
    """SHA-256 of each scanner's codebook."""


class StatusDisplay(Model):
    """The dealer's and the supervisor's pages. That they can't be served keeps no card, so it degrades nothing."""

    listen: str
    """The address that the configuration gives them."""
    served: bool
    """Whether they can be opened."""
    detail: str | None
    """Why not; null where they can be."""


class Status(Model):
    """How the daemon is; the last will is such a status with `state` offline."""

    state: Standing
    """`degraded`: an alarm is up or a scanner is down."""
    session: str
    """One per process: a will with another session is an older one's."""
    version: str
    """The daemon's."""
    contract: str
    """The contract's."""
    game: str
    """The game that is dealt."""
    scanners: dict[str, Literal["up", "down"]]
    """By name, in the order of the configuration."""
    outbox: StatusOutbox
    """What waits for the broker."""
    alarms: list[StatusAlarm]
    """What needs a person."""
    journal: str
    """The journal's UUID."""
    config_digest: Digest
    """SHA-256 of what is configured."""
    clock: StatusClock
    """The time of day."""
    self_check: StatusSelfCheck | None
    """What the daemon runs on; null until it has looked."""
    display: StatusDisplay | None
    """The pages; null where they are switched off."""


class Command(Model):
    """What every command has."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    """Its own: repeated, it gets the first reply again and does nothing."""
    by: str | None = None
    """Who commands."""
    reason: str | None = None
    """Why."""
    expires: AwareDatetime | None = None
    """It is not carried out at or after this time."""


class OpenCommand(Command):
    """Opens a round, where none is being dealt."""

    round: Annotated[str, Field(pattern="^[!-~]{1,64}$")] | None = None
    """The engine's id for it, not used before, not beginning with the table's id and a slash; else it gets one."""


class VoidCommand(Command):
    """The round does not count, complete or not; `was: "complete"` in its event is a reversal."""


class HoldCommand(Command):
    """Holds the round: no card is accepted until it is released."""


class ReleaseCommand(Command):
    """Lets a held round go on."""


class RescanCommand(Command):
    """Takes accepted cards back; they are asked for again."""

    slot: Annotated[str, Field(pattern="^([A-Z][1-9][0-9]?|all)$")]
    """A filled slot, or `all`."""


class EnterCommand(Command):
    """A card by hand into the due slot; a held round is released first."""

    slot: str
    """The due slot."""
    card: str
    """The card that lies there."""
    by: Annotated[str, Field(min_length=1)]
    """The supervisor."""
    reason: Annotated[str, Field(min_length=1)]
    """Why it was not scanned."""


class ResendCommand(Command):
    """Sends events once more, byte for byte, on the topic `resend`; the reply comes after the last."""

    first: Annotated[Seq, Field(alias="from")]
    """The first one's `seq`."""
    last: Annotated[Seq | None, Field(alias="to")] = None
    """The last one's, included; by default the journal's last."""


class SnapshotCommand(Command):
    """Publishes round, prompt and status anew."""


class SelfCheckCommand(Command):
    """Tell the digests of code, configuration and codebooks, as the event `self_check`."""


COMMANDS: dict[str, type[Command]] = {
    "open": OpenCommand,
    "void": VoidCommand,
    "hold": HoldCommand,
    "release": ReleaseCommand,
    "rescan": RescanCommand,
    "enter": EnterCommand,
    "resend": ResendCommand,
    "snapshot": SnapshotCommand,
    "self_check": SelfCheckCommand,
}
"""Command to the fields of its payload."""


class Done(Model):
    """A command that was carried out."""

    id: str
    """The command's."""
    ok: Literal[True]
    seq: Seq | None
    """Of the command's last event; null where it made none."""


class Refused(Model):
    """A command that was not carried out."""

    id: str | None
    """The command's; null where it could not be read."""
    ok: Literal[False]
    error: Annotated[str, Field(json_schema_extra={"enum": [*ERRORS]})]
    """Why, for programs."""
    message: str
    """Why, for people."""


SHOWN: dict[str, type[Model]] = {"round": Round, "prompt": Prompt, "status": Status}
"""The retained topics."""
