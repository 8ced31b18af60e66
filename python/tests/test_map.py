"""Maps of ``cn.map_of``, beside a dictionary."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn
from cenote import _slots

GET, INSERT, DELETE, EXPIRE = range(4)


@cn.program
def work(
    what: cn.A[cn.Array[cn.UInt[2], "steps"]],
    key: cn.B[cn.Array[cn.UInt[3], "steps"]],
    value: cn.A[cn.Array[cn.Int[6], "steps"]],
    time: cn.B[cn.Array[cn.UInt[4], "steps"]],
    steps: int,
    n: int,
):
    m = cn.map_of(cn.UInt[3], cn.Int[6], n, expires=cn.UInt[4])
    before, got, done = cn.zeros(cn.Bit, steps), cn.zeros(cn.Int[6], steps), cn.zeros(cn.Bit, (2, steps))
    for k in cn.range(steps):
        m.expire(cn.where(what[k] == EXPIRE, time[k], 0))
        before[k], got[k] = m.get(key[k])
        done[0, k] = m.insert(key[k], value[k], expires=time[k], enable=what[k] == INSERT)
        done[1, k] = m.delete(key[k], enable=what[k] == DELETE)
    return before, got, done, m.there, m.keys, m.values, m.until


def by_dictionary(steps, n):
    """What ``work`` gives, and what is in the map at the end."""
    rows: dict[int, tuple[int, int]] = {}
    before, got, done = [], [], ([], [])
    for what, key, value, time in steps:
        if what == EXPIRE:
            rows = {key: row for key, row in rows.items() if row[1] > time}
        before.append(key in rows)
        got.append(rows.get(key, (0, 0))[0])
        put, gone = what == INSERT and (key in rows or len(rows) < n), what == DELETE and key in rows
        if put:
            rows[key] = value, time
        if gone:
            del rows[key]
        done[0].append(put)
        done[1].append(gone)
    return (before, got, list(done)), {(key, *row) for key, row in rows.items()}


def columns(steps):
    return dict(zip(("what", "key", "value", "time"), map(list, zip(*steps))))


def check(result, steps, n):
    *seen, there, keys, values, until = result
    wanted, rows = by_dictionary(steps, n)
    assert tuple(seen) == wanted
    held = [entry for used, *entry in zip(there, keys, values, until) if used]
    assert len(held) == len(rows)
    assert set(map(tuple, held)) == rows


#: Times are 1 and more: at 0 nothing has expired.
STEP = st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(-32, 31), st.integers(1, 15))


@settings(deadline=None, max_examples=60)
@given(st.lists(STEP, min_size=1, max_size=40), st.integers(1, 6))
def test_a_map_is_a_dictionary_with_so_much_room(steps, n):
    check(work(**columns(steps), steps=len(steps), n=n), steps, n)


@settings(deadline=None, max_examples=10)
@given(st.lists(STEP, min_size=12, max_size=12), st.sampled_from([1, 3, 8]))
def test_compiled_maps_are_dictionaries(steps, n):
    check(three_ways(work, **columns(steps), steps=12, n=n)[0], steps, n)


@pytest.mark.parametrize("backend", ["plain", "wrk"])
def test_hundreds_of_operations(backend):
    chosen = random.Random(2017)
    kinds = set()
    for n in (2, 4, 5, 7):
        steps = [(chosen.randrange(4), chosen.randrange(8), chosen.randrange(-32, 32), chosen.randrange(1, 16)) for _ in range(100)]
        result, _ = three_ways(work, backend=backend, **columns(steps), steps=100, n=n)
        check(result, steps, n)
        (before, _, done), _ = by_dictionary(steps, n)
        kinds |= {(what, *flags) for (what, *_), *flags in zip(steps, before, *done)}
    # All that can happen does: found and not, new and replaced, no room, deleted and not.
    assert kinds == {
        *((what, found, False, False) for what in (GET, EXPIRE) for found in (False, True)),
        *((DELETE, found, False, found) for found in (False, True)),
        *((INSERT, *flags, False) for flags in ((False, True), (True, True), (False, False))),
    }


def test_slots_beyond_the_widest_number_are_used(monkeypatch):
    @cn.program
    def fill(there: cn.A[cn.Array[cn.Bit, "n"]], n: int):
        m = cn.map_of(cn.UInt[14](range(n)), cn.zeros(cn.Bit, n), there=there)
        done = cn.zeros(cn.Bit, 3)
        for k in cn.range(3):
            done[k] = m.insert(k + 9000, True)
        return done, m.there, m.keys

    def filled(there):
        keys = list(range(len(there)))
        free = [k for k, used in enumerate(there) if not used]
        for number, at in enumerate(free[:3]):
            keys[at] = 9000 + number
        return [number < len(free) for number in range(3)], [used or k in free[:3] for k, used in enumerate(there)], keys

    n = 2 * _slots._ADDED + 7
    for free in ([], [n - 1], [_slots._ADDED - 1, _slots._ADDED, n - 1, n - 2]):
        there = [k not in free for k in range(n)]
        assert fill(there=there, n=n) == filled(there)
    assert fill.simulate(there=there, n=n).value == filled(there)
    monkeypatch.setattr(_slots, "_ADDED", 3)
    for free in ([], [2], [6], [0, 3, 5, 6], range(7)):
        there = [k not in free for k in range(7)]
        assert three_ways(fill, there=there, n=7)[0] == filled(there)


class Card(cn.Record):
    limits: cn.Array[cn.Int[8], 2]
    lost: cn.Bit


def test_keys_are_words_and_values_are_what_memories_hold():
    @cn.program
    def kinds(at: cn.A[cn.Fixed[4, 4]], card: cn.B[Card], cards: cn.B[cn.Array[Card, 3]], names: cn.A[cn.Array[cn.Int[4], 3]]):
        prices = cn.map_of(cn.Fixed[4, 4], tuple[cn.UInt[8], Card], 2)
        prices.insert(at, (7, card))
        prices.insert(1.5, (8, cards[0]))
        by_bit = cn.map_of(cn.Bit, cn.Array[cn.UInt[8], 2], 1)
        by_bit.insert(True, [1, 2])
        m = cn.map_of(names, cards, there=cn.Bit([True, False, True]))
        missing = m.get(names[1])
        m.insert(names[1], card)
        return prices.get(at), prices.get(1.5), by_bit.get(True), by_bit.get(False), missing, m.get(names[1]), m.values, m.there

    def made(k):
        return {"limits": [k, -k], "lost": k % 2 == 0}

    nothing = {"limits": [0, 0], "lost": False}
    columns = {"limits": [[0, 0], [9, -9], [2, -2]], "lost": [True, False, True]}
    for at, own in ((-2.25, made(9)), (1.5, made(0))):
        result, _ = three_ways(kinds, at=at, card=made(9), cards=[made(k) for k in range(3)], names=[-8, 3, 7])
        first = (True, (7 if at != 1.5 else 8, own))
        assert result == (
            first,
            (True, (8, made(0))),
            (True, [1, 2]),
            (False, [0, 0]),
            (False, nothing),
            (True, made(9)),
            columns,
            [True] * 3,
        )


def test_a_map_goes_into_functions_loops_and_maps_and_to_another_run():
    @cn.function
    def count(m, key):
        _, old = m.get(key)
        return m.insert(key, old + 1)

    @cn.program
    def again(
        there: cn.A[cn.Array[cn.Bit, 4]],
        keys: cn.A[cn.Array[cn.UInt[8], 4]],
        counts: cn.A[cn.Array[cn.UInt[8], 4]],
        words: cn.B[cn.Array[cn.UInt[8], 6]],
    ):
        m = cn.map_of(keys, counts, there=there)
        for i in cn.range(2):
            for j in cn.range(3):
                count(m, words[3 * i + j])
        seen = cn.map(lambda word: m.contains(word), words)
        return m.there, m.keys, m.values, seen

    held = [False] * 4, [0] * 4, [0] * 4
    wanted: dict[int, int] = {}
    for words in ([7, 9, 7, 0, 7, 9], [9, 0, 255, 1, 1, 9]):
        for word in words:
            if word in wanted or len(wanted) < 4:
                wanted[word] = wanted.get(word, 0) + 1
        (*held, seen), _ = three_ways(again, **dict(zip(("there", "keys", "counts"), held)), words=words)
        assert {key: number for used, key, number in zip(*held) if used} == wanted
        assert seen == [word in wanted for word in words]
    assert seen == [True, True, True, False, False, True]


class Slot(cn.Record):
    there: cn.Bit
    key: cn.UInt[8]
    limit: cn.UInt[4]


def test_a_map_outlives_a_run_in_a_memory():
    @cn.program
    def begin(slots: cn.NewMemory[cn.Array[Slot, 3]]):
        pass

    @cn.program
    def visit(key: cn.A[cn.UInt[8]], limit: cn.B[cn.UInt[4]], slots: cn.Memory[cn.Array[Slot, 3]]):
        rows = slots.value
        m = cn.map_of(rows.key, rows.limit, there=rows.there)
        before = m.get(key)
        done = m.insert(key, limit, enable=limit != 0)
        rows.there, rows.key, rows.limit = m.there, m.keys, m.values
        return before, done

    held: dict[str, object] = {}
    begin.compile().simulate(memories=held)
    known: dict[int, int] = {}
    for key, limit in ((0, 0), (0, 7), (9, 3), (0, 0), (9, 4), (5, 1), (6, 1), (6, 0), (9, 0)):
        done = limit != 0 and (key in known or len(known) < 3)
        run = visit.compile().simulate(key=key, limit=limit, memories=held)
        assert run.value == ((key in known, known.get(key, 0)), done)
        if done:
            known[key] = limit
    assert known == {0: 7, 9: 4, 5: 1}


@pytest.mark.parametrize(("n", "k", "v", "e"), [(1, 1, 1, 1), (10, 8, 5, 4), (33, 54, 4, 16), (4100, 3, 2, 2)])
def test_costs_are_those_of_the_formulas(n, k, v, e):
    @cn.program
    def some(
        there: cn.A[cn.Array[cn.Bit, n]],
        keys: cn.A[cn.Array[cn.UInt[k], n]],
        values: cn.A[cn.Array[cn.UInt[v], n]],
        times: cn.A[cn.Array[cn.UInt[e], n]],
        key: cn.B[cn.UInt[k]],
        value: cn.B[cn.UInt[v]],
        time: cn.B[cn.UInt[e]],
        on: cn.B[cn.Bit],
        use,
        expires: bool,
    ):
        m = cn.map_of(keys, values, there=there, expires=times if expires else None)
        return [use(m, key, value, time, on), m.there, m.keys, m.values, *([m.until] if expires else [])]

    def ands(use, expires=False):
        return some.compile(use=use, expires=expires).cost()["ands"]

    assert ands(lambda m, key, *_: m.contains(key)) == n * k
    assert ands(lambda m, key, *_: m.get(key)) == n * (k + v)
    assert ands(lambda m, key, *_: m.delete(key)) == n * k
    assert ands(lambda m, key, value, time, on: m.delete(key, enable=on)) == n * k + n
    assert ands(lambda m, key, value, *_: m.insert(key, value)) == n * (2 * k + v + 1)
    assert ands(lambda m, key, value, time, on: m.insert(key, value, expires=time), True) == n * (2 * k + v + e + 1)
    assert ands(lambda m, key, value, time, on: m.insert(key, value, expires=time, enable=on), True) == n * (2 * k + v + e + 2) + 1
    assert ands(lambda m, key, value, time, on: m.expire(time) or m.there, True) == n * (e + 1)


WORDS = "cn.Bit, UInt[n], Int[n] or Fixed[i, f]"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, 0), "a map of 0 slots: their number is a public whole number, 1 or more"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, i), "their number is a public whole number"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, True), "a map of True slots"),
        (lambda m, i: cn.map_of(Card, cn.Bit, 4), f"they are {WORDS}"),
        (lambda m, i: cn.map_of(int, cn.Bit, 4), "a map whose keys are <class 'int'>"),
        (lambda m, i: cn.map_of(cn.UInt[8], int, 4), "a memory of <class 'int'>: rows are"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, 4, expires=cn.Bit), "a map whose times are Bit: they are UInt[n]"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, 4, expires=7), "a map whose times are 7"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit, 4, there=i), "`there` goes with arrays"),
        (lambda m, i: cn.map_of(cn.UInt[8], cn.Bit), "the types of keys and values and the number of slots"),
        (
            lambda m, i: cn.map_of(i, cn.zeros(cn.Bit, 4)),
            "a map of 4 values: keys is an array with one word for each, not an array of shape ()",
        ),
        (lambda m, i: cn.map_of(cn.zeros(cn.Bit, 3), cn.zeros(cn.Bit, 4)), "not an array of shape (3,)"),
        (lambda m, i: cn.map_of(cn.zeros(cn.Bit, 4), cn.zeros(cn.Bit, 4), there=[1]), "there is an array with one word for each, not [1]"),
        (lambda m, i: cn.map_of(*[cn.zeros(cn.UInt[3], 4)] * 2, there=cn.zeros(cn.UInt[2], 4)), "there: Bit meets UInt[2]"),
        (lambda m, i: cn.map_of(*[cn.zeros(cn.UInt[3], 4)] * 2, expires=cn.UInt[3]), "expires is an array with one word for each"),
        (lambda m, i: cn.map_of(*[cn.zeros(cn.Bit, 4)] * 2, expires=cn.zeros(cn.Bit, 4)), "a map whose times are Bit"),
        (lambda m, i: m.get(cn.UInt[4](3)), "a key of this map: UInt[3] meets UInt[4]"),
        (lambda m, i: m.get(8), "8 does not fit UInt[3] (0 .. 7)"),
        (lambda m, i: m.contains([1, 2]), "a key of this map is one word, not an array of shape (2,): go through several with cn.range"),
        (lambda m, i: m.insert(i, cn.UInt[4](1)), "a value of this map: UInt[8] meets UInt[4]"),
        (lambda m, i: m.insert(i, 1, expires=3), "entries of this map do not expire"),
        (lambda m, i: m.insert(i, 1, enable=i), "enable: Bit meets UInt[3]"),
        (lambda m, i: m.delete(i, enable=cn.zeros(cn.Bit, 5)), "enable is one word"),
        (lambda m, i: m.expire(3), "make it with cn.map_of(K, V, n, expires=T)"),
        (lambda m, i: cn.map_of(cn.Bit, cn.Bit, 4, expires=cn.UInt[6]).insert(True, True), "expires=t) with t of type UInt[6]"),
        (lambda m, i: cn.map_of(cn.Bit, cn.Bit, 4, expires=cn.UInt[6]).expire(i), "now: UInt[6] meets UInt[3]"),
        (lambda m, i: i in m, "write m.contains(key), which is a secret bit"),
        (lambda m, i: m[i], "write `there, value = m.get(key)`"),
        (lambda m, i: list(m), "a map has no places"),
        (lambda m, i: cn.map(lambda j: m.delete(j), cn.zeros(cn.UInt[3], 2)), "side by side"),
    ],
)
def test_misuse_is_refused_with_what_to_write(use, message):
    @cn.program
    def wrong(i: cn.A[cn.UInt[3]]):
        m = cn.map_of(cn.UInt[3], cn.UInt[8], 5)
        assert (len(m), repr(m)) == (5, "<map of 5 slots, UInt[3] to UInt[8]>")
        use(m, i)
        return m.get(i)

    with pytest.raises(cn.CompileError, match=re.escape(message)):
        wrong.compile()
