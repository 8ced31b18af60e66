"""Constants of secret types, conversions from one type to another, and shapes that go together."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

from . import _axes as axes
from . import _clear as clear
from . import _words as words
from ._errors import compile_error
from ._plain import BadValue, flatten, is_sequence, shape_of
from ._types import Scalar, Shape
from ._values import Index, Secret
from ._words import W


def constant(value: Any, of: Scalar, shape: Any = None) -> Secret:
    """A public constant of a type, from a plain value, nested lists or a loop variable."""
    if isinstance(value, Index):
        return index_value(value, of)
    own = shape_of(value)
    try:
        flat = flatten(value, own, of)
    except BadValue as bad:
        raise compile_error(f"constant {bad}" if bad.index else str(bad)) from None
    if of.frac and not any(flat):
        _check_rounding(_largest(value), of)
    if not flat:
        raise compile_error("an array without items: arrays have at least one")
    secret = Secret(of, own, words.constant(flat, of.width))
    if shape is None:
        return secret
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return Secret(of, shape, full(secret, shape))


def _largest(value: Any) -> Fraction:
    """The largest magnitude among plain numbers."""
    if is_sequence(value):
        return max(map(_largest, value))
    return abs(Fraction(value if isinstance(value, (int, float, Decimal, Fraction)) else float(value)))


def _check_rounding(largest: Fraction, of: Scalar) -> None:
    """Refuses constants of which nothing is left."""
    if largest:
        bits = next(bits for bits in itertools.count(of.frac) if round(largest * (1 << bits)))
        raise compile_error(
            f"{float(largest):g} rounds to zero in {of}, whose last place is 2^-{of.frac}: take {bits} fraction bits or more, better "
            f"{bits + 7}, and convert what it meets; or write 0"
        )


def index_value(index: Index, of: Scalar) -> Secret:
    """A loop variable as a public word: picked from a table of the values that it takes."""
    low, high = index.low, index.high
    unit = 1 << of.frac if of.kind == "fixed" else 1
    if low * unit < of.low or high * unit > of.high:
        raise compile_error(f"the loop variable goes from {low} to {high}, which does not fit {of} ({of.bounds()})")
    if high - low >= 1 << 20:
        raise compile_error(f"the loop variable takes {high - low + 1} values, too many for a word: count in a variable of your own")
    table = words.constant([k * unit for k in range(low, high + 1)], of.width)
    return Secret(of, (), words.take(table, (index.constant - low, index.terms), 1))


def cast(x: Secret, of: Scalar) -> Secret:
    """A secret in another type: extended by its own sign, its point moved; cut where it does not fit, which is watched."""
    if x.elem == of:
        return x.copy()
    if of.kind == "bool":
        raise compile_error(f"{x.elem} to Bit: write `x != 0`, or `x.bit(0)` for the lowest bit")
    w = x.w
    if of.frac > x.elem.frac:
        w = words.extend(w, max(w.width + of.frac - x.elem.frac, of.width), x.elem.signed)
        w = words.shift("shl", w, of.frac - x.elem.frac)
    elif of.frac < x.elem.frac:
        drop = x.elem.frac - of.frac
        if drop >= w.width:
            w = words.extend(w, drop + 1, x.elem.signed)
        w = words.slice_bits(w, drop, w.width - drop)
    target = words.current()
    if target.checked:
        words.flag_overflow(*words.unfit(w, x.elem.signed, of.width, of.signed))
    if target.clear:
        clear.watch(f"conversion to {of}", of, lambda: [_moved(n, of.frac - x.elem.frac) for n in clear.numbers(x.w, x.elem.signed)])
    return Secret(of, x.shape, words.extend(w, of.width, x.elem.signed))


def _moved(units: int, places: int) -> int:
    """A number in units of a last place further down, or rounded down to one further up."""
    return units << places if places > 0 else units >> -places


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape by NumPy's rule: sizes are equal or one, counted from the last axis."""
    rank = max(map(len, shapes))
    result = []
    for axis in range(rank):
        sizes = {s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0} - {1}
        if len(sizes) > 1:
            shown = " and ".join(map(str, shapes))
            raise compile_error(f"shapes {shown} do not go together: sizes must be equal or 1, counted from the last axis")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def spread(x: Secret, shape: Shape) -> W:
    """The words of ``x`` for an elementwise operation of this shape: as they are, one lane, or repeated."""
    if x.shape == shape or x.w.lanes == 1:
        return x.w
    return _expand(x.w, x.shape, shape)


def full(x: Secret, shape: Shape) -> W:
    """The words of ``x`` in every place of ``shape``."""
    if x.shape == shape:
        return x.w
    return _expand(x.w, x.shape, broadcast_shapes(x.shape, shape))


def _expand(w: W, shape: Shape, wide: Shape) -> W:
    return axes.expanded(w, shape, wide)


def as_secret(value: Any, of: Scalar, what: str) -> Secret:
    """``value`` as a secret of type ``of``, for an operation that wants equal types."""
    if isinstance(value, Secret):
        if value.elem != of:
            raise compile_error(mismatch(of, value.elem, what))
        return value
    return constant(value, of)


def mismatch(x: Scalar, y: Scalar, what: str) -> str:
    """Why an operation on two types is refused, and what to write."""
    if x.kind == y.kind and x.frac == y.frac:
        wide = x if x.width > y.width else y
        return f"{what}: {x} meets {y}; widths must be equal: convert one, as in cn.{wide}(x)"
    if "bool" in (x.kind, y.kind):
        other = y if x.kind == "bool" else x
        return f"{what}: {x} meets {y}; write cn.{other}(bit) for 0 or 1, or cn.where(bit, .., ..) to choose"
    return f"{what}: {x} meets {y}; types must be equal: convert one, as in cn.{x}(x) or cn.{y}(x)"
