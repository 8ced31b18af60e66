"""Maps with secret keys: slots that every access looks at, all of them."""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

from . import _words as words
from ._convert import as_secret, constant
from ._errors import compile_error
from ._ops import parity, where
from ._ram import Ram, ram, shown
from ._types import Bit, Scalar
from ._values import Index, Secret
from ._words import W

#: Slots whose marks make one number with its carry, the widest that can be added.
_ADDED = 4095


def map_of(keys: Any, values: Any, n: int | None = None, *, there: Any = None, expires: Any = None) -> Map:
    """A map of ``n`` empty slots: ``cn.map_of(cn.UInt[54], cn.UInt[8], 256)``; or of the entries of arrays, ``cn.map_of(keys, values)``.

    Keys are words, values what rows of :func:`ram` are. ``expires`` is the type of the times of entries, ``cn.UInt[32]`` say, or an
    array of them; without it entries stay. ``there`` are bits that say which slots of arrays are in use, all without it. Keys of
    slots in use must differ: check those that an owner brings in, for one that comes twice is not found.

    Every access compares the key with that of each slot, so that none shows which. With keys of k bits, values of v and times of e,
    ``contains`` and ``delete`` take n k ANDs, ``get`` n (k + v), ``insert`` n (2 k + v + e + 1), ``expire`` n (e + 1); ``enable``
    one more for each slot, and ``insert`` one for itself.
    """
    if n is None:
        return _of_entries(keys, values, there, expires)
    if not isinstance(keys, Scalar):
        raise compile_error(f"a map whose keys are {keys!r}: they are cn.Bit, UInt[n], Int[n] or Fixed[i, f]")
    _check_times(expires)
    if there is not None:
        raise compile_error(
            "cn.map_of(K, V, n) begins without entries: `there` goes with arrays, as in cn.map_of(keys, values, there=bits)"
        )
    if isinstance(n, (Secret, Index, bool)) or not isinstance(n, int) or n < 1:
        raise compile_error(f"a map of {n!r} slots: their number is a public whole number, 1 or more")
    until = None if expires is None else _zeros(expires, n)
    return Map(_zeros(Bit, n), _zeros(keys, n), ram(values, n), until)


def _zeros(of: Scalar, n: int) -> Secret:
    return Secret(of, (n,), words.zeros(n, of.width))


def _check_times(of: Any) -> None:
    if of is not None and (not isinstance(of, Scalar) or of == Bit):
        raise compile_error(f"a map whose times are {of!r}: they are UInt[n], Int[n] or Fixed[i, f]")


