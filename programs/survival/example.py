"""Zidovudine alone against zidovudine with didanosine: 1,054 patients of ACTG 175 in two hospitals."""

import math

from ..common import Example
from .data import patients
from .program import kaplan_meier, log_rank
from .reference import counts
from .reference import kaplan_meier as reference_curves
from .reference import log_rank as reference_statistic

DAYS, EVERY = 1232, 28


def examples():
    inputs = [*counts(patients("a"), DAYS), *counts(patients("b"), DAYS)]
    yield Example(log_rank, inputs, reference_statistic(*inputs), tell_statistic, tolerance=2e-5)
    yield Example(kaplan_meier, inputs, reference_curves(*inputs, EVERY), tell_curves, tolerance=5e-6)


def tell_statistic(statistic):
    # Chi-squared with one degree of freedom: the square of a normal number.
    yield f"log-rank statistic {statistic:.4f}, p = {math.erfc(math.sqrt(statistic / 2)):.2g}"


def tell_curves(curves):
    for arm, curve in zip(("zidovudine", "zidovudine and didanosine"), curves):
        years = [f"{curve[365 * year // EVERY - 1]:.4f}" for year in (1, 2, 3)]
        yield f"{arm}: without an event after one, two and three years {', '.join(years)}"
