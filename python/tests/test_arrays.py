"""Places and shapes of arrays against NumPy, and how long the programs are that they make."""

import math

import hypothesis
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import broadcastable_shapes
from ways import three_ways

import cenote as cn

SETTINGS = hypothesis.settings(max_examples=80, deadline=None)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def numbers(shape):
    return (numpy.arange(numpy.prod(shape, dtype=int)) * 7 % 251).reshape(shape)


def program(shape, function):
    """What a function of an array of this shape gives, in three ways."""

    @cn.program
    def made(x: cn.Garbler[cn.Array[cn.UInt[8], shape]]):
        return function(x)

    return numpy.array(three_ways(made, x=numbers(shape).tolist())[0])


@st.composite
def parts(draw, sizes, together):
    """A part of a key for the first of these axes, or a mask for several, and how many axes it takes."""
    size = sizes[0]
    kind = draw(st.sampled_from(["all", "place", "slice", "list", "list", "mask", "new"]))
    if kind == "place":
        return draw(st.integers(-size, size - 1)), 1
    if kind == "list":
        shape = draw(st.sampled_from([together, together, together[-1:], (1,)]))
        count = math.prod(shape)
        items = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
        return numpy.array(items).reshape(shape).tolist(), 1
    if kind == "mask":
        axes = draw(st.integers(1, len(sizes)))
        return draw(st.integers(1, 2**20).map(lambda bits: mask(sizes[:axes], bits))), axes
    if kind == "new":
        return None, 0
    return (draw(st.slices(size)) if kind == "slice" else slice(None)), 1


def mask(shape, bits):
    return numpy.array([bool(bits >> (k % 20) & 1) for k in range(numpy.prod(shape, dtype=int))]).reshape(shape).tolist()


@st.composite
def keys(draw):
    """An index as NumPy takes it: places, slices, lists and masks, `...` and new axes, in any order."""
    shape, axis, key = draw(shapes), 0, []
    together = draw(st.sampled_from([(2,), (3,), (2, 2), (2, 1)]))
    while axis < len(shape) and draw(st.integers(0, 5)):
        part, taken = draw(parts(shape[axis:], together))
        key.append(part)
        axis += taken
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), ...)
        # What follows `...` is about the last axes, and may not fit them: then NumPy refuses it as well.
    return shape, tuple(key)


def places(shape, key):
    """The numbers of the items that NumPy finds there; nothing if it refuses, or finds none."""
    try:
        found = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)[key]
    except IndexError:
        found = numpy.array([])
    return found if found.size else None


@SETTINGS
@given(keys())
def test_places_are_read_as_numpy_reads_them(case):
    shape, key = case

    def read(x):
        # A single word is a value, also where NumPy makes an array without axes of it.
        part = x[key] if len(places(shape, key).shape) else x[key] + 0
        # A part of the array sees this, a copy does not.
        x += 1
        return part + 0

    if places(shape, key) is None:
        with pytest.raises(cn.CompileError):
            program(shape, lambda x: x[key])
    else:
        assert program(shape, read).tolist() == read(numbers(shape)).tolist()


@SETTINGS
@given(keys())
def test_places_are_written_as_numpy_writes_them(case):
    shape, key = case
    found = places(shape, key)
    # A list may name a place twice; the last one wins here, and NumPy promises nothing.
    hypothesis.assume(found is not None and len(set(found.ravel().tolist())) == found.size)
    wanted, new = numbers(shape), (numpy.arange(found.size) * 3 + 100).reshape(found.shape) % 256
    wanted[key] = new
    wanted[key] += 1

    def changed(x):
        x[key] = new.tolist()
        x[key] += 1
        return x

    assert program(shape, changed).tolist() == (wanted % 256).tolist()


