"""Maps with secret keys: what they all have, and those of slots that every access looks at, all of them."""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

from . import _words as words
from ._convert import as_secret
from ._errors import compile_error
from ._ops import parity, where
from ._ram import Ram, shown
from ._types import MAP_MAKER, Bit, Scalar
from ._values import Secret
from ._words import W

#: Slots whose marks make one number with its carry, the widest that can be added.
_ADDED = 4095


class Map:
    """A map: see :func:`map_of`. It goes through loops, and into functions, as arrays do.

    ``there``, ``keys``, ``values`` and ``until`` are what it holds, slot by slot: as outputs, they make it again in another run.
    """

    def __class_getitem__(cls, arguments: Any) -> Any:
        """``Map[K, V, n, accesses]``, or ``Map[K, V, n, accesses, T]``: the type of one that outlives a run."""
        return MAP_MAKER[arguments]

    #: Whether each slot is in use.
    there: Any
    #: The key of each slot; what it was in slots that are not in use any more.
    keys: Any
    #: When each slot expires, if slots do.
    until: Any
    #: The types of keys, of values, and of times if entries have them.
    types: tuple[Scalar, Any, Scalar | None]

    @property
    def values(self) -> Any:
        """The value of each slot, as an array of its own."""
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of entries that it has room for."""
        raise NotImplementedError

    def contains(self, key: Any) -> Secret:
        """Whether the key is there."""
        raise NotImplementedError

    def get(self, key: Any) -> tuple[Secret, Any]:
        """Whether the key is there, and its value; zeros if it is not."""
        raise NotImplementedError

    def insert(self, key: Any, value: Any, *, expires: Any = None, enable: Any = True) -> Secret:
        """Puts a value there, in place of the one that the key has, or in the first free slot; if ``enable``.

        Gives whether it did: not if there was no room. ``expires`` is the first time at which the entry is gone, see :meth:`expire`.
        """
        raise NotImplementedError

    def delete(self, key: Any, *, enable: Any = True) -> Secret:
        """Frees the slot of a key, if ``enable``; gives whether it did: not if the key was not there."""
        raise NotImplementedError

    def expire(self, now: Any) -> None:
        """Frees the slots of all entries whose time is ``now`` or before."""
        raise NotImplementedError

    def entries(self) -> Slots:
        """All slots as they are now, as a map of its own: of a hashed one that outlives a run, an access for each bucket."""
        raise NotImplementedError

    def _key(self, key: Any) -> Secret:
        return self._word(key, self.types[0], "a key of this map")

    def _now(self, now: Any) -> Secret:
        if self.types[2] is None:
            raise compile_error("entries of this map do not expire: make it with cn.map_of(K, V, n, expires=T)")
        return self._word(now, self.types[2], "now")

    def _expires(self, expires: Any) -> Secret | None:
        """The time of a new entry, if entries have times."""
        of = self.types[2]
        if (expires is None) != (of is None):
            raise compile_error(
                "entries of this map do not expire: make it with `expires=T` first"
                if of is None
                else f"entries of this map expire: say when, as in m.insert(key, value, expires=t) with t of type {of}"
            )
        return None if of is None else self._word(expires, of, "expires")

    @staticmethod
    def _word(value: Any, of: Scalar, what: str) -> Secret:
        word = as_secret(value, of, what)
        if word.shape:
            raise compile_error(f"{what} is one word, not an array of shape {word.shape}: go through several with cn.range")
        return word

    def __contains__(self, key: Any) -> bool:
        raise compile_error("`in` on a map: write m.contains(key), which is a secret bit")

    def _no_places(self, *_: Any) -> NoReturn:
        raise compile_error(
            "a map has no places: write `there, value = m.get(key)` and m.insert(key, value); m.keys and m.values are arrays"
        )

    __getitem__ = __setitem__ = __iter__ = _no_places

    def __repr__(self) -> str:
        return f"<map of {len(self)} slots, {self.types[0]} to {shown(self.types[1])}>"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Slots(Map):
    """A map whose slots every access looks at."""

    there: Secret
    keys: Secret
    #: The value of each slot, one word each.
    memory: Ram
    until: Secret | None

    @property
    def types(self) -> tuple[Scalar, Any, Scalar | None]:  # type: ignore[override]
        """The types of keys, of values, and of times if entries have them."""
        return self.keys.elem, self.memory.of, None if self.until is None else self.until.elem

    def __len__(self) -> int:
        """The number of slots."""
        return self.there.shape[0]

    @property
    def values(self) -> Any:
        """The value of each slot, as an array of its own."""
        return self.memory.value_of(self.memory.rows)

    def contains(self, key: Any) -> Secret:
        """Whether the key is there."""
        return parity(self.match(self._key(key)))

    def get(self, key: Any) -> tuple[Secret, Any]:
        """Whether the key is there, and its value; zeros if it is not."""
        there, row = self.find(self._key(key))
        return there, self.memory.value_of(row)

    def insert(self, key: Any, value: Any, *, expires: Any = None, enable: Any = True) -> Secret:
        """As :meth:`Map.insert`."""
        until = self._expires(expires)
        key, row = self._key(key), self.memory.word_of(value, "a value of this map")
        match = self.match(key)
        absent = ~parity(match)
        if enable is not True:
            on = self._word(enable, Bit, "enable")
            match, absent = match & on, absent & on
        return self.put(match, absent, key, row, until)

    def delete(self, key: Any, *, enable: Any = True) -> Secret:
        """As :meth:`Map.delete`."""
        match = self.match(self._key(key))
        if enable is not True:
            match = match & self._word(enable, Bit, "enable")
        change(self.there, self.there ^ match)
        return parity(match)

    def expire(self, now: Any) -> None:
        """As :meth:`Map.expire`."""
        now = self._now(now)
        assert self.until is not None
        change(self.there, self.there & (self.until > now))

    def entries(self) -> Slots:
        """As :meth:`Map.entries`."""
        until = None if self.until is None else self.until.copy()
        return Slots(self.there.copy(), self.keys.copy(), Ram(self.memory.of, self.memory.rows.copy()), until)

    # ---- a slot at a time, with words of the right types --------------------------------------------------------------------------

    def match(self, key: Secret) -> Secret:
        """A bit for each slot: whether it has the key."""
        return self.there & (self.keys == key)

    def find(self, key: Secret) -> tuple[Secret, Secret]:
        """Whether the key is there, and its row."""
        match, rows = self.match(key), self.memory.rows
        # One slot at most is left, so that their XOR is it.
        row = words.over("rxor", (1,), where(match, rows, 0).w, 1, rows.elem.width)
        return parity(match), Secret(rows.elem, (), row)

    def put(self, match: Secret, wanted: Secret, key: Secret, row: Secret, until: Secret | None) -> Secret:
        """Puts an entry in the slot that is marked or, if it is wanted, in the first free one; gives whether it did."""
        new = self._first_free(wanted)
        target = match ^ new
        change(self.there, self.there ^ new)
        change(self.keys, where(new, key, self.keys))
        change(self.memory.rows, where(target, row, self.memory.rows))
        if self.until is not None:
            change(self.until, where(target, until, self.until))
        return parity(target)

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


def change(array: Secret, new: Secret) -> None:
    """Puts other words into an array."""
    array.write(new.w)
