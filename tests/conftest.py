"""What every test shares: nothing but the check that fault marks name a row."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a mark `fault` without exactly one number, which would claim a row that nobody can look up.

    Raises:
        pytest.UsageError: a mark names no row.
    """
    for item in items:
        for mark in item.iter_markers("fault"):
            if len(mark.args) != 1 or not isinstance(mark.args[0], int) or mark.kwargs:
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.fault takes one row number")
