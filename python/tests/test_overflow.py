"""What does not fit its type: cut as the guide says, told by simulations and secure runs alike, and covered by ``checked``."""

import math
import warnings
from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn

FEW = settings(max_examples=60, deadline=None)
U8, I8 = cn.UInt[8], cn.Int[8]


def overflows(body, types, values):
    """What a function gives and whether anything does not fit: without ``checked`` and with it, simulated and by two parties."""
    names = [f"x{k}" for k in range(len(types))]
    text = ", ".join(f"{name}: cn.{'Garbler' if k % 2 == 0 else 'Evaluator'}[types[{k}]]" for k, name in enumerate(names))
    scope = {"cn": cn, "types": types, "body": body}
    exec(f"def made({text}): return body({', '.join(names)})", scope)
    plain, careful = (cn.program(scope["made"], checked=checked) for checked in (False, True))
    found = [three_ways(function, **dict(zip(names, values))) for function in (plain, careful)]
    assert found[0][0] == found[1][0]
    assert found[0][1].overflowed is found[1][1].overflowed
    assert repr(found[0][1].overflow) == repr(found[1][1].overflow)
    return found[0][0], found[0][1].overflowed


# ---- conversions ------------------------------------------------------------------------------------------------------------------


@st.composite
def types(draw):
    if draw(st.booleans()):
        return draw(st.sampled_from([cn.UInt, cn.Int]))[draw(st.integers(1, 12))]
    return cn.Fixed[draw(st.integers(1, 8)), draw(st.integers(0, 8))]


@FEW
@given(types(), types(), st.data())
def test_conversions_tell_what_does_not_fit(before, after, data):
    units = data.draw(st.one_of(st.sampled_from([before.low, before.high, 0]), st.integers(before.low, before.high)))
    exact = Fraction(units, 1 << before.frac)
    moved = math.floor(exact * (1 << after.frac))
    cut = (moved - after.low) % (1 << after.width) + after.low
    wanted = cut / (1 << after.frac) if after.kind == "fixed" else cut
    given = float(exact) if before.kind == "fixed" else units
    assert overflows(lambda x: after(x), (before,), (given,)) == (wanted, cut != moved)


def test_conversions_are_named_with_their_line():
    @cn.program
    def narrowed(x: cn.Garbler[cn.Array[cn.UInt[16], 3]]):
        return cn.Fixed[16, 8](cn.sum(x, width=20))

    with pytest.warns(cn.OverflowWarning, match=r"narrowed: .*\n  conversion to Fixed\[16, 8\] does not fit once at .*test_overflow.py"):
        run = narrowed.simulate(x=[20000, 20000, 10])
    assert run.value == 40010 - 65536
    assert run.overflowed is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = narrowed.run_local(x=[2, 3, 10], backend="plain")
    assert (run.value, run.overflowed, run.overflow) == (15.0, False, [])
    # The values are in the report alone: a warning may go to a log.
    with pytest.warns(cn.OverflowWarning) as caught:
        run = narrowed.run_local(x=[40000, 3, 10], backend="plain")
    assert run.overflowed is True
    assert ("40013" in repr(run.overflow), "40013" in str(caught[0].message)) == (True, False)
    assert narrowed.run_local(x=[40000, 3, 10], backend="plain", overflow=False).overflowed is None


def test_conversions_in_blocks_are_covered():
    @cn.function
    def half(x):
        return cn.UInt[4](x >> 1)

    @cn.inline
    def body(x, y):
        total = cn.UInt[4](0)
        for i in cn.range(3):
            total = total ^ half(x[i])
        if cn.reveal(y > 100):
            y = U8(cn.UInt[4](y))
        return total, cn.map(lambda v: cn.UInt[4](v >> 3), x), y

    kinds = (cn.Array[U8, 3], U8)
    assert overflows(body, kinds, ([1, 2, 31], 100)) == ((14, [0, 0, 3], 100), False)
    assert overflows(body, kinds, ([1, 2, 32], 100)) == ((1, [0, 0, 4], 100), True)
    assert overflows(body, kinds, ([1, 2, 31], 101)) == ((14, [0, 0, 3], 5), True)
    assert overflows(body, kinds, ([1, 128, 31], 0)) == ((15, [0, 0, 3], 0), True)


def test_a_conversion_that_always_fits_costs_nothing():
    def ands(before, after):
        @cn.program(checked=True)
        def made(x: cn.Garbler[before]):
            return after(x)

        return made.compile().cost()["ands"]

    assert [ands(U8, cn.UInt[9]), ands(U8, cn.Int[9]), ands(I8, cn.Fixed[8, 4]), ands(cn.Fixed[4, 4], cn.Int[4])] == [0] * 4
    # The bits on top are looked at, and no others.
    assert [ands(U8, cn.UInt[4]), ands(U8, I8), ands(I8, U8), ands(I8, cn.Int[4]), ands(I8, cn.UInt[4])] == [3, 0, 0, 3, 3]


