"""Two lists of numbers, sorted together."""

import cenote as cn
from cenote import Array, Both, Evaluator, Garbler, UInt


@cn.program
def sort(
    mine: Garbler[Array[UInt[32], "n"]],
    yours: Evaluator[Array[UInt[32], "n"]],
    *,
    n: int = 2048,
) -> Both[Array[UInt[32], "2 * n"]]:
    """All numbers of both sides in order. The order that they came in stays hidden."""
    return cn.sort(cn.concatenate([mine, yours]))
