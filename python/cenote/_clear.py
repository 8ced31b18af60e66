"""The clear target: the operations of the program format on Python integers, written from its description alone.

It is the reference that compiled programs are compared with, and it knows where numbers overflow.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._errors import InternalError, place
from ._packing import pack, unpack
from ._types import Scalar
from ._words import Affine, Target, W, current

Lanes = list[int]


class Overflow:
    """A place of the program where results did not fit their type, and how often."""

    __slots__ = ("count", "first", "operation", "place", "problem")

    def __init__(self, operation: str, problem: str, where: str, first: str) -> None:
        self.operation, self.problem, self.place, self.first = operation, problem, where, first
        self.count = 0

    def __str__(self) -> str:
        """Without any value, which logs shall not have."""
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.operation} {self.problem} {times} at {self.place}"

    def __repr__(self) -> str:
        return f"{self}, first {self.first}"


class Clear(Target):
    """Runs a function on values."""

    clear = True

    def __init__(self) -> None:
        super().__init__("clear run")
        self.overflows: dict[tuple[str, str, str], Overflow] = {}

    def emit(self, op: str, attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> Sequence[Any]:
        results: list[Lanes] = _OPS[op](attrs, args, shapes)
        for lanes, (count, width) in zip(results, shapes):
            if len(lanes) != count or any(word >> width for word in lanes):
                raise InternalError(f"clear {op} gave {len(lanes)} lanes, not {count} of {width} bits")
        return results

    def constant(self, numbers: Sequence[int], width: int) -> Any:
        return list(numbers)

    def lanes(self, at: Affine, count: int, stride: int, x: W) -> Any:
        first = at[0]
        return [x.ref[first + k * stride] for k in range(count)]

    def put(self, at: Affine, x: W, y: W) -> Any:
        first = at[0]
        return x.ref[:first] + y.ref + x.ref[first + y.lanes :]

    def reveal(self, x: W) -> Any:
        return x.ref

    def watch(self, operation: str, exact: Sequence[int | None], elem: Scalar) -> None:
        """Notes those results of an operation that do not fit the type; of fixed point they are in its last places.

        ``None`` stands for a division by zero.
        """
        for lane, number in enumerate(exact):
            if number is None:
                self._note(operation, "divides by zero", f"in lane {lane}")
                continue
            if elem.low <= number <= elem.high:
                continue
            shown = str(number) if number.bit_length() <= 128 else f"a number of {number.bit_length()} bits"
            if elem.frac and number.bit_length() <= 128:
                shown = f"{number / (1 << elem.frac):.15g}"
            self._note(operation, "does not fit", f"with {shown} in lane {lane}")

    def watch_places(self, places: Sequence[int], size: int) -> None:
        """Notes those places that are beyond the end of an array with ``size`` items."""
        for lane, number in enumerate(places):
            if number >= size:
                self._note("an index", "is beyond the end", f"with {number} of {size} items in lane {lane}")

    def note_lost(self) -> None:
        """Notes that a map had no room for an entry that it should have room for."""
        self._note("a hashed map", "is full", "in its stash")

    def _note(self, operation: str, problem: str, first: str) -> None:
        where = place()
        note = self.overflows.setdefault((operation, problem, where), Overflow(operation, problem, where, first))
        note.count += 1


def watch(operation: str, elem: Scalar, exact: Callable[[], Sequence[int | None]]) -> None:
    """In a clear run, looks for results that do not fit; ``exact`` gives them."""
    target: Clear = current()  # type: ignore[assignment]
    target.watch(operation, exact(), elem)


def signed(word: int, width: int) -> int:
    """The number that a word means in two's complement."""
    return word - (1 << width) if word >> (width - 1) else word


def numbers(x: W, is_signed: bool) -> Lanes:
    """The numbers in a vector of the clear target."""
    if not is_signed:
        return list(x.ref)
    return [signed(word, x.width) for word in x.ref]


def pairs(x: Lanes, y: Lanes) -> list[tuple[int, int]]:
    """The operands of an elementwise operation, lane by lane."""
    n = max(len(x), len(y))
    if len(x) != n:
        x = x * n
    if len(y) != n:
        y = y * n
    return list(zip(x, y))


