#!/usr/bin/env python3
"""Derives the roads of the shortest paths from a map of a few streets in West Oakland.

Source: OpenStreetMap, in tests/input_data/West-Oakland.osm.bz2 of the repository of `osmnx` (https://github.com/gboeing/osmnx). Run

    python3 scripts/derive_west_oakland.py West-Oakland.osm.bz2 data/west-oakland

The same input always gives the same file. What is in it says data/west-oakland/README.md.
"""

import bz2
import csv
import hashlib
import itertools
import math
import pathlib
import sys
import xml.etree.ElementTree as ET

SOURCE_SHA256 = "92efe9ed4f803961e1b552d0e769fc10703814efa827e9a6fb013004e00bbeae"
#: Mean radius of the earth in metres.
RADIUS = 6_371_009
#: Kinds of ways that cars use.
DRIVABLE = {"residential", "secondary", "unclassified"}


def metres(a, b):
    """The length of a straight line between two points, each latitude and longitude in degrees."""
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, point)) for point in (a, b))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(half))


def streets(root):
    """Name, nodes and whether it goes one way alone, of each way for cars."""
    for way in root.iter("way"):
        tags = {tag.get("k"): tag.get("v") for tag in way.iter("tag")}
        if tags.get("highway") in DRIVABLE and "name" in tags:
            yield tags["name"], [node.get("ref") for node in way.iter("nd")], tags.get("oneway") == "yes"


def roads(root):
    """Where streets with different names meet, and the length of each road from one such place to the next."""
    points = {node.get("id"): (float(node.get("lat")), float(node.get("lon"))) for node in root.iter("node")}
    names = {}
    for name, nodes, _ in streets(root):
        for node in nodes:
            names.setdefault(node, set()).add(name)
    places = {node: " & ".join(sorted(met)) for node, met in names.items() if len(met) > 1}
    lengths = {}
    # Where a way ends, the next one of the same street goes on: roads are found from point to point.
    legs = {}
    for _, nodes, one_way in streets(root):
        for a, b in itertools.pairwise(nodes):
            legs.setdefault(a, {})[b] = metres(points[a], points[b])
            if not one_way:
                legs.setdefault(b, {})[a] = legs[a][b]
    for start in places:
        ahead = [(start, None, 0.0)]
        while ahead:
            here, came, length = ahead.pop()
            for there, leg in legs.get(here, {}).items():
                if there in (came, start):
                    continue
                if there in places:
                    lengths[start, there] = min(length + leg, lengths.get((start, there), math.inf))
                else:
                    ahead.append((there, here, length + leg))
    return places, lengths


def reached(start, lengths):
    """The places to which roads lead from one."""
    found, ahead = {start}, [start]
    while ahead:
        here = ahead.pop()
        for a, b in lengths:
            if a == here and b not in found:
                found.add(b)
                ahead.append(b)
    return found


def main(source, target):
    raw = pathlib.Path(source).read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SOURCE_SHA256:
        sys.exit(f"{source}: SHA-256 is {digest}, expected {SOURCE_SHA256}")
    places, lengths = roads(ET.fromstring(bz2.decompress(raw)))
    back = {(b, a): length for (a, b), length in lengths.items()}
    # Those that lead to each other.
    kept = max((reached(place, lengths) & reached(place, back) for place in places), key=len)
    order = sorted(kept, key=lambda place: (places[place], int(place)))
    with open(pathlib.Path(target) / "roads.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["from", "from_name", "to", "to_name", "metres"])
        for a, one in enumerate(order):
            for b, two in enumerate(order):
                if (one, two) in lengths:
                    writer.writerow([a, places[one], b, places[two], round(lengths[one, two])])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
