"""What the program computes, in ordinary Python with a queue."""

import heapq


def shortest_path(roads, start, goal):
    n = len(roads)
    start, goal = min(start, n - 1), min(goal, n - 1)
    distance, before = {start: 0}, list(range(n))
    queue, done = [(0, start)], set()
    while queue:
        length, here = heapq.heappop(queue)
        if here in done:
            continue
        done.add(here)
        for there, road in enumerate(roads[here]):
            if road and length + road < distance.get(there, length + road + 1):
                distance[there], before[there] = length + road, here
                heapq.heappush(queue, (length + road, there))
    path = [goal]
    while len(path) < n:
        path.append(before[path[-1]])
    return [goal in distance, distance.get(goal, 0), path]


def cases():
    def case(kind, roads, start, goal):
        return "shortest_path", kind, {"n": len(roads)}, [roads, start, goal], shortest_path(roads, start, goal)

    yield case("smallest", [[0, 5], [0, 0]], 0, 1)
    # The short way has more roads; back there is none but around.
    roads = [[0, 7, 9, 0, 0, 14], [0, 0, 10, 15, 0, 0], [0, 0, 0, 11, 0, 2], [0, 0, 0, 0, 6, 0], [3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 9, 0]]
    yield case("typical", roads, 0, 4)
    yield case("typical", roads, 4, 3)
    # No way; no road at all; the way from a place to itself.
    yield case("boundary", [[0, 5, 0], [5, 0, 0], [1, 1, 0]], 0, 2)
    yield case("boundary", [[0, 0, 0]] * 3, 1, 1)
    # One long chain with the longest roads there can be, from one end to the other; and against it.
    chain = [[4095 * (there == here + 1) for there in range(7)] for here in range(7)]
    yield case("boundary", chain, 0, 6)
    yield case("boundary", chain, 6, 0)
    # Ways of equal length: the place that was looked at first stays.
    yield case("boundary", [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], 0, 3)
    # Numbers that no place has.
    yield case("hostile", chain, 7, 7)
    yield case("hostile", chain, 5, 7)
