"""What every test shares: no example is too slow for a machine that is, Ctrl-C works, and fault marks name a row."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Started behind a shell's `&`, the suite ignores Ctrl-C, and so would every process that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a mark `fault` without exactly one number, which would claim a row that nobody can look up.

    Raises:
        pytest.UsageError: a mark names no row.
    """
    for item in items:
        for mark in item.iter_markers("fault"):
            if len(mark.args) != 1 or not isinstance(mark.args[0], int) or mark.kwargs:
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.fault takes one row number")
