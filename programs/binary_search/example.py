"""65,536 ranges of addresses, made up, and four addresses of visitors: the first two are those that RFC 5737 keeps for examples."""

from ..common import Example
from .data import KINDS, dotted, ranges
from .program import binary_search
from .reference import binary_search as reference
from .reference import columns

ADDRESSES = [3221225985, 3325256705, 134744072, 2**32 - 1]


def examples():
    inputs = [columns(ranges(2**16)), ADDRESSES]

    def report(result):
        _, kinds = result
        yield "to the second party alone: " + ", ".join(f"{dotted(address)} is of {KINDS[kind]}" for address, kind in zip(ADDRESSES, kinds))

    yield Example(binary_search, inputs, reference(*inputs), report)
