"""`scannerd scanlog minimise`: the smallest recording that still shows the same."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from scannerd.cli.recording_options import Place, makes_recording, warn
from scannerd.config import load as load_config
from scannerd.editing.expectation import DiffersFromExpected
from scannerd.editing.minimising import ENTRIES, Minimiser
from scannerd.editing.sameness import DiffersFromTable, Keeps, Question
from scannerd.editing.tape import Tape, load
from scannerd.errors import UsageError
from scannerd.recording import capture
from scannerd.registry import Registry
from scannerd.verify.corpus import beside
from scannerd.verify.expected import Expected


@click.command(short_help="Shrink to the smallest recording that shows the same.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Keep the first difference from this: expected events (.jsonl), or a configuration (.toml).",
)
@click.option("--keep", "words", metavar="WORD", multiple=True, help="Keep events of this type, reason or alarm.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=ENTRIES,
    show_default=True,
    help="How many entries may be replayed in all; some 25,000 go in a second.",
)
@makes_recording
def minimise(place: Place, file: Path, against: Path | None, words: tuple[str, ...], most: int) -> None:
    """Leave out of a recording all that is not needed to show one thing.

    The thing is the first difference from what is expected: in the file of --against, or else in the one beside the
    recording. Or it is the first event that the configuration of --against decides otherwise. Or, with --keep, that
    events of some types or reasons are told: `--keep multi_read`, `--keep round_held`.

    With --expect the expected events that are left go beside the result, so that it is a test that fails as the whole
    recording did. Times and bytes stay as they were. The same question has the same answer on every machine.

    \b
    Examples:
      scannerd scanlog minimise odd.scanlog --against odd.expected.jsonl -o small.scanlog --expect
      scannerd scanlog minimise odd.scanlog --against new.toml -o small.scanlog
      scannerd scanlog minimise odd.scanlog --keep multi_read -o small.scanlog
    """  # noqa: D301 - click's mark for lines to be left as they are
    if against is not None and words:
        raise click.UsageError("--against and --keep are two questions: ask one")
    place.check([file] if against is None else [file, against])
    registry, tape = Registry(), load(file, warn)
    minimiser = Minimiser(_question(tape, against, words, registry), most, _progress if sys.stderr.isatty() else None)
    shown = minimiser.smallest(tape)
    if sys.stderr.isatty():
        click.echo(err=True)
    left = f"{len(tape.entries)} entries are now {len(shown.tape.entries)}, after {minimiser.tried} tries"
    click.echo(left if minimiser.done else f"{left}; --most ended it: there may be a smaller one", err=True)
    place.put(shown.tape, registry, shown.expected)


def _question(tape: Tape, against: Path | None, words: tuple[str, ...], registry: Registry) -> Question:
    if words:
        return Keeps(tape, words, registry)
    if against is not None and against.suffix == ".toml":
        return _other_table(tape, against, registry)
    expected = beside(tape.path, "event") if against is None else against
    if against is None and not expected.exists():
        raise UsageError(f"{expected} is not there: name what to keep, with --against or --keep")
    return DiffersFromExpected(tape, Expected(expected), registry)


def _other_table(tape: Tape, path: Path, registry: Registry) -> Question:
    config = load_config(path)
    header = capture.header(config)
    for name in tape.header.scanners:
        if name not in header.scanners:
            known = ", ".join(header.scanners)
            raise UsageError(f"{path}: scanner {name!r} of the recording is not in the configuration, there: {known}")
    same = {"table": tape.header.table, "recorded_at": tape.header.recorded_at}
    return DiffersFromTable(tape, header.model_copy(update=same), path.parent, registry)


def _progress(entries: int, tried: int) -> None:
    sys.stderr.write(f"\r{entries} entries, try {tried} ")
    sys.stderr.flush()
