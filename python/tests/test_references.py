"""Arrays and records are references, as in NumPy and Python: in every place, whichever way a program runs, or refused."""

import dataclasses
import re
import types

import pytest
from ways import three_ways

import cenote as cn

np = pytest.importorskip("numpy")

U8 = cn.UInt[8]
Row = cn.Array[U8, 4]


class Spot(cn.Record):
    """A record with a word, an array and nothing else."""

    w: U8
    t: cn.Array[U8, 2]


class Named(cn.Record):
    """A record in a record."""

    at: Spot


@cn.function
def put_function(v, w):
    v[0] = w[1]
    return v


@cn.inline
def put_inline(v, w):
    v[0] = w[1]
    return v


def put(v, w):
    v[0] = w[1]
    return v


@cn.program
def frame(a: cn.Garbler[Row], b: cn.Evaluator[Row], m: cn.Garbler[cn.Array[U8, 2, 4]], bit: cn.Evaluator[cn.Bit], *, body: object):
    return body(a, b, m, bit)


VALUES = {"a": [1, 2, 3, 4], "b": [10, 20, 30, 40], "m": [[5, 6, 7, 8], [50, 60, 70, 80]]}


def by_numpy(body, bit):
    """What Python and NumPy give."""
    module = types.SimpleNamespace(**vars(cn))
    module.range, module.reveal, module.zeros, module.where = range, bool, lambda of, shape: np.zeros(shape, np.uint8), np.where
    module.map = lambda f, xs: np.array([f(x) for x in xs])
    module.fold = lambda f, xs, start: __import__("functools").reduce(f, xs, start)
    scope = {**body.__globals__, "cn": module, "U8": np.uint8, "put_function": put, "put_inline": put}
    plain = types.FunctionType(body.__code__, scope, body.__name__, None, body.__closure__)
    return listed(plain(*(np.array(VALUES[name], np.uint8) for name in "abm"), bit))


def listed(value):
    return type(value)(map(listed, value)) if isinstance(value, (list, tuple)) else value.tolist()


# ---- what is kept -------------------------------------------------------------------------------------------------------------------


def another_name(a, b, m, bit):
    c = d = cn.zeros(U8, 4)
    c[1] = a[2]
    e = a
    e += 1
    return c, d, e, a


def in_a_loop(a, b, m, bit):
    other = a
    for i in cn.range(4):
        other[i] = other[i] + 1
    return a, other


def changed_while_read(a, b, m, bit):
    now = a
    for _k in cn.range(2):
        before = now
        for i in cn.range(3):
            now[i + 1] = before[i] + 1
    return now, before


def two_buffers(a, b, m, bit):
    before, now = a, b
    for _k in cn.range(3):
        for i in cn.range(3):
            now[i + 1] = before[i] + 1
        before, now = now, before
    return before, now


def in_turn(a, b, m, bit):
    x, y, z = a, b, a + b
    for i in cn.range(4):
        x[i] = 7
        x, y, z = y, z, x
    return x, y, z


def in_a_branch(a, b, m, bit):
    x = a
    if cn.reveal(bit):
        x[0] = 9
    else:
        x = b
    return x, a


def by_helpers(a, b, m, bit):
    put(a, b)
    put_inline(b, m[0])
    for _ in cn.range(2):
        put(m[1], b)
        put_inline(m.T, m.T[2:])
    same = put_function(m[0], a)
    same[3] = 99
    return a, b, m, same


def by_a_function_within(a, b, m, bit):
    total = a[0]

    def add(v):
        nonlocal total
        total = total + v
        b[0] = total

    for i in cn.range(4):
        add(a[i])
        if cn.reveal(a[i] > 2):
            add(b[i])
    return total, b


def in_lists(a, b, m, bit):
    twice = [cn.zeros(U8, 4)] * 2
    kept = {"first": a, "all": [a, b]}
    for i in cn.range(4):
        twice[0][i] = a[i]
        kept["all"][0][i] = kept["all"][1][i] + 1
    kept["all"][1] = twice[1]
    kept["all"][1][2] = 77
    return twice, kept["first"], kept["all"], b


