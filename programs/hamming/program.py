"""In how many places two bit strings differ."""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt


@cn.program
def hamming(
    mine: Garbler[Array[Bit, "n"]],
    yours: Evaluator[Array[Bit, "n"]],
    *,
    n: int = 1_000_000,
) -> Both[UInt["n.bit_length()"]]:
    """Counting costs less than one AND a bit; the comparison is an exclusive or and free."""
    return cn.sum(mine ^ yours)
