"""The log: one event a line on stderr, with keys; for people on a terminal, as JSON anywhere else.

Under systemd each line begins with `<N>`, the syslog priority (sd-daemon(3)), so that `journalctl -p warning` works.
A value whose key speaks of a secret is never written.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from types import MappingProxyType
from typing import TextIO, TypeAlias, cast

import structlog

from scannerd.redaction import HIDDEN, cleaned, is_secret

Fields: TypeAlias = MutableMapping[str, object]
"""A line of the log before it is written."""

_PRIORITY = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}
_USUAL = 6


def configure(
    level: str = "info",
    *,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
    always: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Sets up the log of this process; may be called again.

    Args:
        level: the least that is written: debug, info, warning, error.
        stream: where to, by default stderr.
        environ: `JOURNAL_STREAM` tells that the stream is systemd's journal.
        always: keys that each line of this process has, whichever thread writes it.

    Raises:
        ValueError: an unknown level.
    """
    out = sys.stderr if stream is None else stream
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _adding(always),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            hide_secrets,
            structlog.processors.format_exc_info,
            *_renderers(out, environ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", Lasting(out))),  # it writes and flushes
        cache_logger_on_first_use=False,
    )


class Lasting:
    """A stream for the log: a line that can't be written is lost, and stops nobody who had something to say."""

    def __init__(self, stream: TextIO) -> None:
        """Writes to `stream` where that is possible."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written; the disk may be full, or the reader gone."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes what can be flushed."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger whose lines carry `part`: the part of the daemon that speaks."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(part=name)
    return logger


def _adding(always: Mapping[str, object]) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, fields: Fields) -> Fields:
        return {**always, **fields}

    return add


def hide_secrets(_logger: object, _method: str, fields: Fields) -> Fields:
    """Puts `[hidden]` for each value, at any depth, whose key speaks of a secret, and before the host of each URL."""
    return {key: HIDDEN if is_secret(key) else cleaned(value) for key, value in fields.items()}


def with_priority(_logger: object, _method: str, fields: Fields) -> str:
    """JSON behind the syslog priority of its level."""
    text = str(structlog.processors.JSONRenderer(ensure_ascii=False)(_logger, _method, fields))
    return f"<{_PRIORITY.get(str(fields.get('level')), _USUAL)}>{text}"


def _renderers(out: TextIO, environ: Mapping[str, str]) -> list[structlog.typing.Processor]:
    if _is_journal(out, environ):
        return [with_priority]
    if out.isatty():
        return [structlog.dev.ConsoleRenderer(colors="NO_COLOR" not in environ)]
    return [structlog.processors.JSONRenderer(ensure_ascii=False)]


def _is_journal(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `out` is the stream that systemd opened: JOURNAL_STREAM, device:inode, is inherited even by shells."""
    try:
        status = os.fstat(out.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _number(level: str) -> int:
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"expected a level: debug, info, warning or error, found {level!r}")
    return number
