"""Manual pages of both commands and all that is below them, from the command line's own help: `-m deb.manpages FOLDER`.

click-man writes the pages. It wants a whole tree of commands, where ours are imported when they are called, and takes
help for finished roff; so it is given a copy of the tree with the help written out for it.
"""

from __future__ import annotations

import copy
import sys
from inspect import cleandoc
from pathlib import Path

import click
from click_man.core import write_man_pages

from scannerd import __version__
from scannerd.cli import cli
from teen_patti.cli import main as engine

PROGRAMS: dict[str, click.Group] = {"scannerd": cli, "teen-patti-engine": engine}
"""Each command that the package puts on the path."""

_AS_IT_IS = "\b"
"""click's mark of a paragraph whose lines stay as they are."""


FILES = r"""
.SH FILES
.TP
.I /etc/scannerd/TABLE.toml
The configuration of a table, which scannerd@TABLE.service runs.
.TP
.I /etc/credstore/scannerd\-TABLE.mqtt\-password, .display\-pin, .signing\-key
Its secrets.
.TP
.I /var/lib/scannerd/TABLE
Its journal.
.TP
.I /usr/share/doc/scannerd
The operator's guide, and examples: configurations, rules of udev, rights at the broker.
"""


def write(folder: Path) -> None:
    """Writes a page for each command, `scannerd-run.1` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in PROGRAMS.items():
        write_man_pages(name, whole(program), version=f"scannerd {__version__}", target_dir=str(folder))
    with (folder / "scannerd.1").open("a", encoding="utf-8") as page:
        page.write(FILES.lstrip())


def whole(command: click.Command) -> click.Command:
    """A copy whose commands are all there, with the help as roff, and its first sentence, uncut, as the name line."""
    copied = _with_all_commands(command) if isinstance(command, click.Group) else copy.copy(command)
    text = cleandoc(command.help or "")
    sentence = " ".join(text.split()).partition(". ")[0].removesuffix(".")
    copied.help, copied.short_help = roff(text), _escaped(sentence)
    return copied


def roff(text: str) -> str:
    """Text for click-man, which only sets paragraphs apart: escapes it, and keeps the lines that click would keep."""
    return "\n\n".join(_paragraph(paragraph) for paragraph in text.split("\n\n"))


def _with_all_commands(group: click.Group) -> click.Group:
    context = click.Context(group, info_name=group.name)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    commands = {name: whole(command) for name, command in found.items() if command is not None}
    return click.Group(group.name, commands, params=group.params)


def _paragraph(text: str) -> str:
    if not text.startswith(_AS_IT_IS):
        return _escaped(text)
    lines = text.removeprefix(_AS_IT_IS).strip("\n")
    return f".nf\n{_escaped(lines)}\n.fi"


def _escaped(text: str) -> str:
    """A backslash is roff's own mark, a line that begins with a dot or a quote its command, a hyphen no minus."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
