"""Hashed maps, beside a dictionary: what they give, how they are kept, and what happens when a stash is full."""

import math
import pathlib
import random
import re
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ways import three_ways

import cenote as cn
from cenote import _aes, _hashed, _occupancy

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from programs.aes128.reference import aes128
from programs.shipped import stored_vectors

GET, INSERT, DELETE, EXPIRE = range(4)


@cn.program
def encrypt(key: cn.A[cn.UInt[128]], message: cn.B[cn.UInt["width"]], *, width: int = 128):
    return _aes.mac(_aes.round_keys(key), message)


def word(data):
    return int.from_bytes(bytes(data), "little")


def test_the_hash_is_aes_and_its_cbc_mac():
    for vector in stored_vectors("aes128")["aes128"]:
        key, other, block = vector["inputs"]
        shared = [x ^ y for x, y in zip(key, other)]
        assert encrypt.simulate(key=word(shared), message=word(block)).value == vector["outputs"]
    key, message = list(range(16)), [(7 * k) % 256 for k in range(40)]
    state = [0] * 16
    for at in range(0, 48, 16):
        block = (message + [0] * 8)[at : at + 16]
        state = aes128(key, [0] * 16, [x ^ y for x, y in zip(state, block)])
    assert encrypt.simulate(key=word(key), message=word(message), width=320).value == state
    assert encrypt.compile().cost()["ands"] == 200 * 36


@cn.program
def work(
    what: cn.A[cn.Array[cn.UInt[2], "steps"]],
    key: cn.B[cn.Array[cn.Int[4], "steps"]],
    value: cn.A[cn.Array[cn.Int[6], "steps"]],
    time: cn.B[cn.Array[cn.UInt[5], "steps"]],
    ours: cn.A[cn.UInt[128]],
    yours: cn.B[cn.UInt[128]],
    steps: int,
    n: int,
    timed: bool,
    hashed: bool,
):
    m = cn.map_of(cn.Int[4], cn.Int[6], n, expires=cn.UInt[5] if timed else None, seeds=(ours, yours), hashed=hashed)
    before, got, done = cn.zeros(cn.Bit, steps), cn.zeros(cn.Int[6], steps), cn.zeros(cn.Bit, (3, steps))
    clock = cn.zeros(cn.UInt[5], 1)
    for k in cn.range(steps):
        if timed:
            clock[0] = cn.where(what[k] == EXPIRE, clock[0] + 1, clock[0])
            m.expire(clock[0])
        before[k], got[k] = m.get(key[k])
        until = {"expires": clock[0] + time[k]} if timed else {}
        done[0, k] = m.insert(key[k], value[k], enable=what[k] == INSERT, **until)
        done[1, k] = m.delete(key[k], enable=what[k] == DELETE)
        done[2, k] = m.contains(key[k])
    return before, got, done, m.there, m.keys, m.values


def by_dictionary(steps, n, timed, lost=()):
    """What ``work`` gives, and what is in the map at the end; insertions that are ``lost`` find no room."""
    rows: dict[int, tuple[int, int]] = {}
    before, got, done = [], [], ([], [], [])
    clock = 0
    for k, (what, key, value, time) in enumerate(steps):
        clock += timed and what == EXPIRE
        rows = {key: row for key, row in rows.items() if not timed or row[1] > clock}
        before.append(key in rows)
        got.append(rows.get(key, (0, 0))[0])
        put, gone = what == INSERT and (key in rows or (len(rows) < n and k not in lost)), what == DELETE and key in rows
        if put:
            rows[key] = value, clock + time
        if gone:
            del rows[key]
        done[0].append(put)
        done[1].append(gone)
        done[2].append(key in rows)
    return (before, got, list(done)), {(key, value) for key, (value, _) in rows.items()}


def columns(steps):
    seeds = random.Random(repr(steps))
    return dict(zip(("what", "key", "value", "time"), map(list, zip(*steps)))) | {
        name: seeds.getrandbits(128) for name in ("ours", "yours")
    }


def check(result, steps, n, timed, lost=()):
    *seen, there, keys, values = result
    wanted, rows = by_dictionary(steps, n, timed, lost)
    assert tuple(seen) == wanted
    held = [entry for used, *entry in zip(there, keys, values) if used]
    assert len(held) == len(rows)
    assert set(map(tuple, held)) == rows


