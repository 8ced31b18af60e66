"""Python's operators, items and calls on secrets and their types.

Types (``_types``) and values (``_values``) are data and know no operation. Everything that operates on them is written above them, as
functions; :func:`install`, which the package runs first of all, makes those functions the methods that programs use.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from . import _arith as arith
from . import _arrays as arrays
from . import _records as records
from . import _words as words
from ._convert import as_secret, cast, constant, full
from ._errors import compile_error
from ._types import ArrayType, RecordMeta, Scalar, type_name
from ._values import Secret, View

_Method = Callable[..., Any]
#: How an operator is written, and its methods: with the secret on the left, and on the right of what is none.
_Operator = tuple[str, _Method, _Method]


def _other(value: Any, beside: Secret, sign: str) -> Secret:
    """The other operand of an operator, in the type of the first."""
    if isinstance(value, Secret):
        return as_secret(value, beside.elem, sign)
    if beside.elem.kind == "bool" and sign in ("+", "-", "*", "//", "%", "<", "<=", ">", ">="):
        arith.refuse_bits(beside.elem, sign)
    return constant(value, beside.elem)


def _left(sign: str, function: _Method) -> _Method:
    return lambda self, other: function(self, _other(other, self, sign))


def _right(sign: str, function: _Method) -> _Method:
    return lambda self, other: function(_other(other, self, sign), self)


def _arithmetic(sign: str, function: _Method) -> _Operator:
    return sign, _left(sign, function), _right(sign, function)


def _logic(sign: str, op: str) -> _Operator:
    method = _left(sign, lambda x, y: arith.logic(op, x, y))
    return sign, method, method


def _division(sign: str, wanted: _Method) -> _Operator:
    def function(x: Secret, y: Any) -> Any:
        return wanted(arith.floor_divide(x, y, sign))

    # A divisor that is a plain number stays one: by powers of two there is nothing to compute.
    return sign, function, _right(sign, function)


def _shift(sign: str, left: bool) -> _Operator:
    def refused(_: Secret, other: Any) -> Any:
        raise compile_error(f"{other!r} {sign} secret has no width: write cn.UInt[n]({other!r}) {sign} x")

    return sign, lambda self, by: arith.shift(self, by, left), refused


def _secret_exponent(*_: Any) -> Any:
    raise compile_error(
        "a secret exponent: the power would take as long as the exponent says; look it up in a table, as in cn.lookup(powers, x)"
    )


_OPERATORS = {
    "add": _arithmetic("+", arith.add),
    "sub": _arithmetic("-", arith.sub),
    "mul": _arithmetic("*", arith.mul),
    "truediv": _arithmetic("/", arith.true_divide),
    "matmul": _arithmetic("@", arith.matmul),
    "floordiv": _division("//", itemgetter(0)),
    "mod": _division("%", itemgetter(1)),
    "pow": ("**", arith.power, _secret_exponent),
    "and": _logic("&", "and"),
    "or": _logic("|", "or"),
    "xor": _logic("^", "xor"),
    "lshift": _shift("<<", True),
    "rshift": _shift(">>", False),
}


def _in_place(operator: _Method, sign: str) -> _Method:
    """``x += y`` from ``x + y``: an array changes where it is, a variable with one word gets another one."""

    def change(self: Secret, other: Any) -> Secret:
        result: Secret = operator(self, other)
        if not self.shape:
            return result
        if (result.elem, result.shape) != (self.elem, self.shape):
            raise compile_error(
                f"{sign}= changes an array where it is, and the result of {result.elem} and shape {result.shape} does not fit into one of "
                f"{self.elem} and shape {self.shape}: write x = x {sign} y"
            )
        self.write(result.w)
        return self

    return change


def _invert(self: Secret) -> Secret:
    return Secret(self.elem, self.shape, words.unary("not", self.w))


def _set_item(self: Secret, key: Any, value: Any) -> None:
    if not (isinstance(value, View) and value.base is self and value.key is key):
        self.write(arrays.set_item(self, key, value))


def _transposed(self: Secret) -> Secret:
    """The array with its axes in reverse order."""
    return arrays.transpose(self)


def _reshape(self: Secret, *shape: Any) -> Secret:
    """The same words in another shape; one size may be -1."""
    return arrays.reshape(self, *shape)


def _cast(self: Secret, of: Scalar) -> Secret:
    """The same numbers in another type; those that do not fit are cut to its lowest bits, which is an overflow."""
    return cast(self, of)


def _assign(self: Secret, value: Any) -> None:
    """Puts a value of this type in every place."""
    new = full(as_secret(value, self.elem, "assignment"), self.shape)
    if new.lanes != self.w.lanes:
        raise compile_error(f"{new.lanes} items for shape {self.shape}")
    self.write(new)


_, _divmod, _rdivmod = _division("divmod", lambda both: both)

_METHODS: dict[str, Any] = {
    "__divmod__": _divmod,
    "__rdivmod__": _rdivmod,
    "__neg__": arith.negate,
    "__pos__": Secret.copy,
    "__abs__": arith.absolute,
    "__invert__": _invert,
    "__eq__": _left("==", lambda x, y: arith.compare("eq", x, y)),
    "__ne__": _left("!=", lambda x, y: ~arith.compare("eq", x, y)),
    "__lt__": _left("<", lambda x, y: arith.compare("lt", x, y)),
    "__le__": _left("<=", lambda x, y: arith.compare("le", x, y)),
    "__gt__": _left(">", lambda x, y: arith.compare("lt", y, x)),
    "__ge__": _left(">=", lambda x, y: arith.compare("le", y, x)),
    "__getitem__": lambda self, key: arrays.get_item(self, key),
    "__setitem__": _set_item,
    "T": property(_transposed),
    "reshape": _reshape,
    "cast": _cast,
    "assign": _assign,
}


def _converted(self: Scalar, value: Any, shape: Any = None) -> Secret:
    """A secret in this type, or a public constant of it."""
    if isinstance(value, Secret):
        return cast(value, self)
    if isinstance(value, bool) and self.kind != "bool":
        value = int(value)
    return constant(value, self, shape)


def _converted_array(self: ArrayType, value: Any) -> Secret:
    """A constant of this type, or an array of this shape with its words converted."""
    if not isinstance(self.item, Scalar):
        raise compile_error(f"{self!r}(..) of records: make each field, as in {type_name(self.item)}(name=..)")
    made: Secret = self.item(value)
    if made.shape != self.shape:
        raise compile_error(f"{self!r}(..) of shape {made.shape}: reshape it, or repeat it with cn.broadcast_to")
    return made


def install() -> None:
    """Gives values and types their methods."""
    for name, (sign, left, right) in _OPERATORS.items():
        setattr(Secret, f"__{name}__", left)
        setattr(Secret, f"__r{name}__", right)
        setattr(Secret, f"__i{name}__", _in_place(left, sign))
    for name, method in _METHODS.items():
        setattr(Secret, name, method)
    for kind, call in ((Scalar, _converted), (ArrayType, _converted_array), (RecordMeta, records.made)):
        setattr(kind, "__call__", call)  # noqa: B010
