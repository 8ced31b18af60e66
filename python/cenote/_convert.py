"""Plain Python values to words and back; public constants; conversions of secrets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from . import _arith as arith
from . import _clear as clear
from . import _values as values
from . import _words as words
from ._errors import compile_error
from ._types import Scalar, Shape, lanes_of
from ._words import W

if TYPE_CHECKING:
    from ._values import Index, Secret


class BadValue(ValueError):
    """What is wrong with a value, and at which index. The value itself is shown of constants only."""

    def __init__(self, problem: str, index: tuple[int, ...] = (), shown: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.index, self.shown = problem, index, shown

    def private(self) -> str:
        """The problem of a value that may be secret."""
        return self.problem if self.shown is None else f"the value {self.problem}"

    def __str__(self) -> str:
        at = "".join(f"[{k}]" for k in self.index)
        message = self.problem if self.shown is None else f"{self.shown} {self.problem}"
        return f"{at}: {message}" if at else message


def number(value: Any, of: Scalar) -> int:
    """One plain value in units of the last place of ``of``; raises :class:`BadValue`."""
    if value is None:
        raise BadValue("a missing value")
    if is_truth(value):
        if of.kind != "bool":
            raise BadValue(f"is a truth value; {of} takes {'numbers' if of.kind == 'fixed' else 'whole numbers'}", shown=str(value))
        return int(value)
    if _is_nan(value):
        raise BadValue("a missing value (NaN)")
    if of.kind == "fixed":
        return _in_range(_fixed(value, of), value, of)
    try:
        whole = int(value.__index__())
    except (AttributeError, TypeError):
        whole = _whole(value, of)
    return _in_range(whole, value, of)


def is_truth(value: Any) -> bool:
    """Whether it is a truth value of Python or NumPy."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_nan(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return (isinstance(value, float) or type(value).__name__.startswith("float")) and math.isnan(value)


def _whole(value: Any, of: Scalar) -> int:
    """A number of another type that has no fraction."""
    if isinstance(value, (float, Decimal, Fraction)) or type(value).__name__.startswith("float"):
        if math.isinf(value):
            raise BadValue(f"is infinite; {of} takes whole numbers", shown=str(value))
        if value == int(value):
            return int(value)
        raise BadValue(f"has a fraction; {of} takes whole numbers", shown=str(value))
    raise BadValue(f"({type(value).__name__}) is not a number for {of}", shown=repr(value))


def _fixed(value: Any, of: Scalar) -> int:
    if isinstance(value, (str, bytes)):
        raise BadValue(f"is text; {of} takes numbers", shown=repr(value))
    try:
        exact = Fraction(value if isinstance(value, (int, float, Decimal, Fraction)) else float(value))
    except (TypeError, ValueError, OverflowError):
        raise BadValue(f"is not a number for {of}", shown=repr(value)) from None
    return round(exact * (1 << of.frac))


def _in_range(whole: int, value: Any, of: Scalar) -> int:
    if not of.low <= whole <= of.high:
        shown = value if whole.bit_length() <= 128 else f"a number of {whole.bit_length()} bits"
        raise BadValue(f"does not fit {of} ({of.bounds()})", shown=str(shown))
    return whole


def is_sequence(value: Any) -> bool:
    """Whether it has items, by number: a list, a NumPy array; no text."""
    if isinstance(value, (str, bytes, dict)):
        return False
    return isinstance(value, (Sequence, range)) or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))


def shape_of(value: Any) -> Shape:
    """The shape of nested sequences or of a NumPy array."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if not is_sequence(value):
        return ()
    return (len(value), *(shape_of(value[0]) if len(value) else ()))


def flatten(value: Any, shape: Shape, of: Scalar) -> list[int]:
    """The numbers in nested sequences of a shape; raises :class:`BadValue` with the index of the bad one."""
    fast = _fast(value, shape, of)
    if fast is not None:
        return fast
    result: list[int] = []
    _flatten(value, shape, of, result.append, ())
    return result


def _fast(value: Any, shape: Shape, of: Scalar) -> list[int] | None:
    """NumPy arrays of whole numbers and flat lists without looking at types one by one."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in ("u", "i") and of.kind != "fixed" and getattr(value, "shape", None) == shape and value.size:
        flat: list[int] = value.ravel().tolist()
    elif type(value) is list and shape == (len(value),) and value and all(type(v) is int for v in value):
        if of.kind == "fixed":
            return None
        flat = value
    else:
        return None
    return flat if of.low <= min(flat) and max(flat) <= of.high else None


def _flatten(value: Any, shape: Shape, of: Scalar, add: Callable[[int], None], at: tuple[int, ...]) -> None:
    if not shape:
        if is_sequence(value) and shape_of(value) != ():
            raise BadValue(f"a list, where one {of} is expected", at)
        try:
            add(number(value, of))
        except BadValue as bad:
            raise BadValue(bad.problem, at, bad.shown) from None
        return
    if value is None:
        raise BadValue("a missing value", at)
    if not is_sequence(value):
        raise BadValue(f"is no list of {shape[0]}", at, repr(value))
    if len(value) != shape[0]:
        raise BadValue(f"{len(value)} items, where {shape[0]} are expected", at)
    for index, item in enumerate(value):
        _flatten(item, shape[1:], of, add, (*at, index))


def plain(units: int, of: Scalar) -> Any:
    """The plain value of a number in units of the last place."""
    if of.kind == "bool":
        return bool(units)
    if of.kind == "fixed":
        if of.width <= 53:
            return units / (1 << of.frac)
        return _exact_decimal(units, of.frac)
    return units


def _exact_decimal(units: int, frac: int) -> Decimal:
    """``units / 2^frac`` without rounding, whatever the precision of the decimal context."""
    sign, digits = int(units < 0), abs(units) * 5**frac
    return Decimal((sign, tuple(map(int, str(digits))), -frac))


def nest(flat: Sequence[Any], shape: Shape) -> Any:
    """Nested lists of a shape."""
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    step = lanes_of(shape[1:])
    return [nest(flat[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


# ---- inside programs --------------------------------------------------------------------------------------------------------------


def constant(value: Any, of: Scalar, shape: Any = None) -> Secret:
    """A public constant of a type, from a plain value, nested lists or a loop variable."""
    if isinstance(value, values.Index):
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
    secret = values.Secret(of, own, words.constant(flat, of.width))
    if shape is None:
        return secret
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return values.Secret(of, shape, full(secret, shape))


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
    return values.Secret(of, (), words.take(table, (index.constant - low, index.terms), 1))


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
        arith._watch(f"conversion to {of}", of, lambda: [_moved(n, of.frac - x.elem.frac) for n in clear.numbers(x.w, x.elem.signed)])
    return values.Secret(of, x.shape, words.extend(w, of.width, x.elem.signed))


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
    from ._axes import expanded

    return expanded(w, shape, wide)


def as_secret(value: Any, of: Scalar, what: str) -> Secret:
    """``value`` as a secret of type ``of``, for an operation that wants equal types."""
    if isinstance(value, values.Secret):
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
