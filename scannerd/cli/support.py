"""`scannerd support`: one file for a report."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click

from scannerd.cli.doctor import site_of
from scannerd.doctor.checks import CHECKS, examine
from scannerd.doctor.findings import Finding
from scannerd.support.bundle import Bundle, new_file
from scannerd.support.gathering import NOT_INSIDE, Wish, World, about, gathered


@click.command(short_help="Pack one file for a report, without secrets.")
@click.option("-c", "--config", "path", type=click.Path(path_type=Path), help="The table's configuration.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The .tar.gz; must not be there.")
@click.option("--events", type=click.IntRange(min=0), default=2_000, show_default=True, help="Of the journal's end.")
@click.option(
    "--recordings", type=click.IntRange(min=0), default=8, show_default=True, metavar="MIB", help="Of the last ones."
)
@click.option("--no-proof", is_flag=True, help="Do not prove the journal, which takes long where it is large.")
def support(path: Path | None, *, output: Path, events: int, recordings: int, no_proof: bool) -> None:
    """Pack into one file what somebody needs who is to find out what is wrong with a table.

    Versions, the configuration without its secrets, the unit and its log, the journal's last events, figures and proof,
    the last recordings, the figures of the pages, and what `scannerd doctor` finds. Whatever is broken, be it the
    configuration, the journal or the daemon, the rest is there; what is not, and why, is said here and in the
    manifest. Without -c only the machine is looked at.

    The file is for its owner alone (mode 0600) and never written over another. Look into it before you send it: it
    tells what was dealt.
    """
    wish = Wish(path, events, recordings * 2**20, not no_proof)
    with new_file(output) as file:
        bundle = gathered(wish, World(_examined), datetime.now(UTC))
        bundle.write(file, about(wish))
    click.echo("\n".join(_summary(bundle, output)))


def _examined(path: Path) -> Iterable[tuple[str, list[Finding]]]:
    return examine(site_of(path), CHECKS)


def _summary(bundle: Bundle, output: Path) -> Iterable[str]:
    yield f"{output}: {output.stat().st_size / 1024:.0f} KiB, for your eyes only until you send it."
    yield "Inside:"
    yield from (
        f"  {item.name}  {len(item.content)} bytes" for item in sorted(bundle.items, key=lambda item: item.name)
    )
    if bundle.lacking:
        yield "Could not be had:"
        yield from (f"  {lack.what}: {lack.why}" for lack in bundle.lacking)
    yield "Left out on purpose:"
    yield from (f"  {what}" for what in NOT_INSIDE)
