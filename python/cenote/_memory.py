"""Memories that outlive a run, as a program sees them, and in the clear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from . import _bind
from ._clear import numbers
from ._errors import InputError, compile_error
from ._hashed import Hashed
from ._map_memory import BUCKETS, fill, held_type
from ._map_memory import begin as begin_map
from ._map_memory import found as found_map
from ._map_memory import parts as parts_of_map
from ._outputs import Outputs, Slot
from ._packing import pack, unpack
from ._ram import Ram, packed, ram
from ._records import Path, build, dotted, leaves, places
from ._slots import Map
from ._types import ArrayType, Lasting, MapType, RamType, Scalar, Shape, lanes_of
from ._values import Secret
from ._words import W, current

#: The numbers of each leaf of each memory.
Found = dict[str, list[list[int]]]


class Memory:
    """A secret that outlives the run: ``m.value`` is what the last run left there, and what is there at the end goes to the next one."""

    __slots__ = ("_begins", "_empty", "_ended", "_is_new", "_name", "_of", "_scope", "_value")

    def __init__(self, name: str, lasting: Lasting, value: Any) -> None:
        self._name, self._of, self._is_new, self._value, self._ended = name, lasting.type, lasting.is_new, value, False
        # A hash with keys that everybody knows would let an owner choose entries that collide.
        self._begins = lasting.is_new and isinstance(value, Hashed)
        self._scope = current().scope
        #: The buckets of a new map.
        self._empty = value.memory.rows.w.ref if isinstance(value, Hashed) and lasting.is_new else None

    def begin(self, seeds: Any) -> None:
        """Begins a map, with two words of 128 random bits, an input of each owner; one whose slots are all looked at needs none."""
        if not isinstance(self._value, Map) or not self._is_new:
            raise compile_error(f"memory {self._name} is not to be begun with seeds: a map is, of type cn.NewMemory[cn.Map[..]]")
        self._check_whole("begin")
        if self._ended:
            raise compile_error(f"memory {self._name} was ended")
        if isinstance(self._value, Hashed) and not self._begins:
            raise compile_error(f"memory {self._name} was begun already: with other keys entries would not be found any more")
        begin_map(self._value, seeds)
        self._begins = False

    @property
    def value(self) -> Any:
        """What is in it now: an array, a record or a random access memory, whose items may be assigned, a map, or a word."""
        self._check_begun()
        value = self._value
        return value.copy() if isinstance(value, Secret) and not value.shape else value

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(self._of, RamType):
            rows = value if isinstance(value, Ram) else ram(value)
            if (rows.of, len(rows)) != (self._of.item, self._of.rows):
                raise compile_error(f"the value of memory {self._name} is a memory of {self._of.rows} rows: {self._of!r}, not {rows!r}")
            self._value.rows.write(rows.rows.w)
            return
        if isinstance(self._of, MapType):
            self._check_begun()
            if isinstance(self._value, Hashed) and self._value.memory.rows.w.ref != self._empty:
                raise compile_error(
                    f"memory {self._name} is a hashed map that may have entries: give it others by m.value.insert, one by one"
                )
            fill(self._name, self._of, self._value, value)
            return
        for mine, other in zip(self._leaves(), packed(self._of, value, f"the value of memory {self._name}")):
            mine.write(other.w)

    def end(self) -> None:
        """Leaves nothing in it: the memory is no more after this run."""
        self._check_whole("end")
        self._ended = True

    def _check_whole(self, what: str) -> None:
        """A program begins and ends memories whatever its values are."""
        if current().scope is not self._scope:
            raise compile_error(f"{self._name}.{what}() is for the whole program: write it outside of loops, branches and functions")

    def _no_items(self, *_: Any) -> NoReturn:
        raise compile_error(f"memory {self._name} is no array: what is in it is {self._name}.value, as in {self._name}.value[i]")

    __getitem__ = __setitem__ = __iter__ = _no_items

    def _check_begun(self) -> None:
        if self._begins:
            raise compile_error(
                f"memory {self._name} is a hashed map, which begins with {self._name}.begin(seeds=(a, b)): two words of 128 random bits, "
                "an input of each owner"
            )

    def _leaves(self) -> list[Secret]:
        if isinstance(self._value, Map):
            return parts_of_map(self._value)
        if isinstance(self._value, Ram):
            return [self._value.rows]
        return [self._value] if isinstance(self._value, Secret) else list(self._value.leaves())

    def left(self) -> Iterator[tuple[str, Scalar, W]]:
        """The names of its parts, if it goes on, and the words that are left in them."""
        if self._ended:
            return
        self._check_begun()
        for (path, elem, _), leaf in zip(places(as_held(self._of), self._name), self._leaves()):
            if leaf.w.scope.why_not:
                raise compile_error(f"memory {dotted(path)} cannot be left so: {leaf.w.scope.why_not}")
            yield dotted(path), elem, leaf.w

    def __repr__(self) -> str:
        return f"<memory {self._name}>"


def begin(name: str, lasting: Lasting, words: Iterator[W]) -> Memory:
    """A memory with these words, one for each leaf."""
    of, held = lasting.type, as_held(lasting.type)
    secrets = [Secret(elem, shape, w) for (_, elem, shape), w in zip(leaves(held), words)]
    if isinstance(of, RamType):
        return Memory(name, lasting, Ram(of.item, secrets[0]))
    value = build(held, iter(secrets))
    return Memory(name, lasting, found_map(of, value) if isinstance(of, MapType) else value)


def parts(of: Any, name: str) -> Iterator[tuple[Path, Scalar, Shape, int | None]]:
    """Path, type and shape of each part, and the accesses of its life if it is a random access memory."""
    for path, elem, shape in places(as_held(of), name):
        is_ram = isinstance(of, RamType) or (isinstance(of, MapType) and path[1][0] == BUCKETS)
        yield path, elem, shape, of.accesses if is_ram else None


def found(memories: Mapping[str, Lasting], held: Mapping[str, Any] | None) -> Found:
    """What a run in the clear finds: plain values by the names of memories; zeros of all if nothing is said, and of new ones."""
    all_found = {}
    for name, lasting in memories.items():
        if lasting.is_new and held is not None and name in held:
            raise InputError(f"memory {name} is there already: a program that leaves nothing in it ends it")
        if lasting.is_new or held is None:
            all_found[name] = [[0] * lanes_of(shape) for _, _, shape in leaves(as_held(lasting.type))]
        elif name in held and isinstance(lasting.type, RamType):
            table = _bind.encode(held[name], lasting.type.table, f"memory {name}")
            all_found[name] = [_rows_of(table, lasting.type)]
        elif name in held:
            all_found[name] = _bind.encode(held[name], as_held(lasting.type), f"memory {name}")
        else:
            raise InputError(f"there is no memory {name}: run a program that begins it, with the same memories=..")
    return all_found


def packed_parts(memories: Mapping[str, Lasting], values: Found) -> dict[str, bytes]:
    """What a run finds, by the names of parts, as the native module takes it."""
    parts = {}
    for name, lasting in memories.items():
        for (path, elem, _), own in zip(places(as_held(lasting.type), name), values[name]):
            parts[dotted(path)] = pack(own, elem.width)
    return parts


def unpacked_parts(memories: Mapping[str, Lasting], parts: Mapping[str, bytes]) -> Found:
    """The opposite, for the memories that go on."""
    values: Found = {}
    for name, lasting in memories.items():
        for path, elem, _ in places(as_held(lasting.type), name):
            if dotted(path) in parts:
                values.setdefault(name, []).append(unpack(parts[dotted(path)], elem.width, elem.signed))
    return values


def clear_values(held: Mapping[str, Memory]) -> Found:
    """What a clear run leaves."""
    left = {name: [numbers(w, elem.signed) for _, elem, w in memory.left()] for name, memory in held.items()}
    return {name: values for name, values in left.items() if values}


def remember(memories: Mapping[str, Lasting], left: Found, held: MutableMapping[str, Any]) -> None:
    """Puts what a run left where the next one finds it."""
    for name, lasting in memories.items():
        held.pop(name, None)
        if name in left:
            is_ram = isinstance(lasting.type, RamType)
            of, numbers = (lasting.type.table, _table_of(left[name][0], lasting.type)) if is_ram else (as_held(lasting.type), left[name])
            slots = [Slot(dotted(path), "both", elem, shape, None) for path, elem, shape in places(of, name)]
            held[name] = Outputs(build(of, iter(slots)), slots).structured(numbers)


def as_held(of: Any) -> Any:
    """The type of the words that a memory is held as: of rows, one word for each; of a map, a record of its parts."""
    if isinstance(of, MapType):
        return held_type(of)
    if not isinstance(of, RamType):
        return of
    return ArrayType(Scalar("uint", sum(width for width, _ in _fields(of))), (of.rows,))


def _fields(of: RamType) -> list[tuple[int, Scalar]]:
    """The bits that each leaf of a row has in its word, in order."""
    return [(elem.width * lanes_of(shape), elem) for _, elem, shape in leaves(of.item)]


def _rows_of(table: list[list[int]], of: RamType) -> list[int]:
    """The words of rows whose leaves have these numbers."""
    rows, at = [0] * of.rows, 0
    for (width, elem), column in zip(_fields(of), table):
        each = len(column) // of.rows
        for place, number in enumerate(column):
            rows[place // each] |= (number & ((1 << elem.width) - 1)) << at + place % each * elem.width
        at += width
    return rows


def _table_of(rows: list[int], of: RamType) -> list[list[int]]:
    """The opposite."""
    table, at = [], 0
    for width, elem in _fields(of):
        column = [row >> at + k & ((1 << elem.width) - 1) for row in rows for k in range(0, width, elem.width)]
        sign = 1 << elem.width - 1 if elem.signed else 0
        table.append([(number ^ sign) - sign for number in column])
        at += width
    return table
