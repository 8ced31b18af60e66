"""Loops, maps, functions, branches; and errors, which name the line of the user."""

import dataclasses
import re
import time
from typing import NamedTuple

import numpy
import pytest
from ways import three_ways

import cenote as cn
from cenote import _rewrite

U8 = cn.UInt[8]


def same(function, wanted, **values):
    """Clear, simulated and run by two parties: the same result, and what is wanted."""
    assert three_ways(function, **values)[0] == wanted


@cn.program
def statistics(x: cn.Garbler[cn.Array[cn.UInt[16], "n"]], n: int):
    """Sum, largest, where, and how often the value rose."""
    total, best, where, rises = 0, x[0], 0, 0
    before = x[0]
    for i in cn.range(n):
        value = x[i]
        larger = value > best
        best = cn.where(larger, value, best)
        where = cn.where(larger, cn.UInt[8](i), where)
        rises = rises + cn.UInt[8](value > before)
        total += value
        before = value
    return {"total": total, "best": best, "where": where, "rises": rises}


def test_a_loop_carries_what_is_read_later():
    same(statistics, {"total": 21, "best": 9, "where": 3, "rises": 2}, x=[3, 1, 2, 9, 6], n=5)
    text = statistics.compile(n=5).show()
    assert text.count("for 5") == 1
    carried = re.search(r"for 5 \((.*?)\)", text)
    # `value` and `larger` belong to one round.
    assert carried is not None
    assert len(carried[1].split(",")) == 5


@cn.program
def dot(x: cn.Garbler[cn.Array[U8, "n"]], y: cn.Evaluator[cn.Array[U8, "n"]], n: int):
    total = 0
    for i in cn.range(n):
        total += x[i] * y[i]
    return total


def test_the_text_does_not_grow_with_the_rounds():
    small, large = (len(dot.compile(n=n).show()) for n in (5, 5000))
    assert large < small + 20


@cn.program
def table_of_sums(x: cn.Garbler[cn.Array[U8, 4]], y: cn.Evaluator[cn.Array[U8, 3]]):
    """Nested loops, ends that depend on the outer one, arrays that are filled."""
    out = cn.zeros(U8, (4, 3))
    for i in cn.range(4):
        for j in cn.range(3):
            out[i, j] = x[i] + y[j]
    pairs = cn.zeros(U8, 3)
    for i in cn.range(1, 4):
        pairs[i - 1] = x[i] - x[i - 1]
    back = cn.zeros(U8, 4)
    for i in cn.range(3, -1, -1):
        back[i] = x[3 - i]
    windows = 0
    for i in cn.range(3):
        windows = windows + cn.sum(x[i : i + 2])
    column = 0
    for j in cn.range(3):
        column = column + cn.sum(out[:, j]) + cn.sum(out[1::2, j])
    return out, pairs, back, windows, column


def test_nested_loops_and_places_that_move():
    x, y = [1, 2, 4, 8], [10, 20, 30]
    out = [[a + b for b in y] for a in x]
    column = sum(map(sum, out)) + sum(out[1]) + sum(out[3])
    same(table_of_sums, (out, [1, 2, 4], [8, 4, 2, 1], 1 + 2 + 2 + 4 + 4 + 8, column % 256), x=x, y=y)


def test_structures_are_carried():
    """Tuples, dictionaries, a variable without a value before, the counter after the loop."""

    @cn.program
    def structures(x: cn.Garbler[cn.Array[U8, 4]]):
        pair, seen = (0, x[0]), {"sum": U8(0), "bits": cn.zeros(cn.Bit, 4)}
        for i in cn.range(4):
            last = x[i] ^ 1
            pair = (pair[0] + last, cn.max(pair[1], last))
            seen["sum"] = seen["sum"] + 2
            seen["bits"][i] = last > 2
        return pair, seen, last + i

    wanted = ((0 + 3 + 5 + 7, 7), {"sum": 8, "bits": [False, True, True, True]}, 10)
    same(structures, wanted, x=[1, 2, 4, 6])


@cn.program
def comparisons_with_the_counter(x: cn.Garbler[U8]):
    """Loop variables as words and as conditions."""
    found = U8(0)
    for i in cn.range(2, 9, 3):
        found = cn.where(x == i, cn.UInt[8](2 * i + 1), found)
        found = cn.where(i == 5, found + i, found)
        found = found + cn.UInt[8](i < 4)
    return found


