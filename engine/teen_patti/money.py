"""Amounts of money: decimal, never binary fractions, never rounded.

One hundredth is the smallest amount. A sum that would need rounding raises: the limits are made so that none does.
"""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow

HUNDREDTH = Decimal("0.01")
ZERO = Decimal("0.00")
_EXACT = Context(prec=28, traps=[DivisionByZero, Inexact, InvalidOperation, Overflow])


def exact(amount: Decimal) -> Decimal:
    """The amount in hundredths: `5` becomes `5.00`.

    Raises:
        Inexact: it is no whole number of hundredths; whoever set the limits or the pay table must act.
    """
    return amount.quantize(HUNDREDTH, context=_EXACT)


def win_on(stake: Decimal, pays: Decimal) -> Decimal:
    """What a stake wins at `pays` to 1, the stake itself not counted.

    Raises:
        Inexact: the win is no whole number of hundredths; whoever set the limits or the pay table must act.
    """
    return exact(_EXACT.multiply(stake, pays))


def shown(amount: Decimal) -> str:
    """The amount as people read it: `1,234.00`."""
    return f"{exact(amount):,.2f}"
