"""The engine's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.client import Position
from teen_patti.errors import EngineError, StateDamaged, StateLocked, StateUnusable
from teen_patti.keeping import Keeper, Kept
from teen_patti.state import State
from tests.engine_play import Play


def test_state_and_position_come_back_as_they_were(tmp_path: Path) -> None:
    """State, position and result are read back equal, and nothing is left beside the file but its lock."""
    play = Play()
    play.open()
    play.bet("player_a", "100.00")
    kept = Kept(play.state, Position("j-2", 7, "h", ("j-1",)), '{"round":"r-1"}')
    with Keeper(tmp_path / "engine.json") as keeper:
        assert None is keeper.load("tp-01")
        keeper.save(kept)
        assert kept == keeper.load("tp-01")
    assert ["engine.json", "engine.json.lock"] == sorted(path.name for path in tmp_path.iterdir())


def test_second_engine_is_kept_out(tmp_path: Path) -> None:
    """While one engine has the file no other may; afterwards it may."""
    with Keeper(tmp_path / "engine.json"), pytest.raises(StateLocked, match="another engine"):
        Keeper(tmp_path / "engine.json")
    with Keeper(tmp_path / "engine.json") as keeper:
        assert None is keeper.load("tp-01")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"state":{"table":"tp-01"},"position":{"journal":null,"seq":"x"}}'])
def test_damaged_file_is_never_guessed(tmp_path: Path, content: bytes) -> None:
    """A file that is no state is refused: balances stand in it, and the engine never silently begins anew."""
    path = tmp_path / "engine.json"
    path.write_bytes(content)
    with Keeper(path) as keeper, pytest.raises(StateDamaged, match="restore it"):
        keeper.load("tp-01")


def test_file_of_another_table_is_refused(tmp_path: Path) -> None:
    """An engine does not go on with the balances of another table."""
    with Keeper(tmp_path / "engine.json") as keeper:
        keeper.save(Kept(State("tp-02"), Position(None, 0)))
        with pytest.raises(StateUnusable, match="is the state at table tp-02, not tp-01"):
            keeper.load("tp-01")


def test_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A folder that is not there, and a file that can't be read, are told with their names."""
    with pytest.raises(StateUnusable, match=r"none/engine\.json: can't be used"):
        Keeper(tmp_path / "none" / "engine.json")
    (tmp_path / "folder").mkdir()
    with Keeper(tmp_path / "folder") as keeper, pytest.raises(StateUnusable, match="can't be read"):
        keeper.load("tp-01")


def test_each_trouble_has_its_exit_code() -> None:
    """Trouble ends the process as it ends `scannerd`: 2 usage, 3 another runs, 4 damaged, 5 anything else."""
    assert [2, 3, 4, 5] == [kind.exit_code for kind in (StateUnusable, StateLocked, StateDamaged, EngineError)]