@pytest.mark.parametrize(("x", "wanted"), [(2, 11), (5, 16), (8, 17), (9, 6)])
def test_loop_variables_become_words(x, wanted):
    same(comparisons_with_the_counter, wanted, x=x)


@cn.function
def clamp(x, low, high):
    """A function of the program."""
    return cn.min(cn.max(x, low), high)


@cn.inline
def total_of(x):
    """A helper with a loop."""
    total = x[0]
    for i in cn.range(1, len(x)):
        total = total + x[i]
    return total


@cn.program
def helpers(x: cn.Garbler[cn.Array[U8, 4]], low: cn.Evaluator[U8]):
    """Functions, maps and folds."""
    clamped = [clamp(x[k], low, 100) for k in range(4)]
    other = clamp(x, cn.broadcast_to(low, 4), 100)
    squares = cn.map(lambda v: v * v + low, x)
    pairs = cn.vmap(lambda v, w: (v > w, {"sum": v + w}))(x, other)
    folded = cn.fold(lambda state, v: state + v, x, U8(0))
    return cn.stack(clamped), other, squares, pairs, folded, total_of(x)


def test_functions_stay_calls_and_maps_stay_maps():
    x, low = [1, 50, 200, 7], 5
    clamped = [min(max(v, low), 100) for v in x]
    squares = [(v * v + low) % 256 for v in x]
    pairs = ([v > c for v, c in zip(x, clamped)], {"sum": [(v + c) % 256 for v, c in zip(x, clamped)]})
    same(helpers, (clamped, clamped, squares, pairs, sum(x) % 256, sum(x) % 256), x=x, low=low)
    text = helpers.compile().show()
    assert text.count("call ") == 5
    assert len(re.findall(r"^function ", text, re.M)) == 2
    assert text.count("= map 4") == 2


@cn.program
def reactive(x: cn.Garbler[U8], y: cn.Evaluator[U8]):
    """A branch on what was revealed."""
    pair = cn.stack([x, y])
    first, second = cn.reveal(x), cn.reveal(cn.stack([x, y]))[1]
    if (first > second) & (first > 1):
        count, _text = x - y, "never an output"
        pair[1] = count
    elif y is x:
        count = x
    else:
        count = y * 2
        for i in cn.range(2):
            pair[i] = pair[i] + count
    return count, pair


@pytest.mark.parametrize(("x", "y", "wanted"), [(9, 4, (5, [9, 5])), (4, 9, (18, [22, 27]))])
def test_a_revealed_bit_steers(x, y, wanted):
    same(reactive, wanted, x=x, y=y)
    assert reactive.compile().cost()["revealed_bits"] == 24
    assert reactive.run_local(x=x, y=y, backend="yao").value == wanted


class Sums(NamedTuple):
    low: cn.Garbler[U8]
    high: cn.Both[cn.Array[U8, 2]]


@dataclasses.dataclass
class Answer:
    bit: cn.Both[cn.Bit]
    sums: Sums


def test_results_keep_the_structure_of_the_function():
    @cn.program
    def named(x: cn.Garbler[U8]) -> Sums:
        return Sums(x, cn.stack([x, x + 1]))

    @cn.program
    def nested(x: cn.Garbler[U8]) -> Answer:
        return Answer(x > 3, Sums(x, cn.stack([x, x + 1])))

    @cn.program
    def pair(x: cn.Garbler[U8]) -> tuple[cn.Garbler[U8], cn.Evaluator[cn.Bit]]:
        return x + 1, x > 3

    @cn.program(to="evaluator")
    def listed(x: cn.Garbler[U8]):
        return [x, (x, {"y": x})]

    assert named(7) == Sums(7, [7, 8])
    assert nested(7) == Answer(True, Sums(7, [7, 8]))
    assert nested.simulate(x=7).value == Answer(True, Sums(7, [7, 8]))
    assert pair.compile().outputs == {"result.0": ("garbler", "UInt[8]"), "result.1": ("evaluator", "Bit")}
    run = pair.run_local(x=7, backend="plain")
    assert (run.value, run.garbler, run.evaluator) == ((8, True), (8, None), (None, True))
    assert listed(7) == [7, (7, {"y": 7})]
    assert {receiver for receiver, _ in listed.compile().outputs.values()} == {"evaluator"}

    @cn.program
    def sized(x: cn.Garbler[cn.Array[U8, "n"]], *, n: int) -> tuple[cn.Both[cn.Array[U8, "n"]], cn.Both[cn.UInt["n.bit_length()"]]]:
        return x, cn.sum(x > 3)

    assert sized([7, 1, 4], n=3) == ([7, 1, 4], 2)
    assert sized.compile(n=3).simulate(x=[7, 1, 4]).value == ([7, 1, 4], 2)


