"""The pages' server: what it tells, to whom, and that nothing a page does reaches the table."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from scannerd.display import require
from scannerd.display.server import MOST
from scannerd.errors import UsageError
from scannerd.mqtt.notices import Connected
from scannerd.texts import LANGUAGES, texts
from tests.certificates import Authority
from tests.mosquitto import free_port
from tests.showing import PATIENCE, Browser, Show, showing


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table with an open round."""
    with showing(tmp_path) as made:
        yield made


class Events:
    """A page's line of server-sent events."""

    def __init__(self, port: int) -> None:
        """Begins to listen."""
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._line.request("GET", "/events")
        self.response = self._line.getresponse()

    def next(self) -> tuple[str, dict[str, object]]:
        """The next event: its name and its data."""
        name, data = "", ""
        while line := self.response.readline().decode().rstrip("\n"):
            key, _, value = line.partition(": ")
            name, data = (value, data) if key == "event" else (name, value if key == "data" else data)
        return name, json.loads(data) if data else {}

    def until(self, code: str) -> dict[str, object]:
        """The first snapshot whose prompt has this code."""
        while True:
            name, data = self.next()
            prompt = data.get("prompt")
            if name == "show" and isinstance(prompt, dict) and prompt["code"] == code:
                return data

    def close(self) -> None:
        """The page is closed."""
        self.response.close()
        self._line.close()


@pytest.mark.parametrize("topic", ["prompt", "round", "status"])
def test_snapshot_is_the_same_bytes_as_the_topic(show: Show, topic: str) -> None:
    """`/prompt.json` and its like are byte for byte what the retained topic holds."""
    show.deal("AS")
    show.misread()
    assert show.fanout.shown.topics[topic] == Browser(show.port).get(f"/{topic}.json").body
    assert show.table.speaker.last(topic) == json.loads(show.fanout.shown.topics[topic])


def test_page_is_told_at_once_and_live(show: Show) -> None:
    """A page hears what the table is, what stands, and then each change, in every language."""
    with closing(Events(show.port)) as events:
        assert ("hello", "tp-01") == ((told := events.next())[0], told[1]["table"])
        assert {"A1"} == {str(dict(events.until("deal")["prompt"])["slot"])}  # type: ignore[call-overload]  # parsed JSON
        show.misread()
        told_again = events.until("rescan")
        sentences = told_again["sentences"]
        assert isinstance(sentences, dict)
        assert set(LANGUAGES) == set(sentences)
        assert json.loads(show.fanout.shown.topics["prompt"])["text"] == sentences["en"]


def test_page_hears_of_a_refused_read(show: Show) -> None:
    """A read that the prompt does not speak of is told too, with its reason, so that the page can sound."""
    show.deal("AS")
    show.take(show.table.asked("hold", id="c"))
    with closing(Events(show.port)) as events:
        events.until("call_supervisor")
        show.deal("KH")
        refused = None
        while refused is None:
            refused = events.next()[1].get("refused")
    assert isinstance(refused, dict)
    assert ("held", "KH") == (refused["reason"], refused["card"])


def test_heartbeat_goes_while_the_engine_turns(show: Show) -> None:
    """A page hears heartbeats; when the engine stands still they end, and `/healthz` says so."""
    with closing(Events(show.port)) as events:
        while events.next()[0] != "beat":
            pass
    assert 200 == Browser(show.port).get("/healthz").status
    show.table.clock.move(4_000_000)
    assert 503 == Browser(show.port).get("/healthz").status
    assert 503 == Browser(show.port).get("/readyz").status
    show.pulse += 1
    assert 200 == Browser(show.port).get("/healthz").status


def test_readiness_needs_a_sound_journal(show: Show) -> None:
    """The table is ready while its journal can be written."""
    assert {"ready": True, "prompt": "deal"} == Browser(show.port).get("/readyz").json
    show.run(show.table.fail)
    show.deal("AS")
    told = Browser(show.port).get("/readyz")
    assert (503, {"ready": False, "prompt": "storage_fault"}) == (told.status, told.json)