# ---- constants --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: U8(300), r"300 does not fit UInt\[8\] \(0 .. 255\)"),
        (lambda x: I8(numpy.int64(-129)), r"-129 does not fit Int\[8\] \(-128 .. 127\)"),
        (lambda x: U8([1, -1]), r"constant \[1\]: -1 does not fit UInt\[8\]"),
        (lambda x: cn.Fixed[8, 8](x) * 128, r"128 does not fit Fixed\[8, 8\] \(-128 .. 127.996\)"),
        (lambda x: cn.Fixed[8, 8](x) * 0.001, r"0.001 rounds to zero in Fixed\[8, 8\], whose last place is 2\^-8: take 9 fraction bits"),
        (lambda x: cn.Fixed[8, 8](x) < 1e-9, r"1e-09 rounds to zero in .*: take 29 fraction bits or more, better 36"),
        (lambda x: cn.Fixed[8, 8](numpy.array([0, -0.0001])), "0.0001 rounds to zero"),
    ],
)
def test_constants_that_do_not_fit_are_refused(body, message):
    @cn.program
    def made(x: cn.Garbler[U8]):
        return body(x), x

    for run in (made.compile, lambda: made(1)):
        with pytest.raises(cn.CompileError, match=message):
            run()


def test_constants_that_keep_something_are_rounded():
    @cn.program
    def made(x: cn.Garbler[cn.Fixed[8, 8]]):
        return x + 0.0, x * cn.Fixed[8, 8]([1.0, 0.0001]), x + cn.Fixed[8, 8](0.003)

    assert three_ways(made, x=2.0)[0] == (2.0, [2.0, 0.0], 2.0 + 1 / 256)


# ---- arithmetic -------------------------------------------------------------------------------------------------------------------


def test_sums_of_counts_do_not_wrap_in_silence():
    kinds = (cn.Array[cn.Bit, 3],)
    twice = lambda bits: cn.sum(bits) + cn.sum(bits)
    assert overflows(twice, kinds, ([True, False, False],)) == (2, False)
    assert overflows(twice, kinds, ([True, True, False],)) == (0, True)
    wide = lambda bits: cn.sum(bits, width=3) + cn.sum(bits, width=3)
    assert overflows(wide, kinds, ([True, True, True],)) == (6, False)
    assert overflows(lambda bits: cn.sum(bits, width=1), kinds, ([True, True, True],)) == (1, True)