class Point(cn.Record):
    """A place."""

    x: cn.Int[8]
    y: cn.Int[8]


class Tagged(cn.Record):
    """A record in a record."""

    at: Point
    tags: cn.Array[cn.Bit, 2]


def test_records_and_tables_of_records():
    @cn.program
    def nearest(points: cn.Garbler[cn.Array[Tagged, 3]], me: cn.Evaluator[Point]):
        dx, dy = abs(points.at.x - me.x), abs(points.at.y - me.y)
        best = cn.argmin(dx + dy)
        row = cn.lookup(points, best)
        ordered = cn.sort(points.at, by="x")
        moved = Point(x=row.at.x + 1, y=me.y)
        one = points[1]
        points[0] = one
        choice = cn.where(one.tags[0], one.at, moved)
        return {"row": row, "xs": ordered, "same": points[0] == one, "choice": choice, "first": points[0].at.x}

    rows = [{"at": {"x": x, "y": y}, "tags": [x > 2, False]} for x, y in ((5, 5), (1, 2), (3, -4))]
    wanted = {
        "row": rows[1],
        "xs": {"x": [1, 3, 5], "y": [2, -4, 5]},
        "same": True,
        "choice": {"x": 2, "y": 1},
        "first": 1,
    }
    assert nearest(rows, {"x": 0, "y": 1}) == wanted
    same(nearest, wanted, points=rows, me=Coordinates(0, 1))


@dataclasses.dataclass
class Coordinates:
    """Objects with the fields as attributes go as well."""

    x: int
    y: int


# ---- checked ----------------------------------------------------------------------------------------------------------------------


@cn.program(checked=True)
def checked_sum(x: cn.Garbler[cn.Array[U8, 4]], y: cn.Evaluator[U8]):
    """Overflow in a loop, a map and a function."""
    total = U8(0)
    for i in cn.range(4):
        total = total + x[i]
    return total, cn.map(lambda v: v * y, x), clamp_sum(total, y)


@cn.function
def clamp_sum(a, b):
    """May overflow as well."""
    return (a >> 1) + b


@pytest.mark.parametrize(
    ("x", "y", "over"),
    [
        ([1, 2, 3, 4], 5, False),
        ([100, 100, 100, 1], 1, True),
        ([1, 1, 1, 200], 2, True),
        ([20, 20, 20, 20], 230, True),
        ([0, 0, 0, 0], 255, False),
    ],
)
def test_checked_arithmetic_has_an_overflow_bit(x, y, over):
    _, run = three_ways(checked_sum, x=x, y=y)
    assert run.overflowed is over
    assert bool(run.overflow) is over


def test_checked_covers_every_operation():
    cases = [
        (cn.Int[8], lambda x, y: -x, [((-128, 0), True), ((-127, 0), False)]),
        (cn.Int[8], lambda x, y: abs(x), [((-128, 0), True), ((-127, 0), False)]),
        (cn.Int[8], lambda x, y: x - y, [((-100, 100), True), ((-100, 28), False)]),
        (U8, lambda x, y: -x, [((1, 0), True), ((0, 0), False)]),
        (U8, lambda x, y: cn.sum(cn.stack([x, y, x])), [((100, 100), True), ((100, 55), False)]),
        (U8, lambda x, y: cn.stack([x, y]) @ cn.stack([x, y]), [((12, 12), True), ((11, 11), False)]),
        (cn.Fixed[4, 4], lambda x, y: x * y, [((4.0, 2.0), True), ((3.5, 2.0), False)]),
        (cn.Fixed[4, 4], lambda x, y: x / y, [((4.0, 0.25), True), ((4.0, 0.0), True), ((1.0, 0.25), False)]),
    ]
    for of, body, rows in cases:
        scope = {"cn": cn, "of": of, "body": body}
        exec("def made(x: cn.Garbler[of], y: cn.Evaluator[of]):\n with cn.checked():\n  return body(x, y)", scope)
        made = cn.program(scope["made"])
        for (x, y), over in rows:
            _, run = three_ways(made, x=x, y=y)
            assert run.overflowed is over, (of, x, y)
            assert bool(run.overflow) is over, (of, x, y)


