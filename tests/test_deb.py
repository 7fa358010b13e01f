"""The Debian package, as far as it can be looked at without building it: scripts, lists, manual pages, completions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deb.manpages import PROGRAMS, roff, write

ROOT = Path(__file__).parent.parent
DEB = ROOT / "deb"
UNIT = (ROOT / "systemd/scannerd@.service").read_text(encoding="utf-8")
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")

BASH = shutil.which("bash") or ""
MAN = shutil.which("man") or ""
SYSUSERS = shutil.which("systemd-sysusers") or ""
TMPFILES = shutil.which("systemd-tmpfiles") or ""


def text(name: str) -> str:
    """A file of the package's folder."""
    return (DEB / name).read_text(encoding="utf-8")


def groups() -> list[str]:
    """The groups that the package asks for."""
    return re.findall(r"^g (\w+) -$", text("sysusers.conf"), re.MULTILINE)


def commands(name: str, command: click.Command) -> Iterator[str]:
    """The names of a command and of all below it, as manual pages are named."""
    yield name
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found
            yield from commands(f"{name}-{below}", found)


def completed(program: str, instruction: str, words: str = "") -> str:
    """What a program says to a shell that completes its command line."""
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    asked = {variable: instruction, "COMP_WORDS": f"{program} {words}", "COMP_CWORD": "1"}
    done = subprocess.run(
        [Path(sys.executable).with_name(program)], check=False, capture_output=True, text=True, env=os.environ | asked
    )
    return done.stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All manual pages, by name."""
    folder = tmp_path_factory.mktemp("man")
    write(folder)
    return {page.stem: page for page in folder.iterdir()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_maintainer_scripts_are_sound(name: str) -> None:
    """Each maintainer script is one that any sh can read, may be executed, and ends at the first fault."""
    assert 0 == subprocess.run(["/bin/sh", "-n", DEB / name], check=False).returncode
    assert os.access(DEB / name, os.X_OK)
    assert re.search(r"^set -e$", text(name), re.MULTILINE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_maintainer_scripts_touch_no_configuration(name: str) -> None:
    """No maintainer script does anything below /etc/scannerd, but for taking the folder away when it is empty."""
    lines = [line for line in text(name).splitlines() if "/etc/scannerd" in line]
    assert [] == [line for line in lines if "rmdir --ignore-fail-on-non-empty" not in line]


def test_journals_are_kept_unless_somebody_says_otherwise() -> None:
    """The question that purge asks is in the templates, and the answer where nobody is asked is no."""
    assert "Template: scannerd/purge-journals\nType: boolean\nDefault: false\n" in text("templates")
    assert {"scannerd/purge-journals"} == set(re.findall(r"scannerd/purge-\w+", text("postrm")))


def test_unit_runs_what_the_package_brings() -> None:
    """The unit starts the daemon where the package puts it."""
    home = re.search(r"^home=(.*)$", text("build.sh"), re.MULTILINE)
    assert home
    assert f"ExecStart={home[1]}/bin/scannerd run" in UNIT


def test_every_mark_is_filled_in() -> None:
    """Each mark in the control file and the changelog is one that the build replaces."""
    marks = {mark for name in ("control", "changelog") for mark in re.findall(r"@[A-Z_]+@", text(name))}
    assert marks
    assert marks <= set(re.findall(r"s\|(@[A-Z_]+@)\|", text("build.sh")))


def test_groups_that_the_unit_joins_are_asked_for() -> None:
    """The groups that own the devices are made where they are missing, or the unit could not start."""
    joined = re.search(r"^SupplementaryGroups=(.*)$", UNIT, re.MULTILINE)
    assert joined
    assert joined[1].split() == groups()


@pytest.mark.skipif(not SYSUSERS, reason="no systemd here")
def test_systemd_makes_the_groups(tmp_path: Path) -> None:
    """The list of groups is one that systemd understands; it makes these, and no user."""
    (tmp_path / "etc").mkdir()
    subprocess.run([SYSUSERS, f"--root={tmp_path}", DEB / "sysusers.conf"], check=True, capture_output=True)
    made = (tmp_path / "etc/group").read_text(encoding="utf-8").splitlines()
    assert sorted(groups()) == sorted(line.partition(":")[0] for line in made)
    assert not (tmp_path / "etc/passwd").exists()


@pytest.mark.skipif(not TMPFILES or os.geteuid() != 0, reason="no systemd here, or not root")
def test_systemd_makes_the_folders_for_people(tmp_path: Path) -> None:
    """The folder of configurations is readable for all, that of secrets for root alone."""
    subprocess.run([TMPFILES, f"--root={tmp_path}", "--create", DEB / "tmpfiles.conf"], check=True)
    assert "0o755" == oct((tmp_path / "etc/scannerd").stat().st_mode & 0o777)
    assert "0o700" == oct((tmp_path / "etc/credstore").stat().st_mode & 0o777)


def test_rules_in_force_act_only_on_links_of_the_operator() -> None:
    """Each rule that the package puts in force asks first for a link that a rule of the operator's has made."""
    rules = [line for line in text("71-scannerd-links.rules").splitlines() if line and not line.startswith("#")]
    acting = [line for line in rules if not line.startswith(("ACTION", "LABEL"))]
    assert acting
    assert [] == [line for line in acting if not line.startswith('SYMLINK=="scannerd/*", ')]
    assert set(groups()) == set(re.findall(r'GROUP="(\w+)"', "".join(acting)))


