"""What every command that makes a recording offers: where it goes, with the events beside it or not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from scannerd.cli.outputs import STDOUT, told_as_usage
from scannerd.config.settings import Config
from scannerd.editing.delivery import at_home, codebooks, deliver
from scannerd.editing.excerpt import Excerpt, Excerpts
from scannerd.editing.tape import Tape, happenings, written
from scannerd.errors import Exit, UsageError
from scannerd.recording.replay import Line
from scannerd.registry import Registry
from scannerd.scanlog import SECOND
from scannerd.verify.corpus import beside

T = TypeVar("T")


class Place(NamedTuple):
    """Where a recording goes.

    Attributes:
        output: the file, or standard output.
        expect: the events that it gives are written beside it, so that it is a test.
        force: files that are there are written over.
    """

    output: Path
    expect: bool = False
    force: bool = False

    def check(self, sources: Collection[Path] = ()) -> None:
        """Refuses to write over anything, before any work is done.

        Raises:
            UsageError: a file is there, it is one that is read, or the events would have no file to stand beside.
        """
        if self.output == STDOUT:
            if self.expect:
                raise UsageError("--expect writes a file beside the recording: name the recording with -o")
            return
        for file in (self.output, beside(self.output, "event")) if self.expect else (self.output,):
            may_write(file, sources, force=self.force)

    def put(
        self,
        tape: Tape,
        registry: Registry,
        expected: list[Line] | None = None,
        *,
        book: Callable[[Path], bytes] | None = None,
    ) -> None:
        """Writes a recording, and says which files were written.

        Args:
            tape: the recording.
            registry: the drivers at hand.
            expected: the events to expect of it; by default those that it gives.
            book: makes the copy of a codebook; None: the file as it is.

        Raises:
            UsageError: a file can't be written, or codebooks would have none to stand beside.
            ScanlogError: the recording can't be replayed.
        """
        with told_as_usage(self.output):
            if self.output == STDOUT:
                if book is not None and codebooks(tape.header):
                    raise UsageError("the recording needs a codebook beside it: name the recording with -o")
                sys.stdout.buffer.write(written(at_home(tape)))
                sys.stdout.buffer.flush()
                return
            if expected is None and self.expect:
                expected = [one.line for one in happenings(tape, registry)]
            first, *others = deliver(tape, self.output, expected if self.expect else None, force=self.force, book=book)
        click.echo(f"{first}: {len(tape.entries)} entries, {tape.end / SECOND:g} s", err=True)
        for file in others:
            click.echo(file, err=True)

    def put_excerpt(self, config: Config, choose: Callable[[Excerpts], Excerpt]) -> Exit:
        """Writes a piece of a table's capture, and says where its replay differs from the journal.

        Args:
            config: the table's.
            choose: which piece.

        Returns:
            Whether the two agree.

        Raises:
            UsageError: the capture does not have it, or a file can't be written.
            JournalUnusable: the journal can't be read.
        """
        registry = Registry()
        excerpt = choose(Excerpts(config, registry, warn))
        self.put(excerpt.tape, registry, excerpt.expected)
        if not excerpt.difference:
            return Exit.WELL
        warn(f"its replay differs from the journal: {excerpt.difference}")
        return Exit.DIFFERENCE


def may_write(file: Path, sources: Collection[Path], *, force: bool) -> None:
    """Refuses to write over what is read, over what is there unless `force` says so, and over what is no file at all.

    Raises:
        UsageError: it may not be written.
    """
    if any(file.resolve() == source.resolve() for source in sources):
        raise UsageError(f"{file} is what is read: name another file, a recording is never written over")
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is there already and is no file")
    if file.exists() and not force:
        raise UsageError(f"{file} is there already; --force writes over it")


def makes_recording(command: Callable[..., T]) -> Callable[..., T]:
    """Gives a command its place, as its first argument: `-o`, `--expect` and `--force`."""

    @click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
        default=STDOUT,
        help="The recording to write; by default standard output.",
    )
    @click.option("--expect", is_flag=True, help="Write its events beside it, as .expected.jsonl: so it is a test.")
    @click.option("--force", is_flag=True, help="Write over files that are there, but never over what is read.")
    @wraps(command)
    def with_place(*args: object, output: Path, expect: bool, force: bool, **options: object) -> T:
        return command(Place(output, expect, force), *args, **options)

    return with_place


def warn(text: str) -> None:
    """Says what is ignored."""
    click.echo(f"scannerd: {text}", err=True)
