"""The shortest way between two secret places on a secret map (Dijkstra 1959).

The first party knows the map, say times that its cars took; the second knows where it is and where it wants to go. In each round the
nearest place that was not looked at yet is looked at: a secret place, whose roads are a row of a memory. So nothing shows but the
number of places.
"""

import cenote as cn
from cenote import Array, Bit, Evaluator, Garbler, UInt

#: The length of a road from one place to another; 0 where there is none.
Road = UInt[12]


@cn.program
def shortest_path(
    roads: Garbler[Array[Road, "n", "n"]],
    start: Evaluator[UInt["(n - 1).bit_length()"]],
    goal: Evaluator[UInt["(n - 1).bit_length()"]],
    *,
    n: int = 14,
) -> tuple[
    Evaluator[Bit],
    Evaluator[UInt["12 + n.bit_length()"]],
    Evaluator[Array[UInt["(n - 1).bit_length()"], "n"]],
]:
    """Whether there is a way, how long the shortest is, and its places from the goal back to the start, which then comes again and again.

    Without a way the length is 0, and all places are the goal. Numbers that no place has mean the last one.
    """
    start, goal = cn.min(start, n - 1), cn.min(goal, n - 1)
    # Longer than any way; a road more still fits.
    Length, far = UInt[Road.width + n.bit_length()], n * Road.high
    numbers = start.elem(range(n))
    rows = cn.ram(roads)
    distance = cn.where(numbers == start, Length([0] * n), far)
    before = numbers
    ahead = Bit([True] * n)
    for _ in cn.range(n):
        here = cn.argmin(cn.where(ahead, distance, far))
        ahead = ahead & (numbers != here)
        road = rows[here]
        length = distance[here] + Length(road)
        better = (road != 0) & (length < distance)
        distance = cn.where(better, length, distance)
        before = cn.where(better, here, before)
    path = cn.zeros(start.elem, n)
    place = goal
    for k in cn.range(n):
        path[k] = place
        place = before[place]
    reached = distance[goal] < far
    return reached, cn.where(reached, distance[goal], 0), path
