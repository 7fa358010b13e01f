"""`teen-patti-engine run`: the engine at a live table."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import click

from scannerd.client import BrokerSettings, ChainBroken, ClientError
from teen_patti.errors import DAMAGED, INTERNAL, EngineError, StateUnusable
from teen_patti.pacing import Pace
from teen_patti.running import Play
from teen_patti.simulate import Bettors
from teen_patti.starting import play
from teen_patti.state import Round
from teen_patti.telling import lines
from teen_patti.terms import Texts, texts
from teen_patti.voiding import asked, void


@dataclass(frozen=True, slots=True)
class Where:
    """The options that say where the table is, by the names that click hands over."""

    table: str
    url: str
    root: str
    protocol: str
    client_id: str | None
    username: str | None
    password_file: Path | None
    ca_file: Path | None
    cert_file: Path | None
    key_file: Path | None


@dataclass(frozen=True, slots=True)
class How:
    """The options that say how to play, by the names that click hands over."""

    betting_s: float
    settle_s: float
    follow: bool
    language: str
    bettors: int
    seed: int
    as_json: bool


class _Trouble(click.ClickException):
    """One line on stderr, and the exit code."""

    def __init__(self, trouble: Exception, exit_code: int) -> None:
        super().__init__(" ".join(str(trouble).split()))
        vars(self)["exit_code"] = exit_code  # click's types take it for the class's

    def show(self, file: IO[str] | None = None) -> None:
        """Prints the line."""
        click.echo(f"teen-patti-engine: {self.message}", file=file, err=True)


def run_engine(path: Path | None, rounds: int | None, where: Where, how: How, *, from_start: bool) -> None:
    """Plays by the options of the command line.

    Raises:
        click.ClickException: it can't be begun, or not go on; with the exit code.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    with _troubles():
        play(_broker(where), _file(path, where.table), _play(how), rounds=rounds, from_start=from_start)


def void_round(path: Path | None, table: str, by: str, reason: str, language: str) -> None:
    """Voids the round in the state file, and prints it.

    Raises:
        click.ClickException: it can't be voided; with the exit code.
    """
    words = texts(language)
    with _troubles():
        _as_text(words)(void(_file(path, table), table, asked(datetime.now(UTC), by, reason), words), "")


def _file(path: Path | None, table: str) -> Path:
    return path or Path(f"teen-patti-{table}.json")


@contextmanager
def _troubles() -> Iterator[None]:
    """What goes wrong ends the process with a line and its exit code."""
    try:
        yield
    except EngineError as trouble:
        raise _Trouble(trouble, trouble.exit_code) from None
    except ClientError as trouble:
        raise _Trouble(trouble, DAMAGED if isinstance(trouble, ChainBroken) else trouble.exit_code) from None
    except Exception:  # noqa: BLE001 - the last resort: a fault of ours, told whole
        traceback.print_exc()
        sys.exit(INTERNAL)


def _play(how: How) -> Play:
    words = texts(how.language)
    return Play(
        pace=Pace(how.betting_s, how.settle_s, how.follow),
        words=words,
        told=_as_json if how.as_json else _as_text(words),
        bettors=Bettors(how.seed, how.bettors) if how.bettors else None,
    )


def _as_json(current: Round, message: str) -> None:
    del current
    _say(message)


def _as_text(words: Texts) -> Callable[[Round, str], None]:
    def told(current: Round, message: str) -> None:
        del message
        _say("\n".join(lines(current, words)))

    return told


def _say(text: str) -> None:
    """At once, though it goes into a pipe."""
    click.echo(text)
    sys.stdout.flush()


def _broker(where: Where) -> BrokerSettings:
    return BrokerSettings(
        urls=tuple(where.url.split(",")),
        root=where.root,
        table=where.table,
        client_id=where.client_id or f"teen-patti-{where.table}",
        protocol=4 if where.protocol == "4" else 5,
        username=where.username,
        password=_password(where.password_file),
        ca_file=where.ca_file,
        cert_file=where.cert_file,
        key_file=where.key_file,
    )


def _password(path: Path | None) -> str | None:
    try:
        return None if path is None else path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as trouble:
        raise StateUnusable(f"{path}: can't be read: {trouble}") from trouble