def _word(function: Callable[[int, int], int], is_signed: bool = False) -> Callable[..., list[Lanes]]:
    """An elementwise operation on one or two vectors; the result is cut to its width."""

    def run(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        mask = (1 << shapes[0][1]) - 1
        x = numbers(args[0], is_signed)
        if len(args) == 1:
            return [[function(a, args[0].width) & mask for a in x]]
        return [[function(a, b) & mask for a, b in pairs(x, numbers(args[1], is_signed))]]

    return run


def _reporting(function: Callable[[int, int], int], is_signed: bool) -> Callable[..., list[Lanes]]:
    def run(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        width = shapes[0][1]
        mask = (1 << width) - 1
        exact = [function(a, b) for a, b in pairs(numbers(args[0], is_signed), numbers(args[1], is_signed))]
        values = [number & mask for number in exact]
        back = [signed(word, width) if is_signed else word for word in values]
        return [values, [int(a != b) for a, b in zip(exact, back)]]

    return run


def _truncated(x: int, y: int) -> tuple[int, int]:
    if y == 0:
        return -1, x
    quotient = abs(x) // abs(y)
    if (x < 0) != (y < 0):
        quotient = -quotient
    return quotient, x - quotient * y


def _divide(is_signed: bool) -> Callable[..., list[Lanes]]:
    def run(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        mask = (1 << shapes[0][1]) - 1
        operands = pairs(numbers(args[0], is_signed), numbers(args[1], is_signed))
        both = [_truncated(x, y) for x, y in operands]
        return [[q & mask for q, _ in both], [r & mask for _, r in both]]

    return run


def _shift(function: Callable[[int, int, int], int]) -> Callable[..., list[Lanes]]:
    """Shifts by a public number (an attribute) or by a secret one (a second vector)."""

    def run(attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        width = shapes[0][1]
        mask = (1 << width) - 1
        by = args[1].ref if len(args) > 1 else [attrs[0]]
        return [[function(a, b, width) & mask for a, b in pairs(args[0].ref, by)]]

    return run


def _rotate(x: int, by: int, width: int) -> int:
    by %= width
    return (x << by) | (x >> (width - by))


def _left(x: int, by: int, width: int) -> int:
    return x << by if by < width else 0


def _sar(x: int, by: int, width: int) -> int:
    return signed(x, width) >> min(by, width)


def groups_of(x: Lanes, groups: int) -> list[Lanes]:
    """The lanes of each of so many groups."""
    size = len(x) // groups
    return [x[k * size : (k + 1) * size] for k in range(groups)]


def _over(function: Callable[[Lanes], int], is_signed: bool = False) -> Callable[..., list[Lanes]]:
    """One result for each group of lanes; the number of groups is the last attribute."""

    def run(attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        mask = (1 << shapes[0][1]) - 1
        return [[function(group) & mask for group in groups_of(numbers(args[0], is_signed), attrs[-1])]]

    return run


def _arg(choose: Callable[[Lanes], int], is_signed: bool) -> Callable[..., list[Lanes]]:
    def run(attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        mask = (1 << args[0].width) - 1
        lanes = numbers(args[0], is_signed)
        best = choose(lanes)
        return [[lanes.index(best)], [best & mask]]

    return run


def _fold(function: Callable[[int, int], int]) -> Callable[[Lanes], int]:
    def run(group: Lanes) -> int:
        total = group[0]
        for word in group[1:]:
            total = function(total, word)
        return total

    return run


def _sorting(op: str) -> Callable[..., list[Lanes]]:
    """``sort``, or ``topk`` with the number of rows as its first attribute."""

    def run(attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
        lo, key_width, is_signed, descending = attrs[-4:]
        mask = (1 << key_width) - 1

        def key(word: int) -> int:
            part = (word >> lo) & mask
            return signed(part, key_width) if is_signed else part

        ordered = sorted(args[0].ref, key=key, reverse=bool(descending))
        ambiguous = any(key(a) == key(b) and a != b for a, b in itertools.pairwise(ordered))
        best = ordered[: shapes[0][0]]
        if not ambiguous:
            return [best]
        found = _by_engine(op, attrs, args[0], len(best))
        if list(map(key, found)) != list(map(key, best)) or collections.Counter(found) - collections.Counter(ordered):
            raise InternalError(f"{op} of the engine gave rows that are no sort of the given ones; please report the program")
        return [found]

    return run


def _by_engine(op: str, attrs: Sequence[int], rows: W, count: int) -> Lanes:
    """The format leaves the order of different rows with equal keys to who runs it: it is asked for here."""
    builder = _native.Builder(op, "")
    given = builder.input([("rows", [rows.lanes])], "garbler", "bits", 0, rows.width)
    builder.output([("sorted", [count])], "garbler", "bits", 0, builder.word(op, attrs, [given])[0])
    return unpack(builder.finish().evaluate([pack(rows.ref, rows.width)], {})[0][0], rows.width)


def _matmul(attrs: Sequence[int], args: Sequence[W], _: Sequence[tuple[int, int]]) -> list[Lanes]:
    rows, inner, width, is_signed = attrs
    a, b = numbers(args[0], bool(is_signed)), numbers(args[1], bool(is_signed))
    cols = len(b) // inner
    mask = (1 << width) - 1
    return [[sum(a[r * inner + k] * b[k * cols + c] for k in range(inner)) & mask for r in range(rows) for c in range(cols)]]


def _mux(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
    n = shapes[0][0]
    wide = [arg.ref if arg.lanes == n else arg.ref * n for arg in args]
    return [[a if s else b for s, a, b in zip(*wide)]]


def _concat(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
    result, at = [0] * shapes[0][0], 0
    for arg in args:
        result = [total | (word << at) for total, word in pairs(result, arg.ref)]
        at += arg.width
    return [result]


def _reshape(_: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[Lanes]:
    (lanes, width), old = shapes[0], args[0].width
    if old % width == 0:
        mask = (1 << width) - 1
        return [[(word >> at) & mask for word in args[0].ref for at in range(0, old, width)]]
    bits = 0
    for at, word in enumerate(args[0].ref):
        bits |= word << (at * old)
    return [[(bits >> (k * width)) & ((1 << width) - 1) for k in range(lanes)]]


def _store(_: Sequence[int], args: Sequence[W], __: Sequence[tuple[int, int]]) -> list[Lanes]:
    table, index, value, enable = (arg.ref for arg in args)
    result = list(table)
    if enable[0] and index[0] < len(result):
        result[index[0]] = value[0]
    return [result]


def _lookup(_: Sequence[int], args: Sequence[W], __: Sequence[tuple[int, int]]) -> list[Lanes]:
    table = args[0].ref
    return [[table[index] if index < len(table) else 0 for index in args[1].ref]]


_OPS: dict[str, Callable[..., list[Lanes]]] = {
    "slice": lambda a, x, s: [[(word >> a[0]) & ((1 << a[1]) - 1) for word in x[0].ref]],
    "concat": _concat,
    "zext": lambda a, x, s: [list(x[0].ref)],
    "sext": lambda a, x, s: [[signed(word, x[0].width) & ((1 << a[0]) - 1) for word in x[0].ref]],
    "shl": _shift(_left),
    "shr": _shift(lambda x, by, _: x >> by),
    "sar": _shift(_sar),
    "rotl": _shift(_rotate),
    "shlby": _shift(_left),
    "shrby": _shift(lambda x, by, width: x >> min(by, width)),
    "sarby": _shift(_sar),
    "rotlby": _shift(_rotate),
    "gather": lambda a, x, s: [[x[0].ref[index] for index in a]],
    "join": lambda a, x, s: [[word for part in x for word in part.ref]],
    "tile": lambda a, x, s: [x[0].ref * a[0]],
    "repeat": lambda a, x, s: [[word for word in x[0].ref for _ in range(a[0])]],
    "reshape": _reshape,
    "transpose": lambda a, x, s: [[word for c in range(x[0].lanes // a[0]) for word in x[0].ref[c :: x[0].lanes // a[0]]]],
    "xor": _word(lambda x, y: x ^ y),
    "and": _word(lambda x, y: x & y),
    "or": _word(lambda x, y: x | y),
    "not": _word(lambda x, _: ~x),
    "mux": _mux,
    "add": _word(lambda x, y: x + y),
    "sub": _word(lambda x, y: x - y),
    "neg": _word(lambda x, _: -x),
    "mul": _word(lambda x, y: x * y),
    "square": _word(lambda x, _: x * x),
    "min": _word(min),
    "max": _word(max),
    "mins": _word(min, True),
    "maxs": _word(max, True),
    "abs": _word(lambda x, _: abs(x), True),
    "mulfull": _word(lambda x, y: x * y),
    "mulfulls": _word(lambda x, y: x * y, True),
    "squarefull": _word(lambda x, _: x * x),
    "divrem": _divide(False),
    "divrems": _divide(True),
    "isqrt": _word(lambda x, _: math.isqrt(x)),
    "popcount": _word(lambda x, _: bin(x).count("1")),
    "lzcnt": _word(lambda x, width: width - x.bit_length()),
    "addo": _reporting(lambda x, y: x + y, False),
    "addos": _reporting(lambda x, y: x + y, True),
    "subo": _reporting(lambda x, y: x - y, False),
    "subos": _reporting(lambda x, y: x - y, True),
    "mulo": _reporting(lambda x, y: x * y, False),
    "mulos": _reporting(lambda x, y: x * y, True),
    "eq": _word(lambda x, y: int(x == y)),
    "lt": _word(lambda x, y: int(x < y)),
    "le": _word(lambda x, y: int(x <= y)),
    "lts": _word(lambda x, y: int(x < y), True),
    "les": _word(lambda x, y: int(x <= y), True),
    "sum": _over(sum),
    "sums": _over(sum, True),
    "rand": _over(_fold(lambda x, y: x & y)),
    "ror": _over(_fold(lambda x, y: x | y)),
    "rxor": _over(_fold(lambda x, y: x ^ y)),
    "argmin": _arg(min, False),
    "argmax": _arg(max, False),
    "argmins": _arg(min, True),
    "argmaxs": _arg(max, True),
    "sort": _sorting("sort"),
    "topk": _sorting("topk"),
    "matmul": _matmul,
    "lookup": _lookup,
    "store": _store,
}
