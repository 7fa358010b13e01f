"""The fuzzer's targets: our corpus keeps every promise, and what breaks one is found and written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fuzz.__main__ import main
from fuzz.decoders import DecoderTarget
from fuzz.promises import try_channel, try_decoder, try_memory
from fuzz.running import Outcome, Search, run_all
from fuzz.scripts import LATE, LOST, MOST, PAUSES, Step, read, written
from fuzz.target import BrokenPromiseError, Kept, Target
from fuzz.targets import targets
from scannerd.codebooks import BUILT_IN
from scannerd.contract import BadFrame, CardRead, Decoder, Micros, Reading
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Line, lines
from scannerd.scanlog import ScanlogReader
from tests.corpus import FOLDER, REGISTRY

TARGETS = targets()
CODES = BUILT_IN["rank-suit"]
ACE = Step(0, b"AS\r")


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_keeps_every_promise(name: str) -> None:
    """What the search begins with breaks nothing, fits its target, and is there."""
    target = TARGETS[name]()
    seeds = list(target.seeds())
    for seed in seeds:
        target.check(seed)
    assert seeds
    assert max(map(len, seeds)) <= target.longest


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_any_bytes(name: str) -> None:
    """An input that is empty, or nothing that anybody sends, is no fault."""
    target = TARGETS[name]()
    for data in (b"", b"\x00", b"\xff" * 100, bytes(range(256))):
        target.check(data)


@pytest.mark.parametrize("name", [name for name, make in TARGETS.items() if isinstance(make(), DecoderTarget)])
def test_a_found_script_is_a_recording(name: str) -> None:
    """What breaks a decoder is written as a recording that `scannerd replay` plays, with the same cards in it."""
    target = TARGETS[name]()
    kept = [target.kept(seed) for seed in target.seeds()]
    assert {".scanlog"} == {one.suffix for one in kept}
    assert "card_accepted" in {line["type"] for one in kept for line in replayed(one.content)}


def test_a_found_command_is_a_recording() -> None:
    """What breaks a command is a recording with it; a payload that is no JSON object is kept as it came."""
    target = TARGETS["command"]()
    assert b'"command":"open","args":{"id":"c1"}' in target.kept(b'\x00\x00{"id":"c1"}').content
    assert Kept(".open.json", b"[", target.kept(b"\x00\x00[").advice) == target.kept(b"\x00\x00[")
    assert ["round_opened"] == [line["type"] for line in replayed(target.kept(b'\x00\x00{"id":"c1"}').content)]


def replayed(content: bytes) -> list[Line]:
    """The events of a recording that was found."""
    reader = ScanlogReader(BytesIO(content), "found", pytest.fail)
    replay = replay_of(reader.header, FOLDER / "found.scanlog", REGISTRY, pytest.fail)
    return list(lines(replay, iter(reader)))


# --- scripts --------------------------------------------------------------------------------------------------

STEPS = st.lists(st.builds(Step, st.sampled_from(PAUSES), st.binary(max_size=MOST), st.booleans(), st.booleans()))


@given(st.integers(0, 255), STEPS)
def test_a_script_is_read_as_written(choice: int, steps: list[Step]) -> None:
    """Chunks, pauses, late bytes and losses come back from the bytes that stand for them."""
    assert (choice, steps) == read(written(choice, steps))


@given(st.binary())
def test_any_bytes_are_a_script(data: bytes) -> None:
    """A fuzzer may change any byte: what it makes is a script, with no more bytes than it has."""
    _, steps = read(data)
    assert sum(len(step.chunk) for step in steps) <= len(data)


def test_a_long_chunk_is_cut_and_a_pause_is_the_nearest() -> None:
    """What does not fit into a step goes on in the next at the same time, and is lost after the last of it."""
    step = Step(500_000, b"x" * 300, late=True, lost=True)
    _, (first, second) = read(written(0, [step]))
    assert Step(450_000, b"x" * 255, late=True) == first
    assert Step(0, b"x" * 45, late=True, lost=True) == second
    assert bytes([7, LATE | LOST | PAUSES.index(0), 1]) == written(7, [Step(0, b"x", late=True, lost=True)])[:3]


# --- decoders that break a promise ------------------------------------------------------------------------------


@dataclass
class Lines:
    """A decoder of lines without a fault: those who have one inherit."""

    reports: bool = False
    pending: bytes = b""
    deadline: Micros | None = None
    made: list[Lines] = field(default_factory=list)

    def decoder(self, t: Micros) -> Decoder:
        """A fresh one, as a driver makes it."""
        del t
        return type(self)()

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """A card at each CR."""
        readings = self.tick(t)
        *whole, self.pending = (self.pending + chunk).split(b"\r")
        self.deadline = t + 1_000_000 if self.pending else None
        return readings + [CardRead(code.decode("latin-1"), None, code + b"\r") for code in whole]

    def tick(self, t: Micros) -> list[Reading]:
        """A second of silence ends a line."""
        if self.deadline is None or t < self.deadline:
            return []
        return [BadFrame("partial", self.drop())]

    def finish(self, t: Micros) -> list[Reading]:
        """Drops a half line."""
        readings = self.tick(t)
        self.drop()
        return readings

    def drop(self) -> bytes:
        """Forgets what was pending."""
        half, self.pending, self.deadline = self.pending, b"", None
        return half


class Raises(Lines):
    """Can't take a byte beyond ASCII."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Lines`."""
        chunk.decode("ascii")
        return super().feed(chunk, t)


