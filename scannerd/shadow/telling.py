"""What a person, or a program, reads of a shadow: each round that was decided otherwise, and the sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from scannerd.recording.replay import seconds
from scannerd.shadow.rounds import Difference
from scannerd.shadow.running import Finding
from scannerd.shadow.sides import Told
from scannerd.verify.describing import counted

SHOWN = 6
"""How many differences of a round are told in words; what is behind them is counted."""

_BYTES_SHOWN = 64
_LEFT_OUT = ("hand", "index", "game", "plan")
"""What a slot, or the configuration, says already."""


@dataclass
class Sum:
    """What was seen so far.

    Attributes:
        rounds: how many rounds the live table opened.
        different: in how many of them the new table would have decided otherwise.
        differences: how often; those behind the first of a round may be its consequences.
        between: how many of the differences came before a recording's first round.
    """

    rounds: int = 0
    different: int = 0
    differences: int = 0
    between: int = 0

    def add(self, finding: Finding) -> None:
        """Counts a round, or what came before the first one."""
        count = len(finding.compared.differences) + finding.compared.more
        self.differences += count
        if finding.compared.round is None:
            self.between += count
        else:
            self.rounds += finding.compared.rounds
            self.different += bool(count)

    @property
    def line(self) -> str:
        """In words."""
        seen = counted(self.rounds, "round")
        said = f"{seen} seen, {self.rounds - self.different} the same, {self.different} different"
        return f"{said}; {counted(self.differences, 'difference')}"

    @property
    def fields(self) -> dict[str, object]:
        """For a program."""
        same = self.rounds - self.different
        return {
            "rounds": self.rounds,
            "same": same,
            "different": self.different,
            "differences": self.differences,
            "before_first_round": self.between,
        }


def words(finding: Finding) -> Iterator[str]:
    """A round that differs, line by line."""
    compared = finding.compared
    name = "before the first round" if compared.round is None else f"round {compared.round}"
    yield f"{name}, {_utc(finding.opened_at)}: decided otherwise"
    for number, difference in enumerate(islice(compared.differences, SHOWN)):
        yield from _difference(difference, first=number == 0)
    left = max(0, len(compared.differences) - SHOWN) + compared.more
    if left:
        yield f"  and {left} more, which may follow from the first"


def fields(finding: Finding) -> dict[str, object]:
    """A round that differs, for a program."""
    compared = finding.compared
    return {
        "round": compared.round,
        "opened_at": _utc(finding.opened_at),
        "differences": [_fields(one, finding.recorded_at) for one in compared.differences],
        "more": compared.more,
    }


def _difference(difference: Difference, *, first: bool) -> Iterator[str]:
    told = difference.first
    where = f"{told.place.recording.name}:{told.place.line}"
    seen = f'  "{_readable(difference.raw)}"' if difference.raw else ""
    yield f"  {'' if first else 'then '}{difference.slot or '--'}  t {seconds(told.at)}{seen}  {where}"
    yield from _side("live", difference.live)
    yield from _side("new ", difference.new)


def _side(name: str, told: Iterable[Told]) -> Iterator[str]:
    said = [_event(one) for one in told]
    for one in said or ["nothing"]:
        yield f"    {name}  {one}"


def _event(one: Told) -> str:
    parts = [
        f"{key} {_value(value)}" for key, value in one.decided.items() if value is not None and key not in _LEFT_OUT
    ]
    return f"{', '.join([one.told.TYPE, *parts])}  (rule {one.rule.name})"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{hand}: {_value(cards)}" for hand, cards in value.items())
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _readable(raw: bytes) -> str:
    """Bytes as text where they are, as hex where they are not."""
    shown = raw[:_BYTES_SHOWN]
    printable = all(0x20 <= byte < 0x7F or byte in b"\r\n\t" for byte in shown)  # noqa: PLR2004 - ASCII's printable range
    text = (
        shown.decode("ascii").replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
        if printable
        else shown.hex()
    )
    return f"{text}…" if len(raw) > _BYTES_SHOWN else text


def _fields(difference: Difference, began: datetime) -> dict[str, object]:
    told = difference.first
    return {
        "recording": str(told.place.recording),
        "line": told.place.line,
        "t": seconds(told.at),
        "at": _utc(began + timedelta(microseconds=told.at)),
        "slot": difference.slot,
        "raw_hex": difference.raw.hex() or None,
        "live": [_decided(one) for one in difference.live],
        "new": [_decided(one) for one in difference.new],
    }


def _decided(one: Told) -> dict[str, object]:
    return {"type": one.told.TYPE, "data": one.decided, "rule": one.rule.name}


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