@pytest.mark.filterwarnings("ignore::cenote.OverflowWarning")
def test_overflow_is_reported_with_its_line():
    @cn.program
    def wraps(x: cn.Garbler[U8]):
        y = x + 1
        return y * 2

    run = wraps.simulate(x=255)
    assert run.value == 0
    assert run.overflowed is True
    assert wraps.simulate(x=255, overflow=False).overflowed is None
    (found,) = run.overflow
    assert found.operation == "+"
    assert found.place.startswith(__file__)
    assert "with 256 in lane 0" in repr(found)

    @cn.program
    def product(x: cn.Garbler[cn.Fixed[8, 8]]):
        return x * x

    (found,) = product.simulate(x=127.5).overflow
    assert "with 16256.25 in lane 0" in repr(found)
    assert wraps.simulate(x=3).overflow == []


# ---- errors -----------------------------------------------------------------------------------------------------------------------


def _if(x, y):
    if x > y:
        return x
    return y


def _while(x, y):
    while x > y:
        x = x - 1
    return x


def _and(x, y):
    return x > 3 and y > 3


def _not(x, y):
    return not (x > y)


def _chain(x, y):
    return 1 < x < y


def _int(x, y):
    return [1, 2, 3][x]


def _widths(x, y):
    return x + cn.UInt[16](y)


def _signs(x, y):
    return x < cn.Int[8](y)


def _constant(x, y):
    return x + 256


def _in(x, y):
    return 3 in cn.stack([x, y])


def _exponent(x, y):
    return x**y


def _true_divide(x, y):
    return x / y


def _bits(x, y):
    return (x > y) + (y > x)


def _shapes(x, y):
    return cn.stack([x, y]) + cn.stack([x, y, x])


def _outside(x, y):
    return cn.stack([x, y])[2]


def _last_round(x, y):
    a = cn.stack([x, y])
    for i in cn.range(2):
        x = a[i + 1]
    return x


def _type_changes(x, y):
    for _i in cn.range(3):
        x = cn.UInt[16](x)
    return x


def _public_changes(x, y):
    k = 0
    for _i in cn.range(3):
        k = k + 1
        x = x + k
    return x


def _unset(x, y):
    for _i in cn.range(3):
        z = z + x
    return z


def _break(x, y):
    for i in cn.range(3):
        if i:
            break
    return x


def _round(x, y):
    for i in cn.range(3):
        if i:
            x = y
    return x


def _rounds(x, y):
    for _i in cn.range(x):
        y = y + 1
    return y


class _Opaque:
    __slots__ = ("kept",)


def _escape(x, y):
    opaque = _Opaque()
    for _i in cn.range(3):
        opaque.kept = x + y
    return opaque.kept


def _one_side(x, y):
    if cn.reveal(x > y):
        z = x
    return z


def _iterator(x, y):
    rest = iter([x, y])
    for _i in cn.range(2):
        y = y + next(rest)
    return y


def _counter_bit(x, y):
    for i in cn.range(4):
        if i == 2:
            x = y
    return x


def _counter_name(x, y):
    for i in cn.range(4):
        y = y + i.bit_length()
    return y


def _no_name(x, y):
    return x.foo


def _most_rounds(x, y):
    for _i in cn.range(2**32):
        x = x + y
    return x


def _deep(x, y):
    def deep(n):
        return 0 if n == 0 else deep(n - 1)

    return x + deep(100_000)


_STEPS = []


def _random(x, y):
    def differs():
        _STEPS.append(0)
        return len(_STEPS) % 2

    for _i in cn.range(2):
        if differs():
            x = x + 1
        else:
            y = y + 1
    return x + y


def _collect(x, y):
    kept = []
    for _i in cn.range(3):
        kept.append(x)
    return kept[0]


def _collect_elsewhere(x, y):
    kept = {"all": []}

    def keep(v):
        kept["all"].append(v)

    for _i in cn.range(3):
        kept["all"].append(y)
        keep(x)
    return kept["all"][0]


def _collect_in_map(x, y):
    kept = []

    def keep(v):
        kept.append(x)
        return v

    return cn.map(keep, cn.stack([x, y]))


