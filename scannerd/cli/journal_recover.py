"""`scannerd journal recover`: what of a damaged journal is proved; and, when asked, a new beginning without it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from scannerd.config import load
from scannerd.errors import UsageError
from scannerd.journal import JournalDamaged, verify
from scannerd.journal.recovery import EVENTS_FILE, REPORT_FILE, Salvage, Span, salvage, set_aside, startable
from scannerd.journal.schema import FILE_NAME
from scannerd.lock import TableLock


@click.command(short_help="Show what of a damaged journal is proved; set it aside.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
@click.option("--set-aside", "aside", is_flag=True, help="Move a damaged journal away, so that a new one begins.")
def recover(path: Path, *, aside: bool) -> None:
    """Show what of a damaged journal is proved and what is lost; change nothing, unless told to.

    The daemon must be stopped. With --set-aside the files are moved, as they are, into a folder `journal-damaged-TIME`
    in the state directory, with all proved events as they were sent (events.jsonl) and what is wrong (report.json).
    The next start begins a new journal: consumers see another journal id, count from 1, and the open round is gone.
    A sound journal is never moved. First look for the cause, and for a copy of the disk.

    Ends with 0 where the journal is sound or was set aside, 4 where it is damaged and was left as it is.
    """
    config = load(path)
    journal = config.state_dir / FILE_NAME
    if not config.state_dir.is_dir():
        raise UsageError(f"{config.state_dir}: there is no such directory, and so no journal")
    with _locked(config.state_dir):
        why = startable(config.state_dir, config.table.id)
        if why is None and _sound(config.state_dir):
            click.echo(f"{journal} is sound: nothing is to be recovered")
            return
        if not aside:
            _show(salvage(journal, lambda _: None))
            raise JournalDamaged(f"{why or _goes_on(journal)}; nothing was changed, --set-aside moves it away")
        folder, found = _set_aside(config.state_dir)
    _show(found)
    click.echo(f"set aside in {folder}, with {EVENTS_FILE} and {REPORT_FILE}; the next start begins a new journal")


def _locked(directory: Path) -> TableLock:
    try:
        return TableLock(directory)
    except OSError as trouble:
        raise UsageError(f"{directory}: {trouble.strerror}") from trouble


def _set_aside(directory: Path) -> tuple[Path, Salvage]:
    try:
        return set_aside(directory, datetime.now(UTC))
    except OSError as trouble:
        raise UsageError(f"{trouble.filename or directory}: {trouble.strerror}; nothing was taken away") from trouble


def _sound(directory: Path) -> bool:
    try:
        return verify(directory).sound
    except JournalDamaged:
        return False


def _goes_on(journal: Path) -> str:
    return f"{journal} is damaged where no start looks: the daemon can go on with it, and the lost events stay lost"


def _show(found: Salvage) -> None:
    for seq, why in found.whys:
        click.echo(f"{'journal' if seq is None else f'seq {seq}'}: {why}")
    click.echo(f"proved: {_spans(found.kept)}")
    click.echo(f"lost: {_spans(found.lost)}")
    if found.cursor is None:
        click.echo("how far the broker has the events is not known")
    elif found.untold is not None:
        click.echo(f"not acknowledged by the broker, so that consumers may not have them: {_spans([found.untold])}")


def _spans(spans: list[Span]) -> str:
    return ", ".join(_told(spans)) or "nothing"


def _told(spans: list[Span]) -> Iterator[str]:
    for first, last in spans:
        yield f"seq {first}" if first == last else f"seq {first} to {last}"
