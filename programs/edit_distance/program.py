"""How many insertions, deletions and substitutions turn one DNA string into another.

A table has the distance of each beginning of one string from each beginning of the other. Neighbours in it differ by -1, 0 or 1, so
a cell needs no numbers: the steps along its left and upper sides, two bits each, give those along its right and lower sides with
four ANDs (Ukkonen 1985, Myers 1999).
"""

import cenote as cn
from cenote import Array, Both, Evaluator, Garbler, UInt


def cell(unequal, left, upper):
    """The steps along the right and the lower side. A step is (is it up, is it down)."""
    (left_up, left_down), (upper_up, upper_down) = left, upper
    diagonal = unequal & ~left_down & ~upper_down
    with_left, with_upper = diagonal & left_up, diagonal & upper_up
    right = diagonal ^ with_upper ^ upper_down, upper_up ^ with_upper
    lower = diagonal ^ with_left ^ left_down, left_up ^ with_left
    return right, lower


@cn.program
def edit_distance(
    mine: Garbler[Array[UInt[2], "n"]],
    yours: Evaluator[Array[UInt[2], "n"]],
    *,
    n: int = 1024,
    strip: int = 32,
) -> Both[UInt["n.bit_length()"]]:
    """Works down the table in strips of ``strip`` rows, and through a strip along its diagonals, whose cells are independent.

    At time t the k-th row of a strip is in column t - k: it starts k columns before the table and ends as far behind it.
    """
    times = n + strip - 1
    beside = cn.zeros(UInt[2], strip - 1)
    columns = cn.concatenate([beside, yours[::-1], beside])
    up, down = cn.Bit([True] * times), cn.zeros(cn.Bit, times)
    for number in cn.range(n // strip):
        rows = mine[number * strip : number * strip + strip]
        left_up, left_down = cn.Bit([True] * strip), cn.zeros(cn.Bit, strip)
        # Left of the table each step to the right is down: whatever the letters are, steps down the table are then up.
        lower_up, lower_down = cn.zeros(cn.Bit, strip), cn.Bit([True] * strip)
        for time in cn.range(times):
            # What a row left below it one moment ago is now above the next.
            upper_up = cn.concatenate([up[time : time + 1], lower_up[:-1]])
            upper_down = cn.concatenate([down[time : time + 1], lower_down[:-1]])
            there = columns[times - 1 - time : times - 1 - time + strip]
            right, lower = cell(rows != there, (left_up, left_down), (upper_up, upper_down))
            left_up, left_down = right
            lower_up, lower_down = lower
            up[time] = lower_up[-1]
            down[time] = lower_down[-1]
        # The last row began strip - 1 columns before the table.
        up = cn.concatenate([up[strip - 1 :], cn.zeros(cn.Bit, strip - 1)])
        down = cn.concatenate([down[strip - 1 :], cn.zeros(cn.Bit, strip - 1)])
    width = n.bit_length() + 1
    distance = n + cn.sum(cn.UInt[width](up[:n])) - cn.sum(cn.UInt[width](down[:n]))
    return cn.UInt[n.bit_length()](distance)
