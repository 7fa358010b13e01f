"""The file for a report: all that helps, whatever is broken, and no secret."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scannerd.cli import run
from scannerd.display.pin import hashed
from scannerd.doctor.findings import Finding, fail
from scannerd.errors import Exit, UsageError
from scannerd.journal import Batch
from scannerd.redaction import HIDDEN, cleaned, is_secret, scrubber, without_userinfo
from scannerd.support.bundle import Bundle, Item, as_json, new_file
from scannerd.support.configuration import show
from scannerd.support.gathering import NOT_INSIDE, Wish, World, about, gathered
from scannerd.support.machine import run as run_program
from scannerd.support.traces import fetch, recordings
from tests.daemon import StartDaemon, start_daemon_fixture
from tests.journals import filled, harm, opened, record

__all__ = ["start_daemon_fixture"]

CLOCK = "T100000000000Z"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CONFIG = """\
[table]
id = "tp-01"
state_dir = "state"
[[scanner]]
name = "shoe"
driver = "line"
url = "/dev/scannerd/shoe"
[record]
directory = "recordings"
"""


def nothing(_path: Path) -> Iterable[tuple[str, list[Finding]]]:
    """A machine on which nothing is to be found."""
    return ()


def silent(command: Sequence[str]) -> str:
    """A system whose programs have nothing to say."""
    return f"{command[0]} said\n"


def deaf(_host: str, _port: int, _path: str) -> bytes:
    """A daemon that does not run."""
    raise ConnectionRefusedError("nobody listens")


WORLD = World(nothing, silent, deaf, Path("/nonexistent"))


def files(packed: bytes) -> dict[str, bytes]:
    """The content of a report by name, its folder left out."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        opened_files = [(member.name, archive.extractfile(member)) for member in archive.getmembers()]
        return {name.partition("/")[2]: file.read() for name, file in opened_files if file is not None}


def packed(wish: Wish, world: World = WORLD) -> bytes:
    """A report of noon."""
    out = io.BytesIO()
    gathered(wish, world, NOON).write(out, about(wish))
    return out.getvalue()


def report(wish: Wish, world: World = WORLD) -> dict[str, bytes]:
    """The content of a report."""
    return files(packed(wish, world))


def lacking(found: dict[str, bytes]) -> dict[str, str]:
    """What a report says could not be had, and why."""
    return {lack["what"]: lack["why"] for lack in json.loads(found["manifest.json"])["lacking"]}


def table(folder: Path, text: str = CONFIG, events: int = 5) -> Wish:
    """A table with a journal and a recording; what to ask for to get all of it."""
    filled(folder / "state", events)
    (folder / "recordings").mkdir()
    (folder / "recordings/tp-01-20261130T100000000000Z.scanlog").write_bytes(b'{"scanlog":1}\n{"t":1,"end":true}\n')
    config = folder / "tp-01.toml"
    config.write_text(text, encoding="utf-8")
    return Wish(config)


def test_all_is_inside(tmp_path: Path) -> None:
    """Of a table that is well a report has everything, and the manifest has the digest of each file."""
    wish = table(tmp_path)

    def examined(path: Path) -> Iterable[tuple[str, list[Finding]]]:
        assert wish.config == path
        yield "machine", [fail("clock", "it is wrong", "set it")]

    def figures(host: str, port: int, path: str) -> bytes:
        return f"{host}:{port}{path}".encode()

    found = report(wish, World(examined, silent, figures, tmp_path))
    assert {
        "manifest.json",
        "versions.json",
        "config/check.txt",
        "config/config.json",
        "unit.txt",
        "log.txt",
        "state.json",
        "journal/about.json",
        "journal/tail.jsonl",
        "journal/stats.json",
        "journal/verify.json",
        "recordings/tp-01-20261130T100000000000Z.scanlog",
        "metrics.txt",
        "doctor.json",
    } == found.keys()
    manifest = json.loads(found["manifest.json"])
    told = {file["name"]: (file["bytes"], file["sha256"]) for file in manifest["files"]}
    assert told == {
        name: (len(content), sha256(content).hexdigest()) for name, content in found.items() if name != "manifest.json"
    }
    assert [] == manifest["lacking"]
    assert [*NOT_INSIDE] == manifest["not_inside"]
    assert b"127.0.0.1:8470/metrics" == found["metrics.txt"]
    assert [{"group": "machine", "check": "clock", "level": "fail", "text": "it is wrong", "remedy": "set it"}] == (
        json.loads(found["doctor.json"])
    )
    assert b"well\n" == found["config/check.txt"]
    assert "/dev/scannerd/shoe" == json.loads(found["config/config.json"])["says"]["scanner"][0]["url"]
    assert (True, 5) == tuple(json.loads(found["journal/verify.json"])[key] for key in ("sound", "events"))
    assert {"pydantic", "paho-mqtt"} <= json.loads(found["versions.json"])["packages"].keys()


