"""What the daemon runs on: computed beside the engine, on the status topic, and an event where it is not as before."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from pathlib import Path

from scannerd.config import load
from scannerd.engine import SELF_CHECK
from scannerd.inbox import CheckCause, Checked
from scannerd.notebook import Digests
from scannerd.roles import Duties
from scannerd.upkeep.self_check import SelfCheck, code_digest, digests_of, packages
from tests.fakes import SECOND, SIX, FakeClock, Table
from tests.wire import BOUND_S

OLD = Digests("a" * 64, "b" * 64, {"shoe": "c" * 64})
NEW = Digests("d" * 64, "b" * 64, {"shoe": "c" * 64})


class Asked:
    """Keeps why a self-check was asked for."""

    def __init__(self) -> None:
        """Nobody asked yet."""
        self.causes: list[tuple[CheckCause, str | None]] = []

    def __call__(self, cause: CheckCause, by: str | None) -> None:
        """Notes it."""
        self.causes.append((cause, by))


def table_at(folder: Path, asked: Asked, clock: FakeClock | None = None) -> Table:
    """A table that may deal."""
    return Table(folder, clock=clock, duties=Duties(check=asked)).ready()


def checks(table: Table) -> list[object]:
    """The data of the events about self-checks."""
    return [event["data"] for event in table.events() if event["type"] == "self_check"]


def test_check_is_due_at_the_start_and_every_day(tmp_path: Path) -> None:
    """A check begins with the process, and then every 24 h."""
    asked = Asked()
    table = table_at(tmp_path, asked)
    table.pass_time(SELF_CHECK - SECOND)
    assert [("start", None)] == asked.causes
    table.pass_time(SECOND)
    table.pass_time(SECOND)
    assert [("start", None), ("daily", None)] == asked.causes


def test_result_is_on_the_status_topic(tmp_path: Path) -> None:
    """What was found is on the status topic with its time, and as nothing has changed it is no event."""
    table = table_at(tmp_path, Asked())
    assert table.speaker.last("status")["self_check"] is None
    table.take(Checked("start", None, OLD))
    assert {
        "at": "2026-11-30T12:00:00.000000Z",
        "code_digest": "a" * 64,
        "config_digest": "b" * 64,
        "codebooks": {"shoe": "c" * 64},
    } == table.speaker.last("status")["self_check"]
    assert [] == checks(table)
    assert "a" * 64 == json.loads(table.engine.final_status())["self_check"]["code_digest"]


def test_change_is_an_event_with_both_digests(tmp_path: Path) -> None:
    """What is not as the check before found it is an event with what is found and what was, and once only."""
    table = table_at(tmp_path, Asked())
    for digests in (OLD, OLD, NEW, NEW):
        table.take(Checked("daily", None, digests))
    assert [
        {
            "cause": "daily",
            "by": None,
            "code_digest": "d" * 64,
            "config_digest": "b" * 64,
            "codebooks": {"shoe": "c" * 64},
            "changed": ["code"],
            "previous_code_digest": "a" * 64,
            "previous_config_digest": "b" * 64,
            "previous_codebooks": {"shoe": "c" * 64},
        }
    ] == checks(table)


def test_change_since_the_last_start_is_told(tmp_path: Path) -> None:
    """What the last process ran on is remembered with its rounds, and a start on something else is an event."""
    table = table_at(tmp_path, Asked())
    table.take(Checked("start", None, OLD))
    table.command("open", id="c1")
    table.deal(*SIX)
    table.pass_time(SECOND)
    table.crash()
    again = table_at(tmp_path, Asked(), table.clock)
    again.take(Checked("start", None, NEW))
    assert [["code"]] == [one["changed"] for one in checks(again) if isinstance(one, dict)]
    again.crash()
    third = table_at(tmp_path, Asked(), table.clock)
    third.take(Checked("start", None, NEW))
    assert 1 == len(checks(third))


def test_command_asks_for_one(tmp_path: Path) -> None:
    """`self_check` is answered at once, and its result is an event that names who asked."""
    asked = Asked()
    table = table_at(tmp_path, asked)
    assert {"id": "c1", "ok": True, "seq": None} == table.command("self_check", id="c1", by="eva")
    assert ("command", "eva") == asked.causes[-1]
    table.take(Checked("command", "eva", OLD))
    (told,) = [one for one in checks(table) if isinstance(one, dict)]
    assert ("command", "eva", [], None) == (told["cause"], told["by"], told["changed"], told["previous_code_digest"])


def test_result_that_can_not_be_written_is_found_again(tmp_path: Path) -> None:
    """A result that comes while the journal has failed is not taken; when it is sound again there is another check."""
    asked = Asked()
    table = table_at(tmp_path, asked)
    table.fail()
    table.take(table.up("spare"))
    table.take(Checked("start", None, OLD))
    assert table.speaker.last("status")["self_check"] is None
    table.mend()
    table.pass_time(3 * SECOND)
    assert [("start", None), ("daily", None)] == asked.causes


def test_check_runs_in_a_thread_of_its_own() -> None:
    """Asking does not wait; while a check is under way no second begins, and one may be asked for after it."""
    posted: queue.SimpleQueue[Checked] = queue.SimpleQueue()
    go, threads = threading.Event(), list[str]()

    def slow() -> Digests:
        threads.append(threading.current_thread().name)
        assert go.wait(BOUND_S)
        return OLD

    check = SelfCheck(slow, posted.put)
    check.join(time.monotonic())
    check.ask("start")
    check.ask("command", "eva")
    go.set()
    assert Checked("start", None, OLD) == posted.get(timeout=BOUND_S)
    check.join(time.monotonic() + BOUND_S)
    check.ask("command", "eva")
    assert Checked("command", "eva", OLD) == posted.get(timeout=BOUND_S)
    assert ["self-check", "self-check"] == threads


def test_failed_check_stops_no_table() -> None:
    """A check that fails in an unforeseen way finds nothing, and says so."""
    posted: queue.SimpleQueue[Checked] = queue.SimpleQueue()

    def failing() -> Digests:
        raise ZeroDivisionError

    SelfCheck(failing, posted.put).ask("start")
    assert Checked("start", None, Digests(None, None, {})) == posted.get(timeout=BOUND_S)


def test_code_digest_follows_every_file(tmp_path: Path) -> None:
    """A changed, renamed or added file changes the digest; compiled files, and where the package lies, do not."""
    for place in ("one", "two"):
        package = tmp_path / place / "pack"
        (package / "inner").mkdir(parents=True)
        (package / "__init__.py").write_text("x = 1\n")
        (package / "inner" / "words.toml").write_text("a = 1\n")
    (tmp_path / "solo.py").write_text("y = 1\n")
    one, two = ({"pack": tmp_path / place / "pack", "solo": tmp_path / "solo.py"} for place in ("one", "two"))
    (two["pack"] / "__pycache__").mkdir()
    (two["pack"] / "__pycache__" / "x.pyc").write_bytes(b"\x00")
    assert code_digest(one) == code_digest(two)
    (two["pack"] / "inner" / "words.toml").write_text("a = 2\n")
    changed = code_digest(two)
    (two["pack"] / "inner" / "words.toml").rename(two["pack"] / "inner" / "word.toml")
    renamed = code_digest(two)
    (tmp_path / "solo.py").write_text("y = 2\n")
    assert 4 == len({code_digest(one), changed, renamed, code_digest(two)})


def test_packages_are_those_that_run() -> None:
    """The code is what was imported: a package's folder, or a module's file."""
    found = packages({"scannerd", "scannerd.core.cards", "json.decoder", "queue", "sys", "none.such"})
    assert {"json", "queue", "scannerd"} == set(found)
    assert (Path(json.__file__).parent, Path(queue.__file__)) == (found["json"], found["queue"])


def test_digests_are_of_what_is_on_the_disk(tmp_path: Path) -> None:
    """The configuration and its codebooks are read afresh; a file that can't be used any more is none."""
    file = tmp_path / "tp-01.toml"
    file.write_text('[table]\nid = "tp-01"\n[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/shoe"\n')
    config = load(file)
    found = digests_of(config)
    assert (config.digest, {"shoe": config.scanners[0].codebook.digest}) == (found.config, found.codebooks)
    drivers = Path(str(sys.modules["scannerd_drivers"].__file__)).parent
    scannerd = Path(str(sys.modules["scannerd"].__file__)).parent
    assert code_digest({"scannerd": scannerd, "scannerd_drivers": drivers}) == found.code
    file.write_text(file.read_text() + "[round]\nbounce_ms = 1\n")
    assert found.config != digests_of(config).config
    file.write_text("[table\n")
    assert Digests(found.code, None, {}) == digests_of(config)
