"""Target: the loader of configurations, with the codebooks that they name.

What must hold for any file: it is loaded, or refused with a `ConfigError`, each of whose problems names the file. Of a
codebook, moreover, that it holds the whole deck.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fuzz.target import RECORDINGS, Kept, Target, expect, quiet
from scannerd.codebooks import CodebookError, read_codebook
from scannerd.config import load
from scannerd.config.settings import Alarms, Display, Journal, Mqtt, Record, Round, Section, Table
from scannerd.core.cards import DECK
from scannerd.errors import ConfigError
from scannerd.registry import Registry
from scannerd.scanlog import reading

EXAMPLES = RECORDINGS.parent.parent / "config"
_SECTIONS: tuple[type[Section], ...] = (Table, Round, Mqtt, Display, Record, Journal, Alarms)


class _File(Target):
    """A file in a folder of its own."""

    longest = 8 * 1024

    @staticmethod
    @contextmanager
    def _written(data: bytes) -> Iterator[Path]:
        """The path of a file with these bytes, alone in its folder."""
        with tempfile.TemporaryDirectory(prefix="scannerd-fuzz-") as folder:
            path = Path(folder) / "found.toml"
            path.write_bytes(data)
            yield path

    def kept(self, data: bytes) -> Kept:
        """The file itself."""
        return Kept(".toml", data, self.advice)

    advice = "Look at it: .venv/bin/scannerd check -c {file}\nIt becomes a test of the configuration."


class ConfigurationTarget(_File):
    """Configurations."""

    name = "config"
    about = "the loader of configurations"

    def __init__(self, registry: Registry) -> None:
        """Takes the drivers that a stanza may name."""
        self._registry = registry

    def seeds(self) -> Iterator[bytes]:
        """The examples that come with scannerd, and each table of the corpus."""
        examples = sorted(EXAMPLES.rglob("*.toml"))
        yield from (path.read_bytes() for path in examples if path.stat().st_size < self.longest)
        for path in sorted(RECORDINGS.glob("*.scanlog")):
            with reading(path, quiet) as reader:
                header = reader.header
                yield _toml(header.table, header.round.model_dump(exclude_unset=True), header.scanners).encode()

    def words(self) -> Iterator[bytes]:
        """Sections, and the keys of all drivers."""
        drivers = [self._registry.load(name).Options for name in self._registry.names]
        keys = {key for model in (*_SECTIONS, *drivers) for key in model.model_fields}
        yield from (f"\n{key} = ".encode() for key in sorted({*keys, "name", "driver", "url", "codes", "hand"}))
        yield from (f"\n[{model.__name__.lower()}]\n".encode() for model in _SECTIONS)
        yield from (f'"{name}"'.encode() for name in self._registry.names)
        yield from b""""tcp:// "socket:// "rfc2217:// "loop:// "hwgrep:// "usb: "mqtts:// [::1 %40""".split()
        yield from (b"\n[[scanner]]\n", *rb"true inf 1e9 0x80 2026-11-30 [[ { ''' \u0000".split())

    def check(self, data: bytes) -> None:
        """See the head of this module."""
        with self._written(data) as path:
            try:
                load(path, registry=self._registry, environ={})
            except ConfigError as refused:
                problems = refused.problems
                named = problems and all(one.startswith(f"{path}:") for one in problems)
                expect(named, "no place in {}", problems)


class CodebookTarget(_File):
    """Codebooks."""

    name = "codebook"
    about = "the loader of codebooks"
    advice = "Name it as `codes` of a scanner and run `scannerd check`; it becomes a test of codebooks."

    def seeds(self) -> Iterator[bytes]:
        """The codebooks of the corpus and the examples."""
        for folder in (RECORDINGS, EXAMPLES):
            yield from (path.read_bytes() for path in sorted(folder.rglob("*deck*.toml")))

    def words(self) -> Iterable[bytes]:
        """The tables and values of a codebook."""
        return (b"[deck]\n", b"[cards]\n", b"[extra]\n", b'name = "', b'" = "AS"\n', b'"joker"', b'"cut"')

    def check(self, data: bytes) -> None:
        """It is loaded, every card being there and none without a code, or refused."""
        with self._written(data) as path:
            try:
                book = read_codebook(path)
            except CodebookError as refused:
                expect(refused.problems, "it is refused without a word")
                return
        expect("" not in book.meanings, "an empty code means a card")
        expect({*DECK} <= {*book.meanings.values()}, "not all cards are there")


def _toml(table: str, round_: Mapping[str, object], scanners: Mapping[str, Mapping[str, object]]) -> str:
    lines = [f"[table]\nid = {_value(table)}\n[round]", *(f"{key} = {_value(value)}" for key, value in round_.items())]
    for name, keys in scanners.items():
        lines += ["[[scanner]]", f"name = {_value(name)}", 'url = "/dev/scannerd/x"']
        lines += [f"{key} = {_value(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    """A value in TOML; JSON writes texts, numbers, truth values and lists alike."""
    return json.dumps(value)
