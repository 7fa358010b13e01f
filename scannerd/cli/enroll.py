"""`scannerd enroll`: scan a deck in a shown order and write its codebook, or compare a deck with one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from scannerd.codebooks import load_codebook, read_codebook
from scannerd.config.problems import Problems
from scannerd.config.scanners import ScannerLoader
from scannerd.config.settings import Scanner
from scannerd.contract import TransportError
from scannerd.core.cards import DECK
from scannerd.enrolment import Enrolment, Guided
from scannerd.enrolment.deck_check import DeckCheck
from scannerd.enrolment.loop import Device, Keyboard, Screen, guide
from scannerd.errors import ConfigError, Exit, UsageError
from scannerd.registry import Registry
from scannerd.toml_lines import key_lines, loads


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The scanner, and the codebook that its stanza names."""

    scanner: Scanner
    codes: str | None


@click.command(short_help="Scan a deck and write its codebook.")
@click.option("-c", "--config", "path", required=True, type=click.Path(path_type=Path), help="The table's file.")
@click.option("--scanner", "name", help="Which of its scanners; may be left out where there is one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The codebook to write.")
@click.option("--name", "deck", help="The deck's name; by default that of the file.")
@click.option(
    "--extra", multiple=True, type=click.Choice(["joker", "cut"]), help="Scan such a card too; may be given again."
)
@click.option("--force", is_flag=True, help="Replace a codebook that is there.")
@click.option(
    "--check", is_flag=True, help="Compare a deck, in any order, with the scanner's codebook or the one of -o."
)
def enroll(  # noqa: PLR0913 - the command's options
    path: Path,
    *,
    name: str | None,
    output: Path | None,
    deck: str | None,
    extra: tuple[str, ...],
    force: bool,
    check: bool,
) -> int:
    """Scan a deck in the order that is shown, and write its codebook when every card has its code.

    A code that was seen before is refused at once. u and Enter takes the last card back, q and Enter ends. The daemon
    must not run meanwhile, as a scanner has one reader. Where nobody can type it ends when nothing comes for 30 s.

    With --check the deck is scanned in any order until q, and compared. Ends with 0, with 1 where the deck is not
    complete or not that of the codebook, or with 2.
    """
    chosen = _choose(path, name)
    if check:
        return _check(chosen, path, output)
    if output is None:
        raise UsageError("name the codebook to write, -o FILE")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already; name another file, or replace it with --force")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"{output} can't be written: {output.parent} is no folder of yours")
    return _enrol(chosen, output, deck or output.stem, extra)


def _enrol(chosen: _Chosen, output: Path, deck: str, extra: Sequence[str]) -> int:
    enrolment = Enrolment((*DECK, *extra))
    if not _guide(enrolment, chosen.scanner):
        done, total = enrolment.progress()
        click.echo(f"ended at {done} of {total}; no codebook was written")
        return Exit.DIFFERENCE
    _write(output, enrolment.text(deck))
    click.echo(f'{output} is written. In the stanza of {chosen.scanner.name}: codes = "{output}"')
    return Exit.WELL


def _check(chosen: _Chosen, path: Path, output: Path | None) -> int:
    if output is None and chosen.codes is None:
        raise UsageError("name the codebook to compare with, -o FILE")
    beside = path.resolve().parent
    codebook = read_codebook(output) if output else load_codebook(chosen.codes or "", beside)
    compared = DeckCheck(codebook)
    _guide(compared, chosen.scanner)
    click.echo(compared.report())
    return Exit.WELL if compared.sound else Exit.DIFFERENCE


def _guide(guided: Guided, chosen: Scanner) -> bool:
    driver = chosen.make_driver()
    try:
        device = Device(driver, driver.transport(chosen.url))
    except TransportError as error:  # such as a library that is missing
        raise UsageError(f"{error}; {error.remedy}") from error
    screen = Screen(lambda text: click.echo(text, nl=False), large_cards=sys.stdout.isatty())
    try:
        return guide(guided, device, Keyboard(sys.stdin), screen)
    finally:
        device.close()


def _choose(path: Path, name: str | None) -> _Chosen:
    """The scanner of that name; its codebook need not exist yet, so another stands in for it.

    Raises:
        ConfigError: the scanners of the configuration can't be used.
        UsageError: there is none of that name.
    """
    text, data = _parse(path)
    stanzas = data.get("scanner")
    tables = [one for one in stanzas if isinstance(one, dict)] if isinstance(stanzas, list) else []
    problems = Problems(path, key_lines(text))
    with_codes: dict[str, object] = {"scanner": [table | {"codes": "rank-suit"} for table in tables]}
    scanners = ScannerLoader(with_codes, path.resolve().parent, problems, Registry()).load(None) or ()
    problems.raise_any()
    for scanner, table in zip(scanners, tables, strict=True):
        if name == scanner.name or (name is None and len(scanners) == 1):
            return _Chosen(scanner, table.get("codes") or scanner.driver_class.codes)
    names = ", ".join(scanner.name for scanner in scanners)
    raise UsageError(f"name one scanner of {path} with --scanner: {names}")


def _parse(path: Path) -> tuple[str, dict[str, object]]:
    try:
        text = path.read_bytes().decode("utf-8")
        return text, loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError((f"{path}: {error}",)) from None


def _write(output: Path, text: str) -> None:
    """Writes a codebook whole or not at all, and only one that can be read.

    Raises:
        UsageError: it can't be written.
    """
    beside = output.with_name(f".{output.name}.new")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        read_codebook(beside)
        beside.replace(output)
    except OSError as error:
        raise UsageError(f"{output} can't be written: {error.strerror}; the deck must be scanned again") from error
    finally:
        beside.unlink(missing_ok=True)
