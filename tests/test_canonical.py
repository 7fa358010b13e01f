"""Canonical JSON and the seal of an event."""

from __future__ import annotations

import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from scannerd.canonical import canonical, digest_of, seal

SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
KEYS = st.text(st.characters(max_codepoint=127))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20)
EVENTS = st.dictionaries(KEYS.filter(lambda key: key not in {"hash", "sig"}), VALUES)


@given(VALUES)
def test_canonical_form_is_that_of_rfc_8785(value: object) -> None:
    """What an event may hold is written as an independent implementation of RFC 8785 writes it."""
    assert rfc8785.dumps(value) == canonical(value)  # type: ignore[arg-type] # hypothesis builds it from those types


@given(EVENTS)
def test_hash_is_over_the_event_without_it(event: dict[str, object]) -> None:
    """The hash is SHA-256 over the canonical event that has no hash yet."""
    digest, _ = seal(event)

    assert hashlib.sha256(rfc8785.dumps(event)).hexdigest() == digest  # type: ignore[arg-type] # as above


@given(EVENTS)
def test_sealed_body_is_canonical_with_its_hash(event: dict[str, object]) -> None:
    """The bytes that go out are the canonical form of the event with its hash in it."""
    digest, body = seal(event)

    assert rfc8785.dumps({**event, "hash": digest}) == body  # type: ignore[dict-item] # as above


@given(EVENTS)
def test_digest_leaves_hash_and_signature_out(event: dict[str, object]) -> None:
    """A sealed and signed event proves the hash it had before it carried hash and signature."""
    digest, body = seal(event)

    assert digest == digest_of({**json.loads(body), "sig": "00"})


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("nan"),
        [1.0],
        {"a": {"b": 1.0}},
        2**53,
        -(2**53),
        {"ключ": 1},
        {1: 1},
        "\ud800",
        {"a": ["\udfff"]},
        b"bytes",
        {"a": {1, 2}},
    ],
)
def test_inexact_values_are_refused(value: object) -> None:
    """What another implementation might write differently is refused and not hashed."""
    with pytest.raises(ValueError, match=r"."):
        canonical(value)


def test_subclasses_of_plain_types_are_taken() -> None:
    """A value of a type made from text, numbers or dicts is written as what it is made from."""

    class Word(str):
        __slots__ = ()

    class Fields(dict[str, object]):
        pass

    assert canonical(Fields({"a": (Word("b"), True)})) == b'{"a":["b",true]}'


@pytest.mark.parametrize("key", ["hash", "sig"])
def test_an_event_is_sealed_once(key: str) -> None:
    """An event that carries a hash or a signature already is not sealed again."""
    with pytest.raises(ValueError, match="sealed already"):
        seal({key: "00"})
