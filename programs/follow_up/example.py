"""The 1,067 patients of one hospital in ACTG 175, by the number of their row, and eight visits elsewhere, which are made up."""

from ..common import Example
from ..survival.data import everybody
from .program import follow_up
from .reference import follow_up as reference
from .reference import patients, seen

TREATMENTS = ("zidovudine", "zidovudine and didanosine", "zidovudine and zalcitabine", "didanosine")
#: Number, day and event. One comes twice, one came too early to say anything new, one had the event before, one is in no trial.
VISITS = [(40, 1100, 0), (350, 1240, 0), (1020, 1300, 1), (720, 30, 0), (350, 1290, 1), (0, 1200, 0), (800, 1250, 0), (4000, 900, 1)]


def examples():
    inputs = [patients(everybody("a")), seen(VISITS)]

    def report(result):
        events, days, found, before = result
        for arm, number, total in zip(TREATMENTS, events, days):
            yield f"{arm}: {number} events in {total / 365.25:,.0f} years under observation"
        yield "to the other hospital alone:"
        for (number, *_), there, arm, day, event in zip(VISITS, found, *before.values()):
            state = f"{TREATMENTS[arm]}, {'an event on' if event else 'none until'} day {day}" if there else "not in the trial"
            yield f"patient {number}: {state}"

    yield Example(follow_up, inputs, reference(*inputs), report)
