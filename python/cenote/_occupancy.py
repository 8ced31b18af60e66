"""How many entries of a hashed map lie in its stash: a bound, and the size of the stash that follows from it.

A map of n entries has B buckets of c slots, and an entry goes into the stash if it finds c others in its bucket. docs/protocols/map.md has
the proof of

    P(more than S in the stash) <= M^B x^-(S + 1),    M = sum over k of P(k) (1 + (x^k - 1) t(k))

for each x > 1, P(k) the probability that k of n belong to a bucket, and t(k) that one of them found c or more when it came, at most.
"""

from __future__ import annotations

import decimal
import itertools
import math
from decimal import Decimal

#: All insertions of the life of a map lose an entry with a probability of at most 2^-this.
EPSILON = 40
#: How many insertions a map has in its life, as a power of two: more than the limits of a run let through.
LIFE = 24

#: Numbers of decimal places, so that every machine comes to the same size.
_EXACT = decimal.Context(prec=50)
#: Values of a that are looked at, bounds between them.
_STEPS = 16
#: Entries of one bucket whose probabilities are looked at one by one, and four for each that it has on average.
_FEW = 16
#: The x of the bound, in sixteenths.
_BASES = (17, 18, 19, 20, 21, 22, 24, 26, 28, 32, 36, 40, 48, 64, 96)


def stash(n: int, buckets: int, slots: int, bits: int = EPSILON + LIFE) -> int:
    """The slots of a stash that is full for an entry of a map of ``n`` with a probability of at most 2^-``bits``."""
    with decimal.localcontext(_EXACT):
        few = min(n, _FEW + 4 * -(-n // buckets))
        there = _binomial(n, buckets, few)
        found = [Decimal(0), *_found(n, buckets, slots, few)]
        sizes = []
        for sixteenths in _BASES:
            base = Decimal(sixteenths) / 16
            mean = sum((p * (1 + (base**k - 1) * found[k]) for k, p in enumerate(there)), Decimal(0)) + _rest(n, buckets, few, base)
            sizes.append((buckets * mean.ln() + bits * Decimal(2).ln()) / base.ln())
        # S + 1 is at least the smallest of these; and no more than all entries are there.
        return max(1, min(n, math.ceil(min(sizes)) - 1))


def _binomial(n: int, buckets: int, most: int) -> list[Decimal]:
    """Probabilities that 0, 1, .., ``most`` of ``n`` belong to a bucket."""
    share = 1 / Decimal(buckets)
    odds = share / (1 - share)
    found = [(1 - share) ** n]
    for k in range(most):
        found.append(found[-1] * odds * (n - k) / (k + 1))
    return found


def _rest(n: int, buckets: int, few: int, base: Decimal) -> Decimal:
    """A bound of the sum of P(k) x^k over the k that are not looked at: (n x / B)^k / k! each, at least halved by the next."""
    if n <= few:
        return Decimal(0)
    load = n * base / buckets
    return Decimal("Infinity") if 2 * load > few else 2 * load ** (few + 1) / math.factorial(few + 1)


def _found(n: int, buckets: int, slots: int, most: int) -> list[Decimal]:
    """t(1), .., t(``most``)."""
    found = [Decimal(0)] * most
    ends = [step * (n - 1) // _STEPS for step in range(_STEPS + 1)]
    # From one end to the next H is at most that of the upper one, and D that of the lower one.
    for low, high in itertools.pairwise(ends):
        gone = _binomial(n - 1 - low, buckets, slots - 1)
        least = max(Decimal(0), 1 - sum(gone))
        for k in range(1, most + 1):
            fewer = _hypergeometric(n - 1, high, k - 1, slots)
            more = (1 - sum(fewer[: slots - d], Decimal(0)) for d in range(slots))
            found[k - 1] = max(found[k - 1], least + sum((p * q for p, q in zip(gone, more)), Decimal(0)))
    return [min(Decimal(1), p) for p in found]


def _hypergeometric(all_of: int, marked: int, drawn: int, most: int) -> list[Decimal]:
    """Probabilities that 0, 1, .., less than ``most`` of those drawn are marked."""
    ways = math.comb(all_of, drawn)
    return [Decimal(math.comb(marked, j) * math.comb(all_of - marked, drawn - j)) / ways for j in range(min(drawn + 1, most))]
