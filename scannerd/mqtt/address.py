"""Broker addresses, the TLS context, and plain words for what goes wrong while connecting."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from scannerd.mqtt.notices import BrokerSettings

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED
_NOT_YET = 9  # X509_V_ERR_CERT_NOT_YET_VALID
_WRONG_NAME = frozenset({62, 63, 64})  # X509_V_ERR_HOSTNAME_MISMATCH and its kin for mail and IP addresses
_UNKNOWN_CA = frozenset({2, 18, 19, 20, 21})  # self-signed, or an issuer that is not among the trusted ones

_CERTIFICATE_SIGNS = ("certificate", "unknown ca", "key values mismatch", "pem lib")
_CAUSES: dict[type[Exception], str] = {
    TimeoutError: "no answer in time",
    ConnectionRefusedError: "connection refused",
    ConnectionResetError: "connection reset",
    socket.gaierror: "unknown host name",
}


@dataclass(frozen=True, slots=True)
class Address:
    """One broker."""

    host: str
    port: int
    tls: bool

    def __str__(self) -> str:
        """Host and port, as a person reads them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed; `certificate` where a certificate is to blame."""

    alarm: Literal["certificate", "network"]
    cause: str


def parse(url: str) -> Address:
    """The broker that `url` names.

    Raises:
        ValueError: it is no `mqtt://` or `mqtts://` URL, or has more in it than host and port.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("a broker's url is mqtt://host[:port] or mqtts://host[:port]")
    if parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("a broker's url holds host and port only; user and password have keys of their own")
    return Address(parts.hostname, parts.port or _PORTS[parts.scheme], parts.scheme == "mqtts")


class _OwnSocket(ssl.SSLSocket):
    """Closes itself when the handshake fails; its owner would leave that to the garbage collector."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature is that of its parent
        """Shakes hands."""
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def tls_context(settings: BrokerSettings) -> ssl.SSLContext:
    """A context that always verifies the broker's certificate and name; made for each attempt, as files change.

    Raises:
        OSError: a file can't be read, or holds no certificate (`ssl.SSLError`).
    """
    for file in (settings.ca_file, settings.cert_file, settings.key_file):
        if file is not None:
            file.open("rb").close()  # unlike the ssl module, this names the file that is missing
    context = ssl.create_default_context(cafile=None if settings.ca_file is None else str(settings.ca_file))
    if settings.cert_file is not None:
        context.load_cert_chain(str(settings.cert_file), None if settings.key_file is None else str(settings.key_file))
    context.sslsocket_class = _OwnSocket
    return context


def explain(error: Exception) -> Failure:
    """Names the cause of a failed attempt."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Failure("certificate", _certificate(error))
    if isinstance(error, ssl.SSLError):
        return explain_text(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return Failure("certificate", f"{error.filename}: {error.strerror}")
    for kind, cause in _CAUSES.items():
        if isinstance(error, kind):
            return Failure("network", cause)
    return Failure("network", str(error) or repr(error))


def explain_text(text: str) -> Failure:
    """Names the cause where only the library's words are left."""
    words = text.lower().replace("_", " ")
    if any(sign in words for sign in _CERTIFICATE_SIGNS):
        return Failure("certificate", f"the broker refused our certificate, or it can't be used ({text})")
    return Failure("network", text)


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _EXPIRED:
        return "the broker's certificate has expired"
    if error.verify_code == _NOT_YET:
        return "the broker's certificate is not valid yet"
    if error.verify_code in _WRONG_NAME:
        return "the broker's certificate is for another name (wrong name)"
    if error.verify_code in _UNKNOWN_CA:
        return "the broker's certificate comes from an authority that is not trusted (unknown CA)"
    return f"the broker's certificate is not accepted: {error.verify_message}"