def test_same_table_same_bytes(tmp_path: Path) -> None:
    """The same parts of one moment are the same bytes, whatever order they came in; only the machine moves on."""
    wish = table(tmp_path)
    moves = {"versions.json", "state.json", "manifest.json"}
    first, second = report(wish), report(wish)
    assert list(first) == list(second) == ["manifest.json", *sorted(first.keys() - {"manifest.json"})]
    assert [name for name in first if first[name] != second[name] and name not in moves] == []
    one, other = io.BytesIO(), io.BytesIO()
    items = [Item("b", b"2"), Item("a/c", b"1")]
    Bundle("x", NOON, items=items).write(one, {})
    Bundle("x", NOON, items=items[::-1]).write(other, {})
    assert one.getvalue() == other.getvalue()


def test_tail_is_the_last_events_as_they_were_sent(tmp_path: Path) -> None:
    """Of the journal the last events are inside, byte for byte."""
    wish = table(tmp_path, events=9)
    with opened(tmp_path / "state") as journal:
        bodies = [event.body for event in journal.records(6, 10)]
    found = report(Wish(wish.config, events=3, prove=False))
    assert bodies == found["journal/tail.jsonl"].splitlines()
    assert "journal/verify.json" not in found


def test_broken_configuration_takes_nothing_from_the_rest(tmp_path: Path) -> None:
    """With a configuration that is refused the report says why, and journal and recordings are there all the same."""
    wish = table(tmp_path, CONFIG.replace('driver = "line"', 'driver = "lime"'))
    found = report(wish)
    assert b"no driver 'lime', did you mean 'line'?" in found["config/check.txt"]
    assert {"journal/tail.jsonl", "recordings/tp-01-20261130T100000000000Z.scanlog", "unit.txt"} <= found.keys()
    assert {"doctor": "the configuration can't be used"} == {"doctor": lacking(found)["doctor"]}


def test_configuration_that_is_no_toml_is_shown_line_by_line(tmp_path: Path) -> None:
    """Where a file is no TOML the lines are shown that hold nothing secret, each in its place."""
    text = '# mine\n[table]\nid = "tp-01" # one\n\n[mqtt\nusername = "u"\npassword_file = "p"\nurl = "mqtt://u:p@h"\n=3'
    (tmp_path / "tp-01.toml").write_text(text)
    found = report(Wish(tmp_path / "tp-01.toml"))
    assert [
        HIDDEN,
        "[table]",
        'id = "tp-01"',
        "",
        HIDDEN,
        'username = "u"',
        f"password_file = {HIDDEN}",
        f'url = "mqtt://{HIDDEN}@h"',
        HIDDEN,
    ] == found["config/config.toml"].decode().splitlines()
    assert b"tp-01.toml:5: expected TOML" in found["config/check.txt"]


def test_no_configuration_at_all(tmp_path: Path) -> None:
    """A configuration that is not there is told, and the machine is looked at; so it is where none is named."""
    found = report(Wish(tmp_path / "absent.toml"))
    assert b"absent.toml: can't be read: No such file" in found["config/check.txt"]
    assert {"versions.json", "log.txt"} <= found.keys()
    assert {"versions.json", "manifest.json"} == report(Wish(None)).keys()


@pytest.mark.parametrize(
    ("statement", "tail"),
    [("DELETE FROM meta", 5), ("UPDATE events SET body = x'00' WHERE seq = 3", 5), ("DROP TABLE events", None)],
)
def test_damaged_journal_is_told_as_far_as_it_can_be_read(tmp_path: Path, statement: str, tail: int | None) -> None:
    """Of a damaged journal the events that can be read are inside, and the verdict says what is wrong."""
    wish = table(tmp_path)
    harm(tmp_path / "state/journal.db", statement)
    found = report(wish)
    assert json.loads(found["journal/verify.json"])["sound"] is False
    lines = found.get("journal/tail.jsonl")
    assert tail == (None if lines is None else lines.count(b"\n"))


