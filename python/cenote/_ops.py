"""Functions of secret values beside the operators."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from . import _arith as arith
from . import _arrays as arrays
from . import _clear as clear
from . import _words as words
from ._calls import map
from ._convert import as_secret, broadcast_shapes, full, spread
from ._errors import compile_error
from ._records import RecordValue
from ._types import ArrayType, Bit, Scalar, UInt
from ._values import Index, Secret, count_type
from ._words import W, current


def _first_secret(values: tuple[Any, ...], what: str) -> Secret:
    for value in values:
        if isinstance(value, Secret):
            return value
    raise compile_error(f"{what} without a secret among its arguments: use Python's own")


def where(condition: Any, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, else ``y``; item by item for arrays, field by field for records."""
    if isinstance(condition, bool):
        chosen = x if condition else y
        return chosen.copy() if isinstance(chosen, (Secret, RecordValue)) else chosen
    if not isinstance(condition, Secret) or condition.elem != Bit:
        shown = condition.elem if isinstance(condition, Secret) else repr(condition)
        raise compile_error(f"where on {shown}: the condition is a Bit, such as a comparison")
    if isinstance(x, RecordValue) or isinstance(y, RecordValue):
        return RecordValue.combine(lambda a, b: where(condition, a, b), x, y)
    parts = (*x, *y) if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)) and len(x) == len(y) else ()
    if [part for part in parts if isinstance(part, (Secret, RecordValue))]:
        return type(x)(where(condition, a, b) for a, b in zip(x, y))
    if not isinstance(x, Secret) and not isinstance(y, Secret):
        raise compile_error("where between two plain values has no type: convert one, as in cn.where(c, cn.UInt[8](1), 0)")
    elem = _first_secret((x, y), "where").elem
    a, b = as_secret(x, elem, "where"), as_secret(y, elem, "where")
    shape = broadcast_shapes(condition.shape, a.shape, b.shape)
    return Secret(elem, shape, words.mux(spread(condition, shape), spread(a, shape), spread(b, shape)))


# ---- over an axis -----------------------------------------------------------------------------------------------------------------


def _items(x: Any, name: str) -> Secret:
    """An array, or values of one shape one after the other."""
    if isinstance(x, Secret):
        return x
    if isinstance(x, (str, dict, RecordValue)) or not isinstance(x, Iterable):
        raise compile_error(f"{name} of {type(x).__name__}: it takes a secret array, or a list of secrets")
    return arrays.stack(list(x))


def _grouped(x: Secret, axis: int | None) -> tuple[Secret, int, tuple[int, ...]]:
    """``x`` with each group of lanes together, the number of groups, the shape of the results."""
    if not x.shape:
        raise compile_error(f"{x.elem} is one word: this function goes over the items of an array")
    if axis is None:
        return x, 1, ()
    moved = arrays.axis_last(x, axis)
    shape = moved.shape[:-1]
    groups = 1
    for size in shape:
        groups *= size
    return moved, groups, shape


def sum(x: Any, axis: int | None = None, width: int | None = None) -> Secret:
    """The sum, wrapping in the width of the items as ``+`` does, or in ``width``. Truth values are counted."""
    x = _items(x, "sum")
    grouped, groups, shape = _grouped(x, axis)
    each = grouped.size // groups
    if x.elem.kind == "bool":
        elem = count_type(each) if width is None else UInt[width]
    else:
        elem = x.elem if width is None else Scalar(x.elem.kind, width, x.elem.frac)
    exact = x.elem.width + (each - 1).bit_length()
    over = current().checked and elem.width < exact
    wide = exact if over else elem.width
    w = _summed(Secret(x.elem, (groups, each), grouped.w), wide)
    if over:
        w = arith.narrow(w, 0, elem)
    if current().clear:
        clear.watch("sum", elem, lambda: _sums(grouped, groups))
    return Secret(elem, shape, w)


#: Bits of words that one statement adds up; of more, their parts are added up side by side, so that a program stays quick to count.
_ADDED = 1 << 22
#: How many items such a part has: their sum takes ten bits more.
_PART = 1 << 10


