"""Lengths of time on the command line: 90s, 10m, 1h30m."""

from __future__ import annotations

import re
from datetime import timedelta

import click

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d+){unit})?" for unit in _UNITS))
_LONGEST_S = 86_400 * 366 * 100


def duration(context: click.Context, option: click.Parameter, text: str | None) -> timedelta | None:
    """The callback of an option.

    Raises:
        click.BadParameter: it is no length of time, or none at all.
    """
    if text is None:
        return None
    parts = _DURATION.fullmatch(text)
    given = {} if parts is None else {unit: int(count) for unit, count in parts.groupdict().items() if count}
    long = sum(count * _UNITS[unit] for unit, count in given.items())
    if not 0 < long <= _LONGEST_S:
        raise click.BadParameter(f"{text!r} is no length of time, such as 90s, 10m or 1h30m", context, option)
    return timedelta(seconds=long)
