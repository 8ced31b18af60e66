"""Random access memories: rows of one type, read and written at secret places, which runs may keep as an oblivious RAM."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from typing import Any

from . import _control as control
from . import _words as words
from ._arrays import lookup, store, watch_places
from ._convert import as_secret, constant, full
from ._errors import compile_error
from ._places import refuse_mask
from ._records import RecordValue, build, leaves
from ._types import RAM_MAKER, ArrayType, Scalar, Shape, is_type, lanes_of, resolve, type_name
from ._values import Index, Secret, count_type
from ._words import W


def ram(of: Any, n: int | None = None) -> Ram:
    """A memory of ``n`` rows of a type, all zero: ``cn.ram(cn.UInt[32], 1000)``; or of the rows of an array or a table, ``cn.ram(rows)``.

    A type is that of words, arrays or records, or a tuple of such. ``m[i]``, ``m[i] = v`` and ``m.update(i, f)`` take secret places,
    arrays of them, and public ones. Beyond the end reads give zeros and writes change nothing, which is an overflow.
    """
    if n is None:
        return _of_rows(of)
    of = _row_type(of)
    if isinstance(n, (Secret, Index, bool)) or not isinstance(n, int) or n < 1:
        raise compile_error(f"a memory of {n!r} rows: their number is a public whole number, 1 or more")
    width = sum(elem.width * lanes_of(shape) for elem, shape in _leaves(of))
    # A constant of its own: one that two memories begin with would be the table of neither.
    return Ram(of, Secret(Scalar("uint", width), (n,), words.zeros(n, width)))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ram:
    """A memory: see :func:`ram`. It goes through loops, and into functions, as arrays do."""

    def __class_getitem__(cls, arguments: Any) -> Any:
        """``Ram[T, n, accesses]``: the type of one that outlives a run, within ``Memory[..]`` or ``NewMemory[..]``."""
        return RAM_MAKER[arguments]

    #: The type of a row.
    of: Any
    #: One word for each row.
    rows: Secret

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __getitem__(self, place: Any) -> Any:
        """The row at a place; at an array of places, an array of rows."""
        place = self._place(place)
        return self._read(place)

    def __setitem__(self, place: Any, value: Any) -> None:
        """Puts a row there; at an array of places an array of rows, or one row, in the order of the places: later ones win."""
        place = self._place(place)
        if not place.shape:
            self._write(place, self.word_of(value))
            return
        places, rows = _lined(place), _lined(self._words_of(value, place.shape, "a value for these places"))
        control.loop(control.range(place.size), lambda k: self._write(places[k], rows[k]))

    def update(self, place: Any, change: Callable[[Any], Any]) -> Any:
        """Puts what ``change`` makes of the row at a place there; gives the row as it was.

        To change it on a condition, let ``change`` choose: ``m.update(i, lambda old: cn.where(c, old + 1, old))``. At an array of
        places it changes one row after the other, in their order, and gives an array of what each was.
        """
        place = self._place(place)
        if not place.shape:
            return self._change(place, change)[1]
        places, before = _lined(place), Secret(self.rows.elem, (place.size,), words.zeros(place.size, self.rows.elem.width))

        def body(k: Any) -> None:
            before[k] = self._change(places[k], change)[0]

        control.loop(control.range(place.size), body)
        return self.value_of(Secret(before.elem, place.shape, before.w))

    def row(self, place: Any) -> Secret:
        """The word of the row at a place."""
        return lookup(self.rows, self._place(place))

    def word_of(self, value: Any, what: str = "a row of this memory") -> Secret:
        """A value of the type of a row, or what can become one, as a word."""
        return self._words_of(value, (), what)

    def value_of(self, rows: Secret) -> Any:
        """The value that a word is, or the array of those of an array."""
        return _made(self.of, _sliced(rows.w, self.of, rows.shape), rows.shape)

    def _read(self, place: Secret) -> Any:
        return self.value_of(lookup(self.rows, place))

    def _words_of(self, value: Any, shape: Shape, what: str) -> Secret:
        """The same for an array of this shape."""
        count = lanes_of(shape)
        parts = packed(self.of, value, what, shape)
        return Secret(self.rows.elem, shape, words.concat([words.reshape(p.w, count, p.elem.width * (p.size // count)) for p in parts]))

    def _write(self, place: Secret, row: Secret) -> None:
        self.rows.write(store(self.rows, place, row).w)

    def _change(self, place: Secret, change: Callable[[Any], Any]) -> tuple[Secret, Any]:
        """:meth:`update` at one place; gives the word of the row, and the row."""
        row = lookup(self.rows, place)
        old = self.value_of(row)
        self._write(place, self.word_of(change(_copied(old))))
        return row, old

    def _place(self, place: Any) -> Secret:
        """A place as a word; those of public numbers are checked now."""
        size, of = len(self), count_type(len(self) - 1)
        if isinstance(place, Secret):
            if place.elem.kind == "bool" and place.shape:
                refuse_mask(place, "go through the memory with cn.range, and use cn.where")
            watch_places(place, size)
            return place
        if isinstance(place, Index):
            low, high = place.low, place.high
        elif hasattr(place, "__index__") and not isinstance(place, bool):
            low = high = place.__index__()
        else:
            raise compile_error(f"a place of a memory is a UInt[n] or a public number, not {place!r}: go through several with cn.range")
        if low < 0 or high >= size:
            raise compile_error(
                f"the place {f'is {low}' if low == high else f'goes from {low} to {high}'}, but the memory has {size} rows, numbered from 0"
            )
        return constant(place if isinstance(place, Index) else low, of)

    def __iter__(self) -> Iterator[Any]:
        raise compile_error("a memory is not gone through: write a loop, as in `for i in cn.range(len(m)):`, and read m[i]")

    def __repr__(self) -> str:
        return f"<memory of {len(self)} x {shown(self.of)}>"


def _lined(x: Secret) -> Secret:
    """The items of an array in a row."""
    return Secret(x.elem, (x.size,), x.w)


# ---- rows as words ----------------------------------------------------------------------------------------------------------------


def _row_type(of: Any) -> Any:
    parts = typing.get_args(of) if typing.get_origin(of) is tuple else of
    if isinstance(parts, tuple) and parts:
        return tuple(map(_row_type, parts))
    if is_type(resolve(of, {})):
        return of
    if isinstance(of, (Secret, RecordValue)):
        raise compile_error("cn.ram(rows) takes an array of rows and no number; cn.ram(T, n) begins with zeros")
    raise compile_error(f"a memory of {of!r}: rows are cn.Bit, UInt[n], Int[n], Fixed[i, f], Array[..], a Record, or a tuple of these")


def shown(of: Any) -> str:
    return f"({', '.join(map(shown, of))})" if isinstance(of, tuple) else type_name(of)


def _leaves(of: Any) -> list[tuple[Scalar, Shape]]:
    if isinstance(of, tuple):
        return [leaf for part in of for leaf in _leaves(part)]
    return [(elem, shape) for _, elem, shape in leaves(of)]


def _sliced(row: W, of: Any, shape: Shape) -> Iterator[Secret]:
    """The leaves of rows, which stand side by side in words."""
    at = 0
    for elem, own in _leaves(of):
        width = elem.width * lanes_of(own)
        part = words.reshape(words.slice_bits(row, at, width), row.lanes * lanes_of(own), elem.width)
        yield Secret(elem, shape + own, part)
        at += width


def _made(of: Any, fresh: Iterator[Secret], shape: Shape) -> Any:
    """The value of a type from its leaves."""
    return tuple(_made(part, fresh, shape) for part in of) if isinstance(of, tuple) else build(of, fresh, shape)


def _copied(value: Any) -> Any:
    return tuple(map(_copied, value)) if isinstance(value, tuple) else value.copy()


def packed(of: Any, value: Any, what: str, lead: Shape = ()) -> Iterator[Secret]:
    """The leaves of a value of a type, or of an array of such, whose shape leads."""
    if isinstance(of, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(of):
            raise compile_error(f"{what} is a tuple of {len(of)}: {shown(of)}")
        for part, own in zip(of, value):
            yield from packed(part, own, what, lead)
    elif isinstance(of, Scalar):
        yield _fitting(of, lead, value, what)
    elif isinstance(of, ArrayType) and isinstance(of.item, Scalar):
        yield _fitting(of.item, lead + of.shape, value, what)
    else:
        record, shape = (of.item, of.shape) if isinstance(of, ArrayType) else (of, ())
        if not isinstance(value, RecordValue) or value.type is not record:
            raise compile_error(f"{what} is {shown(of)}, such as {record.__name__}(..)")
        for (elem, own), leaf in zip(_leaves(record), value.leaves()):
            yield _fitting(elem, lead + shape + own, leaf, what)


def _fitting(elem: Scalar, shape: Shape, value: Any, what: str) -> Secret:
    secret = as_secret(value, elem, what)
    w = full(secret, shape)
    if w.lanes != lanes_of(shape):
        raise compile_error(f"{what} has the shape {shape}, this value {secret.shape}")
    return Secret(elem, shape, w)


def _of_rows(rows: Any) -> Ram:
    """A memory that begins with the rows of an array, a table, or a tuple of such."""
    parts = list(_rows_of(rows))
    count = parts[0].shape[0]
    if any(part.shape[0] != count for part in parts):
        raise compile_error(f"a memory of arrays of different lengths: {', '.join(str(part.shape[0]) for part in parts)}")
    row = words.concat([words.reshape(part.w, count, part.elem.width * lanes_of(part.shape[1:])) for part in parts])
    return Ram(_type_of(rows), Secret(Scalar("uint", row.width), (count,), row))


def _rows_of(rows: Any) -> Iterator[Secret]:
    if isinstance(rows, tuple) and rows:
        for part in rows:
            yield from _rows_of(part)
    elif isinstance(rows, (Secret, RecordValue)):
        for part in rows.leaves() if isinstance(rows, RecordValue) else [rows]:
            if not part.shape:
                raise compile_error("a memory of one value: cn.ram takes an array of rows, or a type and the number of its rows")
            yield part
    else:
        raise compile_error(
            "cn.ram takes an array or a table of secrets, or a type and the number of rows: make plain numbers words, as in "
            "cn.UInt[n](numbers)"
        )


def _type_of(rows: Any) -> Any:
    if isinstance(rows, tuple):
        return tuple(map(_type_of, rows))
    if isinstance(rows, Secret):
        return ArrayType(rows.elem, rows.shape[1:]) if rows.shape[1:] else rows.elem
    own = len(_leaves(rows.type)[0][1])
    axes = rows.leaves()[0].shape[: rows.leaves()[0].ndim - own]
    if not axes:
        raise compile_error(f"a memory of one {rows.type.__name__}: cn.ram takes a table of them, or the type and the number of its rows")
    return ArrayType(rows.type, axes[1:]) if axes[1:] else rows.type
