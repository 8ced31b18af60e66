"""Maps in memories that outlive a run, beside a dictionary: what they give job by job, how they are kept, and what is refused."""

import pathlib
import random
import re
import sys
import warnings

import numpy as np
import pytest
from ways import three_ways

import cenote as cn
from cenote import _hashed, _map_memory
from cenote._types import MapType

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from programs.aes128 import reference as aes
from programs.hot_cards import data, reference, standing

GET, INSERT, DELETE = range(3)
SEEDS = {"ours": 2**127 + 12345, "yours": 2**128 - 99}

#: How a map is kept, whatever would be cheaper: slots, and buckets that are often full with a stash that has room for all.
FORMS = {"slots": None, "hashed": _hashed.Plan(4, 2, 6, 0), "crowded": _hashed.Plan(2, 1, 1, 0)}


def kept_as(monkeypatch, form):
    monkeypatch.setattr("cenote._map_memory.plan_of", lambda of: FORMS[form])


class Entry(cn.Record):
    score: cn.Int[6]
    flags: cn.Array[cn.Bit, 2]


def programs(accesses=1000):
    """Three programs that share a map of words, written anew for each form."""

    @cn.program
    def begin(ours: cn.A[cn.UInt[128]], yours: cn.B[cn.UInt[128]], m: cn.NewMemory[cn.Map[cn.Int[4], Entry, 6, accesses]]):
        m.begin(seeds=(ours, yours))

    @cn.program
    def work(
        what: cn.A[cn.UInt[2]], key: cn.B[cn.Int[4]], score: cn.A[cn.Int[6]], m: cn.Memory[cn.Map[cn.Int[4], Entry, 6, accesses]]
    ) -> tuple[cn.Both[cn.Bit], cn.B[Entry], cn.A[cn.Array[cn.Bit, 3]]]:
        there, entry = m.value.get(key)
        new = Entry(score=score, flags=cn.stack([score > 0, score > 5]))
        put = m.value.insert(key, new, enable=what == INSERT)
        gone = m.value.delete(key, enable=what == DELETE)
        return there, entry, cn.stack([put, gone, m.value.contains(key)])

    @cn.program
    def end(key: cn.B[cn.Int[4]], m: cn.Memory[cn.Map[cn.Int[4], Entry, 6, accesses]]) -> cn.B[cn.Bit]:
        m.end()
        return m.value.contains(key)

    return begin, work, end


@pytest.mark.parametrize("form", ["slots", "hashed"])
def test_a_map_goes_from_job_to_job(form, monkeypatch):
    kept_as(monkeypatch, form)
    begin, work, end = programs()
    held: dict[str, object] = {}
    begin.simulate(**SEEDS, memories=held)
    assert set(held) == {"m"}
    rows: dict[int, int] = {}
    chosen, seen = random.Random(2017), set()
    for _ in range(45):
        what, key, score = chosen.choice((GET, INSERT, INSERT, INSERT, DELETE)), chosen.randrange(-8, 1), chosen.randrange(-32, 32)
        run = work.simulate(what=what, key=key, score=score, memories=held)
        there, entry, done = run.value
        old = rows.get(key, 0)
        assert (there, entry["score"], entry["flags"]) == (key in rows, old, [old > 0, old > 5])
        put, gone = what == INSERT and (key in rows or len(rows) < 6), what == DELETE and key in rows
        seen.add((what, there, put, gone))
        if put:
            rows[key] = score
        if gone:
            del rows[key]
        assert done == [put, gone, key in rows]
        assert run.overflowed is not True
    # All that can happen did.
    assert seen >= {(GET, False, False, False), (GET, True, False, False), (INSERT, False, False, False), (INSERT, False, True, False)}
    assert seen >= {(INSERT, True, True, False), (DELETE, True, False, True), (DELETE, False, False, False)}
    key = next(iter(rows))
    assert end.simulate(key=key, memories=held).value is True
    assert held == {}
    with pytest.raises(cn.InputError, match="there is no memory m"):
        end.simulate(key=key, memories=held)


