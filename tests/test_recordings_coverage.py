"""Our recordings hold one of everything: who adds a driver, a reason or a prompt adds a recording of it.

What must be there is read from the code: from its types, its tables, and the words in the sources of the decoders.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeVar, get_args, get_origin, get_type_hints

import pytest

from scannerd import channel, commands
from scannerd.codebooks import BUILT_IN, load_codebook
from scannerd.codebooks.tables import Extra, NotInDeck
from scannerd.config.settings import Round
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.commands import COMMANDS
from scannerd.core.prompts import PROMPT_ROWS
from scannerd.core.reads import READ_ROWS
from scannerd.core.validator import TOLD_NOTICES
from scannerd.messages import TOLD
from scannerd.recording.replay import SHOWN_ALARMS
from scannerd.registry import Registry
from scannerd.scanlog import Chunk, Entry, Link, Order
from scannerd.texts import texts
from tests.corpus import FOLDER, Played, corpus
from tests.decoder_words import Fault, constants, decoders, faults, faults_in

T = TypeVar("T")

REGISTRY = Registry()

DRIVERS = sorted(set(REGISTRY.names) - {"replay"})
"""The drivers that a recording can name: `replay` reads the bytes of one, whose own driver is named there."""

WITH_DECODER = [name for name in DRIVERS if name not in {"simulator", "usb-bulk"}]
"""Those with a decoder of their own: `usb-bulk` has that of `line`, `simulator` that of any other."""

OF_THE_DAEMON = {"daemon_started", "daemon_stopped", "clock_stepped", "self_check", "journal_trimmed"}
"""Events of the daemon's own life, which no recording holds."""

NEVER_PROMPTED = {"storage_fault", "rescan_bare"}
"""Sentences for dealers that no recording leads to: its journal can't break, and the core has a reason to ask again."""

NOT_BY_RECORDING = {"retained"}
"""Refusals that no recording leads to: its commands come from no broker."""

WITHOUT_MEANING = {
    "FeedbackOptions": None,
    "SerialOptions": None,
    "SimulatorOptions": {"seed", "rounds", "cards", "card_ms", "duplicate", "bounce", "multi_read", "extra", "unplug"},
    "SsiOptions": {"ack_timeout_ms"},
    "AngelEyeOptions": {"baudrate", "control", "on_accepted", "on_rejected", "on_prompt"},
}
"""Options that change nothing of what bytes mean (None: all of that class): how a port is set, what is sent to the
device, what a simulated device deals."""


def told(kind: type[T], *recordings: Played) -> Iterator[T]:
    """Every decision of a kind in these recordings, by default in all."""
    return (one for played in recordings or corpus() for one in played.told if isinstance(one, kind))


def rejections(driver: str) -> Iterator[d.ScanRejected]:
    """Every rejection of what a driver read."""
    for played in corpus():
        scanners = scanners_of(played, driver)
        yield from (one for one in told(d.ScanRejected, played) if one.scanner in scanners)


def scanners_of(played: Played, driver: str) -> set[str]:
    """The scanners of a recording that a driver reads."""
    return {name for name, keys in played.header.scanners.items() if keys["driver"] == driver}


# --- what the table decides -----------------------------------------------------------------------------------


def test_every_event_of_a_recording() -> None:
    """Each type of event that a replay can give is there, and both alarms that it shows are raised and cleared."""
    seen = {one.TYPE for played in corpus() for one in played.told if one.TYPE is not None}
    assert set(TOLD) - OF_THE_DAEMON == seen
    assert set(SHOWN_ALARMS) == {one.alarm for one in told(d.AlarmRaised)}
    assert set(SHOWN_ALARMS) == {one.alarm for one in told(d.AlarmCleared)}


def test_every_reason_of_a_rejection() -> None:
    """Each reason for which a read is rejected is there, and each for which a card is withdrawn."""
    assert set(get_args(d.RejectReason)) == {one.reason for one in told(d.ScanRejected)}
    assert set(get_args(d.WithdrawReason)) == {one.reason for one in told(d.CardWithdrawn)}


