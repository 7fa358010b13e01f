"""Certificates for one test: an authority, servers and clients, good ones and wrong ones."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates; `cert` is the file that a client must trust."""

    def __init__(self, folder: Path, name: str = "test-ca") -> None:
        """Makes the authority's own files `<name>.crt` and `<name>.key` in `folder`."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._certificate = self._sign(self._name, self._key, dt.timedelta(days=2), authority=True, hosts=())
        self.cert = _write(folder, name, self._certificate, self._key).cert

    def issue(
        self, name: str, *, hosts: tuple[str, ...] = ("localhost", "127.0.0.1"), life: dt.timedelta | None = None
    ) -> Certificate:
        """A certificate for `hosts`; a `life` below zero has already ended. A client's needs no hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        life = dt.timedelta(days=1) if life is None else life
        return _write(self._folder, name, self._sign(_name(name), key, life, authority=False, hosts=hosts), key)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        life: dt.timedelta,
        *,
        authority: bool,
        hosts: tuple[str, ...],
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=3))
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        return builder.sign(self._key, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Certificate:
    files = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    files.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files
