"""Two strings of a million bits that differ in about every tenth, as in table 5 of the paper on pools."""

import random

from ..common import Example
from .program import hamming
from .reference import hamming as reference


def examples():
    draw = random.Random(1)
    mine = [draw.getrandbits(1) for _ in range(1_000_000)]
    yours = [bit ^ (draw.random() < 0.1) for bit in mine]
    yield Example(hamming, [mine, yours], reference(mine, yours), tell)


def tell(result):
    yield f"the strings differ in {result:,} of 1,000,000 places"