def test_pairs_masks_and_tables():
    matrix, chosen = numbers((3, 4)), numpy.array([True, False, True])
    assert program((3, 4), lambda x: x[[0, 1], [1, 2]]).tolist() == matrix[[0, 1], [1, 2]].tolist()
    assert program((3, 4), lambda x: x[chosen]).tolist() == matrix[chosen].tolist()
    assert program((3, 4), lambda x: x[[True, False, True]]).tolist() == matrix[chosen].tolist()
    assert program((3, 4), lambda x: x[matrix % 3 == 0]).tolist() == matrix[matrix % 3 == 0].tolist()
    assert program((3, 4), lambda x: x[numpy.array([[0, 1], [2, 0]])]).tolist() == matrix[[[0, 1], [2, 0]]].tolist()

    def moving(x):
        total = x[0, 0]
        for i in cn.range(3):
            pair = x[i, [0, 2]]
            total = total + pair[0] * pair[1]
        return total

    moving = cn.inline(moving)
    assert program((3, 4), lambda x: cn.stack([moving(x)])).tolist() == [(matrix[0, 0] + sum(matrix[:, 0] * matrix[:, 2])) % 256]


class Row(cn.Record):
    """A word, and an array."""

    x: cn.UInt[8]
    y: cn.Array[cn.UInt[8], 2]


@pytest.mark.parametrize("place", [1, -1])
def test_fields_of_rows_are_written_where_they_are(place):
    @cn.program
    def made(rows: cn.Garbler[cn.Array[Row, 3]], table: cn.Garbler[cn.Array[Row, 2, 3]], s: cn.Evaluator[cn.UInt[2]]):
        rows[place].x = 100
        rows[place].y[1] += 1
        rows[s].x += 7
        rows[s].y = [8, 9]
        for row in rows:
            row.y[0] += 50
        for i in cn.range(2):
            table[i, 1].x = 3
            table[i][2].y = [5, 4]
        table[[0, 1], [0, 1]] = rows[0]
        # As with NumPy, a list of places makes a copy.
        rows[[0, 1]].x = 77
        return rows, table, table[[0, 1], [0, 1]], rows[[False, True, True]]

    rows = numpy.array([(1, [2, 3]), (4, [5, 6]), (7, [8, 9])], dtype=[("x", "u1"), ("y", "u1", 2)])
    table = numpy.array([[row.tolist() for row in rows]] * 2, dtype=rows.dtype)
    given = {"rows": plain(rows), "table": plain(table)}
    rows["x"][place], rows["y"][place, 1] = 100, rows["y"][place, 1] + 1
    rows["x"][0], rows["y"][0] = rows["x"][0] + 7, [8, 9]
    rows["y"][:, 0] += 50
    table["x"][:, 1] = 3
    table["y"][:, 2] = [5, 4]
    table[[0, 1], [0, 1]] = rows[0]
    wanted = (rows, table, table[[0, 1], [0, 1]], rows[[False, True, True]])
    assert three_ways(made, **given, s=0)[0] == tuple(map(plain, wanted))


def plain(table):
    """A structured array of NumPy as this package gives it."""
    return {name: table[name].tolist() for name in table.dtype.names}


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda x, s: x[x > 3], "a secret mask: .* cn.where\\(mask, array, 0\\)"),
        (lambda x, s: x[x[0, 0] > 3], "a Bit is no place: write cn.where\\(bit, "),
        (lambda x, s: x[True], "the truth value True is no place: write 0 or 1, or None"),
        (lambda x, s: x[numpy.True_, 0], "the truth value True is no place"),
        (lambda x, s: x[[True, False]], "a mask of shape \\(2,\\) where the array has \\(3,\\), from axis 0 on"),
        (lambda x, s: x[[False] * 3], "a mask that chooses no item"),
        (lambda x, s: x[[True, 2]], "a truth value among numbers"),
        (lambda x, s: x[[0, 1], [0, 1, 2]], "shapes \\(2,\\) and \\(3,\\) do not go together"),
        (lambda x, s: x[[[0, 1], [2]]], "ragged"),
        (lambda x, s: x[[]], "the list of places of axis 0 is empty"),
        (lambda x, s: x[[s, s]], "array\\[cn.stack\\(\\[x, y\\]\\)\\]"),
        (lambda x, s: x[s, 1], "a secret index picks along the first axis, alone"),
        (lambda x, s: x[..., ...], "stands for all axes that are not told, and so once"),
        (lambda x, s: x[0, 0, 0], "3 indices for an array of shape \\(3, 3\\)"),
        (lambda x, s: x[1.5:], "an end or the step of a slice is 1.5, not a whole number"),
        (lambda x, s: x[::0], "a slice with step 0"),
        (lambda x, s: x[{1, 2}], "an index is {1, 2}, not a whole number"),
        (lambda x, s: x["ab"], "an index is 'ab', not a whole number"),
        (lambda x, s: moving_list(x), "depend on a loop"),
    ],
)
def test_places_that_are_none_are_refused(read, message):
    @cn.program
    def made(x: cn.Garbler[cn.Array[cn.UInt[8], 3, 3]], s: cn.Evaluator[cn.UInt[2]]):
        return read(x, s)

    with pytest.raises(cn.CompileError, match=message):
        made.compile()