def in_objects(a, b, m, bit):
    state = types.SimpleNamespace(sum=a[0], row=b)
    for i in cn.range(4):
        state.sum = state.sum + a[i]
        state.row[i] = state.sum
    if cn.reveal(bit):
        state.row = a + 1
    return state.sum, state.row, b


def parts(a, b, m, bit):
    middle, back, column = a[1:3], b[::-1], m[:, 2]
    middle[0] = 100
    back[0] = 101
    column += 1
    b[0] = 102
    m.T[0] = a[:2]
    m.reshape(8)[7] = 103
    m.reshape(2, 2, 2)[1][0] = 104
    return a, b, m, middle, back, column


def parts_in_a_loop(a, b, m, bit):
    for i in cn.range(2):
        row = m[i]
        row[0] = a[i]
        a[2:][i] = row[1]
    window = a[1:3]
    for i in cn.range(3):
        a[i] = window[0] + window[1]
    return m, a, window, row


def copies(a, b, m, bit):
    before, picked = a.copy(), a[[0, 2]]
    for i in cn.range(4):
        previous = a.copy()
        a[i] = previous[3 - i] + 1
    return before, picked, a, previous, +a


def read_after_the_loop(a, b, m, bit):
    last = b
    for i in cn.range(2):
        last = m[i]
    first = a
    if cn.reveal(bit):
        first = m[0]
    return last, first, m


def folded(a, b, m, bit):
    def add(state, v):
        state[0] = state[0] + v
        return state

    return cn.fold(add, a, b), b


def rebound(a, b, m, bit):
    x = a.copy()
    for _ in cn.range(3):
        x[0] = x[0] + a[1]
        x = x + 1
    if cn.reveal(bit):
        x = x + b
    x[1] = 5
    return x, a, b


def not_read_afterwards(a, b, m, bit):
    x, y = a[0], b[0]
    for _ in cn.range(3):
        middle = x + y
        if cn.reveal(middle > 12):
            middle = middle + 1
            x = middle
        else:
            z = x
            z = z + 1
            y = y + z
        if cn.reveal(x > y):
            x = x - 1
            y = y + x
        x = y
    return x, y


KEPT = [
    *(another_name, in_a_loop, changed_while_read, two_buffers, in_turn, in_a_branch, by_helpers, by_a_function_within, in_lists),
    *(in_objects, parts, parts_in_a_loop, copies, read_after_the_loop, folded, rebound, not_read_afterwards),
]


@pytest.mark.parametrize("bit", [False, True])
@pytest.mark.parametrize("body", KEPT)
def test_what_numpy_does(body, bit):
    wanted = by_numpy(body, bit)
    assert three_ways(frame, **VALUES, bit=bit, body=cn.inline(body))[0] == wanted


def test_records_are_references_and_their_fields_their_own():
    @cn.program
    def records(rows: cn.Garbler[cn.Array[Named, 2]], place: cn.Evaluator[cn.UInt[1]], t: cn.Evaluator[cn.Array[U8, 2]]):
        whole, row = rows, rows[1]
        word = row.at.w
        for k in cn.range(2):
            rows[k].at.w = word + 1
            rows.at.t[k, 0] = word
        row.at.t = t
        t[0] = 99
        rows[place].at.w = 50
        whole[0].at.t[1] = row.at.w
        own = row.copy()
        own.at.w = 0
        made = Spot(w=word, t=t)
        made.t[0] = 1
        return rows, row, word, own.at.w, made, t

    rows = [{"at": {"w": 1, "t": [2, 3]}}, {"at": {"w": 4, "t": [5, 6]}}]
    got, _ = three_ways(records, rows=rows, place=1, t=[7, 8])
    assert got == (
        {"at": {"w": [5, 50], "t": [[4, 50], [7, 8]]}},
        {"at": {"w": 50, "t": [7, 8]}},
        4,
        0,
        {"w": 4, "t": [1, 8]},
        [99, 8],
    )