def _collect_in_if(x, y):
    kept = []
    if cn.reveal(x > y):
        kept.append(x)
    return y


def _grow(x, y):
    kept = [x]
    for _i in cn.range(3):
        kept = [*kept, y]
    return kept[0]


def _sealed(x, y):
    @cn.function
    def inner(v):
        return v + y

    return inner(x)


def _hashed(x, y):
    return {x: 1}[y]


def _root(x, y):
    return numpy.sqrt(x)


def _inner_place(x, y):
    table = cn.stack([cn.stack([x, y]), cn.stack([y, x])])
    return table[x, 1]


def _endless(x, y):
    def again(v):
        return again(v) + 1

    return again(x)


def _plain(x, y):
    return {"x": x, "n": 3}


def _iterate(x, y):
    return [x for _ in cn.range(3)]


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        (_if, "write cn.where(c, x, y) for `if`", "if x > y:"),
        (_while, "a public number of rounds for `while`", "while x > y:"),
        (_and, "& | ~ for `and` `or` `not`", "return x > 3 and y > 3"),
        (_not, "& | ~ for", "return not (x > y)"),
        (_chain, "a < b < c", "return 1 < x < y"),
        (_int, "cannot become a plain number", "return [1, 2, 3][x]"),
        (_widths, r"UInt\[8\] meets UInt\[16\]; widths must be equal.*cn.UInt\[16\]", "return x + cn.UInt[16](y)"),
        (_signs, r"UInt\[8\] meets Int\[8\]; types must be equal", "return x < cn.Int[8](y)"),
        (_constant, r"256 does not fit UInt\[8\] \(0 .. 255\)", "return x + 256"),
        (_in, r"cn.any\(array == x\)", "return 3 in cn.stack([x, y])"),
        (_exponent, r"\*\* takes a public whole number", "return x**y"),
        (_true_divide, "write // for whole numbers", "return x / y"),
        (_bits, r"\+ on Bit: use & \| \^ ~", "return (x > y) + (y > x)"),
        (_shapes, r"shapes \(2,\) and \(3,\) do not go together", "return cn.stack([x, y]) + cn.stack([x, y, x])"),
        (_outside, "the index is 2, but axis 0 has 2 items", "return cn.stack([x, y])[2]"),
        (_last_round, "the index goes from 1 to 2, but axis 0 has 2 items", "x = a[i + 1]"),
        (_type_changes, r"`x` is UInt\[8\] before a round of the loop and UInt\[16\] after it", "for _i in cn.range(3):"),
        (_public_changes, "`k` is a plain value that changes in the loop, from 0 to 1", "for _i in cn.range(3):"),
        (_unset, "`z` has no value here: give it one before", "z = z + x"),
        (_break, "`break` inside a loop of cn.range", "break"),
        (_round, "has no value while the program is written", "if i:"),
        (_rounds, "the number of rounds must be a public number", "for _i in cn.range(x):"),
        (_escape, "it was made inside of a loop of cn.range, which has ended", None),
        (_one_side, "`z` has no value here", "return z"),
        (_iterator, "the iterator `rest` goes on inside of a loop of cn.range", "for _i in cn.range(2):"),
        (_counter_bit, "so neither has this comparison: choose with cn.where(i == 0", "if i == 2:"),
        (_counter_name, "a loop variable of cn.range has no `bit_length`", "y = y + i.bit_length()"),
        (_no_name, "a secret has no `foo`: it has elem", "return x.foo"),
        (_most_rounds, "at most 2^30 rounds: write one inside of another", "for _i in cn.range(2**32):"),
        (_deep, "calls go more than", "return 0 if n == 0 else deep(n - 1)"),
        (_random, "does something else each time that it is gone through", "for _i in cn.range(2):"),
        (_collect, "the list `kept` is changed inside of a loop of cn.range", "for _i in cn.range(3):"),
        (_collect_elsewhere, "the list `kept['all']` is changed inside of a loop of cn.range", "for _i in cn.range(3):"),
        (_collect_in_map, "the list `kept` is changed inside of the function of cn.map", "return cn.map(keep"),
        (_collect_in_if, "the list `kept` is changed inside of an `if` on a revealed bit", "if cn.reveal(x > y):"),
        (_grow, "`kept` is a list of 1 before a round of the loop and a list of 2 after it", "for _i in cn.range(3):"),
        (_sealed, "pass it as an argument", "return v + y"),
        (_hashed, "cannot be in a set or be a key of a dict", "return {x: 1}[y]"),
        (_root, "NumPy's sqrt takes no secrets", "return numpy.sqrt(x)"),
        (_inner_place, "take the row first, as in array[secret][1]", "return table[x, 1]"),
        (_endless, "a function calls itself without end", "return again(v) + 1"),
        (_plain, "output n is the plain value 3", None),
        (_iterate, "for i in cn.range", "return [x for _ in cn.range(3)]"),
    ],
)
def test_errors_say_what_to_write_instead(body, message, line):
    scope = {"cn": cn, "body": cn.inline(body)}
    exec("def made(x: cn.Garbler[cn.UInt[8]], y: cn.Evaluator[cn.UInt[8]]): return body(x, y)", scope)
    with pytest.raises(cn.CompileError) as caught:
        cn.program(scope["made"]).compile()
    text = str(caught.value)
    # re.DOTALL: a message may go on in the next line.
    assert re.search(message if "\\" in message else re.escape(message), text, re.S), text
    if line is not None:
        first = body.__code__.co_firstlineno
        assert line in text
        place = re.search(re.escape(__file__) + r":(\d+)", text)
        assert place is not None
        assert first < int(place[1]) < first + 8


