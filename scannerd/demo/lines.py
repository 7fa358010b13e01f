"""What a person reads of a table's events and of an engine's results, in the demo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from scannerd.client import TableEvent

SUITS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


def told(event: TableEvent) -> Iterator[str]:
    """What a person reads of an event; of some, nothing."""
    data = event.data
    match event.type:
        case "round_opened":
            yield f"\nround {event.round}"
        case "card_accepted":
            tries = "" if data["attempt"] == 1 else f"   at try {data['attempt']}"
            yield f"  {data['slot']}  {face(data['card'])}{tries}"
        case "scan_rejected":
            yield f"  {data['slot'] or '--'}  scan again: {data['reason']}{_seen(data)}"
        case "card_withdrawn":
            yield f"  {data['slot']}  {face(data['card'])} withdrawn: {data['reason']}"
        case "round_completed":
            yield f"  {_hands(data)}"
        case "scanner_down" | "scanner_up" | "alarm_raised" | "alarm_cleared":
            yield f"  {event.type.replace('_', ' ')}: {data.get('scanner') or data.get('alarm')}"
        case _:
            return


def paid(result: Mapping[str, object]) -> Iterator[str]:
    """What a person reads of a result: who won with what, what pays, and the money."""
    names, pays = _mapping(result["names"]), _mapping(result["pays"])
    if result["winner"] is None:
        yield f"  result: {result['state']} ({result['reason']}), bets returned"
        return
    hands, bets = _mapping(names["hands"]), _mapping(names["bets"])
    best = f", {names['six_cards']}" if names["six_cards"] else ""
    yield f"  result: {names['winner']}   (A: {hands['A']}, B: {hands['B']}{best})"
    yield f"  pays:   {'   '.join(f'{bets[kind]} {rate}' for kind, one in pays.items() if (rate := _rate(one)))}"
    money = f"staked {_amount(result['staked'])}   paid {_amount(result['paid'])}"
    yield f"  bets:   {result['bets']}   {money}"


def _rate(pay: object) -> str:
    to_one, verdict = _mapping(pay)["to_one"], _mapping(pay)["verdict"]
    return {"won": f"{to_one}:1", "returned": "returned"}.get(str(verdict), "")


def _amount(text: object) -> str:
    return f"{Decimal(str(text)):,.2f}"


def _mapping(found: object) -> Mapping[str, object]:
    return found if isinstance(found, Mapping) else {}


def face(card: object) -> str:
    """A card as people write it: 10♦, not TD."""
    rank, suit = str(card)[:1], str(card)[1:]
    return f"{'10' if rank == 'T' else rank}{SUITS.get(suit, suit)}"


def _seen(data: Mapping[str, object]) -> str:
    where = f", {data['conflict_slot']} has it" if data.get("conflict_slot") else ""
    return f" ({face(data['card'])}{where})" if data.get("card") else ""


def _hands(data: Mapping[str, object]) -> str:
    cards = data["cards"]
    if not isinstance(cards, Mapping):
        return ""
    return "   ".join(f"Player {hand}: {' '.join(face(card) for card in dealt)}" for hand, dealt in cards.items())