@pytest.mark.parametrize("form", ["slots", "hashed"])
@pytest.mark.parametrize("time", [cn.UInt[5], cn.Int[5]])
def test_entries_expire_in_later_jobs(form, time, monkeypatch):
    kept_as(monkeypatch, form)

    @cn.program
    def begin(ours: cn.A[cn.UInt[128]], yours: cn.B[cn.UInt[128]], m: cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[6], 6, 99, time]]):
        m.begin((ours, yours))

    @cn.program
    def put(key: cn.A[cn.UInt[8]], until: cn.B[time], m: cn.Memory[cn.Map[cn.UInt[8], cn.UInt[6], 6, 99, time]]):
        return m.value.insert(key, 9, expires=until)

    @cn.program
    def tick(now: cn.A[time], m: cn.Memory[cn.Map[cn.UInt[8], cn.UInt[6], 6, 99, time]]):
        m.value.expire(now)

    @cn.program
    def look(key: cn.A[cn.UInt[8]], m: cn.Memory[cn.Map[cn.UInt[8], cn.UInt[6], 6, 99, time]]):
        return m.value.get(key)

    held: dict[str, object] = {}
    begin.simulate(**SEEDS, memories=held)
    low = time.low
    for key in range(6):
        assert put.simulate(key=key, until=low + 1 + 2 * key, memories=held).value is True
    for now in range(low, low + 12, 3):
        tick.simulate(now=now, memories=held)
        for key in range(6):
            there = low + 1 + 2 * key > now
            assert look.simulate(key=key, memories=held).value == (there, 9 * there)
    # There is room again.
    assert put.simulate(key=77, until=time.high, memories=held).value is True
    assert look.simulate(key=77, memories=held).value == (True, 9)


@pytest.mark.parametrize("form", ["slots", "hashed"])
def test_a_map_begins_with_given_entries(form, monkeypatch):
    kept_as(monkeypatch, form)

    @cn.program
    def bring(
        there: cn.A[cn.Array[cn.Bit, 4]],
        keys: cn.A[cn.Array[cn.UInt[8], 4]],
        values: cn.A[cn.Array[cn.UInt[6], 4]],
        ours: cn.A[cn.UInt[128]],
        yours: cn.B[cn.UInt[128]],
        m: cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[6], 4, 99]],
    ):
        m.begin(seeds=(ours, yours))
        m.value = cn.map_of(keys, values, there=there)

    @cn.program
    def look(key: cn.A[cn.UInt[8]], m: cn.Memory[cn.Map[cn.UInt[8], cn.UInt[6], 4, 99]]):
        return m.value.get(key)

    held: dict[str, object] = {}
    bring.simulate(there=[1, 0, 1, 1], keys=[5, 5, 255, 0], values=[1, 2, 3, 4], **SEEDS, memories=held)
    assert [look.simulate(key=key, memories=held).value for key in (5, 255, 0, 7)] == [(True, 1), (True, 3), (True, 4), (False, 0)]


def test_a_full_stash_is_said_in_the_job_that_meets_it(monkeypatch):
    kept_as(monkeypatch, "crowded")
    begin, work, _ = programs()
    held: dict[str, object] = {}
    begin.simulate(**SEEDS, memories=held)
    lost = []
    for key in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = work.simulate(what=INSERT, key=key, score=key, memories=held)
        put, _, after = run.value[2]
        assert put is after is (not run.overflowed)
        lost.append(run.overflowed)
    # Two buckets of one slot and a stash of one.
    assert 2 <= lost.count(False) <= 3
    for key in range(6):
        assert work.simulate(what=GET, key=key, score=0, memories=held).value[0] is (not lost[key])


