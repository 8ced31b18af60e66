"""The 1,067 patients of one hospital in ACTG 175, by the number of their row, and eight visits elsewhere, which are made up. So are the
numbers of ten digits by which the table that stays knows them.
"""

import random

from ..common import Example
from ..survival.data import everybody
from .program import follow_up
from .reference import brought_in, numbered, patients, seen, seen_by_number, summed, visited
from .reference import follow_up as reference
from .standing import enrol, sum_up, visit

TREATMENTS = ("zidovudine", "zidovudine and didanosine", "zidovudine and zalcitabine", "didanosine")
#: Number, day and event. One comes twice, one came too early to say anything new, one had the event before, one is in no trial.
VISITS = [(40, 1100, 0), (350, 1240, 0), (1020, 1300, 1), (720, 30, 0), (350, 1290, 1), (0, 1200, 0), (800, 1250, 0), (4000, 900, 1)]


def in_arms(events, days):
    """What both learn, for people."""
    for arm, number, total in zip(TREATMENTS, events, days):
        yield f"{arm}: {number} events in {total / 365.25:,.0f} years under observation"


def known(names, found, before):
    """What the other hospital learns of some patients, for people."""
    yield "to the other hospital alone:"
    for name, there, arm, day, event in zip(names, found, *before.values()):
        state = f"{TREATMENTS[arm]}, {'an event on' if event else 'none until'} day {day}" if there else "not in the trial"
        yield f"patient {name}: {state}"


def examples():
    inputs = [patients(everybody("a")), seen(VISITS)]

    def report(result):
        events, days, found, before = result
        yield from in_arms(events, days)
        yield from known([number for number, *_ in VISITS], found, before)

    yield Example(follow_up, inputs, reference(*inputs), report)


def jobs():
    """The same table with numbers, and four visits in jobs of their own, each of which finds what those before left."""
    people = everybody("a")
    numbers = sorted(random.Random(2017).sample(range(10**9, 10**10), len(people)))
    table = numbered(numbers, people)
    rows = brought_in(table)
    yield Example(enrol, [table, 2**127 + 5, 77], True, lambda good: ["the table is in order" if good else "out of order"])
    for number, day, event in [(numbers[350], 1240, 0), (numbers[40], 1100, 0), (numbers[350], 1290, 1), (numbers[0] - 1, 900, 1)]:
        visits = seen_by_number([(number, day, event)])
        expected = list(visited(rows, [number], visits))
        yield Example(visit, [visits], expected, lambda result, number=number: known([f"..{number % 10_000:04}"], *result))
    yield Example(sum_up, [], list(summed(rows)), lambda result: in_arms(*result))
