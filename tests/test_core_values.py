"""What the core is told and what it says are values."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError
from typing import get_args

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.games import Plan, Slot
from scannerd.core.prompts import Prompt
from scannerd.core.state import Rules, Setup

VALUES = (*get_args(e.Event), *get_args(d.Decision), Slot, Plan, Prompt, Rules, Setup)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_a_value_never_changes(value: type) -> None:
    """Nobody can change or widen what the core was told, said or is set up with."""
    made: object = object.__new__(value)
    first = next(iter(inspect.signature(value).parameters))
    with pytest.raises(FrozenInstanceError):
        setattr(made, first, 1)
    assert not hasattr(made, "__dict__")
