"""Vectors of words, and the operations of the program format on them.

A traced function calls these; the *target* that is active decides what happens: the recorder writes the operation into a
program, the clear target computes it with Python integers, the rehearsal only keeps track of shapes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ._errors import compile_error


class Scope:
    """A block of a program. Its values can be used while it is open, and in the blocks inside it."""

    __slots__ = ("parent", "what", "why_fixed", "why_not", "why_silent")

    def __init__(self, what: str, parent: Scope | None = None, *, why_not: str = "", why_fixed: str = "", why_silent: str = "") -> None:
        self.what, self.parent = what, parent
        #: Why values of this block cannot be used now; empty while they can.
        self.why_not = why_not
        #: Why this block changes no array of the blocks around it, and why it reveals nothing; empty if it may.
        self.why_fixed, self.why_silent = why_fixed, why_silent


class W:
    """``lanes`` words of ``width`` bits in a scope of a target, which alone knows what ``ref`` is.

    ``public`` words are known to both parties while the program runs: constants, what was revealed, and what follows.
    """

    __slots__ = ("lanes", "origin", "public", "ref", "scope", "width")

    def __init__(self, ref: Any, lanes: int, width: int, scope: Scope, public: bool = False) -> None:
        self.ref, self.lanes, self.width, self.scope, self.public = ref, lanes, width, scope, public
        #: What has the same bits in other words, if this was made by ``reshape``.
        self.origin: W | None = None


class LoopVariable:
    """The counter of one loop, from 0 to ``trips - 1``."""

    __slots__ = ("ref", "scope", "trips")

    def __init__(self, ref: Any, trips: int, scope: Scope) -> None:
        self.ref, self.trips, self.scope = ref, trips, scope


#: ``constant + sum of coefficient * loop variable``.
Affine = tuple[int, tuple[tuple[LoopVariable, int], ...]]


class Target:
    """What becomes of operations."""

    #: Whether values are known while the function runs.
    clear = False

    def __init__(self, what: str) -> None:
        self.scope = Scope(what)
        #: How many ``checked`` blocks are open.
        self.checked = 0
        #: Whether the program has an output that says whether anything overflowed.
        self.watches = False
        #: One bit per scope that watches overflow: whether any operation under ``checked`` wrapped.
        self.overflow: W | None = None
        #: Arrays of the blocks around that the present block has changed, and what they were, see :meth:`Secret.remember`.
        self.changed: dict[int, Any] = {}
        #: Whose inputs the words of whole inputs are, by the identities of the words, which are kept so that no others get them.
        self.owners: dict[int, tuple[W, str]] = {}

    def input(self, x: W, owner: str) -> W:
        """Words that are a whole input of this owner."""
        self.owners[id(x)] = (x, owner)
        return x

    def emit(self, op: str, attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> Sequence[Any]:
        """The references of the results, whose lanes and widths are ``shapes``."""
        raise NotImplementedError

    def constant(self, numbers: Sequence[int], width: int) -> Any:
        """A reference to public words."""
        raise NotImplementedError

    def zeros(self, lanes: int, width: int) -> Any:
        """A reference to public zeros that is no other's."""
        return self.constant([0] * lanes, width)

    def lanes(self, at: Affine, count: int, stride: int, x: W) -> Any:
        """Lanes ``at, at + stride, ..`` of ``x``."""
        raise NotImplementedError

    def put(self, at: Affine, x: W, y: W) -> Any:
        """``x`` with the lanes from ``at`` on replaced by ``y``."""
        raise NotImplementedError

    def reveal(self, x: W) -> Any:
        """``x``, known to both parties from here on."""
        raise NotImplementedError

    @contextmanager
    def block(self, what: str, *, sealed: bool = False, why_fixed: str = "", why_silent: str = "") -> Iterator[Scope]:
        """Opens a scope inside the present one; a sealed one sees nothing of those around it.

        What it changes of arrays from around it is undone when it ends.
        """
        outer, changed = self.scope, self.changed
        around: list[Scope] = [scope for scope in _chain(outer) if not scope.why_not] if sealed else []
        for scope in around:
            why_fixed = scope.why_not = f"it was made outside of {what}, which sees its arguments alone: pass it as an argument"
        inner = Scope(what, outer, why_fixed=why_fixed, why_silent=why_silent)
        self.scope, self.changed = inner, {}
        try:
            yield inner
        finally:
            inner.why_not = (
                f"it was made inside of {what}, which has ended: assign it to a variable that the {_kind(what)} carries out, or return it"
            )
            for array, w, kin in self.changed.values():
                array.w, array.kin = w, kin
            self.scope, self.changed = outer, changed
            for scope in around:
                scope.why_not = ""

    def check_changes(self, home: Scope) -> None:
        """Refuses changes of an array that was made in ``home``, where a block in between makes none."""
        for scope in _chain(self.scope):
            if scope is home:
                return
            if scope.why_fixed:
                raise compile_error(scope.why_fixed)