def test_a_program_that_was_saved_goes_on_with_the_same_map(tmp_path, monkeypatch):
    kept_as(monkeypatch, "hashed")
    begin, work, _ = programs()
    held: dict[str, object] = {}
    begin.simulate(**SEEDS, memories=held)
    work.simulate(what=INSERT, key=3, score=9, memories=held)
    work.compile().save(tmp_path / "work.cenote")
    read = cn.load(tmp_path / "work.cenote")
    assert read.simulate(what=DELETE, key=3, score=0, memories=held).value[0] is True
    assert work.simulate(what=GET, key=3, score=0, memories=held).value[0] is False


@pytest.mark.parametrize(("form", "n"), [("slots", 5), ("hashed", 6)])
def test_a_deny_list_goes_from_request_to_request(form, n, monkeypatch):
    kept_as(monkeypatch, form)
    # Programs are compiled once for each size.
    brought, back = standing.bring_in.compile(n=n), standing.take_back.compile(n=n)
    asked = standing.pay.compile(n=n, q=2)
    slots, held = reference.filled([(41, 1, 9), (9, 2, 300)], n), {}
    assert brought.simulate(slots=slots, **SEEDS, memories=held).value is True
    for today, payments in ((8, [(41, 0), (7, 3)]), (9, [(41, 0), (7, 0)]), (200, [(7, 0), (9, 1)]), (201, [(9, 0), (2**54 - 1, 4)])):
        request = reference.asked(payments)
        slots, *answers = reference.served(slots, today, request, 90)
        assert list(asked.simulate(today=today, payments=request, memories=held).value) == answers
    left = back.simulate(memories=held).value
    assert sorted(rows(left)) == sorted(rows(slots)) != []
    assert held == {}
    # Out of order.
    assert brought.simulate(slots={**slots, "there": [0, 1] + [0] * (n - 2)}, **SEEDS, memories=held).value is False
    assert rows(back.simulate(memories=held).value) == []


@cn.program
def empty(
    ours: cn.A[cn.UInt[128]],
    yours: cn.B[cn.UInt[128]],
    deny: cn.NewMemory[cn.Map[standing.Card, standing.Reason, 10_000, standing.LIFE, standing.Day]],
):
    deny.begin(seeds=(ours, yours))


def buckets_of(cards, bits):
    """The lowest bits of AES-128 of each card, under the key that the seeds make."""
    sbox, twice = np.array(aes.SBOX), np.array([aes.times(x, 2) for x in range(256)])
    keys = aes.round_keys(list((SEEDS["ours"] ^ SEEDS["yours"]).to_bytes(16, "little")))
    state = np.array([list(card.to_bytes(16, "little")) for card in cards]) ^ keys[0]
    for number, key in enumerate(keys[1:], 1):
        state = sbox[state].reshape(-1, 4, 4)
        state = np.stack([np.roll(state[:, :, row], -row, axis=1) for row in range(4)], axis=2)
        if number < 10:
            a, b, c, d = (np.roll(state, -turn, axis=2) for turn in range(4))
            state = twice[a ^ b] ^ b ^ c ^ d
        state = state.reshape(-1, 16) ^ key
    return (state[:, 0] | state[:, 1] << 8 | state[:, 2] << 16) & ((1 << bits) - 1)


