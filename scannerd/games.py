"""The games at hand: a file for each, `<name>.toml`, with the hands and the order in which the slots are dealt.

Those that come with scannerd lie inside the installed package; in a source tree they lie where people edit them,
in `config/games/`. A table may have its own in a folder `games` beside its configuration, but no other plan of a name
that is taken: a recording would then mean two things.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from scannerd.core.games import Plan, plan
from scannerd.toml_lines import loads

_HERE = Path(__file__).resolve().parent
_KEYS = ("hands", "order", "title")


def packaged() -> Path:
    """The folder of the games that come with scannerd."""
    installed = _HERE / "data" / "games"
    return installed if installed.is_dir() else _HERE.parent / "config" / "games"


def names(beside: Path | None = None) -> tuple[str, ...]:
    """The names of the games at hand, in alphabetical order.

    Args:
        beside: the folder of a configuration, whose folder `games` may hold more.
    """
    return tuple(sorted({file.stem for folder in _folders(beside) for file in folder.glob("*.toml")}))


def load(name: str, beside: Path | None = None) -> Plan:
    """Reads the deal plan of a game.

    Args:
        name: the game's name.
        beside: the folder of a configuration, whose folder `games` may hold it.

    Raises:
        ValueError: there is no such game, its file says something else than a plan, or two plans have its name.
    """
    files = [file for folder in _folders(beside) if (file := folder / f"{name}.toml").is_file()]
    if name not in names(beside):
        raise ValueError(f"expected a game: {', '.join(names(beside))}")
    plans = [_read(file) for file in files]
    if any(other != plans[0] for other in plans):
        raise ValueError(f"{files[-1]} is another game than the one of that name that comes with scannerd")
    return plans[0]


def _folders(beside: Path | None) -> tuple[Path, ...]:
    return (packaged(),) if beside is None else (packaged(), beside / "games")


@cache
def _read(file: Path) -> Plan:
    try:
        return _parse(file.stem, loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def _parse(name: str, data: dict[str, object]) -> Plan:
    unknown = sorted(data.keys() - set(_KEYS))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}, known are {', '.join(_KEYS)}")
    made = plan(name, _texts(data.get("order")))
    if tuple(_texts(data.get("hands"))) != made.hands:
        raise ValueError(f"hands: expected {list(made.hands)}, in the order of their first card")
    return made


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("expected the lists `hands` and `order`, of strings")
    return value