def _of_entries(keys: Any, values: Any, there: Any, expires: Any) -> Map:
    if not isinstance(keys, Secret):
        raise compile_error("cn.map_of takes the types of keys and values and the number of slots, or arrays of secrets and no number")
    memory = ram(values)
    used = constant([True] * len(memory), Bit) if there is None else there
    for name, part in (("keys", keys), ("there", used), ("expires", expires)):
        if part is not None and not (isinstance(part, Secret) and part.shape == (len(memory),)):
            given = f"an array of shape {part.shape}" if isinstance(part, Secret) else repr(part)
            raise compile_error(f"a map of {len(memory)} values: {name} is an array with one word for each, not {given}")
    _check_times(None if expires is None else expires.elem)
    return Map(as_secret(used, Bit, "there").copy(), keys.copy(), memory, None if expires is None else expires.copy())


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Map:
    """A map: see :func:`map_of`. It goes through loops, and into functions, as arrays do.

    ``there``, ``keys``, ``values`` and ``until`` are what it holds, slot by slot: as outputs, they make it again in another run.
    """

    #: Whether each slot is in use.
    there: Secret
    #: The key of each slot; what it was in slots that are not in use any more.
    keys: Secret
    #: The value of each slot, one word each.
    memory: Ram
    #: When each slot expires, if slots do.
    until: Secret | None

    def __len__(self) -> int:
        """The number of slots."""
        return self.there.shape[0]

    @property
    def values(self) -> Any:
        """The value of each slot, as an array of its own."""
        return self.memory.value_of(self.memory.rows)

    def contains(self, key: Any) -> Secret:
        """Whether the key is there."""
        return parity(self._match(key))

    def get(self, key: Any) -> tuple[Secret, Any]:
        """Whether the key is there, and its value; zeros if it is not."""
        match, rows = self._match(key), self.memory.rows
        # One slot at most is left, so that their XOR is it.
        row = words.over("rxor", (1,), where(match, rows, 0).w, 1, rows.elem.width)
        return parity(match), self.memory.value_of(Secret(rows.elem, (), row))

    def insert(self, key: Any, value: Any, *, expires: Any = None, enable: Any = True) -> Secret:
        """Puts a value there, in place of the one that the key has, or in the first free slot; if ``enable``.

        Gives whether it did: not if there was no room. ``expires`` is the first time at which the entry is gone, see :meth:`expire`.
        """
        if (expires is None) != (self.until is None):
            raise compile_error(
                "entries of this map do not expire: make it with `expires=T` first"
                if self.until is None
                else f"entries of this map expire: say when, as in m.insert(key, value, expires=t) with t of type {self.until.elem}"
            )
        key, row = self._key(key), self.memory.word_of(value, "a value of this map")
        match = self._match(key)
        absent = ~parity(match)
        if enable is not True:
            on = self._word(enable, Bit, "enable")
            match, absent = match & on, absent & on
        new = self._first_free(absent)
        target = match ^ new
        _change(self.there, self.there ^ new)
        _change(self.keys, where(new, key, self.keys))
        _change(self.memory.rows, where(target, row, self.memory.rows))
        if self.until is not None:
            _change(self.until, where(target, self._word(expires, self.until.elem, "expires"), self.until))
        return parity(target)

    def delete(self, key: Any, *, enable: Any = True) -> Secret:
        """Frees the slot of a key, if ``enable``; gives whether it did: not if the key was not there."""
        match = self._match(key)
        if enable is not True:
            match = match & self._word(enable, Bit, "enable")
        _change(self.there, self.there ^ match)
        return parity(match)

    def expire(self, now: Any) -> None:
        """Frees the slots of all entries whose time is ``now`` or before."""
        if self.until is None:
            raise compile_error("entries of this map do not expire: make it with cn.map_of(K, V, n, expires=T)")
        _change(self.there, self.there & (self.until > self._word(now, self.until.elem, "now")))

    def _match(self, key: Any) -> Secret:
        """A bit for each slot: whether it has the key."""
        return self.there & (self.keys == self._key(key))

    def _key(self, key: Any) -> Secret:
        return self._word(key, self.keys.elem, "a key of this map")

    @staticmethod
    def _word(value: Any, of: Scalar, what: str) -> Secret:
        word = as_secret(value, of, what)
        if word.shape:
            raise compile_error(f"{what} is one word, not an array of shape {word.shape}: go through several with cn.range")
        return word

    def _first_free(self, wanted: Secret) -> Secret:
        """A bit for each slot: whether it is the first that is free, if one is wanted.

        Where that is added to the marks of the slots, as to a number, the carry runs through those in use and stops in the first free
        one.
        """
        found: list[W] = []
        carry = wanted.w
        for at in range(0, len(self), _ADDED):
            count = min(_ADDED, len(self) - at)
            used = words.reshape(words.take(self.there.w, (at, ()), count), 1, count)
            used = words.extend(used, count + 1, False)
            total = words.binary("add", used, words.extend(carry, count + 1, False))
            carries = words.binary("xor", total, used)
            stops = words.binary("xor", words.slice_bits(carries, 0, count), words.slice_bits(carries, 1, count))
            found.append(words.reshape(stops, count, 1))
            carry = words.slice_bits(carries, count, 1)
        return Secret(Bit, self.there.shape, words.join(found))

    def __contains__(self, key: Any) -> bool:
        raise compile_error("`in` on a map: write m.contains(key), which is a secret bit")

    def _no_places(self, *_: Any) -> NoReturn:
        raise compile_error(
            "a map has no places: write `there, value = m.get(key)` and m.insert(key, value); m.keys and m.values are arrays"
        )

    __getitem__ = __setitem__ = __iter__ = _no_places

    def __repr__(self) -> str:
        return f"<map of {len(self)} slots, {self.keys.elem} to {shown(self.memory.of)}>"


def _change(array: Secret, new: Secret) -> None:
    array.write(new.w)