def test_ten_thousand_cards_and_a_stream_of_requests():
    """A list of full size, hashed, beside a dictionary. Its cards stand where the hash says, computed here by other means."""
    n, q, days = 10_000, 12, 90
    plan = _map_memory.plan_of(cn.Map[standing.Card, standing.Reason, n, standing.LIFE, standing.Day])
    held: dict[str, object] = {}
    empty.simulate(**SEEDS, memories=held)
    entries, _ = data.stream(n, 0)
    known = {card: (reason, until) for card, reason, until in entries}
    put_in_buckets(held["deny"], entries, plan)
    asked = standing.pay.compile(n=n, q=q, days=days)
    chosen, seen = random.Random(2017), set()
    fresh = data.cards(random.Random(7), 8)
    for today in (data.TODAY, data.TODAY + 30, data.TODAY + days, data.TODAY + days + 1):
        payments = [(chosen.choice(list(known) if chosen.random() < 0.5 else fresh), chosen.choice((0, 0, 3))) for _ in range(q)]
        payments[0] = min(known, key=lambda card: abs(known[card][1] - today)), 0
        known = {card: entry for card, entry in known.items() if entry[1] > today}
        run = asked.simulate(today=today, payments=reference.asked(payments), memories=held)
        assert not run.overflow
        for (card, report), hot, reason, taken in zip(payments, *run.value):
            assert (hot, reason, taken) == (card in known, known.get(card, (0,))[0], report > 0)
            seen.add((hot, taken, card in fresh))
            if report:
                known[card] = report, today + days
    # Cards of the list: found, expired, put in again. Others: unknown, put in, found since a request before put them in.
    assert seen >= {(True, False, False), (False, False, False), (True, True, False)}
    assert seen >= {(False, False, True), (False, True, True), (True, False, True)}


def test_what_a_list_of_ten_thousand_cards_takes_is_what_its_page_says():
    said = " ".join(standing.__doc__.split())
    millions = {"pay": 0.336, "bring_in": 1720, "take_back": 2410}
    for text in (
        "a payment takes 336,000 ANDs",
        "which takes 1.72 billion",
        "bucket by bucket, in 2.41 billion",
        "16,384 for 10,000 cards",
    ):
        assert text in said
    for name, expected in millions.items():
        ands = getattr(standing, name).compile(n=10_000, **({"q": 1} if name == "pay" else {})).cost()["ands"]
        assert ands / 1e6 == pytest.approx(expected, rel=0.005), name
    plan = _map_memory.plan_of(cn.Map[standing.Card, standing.Reason, 10_000, standing.LIFE, standing.Day])
    assert plan.buckets == 16_384


def put_in_buckets(parts, entries, plan):
    """Puts cards into an empty map as it is held: each in its bucket or, if that is full, in the stash."""
    filled, aside = [[] for _ in range(plan.buckets)], []
    for entry, bucket in zip(entries, buckets_of([card for card, *_ in entries], (plan.buckets - 1).bit_length())):
        (filled[bucket] if len(filled[bucket]) < plan.slots else aside).append(entry)
    widths = (1, *(of.width for of in (standing.Card, standing.Reason, standing.Day)))
    for place, bucket in enumerate(filled):
        at = 0
        for column, width in zip(zip(*((True, *entry) for entry in bucket)), widths):
            for slot, number in enumerate(column):
                parts["buckets"][place] |= number << at + slot * width
            at += width * plan.slots
    for name, column in zip(("there", "keys", "values", "until"), zip(*((True, *entry) for entry in aside))):
        parts["stash"][name][: len(aside)] = column


def rows(slots):
    return [row for there, *row in zip(*(slots[name] for name in ("there", "card", "reason", "until"))) if there]


# ---- how they are kept ----------------------------------------------------------------------------------------------------------------


@cn.program
def ask(key: cn.A[cn.UInt[54]], m: cn.Memory[cn.Map[cn.UInt[54], cn.UInt[8], "n", 5000]], n: int, q: int = 1) -> cn.B[cn.UInt[8]]:
    """Asks some times."""
    seen = cn.UInt[8](0)
    for k in cn.range(q):
        seen = seen ^ m.value.get(key ^ cn.UInt[54](k))[1]
    return seen


@cn.program
def change(
    key: cn.A[cn.UInt[54]], value: cn.B[cn.UInt[8]], m: cn.Memory[cn.Map[cn.UInt[54], cn.UInt[8], "n", 5000]], n: int, q: int = 1
) -> cn.Both[cn.Bit]:
    """Puts some in."""
    done = cn.Bit(0)
    for k in cn.range(q):
        done = done ^ m.value.insert(key ^ cn.UInt[54](k), value)
    return done