#: The clock goes to 12 at most here, so that times fit.
STEP = st.tuples(st.integers(0, 3), st.integers(-8, 7), st.integers(-32, 31), st.integers(1, 15))


def crowded(monkeypatch, stash, buckets=4, slots=2):
    """Maps whose buckets are often full."""
    monkeypatch.setattr("cenote._map.cheapest", lambda *_: _hashed.Plan(buckets, slots, stash, 0))


@settings(deadline=None, max_examples=6)
@given(st.lists(STEP, min_size=1, max_size=12), st.integers(1, 6))
def test_a_hashed_map_is_a_dictionary_with_so_much_room(steps, n):
    for hashed in (False, True):
        check(work(**columns(steps), steps=len(steps), n=n, timed=False, hashed=hashed), steps, n, False)


@pytest.mark.parametrize("stash", [False, True])
def test_an_entry_that_comes_late_takes_what_its_key_had_with_it(stash, monkeypatch):
    crowded(monkeypatch, 8, buckets=2, slots=1)
    # Entries that stay, in both buckets.
    first = [(INSERT, key, 1, 15) for key in range(-8, -1)] if stash else []
    # Put in for seven ticks; put in again for none, by which it goes; and in anew.
    steps = [*first, (INSERT, 3, 7, 7), (INSERT, 3, 8, 0), (GET, 3, 0, 0), (INSERT, 3, 9, 2), (GET, 3, 0, 0)]
    before, got, (put, _, held), *_ = work(**columns(steps), steps=len(steps), n=9, timed=True, hashed=True)
    here = slice(len(first), None)
    assert put[here] == [True, False, False, True, False]
    assert held[here] == [True, False, False, True, True]
    assert before[here] == [False, True, False, False, True]
    assert got[here] == [0, 7, 0, 0, 9]


def course(timed, n):
    """Operations in which all happens that can."""
    chosen = random.Random(f"course {timed}")
    wanted = {(INSERT, False, True, False, True), (INSERT, True, True, False, True), (DELETE, True, False, True, False)}
    # With times it may take more than it has room for.
    wanted |= set() if timed else {(INSERT, False, False, False, False)}
    while True:
        steps = []
        while len(steps) < 20:
            kind = chosen.choice((GET, INSERT, INSERT, INSERT, DELETE, EXPIRE))
            step = (kind, chosen.randrange(-8, 1), chosen.randrange(-32, 32), chosen.randrange(1, 16))
            if not timed or len(by_dictionary([*steps, step], 99, timed)[1]) <= n:
                steps.append(step)
        (before, _, done), _ = by_dictionary(steps, n, timed)
        kinds = {(what, *flags) for (what, *_), *flags in zip(steps, before, *done)}
        if wanted <= kinds and 2 <= sum(what == EXPIRE for what, *_ in steps) <= 12:
            return steps


@pytest.mark.parametrize(("backend", "timed"), [("plain", False), ("plain", True), ("wrk", True)])
def test_operations_give_the_same_in_both_forms(backend, timed, monkeypatch):
    # All entries may be in the stash, and many are.
    crowded(monkeypatch, 5, buckets=2, slots=2)
    steps, n = course(timed, 5), 5
    how = {**columns(steps), "steps": len(steps), "n": n, "timed": timed}
    check(work(**how, hashed=False), steps, n, timed)
    result, run = three_ways(work, backend=backend, **how, hashed=True)
    check(result, steps, n, timed)
    assert run.overflowed is False


def test_a_large_map_is_kept_in_trees():
    @cn.program
    def some(
        ours: cn.A[cn.UInt[128]],
        yours: cn.B[cn.UInt[128]],
        keys: cn.B[cn.Array[cn.UInt[54], 6]],
        gone: cn.B[cn.Array[cn.Bit, 6]],
    ):
        m = cn.map_of(cn.UInt[54], cn.UInt[8], 3000, seeds=(ours, yours))
        before, after = cn.zeros(cn.UInt[8], 6), cn.zeros(cn.UInt[8], 6)
        for k in cn.range(6):
            before[k] = m.get(keys[k])[1]
            m.insert(keys[k], cn.UInt[8](k + 1))
        for k in cn.range(6):
            m.delete(keys[k], enable=gone[k])
            after[k] = m.get(keys[k])[1]
        return before, after

    (memory,) = some.compile().cost()["memories"]
    assert (memory["trees"] > 1, memory["rows"]) == (True, 4096)
    keys, gone = [7, 2**54 - 1, 7, 0, 123456789, 0], [False, False, False, True, True, False]
    result, _ = three_ways(some, backend="yao", ours=11, yours=2**127 + 5, keys=keys, gone=gone)
    assert result == ([0, 0, 1, 0, 0, 4], [3, 2, 3, 0, 0, 0])