def _summed(rows: Secret, width: int) -> W:
    """The sum of each row, in so many bits."""
    (groups, each), of = rows.shape, rows.elem
    op, kind = ("sums", "int") if of.signed else ("sum", "uint")
    if current().clear or rows.size * (width if of.signed else of.width) <= _ADDED or (groups == 1 and each <= _PART):
        return words.over(op, (width, groups), rows.w, groups, width)
    if groups > 1:
        total = Scalar(kind, width)
        return map(lambda row: Secret(total, (), _summed(Secret(of, (1, each), row.w), width)), rows).w  # type: ignore[no-any-return]
    count = each // _PART
    whole = Secret(of, (count, _PART), words.take(rows.w, (0, ()), count * _PART))
    part = Scalar(kind, width if width < of.width + 10 else of.width + 10)
    parts = map(lambda row: Secret(part, (), words.over(op, (part.width, 1), row.w, 1, part.width)), whole)
    w = _summed(Secret(part, (1, count), parts.w), width)
    if count * _PART == each:
        return w
    rest = words.take(rows.w, (count * _PART, ()), each - count * _PART)
    return words.binary("add", w, words.over(op, (width, 1), rest, 1, width))


def _sums(x: Secret, groups: int) -> list[int]:
    return [builtins.sum(group) for group in clear.groups_of(clear.numbers(x.w, x.elem.signed), groups)]


def _logical(op: str, x: Any, axis: int | None) -> Secret:
    x = _items(x, "any, all or parity")
    if x.elem.kind != "bool":
        raise compile_error(f"any, all and parity on {x.elem}: they take Bit, such as array != 0")
    grouped, groups, shape = _grouped(x, axis)
    return Secret(Bit, shape, words.over(op, (groups,), grouped.w, groups, 1))


def any(x: Any, axis: int | None = None) -> Secret:
    """Whether some bit is set."""
    return _logical("ror", x, axis)


def all(x: Any, axis: int | None = None) -> Secret:
    """Whether every bit is set."""
    return _logical("rand", x, axis)


def parity(x: Any, axis: int | None = None) -> Secret:
    """Whether the number of set bits is odd."""
    return _logical("rxor", x, axis)


