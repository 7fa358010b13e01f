"""The command `teen-patti-engine`."""

from __future__ import annotations

import json
import os
import signal
import threading
from decimal import Decimal
from pathlib import Path

from click.testing import CliRunner

from scannerd.client import BEGINNING, Position
from teen_patti.cli import main
from teen_patti.keeping import Keeper, Kept
from teen_patti.starting import Stop
from teen_patti.state import Phase, State
from tests.engine_play import Play
from tests.mosquitto import (  # noqa: F401 - pytest finds the fixtures by name
    StartBroker,
    broker_fixture,
    start_broker_fixture,
)
from tests.refusing import RefusingBroker
from tests.wire import Subscriber


def run(*arguments: str) -> str:
    """The output of the command."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_odds_are_printed_with_their_counts() -> None:
    """The table has every bet's return to player and the counts it rests on."""
    printed = run("odds")
    returns = [line.split() for line in printed.splitlines() if "return to player" in line]
    assert [line[-2] for line in returns] == ["97.50", "97.50", "5.64", "93.09", "93.09", "91.44"]
    for expected in ("975.03 of 1,000.00", "203,359,936", "407,170,400", "20,358,520", "22,100", "1,000:1"):
        assert expected in printed


def test_odds_as_json_are_exact() -> None:
    """As JSON the returns are exact fractions and the counts are numbers."""
    told = json.loads(run("odds", "--json"))
    first = told["bets"][0]
    assert first["return_to_player"] == {"exact": "9543327/9787750", "percent": "97.50"}
    assert first["outcomes"][1] == {"outcome": "tie", "pays": "0", "cases": 450_528}
    assert told["counts"]["pairs_of_hands"] == {"won": 203_359_936, "lost": 203_359_936, "tied": 450_528}
    assert sum(told["counts"]["three_card_hands"].values()) == 22_100
    assert sum(told["counts"]["six_card_sets"].values()) == 20_358_520


def test_help_is_told_as_by_scannerd() -> None:
    """`-h` and `--help` tell the same, and no line of the list of commands is cut off for its length."""
    assert run("--help") == run("-h")
    assert run("run", "--help") == run("run", "-h")
    assert "..." not in run("-h").partition("\nCommands:\n")[2]


def test_unknown_commands_are_refused() -> None:
    """A command that does not exist ends with the code for wrong usage."""
    assert CliRunner().invoke(main, ["deal"]).exit_code == 2


def refused(path: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and what is said, of an engine that can't run."""
    result = CliRunner().invoke(main, ["run", "--table", "tp-01", "--state", str(path / "engine.json"), *arguments])
    return result.exit_code, result.stderr


def test_usage_and_state_files_have_exit_codes(tmp_path: Path) -> None:
    """An engine that can't run ends with a line on stderr: 2 for what was named, 3 for a second one, 4 for damage."""
    path = tmp_path / "engine.json"
    assert (2, "teen-patti-engine: name brokers of one kind: all mqtt:// or all mqtts://\n") == refused(
        tmp_path, "--url", "mqtt://a,mqtts://b", "--from-start"
    )
    with Keeper(path) as keeper:
        code, said = refused(tmp_path)
        keeper.save(Kept(State("tp-02"), BEGINNING))
    assert (3, 1) == (code, said.count("\n"))
    assert 2 == refused(tmp_path)[0]
    path.write_bytes(b"{")
    assert 4 == refused(tmp_path)[0]
    latin = tmp_path / "password"
    latin.write_bytes(b"\xff")
    assert 2 == refused(tmp_path, "--password-file", str(latin))[0]
    assert 2 == refused(tmp_path, "--bettors", "some")[0]


def test_a_refused_topic_ends_the_engine(tmp_path: Path) -> None:
    """A broker that refuses the table's topics ends the engine with 2 and its reason, not with silence."""
    with RefusingBroker(1) as broker:
        code, said = refused(tmp_path, "--from-start", "--url", f"mqtt://127.0.0.1:{broker.port}")
    assert 2 == code
    assert "refuses us the topic" in said


def test_password_is_sent(start_broker: StartBroker, tmp_path: Path) -> None:
    """The password comes from a file; with it the broker takes the engine, which asks the table where it is."""
    broker = start_broker(passwords={"engine": "secret", "watch": "seen"})
    (tmp_path / "password").write_text("secret\n")
    where = ["--url", broker.url, "--username", "engine", "--password-file", str(tmp_path / "password")]
    topic = "scannerd/v1/tp-01/command/snapshot"
    with Subscriber(broker.port, topic, username="watch", password="seen") as watch:
        watch_thread(watch)
        code, said = refused(tmp_path, *where, "--protocol", "4")
    assert 0 == code, said
    assert topic == watch.messages[0].topic


def watch_thread(watch: Subscriber) -> None:
    """Ends the engine, as SIGTERM does, once it has asked something."""

    def end() -> None:
        watch.wait_for(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end, daemon=True).start()


def test_the_end_may_be_wanted_before_there_is_anything_to_end() -> None:
    """A signal that comes before the engine plays is not forgotten."""
    stop, ended = Stop(), list[str]()
    stop.want()
    stop.then(lambda: ended.append("early"))
    assert (True, ["early"]) == (stop.wanted, ended)
    late = Stop()
    late.then(lambda: ended.append("late"))
    assert ["early"] == ended
    late.want()
    assert ["early", "late"] == ended


def test_a_doubted_round_is_voided_in_the_file(tmp_path: Path) -> None:
    """A round that the table does not know any more is voided in the file: bets come back, and the result says so."""
    path = tmp_path / "engine.json"
    arguments = ["void", "--table", "tp-01", "--state", str(path), "--by", "eva", "--reason", "journal lost"]
    assert 2 == CliRunner().invoke(main, arguments).exit_code
    play = Play()
    play.open()
    play.bet("player_a", "1234")
    play.send()
    play.opened()
    play.journal = "another"
    play.event("daemon_started", {}, None)
    assert Phase.PAUSED is play.phase()
    with Keeper(path) as keeper:
        keeper.save(Kept(play.state, Position("another", 1)))
        assert 3 == CliRunner().invoke(main, arguments).exit_code
    voided = CliRunner().invoke(main, arguments)
    assert (0, "") == (voided.exit_code, voided.stderr)
    assert "round r-1: The round is void: bets returned. (journal lost)" in voided.stdout
    assert "staked 1,234.00   paid 1,234.00" in voided.stdout
    with Keeper(path) as keeper:
        kept = keeper.load("tp-01")
    assert kept is not None
    assert {"ana": Decimal("0.00")} == kept.state.balances
    assert "voided" == json.loads(kept.result or "{}")["state"]
    assert 2 == CliRunner().invoke(main, arguments).exit_code