def test_file_that_is_no_journal(tmp_path: Path) -> None:
    """Where the journal is no database at all, that is the verdict, and what else there is is inside."""
    wish = table(tmp_path)
    (tmp_path / "state/journal.db").write_bytes(b"no journal, but a text of some length" * 200)
    found = report(wish)
    assert "no SQLite file" in json.loads(found["journal/verify.json"])["trouble"]
    assert "no SQLite file" in lacking(found)["the journal"]
    assert "journal.db" in found["state.json"].decode()
    assert "recordings/tp-01-20261130T100000000000Z.scanlog" in found


def test_journal_that_breaks_off(tmp_path: Path) -> None:
    """Events before a page that can't be read are inside, and the manifest says that there should be more."""
    wish = table(tmp_path, events=400)
    path = tmp_path / "state/journal.db"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 40 * 4096] + b"\xff" * 40 * 4096)
    found = report(wish)
    assert 0 < found["journal/tail.jsonl"].count(b"\n") < 400
    assert "damaged" in lacking(found)["the journal's last events"]


def test_part_that_fails_for_a_reason_nobody_foresaw(tmp_path: Path) -> None:
    """A fault of ours in one part is in the report, with where it happened, and takes nothing from the others."""

    def broken(_path: Path) -> Iterable[tuple[str, list[Finding]]]:
        raise RuntimeError("nobody foresaw this")

    found = report(table(tmp_path), World(broken, silent, deaf, tmp_path))
    assert "RuntimeError('nobody foresaw this')" == lacking(found)["doctor"]
    assert b"in broken" in found["faults/doctor.txt"]
    assert "journal/tail.jsonl" in found


def test_programs_that_are_not_there(tmp_path: Path) -> None:
    """Without systemd the unit and the log are lacking, and the manifest says why."""

    def absent(command: Sequence[str]) -> str:
        return run_program([f"absent-{command[0]}"])

    told = lacking(report(table(tmp_path), World(nothing, absent, deaf, tmp_path)))
    assert "absent-systemctl" in told["the unit"]
    assert "absent-journalctl" in told["the log"]
    assert "nobody listens" == told["the pages' figures"]


def test_program_that_fails_or_hangs() -> None:
    """A program that fails is told with its first line."""
    assert "well\n" == run_program(["echo", "well"])
    with pytest.raises(OSError, match="ended with 3: not booted"):
        run_program(["sh", "-c", "echo not booted >&2; echo more >&2; exit 3"])


def test_pages_that_do_not_answer() -> None:
    """Figures are asked for over HTTP; where nobody listens that is an OSError."""
    with pytest.raises(OSError, match="refused"):
        fetch("127.0.0.1", 1, "/metrics")


def test_recordings_are_bounded(tmp_path: Path) -> None:
    """The newest recordings are inside as far as there is room; of one that is too large its header and its end."""
    lines = [b'{"scanlog":1}', *(b'{"t":%d}' % number for number in range(2000))]
    for day in range(3):
        (tmp_path / f"tp-01-2026110{day}{CLOCK}.scanlog").write_bytes(b"\n".join(lines) + b"\n")
    (tmp_path / f"tp-01-b-20261130{CLOCK}.scanlog").write_bytes(b"another table's")
    size = (tmp_path / f"tp-01-20261100{CLOCK}.scanlog").stat().st_size

    found = {item.name: item.content for item in recordings(tmp_path, "tp-01", size + 5_000)}
    assert [f"recordings/tp-01-20261102{CLOCK}.scanlog", f"recordings/tp-01-20261101{CLOCK}.end.scanlog"] == list(found)
    end = found[f"recordings/tp-01-20261101{CLOCK}.end.scanlog"]
    assert 4_900 < len(end) <= 5_000
    assert [lines[0], *lines[-len(end.splitlines()) + 1 :]] == end.splitlines()
    assert [] == list(recordings(tmp_path, "tp-01", 0))
    assert 3 == len(list(recordings(tmp_path, "tp-01", 10 * size)))


# --- the file ---


def test_only_recordings_are_taken_for_recordings(tmp_path: Path) -> None:
    """A link or a pipe that bears a recording's name is left out, for the folder is not root's, and root packs it."""
    kept, folder = tmp_path / "tp-01-20261130T100000000000Z.scanlog", tmp_path
    kept.write_text('{"scanlog":1}\n')
    (tmp_path / "shadow").write_text("root:secret\n")
    (folder / "tp-01-20261130T110000000000Z.scanlog").symlink_to(tmp_path / "shadow")
    os.mkfifo(folder / "tp-01-20261130T120000000000Z.scanlog")
    assert [f"recordings/{kept.name}"] == [item.name for item in recordings(folder, "tp-01", 10_000)]


