"""Two times 2,048 numbers, as in table 5 of the paper on pools."""

import random

from ..common import Example
from .program import sort
from .reference import sort as reference


def examples():
    draw = random.Random(1)
    mine, yours = ([draw.getrandbits(32) for _ in range(2048)] for _ in range(2))
    yield Example(sort, [mine, yours], reference(mine, yours), tell)


def tell(result):
    yield f"smallest {result[:3]}, largest {result[-3:]}"
