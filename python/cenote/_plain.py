"""Plain Python values: numbers in units of the last place of a type, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ._errors import compile_error
from ._types import Scalar, Shape, lanes_of


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
        return exact_decimal(units, of.frac)
    return units


def exact_decimal(units: int, frac: int) -> Decimal:
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


def public_number(value: Any, what: str) -> int:
    """A plain whole number."""
    try:
        return int(value.__index__())
    except AttributeError:
        raise compile_error(f"{what} is {value!r}, not a whole number") from None
