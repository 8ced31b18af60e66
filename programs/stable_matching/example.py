"""Eight students and eight hospitals with made-up wishes."""

import random

from ..common import Example
from .program import stable_matching
from .reference import ranks_of, unstable_pairs
from .reference import stable_matching as reference


def examples():
    draw = random.Random(3)
    wishes, lists = ([draw.sample(range(8), 8) for _ in range(8)] for _ in range(2))
    ranks = ranks_of(lists)
    expected = reference(wishes, ranks)
    if unstable_pairs(wishes, ranks, expected):
        raise AssertionError("the reference's matching is not stable")
    yield Example(stable_matching, [wishes, ranks], expected, tell)


def tell(result):
    yield ", ".join(f"hospital {hospital} takes student {student}" for hospital, student in enumerate(result))
