"""Ed25519 signatures of events: who has the public key can prove that nobody but the key's holder wrote them.

What is signed is the event's `hash` as its 32 bytes; `sig` is the signature's 64 bytes as 128 hex digits. The hash
covers the whole event and, by `prev`, all before it: one signature proves everything up to there.

Keys are PEM files, PKCS #8 and SubjectPublicKeyInfo, as `openssl genpkey -algorithm ed25519` writes them too. The
package `cryptography` comes with the extra `signing`; without it nothing here works, and nothing else needs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Sign: TypeAlias = Callable[[str], str]
"""Gives the signature over a hash, both in hex digits."""

Prove: TypeAlias = Callable[[str, str], bool]
"""Whether a signature over a hash, both in hex digits, was made with the key."""

_MISSING = "signatures need the package cryptography: pip install 'scannerd[signing]'"


class SigningError(Exception):
    """A key can't be read, is none, or the package for it is missing. Whoever configured it must act."""


def signer(file: Path) -> Sign:
    """Reads a private key.

    Raises:
        SigningError: it can't be used; the text says why and names the file.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - an extra
    except ImportError as absent:
        raise SigningError(_MISSING) from absent
    try:
        key = load_pem_private_key(_read(file), password=None)
    except (ValueError, TypeError) as unfit:  # TypeError: it is encrypted
        raise SigningError(f"expected a private key in PEM, without a password, found {str(file)!r}") from unfit
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningError(f"expected an Ed25519 key, found another kind in {str(file)!r}")
    return lambda digest: key.sign(bytes.fromhex(digest)).hex()


def prover(file: Path) -> Prove:
    """Reads a public key.

    Raises:
        SigningError: it can't be used; the text says why and names the file.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - an extra
    except ImportError as absent:
        raise SigningError(_MISSING) from absent
    try:
        key = load_pem_public_key(_read(file))
    except ValueError as unfit:
        raise SigningError(f"expected a public key in PEM, found {str(file)!r}") from unfit
    if not isinstance(key, Ed25519PublicKey):
        raise SigningError(f"expected an Ed25519 key, found another kind in {str(file)!r}")
    return lambda digest, signature: _proved(key, digest, signature)


def make_pair(private: Path, public: Path) -> None:
    """Writes a new pair of keys, the private one readable by its owner alone.

    Raises:
        SigningError: the package is missing.
        OSError: a file is there already, or can't be written.
    """
    try:
        from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - an extra
    except ImportError as absent:
        raise SigningError(_MISSING) from absent
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    shown = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    _write_new(private, secret, 0o600)
    _write_new(public, shown, 0o644)


def _proved(key: Ed25519PublicKey, digest: str, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    try:
        key.verify(bytes.fromhex(signature), bytes.fromhex(digest))
    except (InvalidSignature, ValueError):
        return False
    return signature == signature.lower()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SigningError(f"expected a readable file, found {str(file)!r}: {error.strerror}") from error


def _write_new(file: Path, content: bytes, mode: int) -> None:
    with open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as out:  # noqa: PTH123 - of a descriptor
        out.write(content)
