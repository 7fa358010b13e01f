"""What the configuration says, checked and frozen: a model for each section, and `Config`, which holds them all.

Paths are as written in a section that was only parsed; `scannerd.config.load` makes them absolute, relative ones
being relative to the configuration's own folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from scannerd import urls
from scannerd.codebooks import Codebook
from scannerd.contract import Driver, DriverOptions
from scannerd.core.games import Plan
from scannerd.core.state import Rules

Language: TypeAlias = Literal["en", "pt", "es", "uk", "ms"]
Count = Annotated[int, Field(ge=0)]
Milliseconds = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A section of the configuration: frozen, unknown keys refused, each key described by its docstring."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @field_validator("*")
    @classmethod
    def _paths_name_files(cls, value: object) -> object:
        if isinstance(value, Path):
            _file_name(str(value))
        return value


def _file_name(text: str) -> str:
    if "\0" in text:
        raise ValueError("a file's name can't hold a NUL character")
    return text


def table_id(text: str) -> str:
    """The text, if a table may be called so.

    Raises:
        ValueError: it may not.
    """
    if not (1 <= len(text) <= 64 and set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")):  # noqa: PLR2004
        raise ValueError("expected 1 to 64 of a-z 0-9 - _")
    return text


def _topic(text: str) -> str:
    if not text or text[0] in "/$" or text[-1] == "/" or not text.isprintable() or set("+#") & set(text):
        raise ValueError("expected the beginning of topics, such as `scannerd`, without + # $ and outer slashes")
    return text


def _broker_urls(text: str) -> str:
    urls.brokers(text)
    return text


def _listen(text: str) -> str:
    urls.address(text)
    return text


def _host_name(text: str) -> str:
    if not text or not set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-."):
        raise ValueError(f"expected a host's name in small letters, without a port, found {text!r}")
    return text


def _scanner_name(text: str) -> str:
    if not (1 <= len(text) <= 64 and text.isprintable() and text == text.strip()):  # noqa: PLR2004
        raise ValueError("expected 1 to 64 printable characters, no space at either end")
    return text


class Table(Section):
    """Section `[table]`."""

    id: Annotated[str, AfterValidator(table_id)]
    """The table's name, in topics and events: 1 to 64 of a-z 0-9 - _."""

    game: str = "teen-patti-20-20"
    """The game whose deal plan is followed."""

    language: Language = "en"
    """The language of the dealer's prompts."""

    state_dir: Path | None = None
    """Where the journal lies; by default `/var/lib/scannerd/<id>`."""


class Stanza(BaseModel):
    """The keys that each `[[scanner]]` has; others are its driver's own."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    name: Annotated[str, AfterValidator(_scanner_name)]
    """The scanner's name, in events and in what the dealer reads."""

    driver: str
    """One of `scannerd drivers`."""

    url: Annotated[str, Field(min_length=1), AfterValidator(_file_name)]
    """Where the scanner is: a path, a pyserial URL, tcp://host:port, usb:VID:PID[:serial] or a file."""

    codes: Annotated[str, Field(min_length=1)] | None = None
    """The codebook: a built-in name or a file."""

    hand: str | None = None
    """The hand that this scanner reads for, where each hand has its own."""


class Round(Section):
    """Section `[round]`; times in ms."""

    start: Literal["command", "auto"] = "command"
    """Whether a command or the first card opens a round."""

    bounce_ms: Milliseconds = 400
    """The same card from the same scanner within this time is nothing."""

    min_gap_ms: Milliseconds = 150
    """Two different cards within this time can't be told apart, and both are asked for again."""

    max_attempts: Count = 3
    """So many rejections of one slot hold the round; 0: never."""

    round_gap_ms: Milliseconds = 3000
    """With `start = "auto"`, no card opens a round so soon after the last one ended."""

    stall_ms: Milliseconds = 30000
    """So long without anything in a deal raises the alarm `stalled`; 0: never."""

    require_broker: bool = True
    """No round is opened while the broker is away."""

    on_restart: Literal["continue", "hold"] = "continue"
    """Whether a round that was being dealt goes on by itself after a restart."""

    def rules(self) -> Rules:
        """The same, as the core takes it."""
        return Rules(**self.model_dump())


