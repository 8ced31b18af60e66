"""A sealed-bid auction in which the winner pays the second highest bid (Vickrey 1961).

Two auction houses hold the bids of their own customers.
"""

import cenote as cn
from cenote import Array, Both, Evaluator, Garbler, UInt


@cn.program
def auction(
    mine: Garbler[Array[UInt[32], "n"]],
    yours: Evaluator[Array[UInt[32], "n"]],
    *,
    n: int = 8,
) -> tuple[Both[UInt["(2 * n - 1).bit_length()"]], Both[UInt[32]]]:
    """The winner's number, the garbler's bidders first, and the price. Of equal bids the first wins."""
    bids = cn.concatenate([mine, yours])
    winner = cn.argmax(bids)
    numbers = cn.UInt[(2 * n - 1).bit_length()](range(2 * n))
    others = cn.where(numbers == winner, 0, bids)
    return winner, cn.max(others)
