"""From the code that a scanner gives to the card it stands for.

A codebook is a table and nothing else: a lookup is one step in a dictionary, exact, without prefixes or trimming, so
that half a code can never become a card. What a format allows besides (letter case, ten as `T` or `10`) is spelled out
in the table when it is made. Codebooks that come with scannerd are in `BUILT_IN`; others are TOML files:

```toml
[deck]
name = "blue deck 7"

[cards]                     # each of the 52 cards, by one code or more
"0000C0FFEE" = "AS"

[extra]                     # cards of the pack that are not dealt
"0415D10BAD" = "joker"
```
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from scannerd.codebooks.tables import Meaning, NotInDeck, bridge_52, rank_suit, suit_rank_digits, unicode
from scannerd.core.cards import DECK, card
from scannerd.errors import UsageError
from scannerd.toml_lines import Place, key_lines, line_of, loads

__all__ = ["BUILT_IN", "Codebook", "CodebookError", "Meaning", "NotInDeck", "load_codebook", "read_codebook"]


class CodebookError(UsageError, ValueError):
    """A codebook can't be used, as it would give no card or a wrong one. Whoever wrote or named it must mend it.

    Attributes:
        problems: each `file:line: key: what was expected`, in the order of the file; at least one.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        """Takes all that is wrong, so that one look tells everything."""
        super().__init__("; ".join(problems))
        self.problems = problems


_EXTRAS = {"joker": NotInDeck("joker"), "cut": NotInDeck("cut")}
"""What `[extra]` of a file may name."""


@dataclass(frozen=True)
class Codebook:
    """What each code of a deck means.

    Attributes:
        name: that of a built-in codebook, or of the deck in a file.
        meanings: code to card, exact.
    """

    name: str
    meanings: Mapping[str, Meaning] = field(repr=False)

    def lookup(self, code: str) -> Meaning | None:
        """The card that `code` means, a card that is not dealt, or None for a code that the deck does not have."""
        return self.meanings.get(code)

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex over the codes and their cards, whatever their order and the codebook's name."""
        lines = sorted((code, f"!{m.what}" if isinstance(m, NotInDeck) else m) for code, m in self.meanings.items())
        return sha256(json.dumps(lines).encode("ascii")).hexdigest()


BUILT_IN: Mapping[str, Codebook] = {
    "rank-suit": Codebook("rank-suit", rank_suit()),
    "bridge-52": Codebook("bridge-52", bridge_52()),
    "suit-rank-digits": Codebook("suit-rank-digits", suit_rank_digits()),
    "unicode": Codebook("unicode", unicode()),
}
"""The codebooks that come with scannerd, by name."""


def load_codebook(name_or_path: str, base_dir: Path) -> Codebook:
    """The built-in codebook of that name, or else the one in that file.

    Args:
        name_or_path: a name of `BUILT_IN`, or a path, which may be relative to `base_dir`.
        base_dir: the directory of the configuration that names it.

    Raises:
        CodebookError: there is neither, or the file is not a codebook.
    """
    return BUILT_IN.get(name_or_path) or read_codebook(base_dir / name_or_path)


def read_codebook(path: Path) -> Codebook:
    """The codebook in a TOML file.

    Raises:
        CodebookError: the file can't be read, is no TOML, or does not hold exactly the 52 cards.
    """
    text = _read_text(path)
    try:
        tables = loads(text)
    except tomllib.TOMLDecodeError as err:
        raise CodebookError((_syntax_problem(path, text, str(err)),)) from None
    found = _Problems(path, key_lines(text))
    book = _book(tables, found)
    found.raise_any()
    return book


class _Problems:
    """Gathers what is wrong with one file."""

    def __init__(self, path: Path, lines: Mapping[Place, int]) -> None:
        self._path = path
        self._lines = lines
        self._found: list[tuple[int, str]] = []

    def add(self, place: tuple[str, ...], text: str) -> None:
        line = line_of(self._lines, place)
        self._found.append((line, f"{self._path}:{line}: {_key(place)}: {text}"))

    def raise_any(self) -> None:
        if self._found:
            raise CodebookError(tuple(text for _, text in sorted(self._found, key=lambda found: found[0])))


def _key(place: tuple[str, ...]) -> str:
    return ".".join([place[0], *(json.dumps(key, ensure_ascii=False) for key in place[1:])])


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise CodebookError((f"{path}: is not UTF-8, save it as such: {err}",)) from None
    except (OSError, ValueError) as err:
        why = err.strerror if isinstance(err, OSError) else err
        raise CodebookError((f"{path}: {why}; name a file, or one of {', '.join(BUILT_IN)}",)) from None


def _syntax_problem(path: Path, text: str, message: str) -> str:
    what, _, where = message.rpartition(" (at ")
    place = re.match(r"line (\d+)", where)
    line = place[1] if place else max(1, len(text.splitlines()))
    return f'{path}:{line}: {what}; each line is a code in quotes, once only, and its card: "0012" = "AS"'


def _book(tables: dict[str, object], found: _Problems) -> Codebook:
    for key in tables.keys() - {"deck", "cards", "extra"}:
        found.add((key,), "unknown table; expected [deck], [cards] and, where there are such cards, [extra]")
    deck, cards, extra = (_table(tables, key, found) for key in ("deck", "cards", "extra"))
    name = deck.get("name")
    if not isinstance(name, str) or not name:
        found.add(("deck", "name"), f'expected a name in quotes, such as "blue deck 7", found {name!r}')
    for key in deck.keys() - {"name"}:
        found.add(("deck", key), "unknown key; a deck has only a name")
    return Codebook(str(name), _cards(cards, found) | _extra(extra, cards, found))


def _table(tables: dict[str, object], key: str, found: _Problems) -> dict[str, object]:
    table = tables.get(key, {})
    if isinstance(table, dict):
        return table
    found.add((key,), f"expected a table, [{key}], found {table!r}")
    return {}


def _cards(entries: dict[str, object], found: _Problems) -> dict[str, Meaning]:
    meanings: dict[str, Meaning] = {}
    for code, value in entries.items():
        meaning = card(value) if isinstance(value, str) else None
        if not code:
            found.add(("cards", code), "an empty code can't be scanned; remove it")
        elif meaning is None:
            found.add(("cards", code), _no_card(value))
        else:
            meanings[code] = meaning
    if missing := [name for name in DECK if name not in meanings.values()]:
        found.add(("cards",), f"expected all 52 cards, not found: {' '.join(missing)}; scan and add them")
    return meanings


def _no_card(value: object) -> str:
    if isinstance(value, dict):
        return f"a code with a dot must stand in quotes, found {value!r} after the dot"
    return f'expected a card in quotes, rank and suit, ten as T, such as "AS" or "TD", found {value!r}'


def _extra(entries: dict[str, object], cards: dict[str, object], found: _Problems) -> dict[str, Meaning]:
    meanings: dict[str, Meaning] = {}
    for code, value in entries.items():
        if code in cards:
            found.add(("extra", code), "stands in [cards] too; one code means one thing, remove one of them")
        elif isinstance(value, str) and value in _EXTRAS:
            meanings[code] = _EXTRAS[value]
        else:
            found.add(("extra", code), f'expected "joker" or "cut", found {value!r}')
    return meanings
