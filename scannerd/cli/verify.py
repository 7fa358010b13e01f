"""`scannerd verify`: a corpus of recordings against what is expected of them, for a release or a CI system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from scannerd.cli.progress import bar
from scannerd.errors import UsageError
from scannerd.verify import junit as for_machines
from scannerd.verify import markdown as for_people
from scannerd.verify.choosing import Choice, chosen, drivers_of, header_of
from scannerd.verify.corpus import find, orphans
from scannerd.verify.outcome import Outcome, Wish
from scannerd.verify.pool import size, verify_all
from scannerd.verify.summary import changes_in_words, exit_code, figures, update_in_words

_FILE = click.Path(path_type=Path)


@click.command(short_help="Replay recordings and compare with what is expected.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=_FILE)
@click.option("-k", "expression", default="", metavar="WORDS", help="Those whose name, driver or game fits the words.")
@click.option("--driver", multiple=True, metavar="NAME", help="Those with a scanner of this driver; may be repeated.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Those that expect an event of this type.")
@click.option("--reason", multiple=True, metavar="REASON", help="Those that expect an event with this reason.")
@click.option("--list", "only_list", is_flag=True, help="Name the recordings that fit, and replay none.")
@click.option("--explain", is_flag=True, help="Tell how the first difference of each recording came about.")
@click.option("--update", is_flag=True, help="Write the expected files that are missing or differ; tell what changed.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write a report for a CI system.")
@click.option("--markdown", type=_FILE, metavar="FILE", help="Append a report for people, as for a job's summary.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=lambda: os.cpu_count() or 1, help="Processes; by default one a core."
)
def verify(  # noqa: PLR0913 - an argument an option
    paths: tuple[Path, ...],
    *,
    expression: str,
    driver: tuple[str, ...],
    types: tuple[str, ...],
    reason: tuple[str, ...],
    only_list: bool,
    explain: bool,
    update: bool,
    junit: Path | None,
    markdown: Path | None,
    jobs: int,
) -> int:
    """Replay every recording in folders and files and compare it with what stands beside it.

    `x.scanlog` must give the events of `x.expected.jsonl`, and the prompts of `x.prompts.jsonl` where there is one. A
    missing `x.expected.jsonl` is a failure. Each difference names the line expected, the recording's line that led to
    it and the rule that decided, as in the README; --explain shows the bytes too, what the decoder made of them, and
    the state before and after.

    -k takes words with and, or, not and parentheses, as pytest does. The options --driver, --type and --reason may be
    given several times each; of each one value must fit.

    --update tells what was added, removed and changed, and by which rule, so that it can be looked through before it
    is committed.

    \b
    Examples:
      scannerd verify recordings --explain
      scannerd verify recordings -k 'shoe-4 and not clean-*' --reason multi_read
      scannerd verify recordings --junit report.xml --markdown report.md

    Ends with 1 where something differs, with 2 where a recording can't be used or none is found.
    """  # noqa: D301 - click's mark for lines to be left as they are
    found = find(paths)
    for orphan in orphans(paths):
        click.echo(f"scannerd: {orphan}: there is no recording beside it", err=True)
    recordings = chosen(found, Choice(expression, driver, types, reason), paths)
    if only_list:
        _list(recordings)
        return 0
    outcomes = _verified(recordings, jobs, Wish(update=update, explain=explain))
    for outcome in outcomes:
        _tell(outcome)
    for line in (*changes_in_words(outcomes), str(figures(outcomes))):
        click.echo(line)
    _report(junit, for_machines.write, outcomes)
    _report(markdown, for_people.write, outcomes)
    return exit_code(outcomes)


def _list(recordings: Sequence[Path]) -> None:
    for recording in recordings:
        header = header_of(recording)
        about = "" if header is None else f"{', '.join(drivers_of(header))}: {header.note or header.game}"
        click.echo(f"{recording}  {about}".rstrip())


def _verified(recordings: list[Path], jobs: int, wish: Wish) -> list[Outcome]:
    """The outcomes in the order of the recordings; on a terminal a bar shows how far it is, by bytes."""
    if not sys.stderr.isatty():
        return _in_order(recordings, verify_all(recordings, jobs, wish))
    length = sum(map(size, recordings))
    with bar(length, "verify") as shown:
        outcomes = _in_order(
            recordings, verify_all(recordings, jobs, wish, lambda behind: shown.update(behind - shown.pos))
        )
        shown.update(length - shown.pos)
    return outcomes


def _in_order(recordings: Iterable[Path], outcomes: Iterable[Outcome]) -> list[Outcome]:
    found = {outcome.recording: outcome for outcome in outcomes}
    return [found[recording] for recording in recordings]


def _tell(outcome: Outcome) -> None:
    for text in outcome.warnings:
        click.echo(f"scannerd: {text}", err=True)
    if outcome.error is not None:
        click.echo(f"scannerd: {outcome.error}", err=True)
    for text in outcome.differences:
        click.echo(text)
    if outcome.explanation:
        click.echo(outcome.explanation)
    for updated in outcome.updated:
        for text in update_in_words(updated):
            click.echo(text)


def _report(path: Path | None, write: Callable[[Path, Sequence[Outcome]], None], outcomes: Sequence[Outcome]) -> None:
    if path is None:
        return
    try:
        write(path, outcomes)
    except OSError as trouble:
        raise UsageError(f"{path}: {trouble.strerror or trouble}") from None
