"""`scannerd enroll` as a user runs it, with a scanner on a pseudo-terminal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.codebooks import read_codebook
from scannerd.core.cards import DECK
from tests.fakes_devices import Pty

ROOT = Path(__file__).parent.parent
CODES: dict[str, str] = {card: f"C{number:02}" for number, card in enumerate(DECK)}


class Enrolling:
    """A running `scannerd enroll`: what it shows line by line, what is scanned and typed."""

    def __init__(self, process: subprocess.Popen[str], scanner: Pty) -> None:
        self.process = process
        self._scanner = scanner

    def shown(self, part: str) -> str:
        """The next line that holds `part`."""
        assert self.process.stdout
        for line in self.process.stdout:
            if part in line:
                return line
        raise AssertionError(f"it ended without showing {part!r}")

    def scan(self, code: str) -> None:
        """The scanner sends a code."""
        self._scanner.send(code.encode() + b"\r\n")

    def type(self, line: str) -> None:
        """The person types a line."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """The exit code, once it has ended."""
        return self.process.wait(30)


class Bench:
    """A table with one scanner on a pseudo-terminal, whose codebook does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scanner = Pty(folder / "scanner")
        self.config = folder / "table.toml"
        self.book = folder / "deck.toml"
        self.config.write_text(
            f'[table]\nid = "tp-01"\n[[scanner]]\nname = "reader"\ndriver = "line"\nurl = "{self.scanner.path}"\n'
            'codes = "deck.toml"\nlength = 3\n',
            encoding="utf-8",
        )

    @contextmanager
    def enrolling(self, *arguments: str) -> Iterator[Enrolling]:
        """Runs the command with these arguments besides the configuration."""
        command = [sys.executable, "-m", "scannerd", "enroll", "-c", str(self.config), *arguments]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            yield Enrolling(process, self.scanner)
            process.kill()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A table to enroll a deck at."""
    bench = Bench(tmp_path)
    yield bench
    bench.scanner.unplug()


def test_deck_is_enrolled_and_then_compared(bench: Bench) -> None:
    """A whole deck is enrolled card by card, with a repeated code refused, and then found sound."""
    with bench.enrolling("--scanner", "reader", "-o", str(bench.book), "--name", "blue 7") as enrolling:
        for card in DECK:
            enrolling.shown(f"scan {card}")
            if card == "JS":
                enrolling.scan(CODES["AS"])
                enrolling.shown("C00 is AS already, scanned as number 1")
                assert not bench.book.exists()
            enrolling.scan(CODES[card])
        enrolling.shown(f'{bench.book} is written. In the stanza of reader: codes = "{bench.book}"')
        assert 0 == enrolling.end()
    book = read_codebook(bench.book)
    assert ("blue 7", list(DECK)) == (book.name, [book.lookup(CODES[card]) for card in DECK])
    with bench.enrolling("--check") as enrolling:
        enrolling.shown("scan any card")
        for number, card in enumerate(reversed(DECK), 1):
            enrolling.scan(CODES[card])
            enrolling.shown(f"{number}: {CODES[card]} is {card}")
        enrolling.type("q")
        enrolling.shown("the deck is sound")
        assert 0 == enrolling.end()


def test_nothing_is_written_of_half_a_deck(bench: Bench) -> None:
    """Who ends before the deck is complete gets no codebook and exit code 1, and a code taken back is free again."""
    with bench.enrolling("-o", str(bench.book)) as enrolling:
        enrolling.shown("scan AS")
        enrolling.scan("C00")
        enrolling.shown("scan KS")
        enrolling.type("u")
        enrolling.shown("AS is no longer C00")
        enrolling.scan("C00")
        enrolling.shown("AS is C00")
        enrolling.type("q")
        enrolling.shown("ended at 1 of 52; no codebook was written")
        assert 1 == enrolling.end()
    assert {"scanner", "table.toml"} == {file.name for file in bench.folder.iterdir()}


def test_comparison_that_finds_a_difference_ends_with_1(bench: Bench) -> None:
    """A deck that is not the codebook's ends with 1 and a report of what is missing."""
    with bench.enrolling("--check", "-o", "tests/../no.toml") as enrolling:
        assert 2 == enrolling.end()
    lines = "\n".join(f'"{code}" = "{card}"' for card, code in CODES.items())
    bench.book.write_text(f'[deck]\nname = "d"\n[cards]\n{lines}\n', encoding="utf-8")
    with bench.enrolling("--check") as enrolling:
        enrolling.shown("scan any card")
        enrolling.scan("XYZ")
        enrolling.shown("1: XYZ is in no card of the codebook")
        enrolling.type("q")
        enrolling.shown("missing: AS KS")
        enrolling.shown("not in the codebook: XYZ as number 1")
        assert 1 == enrolling.end()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name the codebook to write"),
        (("-o", "{folder}/table.toml"), "is there already"),
        (("-o", "{folder}/none/deck.toml"), "can't be written"),
        (("-o", "{folder}/deck.toml", "--scanner", "shoe"), "name one scanner of"),
        (("--check",), "deck.toml"),
    ],
)
def test_what_cannot_work_is_told_before_the_first_card(
    bench: Bench, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """What can't be read or written is told with exit code 2 before the first card is scanned."""
    given = [argument.format(folder=bench.folder) for argument in arguments]
    assert 2 == run(["enroll", "-c", str(bench.config), *given])
    said = capsys.readouterr()
    assert (1, "") == (said.err.count("\n"), said.out)
    assert told in said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "No such file"),
        ("[table", "table.toml"),
        ("", "at least one [[scanner]]"),
        ('[[scanner]]\nname = "a"\ndriver = "lines"\nurl = "/dev/x"\n', "did you mean 'line'"),
        ('[[scanner]]\nname = "a"\ndriver = "rfid-serial"\nurl = "/dev/x"\n', "name the codebook to compare with"),
    ],
)
def test_configuration_that_cannot_be_used_is_told(
    bench: Bench, capsys: pytest.CaptureFixture[str], text: str | None, told: str
) -> None:
    """A configuration whose scanner can't be used ends the command with 2 and one line."""
    if text is None:
        bench.config.unlink()
    else:
        bench.config.write_text(text, encoding="utf-8")
    assert 2 == run(["enroll", "-c", str(bench.config), "--check"])
    said = capsys.readouterr().err
    assert 1 == said.count("\n")
    assert told in said
