"""The command `teen-patti-engine`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final, TypeAlias

import click
from pydantic import TypeAdapter

from teen_patti.money import HUNDREDTH, shown
from teen_patti.odds import BetOdds, Line, all_odds, count_hands, count_pairs, count_six_card_sets
from teen_patti.state import GAME
from teen_patti.terms import LANGUAGES, texts

Json: TypeAlias = "str | int | list[Json] | dict[str, Json] | None"

STAKED: Final = Decimal("1000.00")
"""The stake for which the table shows what goes back, on average."""

_LOST = "-"
_HEADINGS = ("Bet", "Outcome", "Pays", "Cases", "Share")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scannerd")
def main() -> None:
    """The reference game engine for Teen Patti 20-20."""


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_STATE = click.Path(path_type=Path, dir_okay=False)
_SECONDS = click.FloatRange(min=0)
_WHERE = (
    "table",
    "url",
    "root",
    "protocol",
    "client_id",
    "username",
    "password_file",
    "ca_file",
    "cert_file",
    "key_file",
)


@main.command(short_help="Play at a table: bets, results, settlement.")
@click.option("--table", required=True, metavar="ID", help="The table's id.")
@click.option("--url", default="mqtt://127.0.0.1:1883", show_default=True, help="The broker; several, by commas.")
@click.option("--root", default="scannerd", show_default=True, help="What all topics begin with.")
@click.option("--protocol", type=click.Choice(["5", "4"]), default="5", show_default=True, help="4 is MQTT 3.1.1.")
@click.option("--client-id", help="Our id at the broker, nobody else's; by default teen-patti-<table>.")
@click.option("--username", help="The user at the broker.")
@click.option("--password-file", type=_FILE, help="A file that holds the password.")
@click.option("--ca-file", type=_FILE, help="Certificates to trust, for mqtts://; by default the system's.")
@click.option("--cert-file", type=_FILE, help="Our certificate, where the broker wants one.")
@click.option("--key-file", type=_FILE, help="The key of --cert-file.")
@click.option("--state", "path", type=_STATE, help="By default teen-patti-<table>.json.")
@click.option("--rounds", type=click.IntRange(min=1), help="End after so many dealt rounds; without it, at SIGTERM.")
@click.option("--betting-s", type=_SECONDS, default=12.0, show_default=True, help="Seconds in which bets are taken.")
@click.option("--settle-s", type=_SECONDS, default=3.0, show_default=True, help="Seconds for corrections of a result.")
@click.option("--follow", is_flag=True, help='For a table with start = "auto": never send `open`.')
@click.option("--from-start", is_flag=True, help="With a new state file: begin at the journal's first event.")
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Of names and results.")
@click.option("--bettors", type=click.IntRange(min=0), default=0, help="Simulated bettors; by default nobody bets.")
@click.option("--seed", type=int, default=1, show_default=True, help="What the simulated bets follow from.")
@click.option("--json", "as_json", is_flag=True, help="Print each result as the JSON that is published.")
def run(path: Path | None, rounds: int | None, *, from_start: bool, **options: object) -> None:
    """Play at a table: take bets, have rounds dealt, publish results, settle.

    The result of each round stands, retained, on <root>/v1/<table>/result, and is printed when the round has ended.
    Bets, balances and the position at the table are in the state file; started again, the engine goes on from there.

    Ends with 0 after an orderly stop, 2 where an option, the state file or the broker can't be used, 3 where another
    engine runs with the state file, 4 where that file or the table's journal is damaged, 5 after an internal error.
    """
    from teen_patti.cli_run import How, Where, run_engine  # noqa: PLC0415 - brings paho, which `odds` does not need

    where = TypeAdapter(Where).validate_python({name: options.pop(name) for name in _WHERE})
    run_engine(path, rounds, where, TypeAdapter(How).validate_python(options), from_start=from_start)


@main.command(short_help="Void the round of a stopped engine; bets go back.")
@click.option("--table", required=True, metavar="ID", help="The table's id.")
@click.option("--state", "path", type=_STATE, help="By default teen-patti-<table>.json.")
@click.option("--by", required=True, help="Who voids.")
@click.option("--reason", required=True, help="Why.")
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Of what is printed.")
def void(table: str, path: Path | None, by: str, reason: str, language: str) -> None:
    """Void the round in the state file, while no engine runs with it: all bets are returned.

    For a round that the engine doubts and that the table does not know any more. As long as it does, void it there:
    `scannerd command void`; the engine follows.

    Ends with 2 where there is no round to void, it is settled, or the file can't be used, 3 where an engine runs.
    """
    from teen_patti.cli_run import void_round  # noqa: PLC0415 - as above

    void_round(path, table, by, reason, language)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def odds(*, as_json: bool) -> None:
    """Return to player of every bet, exact, with the counts it rests on."""
    click.echo(json.dumps(odds_json(), indent=2) if as_json else odds_table())


def odds_table() -> str:
    """The odds for people: each bet's outcomes, then what it gives back."""
    rows = [_HEADINGS, *(row for bet in all_odds() for row in _bet_rows(bet))]
    return "\n".join([*_aligned(rows), *_rests_on()])


