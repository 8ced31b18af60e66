"""Maps in buckets of a memory, which a hash of the key that neither owner can compute chooses, and a stash that every access looks at.

An access encrypts the key, takes the bucket out of the memory and looks at it and at the stash. How likely it is that the stash is full
says :mod:`_occupancy`; an entry is lost then, never found wrongly, and that is said.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

from . import _control as control
from . import _native
from . import _words as words
from ._aes import mac, round_keys
from ._calls import call
from ._checked import checked
from ._clear import Clear
from ._occupancy import EPSILON, LIFE, stash
from ._ops import parity, where
from ._ram import Ram, ram
from ._slots import Map, Slots, change
from ._types import MAX_WIDTH, ArrayType, Bit, Scalar, UInt
from ._values import Secret, count_type

#: Slots of a bucket that are tried, and how many times n slots all buckets have.
_SLOTS, _TIMES = (2, 3, 4, 5, 6, 8), (2, 4, 8)
#: Bits that a value of a program has at most, and the accesses of the life of a memory that it is priced for.
_MOST_BITS, _ACCESSES = 1 << 26, 1 << 16
#: The same for a map that outlives a run; half the bits that a session holds with wrk, all memories together (``MAX_RESTING_WIRES`` in
#: crates/engine), and those of the keys of the hash.
_LASTING_SLOTS, _LASTING_TIMES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24), (1, 2, 4, 8)
_MOST_HELD, _KEYS = 1 << 25, 11 * 128
#: ANDs that are worth an opening, and those of a block of the hash: see crates/program/src/tables.rs and ``_aes``.
_OPENING, _BLOCK = 1 << 14, 160 * 36
#: What ``get`` and ``insert`` take at least.
LEAST = 2 * _BLOCK


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a hashed map is kept."""

    #: The number of buckets, a power of two; slots of each; slots of the stash.
    buckets: int
    slots: int
    stash: int
    #: ANDs of ``get`` and ``insert`` together, with what openings are worth.
    price: int