def test_all_words_are_served(show: Show) -> None:
    """A page has the words of every language, so that a switch asks nobody."""
    told = Browser(show.port).get("/texts.json").json
    assert list(LANGUAGES) == list(told)
    assert {language: texts(language).name for language in LANGUAGES} == {
        language: dict(found)["name"]  # type: ignore[call-overload]  # parsed JSON
        for language, found in told.items()
    }


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "tp-01.studio", "localhost.evil"])
def test_stranger_s_name_is_refused(show: Show, host: str) -> None:
    """A name that is not ours, though it resolves to this machine, opens nothing."""
    assert Browser(show.port).get("/prompt.json", Host=host or " ").status in {400, 421}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9999", "localhost", "LOCALHOST:1", "[::1]:8470", "10.0.0.7", "tp-01.studio"]
)
def test_own_names_and_addresses_are_taken(tmp_path: Path, host: str) -> None:
    """Addresses, localhost and the names of the configuration are ours."""
    with showing(tmp_path, hosts=["tp-01.studio"]) as show:
        assert 200 == Browser(show.port).get("/prompt.json", Host=host).status


@pytest.mark.parametrize(
    "path", ["/", "/supervisor", "/metrics", "/prompt.json", "/nothing", "/static/dealer.js", "/events"]
)
def test_every_answer_carries_the_security_headers(show: Show, path: str) -> None:
    """No page may be framed, run another's script, or be guessed at by its content."""
    line = http.client.HTTPConnection("127.0.0.1", show.port, timeout=PATIENCE)
    with closing(line):
        line.request("GET", path)
        headers = {name.lower(): value for name, value in line.getresponse().getheaders()}
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert ("nosniff", "DENY") == (headers["x-content-type-options"], headers["x-frame-options"])
    assert "server" not in headers


@pytest.mark.parametrize(
    "path", ["/static/../pin", "/static/%2e%2e/pin", "/static/pin", "/static//etc/passwd", "/static/"]
)
def test_no_path_leads_out_of_the_static_files(show: Show, path: str) -> None:
    """What is served is the package's own files, whatever a path says."""
    assert 404 == Browser(show.port).get(path).status


def test_pages_load_nothing_from_elsewhere() -> None:
    """The pages work with the network gone: no file that they are made of names another host, but for licences."""
    folder = Path(__file__).parent.parent / "scannerd" / "display" / "static"
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8")
        hosts = {
            host for host in re.findall(r"https?://([^/\"'\s)]+)", text) if host not in {"www.w3.org", "github.com"}
        }
        assert set() == hosts, file.name


def test_library_comes_with_its_licence(show: Show) -> None:
    """The chart library keeps its licence beside it."""
    assert b"Permission is hereby granted" in Browser(show.port).get("/static/uplot-license.txt").body


def test_page_that_never_reads_delays_nobody(show: Show) -> None:
    """Fifty pages and one that never reads: the table deals on, and who reads is told the latest."""
    with ExitStack() as pages:
        deaf = pages.enter_context(closing(socket.create_connection(("127.0.0.1", show.port))))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        others = [pages.enter_context(closing(Events(show.port))) for _ in range(50)]
        for number in range(40):
            show.take(show.table.asked("hold", id=f"h{number}", reason="x" * 4000))
            show.take(show.table.asked("release", id=f"r{number}"))
        show.deal("AS", "KH", "9D", "2C", "7S", "QH")
        show.run(lambda: show.table.pass_time(1_000_000))
        for events in others:
            told = events.until("complete")
            cards = dict(told["round"])["cards"]  # type: ignore[call-overload]  # parsed JSON
            assert {"A1": "AS", "B1": "KH", "A2": "9D", "B2": "2C", "A3": "7S", "B3": "QH"} == cards


def test_one_connection_too_many_is_closed(show: Show) -> None:
    """A flood of connections is cut at a bound, and when it ebbs the pages answer again."""
    with ExitStack() as flood:
        held = [
            flood.enter_context(closing(socket.create_connection(("127.0.0.1", show.port), PATIENCE)))
            for _ in range(MOST + 5)
        ]
        assert b"" == _end(held[-1])
    wait_for_answers(show.port)


def _end(line: socket.socket) -> bytes:
    try:
        return line.recv(1)
    except ConnectionResetError:
        return b""


