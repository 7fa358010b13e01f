"""Canonical JSON (RFC 8785) of what an event may hold, and the seal that chains one event to the next.

RFC 8785 is easy where numbers are whole and below 2^53, and keys are ASCII: there orjson with sorted keys already
writes it. Everything else is refused here instead of being written in a form that another implementation
would not reproduce, for a hash that only we can compute proves nothing.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FIRST_PREV: Final = "0" * 64
"""`prev` of the first event of a journal."""

_EXACT = 2**53
_UNSEALED: Final = ("hash", "sig")
_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


def canonical(value: object) -> bytes:
    """The RFC 8785 form of `value`, in UTF-8.

    Args:
        value: text, whole numbers below 2^53 either side of 0, booleans, None, and lists and dicts of these.

    Raises:
        ValueError: `value` holds a float, a larger number, a lone surrogate, a key that is not ASCII text, or an
            object that JSON does not know. The caller is at fault.
    """
    _refuse_inexact(value)
    return _encode(value)


def seal(event: Mapping[str, object], sign: Callable[[str], str] | None = None) -> tuple[str, bytes]:
    """Hashes an event that has no `hash` yet, and signs it where there is a key.

    Args:
        event: without `hash` and `sig`.
        sign: gives the signature over a hash; both are ASCII text without quotes.

    Returns:
        The SHA-256 of the canonical event, 64 hex digits, and the canonical event with that `hash`, and its `sig`, in
        it: the bytes that go out.

    Raises:
        ValueError: the event has a hash or a signature already, or holds what orjson does not write. Floats are not
            looked for: an event is made of decisions, whose types have none.
    """
    if "hash" in event or "sig" in event:
        raise ValueError("the event is sealed already")
    # Keys are sorted, so `hash` has one place. Writing the two sides of it apart saves encoding everything twice.
    before = _encode({key: value for key, value in event.items() if key < "hash"})[1:-1]
    if sign is not None:
        return _signed(before, event, sign)
    after = _encode({key: value for key, value in event.items() if key > "hash"})[1:-1]
    digest = sha256(_object(before, after)).hexdigest()
    return digest, _object(before, b'"hash":"%b"' % digest.encode(), after)


def _signed(before: bytes, event: Mapping[str, object], sign: Callable[[str], str]) -> tuple[str, bytes]:
    """The same, with a place for `sig` too."""
    middle = _encode({key: value for key, value in event.items() if "hash" < key < "sig"})[1:-1]
    after = _encode({key: value for key, value in event.items() if key > "sig"})[1:-1]
    digest = sha256(_object(before, middle, after)).hexdigest()
    hashed, signed = b'"hash":"%b"' % digest.encode(), b'"sig":"%b"' % sign(digest).encode()
    return digest, _object(before, hashed, middle, signed, after)


def _object(*parts: bytes) -> bytes:
    """A JSON object of runs of members, some of them empty."""
    return b"{%b}" % b",".join(filter(None, parts))


def digest_of(event: Mapping[str, object]) -> str:
    """The hash that a sealed event ought to carry: over all of it but `hash` and `sig`.

    Raises:
        ValueError: as for `canonical`.
    """
    return sha256(canonical({key: value for key, value in event.items() if key not in _UNSEALED})).hexdigest()


def _encode(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError as unknown:
        raise ValueError(str(unknown)) from unknown


def _refuse_inexact(value: object) -> None:
    """Raises ValueError where `json.dumps` would not write RFC 8785; the usual types come first."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return
    if kind is dict:
        _refuse_in_dict(value)  # type: ignore[arg-type] # mypy does not narrow on `type() is`
    elif isinstance(value, int):
        if not -_EXACT < value < _EXACT:
            raise ValueError(f"{value} is not exact as a JSON number")
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_inexact(item)
    elif isinstance(value, dict):
        _refuse_in_dict(value)
    elif not isinstance(value, str):
        raise ValueError(f"{kind.__name__} has no place in an event")


def _refuse_in_dict(value: dict[object, object]) -> None:
    for key, item in value.items():
        if not (isinstance(key, str) and key.isascii()):
            raise ValueError(f"the key {key!r} is not ASCII text")
        _refuse_inexact(item)