def test_small_maps_are_slots_and_large_ones_fit_a_session():
    assert _map_memory.plan_of(cn.Map[cn.UInt[54], cn.UInt[8], 1000, 10**6]) is None
    for n in (2500, 10_000):
        plan = _map_memory.plan_of(cn.Map[cn.UInt[54], cn.UInt[8], n, 10**6])
        assert plan.price < _hashed.slots_price(n, 54, 8, 0)
        assert (plan.buckets * plan.slots + plan.stash) * 63 < 1 << 25
    # An entry is lost in the whole life with 2^-40, however long that is.
    short, long = (_map_memory.plan_of(cn.Map[cn.UInt[54], cn.UInt[8], 10_000, accesses]) for accesses in (1 << 20, 1 << 30))
    assert long.stash > short.stash
    # Maps that no session can hold, and rows that are wider than words, are none.
    assert _hashed.lasting(100_000, 54, 8, 0, 10**6) is None
    assert _hashed.lasting(3000, 54, 4000, 0, 10**6) is None


def test_an_access_to_a_large_map_is_one_of_its_buckets():
    for program, kind, slots in ((ask, "reads", 62), (change, "updates", 117)):
        many, few = (program.compile(n=2500, q=q).cost() for q in (4000, 1000))
        (memory,) = many["memories"]
        assert (memory["rows"], memory["trees"], memory[kind]) == (4096, 2, 4000)
        assert many["ands"] - few["ands"] < 3000 * 2500 * slots


def test_the_parts_of_a_map_are_those_of_one_memory():
    made = ask.compile(n=2500)
    assert repr(made.memories) == "{'m': Memory[Map[UInt[54], UInt[8], 2500, 5000]]}"
    names = re.findall(r"memory (m.*): found (ram 5000)?", made.show())
    stash = _map_memory.plan_of(cn.Map[cn.UInt[54], cn.UInt[8], 2500, 5000]).stash
    assert names[0] == ("m.buckets[4096]", "ram 5000")
    parts = [f"m.stash.{part}[{stash}]" for part in ("there", "keys", "values")]
    assert names[1:] == [(part, "") for part in (*parts, "m.hash_keys[11, 4, 4]", "m.state[1]")]
    assert [name for name, _ in re.findall(r"memory (m.*): found (ram)?", ask.compile(n=100).show())] == [
        "m.there[100]",
        "m.keys[100]",
        "m.values[100]",
    ]


def test_more_accesses_than_those_of_its_life_are_refused():
    for program in (ask, change):
        assert program.compile(n=2500, q=5000)
        with pytest.raises(cn.CompileError, match="has 5000 accesses in its life, this program takes 5001"):
            program.compile(n=2500, q=5001)
    # Slots that are all looked at have no end.
    assert ask.compile(n=100, q=5001)


# ---- misuse ---------------------------------------------------------------------------------------------------------------------------


def test_a_hashed_map_without_keys_of_its_own_is_refused(monkeypatch):
    kept_as(monkeypatch, "hashed")

    @cn.program
    def empty(m: cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]]):
        pass

    @cn.program
    def put(key: cn.A[cn.UInt[8]], m: cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]]):
        m.value.insert(key, 1)

    for program in (empty, put):
        with pytest.raises(cn.CompileError, match=r"m is a hashed map, which begins with m\.begin\(seeds=\(a, b\)\)"):
            program.compile()
    kept_as(monkeypatch, "slots")
    assert put.compile()