def test_rows_at_secret_places_are_parts():
    @cn.program
    def places(m: cn.Garbler[cn.Array[U8, 3, 2]], i: cn.Evaluator[cn.UInt[2]]):
        row = m[i]
        row[0] = 9
        m[0, 1] = 8
        return row, m

    assert three_ways(places, m=[[1, 2], [3, 4], [5, 6]], i=0)[0] == ([9, 8], [[9, 8], [3, 4], [5, 6]])
    assert three_ways(places, m=[[1, 2], [3, 4], [5, 6]], i=2)[0] == ([9, 6], [[1, 8], [3, 4], [9, 6]])


# ---- what is refused ----------------------------------------------------------------------------------------------------------------


def _next_round(a, b, m, bit):
    before, now = b, a
    for _k in cn.range(2):
        for i in cn.range(3):
            now[i + 1] = before[i] + 1
        before = now
    return now


def _first_round(a, b, m, bit):
    x = a
    for _ in cn.range(3):
        x[0] = x[0] + a[1]
        x = x + 1
    return x


def _either_side(a, b, m, bit):
    x = a
    if cn.reveal(bit):
        x = b
    x[0] = 7
    return x + b


def _either_row(a, b, m, bit):
    row = m[0]
    for i in cn.range(2):
        row = m[i]
    m[1, 1] = 3
    return row[0]


def _chain(a, b, m, bit):
    x, y, z = a, b, a + b
    for _ in cn.range(3):
        x, y, z = y, z, x
    x[0] = 1
    return x + a


def _list_on_each_side(a, b, m, bit):
    rows, others = [a, b], [b, a]
    if cn.reveal(bit):
        rows = others
    return rows[0]


def _list_of_the_first_round(a, b, m, bit):
    rows = [a, b]
    for _ in cn.range(2):
        rows[0] = a + 1
        rows = [rows[1], rows[0]]
    return rows[0]


def _one_list_twice(a, b, m, bit):
    one, two = [a], [b]
    for _ in cn.range(2):
        one = two = [a + b]
    return one[0] + two[0]


def _items(a, b, m, bit):
    def change(row):
        row[0] = 1
        return row

    return cn.map(change, m)


def _around_a_map(a, b, m, bit):
    def change(v):
        b[0] = v
        return v

    return cn.map(change, a)


def _revealed_in_a_map(a, b, m, bit):
    return cn.map(lambda v: cn.reveal(v), a)


def _arguments_that_overlap(a, b, m, bit):
    @cn.function
    def shift(v, w):
        v[0] = w[0]
        return v + w

    return shift(a[:2], a[1:3])


def _list_given(a, b, m, bit):
    @cn.function
    def grow(rows):
        rows[0] = rows[0] + 1
        return rows[0]

    return grow([a])


def _list_around(a, b, m, bit):
    kept = []

    @cn.function
    def keep(v):
        kept.append(1)
        return v

    return keep(a)


def _other_shape(a, b, m, bit):
    a += m
    return a