@pytest.mark.parametrize("of", [U8, I8])
@pytest.mark.parametrize("y", [0, 1, 3, -1])
def test_quotients_that_are_none_are_told(of, y):
    for x in (of.low, of.high, 7) if y >= of.low else ():
        quotient, over = overflows(lambda x, y: x // y, (of, of), (x, y))
        remainder, by_zero = overflows(lambda x, y: x % y, (of, of), (x, y))
        assert (over, by_zero) == (not y or (x, y) == (-128, -1), not y)
        if y:
            assert (quotient, remainder) == ((x // y + 128) % 256 - 128 if of.signed else x // y, x % y)
        assert overflows(lambda x, y: divmod(x, y), (of, of), (x, y))[1] is over


def test_rotations_do_not_overflow():
    turned = lambda x, y: (cn.rotr(x, y), cn.rotl(x, y))
    assert [overflows(turned, (U8, cn.UInt[3]), (129, y)) for y in (0, 1)] == [((129, 129), False), ((192, 3), False)]


# ---- secret places ----------------------------------------------------------------------------------------------------------------


class Cell(cn.Record):
    """Two fields of different widths."""

    x: U8
    y: cn.Array[cn.Bit, 2]


@FEW
@given(st.integers(1, 9), st.integers(1, 5), st.data())
def test_places_beyond_the_end_read_zeros_and_write_nothing(size, width, data):
    items = data.draw(st.lists(st.integers(1, 255), min_size=size, max_size=size))
    place, more = data.draw(st.integers(0, 2**width - 1)), data.draw(st.integers(0, 2**width - 1))
    enable = data.draw(st.booleans())
    kinds = (cn.Array[U8, size], cn.UInt[width], cn.Bit)
    outside, beside = place >= size, more >= size
    read = [0 if at >= size else items[at] for at in (place, more)]
    matrix = [[item, 255 - item] for item in items]

    def at(function, kinds=kinds, rows=items):
        return overflows(function, kinds, (rows, place, enable))

    assert at(lambda x, s, on: (x[s], cn.lookup(x, s))) == ((read[0],) * 2, outside)
    assert at(lambda x, s, on: x[cn.stack([s, cn.UInt[width](more)])]) == (read, outside or beside)

    def stored(x, s, on):
        y, z = x.copy(), x.copy()
        y[s] = 7
        z[s] += 1
        return y, z

    wanted = [[7 if k == place else item for k, item in enumerate(items)], [(item + (k == place)) % 256 for k, item in enumerate(items)]]
    assert at(stored) == (tuple(wanted), outside or read[0] == 255)
    wanted = [7 if k == place and enable else item for k, item in enumerate(items)]
    assert at(lambda x, s, on: cn.store(x, s, 7, enable=on)) == (wanted, outside and enable)
    rows = (cn.Array[U8, size, 2], *kinds[1:])
    assert at(lambda x, s, on: x[s] + 0, rows, matrix) == ([0, 0] if outside else matrix[place], outside)


@FEW
@given(st.integers(1, 6), st.integers(0, 7), st.integers(0, 255))
def test_rows_beyond_the_end_are_empty(size, place, new):
    def body(table, s, new):
        row = table[s]
        row.x = new
        table[s].y[1] = True
        return table, row, cn.lookup(table, s)

    cells = [{"x": k + 1, "y": [True, False]} for k in range(size)]
    (table, row, again), over = overflows(body, (cn.Array[Cell, size], cn.UInt[3], U8), (cells, place, new))
    inside = place < size
    assert over is not inside
    assert table == {"x": [new if k == place else k + 1 for k in range(size)], "y": [[True, k == place] for k in range(size)]}
    assert row == again == ({"x": new, "y": [True, True]} if inside else {"x": 0, "y": [False, False]})


def test_places_beyond_the_end_are_named_with_their_line():
    @cn.program
    def picked(x: cn.Garbler[cn.Array[U8, 5]], s: cn.Evaluator[cn.UInt[3]]):
        return x[s]

    with pytest.warns(cn.OverflowWarning, match="an index is beyond the end once at .*test_overflow.py"):
        run = picked.simulate(x=[1, 2, 3, 4, 5], s=7)
    assert "first with 7 of 5 items in lane 0" in repr(run.overflow)


def test_places_that_have_no_bits_to_reach_beyond_cost_nothing():
    def ands(size, width, checked):
        @cn.program(checked=checked)
        def made(x: cn.Garbler[cn.Array[U8, size]], s: cn.Evaluator[cn.UInt[width]]):
            return x[s]

        return made.compile().cost()["ands"]

    assert [ands(8, 3, False), ands(8, 3, True), ands(8, 2, True)] == [7 * 8, 7 * 8, 3 * 8]
    # Beyond the end: eight to make zeros, the others to tell; once more for the flag.
    assert [ands(6, 3, False), ands(8, 4, False), ands(6, 3, True)] == [5 * 8 + 8 + 1, 7 * 8 + 8, 5 * 8 + 8 + 1 + 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x, s: cn.lookup(x, 3), r"the place 3 is public: write array\[3\]"),
        (lambda x, s: x[I8(s)], r"a place of type Int\[8\]: take UInt\[n\]"),
        (lambda x, s: cn.store(x, I8(s), 0), r"a place of type Int\[8\]: take UInt\[n\]"),
        (lambda x, s: cn.lookup([1, 2], s), "a table of plain values has no width"),
        # A constant is public, also as a word.
        (lambda x, s: cn.lookup(x, U8(5)), "`lookup`: the place is 5, but the table has 5 lanes, numbered from 0"),
        (lambda x, s: x[U8([4, 9])], "`lookup`: the place is 9, but the table has 5 lanes, numbered from 0"),
        (lambda x, s: cn.store(x, U8(9), 0, enable=s == 0), "`store`: the place is 9, but the table has 5 lanes, numbered from 0"),
    ],
)
def test_places_of_other_types_or_beyond_the_end_are_refused(body, message):
    @cn.program
    def made(x: cn.Garbler[cn.Array[U8, 5]], s: cn.Evaluator[cn.UInt[3]]):
        return body(x, s)

    with pytest.raises(cn.CompileError, match=message):
        made.compile()


def test_long_programs_are_looked_at_where_that_is_wanted():
    @cn.program
    def made(x: cn.Garbler[U8], n: int):
        for _ in cn.range(n):
            x = x + 3
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = made.run_local(x=1, n=20_000, backend="plain")
    assert (run.value, run.overflow, run.overflowed) == ((1 + 60_000) % 256, None, None)
    for n, overflow in ((100, None), (20_000, True)):
        with pytest.warns(cn.OverflowWarning):
            assert made.run_local(x=1, n=n, backend="plain", overflow=overflow).overflowed is True


def test_the_overflow_bit_goes_to_who_learns_the_results():
    def added(x, y):
        return x + y

    def receiver(returned, **options):
        def made(x: cn.Garbler[U8], y: cn.Evaluator[U8]):
            return (added(x, y), x) if isinstance(returned, tuple) else added(x, y)

        made.__annotations__["return"] = returned
        return cn.program(checked=True, **options)(made).compile().outputs["overflow"][0]

    assert receiver(U8) == "both"
    assert receiver(U8, to="garbler") == "garbler"
    assert receiver(cn.Garbler[U8]) == "garbler"
    assert receiver(cn.Evaluator[U8]) == "evaluator"
    assert receiver((cn.Garbler[U8], cn.Evaluator[U8])) == "both"
