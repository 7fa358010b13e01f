"""`pytest --scanlogs DIR`: a test for each recording, beside a studio's own tests.

An item's node id is `DIR/x.scanlog::x`; `-k` fits its name, the names of its folders, its drivers and its game. What is
imported here is imported by every run of pytest on the machine: the rest is imported when a recording is collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scannerd.verify.outcome import Outcome

_OPTION = "--scanlogs"
_RECORDING = ".scanlog"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--scanlogs`."""
    parser.getgroup("scannerd").addoption(
        _OPTION,
        action="append",
        default=[],
        metavar="DIR",
        help="Replay the recordings in this folder, each a test, and compare them with the expected files beside them; "
        "may be given several times.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Adds the folders to what is collected, but for those of which something is named already.

    Raises:
        pytest.UsageError: a folder is not there, or has no recording.
    """
    named = [_absolute(config, _file_of(argument)) for argument in config.args]
    for folder in _folders(config):
        if not folder.exists():
            raise pytest.UsageError(f"{_OPTION} {folder}: no such file or folder")
        if folder.is_dir() and not any(folder.rglob(f"*{_RECORDING}")):
            raise pytest.UsageError(f"{_OPTION} {folder}: no recording ({_RECORDING}) in it")
        if not any(one.is_relative_to(folder) for one in named):
            config.args.append(str(folder))
            named.append(folder)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RecordingFile | None:
    """A recording below one of the folders; elsewhere they are none of pytest's business."""
    if file_path.suffix != _RECORDING:
        return None
    if not any(file_path.is_relative_to(folder) for folder in _folders(parent.config)):
        return None
    return RecordingFile.from_parent(parent, path=file_path)


class NotAsExpected(Exception):  # noqa: N818 - the recording's verdict, no fault of the test
    """A recording differs from what is expected of it, or can't be used. Whoever changed either must look."""

    def __init__(self, outcome: Outcome) -> None:
        """Takes what came of it."""
        super().__init__(str(outcome.recording))
        self.outcome = outcome


class RecordingFile(pytest.File):
    """A recording, which is one test."""

    def collect(self) -> Iterator[RecordingItem]:
        """The test."""
        yield RecordingItem.from_parent(self, name=self.path.stem)


class RecordingItem(pytest.Item):
    """The test that a recording gives what is expected of it."""

    def __init__(self, name: str, parent: RecordingFile) -> None:
        """Reads the header, for `-k`."""
        super().__init__(name, parent)
        self.extra_keyword_matches.update(_known_by(self.path))

    def runtest(self) -> None:
        """Replays it.

        Raises:
            NotAsExpected: it differs, or can't be used.
        """
        from scannerd.verify.outcome import Wish  # noqa: PLC0415 - see the module's docstring
        from scannerd.verify.verifying import verify  # noqa: PLC0415 - the same

        outcome = verify(self.path, wish=Wish(explain=True))
        if outcome.warnings:
            self.add_report_section("call", "warnings", "\n".join(outcome.warnings))
        if outcome.error is not None or outcome.differences:
            raise NotAsExpected(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]  # text is shown as it is
        """The differences and how the first came about; a traceback says nothing of a recording."""
        if not isinstance(excinfo.value, NotAsExpected):
            return str(super().repr_failure(excinfo))
        outcome = excinfo.value.outcome
        if outcome.error is not None:
            return outcome.error
        again = f"as it should be now? scannerd verify --update {self.path}"
        return "\n".join([*outcome.differences, *filter(None, [outcome.explanation]), again])

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it lies, and what its headline is."""
        return self.path, 0, f"recording {self.name}"


def _folders(config: pytest.Config) -> list[Path]:
    given: list[str] = config.getoption(_OPTION)
    return [_absolute(config, folder) for folder in given]


def _absolute(config: pytest.Config, path: str) -> Path:
    """As pytest does: without dots, and links by their own name."""
    return Path(os.path.abspath(config.invocation_params.dir / path))  # noqa: PTH100 - `resolve` would follow links


def _file_of(argument: str) -> str:
    """Of a node id its file."""
    return argument.partition("::")[0]


def _known_by(recording: Path) -> set[str]:
    from scannerd.verify.choosing import drivers_of, header_of  # noqa: PLC0415 - see the module's docstring

    header = header_of(recording)
    return set() if header is None else {*drivers_of(header), header.game}