@pytest.mark.parametrize(
    ("of", "use", "message"),
    [
        (cn.NewMemory, lambda m, a, b, entries: (m.begin((a, b)), m.begin((b, a))), "memory m was begun already"),
        (cn.NewMemory, lambda m, a, b, entries: (m.begin((a, b)), setattr(m, "value", entries), setattr(m, "value", entries)), "may have"),
        (cn.Memory, lambda m, a, b, entries: setattr(m, "value", entries), "m is a hashed map that may have entries"),
    ],
)
def test_entries_of_a_hashed_map_stay_where_they_are(of, use, message, monkeypatch):
    kept_as(monkeypatch, "hashed")

    @cn.program
    def wrong(
        a: cn.A[cn.UInt[128]], b: cn.B[cn.UInt[128]], keys: cn.A[cn.Array[cn.UInt[8], 4]], m: of[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]]
    ):
        use(m, a, b, cn.map_of(keys, keys))

    with pytest.raises(cn.CompileError, match=message):
        wrong.compile()


@pytest.mark.parametrize(
    ("of", "use", "message"),
    [
        (cn.Memory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]], lambda m, a, b: m.begin((a, b)), "memory m is not to be begun with seeds"),
        (cn.NewMemory[cn.UInt[8]], lambda m, a, b: m.begin((a, b)), "memory m is not to be begun with seeds"),
        (cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]], lambda m, a, b: m.begin((a, 3)), "two words of 128 random bits"),
        (cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]], lambda m, a, b: (m.end(), m.begin((a, b))), "memory m was ended"),
        (
            cn.NewMemory[cn.Map[cn.UInt[8], cn.UInt[8], 4, 9]],
            lambda m, a, b: setattr(m, "value", cn.map_of(cn.UInt[8], cn.UInt[7], 4)),
            "the value of memory m is a map of 4 given entries",
        ),
    ],
)
def test_misuse_is_refused_with_what_to_write(of, use, message):
    @cn.program
    def wrong(a: cn.A[cn.UInt[128]], b: cn.B[cn.UInt[128]], m: of):
        use(m, a, b)

    with pytest.raises(cn.CompileError, match=re.escape(message)):
        wrong.compile()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((cn.UInt[8], cn.UInt[8], 4), "Map[K, V, n, accesses]"),
        ((cn.Array[cn.UInt[8], 2], cn.UInt[8], 4, 9), "a map whose keys are Array[UInt[8], 2]"),
        ((cn.UInt[8], 8, 4, 9), "8 is no type of secrets"),
        ((cn.UInt[8], cn.UInt[8], 4, 9, cn.Bit), "a map whose times are Bit"),
        ((cn.UInt[8], cn.UInt[8], 0, 9), "the number of entries is 0"),
        ((cn.UInt[8], cn.UInt[8], 4, 0), "the number of accesses is 0"),
    ],
)
def test_types_of_maps_are_checked(arguments, message):
    with pytest.raises(cn.CompileError, match=re.escape(message)):
        cn.Map[arguments]


def test_types_of_maps_are_equal_where_all_is():
    one, same = cn.Map[cn.UInt[8], Entry, 4, 9], cn.Map[cn.UInt[8], Entry, 4, 9]
    assert isinstance(one, MapType)
    assert one == same
    assert hash(one) == hash(same)
    assert one != cn.Map[cn.UInt[8], Entry, 4, 9, cn.UInt[8]]
    assert repr(cn.Map[cn.UInt[8], Entry, 4, 9, cn.UInt[8]]) == "Map[UInt[8], Entry, 4, 9, UInt[8]]"


def test_a_run_of_two_parties_begins_a_large_map():
    @cn.program
    def some(
        ours: cn.A[cn.UInt[128]],
        yours: cn.B[cn.UInt[128]],
        keys: cn.A[cn.Array[cn.UInt[54], 3]],
        m: cn.NewMemory[cn.Map[cn.UInt[54], cn.UInt[8], 2500, 100]],
    ):
        m.begin(seeds=(ours, yours))
        for k in cn.range(3):
            m.value.insert(keys[k], cn.UInt[8](k + 1))
        return [m.value.get(keys[k])[1] for k in range(3)]

    assert three_ways(some, backend="yao", **SEEDS, keys=[7, 2**54 - 1, 7])[0] == [3, 2, 3]
