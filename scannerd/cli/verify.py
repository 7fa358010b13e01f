"""`scannerd verify`: a corpus of recordings against what is expected of them, for a release or a CI system."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from scannerd.errors import Exit, UsageError
from scannerd.verify import junit as report
from scannerd.verify.verifying import Outcome, find, verify_all


@click.command(short_help="Replay recordings and compare with what is expected.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Write the expected files that are missing or differ, and tell which.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write a report for a CI system.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=lambda: os.cpu_count() or 1, help="Processes; by default one a core."
)
def verify(paths: tuple[Path, ...], *, update: bool, junit: Path | None, jobs: int) -> int:
    """Replay every recording in folders and files and compare it with what stands beside it.

    `x.scanlog` must give the events of `x.expected.jsonl`, and the prompts of `x.prompts.jsonl` where there is one. A
    missing `x.expected.jsonl` is a failure. Ends with 1 where something differs, with 2 where a recording can't be
    used or none is found.
    """
    recordings = find(paths)
    outcomes = list(_with_progress(verify_all(recordings, jobs, update=update), len(recordings)))
    for outcome in outcomes:
        _tell(outcome)
    click.echo(_summary(outcomes))
    if junit is not None:
        _write_report(junit, outcomes)
    if any(outcome.error is not None for outcome in outcomes):
        return Exit.USAGE
    return Exit.DIFFERENCE if any(outcome.differences for outcome in outcomes) else Exit.WELL


def _with_progress(outcomes: Iterable[Outcome], length: int) -> Iterable[Outcome]:
    if not sys.stderr.isatty():
        yield from outcomes
        return
    with click.progressbar(outcomes, length=length, label="verify", file=sys.stderr) as shown:
        yield from shown


def _tell(outcome: Outcome) -> None:
    for text in outcome.warnings:
        click.echo(f"scannerd: {text}", err=True)
    if outcome.error is not None:
        click.echo(f"scannerd: {outcome.error}", err=True)
    for text in outcome.differences:
        click.echo(text)
    for file in outcome.updated:
        click.echo(f"{file}: written")


def _summary(outcomes: Sequence[Outcome]) -> str:
    events = sum(outcome.events for outcome in outcomes)
    unusable = sum(outcome.error is not None for outcome in outcomes)
    different = sum(outcome.error is None and bool(outcome.differences) for outcome in outcomes)
    updated = sum(len(outcome.updated) for outcome in outcomes)
    well = len(outcomes) - unusable - different
    said = (
        f"{len(outcomes)} recordings, {events} events: {well} as expected, {different} different, {unusable} unusable"
    )
    return f"{said}; {updated} files written" if updated else said


def _write_report(path: Path, outcomes: Sequence[Outcome]) -> None:
    try:
        report.write(path, outcomes)
    except OSError as trouble:
        raise UsageError(f"{path}: {trouble.strerror or trouble}") from None
