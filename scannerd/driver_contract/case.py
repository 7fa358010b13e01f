"""The driver under test: what its author says of it, and what the kit makes of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from scannerd.contract import Decoder, Driver, DriverOptions, Micros
from scannerd.registry import Registry, parse_options

AT: Micros = 1_000_000
"""When the kit's decoders are made and fed, unless a test says otherwise."""


class BrokenContractError(AssertionError):
    """A driver does not do what it must. Its author must act."""


def expect(holds: object, otherwise: str) -> None:
    """Goes on if something holds.

    Raises:
        BrokenContractError: it does not.
    """
    if not holds:
        raise BrokenContractError(otherwise)


class DriverCase:
    """What a subclass says of its driver.

    Attributes:
        name: the name of the driver's entry point.
        options: its own keys, as in a `[[scanner]]` stanza.
        frames: at least two codes, each with what the scanner sends for it: bytes, or for a driver of reports a
            sequence of them. All must be read one after the other by one decoder at one time.
        ignored: bytes that may come between frames without a word, such as line ends and padding.
        cap: the longest `pending` in bytes.
        keeps: how many bytes of memory a decoder may come to hold beyond those of a fresh one.
    """

    name: ClassVar[str]
    options: ClassVar[Mapping[str, object]] = {}
    frames: ClassVar[Mapping[str, bytes | Sequence[bytes]]]
    ignored: ClassVar[bytes] = b""
    cap: ClassVar[int] = 4096
    keeps: ClassVar[int] = 32 * 1024

    def load(self) -> type[Driver[DriverOptions]]:
        """The driver's class, found as the daemon finds it."""
        return Registry().load(self.name)

    @cached_property
    def driver(self) -> Driver[DriverOptions]:
        """The driver with its options."""
        found = self.load()
        return found(parse_options(found, self.options))

    def decoder(self) -> Decoder:
        """A fresh decoder of a device that was opened long ago."""
        return self.driver.decoder(0)

    @property
    def reports(self) -> bool:
        """Whether the driver gets one report a chunk."""
        return self.driver.reports

    def chunks(self, code: str) -> list[bytes]:
        """What the transport delivers for a code: its reports, or all in one."""
        sent = self.frames[code]
        return [sent] if isinstance(sent, bytes) else list(sent)

    def halves(self) -> list[list[bytes]]:
        """Every beginning of every frame, as chunks: of reports fewer of them, of bytes fewer bytes."""
        made = []
        for code in self.frames:
            whole = self.chunks(code)
            if self.reports:
                made += [whole[:count] for count in range(1, len(whole))]
            else:
                made += [[whole[0][:length]] for length in range(1, len(whole[0]))]
        return made

    def may_be_ignored(self, chunks: Sequence[bytes]) -> bool:
        """Whether these bytes may come without a word."""
        return set(b"".join(chunks)) <= set(self.ignored)
