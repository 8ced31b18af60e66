"""Places in arrays: reading, writing, changing shape. All of it is wiring, except for secret places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _axes as axes
from . import _words as words
from ._clear import Clear
from ._convert import as_secret, full
from ._errors import compile_error
from ._places import Place, refuse_mask
from ._types import lanes_of
from ._values import Secret, View
from ._words import W


def get_item(x: Secret, key: Any, row: int | None = None) -> Secret:
    """``x[key]``: a view, as NumPy has it; a single word only if it is a field of a ``row``, with so many axes of its table."""
    if not x.shape and row is None:
        raise compile_error(f"{x.elem} is one word: x.bit(i) gives a bit, x.bits() all of them")
    if isinstance(key, Secret):
        _refuse_mask(key, "choose, as in cn.where(mask, array, 0), count with cn.sum(mask), or order with cn.sort")
        shape = key.shape + x.shape[1:]
        if row is None:
            watch_places(key, x.shape[0])
        if key.shape or not (shape or row is not None):
            return lookup(x, key)

        def put(w: W, new: W) -> W:
            return store(_like(x, w), key, Secret(x.elem, shape, new)).w

        return View(x, shape, lambda w: lookup(_like(x, w), key).w, put, key)
    place = Place(x.shape, key, row)
    if place.listed or not (place.shape or row is not None):
        return Secret(x.elem, place.shape, place.read(x.w))
    return View(x, place.shape, place.read, place.written, key)


def _refuse_mask(key: Secret, remedy: str) -> None:
    if key.elem.kind == "bool":
        refuse_mask(key, remedy)


def _like(x: Secret, w: W) -> Secret:
    """An array as ``x``, of other words."""
    return Secret(x.elem, x.shape, w)


def set_item(x: Secret, key: Any, value: Any, row: int | None = None) -> W:
    """The words of ``x`` after ``x[key] = value``."""
    if not x.shape:
        raise compile_error(f"{x.elem} is one word: assign to the variable instead")
    if isinstance(key, Secret):
        _refuse_mask(key, "choose, as in array[:] = cn.where(mask, new, array)")
        if row is None:
            watch_places(key, x.shape[0])
        return store(x, key, value).w
    place = Place(x.shape, key, row)
    new = full(as_secret(value, x.elem, "assignment"), place.shape)
    if new.lanes != lanes_of(place.shape):
        raise compile_error(f"{new.lanes} items for {lanes_of(place.shape)} places of shape {place.shape}")
    return place.written(x.w, new)


# ---- secret places ----------------------------------------------------------------------------------------------------------------


def _rows(x: Secret) -> W:
    """One word for each item along the first axis."""
    return words.reshape(x.w, x.shape[0], x.elem.width * lanes_of(x.shape[1:]))


def watch_places(index: Secret, size: int, enable: Secret | None = None) -> None:
    """Flags secret places beyond the end of an array, of which reads give zeros and writes change nothing."""
    if not isinstance(index, Secret):
        raise compile_error(f"the place {index!r} is public: write array[{index!r}]")
    if index.elem.kind not in ("uint", "bool"):
        raise compile_error(f"a place of type {index.elem}: take UInt[n]; convert a number that is never negative with cn.UInt[n](x)")
    if index.elem.high < size:
        return
    target = words.current()
    if target.checked:
        beyond = words.compare("le", words.constant([size], index.elem.width), index.w)
        words.flag_overflow(beyond if enable is None else words.binary("and", beyond, enable.w))
    if isinstance(target, Clear) and (enable is None or enable.w.ref[0]):
        target.watch_places(index.w.ref, size)


def lookup(table: Secret, index: Secret) -> Secret:
    """The item, or row, at a secret place; zeros beyond the end."""
    rest = table.shape[1:]
    w = words.one("lookup", (), (_rows(table), index.w), index.w.lanes, x_row(table))
    return Secret(table.elem, index.shape + rest, words.reshape(w, index.w.lanes * lanes_of(rest), table.elem.width))


def x_row(table: Secret) -> int:
    """Bits of an item along the first axis."""
    return table.elem.width * lanes_of(table.shape[1:])


def store(table: Secret, index: Secret, value: Any, enable: Secret | None = None) -> Secret:
    """``table`` with the item, or row, at a secret place replaced if ``enable``; unchanged beyond the end."""
    if index.shape:
        raise compile_error("a store at several secret places: write a loop over them with cn.range")
    row = lanes_of(table.shape[1:])
    new = words.reshape(full(as_secret(value, table.elem, "store"), table.shape[1:]), 1, x_row(table))
    on = words.constant([1], 1) if enable is None else enable.w
    w = words.one("store", (), (_rows(table), index.w, new, on), table.shape[0], x_row(table))
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
