"""`scannerd watch`: tables in a terminal, live, with keys for the supervisor."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import click

from scannerd.cli.broker_options import FILE, Who, entering, settings
from scannerd.config import load
from scannerd.config.settings import Config
from scannerd.errors import Exit, UsageError
from scannerd.texts import LANGUAGES, texts
from scannerd.watching.broker import BrokerSource
from scannerd.watching.once import written_once
from scannerd.watching.page import PageSource, Place
from scannerd.watching.source import Source

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to be replaced by an address that can be called


@click.command(short_help="Show the table in a terminal, live.")
@click.option(
    "-c", "--config", "paths", type=FILE, multiple=True, help="A table's configuration; several tables: -c each."
)
@click.option("--mqtt", "url", help="From the broker alone: mqtt:// or mqtts://, with --table or -c.")
@click.option(
    "--table", "tables", metavar="ID", multiple=True, help="With --mqtt: the table's id; several: --table each."
)
@entering
@click.option("--language", type=click.Choice(LANGUAGES), help="By default that of the first configuration, else en.")
@click.option("--once", is_flag=True, help="Write what is so now and end; so it is too where stdout is no terminal.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds, for --once.",
)
@click.option("--colour/--no-colour", default=None, help="By default colour, unless NO_COLOR is set.")
def watch(  # noqa: PLR0913 - a command line's options, by name
    *,
    paths: tuple[Path, ...],
    url: str | None,
    tables: tuple[str, ...],
    language: str | None,
    once: bool,
    timeout: float,
    colour: bool | None,
    **who: Unpack[Who],
) -> Exit:
    """Show tables: both hands, the due slot, what the dealer is told, alarms, scanners, outbox and the last events.

    \b
    h hold    r release    v void    s scan again    e enter a card    q quit
    Tab, 1 to 9: another table    a: all tables in a list    Ctrl-L: draw anew

    With -c the table is watched through its own pages on this machine ([display] in the configuration), also while
    the network is down; actions ask for a name and the supervisor's PIN, which the daemon checks. Where the pages are
    switched off the broker is used, and the PIN is checked here against `pin_file`.

    With --mqtt the broker alone is used, from any machine. No PIN is asked for: what you may do is what the broker's
    rights let you, the right to act being the right to write on the topic of the command.

    \b
    Over ssh a terminal that lacks the letters of the language gets English, and cards as AS, TD, 2C: set LANG=C.UTF-8.

    \b
    Examples:
      scannerd watch -c /etc/scannerd/tp-01.toml
      scannerd watch -c /etc/scannerd/tp-01.toml -c /etc/scannerd/tp-02.toml
      scannerd watch --mqtt mqtts://broker:8883 --table tp-01 --table tp-02 --username tp-supervisor \\
          --password-file ~/password

    Ends with 0; with --once 1 where a table did not answer in time.
    """  # noqa: D301 - click's mark for lines to be left as they are
    configs = [load(path) for path in paths]
    sources = list(_sources(configs, url, tables, who))
    names = [source.table for source in sources]
    if not names:
        raise UsageError("name a table: its configuration with -c, or --mqtt URL and --table ID")
    if len(set(names)) < len(names):
        raise UsageError("a table is named twice")
    locale.setlocale(locale.LC_ALL, "")
    words = texts(language or (configs[0].table.language if configs else "en"))
    if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        utf8 = (sys.stdout.encoding or "").upper().replace("-", "") == "UTF8"
        known = written_once(sources, words, timeout, click.echo, symbols=utf8)
        return Exit.WELL if known else Exit.DIFFERENCE
    from scannerd.watching import terminal  # noqa: PLC0415 - a machine may lack curses

    shown = words if terminal.fits(words.alphabet, terminal.charset()) else texts("en")
    terminal.watch(sources, shown, colour=not os.environ.get("NO_COLOR") if colour is None else colour)
    return Exit.WELL


def _sources(configs: list[Config], url: str | None, tables: tuple[str, ...], who: Who) -> Iterator[Source]:
    for config in configs:
        table, address = config.table.id, config.display.address
        if url is not None:
            yield BrokerSource(settings("watch", table, url, who, config))
        elif address is not None and address[1]:
            host = _ANYWHERE.get(address[0], address[0])
            yield PageSource(Place(table, host, address[1], config.state_dir, config.display.tls_cert))
        else:
            yield BrokerSource(settings("watch", table, None, who, config), config.display.pin_file)
    if tables and url is None:
        raise UsageError("--table goes with --mqtt, which says where the broker is")
    for table in tables:
        yield BrokerSource(settings("watch", table, url, who))
