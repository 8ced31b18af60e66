"""What ``array[key]`` stands for, by NumPy's rules: places of the axes, and the shape of what is there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from . import _axes as axes
from . import _words as words
from ._axes import Part
from ._convert import broadcast_shapes
from ._errors import compile_error
from ._plain import is_sequence, is_truth, public_number, shape_of
from ._types import Shape, lanes_of
from ._values import Index, Secret
from ._words import W

#: Places apart from each other that are written one by one: each changes the array where it is.
_FEW_PUTS = 8


class _List(NamedTuple):
    """Places of one axis, listed one by one, as an array of a shape."""

    shape: Shape
    numbers: list[int]


class _Mask(NamedTuple):
    """One truth value for each item along some axes."""

    shape: Shape
    bits: list[bool]


#: What one axis is told: a place, a slice or a list; ``None`` stands for a new axis, ``...`` for nothing.
_Key = Any


class Place:
    """Places of an array: whole axes and ranges, single places, and lists that go through several axes together."""

    __slots__ = ("_front", "_order", "_parts", "_sizes", "listed", "shape")

    def __init__(self, sizes: Shape, key: Any, number: int | None = None) -> None:
        """``key`` for an array of these ``sizes``, or for the first ``number`` axes of it."""
        self._sizes = sizes
        keys = _keys(sizes, len(sizes) if number is None else number, key)
        told = [key for key in keys if _is_told(key)]
        lists = {axis: key for axis, key in enumerate(told) if isinstance(key, _List)}
        #: Whether places are listed one by one: such a part is a copy.
        self.listed = bool(lists)
        together = broadcast_shapes(*(key.shape for key in lists.values())) if lists else ()
        parts = [_part(key, size, axis) for axis, (key, size) in enumerate(zip(told, sizes))]
        first = min(lists, default=0)
        #: The order of the axes in which those with lists stand together, where that is another one.
        self._order: list[int] | None = None
        if len(lists) > 1:
            order = [*range(first), *lists, *(axis for axis in range(first, len(sizes)) if axis not in lists)]
            self._order = None if order == sorted(order) else order
            rest = [parts[axis] for axis in order[first + len(lists) :]]
            parts = [*parts[:first], _listed(math.prod(sizes[axis] for axis in lists), _joint(lists, sizes, together)), *rest]
        self._parts = parts
        #: What comes before the lists in the parts and behind them in the result: how many places of each.
        self._front = (1, 1)
        #: Sizes of what is there.
        self.shape = self._shaped(keys, parts, first, together)

    def _shaped(self, keys: Sequence[_Key], parts: Sequence[Part], first: int, together: Shape) -> Shape:
        axes = itertools.accumulate(map(_is_told, keys), initial=0)
        sizes = [_size(key, self._sizes, axis) for key, axis in zip(keys, axes)]
        # Beside a list, a single place is one as well. They are together unless something, even an empty `...`, is between them.
        spots = [k for k, size in enumerate(sizes) if size == 0]
        if not self.listed or spots[-1] - spots[0] == len(spots) - 1:
            before = sizes[: spots[0]] if self.listed else []
            return (*filter(None, before), *together, *filter(None, sizes[len(before) :]))
        self._front = (math.prod(part.number for part in parts[:first]), lanes_of(together))
        return (*together, *filter(None, sizes))

    def read(self, w: W) -> W:
        """The words in these places."""
        return axes.swap(_read(self._sorted(w), self._parts), *self._front)

    def written(self, w: W, new: W) -> W:
        """``w`` with ``new`` in these places."""
        made = _written(self._sorted(w), self._parts, axes.swap(new, *self._front[::-1]))
        if self._order is None:
            return made
        sizes = tuple(self._sizes[axis] for axis in self._order)
        return axes.transposed(made, sizes, [self._order.index(axis) for axis in range(len(sizes))])

    def _sorted(self, w: W) -> W:
        return w if self._order is None else axes.transposed(w, self._sizes, self._order)


def _is_told(key: _Key) -> bool:
    return key is not None and key is not Ellipsis


def _size(key: _Key, sizes: Shape, axis: int) -> int | None:
    """How many items of an axis a key keeps; 0 if the axis goes, and nothing where there is none."""
    if not _is_told(key):
        return 1 if key is None else None
    return len(_bounds(key, sizes[axis], axis)[1]) if isinstance(key, slice) else 0


def _joint(lists: dict[int, _List], sizes: Shape, shape: Shape) -> list[int]:
    """The places of axes with lists, as those of one axis that goes through all of them."""
    places = [0] * lanes_of(shape)
    for axis, key in lists.items():
        places = [place * sizes[axis] + more for place, more in zip(places, _repeated(key, shape))]
    return places


def _repeated(key: _List, shape: Shape) -> list[int]:
    """The numbers of a list repeated to a shape."""
    sizes = (1,) * (len(shape) - len(key.shape)) + key.shape
    strides = [0 if size == 1 else lanes_of(sizes[axis + 1 :]) for axis, size in enumerate(sizes)]
    spots = itertools.product(*map(range, shape))
    return [key.numbers[sum(place * stride for place, stride in zip(spot, strides))] for spot in spots]


# ---- keys -------------------------------------------------------------------------------------------------------------------------


def _keys(sizes: Shape, number: int, key: Any) -> list[_Key]:
    """What each axis is told."""
    parts = [_plain(part) for part in (key if isinstance(key, tuple) else (key,))]
    named = sum(len(part.shape) if isinstance(part, _Mask) else part is not None and part is not Ellipsis for part in parts)
    if named > number:
        raise compile_error(f"{named} indices for an array of shape {sizes[:number]}")
    ellipses = sum(part is Ellipsis for part in parts)
    if ellipses > 1:
        raise compile_error("`...` stands for all axes that are not told, and so once")
    parts += [Ellipsis] * (not ellipses)
    keys: list[_Key] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            keys += [Ellipsis, *[slice(None)] * (number - named)]
            axis += number - named
        elif isinstance(part, _Mask):
            keys += _chosen(part, sizes[axis : axis + len(part.shape)], axis)
            axis += len(part.shape)
        elif part is None:
            keys.append(None)
        else:
            keys.append(_inside(part, sizes[axis], axis))
            axis += 1
    return keys + [slice(None)] * (len(sizes) - axis)


def _plain(part: Any) -> Any:
    """A part of a key, its lists told apart from masks."""
    if part is None or part is Ellipsis or isinstance(part, (slice, Index)):
        return part
    if isinstance(part, Secret):
        raise compile_error(
            "a secret index picks along the first axis, alone: take the row first, as in array[secret][1], or bring the axis to the "
            "front, as in array.T[secret]"
        )
    if is_truth(part):
        raise compile_error(f"the truth value {part} is no place: write 0 or 1, or None for a new axis")
    if not is_sequence(part) or shape_of(part) == ():
        return public_number(part, "an index")
    shape, items = shape_of(part), list(_items(part, shape_of(part)))
    if items and all(map(is_truth, items)):
        return _Mask(shape, list(map(bool, items)))
    return _List(shape, [_number(item) for item in items])


def _items(part: Any, shape: Shape) -> Any:
    if not shape:
        yield part
    elif not is_sequence(part) or len(part) != shape[0]:
        raise compile_error(f"a list of places that is ragged: {shape[0]} items are expected where {part!r} stands")
    else:
        for item in part:
            yield from _items(item, shape[1:])


def _number(item: Any) -> int:
    if isinstance(item, Secret):
        raise compile_error("a list with a secret place: make it one array, as in array[cn.stack([x, y])]")
    if isinstance(item, Index):
        raise compile_error("a list of places that depend on a loop: take a slice, as in array[i : i + 2], or cn.stack([..])")
    if is_truth(item):
        raise compile_error("a list of places with a truth value among numbers: it has numbers alone, or one truth value for each item")
    return public_number(item, "an index")


def _chosen(mask: _Mask, sizes: Shape, axis: int) -> list[_Key]:
    """The places that a mask chooses, a list for each of its axes."""
    if mask.shape != sizes:
        raise compile_error(f"a mask of shape {mask.shape} where the array has {sizes}, from axis {axis} on: one truth value for each item")
    spots = [spot for spot, chosen in zip(itertools.product(*map(range, sizes)), mask.bits) if chosen]
    if not spots:
        raise compile_error("a mask that chooses no item: arrays have at least one item")
    return [_List((len(spots),), list(numbers)) for numbers in zip(*spots)]


def refuse_mask(mask: Secret, what: str) -> NoReturn:
    """Secret truth values choose no places."""
    if not mask.shape:
        raise compile_error("a Bit is no place: write cn.where(bit, array[1], array[0]), or cn.lookup(array, bit)")
    raise compile_error(f"a secret mask: how many items it chooses must not show; {what}")


def _inside(key: Any, size: int, axis: int) -> _Key:
    """A key with its places checked, numbered from 0."""
    if isinstance(key, _List):
        return _List(key.shape, [_within(place, size, axis) for place in key.numbers])
    if isinstance(key, Index):
        if key.low < 0 or key.high >= size:
            raise _outside(f"goes from {key.low} to {key.high}", size, axis)
        return key
    return _within(key, size, axis) if isinstance(key, int) else key


def _within(place: int, size: int, axis: int) -> int:
    if not -size <= place < size:
        raise _outside(f"is {place}", size, axis)
    return place % size


def _outside(reach: str, size: int, axis: int) -> Exception:
    return compile_error(f"the index {reach}, but axis {axis} has {size} items, numbered from 0")


# ---- parts of axes ----------------------------------------------------------------------------------------------------------------


def _part(key: _Key, size: int, axis: int) -> Part:
    if isinstance(key, slice):
        start, places = _bounds(key, size, axis)
        if not len(places):
            raise compile_error(f"the slice of axis {axis} is empty: arrays have at least one item")
        first = places[0]
        return Part(size, start + first, range(0, places[-1] - first + (1 if places.step > 0 else -1), places.step))
    if isinstance(key, _List):
        if not key.numbers:
            raise compile_error(f"the list of places of axis {axis} is empty: arrays have at least one item")
        return _listed(size, key.numbers)
    assert key is not None
    return Part(size, key, range(1))


def _listed(size: int, places: list[int]) -> Part:
    steps = words.progression(places)
    return Part(size, 0, places) if steps is None else Part(size, steps[0], range(0, len(places) * steps[1], steps[1]))


def _bounds(part: slice, size: int, axis: int) -> tuple[int | Index, range]:
    """Where a slice starts, and the places relative to that."""
    for end in (part.start, part.stop, part.step):
        if isinstance(end, Secret):
            raise compile_error("a slice with secret ends would show its length: shift or choose instead, as in cn.where(mask, array, 0)")
        if end is not None and not (isinstance(end, Index) and end is not part.step):
            public_number(end, "an end or the step of a slice")
    if part.step is not None and not part.step:
        raise compile_error("a slice with step 0: it takes 1, or -1 for the other direction")
    if not isinstance(part.start, Index) and not isinstance(part.stop, Index):
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


def _written(w: W, parts: list[Part], new: W) -> W:
    flat = axes.flat(parts)
    if flat is None or (flat[2] != 1 and flat[1] > _FEW_PUTS):
        return axes.written(w, 1, parts, new)
    (start, terms), count, stride = flat
    if stride == 1:
        return words.put(w, (start, terms), new)
    for k in range(count):
        w = words.put(w, (start + k * stride, terms), words.take(new, (k, ()), 1))
    return w
