"""What the two issuers ask of each other: programs, where their inputs come from, and the answers in the clear."""
# mypy: ignore-errors

import dataclasses
import typing

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt
from programs.aes128.program import aes128
from programs.aes128.reference import FIPS_197
from programs.shared_customers import example, reference
from programs.shared_customers import program as shared
from programs.shared_customers.data import QUARTERS

#: In cents.
LIMIT = 10_000


class Purchases(cn.Record):
    """A row of a table, a column for each quarter."""

    customer: shared.Customer
    q1: shared.Quarter
    q2: shared.Quarter
    q3: shared.Quarter
    q4: shared.Quarter
    q5: shared.Quarter
    q6: shared.Quarter


def by_quarter(rows):
    return shared.Quarters(customer=rows.customer, spend=cn.stack([getattr(rows, f"q{k}") for k in range(1, 7)], axis=1))


@cn.program
def shared_by_quarter(mine: Garbler[Array[Purchases, "n"]], yours: Evaluator[Array[Purchases, "n"]], *, n: int = 4096):
    """How many customers bought from both in a quarter, and for how much; nothing of a quarter with fewer than 10 of them."""
    return shared.shared_by_quarter(by_quarter(mine), by_quarter(yours))


@cn.program
def maximum(mine: Garbler[Array[shared.Spend, "n"]], yours: Evaluator[Array[shared.Spend, "n"]], *, n: int = 4096) -> Both[shared.Spend]:
    """What the best customer of all spent, and not whose customer it is."""
    return cn.max(cn.concatenate([mine, yours]))


@cn.program
def above_limit(mine: Garbler[shared.Spend], yours: Evaluator[shared.Spend]) -> Both[Bit]:
    """Whether a customer spent more than the limit at both issuers together."""
    return UInt[22](mine) + UInt[22](yours) > LIMIT


@dataclasses.dataclass
class Request:
    """A program with its sources at A and at B, who asks, who learns the answer, and the answer in the clear."""

    program: cn.Program
    asks: str
    to: str
    expected: typing.Any
    sources: list
    tell: typing.Callable = lambda answer: [str(answer)]
    inputs: dict = dataclasses.field(default_factory=dict)
    #: Jobs that the side permits that does not ask.
    uses: int = 1

    @property
    def name(self):
        return self.program.name


def columns(table):
    """A table as its owner has it in a file."""
    quarters = dict(zip(QUARTERS, zip(*(spends for _, spends in table))))
    return {"customer": [who for who, _ in table], **quarters, "spend": [sum(spends) for _, spends in table]}


def both_from(source):
    """Sources of `mine` at A and of `yours` at B."""
    return [{"mine": source("mine")}, {"yours": source("yours")}]


def large_requests(a, b):
    """Those that look at whole tables."""
    n, best = len(a), max(sum(spent) for _, spent in a + b)
    rows = both_from(lambda _: cn.Table("purchases"))
    quarters = both_from(lambda _: cn.Table("purchases", {"customer": "customer", **{f"q{k}": name for k, name in enumerate(QUARTERS, 1)}}))
    spends = both_from(lambda name: cn.Table("purchases", {name: "spend"}))
    total, top, median = [True, *reference.shared_total(a, b)], [True, reference.top_shared(a, b)], reference.median_spend(a, b)
    groups = [True, *map(list, zip(*reference.shared_by_quarter(a, b)))]
    return [
        Request(shared.shared_total.compile(n=n), "a", "both", total, rows, example.tell_total),
        Request(shared_by_quarter.compile(n=n), "b", "both", groups, quarters, example.tell_quarters),
        Request(shared.top_shared.compile(n=n), "a", "A only", top, rows, example.tell_top),
        Request(maximum.compile(n=n), "b", "both", best, spends, lambda x: [f"the best customer of all spent {example.dollars(x)}"]),
        Request(shared.median_spend.compile(n=n), "a", "both", median, spends, example.tell_median),
    ]


def question(a, b, number):
    """Whether a customer spent much, whose record each side looks up; so many customers, and the answer for each that both have."""
    theirs = dict(b)
    expected = {str(who): sum(spent) + sum(theirs[who]) > LIMIT for who, spent in a if who in theirs}
    asked = [list(expected)[k % len(expected)] for k in range(number)]
    sources = both_from(lambda name: cn.Row("purchases", key="customer", parameter="customer", columns={name: "spend"}))
    return Request(above_limit.compile(), "both", "both", expected, sources), asked


def shared_key():
    """AES-128 of A's block under a key of which each side has a share; B's lies in a file."""
    key, block, ciphertext = FIPS_197
    share = list(bytes.fromhex("123456789abcdef00fedcba987654321"))
    other = [x ^ y for x, y in zip(share, key)]
    sources, inputs = [{}, {"other_key": cn.Table("share", {"other_key": "byte"})}], {"key": share, "block": block}
    return Request(aes128.compile(), "a", "both", ciphertext, sources, lambda block: [bytes(block).hex()], inputs), {"byte": other}
