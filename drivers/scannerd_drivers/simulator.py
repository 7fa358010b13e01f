"""`simulator`: a scanner that is not there, dealing by itself, with faults at chosen rates.

It makes the bytes of another driver's device in real time, and that driver reads them, so that all above it is as with
the real thing. `url` says nothing here; any word will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from scannerd.contract import Decoder, Driver, DriverOptions, Micros
from scannerd.scanlog import Entry
from scannerd_drivers import installed
from scannerd_drivers.dealing import Dealer, Rates
from scannerd_drivers.formats import DRIVER_OPTIONS, FORMATS, SPELLINGS, Spelling, spelled
from scannerd_drivers.pacing import Pace, PacedTransport, RealPace

Rate = Annotated[float, Field(ge=0, le=1)]
"""How likely something is, 0 to 1."""


class SimulatorOptions(DriverOptions):
    """Options of `simulator`."""

    format: Literal["angel-eye", "bee-tek", "hid-keyboard", "hid-pos", "line", "rfid-serial", "ssi", "usb-bulk"] = (
        "line"
    )
    """The driver whose device is simulated. `rfid-serial` needs the codebook that `scannerd simulate` writes."""

    seed: int = 1
    """The same seed gives the same deals."""

    rounds: int = Field(default=0, ge=0)
    """How many rounds are dealt; 0: without end."""

    cards: int = Field(default=6, ge=1, le=52)
    """How many cards a round has."""

    card_ms: int = Field(default=1_500, ge=400, le=3_600_000)
    """From card to card on average, in ms."""

    misread: Rate = 0.0
    """How often a card does not read, 0 to 1."""

    duplicate: Rate = 0.0
    """How often an earlier card of the round is scanned instead, 0 to 1."""

    bounce: Rate = 0.0
    """How often a card is read twice at once, 0 to 1."""

    multi_read: Rate = 0.0
    """How often the next card is read with a card, 0 to 1."""

    extra: Rate = 0.0
    """How often one more card is scanned after a round, 0 to 1."""

    unplug: Rate = 0.0
    """How often the scanner is lost in the middle of a card and comes back, 0 to 1."""


class SimulatorDriver(Driver[SimulatorOptions]):
    """A scanner that deals by itself."""

    name = "simulator"
    summary = "a simulated scanner of any kind that deals by itself, with faults at chosen rates"
    Options = SimulatorOptions
    reports = True  # what it delivers may be reports, so nothing is split

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder of the driver whose device is simulated."""
        options = self.options
        return installed.driver(options.format, DRIVER_OPTIONS.get(options.format, {})).decoder(t)

    def transport(self, url: str, pace: Pace | None = None) -> PacedTransport:
        """The simulated device; `url` names nothing."""
        del url
        return PacedTransport(self.entries("simulator"), pace or RealPace())

    def stanza(self) -> dict[str, object]:
        """The keys under which a recording's header names the simulated scanner."""
        return {"driver": self.options.format, **DRIVER_OPTIONS.get(self.options.format, {})}

    def entries(self, scanner: str, spell: Spelling | None = None) -> Iterator[Entry]:
        """What happens at the table, as a recording holds it, each round begun by the command `open`.

        Args:
            scanner: the scanner's name.
            spell: the code of each card; by default rank and suit, and for `rfid-serial` a tag of its own.
        """
        options = self.options
        form = FORMATS[options.format](spell or SPELLINGS.get(options.format, spelled))
        rates = Rates(
            options.misread, options.duplicate, options.bounce, options.multi_read, options.extra, options.unplug
        )
        dealer = Dealer(scanner, form, rates, seed=options.seed, card_ms=options.card_ms, cards=options.cards)
        return dealer.entries(options.rounds)

    def spelling(self) -> Spelling:
        """The code of each card unless `entries` is told otherwise."""
        return SPELLINGS.get(self.options.format, spelled)