def test_a_full_stash_is_said_and_nothing_wrong_is_found(monkeypatch):
    crowded(monkeypatch, 1, buckets=2, slots=1)
    steps = [(INSERT, key, key, 1) for key in range(-8, 0)] + [(GET, key, 0, 1) for key in range(-8, 0)]
    run = warned_run(steps)
    *_, (put, _, _), there, _, _ = run.value
    # Two buckets of one slot and a stash of one take three at most, and two are there at least.
    assert 2 <= sum(there) <= 3
    assert run.overflowed is True
    assert str(run.overflow[0]).startswith("a hashed map is full 5 times" if sum(there) == 3 else "a hashed map is full 6 times")
    check(run.value, steps, 8, False, lost={k for k in range(8) if not put[k]})
    steps = [(INSERT, 3, 5, 1), (INSERT, 3, 6, 1), (DELETE, 3, 0, 1), (INSERT, 4, 7, 1)] * 4
    run = warned_run(steps)
    check(run.value, steps, 8, False)
    assert run.overflowed is False


def warned_run(steps):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work.simulate(**columns(steps), steps=16, n=8, timed=False, hashed=True)


def test_entries_that_are_given_are_put_in():
    @cn.program
    def given_entries(
        there: cn.A[cn.Array[cn.Bit, 5]],
        keys: cn.A[cn.Array[cn.UInt[40], 5]],
        values: cn.A[cn.Array[cn.UInt[8], 5]],
        until: cn.A[cn.Array[cn.Int[6], 5]],
        ours: cn.A[cn.UInt[128]],
        yours: cn.B[cn.UInt[128]],
        now: cn.B[cn.Int[6]],
        hashed: bool,
    ):
        m = cn.map_of(keys, values, there=there, expires=until, seeds=(ours, yours), hashed=hashed)
        m.expire(now)
        again = cn.map_of(m.keys, m.values, there=m.there)
        found = [m.get(keys[k]) for k in range(5)]
        return found, [again.get(keys[k]) for k in range(5)], cn.UInt[4](len(m))

    values = {"there": [1, 1, 0, 1, 1], "keys": [5, 9, 9, 2**40 - 1, 0], "values": [10, 20, 30, 40, 50], "until": [3, -4, 9, -3, -32]}
    seeds = {"ours": 2**127 + 12345, "yours": 2**128 - 99}
    wanted = [(True, 10), (False, 0), (False, 0), (True, 40), (False, 0)]
    for hashed in (True, False):
        assert three_ways(given_entries, **values, **seeds, now=-4, hashed=hashed)[0] == (wanted, wanted, 5)


def test_time_is_a_clock():
    @cn.program
    def late(ours: cn.A[cn.UInt[128]], yours: cn.B[cn.UInt[128]], now: cn.A[cn.UInt[4]], before: cn.B[cn.UInt[4]]):
        m = cn.map_of(cn.UInt[8], cn.UInt[8], 4, expires=cn.UInt[4], seeds=(ours, yours), hashed=True)
        m.expire(now)
        m.expire(before)
        done = [m.insert(1, 7, expires=now), m.insert(2, 8, expires=now + 1)]
        return done, m.get(1), m.get(2), cn.sum(m.there)

    assert three_ways(late, ours=1, yours=2, now=9, before=5)[0] == ([False, True], (False, 0), (True, 8), 1)


# ---- how they are kept ----------------------------------------------------------------------------------------------------------------


@cn.program
def use(
    ours: cn.A[cn.UInt[128]],
    yours: cn.B[cn.UInt[128]],
    keys: cn.B[cn.Array[cn.UInt[54], "q"]],
    op,
    n: int,
    q: int = 1000,
    hashed: object = None,
    seeded: bool = True,
):
    m = cn.map_of(cn.UInt[54], cn.UInt[8], n, seeds=(ours, yours) if seeded else None, hashed=hashed)
    # What is known to be empty costs nothing to look at.
    for k in cn.range(2):
        m.insert(keys[k], 1)
    seen = cn.zeros(cn.Bit, q)
    for k in cn.range(q):
        seen[k] = op(m, keys[k])
    return seen


