"""A list of hot cards and a stream of payments, made up: the same ones each time."""

import random

#: How the numbers begin that payment services give out for tests.
RANGES = (400000, 411111, 424242, 555555, 222300)
#: 13 June 2026, in days since the beginning of 1970.
TODAY = 20_617


def luhn(number):
    """The number with its check digit (ISO/IEC 7812-1) behind it."""
    doubled = [2 * int(digit) for digit in str(number)[::-2]]
    total = sum(map(int, str(number)[-2::-2])) + sum(digit - 9 * (digit > 9) for digit in doubled)
    return 10 * number + -total % 10


def cards(chosen, count):
    """So many different card numbers of 16 digits."""
    found = {}
    while len(found) < count:
        found[luhn(RANGES[int(chosen.random() * len(RANGES))] * 10**9 + int(chosen.random() * 10**9))] = None
    return list(found)


def stream(entries, payments):
    """The issuer's list, (card, reason, until), and the other's payments, (card, report)."""
    chosen = random.Random(2017)
    numbers = cards(chosen, entries + payments)
    # Some entries expire today, or have expired.
    known = [(card, 1 + int(chosen.random() * 4), TODAY - 20 + int(chosen.random() * 700)) for card in numbers[:entries]]
    asked = []
    for card in numbers[entries:]:
        kind = chosen.random()
        if kind < 0.3:
            asked.append((known[int(chosen.random() * entries)][0], 0))
        elif kind < 0.5 and asked:
            # The card of a payment before.
            asked.append((asked[int(chosen.random() * len(asked))][0], 0))
        else:
            asked.append((card, 2 * (kind > 0.8)))
    return known, asked
