"""Trouble that a consumer's owner must act on."""

from __future__ import annotations

from scannerd.errors import UsageError


class ClientError(UsageError):
    """The table can't be followed or commanded as things are; each kind says who must act."""


class BrokerAway(ClientError):  # noqa: N818 - the state of things, not a fault of ours
    """No broker took us within the bound, or it refused what we need. Whoever runs it, or named it, must act."""


class NoReply(ClientError):  # noqa: N818 - the state of things, not a fault of ours
    """The daemon did not answer in time. The command may have been carried out: repeat it with the same id to know."""


class ChainBroken(ClientError):  # noqa: N818 - names what was found
    """An event does not follow from the one before it. Whoever answers for the table must look at its journal."""


class PositionUnusable(ClientError):  # noqa: N818 - names the file that can't be used
    """The file with the position is damaged or another table's. Whoever owns it must mend it; nothing is guessed."""
