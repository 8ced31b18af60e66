"""Secret values as a program sees them: words and arrays with Python's operators, and loop variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from . import _arith as arith
from . import _words as words
from ._convert import as_secret, cast, constant, nest, plain
from ._errors import compile_error
from ._types import Scalar, Shape, UInt, lanes_of
from ._words import Affine, LoopVariable, W

#: What NumPy has as methods and functions, and this package as functions of the same name.
_FUNCTIONS = {
    *("all", "any", "argmax", "argmin", "broadcast_to", "concatenate", "matmul"),
    *("max", "min", "sort", "stack", "sum", "transpose", "where"),
}

#: NumPy's operators of two operands, and the methods that do the same: from the left and from the right.
_UFUNCS = {
    **{name: (f"__{name}__", f"__r{name}__") for name in ("add", "matmul")},
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "power": ("__pow__", "__rpow__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "left_shift": ("__lshift__", "__rlshift__"),
    "right_shift": ("__rshift__", "__rrshift__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}


def _unhashable(self: Any) -> NoReturn:
    raise compile_error(
        "what is secret, or a counter of cn.range, cannot be in a set or be a key of a dict, whose places depend on values: keep it in "
        "a list or an array, and look for a value with cn.any(array == x)"
    )


class Index:
    """A public number that depends on loop variables, for places in arrays: ``i``, ``i + 1``, ``2 * i + j``."""

    __slots__ = ("constant", "terms")

    def __init__(self, at: int, terms: tuple[tuple[LoopVariable, int], ...]) -> None:
        self.constant, self.terms = at, terms

    @property
    def low(self) -> int:
        """The smallest value that it takes."""
        return self.constant + sum(min(0, factor * (v.trips - 1)) for v, factor in self.terms)

    @property
    def high(self) -> int:
        """The largest value that it takes."""
        return self.constant + sum(max(0, factor * (v.trips - 1)) for v, factor in self.terms)

    def affine(self) -> Affine:
        """The form in which operations take it."""
        return self.constant, self.terms

    def _plus(self, other: Any, sign: int) -> Any:
        if isinstance(other, Index):
            factors = dict(self.terms)
            for variable, factor in other.terms:
                factors[variable] = factors.get(variable, 0) + sign * factor
            terms = tuple((v, f) for v, f in factors.items() if f)
            total = self.constant + sign * other.constant
            return Index(total, terms) if terms else total
        if isinstance(other, Secret) or not hasattr(other, "__index__"):
            return NotImplemented
        return Index(self.constant + sign * int(other.__index__()), self.terms)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Index:
        return Index(-self.constant, tuple((v, -f) for v, f in self.terms))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            if other == 0:
                return 0
            return Index(self.constant * other, tuple((v, f * other) for v, f in self.terms))
        if isinstance(other, Secret):
            return NotImplemented
        raise compile_error(
            "a loop variable can be added to numbers and multiplied by public ones; other arithmetic needs a word, as in cn.UInt[32](i)"
        )

    __rmul__ = __mul__

    def _bit(self, other: Any, compare: str) -> Any:
        if isinstance(other, Secret):
            return NotImplemented
        gap = self - other
        if not isinstance(gap, Index):
            raise compile_error("this comparison of loop variables is the same in every round: compare plain numbers")
        low, high = gap.low, gap.high
        truth = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[compare]
        from ._types import Bit

        table = words.constant([int(getattr(k, truth)(0)) for k in range(low, high + 1)], 1)
        return Secret(Bit, (), words.take(table, (gap.constant - low, gap.terms), 1))

    def __eq__(self, other: Any) -> Any:
        return self._bit(other, "==")

    def __ne__(self, other: Any) -> Any:
        return self._bit(other, "!=")

    def __lt__(self, other: Any) -> Any:
        return self._bit(other, "<")

    def __le__(self, other: Any) -> Any:
        return self._bit(other, "<=")

    def __gt__(self, other: Any) -> Any:
        return self._bit(other, ">")

    def __ge__(self, other: Any) -> Any:
        return self._bit(other, ">=")

    __hash__ = _unhashable

    def _unknown(self, *_: Any) -> Any:
        raise compile_error(
            "a loop variable of cn.range has no value while the program is written: use it in indices, convert it with "
            "cn.UInt[n](i), choose with cn.where(i == 0, .., ..), or unroll the loop with Python's range"
        )

    __bool__ = __int__ = __index__ = __float__ = __floordiv__ = __mod__ = __rfloordiv__ = __rmod__ = _unknown

    def __repr__(self) -> str:
        return f"loop variable from {self.low} to {self.high}"


class Secret:
    """A word or an array of words that neither party sees.

    Operators work elementwise, with NumPy's broadcasting, on equal types; a plain number takes the type of the other
    operand. Arithmetic wraps, see ``checked``. Division and remainder round down, as Python's do. A comparison gives ``Bit``.
    """

    __slots__ = ("elem", "home", "shape", "w")

    def __init__(self, elem: Scalar, shape: Shape, w: W) -> None:
        #: The type of its words.
        self.elem = elem
        #: Sizes of its axes; empty for a single word.
        self.shape = shape
        self.w, self.home = w, w.scope

    @property
    def public(self) -> bool:
        """Whether both parties know it while the program runs: a constant, what was revealed, and what follows from such."""
        return self.w.public

    # ---- arithmetic ---------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Secret:
        return arith.add(self, as_other(other, self, "+"))

    def __radd__(self, other: Any) -> Secret:
        return arith.add(as_other(other, self, "+"), self)

    def __sub__(self, other: Any) -> Secret:
        return arith.sub(self, as_other(other, self, "-"))

    def __rsub__(self, other: Any) -> Secret:
        return arith.sub(as_other(other, self, "-"), self)

    def __mul__(self, other: Any) -> Secret:
        return arith.mul(self, as_other(other, self, "*"))

    def __rmul__(self, other: Any) -> Secret:
        return arith.mul(as_other(other, self, "*"), self)

    def __floordiv__(self, other: Any) -> Secret:
        return arith.floor_divide(self, other)[0]

    def __rfloordiv__(self, other: Any) -> Secret:
        return arith.floor_divide(as_other(other, self, "//"), self)[0]

    def __mod__(self, other: Any) -> Secret:
        return arith.floor_divide(self, other)[1]

    def __rmod__(self, other: Any) -> Secret:
        return arith.floor_divide(as_other(other, self, "%"), self)[1]

    def __divmod__(self, other: Any) -> tuple[Secret, Secret]:
        return arith.floor_divide(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Secret, Secret]:
        return arith.floor_divide(as_other(other, self, "divmod"), self)

    def __truediv__(self, other: Any) -> Secret:
        return arith.true_divide(self, as_other(other, self, "/"))

    def __rtruediv__(self, other: Any) -> Secret:
        return arith.true_divide(as_other(other, self, "/"), self)

    def __pow__(self, exponent: Any) -> Secret:
        return arith.power(self, exponent)

    def __rpow__(self, _: Any) -> Secret:
        raise compile_error(
            "a secret exponent: the power would take as long as the exponent says; look it up in a table, as in cn.lookup(powers, x)"
        )

    def __neg__(self) -> Secret:
        return arith.negate(self)

    def __pos__(self) -> Secret:
        return self

    def __abs__(self) -> Secret:
        return arith.absolute(self)

    def __matmul__(self, other: Any) -> Secret:
        return arith.matmul(self, as_other(other, self, "@"))

    def __rmatmul__(self, other: Any) -> Secret:
        return arith.matmul(as_other(other, self, "@"), self)

    # ---- bits ---------------------------------------------------------------------------------------------------------------

    def __and__(self, other: Any) -> Secret:
        return arith.logic("and", self, as_other(other, self, "&"))

    __rand__ = __and__

    def __or__(self, other: Any) -> Secret:
        return arith.logic("or", self, as_other(other, self, "|"))

    __ror__ = __or__

    def __xor__(self, other: Any) -> Secret:
        return arith.logic("xor", self, as_other(other, self, "^"))

    __rxor__ = __xor__

    def __invert__(self) -> Secret:
        return Secret(self.elem, self.shape, words.unary("not", self.w))

    def __lshift__(self, by: Any) -> Secret:
        return arith.shift(self, by, left=True)

    def __rshift__(self, by: Any) -> Secret:
        return arith.shift(self, by, left=False)

    def __rlshift__(self, other: Any) -> Secret:
        raise compile_error(f"{other!r} << secret has no width: write cn.UInt[n]({other!r}) << x")

    def __rrshift__(self, other: Any) -> Secret:
        raise compile_error(f"{other!r} >> secret has no width: write cn.UInt[n]({other!r}) >> x")

    def bit(self, place: int) -> Secret:
        """One bit of each word, the least significant being number 0."""
        from ._types import Bit

        if not 0 <= place < self.elem.width:
            raise compile_error(f"bit {place} of {self.elem}, whose bits have numbers 0 to {self.elem.width - 1}")
        return Secret(Bit, self.shape, words.slice_bits(self.w, place, 1))

    def bits(self) -> Secret:
        """All bits, least significant first, along a new last axis."""
        from ._types import Bit

        width = self.elem.width
        return Secret(Bit, (*self.shape, width), words.reshape(self.w, self.w.lanes * width, 1))

    # ---- comparisons --------------------------------------------------------------------------------------------------------

    def __eq__(self, other: Any) -> Secret:  # type: ignore[override]
        return arith.compare("eq", self, as_other(other, self, "=="))

    def __ne__(self, other: Any) -> Secret:  # type: ignore[override]
        return ~arith.compare("eq", self, as_other(other, self, "!="))

    def __lt__(self, other: Any) -> Secret:
        return arith.compare("lt", self, as_other(other, self, "<"))

    def __le__(self, other: Any) -> Secret:
        return arith.compare("le", self, as_other(other, self, "<="))

    def __gt__(self, other: Any) -> Secret:
        return arith.compare("lt", as_other(other, self, ">"), self)

    def __ge__(self, other: Any) -> Secret:
        return arith.compare("le", as_other(other, self, ">="), self)

    __hash__ = _unhashable

    # ---- arrays -------------------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of axes; 0 for a single word."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of words."""
        return lanes_of(self.shape)

    @property
    def T(self) -> Secret:
        """The array with its axes in reverse order."""
        from ._arrays import transpose

        return transpose(self)

    def reshape(self, *shape: Any) -> Secret:
        """The same words in another shape; one size may be -1."""
        from ._arrays import reshape

        return reshape(self, *shape)

    def cast(self, of: Scalar) -> Secret:
        """The same numbers in another type, cut to its lowest bits where they do not fit."""
        return cast(self, of)

    def __len__(self) -> int:
        if not self.shape:
            raise compile_error(f"{self.elem} is one word and has no length; its width is a property of its type")
        return self.shape[0]

    def __iter__(self) -> Iterator[Secret]:
        if not self.shape:
            raise compile_error(f"{self.elem} is one word and cannot be gone through; .bits() gives its bits")
        return (self[k] for k in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Secret:
        from ._arrays import get_item

        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from ._arrays import set_item

        if self.home is not words.current().scope:
            raise compile_error(
                "this array was made outside of the loop or function that changes it: assign to the variable in the "
                "decorated function itself, or return the changed array"
            )
        self.w = set_item(self, key, value)

    # ---- what secrets are not -----------------------------------------------------------------------------------------------

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's operators, as in ``array + secret``."""
        operators = _UFUNCS.get(function.__name__)
        if operators is None or method != "__call__" or options or len(inputs) != 2:
            return self.__array_function__(function)
        one, two = inputs
        return getattr(one, operators[0])(two) if isinstance(one, Secret) else getattr(two, operators[1])(one)

    def __array_function__(self, function: Any, *_: Any) -> NoReturn:
        name = function.__name__
        ours = f"cn.{name}" if name in _FUNCTIONS else "the functions of cenote"
        raise compile_error(f"NumPy's {name} takes no secrets: use {ours}")

    def __getattr__(self, name: str) -> NoReturn:
        # hasattr asks as well, so it is no CompileError.
        hint = f": write cn.{name}(x)" if name in _FUNCTIONS else ""
        raise AttributeError(f"a secret has no `{name}`{hint}", name=name, obj=self)

    def __bool__(self) -> bool:
        if self.public:
            raise compile_error(
                "a public bit is known only while the program runs: `if` on it works in functions decorated with "
                "@cn.program, @cn.function or @cn.inline, without return, break or continue inside"
            )
        raise compile_error(
            "a secret has no truth value while the program is written: write cn.where(c, x, y) for `if` and `x if c else y`, "
            "& | ~ for `and` `or` `not`, x.bit(i) or comparisons joined by & for chains such as a < b < c, "
            "cn.min, cn.max and cn.any for Python's own, and a loop of a public number of rounds for `while`"
        )

    def __contains__(self, item: Any) -> bool:
        raise compile_error("`in` on a secret array: write cn.any(array == x)")

    def _hidden(self) -> Any:
        raise compile_error(
            "a secret cannot become a plain number: use it as it is, as an index (array[x]), or make it known to both "
            "parties with cn.reveal(x)"
        )

    __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = _hidden

    def value(self) -> Any:
        """The plain value, in a clear run alone: for looking while you debug."""
        if not words.current().clear:
            raise compile_error("a secret has a value only when the function is called with plain values")
        from ._clear import numbers

        return nest([plain(n, self.elem) for n in numbers(self.w, self.elem.signed)], self.shape)

    def __repr__(self) -> str:
        shape = f" x {'x'.join(map(str, self.shape))}" if self.shape else ""
        target = words.active()
        known = f" = {self.value()!r}" if target is not None and target.clear and self.w.ref is not None else ""
        return f"<{self.elem}{shape}{known}>"


def as_other(value: Any, beside: Secret, what: str) -> Secret:
    """The other operand of an operator, in the type of the first."""
    if isinstance(value, Secret):
        if value.elem != beside.elem:
            return as_secret(value, beside.elem, what)
        return value
    if beside.elem.kind == "bool" and what in ("+", "-", "*", "//", "%", "<", "<=", ">", ">="):
        arith.refuse_bits(beside.elem, what)
    return constant(value, beside.elem)


def count_type(largest: int) -> Scalar:
    """The narrowest unsigned type that holds numbers up to ``largest``."""
    result: Scalar = UInt[max(1, largest.bit_length())]
    return result
