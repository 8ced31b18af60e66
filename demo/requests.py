"""What the two issuers ask of each other: programs, where their inputs come from, and the answers as computed in the clear.

Most programs are those of programs/shared_customers and programs/aes128.
"""
# mypy: ignore-errors

import dataclasses
import typing

import cenote as cn
from cenote import Array, Bit, Both, Evaluator, Garbler, UInt
from programs.aes128.program import aes128
from programs.aes128.reference import FIPS_197
from programs.shared_customers import example, reference
from programs.shared_customers import program as shared
from programs.shared_customers.data import QUARTERS, issuer

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
    quarters = cn.stack([rows.q1, rows.q2, rows.q3, rows.q4, rows.q5, rows.q6], axis=1)
    return shared.Quarters(customer=rows.customer, spend=quarters)


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
    """A program with its sources at A and at B, the answer as computed in the clear, and how it is told to people."""

    program: cn.Program
    asks: str
    to: str
    expected: typing.Any
    tell: typing.Callable
    sources: list
    inputs: dict = dataclasses.field(default_factory=dict)
    #: Jobs that the side permits that does not ask.
    uses: int = 1

    @property
    def name(self):
        return self.program.name


QUARTER_COLUMNS = {"customer": "customer", **{f"q{k}": name for k, name in enumerate(QUARTERS, 1)}}


def tables(rows):
    """The first rows of both tables: (customer, spend in each quarter)."""
    return issuer("a")[:rows], issuer("b")[:rows]


def columns(table):
    """A table as its owner has it in a file."""
    by_quarter = zip(*(spends for _, spends in table))
    return {"customer": [who for who, _ in table], **dict(zip(QUARTERS, by_quarter)), "spend": [sum(spends) for _, spends in table]}


def both_from(source):
    """Sources of `mine` at A and of `yours` at B."""
    return [{"mine": source("mine")}, {"yours": source("yours")}]


def spends(name):
    return cn.Table("purchases", {name: "spend"})


def large_requests(a, b):
    """Those that look at whole tables."""
    n, whole = len(a), both_from(lambda _: cn.Table("purchases"))
    quarters = both_from(lambda _: cn.Table("purchases", QUARTER_COLUMNS))
    groups = [True, *map(list, zip(*reference.shared_by_quarter(a, b)))]
    best = max(sum(spent) for _, spent in a + b)
    total, top = [True, *reference.shared_total(a, b)], [True, reference.top_shared(a, b)]
    return [
        Request(shared.shared_total.compile(n=n), "a", "both", total, example.tell_total, whole),
        Request(shared_by_quarter.compile(n=n), "b", "both", groups, example.tell_quarters, quarters),
        Request(shared.top_shared.compile(n=n), "a", "A only", top, example.tell_top, whole),
        Request(maximum.compile(n=n), "b", "both", best, tell_maximum, both_from(spends)),
        Request(shared.median_spend.compile(n=n), "a", "both", reference.median_spend(a, b), example.tell_median, both_from(spends)),
    ]


def tell_maximum(cents):
    yield f"the best customer of all spent {example.dollars(cents)}"


def limit_question(a, b, number):
    """A question about one customer, whose record each side looks up by itself, and which customers are asked about."""
    theirs = dict(b)
    both = {str(who): sum(spent) + sum(theirs[who]) > LIMIT for who, spent in a if who in theirs}
    asked = [list(both)[k % len(both)] for k in range(number)]
    sources = both_from(lambda name: cn.Row("purchases", key="customer", parameter="customer", columns={name: "spend"}))
    return Request(above_limit.compile(), "both", "both", both, tell_maximum, sources, uses=number), asked


def shared_key():
    """AES-128 of A's block under a key of which each side has a share; B's lies in a file."""
    key, block, ciphertext = FIPS_197
    share = list(bytes.fromhex("123456789abcdef00fedcba987654321"))
    other = [x ^ y for x, y in zip(share, key)]
    sources = [{}, {"other_key": cn.Table("share", {"other_key": "byte"})}]
    inputs = {"key": share, "block": block}
    return Request(aes128.compile(), "a", "both", ciphertext, tell_block, sources, inputs), {"byte": other}


def tell_block(block):
    yield f"ciphertext {bytes(block).hex()}"
