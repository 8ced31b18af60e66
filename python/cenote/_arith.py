"""Arithmetic, comparisons and bits of secret values, with their overflow."""

from __future__ import annotations

from typing import Any

from . import _clear as clear
from . import _words as words
from ._convert import as_secret, broadcast_shapes, constant, spread
from ._errors import compile_error
from ._plain import public_number
from ._types import Bit, Scalar
from ._values import Secret
from ._words import W, current


def refuse_bits(of: Scalar, what: str) -> None:
    """Arithmetic on truth values is more often a slip than meant."""
    if of.kind == "bool":
        raise compile_error(f"{what} on Bit: use & | ^ ~ and ==, or convert first, as in cn.UInt[8](bit); cn.sum counts bits")


def _pair(x: Secret, y: Secret) -> tuple[tuple[int, ...], W, W]:
    if x.shape == y.shape:
        return x.shape, x.w, y.w
    shape = broadcast_shapes(x.shape, y.shape)
    a, b = spread(x, shape), spread(y, shape)
    return shape, a, b


def _numbers(x: W, elem: Scalar) -> list[int]:
    return clear.numbers(x, elem.signed)


def _pairs(a: W, b: W, elem: Scalar) -> list[tuple[int, int]]:
    return clear.pairs(_numbers(a, elem), _numbers(b, elem))


def _simple(op: str, sign: str, x: Secret, y: Secret) -> Secret:
    """``add`` or ``sub``."""
    elem = x.elem
    refuse_bits(elem, sign)
    shape, a, b = _pair(x, y)
    target = current()
    if target.checked:
        w, over = words.binary_checked(op + ("os" if elem.signed else "o"), a, b)
        words.flag_overflow(over)
    else:
        w = words.binary(op, a, b)
    if target.clear:
        factor = 1 if op == "add" else -1
        clear.watch(sign, elem, lambda: [p + factor * q for p, q in _pairs(a, b, elem)])
    return Secret(elem, shape, w)


def add(x: Secret, y: Secret) -> Secret:
    """``x + y``, wrapping."""
    return _simple("add", "+", x, y)


def sub(x: Secret, y: Secret) -> Secret:
    """``x - y``, wrapping."""
    return _simple("sub", "-", x, y)


def mul(x: Secret, y: Secret) -> Secret:
    """``x * y``, wrapping; of fixed-point numbers rounded down to the last place."""
    elem = x.elem
    refuse_bits(elem, "*")
    shape, a, b = _pair(x, y)
    target = current()
    if elem.frac:
        w = narrow(words.full_product(a, b, True), elem.frac, elem)
    elif target.checked:
        w, over = words.binary_checked("mulos" if elem.signed else "mulo", a, b)
        words.flag_overflow(over)
    elif a is b:
        w = words.unary("square", a)
    else:
        w = words.binary("mul", a, b)
    if target.clear:
        clear.watch("*", elem, lambda: [(p * q) >> elem.frac for p, q in _pairs(a, b, elem)])
    return Secret(elem, shape, w)


def narrow(exact: W, lo: int, elem: Scalar) -> W:
    """Bits ``lo ..`` of exact results in the width of ``elem``; flags those that do not fit."""
    if current().checked:
        words.flag_overflow(*words.unfit(words.slice_bits(exact, lo, exact.width - lo), elem.signed, elem.width, elem.signed))
    return words.slice_bits(exact, lo, elem.width)


