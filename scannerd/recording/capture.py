"""What a running daemon records: bytes, opens, losses, commands and the broker's state, as a recording replays them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from scannerd.codebooks import BUILT_IN
from scannerd.commands import parse
from scannerd.config.settings import Config, Scanner
from scannerd.core.state import State
from scannerd.inbox import Letter
from scannerd.mqtt.notices import CommandReceived, Connected, Disconnected
from scannerd.readers import Recorded
from scannerd.recording.recorder import Recorder, Target
from scannerd.scanlog import Broker, End, Header, Order


class Capture:
    """Listens where the inbox is fed, and hands on what it hears.

    A recording begins with every scanner and the broker up; where one is known not to be, each file says so first.
    """

    def __init__(self, config: Config, target: Target, clock: Callable[[], int], rounds: int = 0) -> None:
        """Opens nothing yet.

        Args:
            config: the table's.
            target: where to record.
            clock: the monotonic one, microseconds.
            rounds: how many rounds the journal has seen.
        """
        self._clock = clock
        self._recorder = Recorder(header(config, rounds), target, clock, {"": Broker(0, up=False)})

    def start(self) -> None:
        """Begins the recording.

        Raises:
            UsageError: the one file that was asked for can't be made.
        """
        self._recorder.start()

    def scanner(self, recorded: Recorded) -> None:
        """Takes what a reader read, wrote, opened or lost."""
        self._recorder.write(recorded)

    def tapped(self, post: Callable[[Letter], None]) -> Callable[[Letter], None]:
        """A `post` that records commands and the broker on their way."""

        def recorded(letter: Letter) -> None:
            if isinstance(letter, CommandReceived):
                self._command(letter)
            elif isinstance(letter, Connected | Disconnected):
                self._recorder.write(Broker(letter.at, isinstance(letter, Connected)))
            post(letter)

        return recorded

    def pause(self, state: State) -> None:
        """A full file may be closed where the next begins as a replay does: no round is dealt, nor just ended."""
        if state.phase in {"idle", "complete"} and not state.within_gap(self._clock()):
            self._recorder.pause(state.rounds)

    def stop(self) -> None:
        """Ends the recording."""
        self._recorder.write(End(self._clock()))
        self._recorder.stop()

    def _command(self, received: CommandReceived) -> None:
        """A retained command is never carried out, and one that can't be read is nothing a recording could hold."""
        fields = None if received.oversized or received.retain else parse(received.payload)
        if fields is not None:
            self._recorder.write(Order(received.at, received.name, fields))


def header(config: Config, rounds: int = 0) -> Header:
    """The header of a recording of this table; `rounds` is how many its journal has seen."""
    return Header(
        scanlog=1,
        table=config.table.id,
        game=config.table.game,
        recorded_at=datetime.now(UTC),
        round=config.round,
        rounds_before=rounds or None,
        scanners={scanner.name: _options(scanner, config.path.parent) for scanner in config.scanners},
    )


def _options(scanner: Scanner, beside: Path) -> dict[str, object]:
    """A scanner's options as in the configuration, without its port; a codebook's file is found from anywhere."""
    codes = scanner.codes if scanner.codes in BUILT_IN else str(beside / scanner.codes)
    own: dict[str, object] = {"driver": scanner.driver, "codes": codes}
    if scanner.hand is not None:
        own["hand"] = scanner.hand
    return own | scanner.options.model_dump(mode="json", exclude_defaults=True)