def _chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _kind(what: str) -> str:
    return what.removeprefix("a ").split(" ", 1)[0]


class Rehearsal(Target):
    """Runs a block for the types of its results alone."""

    def __init__(self, around: Target) -> None:
        super().__init__("rehearsal")
        self.scope.parent = around.scope
        #: Whether values are known when the block runs.
        self.of_clear: bool = around.clear or (isinstance(around, Rehearsal) and around.of_clear)
        self.checked, self.overflow = around.checked, around.overflow
        self.watches, self.owners = around.watches, around.owners

    def emit(self, op: str, attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> Sequence[Any]:
        return [None] * len(shapes)

    def constant(self, numbers: Sequence[int], width: int) -> Any:
        return None

    def lanes(self, at: Affine, count: int, stride: int, x: W) -> Any:
        return None

    def put(self, at: Affine, x: W, y: W) -> Any:
        return None

    def reveal(self, x: W) -> Any:
        return None


class _State(threading.local):
    target: Target | None = None


_state = _State()


def active() -> Target | None:
    """The target that operations go to, if a program is being traced."""
    return _state.target


def current() -> Target:
    """The target that operations go to."""
    target = _state.target
    if target is None:
        raise compile_error("secret values exist only while a program runs: call this inside a function decorated with @cn.program")
    return target


@contextmanager
def tracing(target: Target) -> Iterator[Target]:
    """Makes ``target`` the current one."""
    outer, _state.target = _state.target, target
    try:
        yield target
    finally:
        _state.target = outer


def _usable(x: W) -> W:
    if x.scope.why_not:
        raise compile_error(f"this value cannot be used here: {x.scope.why_not}")
    return x


def close(target: Target, why: str = "it belongs to a program that is finished") -> None:
    """Ends the outermost scope of a target."""
    target.scope.why_not = why


def emit(op: str, attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> list[W]:
    """One operation of the format, whose results have the lanes and widths ``shapes``."""
    target = _state.target or current()
    public = True
    for x in args:
        public = public and x.public
        if x.scope.why_not:
            _usable(x)
    scope = target.scope
    refs = target.emit(op, attrs, args, shapes)
    return [W(ref, lanes, width, scope, public) for ref, (lanes, width) in zip(refs, shapes)]


def one(op: str, attrs: Sequence[int], args: Sequence[W], lanes: int, width: int) -> W:
    """An operation with one result."""
    return emit(op, attrs, args, ((lanes, width),))[0]


def constant(numbers: Sequence[int], width: int) -> W:
    """Public words; each number is taken modulo ``2^width``."""
    target = current()
    mask = (1 << width) - 1
    ref = target.constant([number & mask for number in numbers], width)
    return W(ref, len(numbers), width, target.scope, public=True)


def zeros(lanes: int, width: int) -> W:
    """Public zeros, which nothing else names."""
    target = current()
    return W(target.zeros(lanes, width), lanes, width, target.scope, public=True)


def unary(op: str, x: W) -> W:
    """An operation that keeps the shape."""
    return one(op, (), (x,), x.lanes, x.width)


def binary(op: str, x: W, y: W) -> W:
    """An elementwise operation on equal widths; one lane meets any number."""
    return one(op, (), (x, y), max(x.lanes, y.lanes), x.width)


def binary_checked(op: str, x: W, y: W) -> tuple[W, W]:
    """``addo`` and its like: the wrapped result and a bit that says whether it wrapped."""
    lanes = max(x.lanes, y.lanes)
    value, over = emit(op, (), (x, y), ((lanes, x.width), (lanes, 1)))
    return value, over


def compare(op: str, x: W, y: W) -> W:
    """``eq``, ``lt``, ``lts``, ``le`` or ``les``."""
    return one(op, (), (x, y), max(x.lanes, y.lanes), 1)


def full_product(x: W, y: W, signed: bool) -> W:
    """The product in twice the width."""
    return one("mulfulls" if signed else "mulfull", (), (x, y), max(x.lanes, y.lanes), 2 * x.width)


def divide(x: W, y: W, signed: bool) -> tuple[W, W]:
    """Quotient, rounded towards zero, and remainder."""
    lanes = max(x.lanes, y.lanes)
    quotient, remainder = emit("divrems" if signed else "divrem", (), (x, y), ((lanes, x.width),) * 2)
    return quotient, remainder


def mux(select: W, x: W, y: W) -> W:
    """``x`` where ``select``, else ``y``."""
    return one("mux", (), (select, x, y), max(select.lanes, x.lanes, y.lanes), x.width)


def slice_bits(x: W, lo: int, width: int) -> W:
    """Bits ``lo .. lo + width`` of each word."""
    if lo == 0 and width == x.width:
        return x
    return one("slice", (lo, width), (x,), x.lanes, width)


def concat(parts: Sequence[W]) -> W:
    """Words side by side, the first at the least significant end."""
    if len(parts) == 1:
        return parts[0]
    lanes = max(part.lanes for part in parts)
    return one("concat", (), parts, lanes, sum(part.width for part in parts))


def extend(x: W, width: int, signed: bool) -> W:
    """The same numbers in ``width`` bits: extended by zeros or by the sign, or cut."""
    if width <= x.width:
        return slice_bits(x, 0, width)
    return one("sext" if signed else "zext", (width,), (x,), x.lanes, width)


def shift(op: str, x: W, by: int) -> W:
    """``shl``, ``shr``, ``sar`` or ``rotl`` by a public number of places."""
    if by >= x.width:
        if op in ("shl", "shr"):
            return constant([0] * x.lanes, x.width)
        by = x.width - 1 if op == "sar" else by % x.width
    return one(op, (by,), (x,), x.lanes, x.width) if by else x


def take(x: W, at: Affine, count: int, stride: int = 1) -> W:
    """Lanes ``at, at + stride, ..``."""
    if at == (0, ()) and count == x.lanes and stride == 1:
        return x
    target = current()
    _usable(x)
    return W(target.lanes(at, count, stride, x), count, x.width, target.scope, x.public and not at[1])


def put(x: W, at: Affine, y: W) -> W:
    """``x`` with the lanes from ``at`` on replaced by those of ``y``."""
    if at == (0, ()) and y.lanes == x.lanes:
        return y
    target = current()
    _usable(x)
    _usable(y)
    return W(target.put(at, x, y), x.lanes, x.width, target.scope, x.public and y.public and not at[1])


def gather(x: W, indices: Sequence[int]) -> W:
    """Lanes by number, in any order, as often as wanted."""
    steps = progression(indices)
    if steps is not None:
        return take(x, (steps[0], ()), len(indices), steps[1])
    return one("gather", indices, (x,), len(indices), x.width)


def progression(indices: Sequence[int]) -> tuple[int, int] | None:
    """First element and step, if the numbers are evenly spaced and differ."""
    if not indices:
        return None
    first = indices[0]
    step = indices[1] - first if len(indices) > 1 else 1
    if step == 0:
        return None
    same = isinstance(indices, range) or all(index == first + k * step for k, index in enumerate(indices))
    return (first, step) if same else None


def join(parts: Sequence[W]) -> W:
    """The lanes of one after those of the other."""
    if len(parts) == 1:
        return parts[0]
    return one("join", (), parts, sum(part.lanes for part in parts), parts[0].width)


def tile(x: W, times: int) -> W:
    """All lanes, then all lanes again, ``times`` times."""
    return one("tile", (times,), (x,), x.lanes * times, x.width) if times != 1 else x


def repeat(x: W, times: int) -> W:
    """Each lane ``times`` times."""
    return one("repeat", (times,), (x,), x.lanes * times, x.width) if times != 1 else x


def reshape(x: W, lanes: int, width: int) -> W:
    """The same bits cut into other words."""
    if width == x.width:
        return x
    _usable(x)
    source = x if x.origin is None else x.origin
    if width == source.width:
        return source
    made = one("reshape", (lanes, width), (source,), lanes, width)
    made.origin = source
    return made


def over(op: str, attrs: Sequence[int], x: W, groups: int, width: int) -> W:
    """An operation over the lanes of each group."""
    return one(op, attrs, (x,), groups, width)


def reveal(x: W) -> W:
    """``x``, known to both parties from here on."""
    target = current()
    _usable(x)
    for scope in _chain(target.scope):
        if scope.why_silent:
            raise compile_error(scope.why_silent)
    return W(target.reveal(x), x.lanes, x.width, target.scope, public=True)


def unfit(x: W, is_signed: bool, width: int, signed: bool) -> list[W]:
    """Whether numbers do not fit so many bits, the highest a sign if ``signed``: one bit each, or none where all fit."""
    if signed and not is_signed:
        width -= 1
    if is_signed and not signed:
        # Numbers below zero do not fit, and those above come with zeros on top.
        width = min(width, x.width - 1)
    if width >= x.width:
        return []
    if not (is_signed and signed):
        return [unary("not", compare("eq", slice_bits(x, width, x.width - width), constant([0], x.width - width)))]
    # The sign, and copies of it.
    top = slice_bits(x, width, x.width - width)
    return [unary("not", compare("eq", top, extend(slice_bits(x, width - 1, 1), top.width, True)))]


def flag_overflow(*flags: W) -> None:
    """Adds to the overflow bit of the program."""
    target = current()
    if isinstance(target, Rehearsal):
        return
    for bits in flags:
        found = bits if bits.lanes == 1 else over("ror", (1,), bits, 1, 1)
        target.overflow = found if target.overflow is None else binary("or", target.overflow, found)
