"""In which of one owner's ranges of addresses those of another one lie, by binary search at secret places.

The first party brings in where its ranges begin, in ascending order, and of which kind each is. The second brings in addresses and
learns their kinds. A search looks at one beginning after the other, and which it looks at shows nothing: those that may come k-th are
a memory of their own, of 2^k rows, of which it reads one at a secret place. So a look costs what a memory of this size costs, and all
looks together not more than one at all rows; where many addresses come at once, larger memories are kept in less than that.
"""

import cenote as cn
from cenote import Array, Bit, Evaluator, Garbler, UInt

#: Where a range begins, as a number; and its kind.
Address, Kind = UInt[32], UInt[8]


class Range(cn.Record):
    """From here to the beginning of the next one."""

    start: Address
    kind: Kind


@cn.program
def binary_search(
    ranges: Garbler[Array[Range, "2**depth"]],
    addresses: Evaluator[Array[Address, "q"]],
    *,
    depth: int = 16,
    q: int = 4,
) -> tuple[Evaluator[Array[Bit, "q"]], Evaluator[Array[Kind, "q"]]]:
    """For each address whether a range begins there or before, and the kind of the last one that does; 0 if none does.

    There are ``depth`` looks at secret places and one at the last range. If the ranges are in no order, what is found is some kind.
    """
    # In the middle of all, in those of the halves, and so on.
    levels = [cn.ram(ranges[2 ** (depth - 1 - level) - 1 :: 2 ** (depth - level)]) for level in range(depth)]
    found, kinds = cn.zeros(Bit, q), cn.zeros(Kind, q)
    for k in cn.range(q):
        address, kind, begun, turns = addresses[k], Kind(0), Bit(False), []
        for level in levels:
            row = level[cn.from_bits(cn.stack(turns))] if turns else level[0]
            right = row.start <= address
            kind = cn.where(right, row.kind, kind)
            begun = begun | right
            # The turns so far are the place in the next level, the first of them its highest bit.
            turns = [right, *turns]
        right = ranges[-1].start <= address
        found[k] = begun | right
        kinds[k] = cn.where(right, ranges[-1].kind, kind)
    return found, kinds
