"""How many insertions, deletions and substitutions turn one DNA string into another.

A table has the distance of each beginning of one string from each beginning of the other. Neighbours in it differ by -1, 0 or 1, so
a cell needs no numbers: the steps along its left and upper sides, two bits each, give those along its right and lower sides with
four ANDs (Ukkonen 1985, Myers 1999).
"""

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt

#: A step from one cell of the table to the next: is it up, is it down.
UP, DOWN = [True, False], [False, True]


def cell(unequal, left, upper):
    """The steps along the right and the lower side, from those along the left and the upper one; of many cells at once."""
    left_up, left_down, upper_up, upper_down = left[:, 0], left[:, 1], upper[:, 0], upper[:, 1]
    diagonal = unequal & ~left_down & ~upper_down
    with_left, with_upper = diagonal & left_up, diagonal & upper_up
    right = cn.stack([diagonal ^ with_upper ^ upper_down, upper_up ^ with_upper], axis=1)
    lower = cn.stack([diagonal ^ with_left ^ left_down, left_up ^ with_left], axis=1)
    return right, lower


@cn.program
def edit_distance(
    mine: Garbler[Array[UInt[2], "n"]],
    yours: Evaluator[Array[UInt[2], "n"]],
    *,
    n: int = 1024,
    strip: int = 32,
) -> Both[UInt["n.bit_length()"]]:
    """The edit distance.

    Works down the table in strips of ``strip`` rows, and through a strip along its diagonals, whose cells are independent. At time t
    the k-th row of a strip is in column t - k: it starts k columns before the table, and the first row goes on behind it until the
    last one is through.
    """
    if n % strip:
        raise ValueError(f"strips of {strip} rows do not make {n}")
    Distance = UInt[n.bit_length()]
    times = n + strip - 1
    outside = cn.zeros(UInt[2], strip - 1)
    columns = cn.concatenate([outside, yours[::-1], outside])
    # The steps along the row above the strip.
    above = Bit([UP] * times)
    for number in cn.range(n // strip):
        rows = mine[number * strip : number * strip + strip]
        # Left of the table steps to the right are down: whatever the letters there are, steps down the table are then up.
        left, lower = Bit([UP] * strip), Bit([DOWN] * strip)
        for time in cn.range(times):
            letters = columns[times - 1 - time : times - 1 - time + strip]
            # What one row had below it a moment ago the next one has above it now.
            upper = cn.concatenate([above[time : time + 1], lower[:-1]])
            left, lower = cell(rows != letters, left, upper)
            above[time] = lower[-1]
        # The last row began strip - 1 columns before the table.
        above = cn.concatenate([above[strip - 1 :], cn.zeros(Bit, (strip - 1, 2))])
    steps = Distance(above[:n])
    return n - cn.sum(steps[:, 1]) + cn.sum(steps[:, 0])