def test_lock_holds_what_a_table_needs_and_no_more() -> None:
    """The package's lock pins with hashes what the pages and signatures need too, and no tool of ours."""
    lock = (ROOT / "requirements/table.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^([a-z0-9-]+)==", lock, flags=re.MULTILINE)
    pinned = dict(zip(parts[::2], parts[1::2], strict=True))
    assert {"paho-mqtt", "pydantic", "pyserial", "uvicorn", "cryptography"} <= set(pinned)
    assert set() == {"pytest", "hatchling", "click-man", "iotcore"} & set(pinned)
    assert [] == [name for name, what in pinned.items() if "--hash=sha256:" not in what]


def test_every_command_has_a_manual_page(pages: dict[str, Path]) -> None:
    """Every command, and every one below it, has a manual page."""
    assert {name for program in PROGRAMS for name in commands(program, PROGRAMS[program])} == set(pages)


def test_manual_pages_name_command_and_options(pages: dict[str, Path]) -> None:
    """A page names its command with the whole first sentence of its help, and each of its options."""
    page = pages["scannerd-run"].read_text(encoding="utf-8")
    assert r"scannerd\-run \- Run the daemon of one table until SIGTERM or Ctrl\-C" + "\n" in page
    assert r"\fB\-c,\fP \-\-config" in page


@pytest.mark.skipif(not MAN, reason="no man here")
def test_manual_pages_are_set_without_a_warning(pages: dict[str, Path]) -> None:
    """Every page is one that man has nothing to say against."""
    done = subprocess.run([MAN, "--warnings", "-l", *pages.values()], check=True, capture_output=True, text=True)
    assert "" == done.stderr


def test_help_becomes_roff() -> None:
    """What roff would take for its own is escaped, and lines that click leaves alone are left alone."""
    assert "a \\-\\-b \\e c\n\\&.d\n\\&'e" == roff("a --b \\ c\n.d\n'e")
    assert "a\n\n.nf\nb  c\n\\&.d\n.fi\n\ne" == roff("a\n\n\b\nb  c\n.d\n\ne")


@pytest.mark.parametrize("program", PROGRAMS)
def test_completion_knows_the_commands(program: str) -> None:
    """A shell that asks for the word after the program's name is told every command."""
    told = {line.partition(",")[2] for line in completed(program, "bash_complete").splitlines()}
    assert set(PROGRAMS[program].list_commands(click.Context(PROGRAMS[program]))) == told


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("program", PROGRAMS)
def test_completion_is_written_for_each_shell(program: str) -> None:
    """Each program writes a completion for bash that bash can read, and for zsh and fish one that names it."""
    written = [completed(program, f"{shell}_source") for shell in ("bash", "zsh", "fish")]
    assert 0 == subprocess.run([BASH, "-n"], input=written[0], text=True, check=False).returncode
    assert [] == [script for script in written if program not in script]
