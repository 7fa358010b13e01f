"""A recording's first line: the table, and how its scanners are read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from scannerd.config.settings import Round, table_id


class Header(BaseModel):
    """A recording's first line.

    Attributes:
        scanlog: the version of the format.
        table: the table's id.
        game: the name of the game, whose deal plan is taken.
        recorded_at: the wall clock at `t` 0.
        round: the `[round]` parameters; those left out have their defaults.
        rounds_before: how many rounds the table's journal had seen by then, for the ids that it gives; None: none.
        scanners: each scanner's options as in the configuration, without ports.
        note: free text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scanlog: Literal[1]
    table: Annotated[str, AfterValidator(table_id)]
    game: str
    recorded_at: Annotated[AwareDatetime, Field(lt=datetime(9000, 1, 1, tzinfo=UTC))]
    round: Round = Round()
    rounds_before: Annotated[int, Field(ge=0)] | None = None
    scanners: dict[str, dict[str, object]]
    note: str | None = None
