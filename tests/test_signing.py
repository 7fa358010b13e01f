"""Signatures: who has the public key can prove each event, from the first that was signed on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from scannerd.canonical import canonical, digest_of, seal
from scannerd.cli.journal import journal as group
from scannerd.errors import Exit, ScannerdError
from scannerd.journal import Batch, verify
from scannerd.signing import Sign, SigningError, make_pair, prover, signer
from tests.journals import harm, opened, record, start

EVENT: dict[str, object] = {"contract": "1.0", "data": {"b": 1}, "journal": "j", "seq": 1, "table": "t", "type": "x"}


def keys(folder: Path, name: str = "key") -> tuple[Sign, Path]:
    """A new pair: how to sign, and the public key's file."""
    public = folder / f"{name}.pub"
    make_pair(folder / name, public)
    return signer(folder / name), public


def journal_of(folder: Path, *signs: Sign | None) -> Path:
    """A journal of an event for each, signed or not."""
    with opened(folder) as journal:
        for sign in signs:
            journal.append(Batch(records=(record(journal.journal_id, journal.head, sign=sign),)))
        return journal.path


def run(*arguments: object) -> Result:
    """Runs `scannerd journal` with the arguments."""
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


def test_signed_event_is_canonical_with_its_signature(tmp_path: Path) -> None:
    """`sig` stands in its canonical place, outside the hash, and is Ed25519 over the hash's 32 bytes."""
    sign, public = keys(tmp_path)
    digest, body = seal(EVENT, sign)
    event = json.loads(body)
    assert seal(EVENT)[0] == digest == event["hash"] == digest_of(event)
    assert canonical(event) == body
    key = load_pem_public_key(public.read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    key.verify(bytes.fromhex(event["sig"]), bytes.fromhex(digest))


def test_key_of_openssl_is_one_too(tmp_path: Path) -> None:
    """A pair that openssl made signs and proves as ours does."""
    private, public = tmp_path / "key", tmp_path / "pub"
    subprocess.run(["/usr/bin/openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["/usr/bin/openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    assert prover(public)("ab" * 32, signer(private)("ab" * 32))


def test_foreign_or_garbled_signature_proves_nothing(tmp_path: Path) -> None:
    """Another key's signature, one of another hash, one in capitals and one that is none are refused."""
    sign, public = keys(tmp_path)
    other, _ = keys(tmp_path, "other")
    proves, digest = prover(public), "ab" * 32
    assert proves(digest, sign(digest))
    for signature in (other(digest), sign("cd" * 32), sign(digest).upper(), "zz", ""):
        assert not proves(digest, signature)


def test_private_key_is_its_owners_alone(tmp_path: Path) -> None:
    """The key's file may be read by nobody else, and no file is ever written over."""
    result = run("keygen", tmp_path / "key")
    assert (Exit.WELL, f"{tmp_path}/key: the key; {tmp_path}/key.pub: the public key\n") == (
        result.exit_code,
        result.stdout,
    )
    assert (0o600, 0o644) == tuple((tmp_path / name).stat().st_mode & 0o777 for name in ("key", "key.pub"))
    before = (tmp_path / "key").read_bytes()
    assert isinstance(run("keygen", tmp_path / "key").exception, ScannerdError)
    assert before == (tmp_path / "key").read_bytes()


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    """A missing file, another text, the wrong half and another kind of key are told with the file's name."""
    keys(tmp_path)
    (tmp_path / "text").write_text("hello")
    subprocess.run(["/usr/bin/openssl", "genpkey", "-algorithm", "x25519", "-out", tmp_path / "x"], check=True)
    subprocess.run(["/usr/bin/openssl", "pkey", "-in", tmp_path / "x", "-pubout", "-out", tmp_path / "y"], check=True)
    cases = [(signer, name) for name in ("none", "text", "key.pub", "x")]
    for read, name in [*cases, *((prover, name) for name in ("none", "text", "key", "y"))]:
        with pytest.raises(SigningError, match=f"{tmp_path}/{name}'"):
            read(tmp_path / name)


def test_signed_journal_is_proved(tmp_path: Path) -> None:
    """Signatures are counted where a key is given, and are no fault where none is."""
    sign, public = keys(tmp_path)
    path = journal_of(tmp_path, sign, sign)
    assert (True, None) == (verify(path).sound, verify(path).signed)
    found = verify(path, keys=[prover(public)])
    assert (True, 2, 0) == (found.sound, found.signed, found.unsigned_to)


def test_events_before_signing_are_told(tmp_path: Path) -> None:
    """Events from before signing was switched on are told, and are no fault: the first signature covers them."""
    sign, public = keys(tmp_path)
    path = journal_of(tmp_path, None, None, sign)
    result = run("verify", path, "--public-key", public)
    assert Exit.WELL == result.exit_code
    assert "events with a proved signature: 1" in result.stdout
    assert "seq 1 to 2: written before signing was switched on" in result.stdout
    told = json.loads(run("verify", path, "--public-key", public, "--json").stdout)
    assert (1, 2, True) == (told["signed"], told["unsigned_to"], told["sound"])


def test_missing_signature_is_found(tmp_path: Path) -> None:
    """An event without a signature behind one that has it is a fault, and so is a journal that has none at all."""
    sign, public = keys(tmp_path)
    journal_of(tmp_path, sign, None, sign)
    found = verify(tmp_path, keys=[prover(public)]).found
    assert [(2, "the event is not signed, though earlier ones are")] == [(one.seq, one.why) for one in found]
    bare = journal_of(tmp_path / "bare", None)
    assert ["no event is signed: nothing is proved by the key"] == [
        one.why for one in verify(bare, keys=[prover(public)]).found
    ]


def test_foreign_signature_is_found(tmp_path: Path) -> None:
    """An event that was signed by somebody else is named; with his key given too it is proved."""
    sign, public = keys(tmp_path)
    other, other_public = keys(tmp_path, "other")
    path = journal_of(tmp_path, sign, other)
    result = run("verify", path, "--public-key", public)
    assert Exit.DIFFERENCE == result.exit_code
    assert "seq 2: the signature was not made with this key" in result.stdout
    assert Exit.WELL == run("verify", path, "--public-key", public, "--public-key", other_public).exit_code


def test_event_that_is_none_is_told_once(tmp_path: Path) -> None:
    """A row that holds no event is named as such, and its signature is not asked for."""
    sign, public = keys(tmp_path)
    path = journal_of(tmp_path, sign, sign)
    harm(path, "UPDATE events SET body = x'00' WHERE seq = 2")
    assert ["the event is no JSON object"] == [one.why for one in verify(path, keys=[prover(public)]).found]


def test_key_that_can_not_be_read_is_a_usage_error(tmp_path: Path) -> None:
    """A public key that is none ends `verify` with 2."""
    result = run("verify", journal_of(tmp_path, None), "--public-key", tmp_path / "none")
    assert isinstance(result.exception, ScannerdError)
    assert Exit.USAGE == result.exception.exit_code


@pytest.mark.parametrize("call", ["signer(Path('k'))", "prover(Path('k'))", "make_pair(Path('k'), Path('p'))"])
def test_missing_package_is_named(call: str) -> None:
    """Without the package `cryptography` all three say which extra to install, and nothing else needs it."""
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from pathlib import Path\nfrom scannerd.signing import *\n"
        f"try:\n    {call}\nexcept SigningError as told:\n    print(told)"
    )
    process = start(code)
    told, errors = process.communicate(timeout=20)
    assert ("signatures need the package cryptography: pip install 'scannerd[signing]'\n", b"") == (
        told.decode(),
        errors,
    )