class Glues(Lines):
    """Takes the last line of a chunk only."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Lines`."""
        return super().feed(chunk, t)[-1:]


class Forgets(Lines):
    """Finds a deadline out late, and then says nothing of it."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Lines`."""
        if self.deadline is not None and self.deadline <= t:
            self.drop()
        return super().feed(chunk, t)


class Stays(Lines):
    """Has the same deadline after it was told of it."""

    def tick(self, t: Micros) -> list[Reading]:
        """See `Lines`."""
        due = self.deadline
        readings = super().tick(t)
        self.deadline = due
        return readings


class Guesses(Lines):
    """Takes half a line for a card when it has waited long enough."""

    def tick(self, t: Micros) -> list[Reading]:
        """See `Lines`."""
        return [CardRead("AS", None, one.raw) for one in super().tick(t) if isinstance(one, BadFrame)]


class GuessesAtLast(Lines):
    """Takes half a line for a card when the device is lost."""

    def finish(self, t: Micros) -> list[Reading]:
        """See `Lines`."""
        return [CardRead("AS", None, b"A"), *super().finish(t)]


class Clings(Lines):
    """Keeps half a line when the device is lost."""

    def finish(self, t: Micros) -> list[Reading]:
        """See `Lines`."""
        return self.tick(t)


class Hoards(Lines):
    """Remembers all it ever made."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Lines`."""
        self.made += [Lines(pending=bytes([byte]) * 100) for byte in chunk]
        return super().feed(chunk, t)


SCRIPT = [
    ACE,
    Step(20_000, b"K"),
    Step(3_200_000, b"KH\r9D\r"),
    Step(0, b"\xff\r"),
    Step(0, b"x"),
    Step(0, b"", lost=True),
    Step(0, b"T"),
]


