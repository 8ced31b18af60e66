"""Memories of ``cn.ram``, beside a dictionary."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn


class Card(cn.Record):
    number: cn.UInt[16]
    limits: cn.Array[cn.Int[8], 2]
    lost: cn.Bit


@cn.program
def updates(at: cn.A[cn.Array[cn.UInt[6], 8]], put: cn.B[cn.Array[cn.UInt[16], 8]], on: cn.B[cn.Array[cn.Bit, 8]], n: int):
    m = cn.ram(cn.UInt[16], n)
    seen = cn.zeros(cn.UInt[16], 8)
    for k in cn.range(8):
        seen[k] = m.update(at[k], lambda old: cn.where(on[k], old + put[k], old))  # noqa: B023
    return seen, m[0], m[n - 1]


@settings(deadline=None, max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 63), st.integers(0, 65535), st.booleans()), min_size=8, max_size=8), st.sampled_from([1, 40, 64]))
def test_a_memory_is_a_dictionary(steps, n):
    rows: dict[int, int] = {}
    seen = []
    for at, put, on in steps:
        seen.append(rows.get(at, 0))
        if at < n:
            rows[at] = (rows.get(at, 0) + put * on) % 65536
    at, put, on = map(list, zip(*steps))
    result, _ = three_ways(updates, at=at, put=put, on=on, n=n)
    assert result == (seen, rows.get(0, 0), rows.get(n - 1, 0))


def test_a_large_memory_is_not_scanned_and_gives_the_same():
    @cn.program
    def wide(at: cn.A[cn.Array[cn.UInt[8], 4]], put: cn.B[cn.Array[cn.UInt[16], 4]]):
        m, other = cn.ram(cn.Array[cn.UInt[16], 16], 256), cn.ram(cn.Array[cn.UInt[16], 16], 256)
        total = cn.zeros(cn.UInt[16], 16)
        for k in cn.range(4):
            total += m[at[k]]
            m[at[k]] = total + put[k]
            other[at[k]] = m[at[k]]
        return total, other[at[0]], other[at[1]]

    [kept] = wide.compile().cost()["memories"]
    assert [kept[name] for name in ("rows", "bits", "trees", "levels", "reads", "writes", "updates")] == [256, 256, 0, 1, 6, 4, 4]
    for backend in ("plain", "wrk"):
        total, first, second = three_ways(wide, backend=backend, at=[3, 200, 3, 200], put=[100, 7, 9, 1])[0]
        assert total == [107] * 16
        assert first == [109] * 16
        assert second == [108] * 16


def test_rows_are_words_records_and_tuples():
    @cn.program
    def kinds(at: cn.A[cn.UInt[3]], card: cn.B[Card], cards: cn.B[cn.Array[Card, 5]], pairs: cn.A[cn.Array[cn.Fixed[4, 4], 5, 2]]):
        m = cn.ram(cards)
        before = m[at]
        m[at] = card
        m.update(at, lambda old: old.replace(number=old.number + 1))
        both = cn.ram(tuple[cn.UInt[8], Card], 6)
        both[at] = 7, m[2]
        number, kept = both[at]
        grid = cn.ram(pairs)
        grid[1] = grid[at] + grid[0]
        zipped = cn.ram((cards.number, cards.lost))
        return before, m[at], number, kept, grid[1], zipped[at]

    def made(k):
        return {"number": 100 + k, "limits": [k, -k], "lost": k % 2 == 0}

    cards = [made(k) for k in range(5)]
    pairs = [[k / 2, -k / 4] for k in range(5)]
    result, _ = three_ways(kinds, at=2, card=made(9), cards=cards, pairs=pairs)
    changed = {**made(9), "number": 110}
    assert result == (made(2), changed, 7, changed, [1.0, -0.5], (102, True))
    nothing = {"number": 0, "limits": [0, 0], "lost": False}
    beyond, run = three_ways(kinds, at=7, card=made(9), cards=cards, pairs=pairs)
    assert beyond == (nothing, nothing, 0, nothing, [0.0, 0.0], (0, False))
    assert run.overflow


@cn.program
def batches(
    at: cn.A[cn.Array[cn.UInt[3], 2, 3]],
    put: cn.B[cn.Array[cn.UInt[8], 2, 3]],
    again: cn.B[cn.Array[cn.UInt[3], 4]],
    rows: cn.A[cn.Array[cn.UInt[8], 6]],
):
    m = cn.ram(rows)
    m[at] = put
    seen = m.update(again, lambda old: old * 3 + 1)
    m[again[:1]] = 7
    return seen, [m[k] for k in range(6)]


@settings(deadline=None, max_examples=10)
@given(
    *(st.lists(st.integers(0, most), min_size=n, max_size=n) for n, most in ((6, 7), (6, 255), (4, 7), (6, 255))),
)
def test_several_places_are_written_in_their_order(at, put, again, given):
    rows = list(given)
    for place, new in zip(at, put):
        if place < 6:
            rows[place] = new
    seen = []
    for place in again:
        seen.append(rows[place] if place < 6 else 0)
        if place < 6:
            rows[place] = (rows[place] * 3 + 1) % 256
    if again[0] < 6:
        rows[again[0]] = 7
    result, run = three_ways(batches, at=[at[:3], at[3:]], put=[put[:3], put[3:]], again=again, rows=given)
    assert result == (seen, rows)
    if max(at + again) > 5:
        assert run.overflow


def test_several_places_take_rows_of_any_kind():
    @cn.program
    def kinds(at: cn.A[cn.Array[cn.UInt[2], 3]], cards: cn.B[cn.Array[Card, 3]], pairs: cn.A[cn.Array[cn.Fixed[4, 4], 3, 2]]):
        m = cn.ram(tuple[Card, cn.Array[cn.Fixed[4, 4], 2]], 4)
        m[at] = cards, pairs
        before, _ = m.update(at, lambda old: (old[0].replace(number=old[0].number + 1), old[1]))
        changed = m[at]
        # One row at all places.
        m[at] = cards[2], 1.5
        return before.number, changed, m[at[0]], m[3]

    cards = [{"number": 10 * k, "limits": [k, -k], "lost": k == 1} for k in range(3)]
    pairs = [[0.5 * k, -0.5] for k in range(3)]
    result, _ = three_ways(kinds, at=[2, 0, 2], cards=cards, pairs=pairs)
    numbers = {"number": [22, 11, 22], "limits": [[2, -2], [1, -1], [2, -2]], "lost": [False, True, False]}
    nothing = {"number": 0, "limits": [0, 0], "lost": False}
    assert result == ([20, 10, 21], (numbers, [[1.0, -0.5], [0.5, -0.5], [1.0, -0.5]]), (cards[2], [1.5, 1.5]), (nothing, [0.0, 0.0]))


def test_several_places_take_an_access_each():
    @cn.program
    def many(at: cn.A[cn.Array[cn.UInt[12], 200]], put: cn.B[cn.Array[cn.UInt[16], 200]]):
        m = cn.ram(cn.UInt[16], 4096)
        m[at] = put
        m.update(at, lambda old: old + 1)
        return m[at[0]]

    made = many.compile()
    [kept] = made.cost()["memories"]
    assert [kept[name] for name in ("rows", "reads", "writes", "updates")] == [4096, 1, 200, 200]
    # Loops, whatever the number of places.
    assert len(made.show().splitlines()) < 40


def test_a_memory_goes_into_functions_loops_and_maps():
    @cn.function
    def bump(m, i):
        m[i] = m[i] + 1

    @cn.program
    def work(at: cn.A[cn.Array[cn.UInt[3], 6]]):
        m = cn.ram(cn.UInt[8], 5)
        for k in cn.range(5):
            m[k] = cn.UInt[8](k) * 10
        for k in cn.range(2):
            for j in cn.range(3):
                bump(m, at[3 * k + j])
        doubled = cn.map(lambda i: m[i] * 2, at)
        return doubled, m[at]

    at = [4, 0, 4, 1, 4, 6]
    rows = [1, 11, 20, 30, 43]
    result, _ = three_ways(work, at=at)
    read = [rows[i] if i < 5 else 0 for i in at]
    assert result == ([2 * row for row in read], read)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m, i: cn.ram(cn.UInt[8], 0), "a memory of 0 rows: their number is a public whole number, 1 or more"),
        (lambda m, i: cn.ram(cn.UInt[8], i), "their number is a public whole number"),
        (lambda m, i: cn.ram([1, 2]), "make plain numbers words, as in cn.UInt[n](numbers)"),
        (lambda m, i: cn.ram(int, 4), "a memory of <class 'int'>: rows are"),
        (lambda m, i: cn.ram(i), "a memory of one value"),
        (lambda m, i: cn.ram(cn.zeros(cn.Bit, 4), 4), "takes an array of rows and no number"),
        (lambda m, i: cn.ram((cn.zeros(cn.Bit, 4), cn.zeros(cn.Bit, 5))), "arrays of different lengths: 4, 5"),
        (lambda m, i: m[5], "the place is 5, but the memory has 5 rows, numbered from 0"),
        (lambda m, i: m[-1], "the place is -1"),
        (lambda m, i: m[1:3], "go through several with cn.range"),
        (lambda m, i: m[cn.Int[4](3)], "a place of type Int[4]"),
        # Constants are public, also as words.
        (lambda m, i: m[cn.UInt[4](9)], "`lookup`: the place is 9, but the table has 5 lanes, numbered from 0"),
        (lambda m, i: m[cn.UInt[4]([0, 5])], "`lookup`: the place is 5, but the table has 5 lanes, numbered from 0"),
        (lambda m, i: m.__setitem__(cn.UInt[4](9), 1), "`store`: the place is 9, but the table has 5 lanes, numbered from 0"),
        (lambda m, i: m.update(cn.UInt[4](9), lambda old: old), "`lookup`: the place is 9, but the table has 5 lanes, numbered from 0"),
        (lambda m, i: m.update(i, lambda old: cn.UInt[4](old)), "a row of this memory: UInt[8] meets UInt[4]"),
        (lambda m, i: list(m), "for i in cn.range(len(m)):"),
        (lambda m, i: m.__setitem__([1, 2], 3), "go through several with cn.range"),
        (lambda m, i: m.__setitem__(cn.zeros(cn.UInt[3], 2), cn.zeros(cn.UInt[4], 2)), "a value for these places: UInt[8] meets UInt[4]"),
        (
            lambda m, i: m.__setitem__(cn.zeros(cn.UInt[3], 2), cn.zeros(cn.UInt[8], (3, 2))),
            "a value for these places has the shape (2,), this value (3, 2)",
        ),
        (lambda m, i: m.update(cn.zeros(cn.Bit, 2), lambda old: old), "go through the memory with cn.range, and use cn.where"),
        (lambda m, i: cn.map(lambda j: m.update(j, lambda old: old), cn.zeros(cn.UInt[3], 2)), "side by side"),
    ],
)
def test_misuse_is_refused_with_what_to_write(use, message):
    @cn.program
    def wrong(i: cn.A[cn.UInt[3]]):
        m = cn.ram(cn.UInt[8], 5)
        use(m, i)
        return m[i]

    with pytest.raises(cn.CompileError, match=re.escape(message)):
        wrong.compile()


def test_a_loop_variable_beyond_the_end_is_refused():
    @cn.program
    def wrong(i: cn.A[cn.UInt[3]]):
        m = cn.ram((cn.zeros(cn.UInt[8], 5), cn.zeros(Card, 5)))
        for k in cn.range(6):
            m[k] = i, m[0]
        return m[i][0]

    with pytest.raises(cn.CompileError, match="the place goes from 0 to 5, but the memory has 5 rows"):
        wrong.compile()