@cn.inline
def moving_list(x):
    for i in cn.range(2):
        x[0] = x[[i, i + 1]][0]
    return x


def test_masks_are_refused_where_they_write():
    @cn.program
    def made(x: cn.Garbler[cn.Array[cn.UInt[8], 3]], rows: cn.Garbler[Row]):
        with pytest.raises(cn.CompileError, match=r"array\[:\] = cn.where\(mask, new, array\)"):
            x[x > 3] = 0
        with pytest.raises(cn.CompileError, match="this is one Row and has no rows: it has the fields x, y"):
            rows[0].x = 1
        return x

    made.compile()


@SETTINGS
@given(shapes, st.data())
def test_axes_are_exchanged_as_numpy_exchanges_them(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    assert program(shape, lambda x: cn.transpose(x, order)).tolist() == numbers(shape).transpose(order).tolist()


@SETTINGS
@given(shapes, st.data())
def test_arrays_are_repeated_as_numpy_repeats_them(shape, data):
    wide = data.draw(broadcastable_shapes(shape, max_dims=4, max_side=5))
    wanted = numpy.broadcast_shapes(shape, wide)
    hypothesis.assume(numpy.prod(wanted, dtype=int) <= 2000)
    assert program(shape, lambda x: cn.broadcast_to(x, wanted)).tolist() == numpy.broadcast_to(numbers(shape), wanted).tolist()


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_counters_move_places_of_any_axis(step):
    shape, size = (3, 7, 3), len(range(0, 4, abs(step)))
    first, end = (1, 5) if step > 0 else (4, 0)

    @cn.program
    def moved(x: cn.Garbler[cn.Array[cn.UInt[8], shape]]):
        total = cn.zeros(cn.UInt[8], (3, size, 2))
        for i in cn.range(3):
            total += x[:, i + first : i + end : step, :2]
            x[:, 2 * i, 1:] = x[:, 6 - 2 * i, 1:] + 1
            x[1:, i + first : i + end : step, [2, 0]] = total[1:]
        return total, x

    x, total = numbers(shape), numpy.zeros((3, size, 2), dtype=int)
    for i in range(3):
        places = [i + k for k in range(first, end, step)]
        total += x[:, places, :2]
        x[:, 2 * i, 1:] = x[:, 6 - 2 * i, 1:] + 1
        x[numpy.ix_([1, 2], places, [2, 0])] = total[1:] % 256
    clear = three_ways(moved, x=numbers(shape).tolist())[0]
    assert (clear[0], clear[1]) == ((total % 256).tolist(), (x % 256).tolist())


def test_texts_do_not_grow_with_axes():
    def lines(size):
        shape = (size, 3, size)

        @cn.program
        def made(x: cn.Garbler[cn.Array[cn.UInt[8], shape]], y: cn.Evaluator[cn.Array[cn.UInt[8], (size, 1, size)]]):
            x[:, 1, ::2] = x[:, 0, 1::2] ^ cn.stack([x[:, 1:, 0], x[::-1, :2, 1]], axis=1)[:, 0, 1, None]
            x[::2, [0, 2], : size // 2] = y[::2, :, ::2]
            return cn.sum(x ^ y, axis=1), cn.concatenate([x, x.T], axis=1)

        return made.compile().show()

    assert len(lines(32).splitlines()) == len(lines(64).splitlines())
    assert len(lines(64)) < 6000