def _arg(name: str, x: Secret, axis: int | None) -> tuple[Secret, Secret]:
    arith.refuse_bits(x.elem, name)
    grouped, groups, shape = _grouped(x, axis)
    if groups > 1:
        flat = Secret(x.elem, (groups, grouped.size // groups), grouped.w)
        places, values = map(lambda row: _arg(name, row, None), flat)
        return Secret(places.elem, shape, places.w), Secret(x.elem, shape, values.w)
    index = count_type(grouped.size - 1)
    if grouped.size == 1:
        return zeros(index, shape), Secret(x.elem, shape, grouped.w)
    op = name + "s" if x.elem.signed else name
    place, value = words.emit(op, (), (grouped.w,), ((1, index.width), (1, x.elem.width)))
    return Secret(index, shape, place), Secret(x.elem, shape, value)


def argmin(x: Any, axis: int | None = None) -> Secret:
    """The place of the smallest item, the first of equal ones."""
    return _arg("argmin", _items(x, "argmin"), axis)[0]


def argmax(x: Any, axis: int | None = None) -> Secret:
    """The place of the largest item, the first of equal ones."""
    return _arg("argmax", _items(x, "argmax"), axis)[0]


def _extreme(name: str, values: tuple[Any, ...], axis: int | None) -> Secret:
    if len(values) == 1:
        items = values[0]
        if isinstance(items, Secret):
            return _arg("arg" + name, items, axis)[1]
        values = tuple(items)
    first = _first_secret(values, name)
    arith.refuse_bits(first.elem, name)
    result: Secret | None = None
    for value in values:
        item = as_secret(value, first.elem, name)
        if result is None:
            result = item
            continue
        shape = broadcast_shapes(result.shape, item.shape)
        op = name + "s" if first.elem.signed else name
        result = Secret(first.elem, shape, words.binary(op, spread(result, shape), spread(item, shape)))
    assert result is not None
    return result.copy()


def min(*values: Any, axis: int | None = None) -> Secret:
    """The smallest item of an array, along an axis if one is given; or the smaller of several values, item by item."""
    return _extreme("min", values, axis)


def max(*values: Any, axis: int | None = None) -> Secret:
    """The largest item of an array, along an axis if one is given; or the larger of several values, item by item."""
    return _extreme("max", values, axis)


# ---- sorting ----------------------------------------------------------------------------------------------------------------------


def _packed(keys: Secret, others: tuple[Any, ...]) -> tuple[W, list[tuple[int, Secret]]]:
    """One word for each row: the key at the low end, then what travels along."""
    if keys.ndim != 1:
        raise compile_error(f"sort of shape {keys.shape}: one axis at a time; for the rows of a matrix write cn.map(cn.sort, matrix)")
    parts, at, layout = [keys.w], keys.elem.width, []
    for other in others:
        if not isinstance(other, Secret) or other.shape[:1] != keys.shape:
            raise compile_error("what travels with the keys is a secret array with as many items along its first axis")
        row = arrays.x_row(other)
        parts.append(words.reshape(other.w, keys.shape[0], row))
        layout.append((at, other))
        at += row
    return words.concat(parts), layout


def _unpacked(w: W, keys: Secret, layout: list[tuple[int, Secret]]) -> Any:
    count = w.lanes
    result = [Secret(keys.elem, (count,), words.slice_bits(w, 0, keys.elem.width))]
    for at, other in layout:
        row = words.slice_bits(w, at, arrays.x_row(other))
        lanes = count * (other.size // keys.shape[0])
        result.append(Secret(other.elem, (count, *other.shape[1:]), words.reshape(row, lanes, other.elem.width)))
    return tuple(result) if layout else result[0]


def _sorted(op: str, first: tuple[int, ...], count: int, keys: Any, others: tuple[Any, ...], descending: bool, by: str | None) -> Any:
    if isinstance(keys, RecordValue):
        if by is None or others:
            raise compile_error("sort of records takes the field to sort by, as in cn.sort(rows, by='age'), and nothing else")
        return keys.rearranged(by, lambda key, rest: _sorted(op, first, count, key, rest, descending, None))
    if by is not None:
        raise compile_error(f"sort of words by {by!r}: only records have fields; leave `by` out")
    keys = _items(keys, "sort")
    packed, layout = _packed(keys, others)
    attrs = (*first, 0, keys.elem.width, int(keys.elem.signed), int(descending))
    w = words.one(op, attrs, (packed,), count, packed.width)
    return _unpacked(w, keys, layout)


def sort(keys: Any, *others: Any, descending: bool = False, by: str | None = None) -> Any:
    """The keys in order, and other arrays in the same order; a table of records by one of its fields.

    Rows with equal keys come in no particular order, the same in the clear and in secure runs: make the row number part of
    the key where that matters, as in ``cn.join_words(numbers, keys)``.
    """
    return _sorted("sort", (), len(keys), keys, others, descending, by)


def top(k: int, keys: Any, *others: Any, smallest: bool = False, by: str | None = None) -> Any:
    """The ``k`` rows with the largest keys, or the smallest, in order; as :func:`sort` and cheaper."""
    if not 1 <= k <= len(keys):
        raise compile_error(f"the {k} best of {len(keys)} rows: choose from 1 to {len(keys)}")
    return _sorted("topk", (k,), k, keys, others, not smallest, by)


# ---- words ------------------------------------------------------------------------------------------------------------------------


def popcount(x: Secret) -> Secret:
    """The number of set bits of each word."""
    elem = count_type(x.elem.width)
    w = words.one("popcount", (), (x.w,), x.w.lanes, elem.width)
    return Secret(elem, x.shape, w)


def leading_zeros(x: Secret) -> Secret:
    """The number of zero bits above the highest set one of each word."""
    elem = count_type(x.elem.width)
    return Secret(elem, x.shape, words.one("lzcnt", (), (x.w,), x.w.lanes, elem.width))


def isqrt(x: Secret) -> Secret:
    """The square root, rounded down."""
    if x.elem.kind != "uint":
        raise compile_error(f"isqrt of {x.elem}: it takes UInt[n]")
    return Secret(x.elem, x.shape, words.unary("isqrt", x.w))


def rotl(x: Secret, by: Any) -> Secret:
    """The bits of each word turned to the left, by a public or secret number of places."""
    return arith.rotate(x, by, left=True)


def rotr(x: Secret, by: Any) -> Secret:
    """The bits of each word turned to the right, by a public or secret number of places."""
    return arith.rotate(x, by, left=False)


def from_bits(bits: Secret, of: Scalar | None = None) -> Secret:
    """Words from their bits along the last axis, least significant first."""
    if not isinstance(bits, Secret) or bits.elem != Bit or not bits.shape:
        raise compile_error("from_bits takes an array of Bit")
    elem = UInt[bits.shape[-1]] if of is None else of
    if elem.width != bits.shape[-1]:
        raise compile_error(f"{bits.shape[-1]} bits do not make {elem}")
    return Secret(elem, bits.shape[:-1], words.reshape(bits.w, bits.size // elem.width, elem.width))


def join_words(*parts: Secret) -> Secret:
    """Words side by side in one wider ``UInt``, the first at the least significant end."""
    shape = broadcast_shapes(*(part.shape for part in parts))
    w = words.concat([spread(part, shape) for part in parts])
    return Secret(UInt[w.width], shape, w)


def multiply_full(x: Secret, y: Secret) -> Secret:
    """The whole product, in twice the width."""
    other = as_secret(y, x.elem, "multiply_full")
    if x.elem.kind not in ("uint", "int"):
        raise compile_error(f"multiply_full of {x.elem}: it takes UInt[n] or Int[n]")
    shape = broadcast_shapes(x.shape, other.shape)
    w = words.full_product(spread(x, shape), spread(other, shape), x.elem.signed)
    return Secret(Scalar(x.elem.kind, w.width), shape, w)


def matmul(x: Secret, y: Secret, width: int | None = None) -> Secret:
    """The matrix product, wrapping in the width of the items as ``*`` and ``+`` do, or in ``width``."""
    elem = x.elem if width is None else Scalar(x.elem.kind, width, x.elem.frac)
    return arith.matmul(x, as_secret(y, x.elem, "@"), elem)


# ---- memory, shapes, knowledge ----------------------------------------------------------------------------------------------------


def _table(table: Any) -> Secret:
    if isinstance(table, Secret):
        return table
    raise compile_error("a table of plain values has no width: write cn.UInt[n](table)")


def lookup(table: Any, index: Secret) -> Any:
    """The item, or row, of a table at a secret place; zeros beyond the end, which is an overflow."""
    if isinstance(table, RecordValue):
        arrays.watch_places(index, len(table))
        return table.each(lambda field: arrays.lookup(field, index))
    arrays.watch_places(index, len(_table(table)))
    return arrays.lookup(table, index)


def store(table: Secret, index: Secret, value: Any, enable: Any = True) -> Secret:
    """``table`` with the item, or row, at a secret place replaced if ``enable``; unchanged beyond the end, which is an overflow."""
    on = None if enable is True else as_secret(enable, Bit, "store")
    arrays.watch_places(index, len(_table(table)), on)
    return arrays.store(table, index, value, on)


def concatenate(parts: Any, axis: int = 0) -> Any:
    """Arrays, or tables of one record type, one after the other."""
    parts = list(parts)
    if parts and isinstance(parts[0], RecordValue):
        return RecordValue.combine(lambda *fields: arrays.concatenate(fields, axis), *parts)
    return arrays.concatenate(parts, axis)


def stack(parts: Any, axis: int = 0) -> Any:
    """Values of one shape along a new axis."""
    parts = list(parts)
    if parts and isinstance(parts[0], RecordValue):
        return RecordValue.combine(lambda *fields: arrays.stack(fields, axis), *parts)
    return arrays.stack(parts, axis)


def transpose(x: Secret, axes: Any = None) -> Secret:
    """The axes in another order, reversed if none is given: a view."""
    return arrays.transpose(x, axes)


def reshape(x: Secret, *shape: Any) -> Secret:
    """The same words in another shape, as a view; one size may be -1."""
    return arrays.reshape(x, *shape)


def broadcast_to(x: Secret, shape: Any) -> Secret:
    """An array repeated to a shape, by NumPy's rule."""
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if broadcast_shapes(x.shape, wanted) != wanted:
        raise compile_error(f"shape {x.shape} does not repeat to {wanted}")
    return Secret(x.elem, wanted, full(x, wanted))


def zeros(of: Any, shape: Any = ()) -> Any:
    """Public zeros of a type; the start of arrays that a loop fills."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(of, ArrayType):
        of, shape = of.item, shape + of.shape
    if isinstance(of, Scalar):
        size = 1
        for part in shape:
            size *= part
        return Secret(of, shape, words.constant([0] * size, of.width))
    return RecordValue.build(of, lambda field: zeros(field, shape))


def reveal(x: Any) -> Any:
    """Makes a value known to both parties, at this point of the program; both owners see it in the program's text.

    A revealed bit may steer ``if``.
    """
    if isinstance(x, RecordValue):
        return x.each(reveal)
    if isinstance(x, (Index, int, float)) or not isinstance(x, Secret):
        raise compile_error(f"reveal of {type(x).__name__}, which is public already")
    return Secret(x.elem, x.shape, words.reveal(x.w))
