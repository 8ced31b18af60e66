"""Eight customers of each of two card issuers bid what they spent in all. The amounts are real purchases, but nobody bid them."""

from ..common import Example
from ..shared_customers.data import issuer
from .program import auction
from .reference import auction as reference

BIDDERS = 8


def bids(name):
    """In cents, of the first customers by number."""
    return [sum(quarters) for _, quarters in issuer(name)[:BIDDERS]]


def examples():
    mine, yours = bids("a"), bids("b")
    yield Example(auction, [mine, yours], reference(mine, yours), report)


def report(result):
    winner, price = result
    house, number = ("first", winner + 1) if winner < BIDDERS else ("second", winner - BIDDERS + 1)
    yield f"bidder {number} of the {house} house wins and pays ${price / 100:,.2f}"
