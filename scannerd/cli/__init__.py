"""The command `scannerd`: thin sub-commands, each in the module of its name, imported when it is called.

`--help` and the start of each command are quick since nothing else is imported. The function, or click command, in
module `scannerd.cli.<name>` bears the command's name. It returns nothing or an exit code, or raises `ScannerdError`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from scannerd import __version__
from scannerd.errors import Exit, ScannerdError
from scannerd.nearest import nearest

COMMANDS = {
    "run": "Run the daemon of one table.",
    "demo": "Deal rounds from a packaged recording, with a broker and all.",
    "check": "Check a configuration; touches neither device nor broker.",
    "config": "Bring a configuration of an older version up to date.",
    "drivers": "List the drivers and their options.",
    "devices": "List the devices seen, with the stanza to paste.",
    "record": "Record bytes and events while the daemon runs.",
    "enroll": "Scan a deck in a known order and write its codebook.",
    "replay": "Replay a recording and print its events.",
    "verify": "Replay recordings and compare with what is expected.",
    "simulate": "Write a recording with chosen fault rates.",
    "shadow": "Try a configuration on a live table's bytes; publishes nothing.",
    "scanlog": "Show, cut, shrink and change recordings.",
    "journal": "Read the journal, export it, prove its chain.",
    "command": "Send a command over MQTT and print the reply.",
    "watch": "Show the table in a terminal, live.",
    "pin": "Set the PIN of the supervisor's page.",
    "doctor": "Look for what is wrong with this machine, with remedies.",
    "support": "Pack one file for a report, without secrets.",
    "schema": "Print the contract as JSON Schema or AsyncAPI.",
}
"""Every command in the order of its daily use, with the line that `--help` shows without importing it."""

_INTERRUPTED = 130
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class ReaderGone(Exception):  # noqa: N818 - no fault of anybody's
    """Whoever read our output, such as `head`, has enough. Nobody must act."""


class LazyGroup(click.Group):
    """Imports a sub-command when it is called, and none for `--help`."""

    def __init__(
        self,
        package: str,
        lines: Mapping[str, str],
        **attributes: Any,  # noqa: ANN401 - click's own
    ) -> None:
        """Knows the commands by name alone.

        Args:
            package: whose modules bear the names of the commands.
            lines: every command in the order in which `--help` shows them, with the line it shows.
            attributes: those of any click group.
        """
        super().__init__(**attributes)
        self._package, self._lines = package, lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands at hand, in the order of their lines."""
        del ctx
        return [name for name in self._lines if find_spec(f"{self._package}.{name}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports one command.

        Raises:
            click.UsageError: there is none of that name.
        """
        names = self.list_commands(ctx)
        if cmd_name not in names:
            raise click.UsageError(f"No command {cmd_name!r}{nearest(cmd_name, names)}", ctx)
        found: object = getattr(import_module(f"{self._package}.{cmd_name}"), cmd_name)
        return found if isinstance(found, click.Command) else None

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command that was named.

        Raises:
            ReaderGone: whoever read the output has enough.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would end the process with 1, which is a difference found
            raise ReaderGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list without importing a command."""
        rows = [(name, self._lines[name]) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, package=__name__, lines=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="scannerd", message="%(prog)s %(version)s")
def cli() -> None:
    """From card shoes and scanners to MQTT: one daemon per table, validated cards out.

    Exit codes: 0 well, 1 a check found a difference, 2 usage or configuration, 3 another instance runs this table,
    4 the journal is damaged, 5 internal error.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and ends the process with its exit code; trouble is one line on stderr."""
    _stand_in()
    code = run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except OSError:  # told already; the interpreter would try again, and end with a code of its own
        _reader_is_gone()
    sys.exit(code)


def run(arguments: Sequence[str], group: click.Command = cli) -> int:
    """Runs a command and returns its exit code.

    Args:
        arguments: the command line without the program's name.
        group: the commands.
    """
    try:
        result: object = group.main(list(arguments), prog_name="scannerd", standalone_mode=False)
        sys.stdout.flush()
    except ScannerdError as error:
        return _complain(error.line, error.exit_code)
    except click.ClickException as error:
        return _complain(_usage(error), Exit.USAGE)
    except click.Abort:
        return _INTERRUPTED
    except (BrokenPipeError, ReaderGone):
        return _reader_is_gone()
    except Exception as error:  # noqa: BLE001 - the last resort: a fault of ours, told whole
        return _fault(error)
    return result if isinstance(result, int) else Exit.WELL


def _stand_in() -> None:
    """A stream that whoever started us had closed is the one on which nothing comes and goes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name need not be text of this locale


def _fault(error: Exception) -> int:
    """Tells a fault whole, unless it is only that standard output, which alone has no name, can't be written."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        _reader_is_gone()
        return _complain(f"the output can't be written: {error.strerror}", Exit.USAGE)
    traceback.print_exception(error)
    return Exit.INTERNAL


def _complain(line: str, code: Exit) -> int:
    try:
        click.echo(f"scannerd: {line}", err=True)
    except OSError:  # nobody can be told; at the end of the process nothing of it may be tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _usage(error: click.ClickException) -> str:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return "A command is missing. See `scannerd --help`."
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "scannerd"
    message = " ".join(error.format_message().split())
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{path} --help`."


def _reader_is_gone() -> int:
    """What is still buffered goes nowhere, quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.WELL
