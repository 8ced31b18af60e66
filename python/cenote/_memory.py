"""Memories that outlive a run, as a program sees them, and in the clear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from . import _bind
from ._clear import numbers
from ._errors import InputError, compile_error
from ._outputs import Outputs, Slot
from ._packing import pack, unpack
from ._ram import Ram, packed, ram
from ._records import build, dotted, leaves, places
from ._types import ArrayType, Lasting, RamType, Scalar, lanes_of
from ._values import Secret
from ._words import W

#: The numbers of each leaf of each memory.
Found = dict[str, list[list[int]]]


class Memory:
    """A secret that outlives the run: ``m.value`` is what the last run left there, and what is there at the end goes to the next one."""

    __slots__ = ("_ended", "_name", "_of", "_value")

    def __init__(self, name: str, of: Any, value: Any) -> None:
        self._name, self._of, self._value, self._ended = name, of, value, False

    @property
    def value(self) -> Any:
        """What is in it now: an array, a record or a random access memory, whose items may be assigned, or a word."""
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
        for mine, other in zip(self._leaves(), packed(self._of, value, f"the value of memory {self._name}")):
            mine.write(other.w)

    def end(self) -> None:
        """Leaves nothing in it: the memory is no more after this run."""
        self._ended = True

    def _leaves(self) -> list[Secret]:
        if isinstance(self._value, Ram):
            return [self._value.rows]
        return [self._value] if isinstance(self._value, Secret) else list(self._value.leaves())

    def left(self) -> Iterator[tuple[str, Scalar, W]]:
        """The names of its parts, if it goes on, and the words that are left in them."""
        if self._ended:
            return
        for (path, elem, _), leaf in zip(places(as_held(self._of), self._name), self._leaves()):
            if leaf.w.scope.why_not:
                raise compile_error(f"memory {dotted(path)} cannot be left so: {leaf.w.scope.why_not}")
            yield dotted(path), elem, leaf.w

    def __repr__(self) -> str:
        return f"<memory {self._name}>"


def begin(name: str, of: Any, words: Iterator[W]) -> Memory:
    """A memory with these words, one for each leaf."""
    secrets = [Secret(elem, shape, w) for (_, elem, shape), w in zip(leaves(as_held(of)), words)]
    if isinstance(of, RamType):
        return Memory(name, of, Ram(of.item, secrets[0]))
    return Memory(name, of, build(of, iter(secrets)))


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
            all_found[name] = _bind.encode(held[name], lasting.type, f"memory {name}")
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
            of, numbers = (lasting.type.table, _table_of(left[name][0], lasting.type)) if is_ram else (lasting.type, left[name])
            slots = [Slot(dotted(path), "both", elem, shape, None) for path, elem, shape in places(of, name)]
            held[name] = Outputs(build(of, iter(slots)), slots).structured(numbers)


def as_held(of: Any) -> Any:
    """The type of the words that a memory is held as: of rows, one word for each."""
    if not isinstance(of, RamType):
        return of
    return ArrayType(Scalar("uint", sum(width for width, _ in _fields(of))), (of.rows,))


def _fields(of: RamType) -> list[tuple[int, Scalar]]:
    """The bits that each leaf of a row has in its word, in order."""
    return [(elem.width * lanes_of(shape), elem) for _, elem, shape in leaves(of.item)]


def _rows_of(table: list[list[int]], of: RamType) -> list[int]:
    """The words of rows whose leaves have these numbers."""
    rows, at = [0] * of.rows, 0
    for (width, elem), numbers in zip(_fields(of), table):
        each = len(numbers) // of.rows
        for place, number in enumerate(numbers):
            rows[place // each] |= (number & ((1 << elem.width) - 1)) << at + place % each * elem.width
        at += width
    return rows


def _table_of(rows: list[int], of: RamType) -> list[list[int]]:
    """The opposite."""
    table, at = [], 0
    for width, elem in _fields(of):
        numbers = [row >> at + k & ((1 << elem.width) - 1) for row in rows for k in range(0, width, elem.width)]
        sign = 1 << elem.width - 1 if elem.signed else 0
        table.append([(number ^ sign) - sign for number in numbers])
        at += width
    return table
