"""Maps in memories that outlive a run: which parts of a map stay, and how they are kept."""

from __future__ import annotations

from typing import Any

from ._errors import compile_error
from ._hashed import LEAST, Hashed, Plan, bucket_type, keyed, lasting, slots_price, state_type
from ._map import put_in, seed_of
from ._ram import Ram, ram
from ._records import RecordValue, leaves, record_of
from ._slots import Map, Slots, change
from ._types import Array, Bit, MapType, UInt, lanes_of
from ._values import Secret

#: The name of the part that is kept as a random access memory.
BUCKETS = "buckets"


def plan_of(of: MapType) -> Plan | None:
    """How its buckets are kept, the same in all programs that share it; none if each access looks at all slots."""
    widths = _widths(of)
    scans = slots_price(of.n, *widths)
    plan = lasting(of.n, *widths, of.accesses) if scans > LEAST else None
    return plan if plan is not None and plan.price < scans else None


def _widths(of: MapType) -> tuple[int, int, int]:
    """Bits of a key, a value and a time."""
    value = sum(elem.width * lanes_of(shape) for _, elem, shape in leaves(of.value))
    return of.key.width, value, 0 if of.time is None else of.time.width


def held_type(of: MapType) -> Any:
    """The record of what stays."""
    plan = plan_of(of)
    if plan is None:
        return _slots_type(of, of.n)
    parts = {
        BUCKETS: Array[UInt[plan.slots * (1 + sum(_widths(of)))], plan.buckets],
        "stash": _slots_type(of, plan.stash),
        "hash_keys": Array[UInt[8], 11, 4, 4],
        "state": Array[state_type(of.n, of.time), 1],
    }
    return record_of("map", parts)


def _slots_type(of: MapType, n: int) -> Any:
    parts = {"there": Array[Bit, n], "keys": Array[of.key, n], "values": Array[of.value, n]}
    return record_of("slots", parts if of.time is None else {**parts, "until": Array[of.time, n]})


def found(of: MapType, held: RecordValue) -> Map:
    """The map that has these parts."""
    plan = plan_of(of)
    if plan is None:
        return _slots(held)
    aside = _slots(held.stash)
    return Hashed(of.n, held.hash_keys, Ram(bucket_type(plan, aside), held.buckets), aside, held.state, lasting=True)


def _slots(held: RecordValue) -> Slots:
    return Slots(held.there, held.keys, ram(held.values), held.until if "until" in held.fields() else None)


def parts(m: Map) -> list[Secret]:
    """Its parts, in the order of the record."""
    if isinstance(m, Hashed):
        return [m.memory.rows, *parts(m.stash), m.hash_keys, m.state]
    assert isinstance(m, Slots)
    values = m.values
    rows = values.leaves() if isinstance(values, RecordValue) else [values]
    return [m.there, m.keys, *rows, *([] if m.until is None else [m.until])]


def begin(m: Map, seeds: Any) -> None:
    """Tosses the keys of its hash, if it has one; there is nothing in it."""
    seed = seed_of(seeds)
    if isinstance(m, Hashed):
        change(m.hash_keys, keyed(seed))
        if m.types[2] is not None:
            change(m.state, m.state.elem([m.state.elem.low]))


def fill(name: str, of: MapType, m: Map, value: Any) -> None:
    """Puts the entries of another map in."""
    if not (isinstance(value, Slots) and len(value) == of.n and value.types == (of.key, of.value, of.time)):
        raise compile_error(f"the value of memory {name} is a map of {of.n} given entries for {of!r}, as cn.map_of(keys, values) makes")
    if isinstance(m, Hashed):
        put_in(m, value)
        return
    assert isinstance(m, Slots)
    for mine, other in zip(_arrays(m), _arrays(value)):
        change(mine, other)


def _arrays(m: Slots) -> list[Secret]:
    return [m.there, m.keys, m.memory.rows, *([] if m.until is None else [m.until])]