def used(found):
    """All of what was found."""
    there, value = found
    return there ^ cn.parity(value.bits())


OPERATIONS = [
    lambda m, key: m.contains(key),
    lambda m, key: used(m.get(key)),
    lambda m, key: m.insert(key, 7),
    lambda m, key: m.delete(key),
]


def per_step(op, n, **how):
    many, few = (use.compile(op=op, n=n, q=q, **how).cost()["ands"] for q in (1100, 100))
    return (many - few) / 1000


@pytest.mark.parametrize("op", range(4))
def test_an_operation_on_ten_thousand_cards_takes_about_a_quarter_of_a_scan(op):
    # Five a second at 1.2 million ANDs a second are 240,000.
    taken = per_step(OPERATIONS[op], 10_000)
    assert taken < 145_000
    assert taken < 0.26 * per_step(OPERATIONS[op], 10_000, hashed=False)
    assert per_step(OPERATIONS[op], 10_000, hashed=False) == pytest.approx(per_step(OPERATIONS[op], 10_000, seeded=False), abs=1)


def test_an_empty_map_begins_for_the_keys_of_the_hash_alone():
    @cn.program
    def begin(ours: cn.A[cn.UInt[128]], yours: cn.B[cn.UInt[128]], key: cn.A[cn.UInt[54]], q: int):
        m = cn.map_of(cn.UInt[54], cn.UInt[8], 10_000, seeds=(ours, yours))
        return [m.insert(key, 1) for _ in range(q)]

    one, two = (begin.compile(q=q).cost()["ands"] for q in (1, 2))
    # Ten rounds of four S-boxes.
    assert one - 40 * 36 < two - one


def test_what_is_cheaper_is_taken():
    for n, hashed in ((1000, False), (2500, True)):
        plan, slots = _hashed.cheapest(n, 54, 8, 0), _hashed.slots_price(n, 54, 8, 0)
        assert (plan.price < slots) is hashed
        assert (per_step(OPERATIONS[1], n) < n * 62) is hashed


def test_sizes_of_stashes_hold_in_simulation():
    # 2^-7 in place of 2^-64, so that it can be seen.
    chosen = random.Random(2017)
    for n, buckets, slots in ((64, 64, 3), (96, 128, 2), (96, 64, 4)):
        size, runs = _occupancy.stash(n, buckets, slots, bits=7), 400
        assert size < n
        for course in (filled, churned):
            largest = [course(chosen, n, buckets, slots) for _ in range(runs)]
            assert sum(most > size for most in largest) <= runs / 2**7
        # And it is not for nothing.
        assert sum(most > size / 8 for most in largest) > runs / 2**7


