"""Ranges of addresses and some addresses, made up: the same ones each time."""

import random

#: The first kind stands for addresses of which nothing is known.
KINDS = ("nothing", "offices", "homes", "mobile phones", "data centres", "proxies", "robots")


def ranges(count):
    """So many ranges, (start, kind), that cover all addresses of 32 bits from the first one on."""
    chosen = random.Random(2017)
    starts = {0}
    while len(starts) < count:
        starts.add(int(chosen.random() * 2**32))
    return [(start, int(chosen.random() * len(KINDS))) for start in sorted(starts)]


def dotted(address):
    """An address as it is written."""
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
