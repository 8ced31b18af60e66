"""The two issuers of the demonstration, and the same answers."""

from ..common import Example
from . import reference
from .data import QUARTERS, issuer
from .program import median_spend, shared_by_quarter, shared_groups, shared_total, top_shared
from .reference import accounts, quarters


def examples():
    table, other = issuer("a"), issuer("b")
    mine, yours = accounts(table), accounts(other)
    yield Example(shared_total, [mine, yours], [True, *reference.shared_total(table, other)], tell_total)
    expected = [True, *map(list, zip(*reference.shared_by_quarter(table, other)))]
    yield Example(shared_by_quarter, [quarters(table), quarters(other)], expected, tell_quarters)
    # The second issuer lets only larger groups be shown than the first one would.
    larger = [True, *map(list, zip(*reference.shared_groups(table, other, 10, 15)))]
    yield Example(shared_groups, [quarters(table), 10, quarters(other), 15], larger, tell_groups)
    yield Example(top_shared, [mine, yours], [True, reference.top_shared(table, other)], tell_top)
    yield Example(median_spend, [mine["spend"], yours["spend"]], reference.median_spend(table, other), tell_median)


def dollars(cents):
    return f"${cents / 100:,.2f}"


def tell_total(result):
    _, customers, cents = result
    yield f"{customers} customers are shared; they spent {dollars(cents)} in all"


def tell_quarters(result):
    _, numbers, spends = result
    for quarter, number, cents in zip(QUARTERS, numbers, spends):
        shown = f"{number} customers bought from both and spent {dollars(cents)}"
        yield f"{quarter}: {shown if number else 'fewer than 10 customers'}"


def tell_groups(result):
    _, numbers, spends = result
    for quarter, number, cents in zip(QUARTERS, numbers, spends):
        shown = f"{number} customers bought from both and spent {dollars(cents)}"
        yield f"{quarter}: {shown if number else 'fewer than 15 customers'}"


def tell_top(result):
    yield f"to the first issuer alone: customers {', '.join(map(str, result[1]))}"


def tell_median(cents):
    yield f"half of all customers spent {dollars(cents)} or less"