COPY = "write .copy() where one is assigned to, or passed beside, the other"


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        (_next_round, COPY, "now[i + 1] = before[i] + 1"),
        (_first_round, COPY, "x[0] = x[0] + a[1]"),
        (_either_side, COPY, "return x + b"),
        (_either_row, COPY, "return row[0]"),
        (_chain, COPY, "return x + a"),
        (_list_on_each_side, "what `rows` holds is another one on each side of `if`", "if cn.reveal(bit):"),
        (_list_of_the_first_round, "what `rows` holds changes where it is, and another one takes its place", "for _ in cn.range(2):"),
        (_one_list_twice, "is that of another variable as well", "for _ in cn.range(2):"),
        (_items, "change a copy, as in y = x.copy()", "row[0] = 1"),
        (_around_a_map, "change a copy, as in y = x.copy()", "b[0] = v"),
        (_revealed_in_a_map, "reveal the results", "return cn.map(lambda v: cn.reveal(v), a)"),
        (_arguments_that_overlap, COPY, "return v + w"),
        (_list_given, "the list `its argument[0]` is changed inside of the function grow", "return grow([a])"),
        (_list_around, "the list `kept` is changed inside of the function keep", "return keep(a)"),
        (_other_shape, "write x = x + y", "a += m"),
    ],
)
def test_what_cannot_be_kept_is_refused(body, message, line):
    made = cn.inline(body)
    for run in (lambda: frame.compile(body=made), lambda: frame(**VALUES, bit=True, body=made)):
        with pytest.raises(cn.CompileError, match=re.escape(message)) as caught:
            run()
        place = re.search(re.escape(__file__) + r":(\d+)\n", str(caught.value))
        assert line in str(caught.value)
        assert body.__code__.co_firstlineno < int(place[1]) < body.__code__.co_firstlineno + 9


def test_results_that_cannot_be_kept_name_the_program():
    @cn.program
    def both(a: cn.Garbler[Row], b: cn.Evaluator[Row], bit: cn.Evaluator[cn.Bit]):
        x = a
        if cn.reveal(bit):
            x = b
        x[0] = 7
        return x, b

    for run in (both.compile, lambda: both(VALUES["a"], VALUES["b"], True)):
        with pytest.raises(cn.CompileError, match=r"both: output result.1 cannot be used: .*\.copy\(\)[^\n]*\n  at .*test_references.py"):
            run()


# ---- functions of the program -------------------------------------------------------------------------------------------------------


def test_functions_are_written_again_for_other_surroundings():
    """A function that is written once must not keep what a plain variable, or an array of NumPy, was at its first call."""
    step = 1

    @cn.function
    def add(x, table):
        return x + step + int(table[0])

    @cn.program
    def three(x: cn.Garbler[U8]):
        nonlocal step
        for k in range(3):
            step = 10 * k
            x = add(x, np.array([k]))
        return x

    assert three_ways(three, x=1)[0] == 1 + 10 + 20 + 1 + 2
    assert three.compile().show().count("\nfunction ") == 3


def test_functions_are_written_once():
    @cn.function
    def first(x, y):
        y[0] = x
        return x

    @cn.program
    def twice(x: cn.Garbler[U8], y: cn.Evaluator[Row]):
        other = y.copy()
        return first(x, y) + first(x + 1, other), y, other

    assert three_ways(twice, x=3, y=VALUES["b"])[0] == (7, [3, 20, 30, 40], [4, 20, 30, 40])
    assert twice.compile().show().count("\nfunction ") == 1


# ---- variables of others ------------------------------------------------------------------------------------------------------------

_seen: object = None


def test_variables_of_modules_and_functions_around():
    count = None

    @cn.program
    def counts(a: cn.Garbler[Row]):
        global _seen
        nonlocal count
        count, _seen = U8(0), U8(1)
        for i in cn.range(4):
            count = count + a[i]
            if cn.reveal(a[i] > 2):
                _seen = _seen + count
        return count, _seen

    assert three_ways(counts, a=[1, 2, 3, 4])[0] == (10, 17)


@dataclasses.dataclass
class Pair:
    """A container that users make."""

    first: object
    second: object


def test_dataclasses_are_references():
    @cn.program
    def pairs(a: cn.Garbler[Row]):
        pair = Pair(a, U8(0))
        same = pair
        for i in cn.range(4):
            pair.second = pair.second + a[i]
            same.first[i] = pair.second
        return pair.first, same.second, a

    assert three_ways(pairs, a=[1, 2, 3, 4])[0] == ([1, 3, 6, 10], 10, [1, 3, 6, 10])