class Mqtt(Section):
    """Section `[mqtt]`."""

    url: Annotated[str, AfterValidator(_broker_urls)] = "mqtt://127.0.0.1:1883"
    """The broker: mqtt://host:port, or mqtts:// for TLS, always verified; several, comma-separated, are tried
    in turn."""

    root: Annotated[str, AfterValidator(_topic)] = "scannerd"
    """What all topics begin with."""

    protocol: Literal[5, 4] = 5
    """5 for MQTT 5, 4 for MQTT 3.1.1."""

    username: Annotated[str, Field(min_length=1)] | None = None
    """The user at the broker."""

    password_file: Path | None = None
    """A file that holds the password; by default the systemd credential `mqtt-password`, where there is one."""

    ca_file: Path | None = None
    """Certificates to trust, for mqtts://; by default the system's."""

    cert_file: Path | None = None
    """Our certificate, where the broker wants one."""

    key_file: Path | None = None
    """The key of `cert_file`, where it is not in the same file."""

    keepalive_s: Annotated[int, Field(ge=1, le=3600)] = 15
    """Seconds of silence after which the broker is asked whether it lives; fewer where the network forgets sooner."""

    @property
    def brokers(self) -> tuple[urls.Broker, ...]:
        """The addresses of `url`, in the order to try them."""
        return urls.brokers(self.url)

    def password(self) -> str | None:
        """Reads the password afresh, so that a changed one needs no restart; None where there is none.

        Raises:
            OSError: the file can't be read any more.
        """
        return None if self.password_file is None else self.password_file.read_text(encoding="utf-8").rstrip("\r\n")


class Record(Section):
    """Section `[record]`: the always-on capture of what the scanners send."""

    directory: Path | None = None
    """Where recordings are kept; left out: nothing is recorded."""

    file_mib: Annotated[int, Field(ge=1)] = 16
    """A recording is closed at this size, in MiB, at the next moment between two rounds."""

    files: Annotated[int, Field(ge=2)] = 16
    """How many recordings are kept; the oldest give way."""


class Journal(Section):
    """Section `[journal]`."""

    keep_days: Count = 0
    """Events older than so many days are deleted, once they are acknowledged; 0: never."""

    signing_key: Path | None = None
    """An Ed25519 key that signs each event, which `scannerd journal keygen` writes; by default the systemd credential
    `signing-key`, where there is one."""


class Alarms(Section):
    """Section `[alarms]`."""

    reject_rate: Count = 5000
    """More than one rejected read in so many raises `reject_rate`, for a scanner or a card; 0: never."""

    reject_window: Annotated[int, Field(ge=1)] = 20000
    """Over so many of its last reads."""


class Display(Section):
    """Section `[display]`."""

    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:8470"
    """The address of the dealer's page, host:port; an empty text switches it off."""

    hosts: tuple[Annotated[str, AfterValidator(_host_name)], ...] = ()
    """Names by which browsers may call the pages, beside addresses and `localhost`."""

    pin_file: Path | None = None
    """The hash of the supervisor's PIN, which `scannerd pin` writes; by default the systemd credential `display-pin`,
    where there is one."""

    tls_cert: Path | None = None
    """The certificate of the pages, with `tls_key`; then they are reached by https."""

    tls_key: Path | None = None
    """The key of `tls_cert`."""

    behind_proxy: bool = False
    """Whether a proxy in front speaks TLS for the pages."""

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port, or None where the page is off."""
        return urls.address(self.listen)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the page."""
        return self.address is None or urls.is_loopback(self.address[0])


@dataclass(frozen=True, slots=True)
class Scanner:
    """One `[[scanner]]`: where (`url`), what (`codebook`) and how (`driver_class` with `options`)."""

    name: str
    driver: str
    url: str
    codes: str
    hand: str | None
    options: DriverOptions
    driver_class: type[Driver[DriverOptions]]
    codebook: Codebook

    def make_driver(self) -> Driver[DriverOptions]:
        """The driver with its options; touches no device."""
        return self.driver_class(self.options)


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration, paths absolute.

    Attributes:
        digest: SHA-256, 64 hex digits, of what was configured, codebooks and deal plan included, passwords not.
    """

    path: Path
    table: Table
    plan: Plan
    scanners: tuple[Scanner, ...]
    round: Round
    mqtt: Mqtt
    display: Display
    record: Record
    journal: Journal
    alarms: Alarms
    digest: str

    @property
    def state_dir(self) -> Path:
        """Where the journal lies."""
        return self.table.state_dir or Path("/var/lib/scannerd") / self.table.id
