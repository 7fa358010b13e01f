"""The command `teen-patti-engine`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import click

from teen_patti.money import HUNDREDTH, shown
from teen_patti.odds import BetOdds, Line, all_odds, count_hands, count_pairs, count_six_card_sets
from teen_patti.state import GAME
from teen_patti.terms import texts

Json: TypeAlias = "str | int | list[Json] | dict[str, Json] | None"

STAKED: Final = Decimal("1000.00")
"""The stake for which the table shows what goes back, on average."""

_LOST = "-"
_HEADINGS = ("Bet", "Outcome", "Pays", "Cases", "Share")


@click.group()
@click.version_option(package_name="scannerd")
def main() -> None:
    """The reference game engine for Teen Patti 20-20."""


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