def test_a_sound_decoder_keeps_its_promises() -> None:
    """A decoder without a fault passes, so that those below fail for theirs."""
    try_decoder(Lines(), SCRIPT, 64)
    try_channel(Lines(), CODES, SCRIPT, in_a_row=True)


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        (Raises(), "ordinal not in range"),
        (Glues(), "byte by byte"),
        (Forgets(), "deadlines found out late"),
        (Stays(), "a deadline that was told is still there"),
        (Guesses(), "silence made a card"),
        (GuessesAtLast(), "the loss of the device made a card"),
        (Clings(), "after `finish` it waits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_decoder_with_a_fault_is_found(driver: Lines, said: str) -> None:
    """Each kind of fault is told: exceptions, cuts, late deadlines, and invented cards."""
    with pytest.raises((BrokenPromiseError, UnicodeDecodeError), match=said):
        try_decoder(driver, SCRIPT, 64)


def test_a_decoder_that_keeps_too_much_is_found() -> None:
    """What is pending is held to the cap, and all that it remembers to its share."""
    with pytest.raises(BrokenPromiseError, match="pending are 65 bytes, over 64"):
        try_decoder(Lines(), [Step(0, b"x" * 65)], 64)
    try_memory(Lines(), SCRIPT)
    with pytest.raises(BrokenPromiseError, match="bytes of memory"):
        try_memory(Hoards(), SCRIPT)


class Stretches(Lines):
    """Says that a card's frame began before it did, with bytes that were read late."""

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """See `Lines`."""
        readings = super().feed(chunk, t)
        return [CardRead(one.code, None, b"---" + one.raw) for one in readings if isinstance(one, CardRead)]


def test_a_card_with_a_late_byte_that_counts_is_found() -> None:
    """A card that counts although some of its bytes were read late is told; a sound decoder has none."""
    late = [Step(0, b"AS\r", late=True), Step(0, b"KH\r"), Step(0, b"9", late=True), Step(0, b"D\r")]
    try_channel(Lines(), CODES, late, in_a_row=True)
    with pytest.raises(BrokenPromiseError, match=r"fresh are .*KH.*, without a late byte {}"):
        try_channel(Stretches(), CODES, late, in_a_row=True)


# --- what is done with it ---------------------------------------------------------------------------------------


class Toy(Target):
    """Breaks at a certain byte."""

    name, about = "toy", "a toy"

    def seeds(self) -> list[bytes]:
        """One."""
        return [b"a"]

    def check(self, data: bytes) -> None:
        """Anything but b."""
        if data == b"b":
            raise BrokenPromiseError("b")

    def kept(self, data: bytes) -> Kept:
        """The input in capitals."""
        return Kept(".txt", data.upper(), "Look at {file}.")


def test_what_is_found_is_written_with_its_input(tmp_path: Path) -> None:
    """The file, the input, what is wrong, and what to do next are told together; the input stands in the log too."""
    artifact = tmp_path / "crash-1"
    artifact.write_bytes(b"b")
    log = "=== Uncaught Python exception: ===\nBrokenPromiseError: b\nTraceback"
    said = Outcome("toy", failed=True, log=log, inputs=7, coverage=3, artifact=artifact).keep(Toy(), tmp_path / "found")
    file, plain = sorted((tmp_path / "found").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (b"B", b"b") == (file.read_bytes(), plain.read_bytes())
    assert [
        "BrokenPromiseError: b",
        "Input: 62",
        f"Written: {file}",
        f"Try it: .venv/bin/python -m fuzz toy --try {plain}",
        f"Look at {file}.",
    ] == said.splitlines()


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel here, or `make fuzz` has not been run")
def test_a_search_ends_with_its_time_and_counts(tmp_path: Path) -> None:
    """A search of a second tries inputs, reaches code, finds nothing, and leaves its log and what it learnt."""
    (outcome,) = run_all([Search("codebook", tmp_path, 1)], 1)
    assert not outcome.failed
    assert outcome.artifact is None
    assert outcome.inputs > 2
    assert outcome.coverage > 10
    assert any((tmp_path / "codebook" / "corpus").iterdir())
    assert "DONE" in (tmp_path / "codebook" / "log").read_text(encoding="utf-8")


def run(*arguments: str) -> tuple[int, str]:
    """The exit code of `python -m fuzz` and all that it says."""
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


def test_the_targets_are_listed() -> None:
    """Every target is there with a word of what is tried."""
    code, said = run("--list")
    assert (0, list(TARGETS)) == (code, [line.split()[0] for line in said.splitlines()])


def test_an_input_is_tried_again(tmp_path: Path) -> None:
    """One input of one target is tried alone; a target that is unknown, or none, is refused with its remedy."""
    given = tmp_path / "one.input"
    given.write_bytes(b'\x00\x00{"id":"c1"}')
    assert (0, f"command: nothing wrong with {given}\n") == run("command", "--try", str(given))
    assert (2, True) == ((told := run("--try", str(given)))[0], "--try goes with one target" in told[1])
    assert (2, True) == ((told := run("lime"))[0], "no target 'lime'; there are angel-eye, " in told[1])


def test_its_help_says_what_becomes_of_it() -> None:
    """The help names the folder of what is found, and the exit code that goes with it."""
    code, said = run("--help")
    assert 0 == code
    assert ".fuzz/found/" in said
    assert "Ends with 1 where something was found" in " ".join(said.split())