def test_pipe_instead_of_a_secret_is_not_waited_for(tmp_path: Path) -> None:
    """What a configuration names as a secret's file, and is a pipe, holds nothing up."""
    os.mkfifo(tmp_path / "password")
    shown = show(tmp_path / "tp-01.toml", CONFIG + '[mqtt]\npassword_file = "password"\n', tmp_path)
    assert shown.data is not None
    assert {"password_file": f"{HIDDEN} a file, mode 0644"} == shown.data["mqtt"]


def test_file_is_ours_alone_and_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has mode 0600; one that is there, a link too, is not touched."""
    output = tmp_path / "report.tar.gz"
    assert Exit.WELL == run(["support", "-o", str(output)])
    assert "versions.json" in capsys.readouterr().out
    assert 0o600 == stat.S_IMODE(output.stat().st_mode)
    before = output.read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for taken in (output, tmp_path / "link"):
        assert Exit.USAGE == run(["support", "-o", str(taken)])
        assert "is there already" in capsys.readouterr().err
    assert before == output.read_bytes()
    assert not (tmp_path / "elsewhere").exists()
    assert Exit.USAGE == run(["support", "-o", str(tmp_path / "no/report.tar.gz")])


def test_file_that_can_not_be_finished_is_taken_away(tmp_path: Path) -> None:
    """Half a report is none: where writing fails nothing stays behind, and the trouble is one line."""
    path = tmp_path / "report"
    with pytest.raises(UsageError, match="can't be written: the disk"), new_file(path):
        raise OSError(28, "the disk is full")
    assert not path.exists()
    with pytest.raises(KeyboardInterrupt), new_file(path):
        raise KeyboardInterrupt
    assert not path.exists()


def test_report_of_a_table_that_runs(start_daemon: StartDaemon) -> None:
    """`scannerd support` beside a running daemon packs its journal, with doctor's findings, and disturbs nobody."""
    daemon = start_daemon("mqtt://127.0.0.1:1", 'start = "auto"\nrequire_broker = false')
    daemon.wait_for_journal("scanner_up")
    output = daemon.folder / "report.tar.gz"
    told = daemon.run("support", "-o", str(output))
    assert (Exit.WELL, "") == (told.returncode, told.stderr)
    found = files(output.read_bytes())
    findings = json.loads(found["doctor.json"])
    assert f"pid {daemon.process.pid} runs the table" in " ".join(finding["text"] for finding in findings)
    assert json.loads(found["journal/verify.json"])["sound"] is True
    assert b"scanner_up" in found["journal/tail.jsonl"]
    assert f"config/config.json  {len(found['config/config.json'])} bytes" in told.stdout
    assert 0 == daemon.stop()


# --- secrets ---

LETTERS = "".join(chr(code) for code in range(33, 127)) + "äß€"
SECRETS = st.text(LETTERS, min_size=6, max_size=24).map(lambda text: f"Zq{text}")
PLACES = (
    '[mqtt]\nurl = "mqtts://user:{url}@broker:8883"\n',
    '[mqtt]\nurl = "mqtts://{url}@broker:8883,mqtt://b"\n',
    "[mqtt]\nusername = 'u'\npassword = {toml}\n",
    "[mqtt]\nusername = 'u'\npasswrod = {toml}\n",
    "[mqtt]\nusername = 'u'\npassword_file = {toml}\n",
    "[mqtt]\nusername = 'u'\npassword_file = 'password'\n",
    "[display]\npin_file = 'password'\n",
    "[journal]\nsigning_key = 'password'\n",
    "[broker]\nlogin = [{toml}]\n",
    "# the password is {plain}\n",
    "[round]\nbounce_ms = 400 # {plain}\n",
    "[mqtt]\npassword = {toml}\nnot toml\n",
    "[mqtt]\npassword = '''\n{plain}\n",
    "[mqtt\nurl = 'mqtt://u:{url}@b'\n",
    "[mqtt]\n{plain}\n",
    "[mqtt]\nurl = 'mqtt://b' {plain}\n",
)


NASTY = "Zq\"a\\b'c@d/e:f%g#h ä€".replace(" ", "")


def kept_in(place: str, secret: str, folder: Path) -> tuple[str, str]:
    """Puts a secret in its place: the text of the configuration, and the secret as it stands there."""
    url = "".join(letter for letter in secret if letter not in "\"'<>\\")
    held = hashed("123456") if "pin" in place else secret
    (folder / "password").write_text(f"{held}\n", encoding="utf-8")
    text = place.format(url=url, toml=json.dumps(secret, ensure_ascii=False), plain=secret)
    return text, url if "{url}" in place else held if "'password'" in place else secret


