"""Our recordings, each played once: what they hold and what the table made of it, for tests of the corpus.

`python -m tests.corpus` writes the index in `tests/recordings/README.md` anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from scannerd.commands import Answer, Repeated, Replies, examine
from scannerd.core import decisions as d
from scannerd.core.prompts import Prompt, prompt
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Taken, seconds
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Header, Order, reading

FOLDER = Path(__file__).parent / "recordings"
RECORDINGS = sorted(FOLDER.glob("*.scanlog"))
REGISTRY = Registry()

README = FOLDER / "README.md"
_BEGIN, _END = "<!-- index -->\n", "<!-- /index -->"


@dataclass(frozen=True)
class Played:
    """A recording and what came of it.

    Attributes:
        entries: its lines after the header.
        taken: each decision, with the event and the states around it.
        prompts: every prompt that was shown.
        replies: the commands that were not carried out, as a line of `*.replies.jsonl` tells each.
    """

    recording: Path
    header: Header
    entries: tuple[Entry, ...]
    taken: tuple[Taken, ...]
    prompts: tuple[Prompt, ...]
    replies: tuple[dict[str, object], ...]

    @property
    def told(self) -> Iterator[d.Decision]:
        """Every decision, those that are no event included."""
        return (decision for taken in self.taken for decision in taken.told)


@cache
def corpus() -> tuple[Played, ...]:
    """All recordings, played."""
    return tuple(map(play, RECORDINGS))


def play(recording: Path) -> Played:
    """Plays a recording as `scannerd replay` does, and notes what a replay does not print."""
    with reading(recording, _quiet) as reader:
        replay = replay_of(reader.header, recording, REGISTRY, _quiet)
        shown, desk = [prompt(replay.state)], _Desk(reader.header)
        taken = []
        for one in replay.play(desk.passing(iter(reader))):
            taken.append(one)
            shown.append(prompt(one.after))
            desk.judged(one)
    return Played(recording, reader.header, tuple(desk.entries), tuple(taken), tuple(shown), tuple(desk.replies))


def with_index(readme: str) -> str:
    """The text of the folder's README with the index as it must be: each recording and its note."""
    before, begin, rest = readme.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    rows = "".join(f"| `{path.stem}` | {note(path).replace('|', '&#124;')} |\n" for path in RECORDINGS)
    return f"{before}{begin}| recording | what it shows |\n| --- | --- |\n{rows}{end}{after}"


def note(recording: Path) -> str:
    """What a recording's header says of it; empty where it says nothing."""
    with reading(recording, _quiet) as reader:
        return reader.header.note or ""


def _quiet(text: str) -> None:
    """Leaves warnings to the test that wants none."""
    del text


class _Desk:
    """Notes the answers to commands that are no event: refusals, and repetitions of an id."""

    def __init__(self, header: Header) -> None:
        self.entries: list[Entry] = []
        self.replies: list[dict[str, object]] = []
        self._recorded_at = header.recorded_at
        self._past = Replies()
        self._order = Order(0, "", {})

    def passing(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        """The same entries; a command is examined as it passes."""
        for entry in entries:
            self.entries.append(entry)
            if isinstance(entry, Order):
                self._order = entry
                self._examine(entry)
            yield entry

    def judged(self, taken: Taken) -> None:
        """Notes what the core refused."""
        for decision in taken.told:
            if isinstance(decision, d.Refused):
                self._note(error=decision.error)

    def _examine(self, order: Order) -> None:
        wall = self._recorded_at + timedelta(microseconds=order.t)
        verdict = examine(order.name, order.args, at=order.t, wall=wall, replies=self._past)
        if isinstance(verdict, Repeated):
            self._note(repeated=True)
        elif isinstance(verdict, Answer):
            self._note(error=verdict.error)
        command_id = order.args.get("id")
        if isinstance(command_id, str) and not (isinstance(verdict, Answer) and verdict.id is None):
            self._past.keep(command_id, b"")

    def _note(self, **said: object) -> None:
        order = self._order
        self.replies.append({"t": seconds(order.t), "command": order.name, "id": order.args.get("id"), **said})


if __name__ == "__main__":
    README.write_text(with_index(README.read_text(encoding="utf-8")), encoding="utf-8")
