"""In how many places two bit strings differ."""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt


@cn.program
def hamming(
    mine: Garbler[Array[Bit, "n"]],
    yours: Evaluator[Array[Bit, "n"]],
    *,
    n: int = 2**20,
) -> Both[UInt["n.bit_length()"]]:
    """The number of places. The comparison is an XOR and free, counting costs less than one AND a bit."""
    return cn.sum(mine ^ yours)
