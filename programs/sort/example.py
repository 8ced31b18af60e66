"""What 2,048 customers of each of two card issuers spent, in cents: 4,096 numbers, as in table 5 of the paper on pools."""

from ..common import Example
from ..shared_customers.data import issuer
from .program import sort
from .reference import sort as reference


def spends(name):
    return [sum(quarters) for _, quarters in issuer(name)[:2048]]


def examples():
    mine, yours = spends("a"), spends("b")
    yield Example(sort, [mine, yours], reference(mine, yours), report)


def report(result):
    low, high, most = (f"${result[at] / 100:,.2f}" for at in (len(result) // 10, len(result) * 9 // 10, -1))
    yield f"a tenth spent {low} or less, a tenth {high} or more, nobody above {most}"