def forms(secret: str) -> set[bytes]:
    """How a secret may stand in a file."""
    return {form.encode() for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])}


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_in_the_bytes(tmp_path: Path, place: str) -> None:
    """Wherever a password stands, in a file, a URL, a comment, a misspelt key or a file that is no TOML, no byte of the
    report has it, be it repeated in the log, the journal or a recording.
    """
    own, secret = kept_in(place, NASTY, tmp_path)
    wish = table(tmp_path, CONFIG + own, events=1)
    repeated = "#" not in place  # nobody can know that a word of a comment is one
    if repeated:
        _repeat(tmp_path, secret)

    def told(command: Sequence[str]) -> str:
        return f"{command}: {secret} {json.dumps(secret)}\n" if repeated else ""

    content = b"\n".join(report(wish, World(nothing, told, deaf, tmp_path)).values())
    assert [] == [form for form in forms(secret) if form in content]
    assert not repeated or content.count(HIDDEN.encode()) > 3


@settings(deadline=None, max_examples=60)
@given(SECRETS, st.sampled_from(PLACES))
def test_no_secret_is_shown_of_a_configuration(secret: str, place: str) -> None:
    """Whatever a password is made of, a configuration is shown without it, and what quotes it is cleaned of it."""
    with TemporaryDirectory() as name:
        own, kept = kept_in(place, secret, Path(name))
        shown = show(Path(name, "tp-01.toml"), CONFIG + own, Path(name))
        bundle = Bundle("x", NOON, scrubber(shown.secrets))
        bundle.add(Item("shown", as_json(shown.data) + "\n".join(shown.lines).encode()))
        if "#" not in place:
            bundle.add(Item("log", f"{kept} {json.dumps(kept)} {kept!r}".encode()))
            bundle.lack("log", f"{kept} is wrong")
    content = b"\n".join(item.content for item in bundle.items) + b"".join(lack.why.encode() for lack in bundle.lacking)
    assert [] == [form for form in forms(kept) if form in content]


@pytest.mark.parametrize(
    "url", ["u:{}@broker:1883", "mqtt://u:{}@broker", "mqtt://{}@a,mqtts://u:{}@b", "u: {}@broker", "mqtt:/u:{}@broker"]
)
@pytest.mark.parametrize("broken", ["", "not toml\n"])
def test_no_password_is_shown_of_a_url_that_is_none(tmp_path: Path, url: str, broken: str) -> None:
    """Before the host of a URL nothing is shown, though its scheme was forgotten or a password has blanks or quotes,
    and a complaint that quotes the URL is cleaned of the password.
    """
    secret = 'correct horse, it\'s"<so>"://x@y'
    own = f"[mqtt]\nurl = {json.dumps(url.replace('{}', secret))}\n{broken}"
    content = b"\n".join(report(table(tmp_path, CONFIG + own, events=1)).values())
    assert [] == [form for form in forms(secret) if form in content]


def _repeat(folder: Path, secret: str) -> None:
    """Somebody typed it where it does not belong."""
    with opened(folder / "state") as journal:
        one = record(journal.journal_id, journal.head, kind="round_held", data={"reason": secret, "by": None})
        journal.append(Batch(records=(one,)))
    line = json.dumps({"t": 1, "command": "hold", "args": {"id": "c", "reason": secret}})
    (folder / "recordings/tp-01-20261130T110000000000Z.scanlog").write_text(
        f'{{"scanlog":1}}\n{line}\n', encoding="utf-8"
    )


def test_credentials_are_looked_for_everywhere(tmp_path: Path) -> None:
    """What systemd gives the service as a secret is hidden where it was written into something else."""
    wish = table(tmp_path)
    (tmp_path / "scannerd-tp-01.mqtt-password").write_text("Correct horse 7\n")
    (tmp_path / "scannerd-tp-02.mqtt-password").write_text("another table's\n")

    def told(command: Sequence[str]) -> str:
        return f"{command[0]} Correct horse 7; another table's\n"

    found = report(wish, World(nothing, told, deaf, tmp_path))
    assert f"journalctl {HIDDEN}; another table's\n".encode() == found["log.txt"]


