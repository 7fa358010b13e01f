"""`scannerd journal`: read, export, prove and count a journal, of a running daemon too; set a damaged one aside."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypedDict, Unpack

import click

from scannerd.cli.journal_recover import recover
from scannerd.cli.outputs import STDOUT
from scannerd.cli.recording_options import Place, makes_recording
from scannerd.config import load
from scannerd.errors import Exit, UsageError
from scannerd.journal import JournalReader, verify
from scannerd.journal.selection import Selection, selected, wire_time
from scannerd.journal.stats import Counts, Stats, tally
from scannerd.signing import SigningError, make_pair, prover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scannerd.journal import Findings
    from scannerd.journal.records import Record

P = ParamSpec("P")
_POLL_S = 0.25
_PIECE = 1_000
_DATA_COLUMNS = ("slot", "card", "scanner", "attempt", "via", "reason", "by", "detail")
_COLUMNS = ("seq", "at", "round", "type", *_DATA_COLUMNS, "data", "hash")


class Choice(TypedDict):
    """The options that choose events, as click hands them over: the fields of `Selection`."""

    round: str | None
    from_seq: int
    to_seq: int | None
    since: str | None
    until: str | None


def _as_wire_time(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else wire_time(value)
    except ValueError:
        problem = f"{value!r} is no date and no time such as 2026-11-30T02:45:00Z"
        raise click.BadParameter(problem, context, option) from None


def of_journal(command: Callable[Concatenate[Path, P], None]) -> Callable[..., None]:
    """Gives a command its journal: `-c FILE` names the configuration, an argument the file or its directory."""

    @click.argument("path", type=click.Path(path_type=Path), required=False)
    @click.option("-c", "--config", type=click.Path(path_type=Path), help="The table's configuration.")
    @wraps(command)
    def with_journal(path: Path | None, config: Path | None, *args: P.args, **options: P.kwargs) -> None:
        with _quiet_pipe():
            command(_place(path, config), *args, **options)

    return with_journal


def _place(path: Path | None, config: Path | None) -> Path:
    if path is None and config is not None:
        return load(config).state_dir
    if path is not None and config is None:
        return path
    raise UsageError("name either the journal's file or directory, or the configuration with -c")


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that choose events."""
    options = (
        click.option("--round", metavar="ID", help="Only this round's events."),
        click.option("--from-seq", type=click.IntRange(min=1), default=1, help="The first seq."),
        click.option("--to-seq", type=click.IntRange(min=1), help="The last seq, included."),
        click.option("--since", callback=_as_wire_time, help="The earliest time; UTC where no offset is given."),
        click.option("--until", callback=_as_wire_time, help="The first time that is too late."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def journal() -> None:
    """Read, export, prove and count a table's journal."""


journal.add_command(recover)


@journal.command()
@of_journal
@click.option("-n", "--lines", type=click.IntRange(min=0), default=10, show_default=True, help="How many events.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("--json", "as_json", is_flag=True, help="The events as they were sent, one a line.")
def tail(where: Path, *, lines: int, follow: bool, as_json: bool) -> None:
    """Show the last events."""
    with JournalReader(where) as reader, suppress(KeyboardInterrupt):
        seq = max(0, reader.meta().head.seq - lines)
        while True:
            records = reader.records(seq, _PIECE)
            for record in records:
                _put(record.body if as_json else readable(record).encode())
                seq = record.seq
            sys.stdout.flush()
            if not records and not follow:
                return
            if not records:
                time.sleep(_POLL_S)


@journal.command("verify", short_help="Prove the chain from end to end.")
@of_journal
@click.option(
    "--public-key",
    "keys",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Prove the signatures too; several times, where the key was changed.",
)
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object.")
def verify_command(where: Path, *, keys: tuple[Path, ...], as_json: bool) -> None:
    """Prove the chain from end to end; exits 1 and names the seq where it breaks.

    Events that were deleted for their age, as an event of the chain allows, are told and are no fault. With a key,
    events before the first that is signed are told too; one that is not signed behind it is a fault, and so is a
    journal without any signature.
    """
    on_terminal = sys.stderr.isatty()
    try:
        proves = [prover(key) for key in keys]
    except SigningError as error:
        raise UsageError(str(error)) from error
    findings = verify(where, keys=proves, progress=_show_progress if on_terminal else None)
    if on_terminal:
        click.echo(err=True)
    if as_json:
        _put(_dumped(findings.as_json()))
    else:
        for finding in findings.found:
            _put(f"{'journal' if finding.seq is None else f'seq {finding.seq}'}: {finding.why}".encode())
        for line in _remarks(findings):
            _put(line.encode())
        verdict = "sound" if findings.sound else f"{findings.count} found to be wrong"
        _put(f"{findings.path}: {findings.events} events of table {findings.table}: {verdict}".encode())
    sys.stdout.flush()
    if not findings.sound:
        sys.exit(Exit.DIFFERENCE)


@journal.command(short_help="Write a key that signs events, and its public one.")
@click.argument("file", type=click.Path(path_type=Path))
def keygen(file: Path) -> None:
    """Write a key that signs events to FILE, and the public one beside it, to FILE.pub; neither may be there.

    FILE is for `[journal] signing_key` or systemd's credential `signing-key`, and for nobody else; FILE.pub is for
    `scannerd journal verify --public-key`.
    """
    public = file.with_name(f"{file.name}.pub")
    try:
        make_pair(file, public)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    except SigningError as error:
        raise UsageError(str(error)) from error
    click.echo(f"{file}: the key; {public}: the public key")


@journal.command(short_help="Write events, or the recording of a round.")
@of_journal
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@choosing
@click.option("--scanlog", metavar="ROUND", help="Write the recording of a round instead, from the capture `[record]`.")
@makes_recording
def export(place: Place, where: Path, *, form: str, scanlog: str | None, **chosen: Unpack[Choice]) -> None:
    """Write events to standard output: jsonl is the bytes that were sent.

    With --scanlog it is a recording, whose replay is compared at once with the journal: where the two differ this is
    said, and the command ends with 1. It needs -c, for the capture is the configuration's.
    """
    if scanlog is not None:
        if form != "jsonl" or Selection(**chosen) != Selection():
            raise click.UsageError("--scanlog takes a whole round: leave --format and what chooses events out")
        _export_recording(place, scanlog)
        return
    if place != Place(STDOUT):
        raise click.UsageError("-o, --expect and --force go with --scanlog; events go to standard output")
    with JournalReader(where) as reader:
        records = _chosen(reader, Selection(**chosen))
        if form == "csv":
            _write_csv(records)
        else:
            for record in records:
                _put(record.body)
        sys.stdout.flush()


def _export_recording(place: Place, round_id: str) -> None:
    config = click.get_current_context().params["config"]
    if config is None:
        raise click.UsageError("--scanlog needs the configuration, -c FILE: it says where the capture is")
    place.check()
    code = place.put_excerpt(load(config), lambda excerpts: excerpts.of_round(round_id))
    if code:
        sys.exit(code)


@journal.command(short_help="Count reads, misreads, rescans and seconds a card.")
@of_journal
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@choosing
def stats(where: Path, *, as_json: bool, **chosen: Unpack[Choice]) -> None:
    """Count reads, misreads, rescans and seconds per card, by scanner, card and hour (UTC)."""
    with JournalReader(where) as reader:
        counted = tally(_chosen(reader, Selection(**chosen)))
    if as_json:
        _put(_dumped(counted.as_json()))
    else:
        for line in stats_lines(counted):
            _put(line.encode())
    sys.stdout.flush()


def readable(record: Record) -> str:
    """One line for people; a damaged event is shown as far as its columns tell."""
    try:
        data = json.loads(record.body)["data"]
        told = " ".join(f"{key}={_short(value)}" for key, value in data.items() if value is not None)
    except (ValueError, LookupError, TypeError, AttributeError):
        told = "(unreadable, see `scannerd journal verify`)"
    return f"{record.seq:>8}  {record.at}  {record.round or '-':<12}  {record.type:<15}  {told}".rstrip()


def _remarks(findings: Findings) -> Iterator[str]:
    """What is no fault, but limits what is proved."""
    if findings.trimmed.seq:
        yield f"seq 1 to {findings.trimmed.seq}: deleted for their age; proved is what is behind them"
    if findings.signed is not None:
        yield f"events with a proved signature: {findings.signed}"
        if findings.unsigned_to and findings.signed:
            yield f"seq {findings.trimmed.seq + 1} to {findings.unsigned_to}: written before signing was switched on"


def stats_lines(counted: Stats) -> Iterator[str]:
    """The counts as a table for people."""
    yield f"{'':<20}{'accepted':>10}{'rejected':>10}{'rate':>10}{'rescans':>10}{'duplicates':>12}{'s/card':>9}  reasons"
    yield _stats_line("all", counted.total)
    for title, group in (("scanner", counted.scanners), ("card", counted.cards), ("hour", counted.hours)):
        for key in sorted(group):
            yield _stats_line(f"{title} {key}", group[key])
    if counted.total.entered:
        yield f"cards entered by hand: {counted.total.entered}"
    if counted.unreadable:
        yield f"damaged events that were left out: {counted.unreadable}, see `scannerd journal verify`"


def _stats_line(name: str, counts: Counts) -> str:
    rate = "-" if counts.reject_rate is None else f"{counts.reject_rate:.4%}"
    pace = "-" if counts.seconds_per_card is None else f"{counts.seconds_per_card:.2f}"
    reasons = " ".join(f"{reason}={count}" for reason, count in counts.reasons.most_common())
    numbers = f"{counts.accepted:>10}{counts.rejected:>10}{rate:>10}{counts.rescans:>10}"
    return f"{name:<20}{numbers}{counts.reasons['duplicate']:>12}{pace:>9}  {reasons}".rstrip()


def _chosen(reader: JournalReader, selection: Selection) -> Iterator[Record]:
    if selection.round is not None and not reader.openings(selection.round):
        raise UsageError(f"{reader.path}: there is no round {selection.round!r}")
    return selected(reader, selection)


def _write_csv(records: Iterable[Record]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for record in records:
        try:
            data = json.loads(record.body)["data"]
            cells = [data.get(name) for name in _DATA_COLUMNS]
        except (ValueError, LookupError, TypeError, AttributeError):
            data, cells = None, [None] * len(_DATA_COLUMNS)
        whole = "" if data is None else _dumped(data).decode()
        writer.writerow((record.seq, record.at, record.round, record.type, *cells, whole, record.hash))


def _short(value: object) -> str:
    return value if isinstance(value, str) and value and value.isprintable() and " " not in value else _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _dumped(value: object) -> bytes:
    return _text(value).encode()


def _put(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def _show_progress(seq: int, last: int) -> None:
    sys.stderr.write(f"\r{seq} of {last}")


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """A reader such as `head` that has seen enough ends the command well."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
        sys.exit(Exit.WELL)