def test_parties_have_two_names():
    def compiled(to, text):
        scope = {"cn": cn}
        exec(f"def f({text}): return x + y, x", scope)
        return cn.program(scope["f"], to=to).compile()

    ways = {
        "x: cn.A[cn.UInt[8]], y: cn.B[cn.UInt[8]]": (cn.A, "a", "garbler", cn.Garbler),
        "x: cn.Garbler[cn.UInt[8]], y: cn.Evaluator[cn.UInt[8]]": (cn.A, "garbler"),
        # Annotations that are still text when the function is made.
        "x: 'cn.A[cn.UInt[8]]', y: 'cn.B[cn.UInt[8]]'": (cn.A,),
    }
    made = [compiled(to, text) for text, names in ways.items() for to in names]
    assert len({prog.digest for prog in made}) == 1
    assert {receiver for receiver, _ in made[0].outputs.values()} == {"garbler"}
    assert compiled(cn.B, next(iter(ways))).digest != made[0].digest
    run = made[0].run_local(x=3, y=4, backend="plain")
    assert (run.a, run.b) == (run.garbler, run.evaluator) == ((7, 3), (None, None))
    with pytest.raises(cn.CompileError, match=r"outputs go to cn\.A, cn\.B or cn\.Both"):
        compiled("alice", "x: cn.A[cn.Bit], y: cn.B[cn.Bit]")


def test_sizes_of_inputs_are_refused_where_they_are_written():
    @cn.program
    def large(
        few: cn.Garbler[cn.UInt[8]],
        many: cn.Evaluator[cn.Array[cn.UInt[4096], "n"]],
        n: int,
    ):
        return few

    with pytest.raises(cn.CompileError, match="at most 2\\^26 bits: split it") as caught:
        large.compile(n=20_000)
    assert 'many: cn.Evaluator[cn.Array[cn.UInt[4096], "n"]],' in str(caught.value)


@pytest.mark.filterwarnings("ignore::cenote.OverflowWarning")
def test_divisions_by_zero_are_told_from_overflow():
    @cn.program
    def quotients(x: cn.Garbler[cn.Array[cn.Int[8], 3]], y: cn.Evaluator[cn.Array[cn.Int[8], 3]]):
        return x // y

    zero, wide = quotients.simulate(x=[1, 2, -128], y=[0, 0, -1]).overflow
    assert repr(zero).startswith("// divides by zero 2 times at ")
    assert repr(wide).startswith("// does not fit once at ")


def test_operators_of_numpy_take_secrets():
    left = numpy.array([200, 7, 9], dtype=numpy.uint8)

    @cn.program
    def both(x: cn.Garbler[cn.Array[cn.UInt[8], 3]]):
        return left - x, numpy.multiply(x, left), numpy.uint8(9) // x, left >= x, left @ x

    assert both(x=[3, 7, 2]) == ([197, 0, 7], [88, 49, 18], [3, 1, 4], [True, True, True], (600 + 49 + 18) % 256)


