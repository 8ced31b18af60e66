"""Places in arrays: reading, writing, changing shape. All of it is wiring, except for secret places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _axes as axes
from . import _words as words
from ._arith import public_number
from ._axes import Part
from ._convert import as_secret, full
from ._errors import compile_error
from ._types import Shape, lanes_of
from ._values import Index, Secret, View
from ._words import W

#: Places apart from each other that are written one by one: each changes the array where it is.
_FEW_PUTS = 8


class _Place:
    """What an index stands for: places of each axis, as an array of ``shape``."""

    __slots__ = ("listed", "parts", "shape")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        #: Whether places are listed one by one: such a part is a copy.
        self.listed = False
        self.shape: list[int] = []


def _inside(at: int | Index, size: int, axis: int) -> int | Index:
    low, high = (at.low, at.high) if isinstance(at, Index) else (at, at)
    if not isinstance(at, Index) and -size <= at < 0:
        return at + size
    if low < 0 or high >= size:
        reach = f"goes from {low} to {high}" if isinstance(at, Index) else f"is {at}"
        raise compile_error(f"the index {reach}, but axis {axis} has {size} items, numbered from 0")
    return at


def _bounds(part: slice, size: int, axis: int) -> tuple[int | Index, range]:
    """Where a slice starts, and the places relative to that."""
    if not isinstance(part.start, Index) and not isinstance(part.stop, Index):
        for end in (part.start, part.stop, part.step):
            if isinstance(end, Secret):
                raise compile_error(
                    "a slice with secret ends would show its length: shift or choose instead, as in cn.where(mask, array, 0)"
                )
        return 0, range(*part.indices(size))
    start = 0 if part.start is None else part.start
    gap = (size if part.stop is None else part.stop) - start
    if isinstance(gap, Index):
        raise compile_error(
            "a slice whose length changes with the loop variable: take start and stop a public number apart, as in array[i : i + 4]"
        )
    places = range(0, gap, part.step or 1)
    if len(places) and isinstance(start, Index):
        _inside(start + places[0], size, axis)
        _inside(start + places[-1], size, axis)
    return start, places


def _place(shape: Shape, key: Any) -> _Place:
    keys = list(key) if isinstance(key, tuple) else [key]
    named = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if named > len(shape):
        raise compile_error(f"{named} indices for an array of shape {shape}")
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    spot = [k is Ellipsis for k in keys].index(True)
    keys[spot : spot + 1] = [slice(None)] * (len(shape) - named)
    place = _Place()
    for part in keys:
        if part is None:
            place.shape.append(1)
            continue
        axis = len(place.parts)
        chosen = _part(part, shape[axis], axis)
        place.parts.append(chosen)
        if isinstance(part, slice) or hasattr(part, "__len__"):
            place.shape.append(chosen.number)
            place.listed = place.listed or not isinstance(part, slice)
    return place


def _part(part: Any, size: int, axis: int) -> Part:
    if isinstance(part, slice):
        start, places = _bounds(part, size, axis)
        if not len(places):
            raise compile_error(f"the slice of axis {axis} is empty: arrays have at least one item")
        first = places[0]
        return Part(size, start + first, range(0, places[-1] - first + (1 if places.step > 0 else -1), places.step))
    if isinstance(part, Index):
        return Part(size, _inside(part, size, axis), range(1))
    if isinstance(part, Secret):
        raise compile_error(
            "a secret index picks along the first axis, alone: take the row first, as in array[secret][1], or bring the axis to the "
            "front, as in array.T[secret]"
        )
    if hasattr(part, "__len__"):
        chosen = [_inside(public_number(k, "an index"), size, axis) for k in part]
        listed = [k for k in chosen if isinstance(k, int)]
        if not listed:
            raise compile_error(f"the list of places of axis {axis} is empty: arrays have at least one item")
        steps = words.progression(listed)
        return Part(size, 0, listed) if steps is None else Part(size, steps[0], range(0, len(listed) * steps[1], steps[1]))
    return Part(size, _inside(public_number(part, "an index"), size, axis), range(1))


def get_item(x: Secret, key: Any, row: bool = False) -> Secret:
    """``x[key]``: a view, as NumPy has it; a single word only if it is a field of a ``row``."""
    if not x.shape:
        raise compile_error(f"{x.elem} is one word: x.bit(i) gives a bit, x.bits() all of them")
    if isinstance(key, Secret):
        shape = key.shape + x.shape[1:]
        if key.shape or not (shape or row):
            return lookup(x, key)

        def put(w: W, new: W) -> W:
            return store(_like(x, w), key, Secret(x.elem, shape, new)).w

        return View(x, shape, lambda w: lookup(_like(x, w), key).w, put, key)
    place = _place(x.shape, key)
    shape = tuple(place.shape)
    if place.listed or not (shape or row):
        return Secret(x.elem, shape, _read(x.w, place.parts))
    return View(x, shape, lambda w: _read(w, place.parts), lambda w, new: _written(w, place.parts, new), key)


def _like(x: Secret, w: W) -> Secret:
    """An array as ``x``, of other words."""
    return Secret(x.elem, x.shape, w)


def _read(w: W, parts: list[Part]) -> W:
    flat = axes.flat(parts)
    if flat is not None:
        return words.take(w, *flat)
    few = axes.few(parts)
    if few is not None:
        return words.gather(w, few)
    outer = 1
    for part in parts:
        w = axes.taken(w, outer, part)
        outer *= part.number
    return w


def set_item(x: Secret, key: Any, value: Any) -> W:
    """The words of ``x`` after ``x[key] = value``."""
    if not x.shape:
        raise compile_error(f"{x.elem} is one word: assign to the variable instead")
    if isinstance(key, Secret):
        return store(x, key, value).w
    place = _place(x.shape, key)
    new = full(as_secret(value, x.elem, "assignment"), tuple(place.shape))
    if new.lanes != lanes_of(tuple(place.shape)):
        raise compile_error(f"{new.lanes} items for {lanes_of(tuple(place.shape))} places of shape {tuple(place.shape)}")
    return _written(x.w, place.parts, new)


def _written(w: W, parts: list[Part], new: W) -> W:
    """``w`` with ``new`` in these places."""
    flat = axes.flat(parts)
    if flat is None or (flat[2] != 1 and flat[1] > _FEW_PUTS):
        return axes.written(w, 1, parts, new)
    (start, terms), count, stride = flat
    if stride == 1:
        return words.put(w, (start, terms), new)
    for k in range(count):
        w = words.put(w, (start + k * stride, terms), words.take(new, (k, ()), 1))
    return w


# ---- secret places ----------------------------------------------------------------------------------------------------------------


def _index(index: Secret, what: str) -> Secret:
    if index.elem.kind not in ("uint", "bool"):
        raise compile_error(
            f"{what} at a place of type {index.elem}: take UInt[n]; convert a number that is never negative with cn.UInt[n](x)"
        )
    return index


def _rows(x: Secret) -> W:
    """One word for each item along the first axis."""
    return words.reshape(x.w, x.shape[0], x.elem.width * lanes_of(x.shape[1:]))


def lookup(table: Secret, index: Secret) -> Secret:
    """The item, or row, at a secret place; beyond the end, the last one."""
    _index(index, "a lookup")
    rest = table.shape[1:]
    w = words.one("lookup", (), (_rows(table), index.w), index.w.lanes, x_row(table))
    return Secret(table.elem, index.shape + rest, words.reshape(w, index.w.lanes * lanes_of(rest), table.elem.width))


def x_row(table: Secret) -> int:
    """Bits of an item along the first axis."""
    return table.elem.width * lanes_of(table.shape[1:])


def store(table: Secret, index: Secret, value: Any, enable: Any = True) -> Secret:
    """``table`` with the item, or row, at a secret place replaced if ``enable``; unchanged beyond the end."""
    from ._types import Bit

    _index(index, "a store")
    if index.shape:
        raise compile_error("a store at several secret places: write a loop over them with cn.range")
    row = lanes_of(table.shape[1:])
    new = words.reshape(full(as_secret(value, table.elem, "store"), table.shape[1:]), 1, x_row(table))
    on = as_secret(enable, Bit, "store")
    w = words.one("store", (), (_rows(table), index.w, new, on.w), table.shape[0], x_row(table))
    return Secret(table.elem, table.shape, words.reshape(w, table.shape[0] * row, table.elem.width))


# ---- shapes -----------------------------------------------------------------------------------------------------------------------


def reshape(x: Secret, *shape: Any) -> Secret:
    """The same words in another shape: a view."""
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known and x.size % known == 0:
        sizes[sizes.index(-1)] = x.size // known
    if any(size < 0 for size in sizes) or math.prod(sizes) != x.size:
        raise compile_error(f"{x.size} items of shape {x.shape} do not make shape {tuple(sizes)}")
    return View(x, tuple(sizes), lambda w: w, lambda _, new: new)


def transpose(x: Secret, wanted: Sequence[int] | None = None) -> Secret:
    """The axes in another order, reversed if none is given: a view."""
    order = list(range(x.ndim))[::-1] if wanted is None else [axis % x.ndim for axis in wanted]
    if sorted(order) != list(range(x.ndim)):
        raise compile_error(f"axes {tuple(wanted or ())} are no order of the {x.ndim} axes")
    shape = tuple(x.shape[axis] for axis in order)
    back = [order.index(axis) for axis in range(x.ndim)]
    return View(x, shape, lambda w: axes.transposed(w, x.shape, order), lambda _, new: axes.transposed(new, shape, back))


def _moved(x: Secret, order: Sequence[int]) -> Secret:
    """An array of its own with the axes in another order."""
    return Secret(x.elem, tuple(x.shape[axis] for axis in order), axes.transposed(x.w, x.shape, order))


def axis_number(x: Secret, axis: int) -> int:
    """An axis by its number, negative ones from the end."""
    if not -x.ndim <= axis < x.ndim:
        raise compile_error(f"axis {axis} of an array of shape {x.shape}")
    return axis % x.ndim


def axis_last(x: Secret, axis: int) -> Secret:
    """``x`` with this axis moved to the end."""
    axis = axis_number(x, axis)
    if axis == x.ndim - 1:
        return x
    return _moved(x, [k for k in range(x.ndim) if k != axis] + [axis])


def axis_first(x: Secret, axis: int) -> Secret:
    """``x`` with this axis moved to the front."""
    axis = axis_number(x, axis)
    if axis == 0:
        return x
    return _moved(x, [axis] + [k for k in range(x.ndim) if k != axis])


def axis_back(x: Secret, axis: int) -> Secret:
    """``x`` with its first axis moved to where ``axis`` says."""
    order = list(range(1, x.ndim))
    order.insert(axis, 0)
    return x if axis == 0 else _moved(x, order)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Secret:
    """Arrays one after the other along an axis; plain arrays become constants."""
    secret = next((part for part in parts if isinstance(part, Secret)), None)
    if secret is None:
        raise compile_error("concatenate without a secret array: use Python's + on lists")
    arrays = [as_secret(part, secret.elem, "concatenate") for part in parts]
    axis = axis_number(secret, axis) if secret.ndim else 0
    rest = [a.shape[:axis] + a.shape[axis + 1 :] for a in arrays]
    if any(not a.shape for a in arrays) or any(r != rest[0] for r in rest):
        raise compile_error(f"concatenate of shapes {', '.join(str(a.shape) for a in arrays)}: they may differ along axis {axis} alone")
    moved = [axis_first(a, axis) for a in arrays]
    shape = (sum(a.shape[0] for a in moved), *rest[0])
    return axis_back(Secret(secret.elem, shape, words.join([a.w for a in moved])), axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Secret:
    """Words or arrays of one shape along a new axis."""
    secret = next((part for part in parts if isinstance(part, Secret)), None)
    if secret is None:
        raise compile_error("stack without a secret: write cn.UInt[n]([..]) for a constant array")
    arrays = [as_secret(part, secret.elem, "stack") for part in parts]
    shape = secret.shape
    wide = [full(a, shape) for a in arrays]
    if any(w.lanes != lanes_of(shape) for w in wide):
        raise compile_error(f"stack of shapes {', '.join(str(a.shape) for a in arrays)}: they must be equal")
    joined = Secret(secret.elem, (len(arrays), *shape), words.join(wide))
    return axis_back(joined, axis % (len(shape) + 1))
