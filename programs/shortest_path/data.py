"""Streets of West Oakland: see data/west-oakland."""

import csv
import pathlib

FILE = pathlib.Path(__file__).parents[2] / "data/west-oakland/roads.csv"


def streets():
    """Names of places, and the length of the road from each to each, 0 where there is none."""
    with open(FILE, newline="") as file:
        rows = list(csv.DictReader(file))
    names = {int(row["from"]): row["from_name"] for row in rows}
    roads = [[0] * len(names) for _ in names]
    for row in rows:
        roads[int(row["from"])][int(row["to"])] = int(row["metres"])
    return [names[place] for place in range(len(names))], roads