def test_every_row_for_reads() -> None:
    """Each row of the table of reads decides one."""
    seen = {
        next(row.number for row in READ_ROWS if taken.before.phase in row.phases and row.when(taken.before, read))
        for played in corpus()
        for taken in played.taken
        if isinstance(read := taken.event, e.Read)
    }
    assert {row.number for row in READ_ROWS} == seen


def test_every_kind_of_bounce() -> None:
    """Cards, failures and notices that come again too soon are counted only."""
    assert set(get_args(get_type_hints(d.Bounced)["kind"])) == {one.kind for one in told(d.Bounced)}


def test_every_phase_is_voided() -> None:
    """Rounds are voided in each phase in which that is allowed."""
    assert set(COMMANDS["void"].phases) == {one.was for one in told(d.RoundVoided)}


def test_every_prompt() -> None:
    """Each row of the table of prompts is shown, and each sentence for the dealer but those of no recording."""
    states = [taken.after for played in corpus() for taken in played.taken]
    rows = {next((row for row in PROMPT_ROWS if row(state) is not None), None) for state in states}
    assert {*PROMPT_ROWS, None} == rows
    keys = replace(texts("en"), prompts={key: key for key in texts("en").prompts})
    seen = {keys.sentence(shown) for played in corpus() for shown in played.prompts}
    assert set(keys.prompts) - NEVER_PROMPTED == seen


def test_every_reason_in_words() -> None:
    """Each reason that dealers read in words is told by a prompt or a rejection; only restarts are the daemon's."""
    told_of = {shown.reason for played in corpus() for shown in played.prompts}
    told_of |= {one.reason for one in told(d.ScanRejected)}
    assert set(texts("en").reasons) - {"restart"} == set(texts("en").reasons) & told_of


def test_every_cause_of_a_hold() -> None:
    """Rounds are held by too many tries, by a lost report, and by a supervisor with and without a reason."""
    causes = {one.reason if one.by is None else None if one.reason is None else "said" for one in told(d.RoundHeld)}
    assert {"rescan_limit", "lost_read", "said", None} == causes


# --- commands -------------------------------------------------------------------------------------------------


def test_every_command() -> None:
    """Each command is carried out somewhere."""
    done = set()
    for played in corpus():
        not_done = {(reply["t"], reply["command"]) for reply in played.replies}
        orders = (entry for entry in played.entries if isinstance(entry, Order))
        done |= {order.name for order in orders if (order.t / 1_000_000, order.name) not in not_done}
    assert {*COMMANDS, *commands.SHELL_COMMANDS} == done


def test_every_refusal() -> None:
    """Each reason for which a command is refused, by the core or before it gets there, and a repeated id."""
    known = {*get_args(d.Refusal), *constants(commands, "Answer", "error")} - NOT_BY_RECORDING
    replies = [reply for played in corpus() for reply in played.replies]
    assert known == {reply["error"] for reply in replies if "error" in reply}
    assert any("repeated" in reply for reply in replies)


# --- scanners -------------------------------------------------------------------------------------------------


def test_every_kind_of_entry() -> None:
    """Each kind of line is there, bytes that were read late and losses with their returns included."""
    entries = [entry for played in corpus() for entry in played.entries]
    assert set(get_args(Entry)) == {type(entry) for entry in entries}
    assert any(entry.stale for entry in entries if isinstance(entry, Chunk))
    assert {True, False} == {entry.up for entry in entries if isinstance(entry, Link)}


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_driver_reads_cards(driver: str) -> None:
    """Each driver that comes with scannerd has dealt a round to its end, alone or with another."""
    finished = [played for played in corpus() if next(told(d.RoundCompleted, played), None) is not None]
    assert any(
        one.scanner in scanners_of(played, driver) for played in finished for one in told(d.CardAccepted, played)
    )