def _cheapest(n: int, key: int, value: int, time: int) -> Plan | None:
    """The plan that takes least for ``n`` entries of so many bits; none if their buckets are too large for one memory."""
    best: Plan | None = None
    for slots, times in itertools.product(_SLOTS, _TIMES):
        buckets = times << (-(-n // slots) - 1).bit_length()
        row = slots * (1 + key + value + time)
        if buckets * row > _MOST_BITS:
            continue
        aside, hashes = stash(n, buckets, slots), 2 * _BLOCK * -(-key // 128)
        price = hashes + slots_price(aside + slots, key, value, time)
        # What an access takes is found out only where it can matter: for large memories that is work.
        if best is None or price < best.price:
            plan = Plan(buckets, slots, aside, price + 2 * _access(buckets, row))
            best = plan if best is None or plan.price < best.price else best
    return best


#: A plan is looked for once.
cheapest = functools.cache(_cheapest)


def _cheapest_lasting(n: int, key: int, value: int, time: int, accesses: int) -> Plan | None:
    """The same for a map that stays in a session, which holds it between jobs, and whose whole life has so many accesses."""
    best: Plan | None = None
    for slots, times in itertools.product(_LASTING_SLOTS, _LASTING_TIMES):
        buckets, entry = times << (-(-n // slots) - 1).bit_length(), 1 + key + value + time
        row = slots * entry
        if buckets < 2 or row > MAX_WIDTH or buckets * row > _MOST_HELD:
            continue
        aside, hashes = stash(n, buckets, slots, EPSILON + max(LIFE, accesses.bit_length())), 2 * _BLOCK * -(-key // 128)
        price = hashes + slots_price(aside + slots, key, value, time)
        if best is None or price < best.price:
            each, bits = _lasting_access(buckets, row, accesses)
            plan = Plan(buckets, slots, aside, price + 2 * each)
            fits = bits + aside * entry + _KEYS + n.bit_length() + time <= _MOST_HELD
            best = plan if fits and (best is None or plan.price < best.price) else best
    return best


lasting = functools.cache(_cheapest_lasting)


def slots_price(n: int, key: int, value: int, time: int) -> int:
    """ANDs of ``get`` and ``insert`` together in ``n`` slots that are looked at."""
    return n * (3 * key + 2 * value + time + 1)


def _access(rows: int, width: int) -> int:
    """What an access to a memory of zeros takes, by the plan that a program would have for it."""
    return _taken(_accessed(rows, width, _ACCESSES, None), _ACCESSES)


def _lasting_access(rows: int, width: int, accesses: int) -> tuple[int, int]:
    """What an access to a memory that outlives a run takes, and the bits that a session holds for it, at most."""
    count, bits = min(accesses, _ACCESSES), (rows - 1).bit_length()
    stats = _accessed(rows, width, count, accesses)
    memory = stats["memories"][0]
    held = rows * width
    if memory["trees"]:
        # Those that a run holds are more than those that rest.
        held = stats["live_bits"]
    elif memory["levels"]:
        # Beside the rows their numbers, and positions in all levels: see ``Plan::resting_wires`` in crates/circuit.
        held += rows * (5 * bits + 1)
    return _taken(stats, count), held


def _taken(stats: dict[str, Any], count: int) -> int:
    taken: int = stats["ands"] + _OPENING * sum(memory["opens"] for memory in stats["memories"])
    return -(-taken // count)


def _accessed(rows: int, width: int, count: int, life: int | None) -> dict[str, Any]:
    """The figures of a program of so many accesses to a memory of zeros, or to one that it finds and that has such a life."""
    builder, bits = _native.Builder("access", ""), (rows - 1).bit_length()
    place = builder.input([("place", [])], "garbler", "uint", 0, bits)
    row = builder.input([("row", [])], "evaluator", "uint", 0, width)
    if life is None:
        table = builder.constant(rows, width, bytes(rows * ((width + 7) // 8)))
    else:
        table = builder.memory([("table", [rows])], False, "uint", 0, width, life)
    on = builder.constant(1, 1, b"\1")
    _, (table, seen) = builder.begin_for(count, [table, row])
    (old,) = builder.word("lookup", [], [table, place])
    (changed,) = builder.word("xor", [], [old, row])
    (table,) = builder.word("store", [], [table, place, changed, on])
    table, seen = builder.end_for([table, old])
    builder.output([("seen", [])], "both", "uint", 0, seen)
    if life is not None:
        builder.leave("table", table)
    stats: dict[str, Any] = builder.finish().stats()
    return stats


def keyed(seed: Secret) -> Secret:
    """The keys of the hash, of all rounds."""
    keys: Secret = call(round_keys, "round_keys", (seed,), {})
    return keys


def bucket_type(plan: Plan, aside: Slots) -> Any:
    """The type of a bucket, whose entries are those of the stash."""
    key, _, time = aside.types
    parts = [Bit, key, aside.memory.rows.elem, *([] if time is None else [time])]
    return tuple(ArrayType(part, (plan.slots,)) for part in parts)


def state_type(n: int, time: Scalar | None) -> Scalar:
    """The type of the number of entries, or of the latest time."""
    return count_type(n) if time is None else time


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Hashed(Map):
    """A map in buckets."""

    #: Room for so many entries.
    n: int
    #: What the hash of keys is computed with.
    hash_keys: Secret
    #: One row for each bucket: what slots have, as arrays.
    memory: Ram
    #: Entries whose bucket was full.
    stash: Slots
    #: How many entries there are, in an array of one word, if they do not expire; else the latest time that was told.
    state: Secret
    #: Whether it outlives the run.
    lasting: bool = False

    @staticmethod
    def empty(hash_keys: Secret, plan: Plan, n: int, aside: Slots) -> Hashed:
        """A map without entries, with this stash."""
        with checked():
            # The program has the output before it goes further.
            pass
        time = aside.types[2]
        of = state_type(n, time)
        memory = ram(bucket_type(plan, aside), plan.buckets)
        return Hashed(n, hash_keys, memory, aside, Secret(of, (1,), words.constant([0 if time is None else of.low], of.width)))

    @property
    def types(self) -> tuple[Scalar, Any, Scalar | None]:  # type: ignore[override]
        """The types of keys, of values, and of times if entries have them."""
        return self.stash.types

    def __len__(self) -> int:
        """The number of entries that it has room for."""
        return self.n

    def contains(self, key: Any) -> Secret:
        """As :meth:`Map.contains`."""
        key = self._key(key)
        # In one place at most.
        return parity(self._bucket(self._rows(self._place(key))).match(key)) ^ parity(self.stash.match(key))

    def get(self, key: Any) -> tuple[Secret, Any]:
        """As :meth:`Map.get`."""
        key = self._key(key)
        (here, row), (aside, other) = self._bucket(self._rows(self._place(key))).find(key), self.stash.find(key)
        return here ^ aside, self.stash.memory.value_of(row ^ other)

    def insert(self, key: Any, value: Any, *, expires: Any = None, enable: Any = True) -> Secret:
        """As :meth:`Map.insert`; nor if its time has come already: then what the key had is gone."""
        until = self._expires(expires)
        key, row = self._key(key), self.stash.memory.word_of(value, "a value of this map")
        on = self._on(enable)
        place = self._place(key)
        bucket = self._bucket(self._rows(place))
        here, aside = bucket.match(key) & on, self.stash.match(key) & on
        if until is not None:
            lasts = until > self.state[0]
            on, late = on & lasts, aside & ~lasts
        new = on & ~(parity(here) ^ parity(aside))
        if until is None:
            new = new & (self.state[0] != self.n)
        done = bucket.put(here, new, key, row, until)
        self._back(place, bucket)
        left = new & ~done
        kept = self.stash.put(aside, left, key, row, until)
        _flag(left & ~kept)
        if until is not None:
            # A bucket loses it when it is looked at next.
            change(self.stash.there, self.stash.there ^ late)
            return (done | kept) & on
        change(self.state, self.state + self.state.elem(new & (done | kept)))
        return done | kept

    def delete(self, key: Any, *, enable: Any = True) -> Secret:
        """As :meth:`Map.delete`."""
        key, on = self._key(key), self._on(enable)
        place = self._place(key)
        bucket = self._bucket(self._rows(place))
        done = bucket.delete(key, enable=on)
        self._back(place, bucket)
        done = done ^ self.stash.delete(key, enable=on)
        if self.types[2] is None:
            change(self.state, self.state - self.state.elem(done))
        return done

    def expire(self, now: Any) -> None:
        """As :meth:`Map.expire`; ``now`` is the latest time that was told if it is before that."""
        now = self._now(now)
        change(self.state, where(self.state < now, now, self.state))
        self.stash.expire(self.state[0])

    def entries(self) -> Slots:
        """As :meth:`Map.entries`."""
        slots = self._slots()
        if slots.until is not None:
            slots.expire(self.state[0])
        return slots

    def _slots(self) -> Slots:
        """All slots, also those whose time has come."""
        rows = self.memory.rows
        if self.lasting:
            # Such a memory is looked up and written alone.
            rows = Secret(rows.elem, rows.shape, words.zeros(len(self.memory), rows.elem.width))

            def body(i: Any) -> None:
                rows[i] = self.memory.row(i)

            control.loop(control.range(len(self.memory)), body)
        there, keys, values, *until = self.memory.value_of(rows)
        aside = self.stash
        return Slots(
            _joined(there, aside.there),
            _joined(keys, aside.keys),
            Ram(aside.memory.of, _joined(values, aside.memory.rows)),
            _joined(until[0], aside.until) if aside.until is not None else None,
        )

    @property
    def values(self) -> Any:
        """The value of each slot, those of buckets and then those of the stash."""
        return self._slots().values

    @property
    def there(self) -> Secret:
        """Whether each slot is in use."""
        return self.entries().there

    @property
    def keys(self) -> Secret:
        """The key of each slot; anything in slots that are not in use."""
        return self._slots().keys

    @property
    def until(self) -> Secret | None:
        """When each slot expires, if slots do."""
        return self._slots().until

    def _on(self, enable: Any) -> Secret:
        return self._word(enable, Bit, "enable")

    def _place(self, key: Secret) -> Secret:
        """The bucket of a key."""
        # As a number, whatever its kind.
        plain = Secret(Scalar("uint", key.elem.width), (), key.w)
        made: Secret = call(mac, "place_of_key", (self.hash_keys, plain), {})
        bits = (len(self.memory) - 1).bit_length()
        return Secret(UInt[bits], (), words.slice_bits(words.reshape(made.w, 1, 128), 0, bits))

    def _rows(self, place: Secret) -> Any:
        return self.memory[place]

    def _bucket(self, parts: Any) -> Slots:
        """A bucket as a map of its own, without what has expired."""
        there, keys, rows, *until = parts
        bucket = Slots(there, keys, Ram(self.stash.memory.of, rows), *(until or [None]))
        if until:
            bucket.expire(self.state[0])
        return bucket

    def _back(self, place: Secret, bucket: Slots) -> None:
        until = [] if bucket.until is None else [bucket.until]
        self.memory[place] = (bucket.there, bucket.keys, bucket.memory.rows, *until)


def _joined(rows: Secret, aside: Secret) -> Secret:
    """The slots of buckets and those of the stash."""
    return Secret(rows.elem, (rows.size + len(aside),), words.join([rows.w, aside.w]))


def _flag(lost: Secret) -> None:
    """Says in the output ``overflow`` that an entry was lost, in each program with such a map."""
    with checked():
        words.flag_overflow(lost.w)
    target = words.current()
    if isinstance(target, Clear) and lost.w.ref[0]:
        target.note_lost()
