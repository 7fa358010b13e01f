"""A table as its own daemon tells it, through the pages that it serves: so it works with the network gone.

The daemon checks the PIN, counts the wrong tries, and journals each action with the name, as for the supervisor's page.
Events are read from the journal, where this user may read it.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scannerd.client import read_event
from scannerd.display.sessions import COOKIE
from scannerd.journal import JournalError, JournalReader
from scannerd.watching.desk import Guard, Outcome
from scannerd.watching.known import EVENTS, Happened, Shown
from scannerd.watching.source import Tell

SILENT_S = 3.5
"""Seconds without a word after which the daemon is gone: it sends a heartbeat each second while it works."""

AGAIN_S = 1.0
"""Seconds before the next try to reach it."""

REPLY_S = 10.0
"""Seconds that an action may take; the daemon itself gives its engine 5."""

_KINDS = {401: "signed_out", 403: "signed_out", 422: "reason_needed", 504: "no_answer"}
_FINE = 200
_LONGEST = 65536
_STRANGER = "another table's pages have this address"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table's pages and its journal are.

    Attributes:
        host: an address of this machine.
        directory: the table's state directory.
        certificate: that of the pages, which alone is trusted; None: they speak http.
    """

    table: str
    host: str
    port: int
    directory: Path
    certificate: Path | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    fields: Mapping[str, object]
    cookie: str


class PageSource:
    """Listens to the pages' stream in a thread of its own."""

    guard: Guard = "pin"

    def __init__(self, place: Place) -> None:
        """Opens nothing yet."""
        self.table, self._place = place.table, place
        self.standing = False
        self._tell: Tell = _nobody
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch-{place.table}", daemon=True)
        self._socket: socket.socket | None = None
        self._cookie = self._token = ""
        self._seq = -1

    def open(self, tell: Tell) -> None:
        """Begins to listen."""
        self._tell = tell
        self._thread.start()

    def close(self) -> None:
        """Hangs up."""
        self._ended.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(2)

    def sign_in(self, name: str, pin: str) -> Outcome:
        """Has the daemon check the PIN."""
        try:
            reply = self._ask("POST", "/supervisor/sign-in", {"name": name, "pin": pin})
            if reply.status == _FINE:
                if not reply.cookie.startswith(f"{COOKIE}{self.table}="):
                    raise ConnectionError(_STRANGER)
                self._cookie = reply.cookie
                self._token = str(self._ask("GET", "/supervisor/session.json").fields.get("token", ""))
                return self._outcome("signed_in", name=name)
        except (OSError, http.client.HTTPException) as trouble:
            return self._outcome("failed", message=str(trouble) or repr(trouble))
        match reply.status:
            case 429:
                return self._outcome("locked", minutes=str(reply.fields.get("minutes")))
            case 401:
                return self._outcome("wrong_pin", left=str(reply.fields.get("left")))
            case 409:
                return self._outcome("no_pin")
            case _:
                return self._outcome("failed", message=f"HTTP {reply.status}")

    def act(self, name: str, command: str, fields: Mapping[str, str]) -> Outcome:
        """Sends a command in the name that was signed in with."""
        del name
        try:
            reply = self._ask("POST", f"/supervisor/command/{command}", fields)
        except (OSError, http.client.HTTPException):
            return self._outcome("no_answer")  # it may have been carried out
        if reply.status == _FINE:
            return self._outcome("done", command=command)
        kind = _KINDS.get(reply.status)
        if kind is not None:
            return self._outcome(kind)
        return self._outcome("failed", message=str(reply.fields.get("message") or f"HTTP {reply.status}"))

    def _outcome(self, kind: str, **blanks: str) -> Outcome:
        return Outcome(self.table, kind, blanks)

    # --- asking ---

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        return _connection(self._place.host, self._place.port, self._place.certificate, timeout)

    def _ask(self, method: Literal["GET", "POST"], path: str, fields: Mapping[str, str] | None = None) -> _Reply:
        host = f"[{self._place.host}]" if ":" in self._place.host else self._place.host
        here = f"{host}:{self._place.port}"
        headers = {
            "Host": here,
            "Origin": f"{'http' if self._place.certificate is None else 'https'}://{here}",
            "Cookie": self._cookie,
            "X-Scannerd-Token": self._token,
            "Content-Type": "application/json",
        }
        connection = self._connection(REPLY_S)
        try:
            connection.request(method, path, None if fields is None else json.dumps(fields), headers)
            response = connection.getresponse()
            cookie = (response.getheader("set-cookie") or "").partition(";")[0]
            return _Reply(response.status, _object(response.read()), cookie)
        finally:
            connection.close()

    # --- listening ---

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError, http.client.HTTPException, ValueError):
                self._listen()
            self.standing = False
            self._tell(Happened(self.table, ()))
            self._ended.wait(AGAIN_S)

    def _listen(self) -> None:
        """Tells what the stream brings until it ends.

        Raises:
            OSError: the daemon is gone, or says nothing.
            HTTPException: the same.
        """
        connection = self._connection(SILENT_S)
        try:
            connection.connect()
            self._socket = connection.sock
            connection.request("GET", "/events")
            response = connection.getresponse()
            if response.status != _FINE:
                return
            while line := response.readline():
                self._take(line)
        finally:
            connection.close()

    def _take(self, line: bytes) -> None:
        """Takes a line of the stream.

        Raises:
            ValueError: another table's pages are here.
        """
        if not line.startswith(b"data: "):
            return
        told = _object(line.removeprefix(b"data: "))
        if told.get("table", self.table) != self.table:
            raise ValueError(_STRANGER)
        self.standing = True
        if "prompt" not in told:
            return
        current = told.get("round")
        seq = current.get("seq") if isinstance(current, dict) else None
        self._tell(Shown(self.table, "prompt", told["prompt"]))
        self._tell(Shown(self.table, "round", current))
        self._tell(Shown(self.table, "status", told.get("status")))
        if isinstance(seq, int) and seq != self._seq:
            self._seq = seq
            self._tell(last_events(self.table, self._place.directory))


def table_at(host: str, port: int, certificate: Path | None = None) -> str | None:
    """The table whose pages answer there; None where nobody does, or no table's pages do."""
    connection = _connection(host, port, certificate, SILENT_S)
    try:
        connection.request("GET", "/events")
        response = connection.getresponse()
        while line := response.readline(_LONGEST):
            if line.startswith(b"data: "):
                told = _object(line.removeprefix(b"data: ")).get("table")
                return told if isinstance(told, str) else None
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()
    return None


def last_events(table: str, directory: Path) -> Happened:
    """The last events of a table's journal."""
    try:
        with JournalReader(directory) as reader:
            head = reader.meta().head.seq
            records = reader.records(max(0, head - EVENTS), EVENTS)
    except (JournalError, OSError):
        return Happened(table, (), whole=True, unreadable=True)
    found = (read_event(record.body) for record in records)
    return Happened(table, tuple(event for event in found if event is not None), whole=True)


def _connection(host: str, port: int, certificate: Path | None, timeout: float) -> http.client.HTTPConnection:
    if certificate is None:
        return http.client.HTTPConnection(host, port, timeout=timeout)
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=_trusting(certificate))


def _trusting(certificate: Path) -> ssl.SSLContext:
    """Trusts exactly this certificate: it is the pages' own, whatever name it bears."""
    context = ssl.create_default_context(cafile=str(certificate))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context


def _object(body: bytes) -> Mapping[str, object]:
    try:
        fields: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _nobody(told: object) -> None:
    """Nobody listens yet."""
    del told