def _bet_rows(bet: BetOdds) -> list[tuple[str, ...]]:
    name = texts("en").bet(bet.kind)
    outcomes = [(name, *_outcome(line, bet.of)) for line in bet.lines]
    back = f"{shown(_rounded(bet.rtp * Fraction(STAKED)))} of {shown(STAKED)}"
    return [*outcomes, (name, "return to player", back, f"{bet.of:,}", _percent(bet.rtp, 2)), ("",) * len(_HEADINGS)]


def _outcome(line: Line, of: int) -> tuple[str, ...]:
    return line.outcome.replace("_", " "), _pays(line), f"{line.count:,}", _percent(Fraction(line.count, of), 4)


def _pays(line: Line) -> str:
    if line.pays is None:
        return _LOST
    return f"{line.pays:,}:1" if line.pays else "stake returned"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = 2
    return [
        "  ".join(
            cell.ljust(width) if place < names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _rests_on() -> list[str]:
    hands, pairs, sets = sum(count_hands().values()), count_pairs(), sum(count_six_card_sets().values())
    return [
        "Counted, none sampled:",
        f"  {hands:,} three-card hands",
        f"  {pairs.total:,} ordered pairs of hands: {pairs.won:,} won, {pairs.lost:,} lost, {pairs.tied:,} tied",
        f"  {sets:,} six-card sets",
    ]


def odds_json() -> Json:
    """The odds for programs: counts as numbers, pays and returns as exact strings."""
    pairs = count_pairs()
    return {
        "game": GAME,
        "bets": [_bet_json(bet) for bet in all_odds()],
        "counts": {
            "three_card_hands": {rank.code: count for rank, count in sorted(count_hands().items(), reverse=True)},
            "pairs_of_hands": {"won": pairs.won, "lost": pairs.lost, "tied": pairs.tied},
            "six_card_sets": {rank.code: count for rank, count in sorted(count_six_card_sets().items(), reverse=True)},
        },
    }


def _bet_json(bet: BetOdds) -> Json:
    return {
        "bet": bet.kind.value,
        "name": texts("en").bet(bet.kind),
        "cases": bet.of,
        "outcomes": [_line_json(line) for line in bet.lines],
        "return_to_player": {"exact": str(bet.rtp), "percent": _percent(bet.rtp, 2).removesuffix(" %")},
    }


def _line_json(line: Line) -> Json:
    return {"outcome": line.outcome, "pays": None if line.pays is None else str(line.pays), "cases": line.count}


def _percent(share: Fraction, places: int) -> str:
    return f"{_rounded(share * 100, Decimal(1).scaleb(-places))} %"


def _rounded(exact: Fraction, to: Decimal = HUNDREDTH) -> Decimal:
    """For people to read only: the exact figure is the fraction."""
    return (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(to, rounding=ROUND_HALF_EVEN)