def test_sizes_of_stashes_hold_where_no_simulation_comes():
    n, buckets, slots = 40, 64, 2
    share = probabilities_of_filled(n, buckets, slots)
    for bits in (4, 8, 12, 16, 40):
        size = _occupancy.stash(n, buckets, slots, bits=bits)
        assert sum(share[size + 1 :]) <= 2.0**-bits < sum(share[size // 6 :]), bits


def probabilities_of_filled(n, buckets, slots):
    """How likely each number is that n entries leave beside buckets."""
    ways = {(0, 0): 1.0}
    for _ in range(buckets):
        more: dict[tuple[int, int], float] = {}
        for (used, aside), weight in ways.items():
            for k in range(n - used + 1):
                place = used + k, aside + max(0, k - slots)
                more[place] = more.get(place, 0.0) + weight / math.factorial(k)
        ways = more
    return [ways.get((n, aside), 0.0) * math.factorial(n) / buckets**n for aside in range(n + 1)]


def test_what_an_entry_finds_is_bounded_for_every_course():
    n, buckets, slots = 30, 16, 3
    found = _occupancy._found(n, buckets, slots, n)
    for k in (1, 2, 3, 4, 9):
        assert finds(n, buckets, slots, k) <= float(found[k - 1]) <= min(1, 1.2 * finds(n, buckets, slots, k))


def test_a_stash_is_as_large_as_the_bound_asks():
    n, buckets, slots, bits = 200, 256, 4, 20
    there = [at_least(n, buckets, k) - at_least(n, buckets, k + 1) for k in range(20)]
    found = [0.0, *(finds(n, buckets, slots, k) for k in range(1, 20))]
    sizes = []
    for base in (1 + step / 50 for step in range(1, 250)):
        mean = sum(p * (1 + (base**k - 1) * t) for k, (p, t) in enumerate(zip(there, found)))
        sizes.append((buckets * math.log(mean) + bits * math.log(2)) / math.log(base) - 1)
    assert min(sizes) <= _occupancy.stash(n, buckets, slots, bits=bits) <= 1.2 * min(sizes) + 1 < n / 2


def finds(n, buckets, slots, k):
    """The largest probability over all a: of the k - 1 others in the bucket those that were there, and of those that have gone."""
    return max(
        sum(
            math.comb(a, j) * math.comb(n - 1 - a, k - 1 - j) / math.comb(n - 1, k - 1) * at_least(n - 1 - a, buckets, slots - j)
            for j in range(k)
        )
        for a in range(n)
    )


def at_least(n, buckets, least):
    """The probability that so many of n belong to a bucket."""
    return 1 - sum(math.comb(n, k) * (1 / buckets) ** k * (1 - 1 / buckets) ** (n - k) for k in range(min(least, n + 1)))


def filled(chosen, n, buckets, slots):
    """What is beside buckets when n entries came."""
    load = [0] * buckets
    for _ in range(n):
        load[chosen.randrange(buckets)] += 1
    return sum(max(0, here - slots) for here in load)


def churned(chosen, n, buckets, slots):
    """The same where entries that stay came one by one while all other room was in use by entries that went again."""
    bucket = [0] * buckets
    aside = 0
    for staying in range(n):
        short: list[int] = []
        for _ in range(n - staying - 1):
            place = chosen.randrange(buckets)
            if bucket[place] < slots:
                bucket[place] += 1
                short.append(place)
        place = chosen.randrange(buckets)
        if bucket[place] < slots:
            bucket[place] += 1
        else:
            aside += 1
        for place in short:
            bucket[place] -= 1
    return aside


def test_stashes_grow_with_what_is_asked_of_them():
    sizes = [_occupancy.stash(10_000, 8192, 4, bits=bits) for bits in (40, 64, 80)]
    assert sizes == sorted(set(sizes))
    assert _occupancy.stash(10_000, 8192, 4) == sizes[1]
    assert _occupancy.stash(10_000, 8192, 5) < sizes[1] > _occupancy.stash(10_000, 16384, 4)
    # No more than all entries, and one at least.
    assert (_occupancy.stash(6, 2, 1), _occupancy.stash(1, 2, 1)) == (6, 1)


@pytest.mark.parametrize(
    ("seeds", "hashed", "message"),
    [
        (lambda a, b: None, True, "a hashed map without seeds: give two words of 128 random bits, an input of each owner"),
        (lambda a, b: a, None, "two words of 128 random bits, an input of each owner, as in seeds=(a, b)"),
        (lambda a, b: (a, 7), None, "two words of 128 random bits, an input of each owner, as in seeds=(a, b)"),
        (lambda a, b: (a, cn.UInt[64](b)), True, "a seed of a map: UInt[128] meets UInt[64]"),
        (lambda a, b: (a, a), None, "the seeds of a map are an input of each owner, as they came"),
        (lambda a, b: (a, a ^ b), None, "the seeds of a map are an input of each owner, as they came"),
        (lambda a, b: (cn.UInt[128](7), b), None, "the seeds of a map are an input of each owner, as they came"),
    ],
)
def test_misuse_is_refused_with_what_to_write(seeds, hashed, message):
    @cn.program
    def wrong(a: cn.A[cn.UInt[128]], b: cn.B[cn.UInt[128]]):
        return cn.map_of(cn.UInt[8], cn.UInt[8], 4, seeds=seeds(a, b), hashed=hashed).contains(3)

    with pytest.raises(cn.CompileError, match=re.escape(message)):
        wrong.compile()


def test_buckets_too_large_for_a_memory_are_refused_or_scanned():
    @cn.program
    def large(a: cn.A[cn.UInt[128]], b: cn.B[cn.UInt[128]], hashed: object):
        return cn.map_of(cn.UInt[8], cn.UInt[8], 1 << 22, seeds=(a, b), hashed=hashed).contains(3)

    assert large.compile(hashed=None).cost()["ands"] == 0
    with pytest.raises(cn.CompileError, match="a hashed map of 4194304 entries: its buckets have more than the 2\\^26 bits of a memory"):
        large.compile(hashed=True)