def floor_divide(x: Secret, other: Any, sign: str) -> tuple[Secret, Secret]:
    """Quotient rounded down and remainder with the sign of the divisor, as Python's ``divmod``; ``sign`` tells which is wanted."""
    elem = x.elem
    refuse_bits(elem, sign)
    if elem.frac:
        raise compile_error(f"// and % on {elem}: write x / y, and convert with cn.Int[n](..) where you want whole numbers")
    if isinstance(other, int) and other > 0 and other & (other - 1) == 0:
        return _power_of_two(x, other)
    y = as_secret(other, elem, sign)
    shape, a, b = _pair(x, y)
    quotient, remainder = words.divide(a, b, elem.signed)
    target = current()
    if target.checked:
        words.flag_overflow(words.compare("eq", b, words.constant([0], b.width)))
        if elem.signed and sign != "%":
            # One quotient does not fit, that of the lowest number by -1: of two negative numbers, it is negative.
            signs = [words.slice_bits(part, elem.width - 1, 1) for part in (a, b, quotient)]
            words.flag_overflow(words.binary("and", words.binary("and", *signs[:2]), signs[2]))
    if elem.signed:
        quotient, remainder = _round_down(quotient, remainder, b)
    if target.clear:
        clear.watch(sign, elem, lambda: [(p % q if sign == "%" else p // q) if q else None for p, q in _pairs(a, b, elem)])
    return Secret(elem, shape, quotient), Secret(elem, shape, remainder)


def _power_of_two(x: Secret, divisor: int) -> tuple[Secret, Secret]:
    places, elem = divisor.bit_length() - 1, x.elem
    if divisor > elem.high:
        raise compile_error(f"{divisor} does not fit {elem} ({elem.bounds()})")
    if places == 0:
        return x.copy(), x - x
    quotient = words.shift("sar" if elem.signed else "shr", x.w, places)
    remainder = words.extend(words.slice_bits(x.w, 0, places), elem.width, False)
    return Secret(elem, x.shape, quotient), Secret(elem, x.shape, remainder)


def _round_down(quotient: W, remainder: W, divisor: W) -> tuple[W, W]:
    """From division that rounds towards zero: one less where there is a remainder and the signs differ."""
    width = quotient.width
    zero = words.constant([0], width)
    exact = words.compare("eq", remainder, zero)
    signs = words.binary("xor", words.slice_bits(remainder, width - 1, 1), words.slice_bits(divisor, width - 1, 1))
    # By zero the quotient is -1 and the remainder the dividend, whatever its sign.
    by_zero = words.compare("eq", divisor, zero)
    lower = words.binary("and", signs, words.unary("not", words.binary("or", exact, by_zero)))
    one = words.extend(lower, width, False)
    back = words.mux(lower, divisor, zero)
    return words.binary("sub", quotient, one), words.binary("add", remainder, back)


def true_divide(x: Secret, y: Secret) -> Secret:
    """``x / y`` of fixed-point numbers, rounded towards zero."""
    elem = x.elem
    if elem.kind != "fixed":
        raise compile_error(f"/ on {elem}: write // for whole numbers, or convert to cn.Fixed[i, f] first")
    shape, a, b = _pair(x, y)
    wide = elem.width + elem.frac
    dividend = words.shift("shl", words.extend(a, wide, True), elem.frac)
    quotient, _ = words.divide(dividend, words.extend(b, wide, True), True)
    w = narrow(quotient, 0, elem)
    target = current()
    if target.checked:
        words.flag_overflow(words.compare("eq", b, words.constant([0], b.width)))
    if target.clear:
        clear.watch("/", elem, lambda: [_toward_zero(p << elem.frac, q) for p, q in _pairs(a, b, elem)])
    return Secret(elem, shape, w)


def _toward_zero(p: int, q: int) -> int | None:
    if q == 0:
        return None
    return abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)


def power(x: Secret, exponent: Any) -> Secret:
    """``x ** exponent`` for a public exponent, by squaring."""
    if not isinstance(exponent, int) or isinstance(exponent, bool) or exponent < 0:
        raise compile_error(f"the exponent {exponent!r}: ** takes a public whole number from 0 on")
    refuse_bits(x.elem, "**")
    if exponent == 0:
        return constant(1, x.elem, x.shape)
    result: Secret | None = None
    base = x
    while True:
        if exponent & 1:
            result = base if result is None else mul(result, base)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result.copy()
        base = mul(base, base)


def negate(x: Secret) -> Secret:
    """``-x``, wrapping."""
    refuse_bits(x.elem, "-")
    elem, target = x.elem, current()
    if target.checked:
        zero = words.constant([0], elem.width)
        w, over = words.binary_checked("subos" if elem.signed else "subo", zero, x.w)
        words.flag_overflow(over)
    else:
        w = words.unary("neg", x.w)
    if target.clear:
        clear.watch("-", elem, lambda: [-n for n in _numbers(x.w, elem)])
    return Secret(elem, x.shape, w)


def absolute(x: Secret) -> Secret:
    """``abs(x)``; the smallest number stays as it is."""
    elem, target = x.elem, current()
    refuse_bits(elem, "abs")
    if not elem.signed:
        return x.copy()
    w = words.unary("abs", x.w)
    if target.checked:
        words.flag_overflow(words.slice_bits(w, elem.width - 1, 1))
    if target.clear:
        clear.watch("abs", elem, lambda: [abs(n) for n in _numbers(x.w, elem)])
    return Secret(elem, x.shape, w)


def logic(op: str, x: Secret, y: Secret) -> Secret:
    """``and``, ``or`` or ``xor``, bit by bit."""
    shape, a, b = _pair(x, y)
    return Secret(x.elem, shape, words.binary(op, a, b))


def compare(op: str, x: Secret, y: Secret) -> Secret:
    """``eq``, ``lt`` or ``le``."""
    shape, a, b = _pair(x, y)
    if x.elem.kind == "bool" and op != "eq":
        refuse_bits(x.elem, "an order")
    name = op + "s" if x.elem.signed and op != "eq" else op
    return Secret(Bit, shape, words.compare(name, a, b))


def shift(x: Secret, by: Any, left: bool) -> Secret:
    """``x << by`` or ``x >> by``; signed numbers keep their sign to the right."""
    sign = "<<" if left else ">>"
    refuse_bits(x.elem, sign)
    op = "shl" if left else ("sar" if x.elem.signed else "shr")
    if isinstance(by, Secret):
        if by.elem.kind != "uint":
            raise compile_error(f"{sign} by {by.elem}: take UInt[n] as the number of places")
        shape, a, b = _pair(x, by)
        return Secret(x.elem, shape, words.one(op + "by", (), (a, b), max(a.lanes, b.lanes), a.width))
    places = public_number(by, f"the number of places of {sign}")
    if places < 0:
        raise compile_error(f"{sign} by {places}: the number of places starts at 0")
    return Secret(x.elem, x.shape, words.shift(op, x.w, min(places, x.elem.width)))


def rotate(x: Secret, by: Any, left: bool) -> Secret:
    """The bits of each word, turned round."""
    refuse_bits(x.elem, "rotation")
    width = x.elem.width
    if isinstance(by, Secret):
        if by.elem.kind != "uint":
            raise compile_error(f"rotation by {by.elem}: take UInt[n] as the number of places")
        if not left:
            if width & (width - 1) or (1 << by.elem.width) % width:
                raise compile_error(f"rotr of {x.elem} by a secret {by.elem}: turn to the left by width - places instead")
            by = Secret(by.elem, by.shape, words.unary("neg", by.w))
        shape, a, b = _pair(x, by)
        return Secret(x.elem, shape, words.one("rotlby", (), (a, b), max(a.lanes, b.lanes), width))
    places = public_number(by, "the number of places of a rotation") % width
    return Secret(x.elem, x.shape, words.shift("rotl", x.w, places if left else (width - places) % width))


def matmul(x: Secret, y: Secret, elem: Scalar | None = None) -> Secret:
    """The matrix product; of vectors as NumPy has it. ``elem`` is the type of the result."""
    refuse_bits(x.elem, "@")
    if x.ndim not in (1, 2) or y.ndim not in (1, 2):
        raise compile_error(f"@ on shapes {x.shape} and {y.shape}: matrices and vectors alone; map over the other axes with cn.map")
    rows, inner = (1, x.shape[0]) if x.ndim == 1 else x.shape
    below, cols = (y.shape[0], 1) if y.ndim == 1 else y.shape
    if inner != below:
        raise compile_error(f"@ on shapes {x.shape} and {y.shape}: {inner} columns meet {below} rows")
    out = elem or x.elem
    shape = x.shape[:-1] + (y.shape[1:] if y.ndim == 2 else ())
    exact_width = 2 * x.elem.width + max(inner - 1, 0).bit_length()
    exactly = bool(out.frac) or current().checked or out.width > exact_width
    width = exact_width if exactly else out.width
    w = words.one("matmul", (rows, inner, width, int(x.elem.signed)), (x.w, y.w), rows * cols, width)
    if exactly:
        if exact_width - x.elem.frac < out.width:
            w = words.extend(w, out.width + x.elem.frac, x.elem.signed)
        w = narrow(w, x.elem.frac, out)
    if current().clear:
        clear.watch("@", out, lambda: _products(x, y, rows, inner, cols))
    return Secret(out, shape, w)


def _products(x: Secret, y: Secret, rows: int, inner: int, cols: int) -> list[int]:
    a, b = _numbers(x.w, x.elem), _numbers(y.w, y.elem)
    return [sum(a[r * inner + k] * b[k * cols + c] for k in range(inner)) >> x.elem.frac for r in range(rows) for c in range(cols)]
