"""`scannerd doctor`: what is wrong with this machine, and what to do about it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from scannerd.app import broker_settings
from scannerd.config import load
from scannerd.doctor.checks import CHECKS, examine
from scannerd.doctor.findings import Finding
from scannerd.doctor.site import Site, daemon_of
from scannerd.errors import Exit
from scannerd.publisher import published_topics


@click.command(short_help="Look for what is wrong with this machine, with remedies.")
@click.option(
    "-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's configuration."
)
@click.option("--json", "as_json", is_flag=True, help="As one JSON array.")
def doctor(path: Path, *, as_json: bool) -> int:
    """Look for what is wrong with this machine, and say what to do about it.

    Looks at scanners, permissions, programs that take ports, the broker and what it allows, the clock, the disk and
    the journal. A running daemon is not disturbed, and nothing is ever written to a scanner; only where no daemon
    runs the table each port is opened and closed.

    Ends with 0, or with 1 where something failed; a warning is no failure.
    """
    site = site_of(path)
    found: list[tuple[str, Finding]] = []
    for group, findings in examine(site, CHECKS):
        found += [(group, finding) for finding in findings]
        if not as_json:
            click.echo(paragraph(group, findings))
    if as_json:
        click.echo(json.dumps([{"group": group} | asdict(finding) for group, finding in found], indent=2))
    else:
        click.echo(summary([finding for _, finding in found]))
    return Exit.DIFFERENCE if any(finding.level == "fail" for _, finding in found) else Exit.WELL


def site_of(path: Path) -> Site:
    """The table of a configuration, on this machine.

    Raises:
        ConfigError: the configuration can't be used.
    """
    config = load(path)
    broker = replace(broker_settings(config, "doctor"), client_id=f"scannerd-{config.table.id}-doctor")
    return Site(config, broker, published_topics(broker.prefix), daemon=daemon_of(config.state_dir))


def paragraph(group: str, findings: list[Finding]) -> str:
    """A group for people."""
    lines = [group]
    for finding in findings:
        lines.append(f"  {finding.level:<4}  {finding.text}")
        if finding.remedy:
            lines.append(f"        do: {finding.remedy}")
    return "\n".join([*lines, ""])


def summary(findings: list[Finding]) -> str:
    """How many failed, in one line."""
    levels = [finding.level for finding in findings]
    failed, warned = levels.count("fail"), levels.count("warn")
    if not failed and not warned:
        return "All is well."
    return f"{failed} failed, {warned} to look at, {levels.count('ok')} well."
