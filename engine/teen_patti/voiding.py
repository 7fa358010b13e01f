"""The supervisor voids the round in the engine's file, while no engine runs with it.

A round that the engine doubts (events are missing, the table has a new journal) waits for its void. As long as the
table knows the round, a void at the table is the way; where it does not any more, this is.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from teen_patti.bets import Limits
from teen_patti.errors import StateUnusable
from teen_patti.keeping import Keeper, Kept
from teen_patti.messages import InputRefused, VoidRound
from teen_patti.round import step
from teen_patti.running import told
from teen_patti.state import Round
from teen_patti.terms import Texts


class NotVoided(StateUnusable):
    """There is no round to void, or it is settled. Whoever wanted it must look at what the file says."""


def void(path: Path, table: str, asked: VoidRound, words: Texts) -> Round:
    """Returns all bets of the round in play; the engine publishes it when it is started again.

    Raises:
        NotVoided: there is none, it has ended, or there is no file.
        EngineError: an engine runs with the file, or it can't be used.
    """
    with Keeper(path) as keeper:
        kept = keeper.load(table)
        if kept is None:
            raise NotVoided(f"{path}: there is no such file")
        state, effects = step(kept.state, asked, Limits())
        for effect in effects:
            if isinstance(effect, InputRefused):
                raise NotVoided(f"{path}: not voided: {effect.reason}")
        ((current, message),) = told(state, effects, words)
        keeper.save(Kept(state, kept.position, message))
    return current


def asked(at: datetime, by: str, reason: str) -> VoidRound:
    """The supervisor's wish."""
    return VoidRound(at, f"void-{at:%Y%m%d-%H%M%S}", by, reason)