def test_what_is_no_secret_stays(tmp_path: Path) -> None:
    """A comment or a misspelt key hides no name the rest needs, and a secret's file shows its mode."""
    (tmp_path / "password").write_text("Correct horse 7\n")
    (tmp_path / "password").chmod(0o640)
    own = '# the shoe of tp-01\n[mqtt]\nusername = "tp-01"\npassword_file = "password"\n[rounb]\nname = "shoe"\n'
    found = report(table(tmp_path, CONFIG + own))
    says = json.loads(found["config/config.json"])["says"]
    assert f"{HIDDEN} a file, mode 0640" == says["mqtt"]["password_file"]
    assert f"{HIDDEN} an unknown key" == says["rounb"]["name"]
    assert ("tp-01", "shoe") == (says["table"]["id"], says["scanner"][0]["name"])
    assert b'"shoe"' in found["journal/tail.jsonl"]


def test_configuration_that_is_nested_too_deep_is_cleaned(tmp_path: Path) -> None:
    """What no parser can follow is shown line by line, and its secrets are found."""
    deep = f"x = {'[' * 3000}{']' * 3000}\n"
    shown = show(tmp_path / "x.toml", f'[mqtt]\npassword = "Correct horse 7"\n{deep}', tmp_path)
    assert ["[mqtt]", HIDDEN] == shown.lines[:2]
    assert "Correct horse 7" in shown.secrets


def test_secret_that_is_no_text_is_hidden(tmp_path: Path) -> None:
    """A key of raw bytes, or a name in another encoding, is no trouble, and the key is cleaned out."""
    wish = table(tmp_path, CONFIG + '[mqtt]\nusername = "u"\npassword_file = "password"\n', events=1)
    assert wish.config is not None
    odd = wish.config.rename(tmp_path / os.fsdecode(b"tp-\xe4.toml"))
    (tmp_path / "password").write_bytes(b"\xdb\x01\xffkey")
    (tmp_path / "recordings/tp-01-20261130T110000000000Z.scanlog").write_bytes(b"is \xdb\x01\xffkey")
    found = report(Wish(odd, events=1))
    assert b"well\n" == found["config/check.txt"]
    assert f"is {HIDDEN}".encode() == found["recordings/tp-01-20261130T110000000000Z.scanlog"]


def test_table_in_place_of_a_value_is_hidden(tmp_path: Path) -> None:
    """A section that was put where a value belongs may hold anything; it is neither shown nor quoted."""
    own = '[mqtt]\nusername = { name = "Zq1secret", password = "Zq2secret" }\n'
    content = b"\n".join(report(table(tmp_path, CONFIG + own, events=1)).values())
    assert b"Zq" not in content


def test_values_of_every_kind_are_shown_or_hidden(tmp_path: Path) -> None:
    """Numbers and lists are shown; what stands in no section, or is no text where a file is named, is not."""
    text = "config_version = 1\nlogin = 'sesame street'\n[mqtt]\npassword_file = 77777\nprotocol = 5\n"
    shown = show(tmp_path / "x.toml", f"{text}[display]\nhosts = ['a', 'b']\n", tmp_path)
    assert {
        "config_version": 1,
        "login": f"{HIDDEN} in no section",
        "mqtt": {"password_file": HIDDEN, "protocol": 5},
        "display": {"hosts": ["a", "b"]},
    } == shown.data
    assert {"sesame street", "77777"} == shown.secrets


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("password_file", True),
        ("Mqtt-Password", True),
        ("tls_key", True),
        ("pin_file", True),
        ("auth", True),
        ("accessToken", True),
        ("ping", False),
        ("keys", False),
        ("author", False),
        ("keep_days", False),
    ],
)
def test_key_that_speaks_of_a_secret(key: str, secret: bool) -> None:  # noqa: FBT001 - the table's second column
    """A key is known by its words; what only looks like one is shown."""
    assert is_secret(key) is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mqtt://h:1883", "mqtt://h:1883"),
        ("mqtt://u:p@h:1883", f"mqtt://{HIDDEN}@h:1883"),
        ("at mqtt://u:p@ss/w@h now, u@h", f"at mqtt://{HIDDEN}@h now, u@h"),
        ("http://h/x?a=1&token=abc&b=2", f"http://h/x?a=1&token={HIDDEN}&b=2"),
        ("u:p@h", "u:p@h"),
    ],
)
def test_what_stands_before_the_host_is_hidden(text: str, shown: str) -> None:
    """User, password and tokens of a URL are hidden; the host stays."""
    assert shown == without_userinfo(text)
    assert {"a": [shown], "token": HIDDEN} == cleaned({"a": (text,), "token": [text]})
