"""Every type with the operations that it has, against Python and NumPy: in the clear, simulated and run by two parties."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inputs import tables
from test_operators import every_way, wrap
from ways import three_ways

import cenote as cn

FEW = settings(max_examples=25, deadline=None)


# ---- truth values -----------------------------------------------------------------------------------------------------------------


@FEW
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=9))
def test_truth_values(rows):
    n = len(rows)
    x, y, z = map(list, zip(*rows))

    def body(x, y, z):
        return {
            "and": x & y,
            "or": x | y,
            "xor": x ^ y,
            "not": ~x,
            "same": x == y,
            "differ": x != y,
            "choice": cn.where(x, y, z),
            "plain": (x & True, x | False, x ^ True),
            "over": (cn.any(x), cn.all(x), cn.parity(x), cn.sum(x)),
            "sorted": cn.sort(x),
            "word": cn.from_bits(x),
            "number": cn.UInt[3](x),
            "shown": cn.reveal(x[0]),
        }

    got = every_way(body, (cn.Array[cn.Bit, n],) * 3, (x, y, z))
    assert got == {
        "and": [a and b for a, b in zip(x, y)],
        "or": [a or b for a, b in zip(x, y)],
        "xor": [a != b for a, b in zip(x, y)],
        "not": [not a for a in x],
        "same": [a == b for a, b in zip(x, y)],
        "differ": [a != b for a, b in zip(x, y)],
        "choice": [b if a else c for a, b, c in rows],
        "plain": (x, x, [not a for a in x]),
        "over": (any(x), all(x), sum(x) % 2 == 1, sum(x)),
        "sorted": sorted(x),
        "word": sum(a << k for k, a in enumerate(x)),
        "number": [int(a) for a in x],
        "shown": x[0],
    }


# ---- words of every width ---------------------------------------------------------------------------------------------------------

WIDTHS = [1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 1000, 4095, 4096]


@st.composite
def words(draw, widths=tuple(WIDTHS)):
    of = draw(st.sampled_from([cn.UInt, cn.Int]))[draw(st.sampled_from(widths))]
    number = st.one_of(st.sampled_from([of.low, of.high, 0]), st.integers(of.low, of.high))
    return of, draw(number), draw(number), draw(st.integers(0, of.width + 1))


@FEW
@given(words())
def test_words_of_every_width(case):
    of, a, b, by = case
    bits = a & ((1 << of.width) - 1)

    def body(x, y, c):
        return {
            "sums": (x + y, x - y, -x, abs(x), 1 + x if of.high else x),
            "bits": (x & y, x | y, x ^ y, ~x, x << by, x >> by, cn.rotl(x, by), cn.rotr(x, by)),
            "order": (x == y, x != y, x < y, x <= y, x > y, x >= y),
            "choice": (cn.where(c, x, y), cn.min(x, y), cn.max(x, y)),
            "counts": (cn.popcount(x), cn.leading_zeros(x)),
            "places": (cn.argmin(cn.stack([x, y, x])), cn.argmax(cn.stack([x, y, x]))),
            "sorted": cn.sort(cn.stack([x, y, x])),
            "wide": cn.sum(cn.stack([x, y, x]), width=min(of.width + 2, 4096)),
            "shown": cn.reveal(x),
        }

    one = 1 if of.high else 0
    turn = by % of.width
    turned = [(bits << k | bits >> (of.width - k)) & ((1 << of.width) - 1) for k in (turn, (of.width - turn) % of.width)]
    wide = type(of)(of.kind, min(of.width + 2, 4096))
    assert every_way(body, (of, of, cn.Bit), (a, b, True)) == {
        "sums": tuple(wrap(n, of) for n in (a + b, a - b, -a, abs(a), a + one)),
        "bits": tuple(wrap(n, of) for n in (a & b, a | b, a ^ b, ~a, a << by, a >> by, *turned)),
        "order": (a == b, a != b, a < b, a <= b, a > b, a >= b),
        "choice": (a, min(a, b), max(a, b)),
        "counts": (bin(bits).count("1"), of.width - bits.bit_length()),
        "places": ([a, b].index(min(a, b)), [a, b].index(max(a, b))),
        "sorted": sorted([a, b, a]),
        "wide": wrap(2 * a + b, wide),
        "shown": a,
    }


@FEW
@given(words(tuple(w for w in WIDTHS if w <= 500)))
def test_products_and_quotients_of_every_width(case):
    of, a, b, _ = case

    def body(x, y):
        roots = () if of.signed else (cn.isqrt(x),)
        return (x * y, cn.multiply_full(x, y), x // y, x % y, x**2, *roots)

    quotient, remainder = divmod(a, b) if b else (wrap(-1, of), a)
    roots = () if of.signed else (math.isqrt(a),)
    wanted = (wrap(a * b, of), a * b, wrap(quotient, of), remainder, wrap(a * a, of), *roots)
    assert every_way(body, (of, of), (a, b)) == wanted


# ---- fixed point ------------------------------------------------------------------------------------------------------------------


@FEW
@given(st.integers(1, 12), st.integers(0, 12), st.data())
def test_fixed_point_of_every_kind(before, after, data):
    of = cn.Fixed[before, after]
    units = st.one_of(st.sampled_from([of.low, of.high, 0]), st.integers(of.low, of.high))
    a, b, c = (Fraction(data.draw(units), 1 << after) for _ in range(3))

    def body(x, y, z):
        three = cn.stack([x, y, z])
        return {
            "sums": (x + y, x - y, -x, abs(x), cn.sum(three)),
            "products": (x * y, three @ three),
            "order": (x == y, x < y, x <= y, x > y, x >= y),
            "choice": (cn.where(x < y, x, y), cn.min(three), cn.max(x, y), cn.argmin(three), cn.sort(three)),
            "quotient": x / y,
            "whole": cn.Int[before](x),
            "shown": cn.reveal(x),
        }

    def value(exact):
        """What is left of a number, rounded down to the last place."""
        return wrap(math.floor(exact * (1 << after)), of) / (1 << after)

    got = every_way(body, (of, of, of), (a, b, c))
    quotient = got.pop("quotient")
    if b:
        assert quotient == wrap(int(a / b * (1 << after)), of) / (1 << after)
    exact = [a, b, c]
    assert got == {
        "sums": tuple(map(value, (a + b, a - b, -a, abs(a), a + b + c))),
        "products": (value(a * b), value(a * a + b * b + c * c)),
        "order": (a == b, a < b, a <= b, a > b, a >= b),
        "choice": (min(a, b), min(exact), max(a, b), exact.index(min(exact)), sorted(exact)),
        "whole": math.floor(a),
        "shown": a,
    }


# ---- arrays -----------------------------------------------------------------------------------------------------------------------


@st.composite
def broadcast(draw):
    """Shapes that go together, and arrays of them."""
    full = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))

    def part():
        own = [size if draw(st.booleans()) else 1 for size in full]
        return tuple(own[draw(st.integers(0, len(full) - 1)) :])

    def array():
        shape = part()
        numbers = draw(st.lists(st.integers(-128, 127), min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(numbers, dtype=np.int8).reshape(shape)

    return array(), array()


@FEW
@given(broadcast())
def test_vectors_broadcast_as_those_of_numpy(pair):
    a, b = pair

    def body(x, y):
        return {
            "sums": (x + y, x - y, x * y),
            "bits": (x & y, x | y, x ^ y),
            "order": (x == y, x != y, x < y, x <= y, x > y, x >= y),
            "choice": (cn.where(x < y, x, y), cn.where(x < y, x, 7), cn.min(x, y), cn.max(x, y)),
            "plain": (x + 1, 3 - y, x * 2, x > 0),
            "quotient": (x // (y | 1), x % (y | 1)),
        }

    got = every_way(body, (cn.Array[cn.Int[8], a.shape], cn.Array[cn.Int[8], b.shape]), (a, b))
    # The smallest number by -1 is the one quotient that wraps, and NumPy warns.
    with np.errstate(over="ignore"):
        wanted = {
            "sums": (a + b, a - b, a * b),
            "bits": (a & b, a | b, a ^ b),
            "order": (a == b, a != b, a < b, a <= b, a > b, a >= b),
            "choice": (np.where(a < b, a, b), np.where(a < b, a, np.int8(7)), np.minimum(a, b), np.maximum(a, b)),
            "plain": (a + np.int8(1), np.int8(3) - b, a * np.int8(2), a > 0),
            "quotient": (a // (b | 1), a % (b | 1)),
        }
    assert got == {name: tuple(part.tolist() for part in parts) for name, parts in wanted.items()}


@FEW
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.data())
def test_matrix_products(rows, inner, cols, signed, data):
    of = cn.Int[6] if signed else cn.UInt[6]

    def matrix(*shape):
        numbers = data.draw(st.lists(st.integers(of.low, of.high), min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(numbers).reshape(shape)

    a, b = matrix(rows, inner), matrix(inner, cols)

    def body(x, y):
        return x @ y, cn.matmul(x, y, width=16), x[0] @ y, x @ y[:, 0], x[0] @ y[:, 0], cn.map(lambda row: row @ y, x)

    types = (cn.Array[of, rows, inner], cn.Array[of, inner, cols])
    exact = a @ b
    narrow = np.vectorize(lambda n: wrap(int(n), of))(exact).tolist()
    column = [row[0] for row in narrow]
    assert every_way(body, types, (a, b)) == (narrow, exact.tolist(), narrow[0], column, column[0], narrow)


# ---- records and tables -----------------------------------------------------------------------------------------------------------


class Visit(cn.Record):
    """A row with fields of every kind."""

    patient: cn.UInt[8]
    change: cn.Int[8]
    dose: cn.Fixed[6, 2]
    urgent: cn.Bit


@cn.program
def visits(rows: cn.Garbler[cn.Array[Visit, "n"]], other: cn.Evaluator[Visit], n: int):
    """What one does with tables."""
    first = cn.argmax(rows.change)
    changed = rows.copy()
    changed[0] = other
    total = cn.Fixed[12, 2](0)
    for i in cn.range(n):
        total += cn.Fixed[12, 2](cn.where(rows[i].urgent, rows[i].dose, 0))
    return {
        "found": cn.lookup(rows, first),
        "ordered": cn.sort(rows, by="patient"),
        "top": cn.top(1, rows, by="dose"),
        "same": rows == other,
        "chosen": cn.where(rows[0].urgent, rows[0], other),
        "all": cn.concatenate([changed, cn.stack([other])]),
        "moved": other.replace(change=other.change + 1, urgent=True),
        "total": total,
    }


CELLS = st.tuples(st.integers(0, 3), st.integers(-128, 127), st.integers(-128, 127).map(lambda q: q / 4), st.booleans())
NAMES = ("patient", "change", "dose", "urgent")


@FEW
@given(st.lists(CELLS, min_size=1, max_size=7), CELLS, st.data())
def test_tables_of_every_form(cells, other, data):
    columns = {name: list(column) for name, column in zip(NAMES, zip(*cells))}
    _, table = data.draw(st.sampled_from(list(tables(columns))))
    rows, mine = [dict(zip(NAMES, row)) for row in cells], dict(zip(NAMES, other))
    got, _ = three_ways(visits, rows=table, other=mine, n=len(rows))
    ordered, best = ([dict(zip(NAMES, row)) for row in zip(*got.pop(name).values())] for name in ("ordered", "top"))
    assert [row["patient"] for row in ordered] == sorted(columns["patient"])
    assert sorted(map(repr, ordered)) == sorted(map(repr, rows))
    assert best[0] in rows
    assert best[0]["dose"] == max(columns["dose"])
    assert got == {
        "found": max(rows, key=lambda row: row["change"]),
        "same": [row == mine for row in rows],
        "chosen": rows[0] if rows[0]["urgent"] else mine,
        "all": {name: [mine[name], *columns[name][1:], mine[name]] for name in NAMES},
        "moved": {**mine, "change": wrap(mine["change"] + 1, cn.Int[8]), "urgent": True},
        "total": sum(row["dose"] for row in rows if row["urgent"]),
    }


# ---- loops, what is revealed, checks ----------------------------------------------------------------------------------------------


@cn.program(checked=True)
def careful(x: cn.Garbler[cn.Array[cn.Int[6], 4]], y: cn.Evaluator[cn.Int[6]]):
    """Arithmetic that says when it does not fit, in a loop and in a branch on what is revealed."""
    total, product = cn.Int[6](0), cn.Int[6](1)
    for i in cn.range(4):
        total = total + x[i]
    if cn.reveal(y > 0):
        product = x[0] * y
    else:
        product = x[0] - y
    return total, product


@FEW
@given(st.lists(st.integers(-32, 31), min_size=4, max_size=4), st.integers(-32, 31))
def test_checks_see_every_number_that_does_not_fit(x, y):
    sums = [sum(x[:k], 0) for k in range(1, 5)]
    product = x[0] * y if y > 0 else x[0] - y
    (total, last), run = three_ways(careful, x=x, y=y)
    assert (total, last) == (wrap(sums[-1], cn.Int[6]), wrap(product, cn.Int[6]))
    # A partial sum may wrap back; that one as well did not fit.
    seen, partial = False, 0
    for number in x:
        seen |= not -32 <= partial + number <= 31
        partial = wrap(partial + number, cn.Int[6])
    assert run.overflowed is (seen or not -32 <= product <= 31)
    assert bool(run.overflow) is run.overflowed


@pytest.mark.parametrize("backend", ["yao", "wrk"])
def test_secure_backends_give_the_same(backend):
    rows = [dict(zip(NAMES, row)) for row in [(3, -7, 1.25, True), (1, 9, -2.5, False), (3, 0, 8.0, True)]]
    three_ways(visits, backend, rows=rows, other=rows[1], n=3)
    three_ways(careful, backend, x=[30, 5, -6, 2], y=3)
    case = (cn.Int[9], -100, 37)
    every_way(lambda x, y: (divmod(x, y), x * y, cn.sort(cn.stack([x, y, x]))), (case[0],) * 2, case[1:], backend)
