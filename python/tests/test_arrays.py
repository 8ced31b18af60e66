"""Places and shapes of arrays against NumPy, and how long the programs are that they make."""

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
def parts(draw, size):
    """A key for an axis; lists of places as NumPy's ``ix_`` takes them, that is each for its own axis."""
    kind = draw(st.sampled_from(["all", "place", "slice", "list"]))
    if kind == "place":
        return draw(st.integers(-size, size - 1))
    if kind == "list":
        return draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
    part = draw(st.slices(size)) if kind == "slice" else slice(None)
    hypothesis.assume(len(range(*part.indices(size))))
    return part


@st.composite
def keys(draw):
    shape = draw(shapes)
    return shape, tuple(draw(parts(size)) for size in shape[: draw(st.integers(1, len(shape)))])


def numpy_key(shape, key):
    """The same places for NumPy, and the shape of what is there."""
    key += (slice(None),) * (len(shape) - len(key))
    places = [[range(size)[part]] if isinstance(part, int) else numpy.arange(size)[part] for part, size in zip(key, shape)]
    return numpy.ix_(*places), tuple(len(p) for p, part in zip(places, key) if not isinstance(part, int))


@SETTINGS
@given(keys())
def test_places_are_read_as_numpy_reads_them(case):
    shape, key = case
    places, result = numpy_key(shape, key)
    assert program(shape, lambda x: x[key]).tolist() == numbers(shape)[places].reshape(result).tolist()


@SETTINGS
@given(keys())
def test_places_are_written_as_numpy_writes_them(case):
    shape, key = case
    places, result = numpy_key(shape, key)
    wanted, new = numbers(shape), (numpy.arange(numpy.prod(result, dtype=int)) * 3 + 100).reshape(result) % 256
    wanted[places] = new.reshape([len(p.ravel()) for p in places])

    def changed(x):
        x[key] = new.tolist()
        return x

    # A list may name a place twice; the last one wins here, and NumPy promises nothing.
    hypothesis.assume(all(not isinstance(part, list) or len(set(part)) == len(part) for part in key))
    assert program(shape, changed).tolist() == wanted.tolist()


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
