"""A capture read as it is written: the end that is none, the next file, and files that are nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scannerd.errors import UsageError
from scannerd.scanlog import Chunk
from scannerd.shadow.following import Captures, followed
from tests.small_recordings import read, write

FIRST, SECOND, THIRD = (f"tp-01-20261130T0{hour}0000000000Z.scanlog" for hour in range(3))


class Waiting:
    """Stands in for the time: at each wait the next thing happens; after the last one it was waited for long enough."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self._happenings = iter(happenings)

    def __call__(self) -> bool:
        """The next thing happens."""
        happening = next(self._happenings, None)
        if happening is not None:
            happening()
        return happening is not None


def codes(folder: Path, wait: Callable[[], bool], warn: Callable[[str], None] = pytest.fail) -> Iterator[str]:
    """The codes of all recordings that are followed."""
    for _, reader in followed(Captures(folder, "tp-01"), wait, warn):
        yield from (entry.data.decode().strip() for entry in reader if isinstance(entry, Chunk))


def appended(path: Path, text: str) -> None:
    """Writes on."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def line(t: float, code: str) -> str:
    """An entry as it is written."""
    return f'{{"t":{t},"scanner":"desk","rx":"{code}\\r\\n"}}\n'


def test_what_is_written_later_is_read(tmp_path: Path) -> None:
    """At the end of a file that grows reading waits, also in the midst of a line."""
    path = write(tmp_path / FIRST, read(1, "AS"))
    half, rest = line(2, "KH")[:20], line(2, "KH")[20:]
    wait = Waiting(lambda: appended(path, half), lambda: appended(path, rest), lambda: appended(path, line(3, "2C")))
    assert ["AS", "KH", "2C"] == list(codes(tmp_path, wait))


def test_the_newest_file_is_followed_by_the_next(tmp_path: Path) -> None:
    """Reading begins with the newest file, and goes on in the next one when that is there, and in all after it."""
    write(tmp_path / FIRST, read(1, "AS"))
    write(tmp_path / SECOND, read(1, "KH"))

    def rotate() -> None:
        appended(tmp_path / SECOND, line(2, "2C"))
        write(tmp_path / THIRD, read(1, "3D"))
        write(tmp_path / THIRD.replace("T02", "T03"), read(1, "4S"))

    assert ["KH", "2C", "3D", "4S"] == list(codes(tmp_path, Waiting(rotate)))


def test_the_first_file_is_waited_for(tmp_path: Path) -> None:
    """Where nothing was recorded yet, the first recording is waited for, as long as anything is."""
    assert [] == list(codes(tmp_path, Waiting(lambda: None)))
    assert ["AS"] == list(codes(tmp_path, Waiting(lambda: write(tmp_path / FIRST, read(1, "AS")))))


def test_other_files_are_let_alone(tmp_path: Path) -> None:
    """Recordings of another table, also of one whose name begins the same, are not read."""
    write(tmp_path / FIRST, read(1, "AS"))
    write(tmp_path / FIRST.replace("tp-01", "tp-01-b"), read(1, "KH"))
    write(tmp_path / THIRD.replace("tp-01", "tp-02"), read(1, "KH"))
    assert ["AS"] == list(codes(tmp_path, Waiting()))


def test_a_file_that_gives_way_is_read_to_its_end(tmp_path: Path) -> None:
    """A recording that is deleted while it is read is read to its end, and the next one follows."""
    path = write(tmp_path / FIRST, read(1, "AS"))

    def give_way() -> None:
        appended(path, line(2, "KH"))
        path.unlink()
        write(tmp_path / SECOND, read(1, "2C"))

    assert ["AS", "KH", "2C"] == list(codes(tmp_path, Waiting(give_way)))


def test_a_file_without_a_header_is_left_out(tmp_path: Path) -> None:
    """A recording that has not even a header is told of and left out."""
    (tmp_path / FIRST).touch()
    warnings: list[str] = []
    wait = Waiting(lambda: write(tmp_path / SECOND, read(1, "AS")))
    assert ["AS"] == list(codes(tmp_path, wait, warnings.append))
    assert [True] == [FIRST in text and "left out" in text for text in warnings]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder that is not there ends the command, and so does a file that can't be read."""
    with pytest.raises(UsageError, match="none: No such file"):
        list(codes(tmp_path / "none", Waiting()))
    (tmp_path / FIRST).mkdir()
    with pytest.raises(UsageError, match=f"{FIRST}: Is a directory"):
        list(codes(tmp_path, Waiting()))
