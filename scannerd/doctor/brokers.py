"""The brokers: can each be reached, is its certificate good, does it take us, and what does it let us say and hear."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from scannerd.doctor.findings import Finding, fail, ok, warn
from scannerd.doctor.site import Site
from scannerd.mqtt import packets
from scannerd.mqtt.address import Address, Failure, parse
from scannerd.mqtt.prover import NoAnswerError, Proof, Session, prove
from scannerd.urls import is_loopback

LARGEST_EVENT = 4_096
"""Bytes of payload that every broker must take: no event of the contract comes near it."""

SOON_S = 14 * 24 * 3600
"""How long before its end a certificate is spoken of, in seconds."""

BOUND_S = 10.0
"""Seconds that one broker may take to answer: as long as the daemon waits for it."""

_RIGHTS = "config/mosquitto/scannerd.acl"

_CLOSED = "see the broker's log: TLS or none in `mqtt.url`, or it wants a certificate of ours, `mqtt.cert_file`"
_REMEDIES = (
    ("our certificate", "check `mqtt.cert_file` and `mqtt.key_file`, and which authority the broker trusts"),
    ("wrong version number", "the port speaks no TLS: mend the port in `mqtt.url`, or use mqtt://"),
    ("hung up", _CLOSED),
    ("EOF occurred", _CLOSED),
    ("connection reset", _CLOSED),
    ("expired", "renew the broker's certificate, and reload the broker"),
    ("not valid yet", "set this machine's clock, or the broker's certificate is from the future"),
    ("wrong name", "name the broker in `mqtt.url` as its certificate does, or issue one for this name"),
    ("unknown CA", "set `mqtt.ca_file` to the certificate of the authority that signed the broker's"),
    ("connection refused", "start the broker, or mend host and port in `mqtt.url`"),
    ("unknown host name", "mend the name in `mqtt.url`, or this machine's name service"),
    ("no answer in time", "look at the network and at firewalls; with mqtts://, whether the port speaks TLS"),
    ("bad user name or password", "mend `mqtt.username` and the password, here or in the broker's password file"),
    ("not authorized", "mend `mqtt.username` and the password, here or in the broker's password file"),
    ("unsupported protocol", "set `mqtt.protocol` to the version that the broker speaks"),
    ("client identifier", "allow client ids that begin with `scannerd-` at the broker"),
)


@dataclass(frozen=True, slots=True)
class Broker:
    """What is known of one broker.

    Attributes:
        address: host and port.
        protocol: the version that was spoken with it.
        user: as whom; None: without a name.
        open_text: a name and a password go over the network in clear text.
        failure: why there is no connection.
        refusal: why it did not take us.
        expires: when its certificate ends, seconds since 1970; None without TLS.
        now: the time of day.
        refused: topic filters whose subscription it refused, with its words.
        proof: what it lets us say.
    """

    address: str
    protocol: Literal[4, 5] = 5
    user: str | None = None
    open_text: bool = False
    failure: Failure | None = None
    refusal: str | None = None
    expires: float | None = None
    now: float = 0.0
    refused: tuple[tuple[str, str], ...] = ()
    proof: Proof | None = None


# --- probe ------------------------------------------------------------------------------------------------------


def ask_brokers(site: Site, bound_s: float = BOUND_S) -> tuple[Broker, ...]:
    """Connects to each broker of the configuration as the daemon would, under another client id."""
    return tuple(_asked(site, parse(url), bound_s) for url in site.broker.urls)


def _asked(site: Site, address: Address, bound_s: float) -> Broker:
    settings = site.broker
    broker = Broker(
        str(address),
        settings.protocol,
        settings.username,
        open_text=settings.password is not None and not address.tls and not is_loopback(address.host),
        now=site.now(),
    )
    tag = uuid.uuid4().hex[:8]
    topics = (f"{settings.prefix}/command/+", f"{settings.prefix}/status")
    try:
        with Session(settings, address, tag, level=settings.protocol, bound_s=bound_s) as session:
            broker = replace(broker, refusal=session.connack.refusal, expires=session.expires)
            codes = session.subscribe(topics) if broker.refusal is None else ()
    except NoAnswerError as error:
        return replace(broker, failure=error.failure)
    if not codes:
        return broker
    answers = zip(topics, codes, strict=False)
    refused = tuple((topic, packets.reason(code)) for topic, code in answers if code >= packets.REFUSED)
    return replace(broker, refused=refused, proof=prove(settings, site.topics, address, [LARGEST_EVENT], tag))


# --- judgements -------------------------------------------------------------------------------------------------


def judge_brokers(facts: tuple[Broker, ...]) -> Iterator[Finding]:
    """Each broker."""
    for broker in facts:
        yield from _judged(broker)


def _judged(broker: Broker) -> Iterator[Finding]:
    if broker.failure is not None:
        check = "certificate" if broker.failure.alarm == "certificate" else "reach"
        yield fail(check, f"{broker.address}: {broker.failure.cause}", _remedy(broker.failure.cause))
        return
    yield from _certificate(broker)
    if broker.refusal is not None:
        whom = f"user {broker.user}" if broker.user else "us without a name"
        yield fail("login", f"{broker.address} refuses {whom}: {broker.refusal}", _remedy(broker.refusal))
        return
    version = "MQTT 5" if broker.protocol == 5 else "MQTT 3.1.1"  # noqa: PLR2004 - the version
    yield ok(
        "login", f"{broker.address} takes us in {version}, {f'as {broker.user}' if broker.user else 'without a name'}"
    )
    if broker.open_text:
        text = f"{broker.address}: the password and every card go over the network in clear text"
        yield warn("certificate", text, "use mqtts:// in `mqtt.url`")
    yield from _hearing(broker)
    yield from _saying(broker, broker.proof or Proof("the broker was not asked", passing=True))


def _certificate(broker: Broker) -> Iterator[Finding]:
    if broker.expires is None:
        return
    day = datetime.fromtimestamp(broker.expires, UTC).date()
    if broker.expires - broker.now < SOON_S:
        yield warn("certificate", f"{broker.address}: the certificate ends on {day}", "renew it before it ends")
    else:
        yield ok("certificate", f"{broker.address}: the certificate is good until {day}")


def _hearing(broker: Broker) -> Iterator[Finding]:
    for topic, why in broker.refused:
        yield fail("acl", f"{broker.address}: may not hear {topic}: {why}", _right(broker, "read", topic))
    if not broker.refused:
        yield ok("acl", f"{broker.address}: may subscribe to commands and to the own status, as far as a broker tells")


def _saying(broker: Broker, proof: Proof) -> Iterator[Finding]:
    if proof.unknown is not None:
        text = f"{broker.address}: what we may say can't be proved: {proof.unknown}"
        remedy = "let the daemon run and watch for the alarm `denied`; or use a broker that speaks MQTT 5"
        yield warn("acl", text, "try again" if proof.passing else remedy)
        return
    for topic, why in proof.denied.items():
        yield fail("acl", f"{broker.address}: may not say {topic}: {why}", _right(broker, "write", topic))
    if not proof.denied:
        yield ok("acl", f"{broker.address}: may say all that a table has to say")
    if proof.too_large:
        text = f"{broker.address} takes no message of {min(proof.too_large)} bytes"
        yield fail("size", text, "raise `max_packet_size` and `message_size_limit` of the broker")


def _right(broker: Broker, right: str, topic: str) -> str:
    return f"let {broker.user or 'anonymous clients'} {right} {topic} at the broker, see {_RIGHTS}"


def _remedy(cause: str) -> str:
    found = (remedy for sign, remedy in _REMEDIES if sign.lower() in cause.lower())
    return next(found, "look at the broker's log")
