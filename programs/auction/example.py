"""Sixteen made-up bids."""

from ..common import Example
from .program import auction
from .reference import auction as reference


def examples():
    mine = [12_000, 18_500, 9_900, 21_000, 15_250, 8_000, 19_999, 17_000]
    yours = [14_000, 20_500, 22_750, 11_000, 16_100, 22_500, 7_500, 13_333]
    yield Example(auction, [mine, yours], reference(mine, yours), tell)


def tell(result):
    winner, price = result
    house, number = ("first", winner + 1) if winner < 8 else ("second", winner - 7)
    yield f"bidder {number} of the {house} house wins and pays {price:,}"