def wait_for_answers(port: int, tls: ssl.SSLContext | None = None) -> None:
    """Returns once the pages take someone in."""
    until = time.monotonic() + PATIENCE
    while not _answers(port, tls):
        assert time.monotonic() < until, "the pages answer nobody"


def _answers(port: int, tls: ssl.SSLContext | None) -> bool:
    try:
        return Browser(port, tls=tls).get("/healthz").status == 200
    except (OSError, http.client.HTTPException):
        return False


def test_port_that_is_taken_keeps_no_table_from_dealing(tmp_path: Path) -> None:
    """Where the port is taken the table deals without pages, the status says so, and they are there once it is free."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        made = Show(tmp_path, listen=listen)
        made.run(lambda: made.table.engine.begin(made.fanout, made.table.stations, lambda _: None))
        assert not made.display.start()
        made.take(Connected(made.table.clock.now(), "broker"), made.table.up())
        assert "wait" == made.table.speaker.last("prompt")["code"]
        told = made.table.speaker.last("status")
        assert {"listen": listen, "served": False, "detail": "address already in use"} == told["display"]
        assert "online" == told["state"], "no card is kept by it"
    wait_for_answers(int(listen.rpartition(":")[2]))
    made.take(made.table.asked("open", id="c"))
    assert {"listen": listen, "served": True, "detail": None} == Browser(made.port).get("/status.json").json["display"]
    made.close()


def test_stop_ends_the_wait_for_a_port(tmp_path: Path) -> None:
    """A daemon whose pages still wait for their port ends as promptly as another."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        made = Show(tmp_path, listen=f"127.0.0.1:{other.getsockname()[1]}")
        made.run(lambda: made.table.engine.begin(made.fanout, made.table.stations, lambda _: None))
        assert not made.display.start()
        made.close()


def test_tls_serves_https(tmp_path: Path) -> None:
    """With a certificate the pages speak TLS, and the cookie says that it goes over nothing else."""
    authority = Authority(tmp_path)
    pair = authority.issue("127.0.0.1")
    with showing(tmp_path / "state", tls_cert=pair.cert, tls_key=pair.key) as show:
        context = ssl.create_default_context(cafile=authority.cert)
        browser = Browser(show.port, tls=context)
        assert 200 == browser.get("/prompt.json").status
        assert show.url.startswith("https://")
        assert "Secure" in browser.sign_in().headers["set-cookie"]
        forged = browser.ask("POST", "/supervisor/sign-out", {}, headers={"Origin": f"http://127.0.0.1:{show.port}"})
        assert 403 == forged.status


def test_unreadable_certificate_keeps_no_table_from_dealing(tmp_path: Path) -> None:
    """A certificate that is none leaves the table without pages, the status names it, and a good one brings them."""
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate", encoding="ascii")
    port = free_port()
    made = Show(tmp_path, listen=f"127.0.0.1:{port}", tls_cert=bad, tls_key=bad)
    made.run(lambda: made.table.engine.begin(made.fanout, made.table.stations, lambda _: None))
    assert not made.display.start()
    made.take(made.table.up())
    assert str(bad) in str(made.table.speaker.last("status")["display"])
    authority = Authority(tmp_path)
    pair = authority.issue("127.0.0.1")
    bad.write_bytes(Path(pair.key).read_bytes() + Path(pair.cert).read_bytes())
    wait_for_answers(port, ssl.create_default_context(cafile=authority.cert))
    made.close()


def test_missing_packages_are_told_with_the_remedy(tmp_path: Path) -> None:
    """Pages that are wanted but can't be served for want of a package are a fault of the installation, told as such."""
    from scannerd.config import load  # noqa: PLC0415 - only here

    file = tmp_path / "t.toml"
    file.write_text(
        '[table]\nid = "t"\n[[scanner]]\nname = "s"\ndriver = "line"\nurl = "/dev/null"\n', encoding="utf-8"
    )
    config = load(file)
    require(config)
    with pytest.raises(UsageError, match=r"nowhere_to_be_found not installed: install scannerd\[display\]"):
        require(config, ("nowhere_to_be_found",))