@pytest.mark.parametrize("driver", WITH_DECODER)
def test_every_fault_that_a_decoder_tells(driver: str) -> None:
    """Each word with which a decoder refuses a frame, and each way to say that a card was not read, is told."""
    seen = [(one.reason, one.detail or "") for one in rejections(driver)]
    known = {fault for module in decoders(REGISTRY.load(driver)) for fault in faults(module)}
    missing = {one for one in known if not any(one.reason == r and text.startswith(one.words) for r, text in seen)}
    assert known
    assert set() == missing


def test_every_fault_that_a_channel_tells() -> None:
    """What is refused after the decoder, a hand that the scanner can't have, is told."""
    assert {"hand"} == constants(channel, "FailedRead", "detail") | {"hand"}
    assert "hand" in {one.detail for one in told(d.ScanRejected)}


@pytest.mark.parametrize("driver", WITH_DECODER)
def test_every_kind_of_notice_of_a_driver(driver: str) -> None:
    """Each kind of notice that a driver gives is there, those that are only logged included."""
    seen = {
        taken.event.kind
        for played in corpus()
        for taken in played.taken
        if isinstance(taken.event, e.Noticed) and taken.event.scanner in scanners_of(played, driver)
    }
    known = {kind for module in decoders(REGISTRY.load(driver)) for kind in constants(module, "Notice")}
    assert known == known & seen


def test_every_notice_that_is_an_event() -> None:
    """Each kind of notice that is an event is one somewhere."""
    assert set(TOLD_NOTICES) == {str(one.kind) for one in told(d.ScannerNotice)}


def test_every_codebook() -> None:
    """Each built-in codebook is used, and one in a file; of cards outside the deck there is each kind."""
    used: set[str] = set()
    extras: set[str] = set()
    for played in corpus():
        for scanner, keys in played.header.scanners.items():
            book = load_codebook(str(keys.get("codes", "rank-suit")), FOLDER)
            used.add(book.name)
            for one in told(d.ScanRejected, played):
                meaning = book.lookup(one.detail or "") if one.scanner == scanner else None
                extras |= {meaning.what} if isinstance(meaning, NotInDeck) else set()
    assert set(BUILT_IN) < used
    assert set(get_args(Extra)) == extras


def _values(owner: type, field: str) -> set[object]:
    """The values that the corpus gives to an option of a class, in whichever driver has it, defaults aside."""
    seen: set[object] = set()
    for played in corpus():
        for keys in played.header.scanners.values():
            options = REGISTRY.load(str(keys["driver"])).Options
            value = keys.get(field)
            if issubclass(options, owner) and field in keys and value != options.model_fields[field].default:
                seen.add(tuple(value) if isinstance(value, list) else value)
    return seen


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_option_of_a_driver(driver: str) -> None:
    """Each option that changes what bytes mean has another value than its default; of a choice, each value."""
    options = REGISTRY.load(driver).Options
    missing = {}
    for field, info in options.model_fields.items():
        owner = next(one for one in options.__mro__ if field in vars(one).get("__annotations__", {}))
        exempt = WITHOUT_MEANING.get(owner.__name__, set())
        choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
        seen = _values(owner, field)
        if exempt is not None and field not in exempt:
            missing[field] = [value for value in choices if value not in {*seen, info.default}] or not seen
    assert {} == {field: lack for field, lack in missing.items() if lack}


def test_every_parameter_of_a_round() -> None:
    """Each parameter of `[round]` has another value than its default somewhere, but for that of restarts."""
    unset = {
        name
        for name, info in Round.model_fields.items()
        if all(info.default == getattr(played.header.round, name) for played in corpus())
    }
    assert {"on_restart"} == unset


def test_faults_are_read_from_the_source() -> None:
    """The words of faults are found as constants, at the beginning of a text, and where they are handed on."""
    source = """
def feed(self, x):
    self._give_up(f"length {x}")
    return BadFrame("a b", x), NoRead(x)
def _fault(x):
    return "c" if x else None
"""
    wanted = {("bad_frame", "length "), ("bad_frame", "a b"), ("no_read", ""), ("bad_frame", "c")}
    assert {Fault(*one) for one in wanted} == set(faults_in(ast.parse(source)))