def test_values_can_be_looked_at_in_the_clear(capsys):
    @cn.program
    def sums(x: cn.Garbler[cn.Array[cn.UInt[8], 3]]):
        total = cn.UInt[8](0)
        for i in cn.range(3):
            total = total + x[i]
            print(total.value())
        return total

    assert sums([1, 2, 4]) == 7
    assert capsys.readouterr().out.split() == ["1", "3", "7"]
    with pytest.raises(cn.CompileError, match="only when the function is called with plain values"):
        sums.compile()


def test_signatures_are_checked():
    def compiled(text, body="return x"):
        scope = {"cn": cn}
        exec(f"def f({text}): {body}", scope)
        return cn.program(scope["f"]).compile()

    for text, message in [
        ("x", "`x` has no secret type"),
        ("x: cn.UInt[8]", "`x` belongs to nobody: write x: cn.A[UInt[8]] or x: cn.B[UInt[8]]"),
        ("x: cn.Garbler[cn.Array[cn.UInt[8], 0]]", "a size of Array is 0: choose from 1"),
        ("x: int", "its value is fixed when the program is compiled"),
        ("x: cn.Both[cn.Bit]", "belongs to one party"),
        ('x: cn.Garbler[cn.UInt["n"]]', "cannot be computed from the parameters"),
    ]:
        with pytest.raises(cn.CompileError, match=re.escape(message)):
            compiled(text)
    for body, message in [("return 3", "plain value 3"), ("pass", "returns nothing: return what"), ("return {}", "returns nothing secret")]:
        with pytest.raises(cn.CompileError, match=message):
            compiled("x: cn.Garbler[cn.Bit]", body)
    scope = {"cn": cn}
    exec("def f(x: cn.Garbler[cn.UInt[8]]) -> cn.Both[cn.UInt[16]]: return x", scope)
    with pytest.raises(cn.CompileError, match="annotated is UInt"):
        cn.program(scope["f"]).compile()
    with pytest.raises(cn.CompileError, match=re.escape("0: choose from 1 to 4096")):
        cn.UInt[0]
    with pytest.raises(cn.CompileError, match="only while a program runs"):
        cn.UInt[8](3)


def test_programs_within_programs():
    @cn.program
    def outer(x: cn.Garbler[cn.Array[cn.UInt[16], 3]]):
        return statistics(x, n=3)["total"] + 1

    same(outer, 7, x=[1, 2, 3])


def test_parameters_are_fixed_by_compile():
    @cn.program
    def scaled(x: cn.Garbler[cn.Array[cn.UInt["w"], "n + 1"]], n: int, w: int = 8):
        return cn.sum(x, width=w + n)

    assert scaled.compile(n=2) is scaled.compile(n=2, w=8)
    assert repr(scaled.compile(n=2, w=9).inputs["x"]) == "A[Array[UInt[9], 3]]"
    assert scaled([200, 100, 1], n=2) == 301
    with pytest.raises(cn.CompileError, match="has no parameter m"):
        scaled.compile(m=3)


def test_liveness_keeps_names_of_one_round_apart():
    source = statistics._body()
    assert source is not statistics.__wrapped__
    assert _rewrite.rewrite(clamp.__wrapped__) is clamp.__wrapped__


def test_tracing_is_fast():
    @cn.program
    def long(x: cn.Garbler[cn.Array[cn.UInt[32], 16]], n: int):
        y, z = x[0], x[1]
        for _ in range(n):
            y, z = (y + z) ^ z, y & x
            z = z[3]
        return y

    long.compile(n=10)
    start = time.perf_counter()
    made = long.compile(n=2500)
    seconds = time.perf_counter() - start
    assert made.cost()["statements"] >= 10_000
    # Several times what it takes, for busy machines.
    assert seconds < 2.0


def test_numpys_names_lead_to_those_of_this_package():
    np = pytest.importorskip("numpy")

    @cn.program
    def method(x: cn.Garbler[cn.Array[cn.UInt[8], 3]]):
        return x.sum()

    @cn.program
    def numpys(x: cn.Garbler[cn.Array[cn.UInt[8], 3]]):
        return np.sum(x)

    with pytest.raises(AttributeError, match=re.escape("a secret has no `sum`: write cn.sum(x)")):
        method.compile()
    with pytest.raises(cn.CompileError, match=re.escape("NumPy's sum takes no secrets: use cn.sum")):
        numpys.compile()
