"""The command line as a frame: help, exit codes, and one line on stderr for trouble."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from scannerd import __version__
from scannerd.cli import COMMANDS, cli, run
from scannerd.errors import AlreadyRunning, Exit, JournalUnusable

ROOT = Path(__file__).parent.parent


def scannerd(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user would."""
    return subprocess.run(
        [sys.executable, "-m", "scannerd", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@click.group()
def trouble() -> None:
    """Commands that end in one way each."""


@trouble.command()
def second() -> None:
    """Another instance is there."""
    raise AlreadyRunning("tp-01 is run by\nprocess 7")


@trouble.command()
def damaged() -> None:
    """The journal is damaged."""
    raise JournalUnusable("the chain breaks at seq 7")


@trouble.command()
def bug() -> None:
    """A fault of ours."""
    raise RuntimeError("nobody foresaw this")


@trouble.command()
def interrupted() -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


@trouble.command()
def different() -> int:
    """A check found a difference."""
    return Exit.DIFFERENCE


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("second", Exit.ALREADY_RUNNING, "scannerd: tp-01 is run by process 7\n"),
        ("damaged", Exit.JOURNAL_DAMAGED, "scannerd: the chain breaks at seq 7\n"),
        ("different", Exit.DIFFERENCE, ""),
        ("interrupted", 130, "\n"),
    ],
)
def test_trouble_is_an_exit_code_and_one_line(
    capsys: pytest.CaptureFixture[str], command: str, code: int, told: str
) -> None:
    """Foreseen trouble ends with its exit code and one line, without a traceback."""
    assert code == run([command], trouble)
    assert told == capsys.readouterr().err


def test_unforeseen_fault_is_told_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """A fault of ours ends with 5 and a traceback."""
    assert Exit.INTERNAL == run(["bug"], trouble)
    assert "RuntimeError: nobody foresaw this" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "scannerd: A command is missing. See `scannerd --help`.\n"),
        (["chek"], "scannerd: No command 'chek', did you mean 'check'? See `scannerd --help`.\n"),
        (["check"], "scannerd: Missing option '-c' / '--config'. See `scannerd check --help`.\n"),
        (["drivers", "lin"], "scannerd: no driver 'lin', did you mean 'line'?\n"),
        (["check", "-c", "/none"], "scannerd: /none: can't be read: No such file or directory\n"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    """Wrong usage ends with 2 and one line that says what to do."""
    assert Exit.USAGE == run(arguments)
    assert told == capsys.readouterr().err


def test_check_tells_all_faults_in_one_line(tmp_path: Path) -> None:
    """`scannerd check` ends a wrong configuration with 2 and one line that names every fault."""
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[table]\nid = "X"\n[round]\nbounce_ms = -1\n', encoding="utf-8")
    checked = scannerd("check", "-c", wrong)
    assert (Exit.USAGE, "") == (checked.returncode, checked.stdout)
    assert 1 == checked.stderr.count("\n")
    assert [f"{wrong}:2: table.id", f"{wrong}:4: round.bounce_ms"] == [
        fault for fault in (f"{wrong}:2: table.id", f"{wrong}:4: round.bounce_ms") if fault in checked.stderr
    ]


def test_check_says_what_is_well() -> None:
    """`scannerd check` ends a sound configuration with 0 and says what it would run."""
    checked = scannerd("check", "-c", "config/scannerd.example.toml")
    assert (Exit.WELL, "") == (checked.returncode, checked.stderr)
    assert "Table tp-01" in checked.stdout


def test_help_imports_no_command() -> None:
    """`--help` lists the commands without importing one, or what they need."""
    code = (
        "import sys; from scannerd.cli import run; run(['--help']);"
        "print(sorted({'pydantic', 'paho', 'structlog', 'serial', 'sqlite3'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "[]" == shown.splitlines()[-1]
    assert "check" in shown


def test_each_command_is_where_its_name_says() -> None:
    """Every command that is listed can be had, and has help."""
    with click.Context(cli) as context:
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            assert command is not None, name
            assert command.get_short_help_str(), name
            assert name in COMMANDS


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` tells the package's version."""
    assert Exit.WELL == run(["--version"])
    assert f"scannerd {__version__}\n" == capsys.readouterr().out


@pytest.mark.fault(134)
def test_reader_that_has_enough_is_no_fault() -> None:
    """Output that is cut off, as by `head`, ends quietly."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "scannerd", "drivers"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
        assert (Exit.WELL, b"") == (process.wait(10), told)


@pytest.mark.parametrize("group", [(), ("config",), ("journal",), ("scanlog",)])
def test_lists_of_commands_tell_each_in_a_whole_sentence(group: tuple[str, ...]) -> None:
    """No line of a list of commands is cut off for its length."""
    listed = scannerd(*group, "--help").stdout.partition("\nCommands:\n")[2]
    assert listed
    assert "..." not in listed


@pytest.mark.parametrize("arguments", [("drivers",), ("schema",), ("--help",), ("check", "-c", "{example}")])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_output_that_can_not_be_written_is_one_line(arguments: tuple[str, ...], buffered: str) -> None:
    """A full disk under the output of any command is told in one line, with exit code 2 and no traceback."""
    given = [argument.format(example=ROOT / "config/scannerd.example.toml") for argument in arguments]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scannerd", *given],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": buffered},
        )
    assert (2, "scannerd: the output can't be written: No space left on device\n") == (done.returncode, done.stderr)


def test_trouble_that_nobody_can_be_told_still_has_its_exit_code() -> None:
    """Where stderr is full, or was closed like all else, a command ends with the code that it would have anyway."""
    for streams in ("2>/dev/full", "<&- >&- 2>&-"):
        command = f'"{sys.executable}" -m scannerd check -c /nowhere.toml {streams}'
        assert 2 == subprocess.run(["sh", "-c", command], check=False, cwd=ROOT).returncode  # noqa: S607 - any shell
