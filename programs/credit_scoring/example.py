"""An applicant and three models that the lender learned from its own 800 loans."""

from ..common import Example
from . import reference, train
from .data import applicant, split
from .program import logistic, scorecard, tree

#: Points that an applicant needs.
LEAST = 500


def examples():
    known, unseen = split()
    form = applicant(unseen[0])
    for program, model, report, tolerance in (
        (scorecard, train.scorecard(known, LEAST), tell_points, 0),
        (tree, train.tree(known), tell_percent, 0),
        (logistic, train.logistic(known), tell_probability, 4e-4),
    ):
        expected = getattr(reference, program.__name__)(model, form)
        yield Example(program, [model, form], expected, report, tolerance=tolerance)


def tell_points(result):
    score, enough = result
    yield f"{score} points, {LEAST} are needed: {'accepted' if enough else 'declined'}"


def tell_percent(percent):
    yield f"{percent} percent of the loans like this one go bad"


def tell_probability(share):
    yield f"the probability that the loan goes bad is {share:.3f}"
