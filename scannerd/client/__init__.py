"""What an engine in Python uses to follow a table: every event once, in order, with nothing missing.

    from pathlib import Path
    from scannerd.client import BrokerSettings, Client, Missing, NewJournal, TableEvent

    broker = BrokerSettings(("mqtt://127.0.0.1:1883",), root="scannerd", table="tp-01", client_id="engine-tp-01")
    with Client(broker, keep=Path("/var/lib/engine/tp-01.json")) as table:
        print(table.command("open", id="open-r-9", round="r-9"))    # the same id again gets the same answer
        for item in table.events():
            match item:
                case TableEvent(type="card_accepted"):
                    print(item.seq, item.data["slot"], item.data["card"])
                case NewJournal():
                    print("the table began a new journal; numbers start at 1 again")
                case Missing():
                    print("never to be had:", item.first, "to", item.last)

An item is done when the next one is asked for (or the callback has returned): only then the file `keep` moves on. After
a crash in between, that one item is told again. Who keeps `item.position` in the same transaction as what it made of
the item is told each exactly once: hand the position in as `start`.
"""

from __future__ import annotations

from scannerd.client.errors import BrokerAway, ChainBroken, ClientError, NoReply, PositionUnusable
from scannerd.client.events import BEGINNING, Broken, Gap, Item, Missing, NewJournal, Position, TableEvent, read_event
from scannerd.client.positions import PositionFile
from scannerd.client.sequencer import Sequencer
from scannerd.client.table import Client, Commander
from scannerd.commands import Answer
from scannerd.mqtt.notices import BrokerSettings

__all__ = [
    "BEGINNING",
    "Answer",
    "Broken",
    "BrokerAway",
    "BrokerSettings",
    "ChainBroken",
    "Client",
    "ClientError",
    "Commander",
    "Gap",
    "Item",
    "Missing",
    "NewJournal",
    "NoReply",
    "Position",
    "PositionFile",
    "PositionUnusable",
    "Sequencer",
    "TableEvent",
    "read_event",
]
