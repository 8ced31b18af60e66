"""Genotypes of 262 people and a bit, of 4,000 bits each, beside those of as many others: 2^20 bits, as in table 5 of the paper on pools.

The people are those of similar_patients. There are 379 of them, so that some are in both strings, but never at the same place.
"""

from ..common import Example
from ..similar_patients.data import genotypes
from ..similar_patients.reference import bits
from .program import hamming
from .reference import hamming as reference

BITS = 2**20


def examples():
    _, people = genotypes()
    every = [bit for copies in people for bit in bits(copies)]
    # The first people of the file, and the last ones from a person's beginning on.
    start = (len(every) - BITS) // len(bits(people[0])) * len(bits(people[0]))
    mine, yours = every[:BITS], every[start : start + BITS]
    yield Example(hamming, [mine, yours], reference(mine, yours), report)


def report(result):
    yield f"the strings differ in {result:,} of {BITS:,} places, {100 * result / BITS:.1f} percent"
