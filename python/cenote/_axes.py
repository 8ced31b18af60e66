"""Axes of arrays, by few statements: what lies behind an axis travels as one wide word, so that a statement names an axis
and never its places one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Union

from . import _words as words
from ._types import Shape, lanes_of
from ._values import Index
from ._words import Affine, W

#: The widest word of the format, in bits; only numbers to compute with are narrower.
_WIDEST = 1 << 24
#: Places that may be listed one by one.
_FEW = 32


class Part(NamedTuple):
    """Places of an axis: ``at`` + each of ``places``, a range from 0 on or any numbers."""

    size: int
    at: Union[int, Index]
    places: Sequence[int]

    @property
    def number(self) -> int:
        """How many."""
        return len(self.places)

    @property
    def step(self) -> int:
        """How far they are apart; 0 if they are no range."""
        if not isinstance(self.places, range):
            return 0
        return self.places.step if len(self.places) > 1 else 1

    @property
    def full(self) -> bool:
        """Whether it is the whole axis."""
        return self.step == 1 and self.number == self.size

    def start(self, inner: int) -> Affine:
        """The lane at which it begins where ``inner`` lanes lie behind each place."""
        at = self.at * inner
        return at.affine() if isinstance(at, Index) else (at, ())


def flat(parts: Sequence[Part]) -> tuple[Affine, int, int] | None:
    """First lane, number of lanes and stride, if one statement can name the places of all axes."""
    inner = math.prod(part.size for part in parts)
    start: Union[int, Index] = 0
    count, stride = 1, 1
    for part in parts:
        inner //= part.size
        if not part.step:
            return None
        start = start + part.at * inner
        if part.number == 1:
            continue
        step = part.step * inner
        if count > 1 and stride != part.number * step:
            return None
        count, stride = count * part.number, step
    at: Affine = start.affine() if isinstance(start, Index) else (start, ())
    # A counter of a loop moves upward strides alone.
    return (at, count, stride) if stride > 0 or not at[1] else None


def few(parts: Sequence[Part]) -> list[int] | None:
    """The lanes of all places, if they are few and none depends on a loop: one statement can list them."""
    if math.prod(part.number for part in parts) > _FEW:
        return None
    lanes = [0]
    for part in parts:
        if isinstance(part.at, Index):
            return None
        lanes = [lane * part.size + part.at + place for lane in lanes for place in part.places]
    return lanes


def swap(w: W, one: int, two: int) -> W:
    """The first two axes, of these sizes, exchanged."""
    if one == 1 or two == 1:
        return w
    rows = _rows(w, one * two)
    return words.reshape(words.one("transpose", (one,), (rows,), rows.lanes, rows.width), w.lanes, w.width)


def _rows(w: W, lanes: int) -> W:
    """The same bits in ``lanes`` wide words."""
    return words.reshape(w, lanes, w.width * (w.lanes // lanes))


def taken(w: W, outer: int, part: Part) -> W:
    """The places of one axis; ``outer`` lanes of the axes before it."""
    inner = w.lanes // (outer * part.size)
    lanes = outer * part.number * inner
    if part.full:
        return w
    if outer == 1:
        return _taken_first(w, inner, part)
    if part.number == 1:
        return words.reshape(words.take(_rows(w, outer * part.size), part.start(1), outer, part.size), lanes, w.width)
    if part.step == 1 and isinstance(part.at, int) and part.size * inner * w.width <= _WIDEST:
        bits = inner * w.width
        return words.reshape(words.slice_bits(_rows(w, outer), part.at * bits, part.number * bits), lanes, w.width)
    return swap(_taken_first(swap(w, outer, part.size), outer * inner, part), part.number, outer)


def _taken_first(w: W, inner: int, part: Part) -> W:
    lanes = part.number * inner
    if part.step == 1:
        return words.take(w, part.start(inner), lanes)
    if inner * w.width > _WIDEST:
        start, rest = part.start(inner)
        return words.join([words.take(w, (start + place * inner, rest), inner) for place in part.places])
    if part.step < 0 and isinstance(part.at, Index):
        upward = _upward(part)
        return _taken_first(_taken_first(w, inner, upward), inner, _reversed(part.number))
    rows = _rows(w, part.size)
    if part.step:
        return words.reshape(words.take(rows, part.start(1), part.number, part.step), lanes, w.width)
    return words.reshape(words.gather(rows, part.places), lanes, w.width)


def _upward(part: Part) -> Part:
    """The same places from the last to the first."""
    return Part(part.size, part.at + part.places[-1], range(0, -part.places[-1] + 1, -part.step))


def _reversed(count: int) -> Part:
    return Part(count, count - 1, range(0, -count, -1))


def written(w: W, outer: int, parts: Sequence[Part], new: W) -> W:
    """``w``, of ``outer`` lanes and the axes of ``parts``, with ``new`` in their places."""
    while parts and parts[0].full:
        outer, parts = outer * parts[0].size, parts[1:]
    if not parts:
        return new
    part, rest = parts[0], parts[1:]
    front, fresh = swap(w, outer, part.size), swap(new, outer, part.number)
    if not all(other.full for other in rest):
        fresh = written(_taken_first(front, front.lanes // part.size, part), part.number * outer, rest, fresh)
    return swap(_placed(front, part, fresh), part.size, outer)


def _placed(w: W, part: Part, new: W) -> W:
    """``w`` with ``new`` in places of its first axis."""
    inner = w.lanes // part.size
    if part.step == 1:
        return words.put(w, part.start(inner), new)
    if part.step < 0:
        return _placed(w, _upward(part), _taken_first(new, inner, _reversed(part.number)))
    if part.step:
        span = part.places[-1] + 1
        window = words.take(w, part.start(inner), span * inner)
        return words.put(w, part.start(inner), _spaced(window, inner, part, new))
    source = list(range(part.size))
    for k, place in enumerate(part.places):
        source[place] = part.size + k
    both = words.join([_rows(w, part.size), _rows(new, part.number)])
    return words.reshape(words.gather(both, source), w.lanes, w.width)


def _spaced(w: W, inner: int, part: Part, new: W) -> W:
    """``w`` with every ``step``-th row replaced, from the first to the last: as a table of ``step`` columns, the first replaced."""
    count, step = part.number, part.step
    filler = words.constant([0] * (inner * (step - 1)), w.width)
    table = words.join([w, filler])
    columns = words.put(swap(table, count, step), (0, ()), new)
    return words.take(swap(columns, step, count), (0, ()), w.lanes)


def transposed(w: W, shape: Shape, order: Sequence[int]) -> W:
    """The axes of ``shape`` in another order: from the last on, blocks of axes change places."""
    axes = list(range(len(shape)))
    for end in range(len(shape), 0, -1):
        at = axes.index(order[end - 1]) + 1
        if at == end:
            continue
        one, two = axes[:at], axes[at:end]
        w = swap(w, lanes_of(tuple(shape[k] for k in one)), lanes_of(tuple(shape[k] for k in two)))
        axes[:end] = two + one
    return w


def expanded(w: W, shape: Shape, wide: Shape) -> W:
    """An array of ``shape`` repeated to ``wide``, whose axes are as many or more, by NumPy's rule."""
    sizes = [1] * (len(wide) - len(shape)) + list(shape)
    end = len(wide)
    while end:
        # Neighbours that are repeated or are not go together.
        start = end
        while start and (sizes[start - 1] == wide[start - 1]) == (sizes[end - 1] == wide[end - 1]):
            start -= 1
        times = lanes_of(tuple(wide[start:end])) // lanes_of(tuple(sizes[start:end]))
        if times > 1:
            outer = lanes_of(tuple(sizes[:start]))
            lanes = w.lanes * times
            w = words.tile(w, times) if outer == 1 else words.reshape(words.repeat(_rows(w, outer), times), lanes, w.width)
        end = start
    return w
