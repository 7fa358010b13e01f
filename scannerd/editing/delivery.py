"""Putting a recording into a file, with all that its replay needs beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from scannerd import games
from scannerd.codebooks import BUILT_IN
from scannerd.editing.tape import Tape, written
from scannerd.errors import UsageError
from scannerd.messages import dumps
from scannerd.recording.replay import Line
from scannerd.scanlog import Header
from scannerd.verify.corpus import beside


def deliver(
    tape: Tape,
    output: Path,
    expected: Iterable[Line] | None,
    *,
    force: bool,
    book: Callable[[Path], bytes] | None = None,
) -> list[Path]:
    """Writes a recording, with the codebooks and the game that it needs beside it.

    Args:
        tape: the recording.
        output: its file, which is written over.
        expected: the events that are to be expected of it, which go beside it; None: no such file.
        force: other codebooks and games that are there are written over.
        book: makes the copy of a codebook; None: a copy is as the file is, and only where it is needed.

    Returns:
        The files that were written.

    Raises:
        UsageError: another codebook or game is where one must go.
        OSError: a file can't be read or written.
    """
    tape, companions = _with_companions(tape, output, book, force=force)
    files = [_write(output, written(tape))]
    if expected is not None:
        files.append(_write(beside(output, "event"), b"".join(dumps(line) + b"\n" for line in expected)))
    return [*files, *companions]


def at_home(tape: Tape) -> Tape:
    """The recording with codebooks that are found from anywhere on this machine."""
    return _with_codes(tape, {codes: str((tape.beside / codes).absolute()) for codes in codebooks(tape.header)})


def _write(file: Path, content: bytes) -> Path:
    """Writes a file that is whole at any time."""
    draft = file.with_name(f".{file.name}.new")
    try:
        draft.write_bytes(content)
        draft.replace(file)
    except OSError as trouble:
        raise OSError(trouble.errno, trouble.strerror, str(file)) from trouble
    return file


def _with_companions(
    tape: Tape, output: Path, book: Callable[[Path], bytes] | None, *, force: bool
) -> tuple[Tape, list[Path]]:
    """The recording as it is found beside `output`, and the files that were copied for it."""
    folder, codes, files = output.parent, codebooks(tape.header), []
    names = {}
    for number, name in enumerate(codes, start=1):
        source = tape.beside / name
        there = not Path(name).is_absolute() and (folder / name).resolve() == source.resolve()
        if not there or book is not None:
            names[name] = f"{output.stem}.codes{'' if len(codes) == 1 else number}.toml"
            files += _copied((book or Path.read_bytes)(source), folder / names[name], force=force)
    game = Path("games") / f"{tape.header.game}.toml"
    if tape.header.game not in games.names() and (tape.beside / game).is_file():
        (folder / game).parent.mkdir(exist_ok=True)
        files += _copied((tape.beside / game).read_bytes(), folder / game, force=force)
    return Tape(output, folder, _with_codes(tape, names).header, tape.entries), files


def _copied(content: bytes, target: Path, *, force: bool) -> list[Path]:
    """Writes the copy of a file, unless it is there already.

    Raises:
        UsageError: another file is in its place.
    """
    if target.exists() and target.read_bytes() == content:
        return []
    if target.exists() and not force:
        raise UsageError(f"{target} is there already and is another one; --force writes over it")
    return [_write(target, content)]


def codebooks(header: Header) -> list[str]:
    """The codebooks that are files, as the header names them, each once."""
    named = (keys.get("codes") for keys in header.scanners.values())
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name not in BUILT_IN))


def _with_codes(tape: Tape, names: Mapping[str, str]) -> Tape:
    """The recording with other names for its codebooks."""
    scanners = {
        scanner: {key: names.get(str(value), value) if key == "codes" else value for key, value in keys.items()}
        for scanner, keys in tape.header.scanners.items()
    }
    return Tape(tape.path, tape.beside, tape.header.model_copy(update={"scanners": scanners}), tape.entries)
