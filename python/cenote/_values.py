"""Secret values as a program sees them: words and arrays with Python's operators, and loop variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from . import _words as words
from ._clear import numbers
from ._errors import NoAttribute, compile_error, place
from ._plain import nest, plain
from ._types import Bit, Scalar, Shape, UInt, lanes_of
from ._words import Affine, LoopVariable, Scope, W

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
        table = words.constant([int(getattr(k, truth)(0)) for k in range(low, high + 1)], 1)
        return _CounterBit(Bit, (), words.take(table, (gap.constant - low, gap.terms), 1))

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

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise compile_error(f"a loop variable of cn.range has no `{name}`: make it a word, as in cn.UInt[n](i)", NoAttribute)

    def __repr__(self) -> str:
        return f"loop variable from {self.low} to {self.high}"


class Forgotten(Scope):
    """Of the words of an array that cannot be used: nobody knows them since another one was changed at a line of the program."""

    __slots__ = ()

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            why_not=f"it may be the same array as one that was changed at {where}, as the round of a loop, the side of an `if` or the "
            "arguments of a call decide: write .copy() where one is assigned to, or passed beside, the other",
        )


class Secret:
    """A word or an array of words that neither party sees.

    Operators work elementwise, with NumPy's broadcasting, on equal types; a plain number takes the type of the other
    operand. Arithmetic wraps, see ``checked``. Division and remainder round down, as Python's do. A comparison gives ``Bit``.
    """

    __slots__ = ("elem", "home", "kin", "shape", "w")

    #: The words that it holds now.
    w: W

    def __init__(self, elem: Scalar, shape: Shape, w: W) -> None:
        #: The type of its words.
        self.elem = elem
        #: Sizes of its axes; empty for a single word.
        self.shape = shape
        self.w = w
        target = words.active()
        #: The block that made it.
        self.home = w.scope if target is None else target.scope
        #: Arrays that may be the same one as this, as a loop or a branch decides: see :meth:`write`.
        self.kin: tuple[Secret, ...] = ()

    @property
    def public(self) -> bool:
        """Whether both parties know it while the program runs: a constant, what was revealed, and what follows from such."""
        return self.w.public

    # ---- operators, given by ``_operators`` ---------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __add__(self, other: Any, /) -> Secret: ...
        def __eq__(self, other: Any) -> Secret: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Secret: ...  # type: ignore[override]
        def __divmod__(self, other: Any, /) -> tuple[Secret, Secret]: ...
        def __invert__(self, /) -> Secret: ...

        __sub__ = __mul__ = __floordiv__ = __mod__ = __truediv__ = __pow__ = __matmul__ = __add__
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __add__
        __radd__ = __rsub__ = __rmul__ = __rfloordiv__ = __rmod__ = __rtruediv__ = __rpow__ = __rmatmul__ = __add__
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __add__
        __iadd__ = __isub__ = __imul__ = __ifloordiv__ = __imod__ = __itruediv__ = __ipow__ = __imatmul__ = __add__
        __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__
        __rdivmod__ = __divmod__
        __neg__ = __pos__ = __abs__ = __invert__

        def __getitem__(self, key: Any) -> Secret: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...

        @property
        def T(self) -> Secret: ...
        def reshape(self, *shape: Any) -> Secret: ...
        def cast(self, of: Scalar) -> Secret: ...
        def assign(self, value: Any) -> None: ...

    __hash__ = _unhashable

    # ---- words, bits, axes --------------------------------------------------------------------------------------------------

    def bit(self, place: int) -> Secret:
        """One bit of each word, the least significant being number 0."""
        if not 0 <= place < self.elem.width:
            raise compile_error(f"bit {place} of {self.elem}, whose bits have numbers 0 to {self.elem.width - 1}")
        return Secret(Bit, self.shape, words.slice_bits(self.w, place, 1))

    def bits(self) -> Secret:
        """All bits, least significant first, along a new last axis."""
        width = self.elem.width
        return Secret(Bit, (*self.shape, width), words.reshape(self.w, self.w.lanes * width, 1))

    @property
    def ndim(self) -> int:
        """Number of axes; 0 for a single word."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of words."""
        return lanes_of(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise compile_error(f"{self.elem} is one word and has no length; its width is a property of its type")
        return self.shape[0]

    def __iter__(self) -> Iterator[Secret]:
        if not self.shape:
            raise compile_error(f"{self.elem} is one word and cannot be gone through; .bits() gives its bits")
        return (self[k] for k in range(self.shape[0]))

    def copy(self) -> Secret:
        """An array of its own with the same words."""
        return Secret(self.elem, self.shape, self.w)

    # ---- changes ------------------------------------------------------------------------------------------------------------

    def note(self) -> None:
        """Before a change: an array of the blocks around the present one gets its words back when that ends."""
        target = words.current()
        if self.home is not target.scope:
            target.changed.setdefault(id(self), (self, self.w, self.kin))

    def write(self, w: W) -> None:
        """Puts other words into this array. What may be the same array, and may be another, cannot be used any more."""
        words.current().check_changes(self.home)
        self.note()
        self.w = w
        for other in self.kin:
            other.forget(place())

    def forget(self, where: str) -> None:
        """Makes the words unusable: which they are depends on what runs."""
        self.note()
        self.w = W(None, self.w.lanes, self.w.width, Forgotten(where))

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
        if name.startswith("__"):
            raise AttributeError(name)
        hint = f"write cn.{name}(x)" if name in _FUNCTIONS else "it has elem, shape, ndim, size, T, reshape, copy, cast, bit and bits"
        raise compile_error(f"a secret has no `{name}`: {hint}", NoAttribute)

    def __bool__(self) -> bool:
        if self.public:
            raise compile_error(
                "a public bit is known only while the program runs: `if` on it works as a statement in functions decorated with "
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
        """The plain value, in a clear run alone: for looking while you debug.

        Blocks of loops and branches are rehearsed before they run; everything is zero then.
        """
        target = words.current()
        if isinstance(target, words.Rehearsal) and target.of_clear:
            return nest([plain(0, self.elem)] * self.size, self.shape)
        if not target.clear:
            raise compile_error("a secret has a value only when the function is called with plain values")
        words._usable(self.w)
        return nest([plain(n, self.elem) for n in numbers(self.w, self.elem.signed)], self.shape)

    def __repr__(self) -> str:
        shape = f" x {'x'.join(map(str, self.shape))}" if self.shape else ""
        target = words.active()
        known = f" = {self.value()!r}" if target is not None and target.clear and self.w.ref is not None else ""
        return f"<{self.elem}{shape}{known}>"


class _CounterBit(Secret):
    """A comparison of loop variables."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise compile_error(
            "a loop variable of cn.range has no value while the program is written, so neither has this comparison: choose with "
            "cn.where(i == 0, .., ..), or unroll the loop with Python's range"
        )


class View(Secret):
    """A part of another array, or the same in another shape: to change one is to change the other."""

    __slots__ = ("_part", "_put", "_seen", "_take", "base", "key")

    def __init__(self, base: Secret, shape: Shape, take: Callable[[W], W], put: Callable[[W, W], W], key: Any = _unhashable) -> None:
        self.elem, self.shape, self.base = base.elem, shape, base
        self.home, self.kin = words.current().scope, ()
        #: What it was made with, as in ``base[key]``.
        self.key = key
        self._take, self._put = take, put
        self._seen = base.w
        self._part = take(self._seen)

    @property
    def w(self) -> W:  # type: ignore[override]
        """The words, which are those of the base."""
        now = self.base.w
        if now is not self._seen or self._part.scope.why_not:
            self._seen, self._part = now, self._take(now)
        return self._part

    def write(self, w: W) -> None:
        """Puts other words into that part of the base."""
        self.base.write(self._put(self.base.w, w))


def root(x: Secret) -> Secret:
    """The array that a view is a part of; any other array itself."""
    while isinstance(x, View):
        x = x.base
    return x


def forgotten(w: W) -> str:
    """Where an array was changed that may be the same as that of these words; empty if they can be used."""
    return w.scope.what if isinstance(w.scope, Forgotten) else ""


def related(x: Secret, y: Secret) -> bool:
    """Whether two arrays, which are no views, may be the same one."""
    return x is y or any(kin is y for kin in x.kin) or any(kin is x for kin in y.kin)


def link(x: Secret, y: Secret) -> None:
    """Notes that two arrays, which are no views, may be the same one."""
    if x is not y and not any(other is y for other in x.kin):
        x.note()
        y.note()
        x.kin, y.kin = (*x.kin, y), (*y.kin, x)


def count_type(largest: int) -> Scalar:
    """The narrowest unsigned type that holds numbers up to ``largest``."""
    result: Scalar = UInt[max(1, largest.bit_length())]
    return result
