"""From 7th Street & Campbell Street to 9th Street & Wood Street in West Oakland, on a map of 14 places with two one-way carriageways."""

from ..common import Example
from .data import streets
from .program import shortest_path
from .reference import shortest_path as reference


def examples():
    names, roads = streets()
    start, goal = names.index("7th Street & Campbell Street"), names.index("9th Street & Wood Street")
    inputs = [roads, start, goal]

    def report(result):
        found, length, path = result
        way = [*path[: path.index(start)], start][::-1] if found else []
        yield f"{length} metres: {', '.join(names[place] for place in way)}" if found else "there is no way"

    yield Example(shortest_path, inputs, reference(*inputs), report)
