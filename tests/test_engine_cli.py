"""The command `teen-patti-engine`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from teen_patti.cli import main


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


def test_unknown_commands_are_refused() -> None:
    """A command that does not exist ends with the code for wrong usage."""
    assert CliRunner().invoke(main, ["deal"]).exit_code == 2
