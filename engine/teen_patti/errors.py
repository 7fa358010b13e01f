"""Trouble that ends the engine: somebody must act, and the class says who. Exit codes are those of `scannerd`."""

from __future__ import annotations

from typing import ClassVar

USAGE, RUNNING, DAMAGED, INTERNAL = 2, 3, 4, 5
"""How the process ends: a file or option can't be used, another runs, what was kept can't be trusted, anything else."""


class EngineError(Exception):
    """The engine can't go on. Whoever started it must act.

    Attributes:
        exit_code: how the process ends.
    """

    exit_code: ClassVar[int] = INTERNAL


class StateUnusable(EngineError):  # noqa: N818 - the state of things, not a fault of ours
    """The state file can't be opened, or is another table's. Whoever named it must name another."""

    exit_code = USAGE


class StateLocked(EngineError):  # noqa: N818 - the state of things, not a fault of ours
    """Another engine runs with this state file. Whoever started this one must stop the other first."""

    exit_code = RUNNING


class StateDamaged(EngineError):  # noqa: N818 - names what was found
    """The state file is no state. Whoever runs the engine must restore it: balances stand in it, nothing is guessed."""

    exit_code = DAMAGED


class StateNotWritten(EngineError):  # noqa: N818 - names what happened
    """The disk did not take the state. Whoever runs the machine must act; what was not written was not done either."""
