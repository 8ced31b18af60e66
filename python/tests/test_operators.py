"""Every operator against Python's integers, in the clear and compiled."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn

FEW = settings(max_examples=40, deadline=None)


def every_way(body, types, values, backend="plain"):
    """What a function gives in the clear, after checking that it gives the same simulated and run by two parties."""
    names = [f"x{k}" for k in range(len(types))]
    text = ", ".join(f"{n}: cn.{'Garbler' if k % 2 == 0 else 'Evaluator'}[types[{k}]]" for k, n in enumerate(names))
    scope = {"cn": cn, "types": types, "body": body}
    exec(f"def made({text}): return body({', '.join(names)})", scope)
    return three_ways(cn.program(scope["made"]), backend=backend, **dict(zip(names, values)))[0]


def wrap(number, of):
    number &= (1 << of.width) - 1
    return number - (1 << of.width) if of.signed and number >> (of.width - 1) else number


@st.composite
def operands(draw, makers=(cn.UInt, cn.Int), most=80, count=2):
    of = draw(st.sampled_from(makers))[draw(st.integers(1, most))]
    edges = [v for v in (of.low, of.high, 0, 1, -1) if of.low <= v <= of.high]
    number = st.one_of(st.sampled_from(edges), st.integers(of.low, of.high))
    return (of, *(draw(number) for _ in range(count)))


@FEW
@given(operands())
def test_arithmetic_wraps(case):
    of, a, b = case
    got = every_way(lambda x, y: (x + y, x - y, x * y, -x, abs(x), x**3), (of, of), (a, b))
    wanted = (a + b, a - b, a * b, -a, abs(a), a**3)
    assert got == tuple(wrap(number, of) for number in wanted)


@FEW
@given(operands())
def test_division_rounds_down(case):
    of, a, b = case
    quotient, remainder = every_way(lambda x, y: divmod(x, y), (of, of), (a, b))
    if b == 0:
        assert (quotient, remainder) == (wrap(-1, of), a)
    else:
        assert (quotient, remainder) == (wrap(a // b, of), a % b)


@FEW
@given(operands(count=1), st.integers(0, 30))
def test_division_by_powers_of_two(case, power):
    of, a = case
    if (1 << power) > of.high:
        return
    divisor = 1 << power
    assert every_way(lambda x: (x // divisor, x % divisor), (of,), (a,)) == (a // divisor, a % divisor)


@FEW
@given(operands())
def test_bits_and_comparisons(case):
    of, a, b = case
    got = every_way(lambda x, y: (x & y, x | y, x ^ y, ~x), (of, of), (a, b))
    assert got == tuple(wrap(number, of) for number in (a & b, a | b, a ^ b, ~a))
    got = every_way(lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y), (of, of), (a, b))
    assert got == (a == b, a != b, a < b, a <= b, a > b, a >= b)
    got = every_way(lambda x, y: (cn.min(x, y), cn.max(x, y), cn.where(x < y, x, y)), (of, of), (a, b))
    assert got == (min(a, b), max(a, b), min(a, b))


@FEW
@given(operands(count=1), st.integers(0, 90))
def test_shifts(case, by):
    of, a = case
    shifted = min(by, 127)
    got = every_way(lambda x, y: (x << by, x >> by, x << y, x >> y), (of, cn.UInt[7]), (a, shifted))
    assert got == (wrap(a << by, of), a >> by, wrap(a << shifted, of), a >> shifted)
    bits = a & ((1 << of.width) - 1)
    left = by % of.width
    turned = ((bits << left) | (bits >> (of.width - left))) & ((1 << of.width) - 1)
    assert every_way(lambda x: (cn.rotl(x, by), cn.rotr(cn.rotl(x, by), by)), (of,), (a,)) == (wrap(turned, of), a)


@FEW
@given(operands(makers=(cn.UInt,), count=1))
def test_functions_of_words(case):
    of, a = case
    got = every_way(lambda x: (cn.isqrt(x), cn.popcount(x), cn.leading_zeros(x), cn.from_bits(x.bits())), (of,), (a,))
    assert got == (math.isqrt(a), bin(a).count("1"), of.width - a.bit_length(), a)


@FEW
@given(operands(most=40), st.integers(1, 80))
def test_casts_extend_and_cut(case, width):
    of, a, b = case
    got = every_way(lambda x, y: (cn.UInt[width](x), cn.Int[width](y)), (of, of), (a, b))
    assert got == (wrap(a, cn.UInt[width]), wrap(b, cn.Int[width]))
    assert every_way(lambda x, y: cn.multiply_full(x, y), (of, of), (a, b)) == a * b


def test_words_of_4096_bits():
    of = cn.UInt[4096]
    a, b = (1 << 4096) - 12345, (1 << 2000) + 77
    assert every_way(lambda x, y: (x + y, x ^ y, x > y), (of, of), (a, b)) == ((a + b) % (1 << 4096), a ^ b, True)
    with pytest.raises(cn.CompileError, match="choose from 1 to 4096"):
        cn.UInt[4097]


@FEW
@given(st.fractions(-60, 60), st.fractions(-60, 60))
def test_fixed_point(a, b):
    of = cn.Fixed[8, 12]
    unit = Fraction(1, 1 << 12)
    a, b = (round(v / unit) * unit for v in (a, b))
    total, product = every_way(lambda x, y: (x + y, x * y), (of, of), (a, b))
    wide = 1 << 20

    def wrapped(units):
        units = units % wide
        return float((units - wide if units >= wide // 2 else units) * unit)

    assert total == wrapped(int((a + b) / unit))
    assert product == wrapped(math.floor(a * b / unit))
    if b and abs(a / b) < 128:
        assert every_way(lambda x, y: x / y, (of, of), (a, b)) == float(int(a / b / unit) * unit)


def test_fixed_point_conversions_and_wide_results():
    def body(x):
        return cn.Fixed[20, 4](x), cn.Fixed[8, 20](x), cn.Int[8](x), cn.Fixed[8, 8](cn.Int[8](x))

    assert every_way(body, (cn.Fixed[8, 8],), (-2.75,)) == (-2.75, -2.75, -3, -3.0)
    wide = every_way(lambda x: x + 1, (cn.Fixed[64, 64],), (Decimal("0.5"),))
    assert wide == Decimal("1.5")
    assert isinstance(wide, Decimal)


@FEW
@given(st.data())
def test_arrays_over_axes(data):
    rows, cols = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    of = data.draw(st.sampled_from([cn.UInt[9], cn.Int[9]]))
    m = [[data.draw(st.integers(of.low, of.high)) for _ in range(cols)] for _ in range(rows)]
    v = [data.draw(st.integers(of.low, of.high)) for _ in range(cols)]
    types = (cn.Array[of, rows, cols], cn.Array[of, cols])

    def body(a, b):
        return {
            "plus": a + b,
            "rows": cn.sum(a, axis=1, width=16),
            "cols": cn.sum(a, axis=0, width=16),
            "least": cn.min(a),
            "most": cn.max(a, axis=1),
            "where": cn.argmin(a, axis=0),
            "turned": a.T,
            "product": cn.matmul(a, b, width=24),
            "square": cn.matmul(a, a.T, width=24),
            "any": cn.any(a > b),
            "all": cn.all(a > b, axis=1),
            "odd": cn.parity(a > b),
            "count": cn.sum(a > b),
        }

    got = every_way(body, types, (m, v))
    above = [[x > y for x, y in zip(row, v)] for row in m]
    columns = [list(c) for c in zip(*m)]
    assert got["plus"] == [[wrap(x + y, of) for x, y in zip(row, v)] for row in m]
    assert got["rows"] == [sum(row) for row in m]
    assert got["cols"] == [sum(c) for c in columns]
    assert (got["least"], got["most"]) == (min(map(min, m)), [max(row) for row in m])
    assert got["where"] == [c.index(min(c)) for c in columns]
    assert got["turned"] == columns
    assert got["product"] == [sum(x * y for x, y in zip(row, v)) for row in m]
    assert got["square"] == [[sum(x * y for x, y in zip(r, s)) for s in m] for r in m]
    assert got["any"] == any(map(any, above))
    assert got["all"] == [all(row) for row in above]
    assert got["odd"] == bool(sum(map(sum, above)) % 2)
    assert got["count"] == sum(map(sum, above))


@FEW
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=9, unique=True), st.booleans())
def test_sorting_takes_payload_along(keys, descending):
    n = len(keys)
    notes = [[k % 7, k % 5] for k in keys]
    types = (cn.Array[cn.Int[8], n], cn.Array[cn.UInt[4], n, 2])

    def body(x, y):
        return cn.sort(x, y, descending=descending), cn.top(min(3, n), x, y), cn.top(1, x, smallest=True)

    ordered, best, least = every_way(body, types, (keys, notes))
    wanted = sorted(keys, reverse=descending)
    assert ordered == (wanted, [[k % 7, k % 5] for k in wanted])
    most = sorted(keys, reverse=True)[: min(3, n)]
    assert best == (most, [[k % 7, k % 5] for k in most])
    assert least == [min(keys)]


TIES = st.lists(st.tuples(st.integers(-2, 1), st.integers(0, 15)), min_size=1, max_size=24)


class Row(cn.Record):
    """A key in the middle of other fields."""

    left: cn.UInt[4]
    key: cn.Int[2]
    right: cn.UInt[4]


def sorts(rows, descending, k):
    """Every way to sort rows with a key and something else, and what goes in."""
    n = len(rows)
    types = (cn.Array[cn.Int[2], n], cn.Array[cn.UInt[4], n], cn.Array[Row, n])

    def body(keys, notes, table):
        return {
            "rows": cn.sort(keys, notes, descending=descending),
            "best": cn.top(k, keys, notes, smallest=not descending),
            "table": cn.sort(table, by="key", descending=descending),
            "few": cn.top(k, table, by="key", smallest=not descending),
            "lists": cn.map(lambda x, y: cn.sort(x, y, descending=descending), cn.stack([keys, ~keys]), cn.stack([notes, ~notes])),
        }

    keys, notes = ([row[at] for row in rows] for at in (0, 1))
    return body, types, (keys, notes, {"left": notes, "key": keys, "right": [15 - note for note in notes]})


@FEW
@given(TIES, st.booleans(), st.data())
def test_rows_with_equal_keys_come_in_one_order(rows, descending, data):
    k = data.draw(st.integers(1, len(rows)))
    body, types, values = sorts(rows, descending, k)
    got = every_way(body, types, values)
    keys = sorted(values[0], reverse=descending)
    for found, count in (
        (list(zip(*got["rows"])), len(rows)),
        (list(zip(*got["best"])), k),
        (list(zip(got["table"]["key"], got["table"]["left"])), len(rows)),
        (list(zip(got["few"]["key"], got["few"]["left"])), k),
        (list(zip(got["lists"][0][0], got["lists"][1][0])), len(rows)),
    ):
        assert [key for key, _ in found] == keys[:count]
        assert not Counter(found) - Counter(rows)
    assert all(a + b == 15 for a, b in zip(got["table"]["left"], got["table"]["right"]))


@FEW
@given(TIES)
def test_row_numbers_in_the_key_keep_equal_rows_in_order(rows):
    def body(keys, notes):
        numbered = cn.join_words(cn.UInt[5](list(range(len(rows)))), cn.UInt[2](keys ^ -2))
        _, kept = cn.sort(numbered, notes)
        return kept

    n = len(rows)
    got = every_way(body, (cn.Array[cn.Int[2], n], cn.Array[cn.UInt[4], n]), ([key for key, _ in rows], [note for _, note in rows]))
    assert got == [note for _, note in sorted(rows, key=lambda row: row[0])]


@FEW
@given(st.data())
def test_places(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    np = pytest.importorskip("numpy")
    array = np.arange(1, 1 + math.prod(shape), dtype=np.uint8).reshape(shape)
    key = tuple(
        data.draw(
            st.one_of(
                st.integers(-size, size - 1),
                st.builds(lambda a, b, s: slice(a, b, s), st.integers(0, size - 1), st.none(), st.sampled_from([None, 1, 2])),
                st.just(slice(None, None, -1)),
            )
        )
        for size in shape[: data.draw(st.integers(1, len(shape)))]
    )
    of = cn.Array[cn.UInt[8], shape]

    def body(x):
        before = x[key].copy()
        y = x.reshape(-1).reshape(*shape)
        y[key] = y[key] + 100
        return before, x, y

    picked, base, changed = every_way(body, (of,), (array,))
    assert picked == array[key].tolist()
    array[key] += 100
    assert base == changed == array.tolist()


def test_places_from_lists_and_broadcasting():
    def body(x, y):
        return x[[2, 0, 2]], x[..., None] * y, cn.broadcast_to(y[0], (2, 2)), cn.concatenate([x, [9]]), cn.stack([x, x], axis=1)

    got = every_way(body, (cn.Array[cn.UInt[8], 3], cn.Array[cn.UInt[8], 2]), ([1, 2, 3], [10, 20]))
    assert got == ([3, 1, 3], [[10, 20], [20, 40], [30, 60]], [[10, 10], [10, 10]], [1, 2, 3, 9], [[1, 1], [2, 2], [3, 3]])


@pytest.mark.parametrize("at", [0, 2, 4, 5, 7])
def test_secret_places(at):
    def body(table, rows, i):
        changed = cn.store(table, i, 99)
        kept = cn.store(table, i, 99, enable=i != i)
        table[i] = 77
        return rows[i], changed, kept, table, cn.lookup(cn.UInt[8]([5, 6, 7, 8, 9]), i)

    values, rows = [10, 11, 12, 13, 14], [[k, k + 1] for k in range(5)]
    types = (cn.Array[cn.UInt[8], 5], cn.Array[cn.UInt[4], 5, 2], cn.UInt[3])
    row, changed, kept, assigned, constant = every_way(body, types, (values, rows, at))
    # Beyond the end there are zeros.
    assert row == (rows[at] if at < 5 else [0, 0])
    assert changed == [99 if k == at else v for k, v in enumerate(values)]
    assert kept == values
    assert assigned == [77 if k == at else v for k, v in enumerate(values)]
    assert constant == (5 + at if at < 5 else 0)


def test_secret_places_for_every_item():
    got = every_way(lambda t, i: t[i], (cn.Array[cn.UInt[8], 4], cn.Array[cn.UInt[2], 2, 2]), ([5, 6, 7, 8], [[0, 3], [1, 1]]))
    assert got == [[5, 8], [6, 6]]


def test_array_types_convert():
    of = cn.Array[cn.UInt[16], 2]
    assert every_way(lambda x: of(x) + of([1, 2]), (cn.Array[cn.UInt[8], 2],), ([255, 1],)) == [256, 3]
    with pytest.raises(cn.CompileError, match="reshape it"):
        every_way(lambda x: of([1, 2, 3]), (cn.Bit,), (True,))


def test_joined_words():
    got = every_way(lambda x, y: cn.join_words(x, y), (cn.UInt[4], cn.UInt[8]), (0xA, 0x5C))
    assert got == 0x5CA
