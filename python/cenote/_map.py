"""Makes maps with secret keys, and chooses how they are kept."""

from __future__ import annotations

from typing import Any

from . import _control as control
from . import _words as words
from ._convert import as_secret, constant
from ._errors import compile_error
from ._hashed import LEAST, Hashed, cheapest, keyed, slots_price
from ._ram import ram
from ._slots import Map, Slots
from ._types import Bit, Scalar, UInt
from ._values import Index, Secret


def map_of(
    keys: Any,
    values: Any,
    n: int | None = None,
    *,
    there: Any = None,
    expires: Any = None,
    seeds: Any = None,
    hashed: bool | None = None,
) -> Map:
    """A map of ``n`` empty slots: ``cn.map_of(cn.UInt[54], cn.UInt[8], 256)``; or of the entries of arrays, ``cn.map_of(keys, values)``.

    Keys are words, values what rows of :func:`ram` are. ``expires`` is the type of the times of entries, ``cn.UInt[32]`` say, or an
    array of them; without it entries stay. ``there`` are bits that say which slots of arrays are in use, all without it. Keys of
    slots in use must differ: check those that an owner brings in, for one that comes twice is not found.

    Every access compares the key with that of each slot, so that none shows which. With keys of k bits, values of v and times of e,
    ``contains`` and ``delete`` take n k ANDs, ``get`` n (k + v), ``insert`` n (2 k + v + e + 1), ``expire`` n (e + 1); ``enable``
    one more for each slot, and ``insert`` one for itself.

    ``seeds`` are two words of 128 random bits, an input of each owner. With them a large map is kept in buckets of a memory, by a
    hash of the key that neither owner can compute, where that is cheaper; ``hashed`` says whether. Such a map loses an entry with a
    probability of 2^-40 at most, which ``insert`` and the output ``overflow`` say. Its time is a clock: ``now`` does not go back, and
    an entry whose time it has reached is not put in, and what its key had is gone. With times it takes ``n`` entries, and may take more.
    """
    if (seeds is None) and hashed:
        raise compile_error("a hashed map without seeds: give two words of 128 random bits, an input of each owner, as in seeds=(a, b)")
    if n is None:
        entries = _of_entries(keys, values, there, expires)
        return _hashed_entries(entries, seeds) if hashed else entries
    if not isinstance(keys, Scalar):
        raise compile_error(f"a map whose keys are {keys!r}: they are cn.Bit, UInt[n], Int[n] or Fixed[i, f]")
    _check_times(expires)
    if there is not None:
        raise compile_error(
            "cn.map_of(K, V, n) begins without entries: `there` goes with arrays, as in cn.map_of(keys, values, there=bits)"
        )
    if isinstance(n, (Secret, Index, bool)) or not isinstance(n, int) or n < 1:
        raise compile_error(f"a map of {n!r} slots: their number is a public whole number, 1 or more")
    if seeds is None or hashed is False:
        return _empty(keys, values, n, expires)
    seed, widths = seed_of(seeds), (keys.width, ram(values, 1).rows.elem.width, 0 if expires is None else expires.width)
    scans = slots_price(n, *widths)
    plan = cheapest(n, *widths) if hashed or scans > LEAST else None
    if hashed and plan is None:
        raise compile_error(f"a hashed map of {n} entries: its buckets have more than the 2^26 bits of a memory")
    if plan is None or (hashed is None and scans <= plan.price):
        return _empty(keys, values, n, expires)
    return Hashed.empty(keyed(seed), plan, n, _empty(keys, values, plan.stash, expires))


def _empty(keys: Scalar, values: Any, n: int, expires: Scalar | None) -> Slots:
    until = None if expires is None else _zeros(expires, n)
    return Slots(_zeros(Bit, n), _zeros(keys, n), ram(values, n), until)


def _zeros(of: Scalar, n: int) -> Secret:
    return Secret(of, (n,), words.zeros(n, of.width))


def seed_of(seeds: Any) -> Secret:
    """128 bits that neither owner knows, whatever one of them brings."""
    if not isinstance(seeds, (tuple, list)) or len(seeds) != 2 or not all(isinstance(seed, Secret) for seed in seeds):
        raise compile_error(f"seeds={seeds!r}: two words of 128 random bits, an input of each owner, as in seeds=(a, b)")
    one, other = (Map._word(seed, UInt[128], "a seed of a map") for seed in seeds)
    whose = [words.current().owners.get(id(seed.w), (None, None))[1] for seed in (one, other)]
    if None in whose or whose[0] == whose[1]:
        raise compile_error(
            "the seeds of a map are an input of each owner, as they came, given to no function before: who knows both, or chooses one by "
            "the other, chooses the hash"
        )
    return one ^ other


def _check_times(of: Any) -> None:
    if of is not None and (not isinstance(of, Scalar) or of == Bit):
        raise compile_error(f"a map whose times are {of!r}: they are UInt[n], Int[n] or Fixed[i, f]")


def _of_entries(keys: Any, values: Any, there: Any, expires: Any) -> Slots:
    if not isinstance(keys, Secret):
        raise compile_error("cn.map_of takes the types of keys and values and the number of slots, or arrays of secrets and no number")
    memory = ram(values)
    used = constant([True] * len(memory), Bit) if there is None else there
    for name, part in (("keys", keys), ("there", used), ("expires", expires)):
        if part is not None and not (isinstance(part, Secret) and part.shape == (len(memory),)):
            given = f"an array of shape {part.shape}" if isinstance(part, Secret) else repr(part)
            raise compile_error(f"a map of {len(memory)} values: {name} is an array with one word for each, not {given}")
    _check_times(None if expires is None else expires.elem)
    return Slots(as_secret(used, Bit, "there").copy(), keys.copy(), memory, None if expires is None else expires.copy())


def _hashed_entries(entries: Slots, seeds: Any) -> Map:
    """A hashed map of given entries, which are put in one after the other."""
    of, kind, times = entries.types
    made = map_of(of, kind, len(entries), expires=times, seeds=seeds, hashed=True)
    put_in(made, entries)
    return made


def put_in(made: Map, entries: Slots) -> None:
    """Puts entries into a map, one after the other."""
    rows = entries.memory.value_of(entries.memory.rows)

    def body(i: Any) -> None:
        until = None if entries.until is None else entries.until[i]
        made.insert(entries.keys[i], _item(rows, i), expires=until, enable=entries.there[i])

    control.loop(control.range(len(entries)), body)


def _item(rows: Any, i: Any) -> Any:
    return tuple(_item(part, i) for part in rows) if isinstance(rows, tuple) else rows[i]
