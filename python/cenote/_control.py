"""Loops, maps, branches and functions that stay what they are in the program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from . import _native, _tree
from . import _words as words
from ._convert import constant, full
from ._effects import unchanged
from ._errors import CompileError, compile_error, plain_name
from ._recorder import Recorder
from ._types import Bit, lanes_of
from ._values import Index, Secret
from ._words import LoopVariable, Rehearsal, Target, W, current


class Unset:
    """What a variable is before its first assignment."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _complain(self, *_: Any) -> NoReturn:
        raise compile_error(f"`{self.name}` has no value when the loop begins: assign one before it, as in {self.name} = cn.zeros(..)")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _complain
    __xor__ = __rxor__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __setitem__ = __bool__ = __index__ = _complain
    __invert__ = __neg__ = __len__ = __iter__ = __call__ = _complain


class range:
    """The rounds of a loop that stays a loop in the program: ``for i in cn.range(n):`` in a decorated function.

    Arguments are as those of Python's ``range``. Variables that the body assigns, and that are read in the next round or
    after the loop, are carried from round to round; each keeps its type. ``i`` is public and may be used in indices.
    """

    def __init__(self, start: int, stop: int | None = None, step: int = 1) -> None:
        import builtins

        for part in (start, stop, step):
            if isinstance(part, (Secret, Index)):
                raise compile_error(
                    "the number of rounds must be a public number that is known while the program is written: take the "
                    "largest, and use cn.where inside"
                )
        self.rounds = builtins.range(start) if stop is None else builtins.range(start, stop, step)

    def __len__(self) -> int:
        return len(self.rounds)

    def __iter__(self) -> Iterator[Any]:
        raise compile_error(
            "cn.range makes a loop only as `for i in cn.range(..):` inside a function whose source is at hand and that is decorated "
            "with @cn.program, @cn.function or @cn.inline; elsewhere use cn.fold, cn.map, or Python's range, which unrolls"
        )

    def index(self, variable: LoopVariable) -> Any:
        """The value of the loop variable."""
        if len(self.rounds) == 1:
            return self.rounds.start
        return Index(self.rounds.start, ((variable, self.rounds.step),))


def loop(
    rounds: Any, body: Callable[..., tuple[Any, ...]], names: tuple[str, ...], getters: tuple[Callable[[], Any], ...]
) -> tuple[Any, ...]:
    """What ``for i in cn.range(..)`` becomes: ``body`` takes the loop variable and the carried variables."""
    if not isinstance(rounds, range):
        raise CompileError("this loop was written with cn.range, which gave something else")
    before = tuple(_get(getter, name) for getter, name in zip(getters, names))
    if not len(rounds):
        return before
    target = current()
    with unchanged("a loop of cn.range", body):
        if target.clear:
            return _loop_clear(rounds, body, names, before)
        if any(_needs_type(value) for value in before):
            before = _loop_types(rounds, body, names, before)
        if isinstance(target, Rehearsal):
            return _rehearsed(rounds, body, names, before)
        assert isinstance(target, Recorder)
        return _loop_recorded(target, rounds, body, names, before)


def _get(getter: Callable[[], Any], name: str) -> Any:
    try:
        return getter()
    except NameError:
        return Unset(name)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (bool, int, float, list)) or type(value).__module__ == "numpy" or type(value).__name__ in ("Decimal", "Fraction")
    )


def _needs_type(value: Any) -> bool:
    """Whether some leaf gets its type from what the body makes of it."""
    return any(isinstance(leaf, Unset) or _is_number(leaf) for _, leaf in _tree.walk(value))


def _loop_clear(rounds: range, body: Callable[..., tuple[Any, ...]], names: tuple[str, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    state = tuple(_copied(value) for value in before)
    for k in rounds.rounds:
        after = body(k, *state)
        if len(rounds) > 1:
            state = tuple(_unified(old, new, name) for old, new, name in zip(state, after, names))
            after = tuple(_coerced(old, new, name) for old, new, name in zip(state, after, names))
        state = tuple(_copied(value) for value in after)
    return state


def _copied(value: Any) -> Any:
    """Fresh handles on the same words, so that a change of an array inside the block is the block's own."""
    scope = current().scope

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, Secret):
            return leaf
        fresh = Secret(leaf.elem, leaf.shape, leaf.w)
        fresh.home = scope
        return fresh

    return _tree.rebuild(value, copy)


def _dummy(rounds: range, target: Target) -> Any:
    return rounds.index(LoopVariable(None, len(rounds), target.scope))


def _rehearsed(rounds: range, body: Callable[..., tuple[Any, ...]], names: tuple[str, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    target = current()
    with target.block("a loop of cn.range"):
        after = body(_dummy(rounds, target), *(_inside(value, target) for value in before))
        for old, new, name in zip(before, after, names):
            _coerced(old, new, name)
    return tuple(_inside(value, target) for value in before)


def _inside(value: Any, target: Target) -> Any:
    """The same structure with words of the present scope, in a rehearsal."""
    return _tree.rebuild(
        value,
        lambda leaf: Secret(leaf.elem, leaf.shape, W(None, leaf.w.lanes, leaf.w.width, target.scope)) if isinstance(leaf, Secret) else leaf,
    )


def _loop_types(rounds: range, body: Callable[..., tuple[Any, ...]], names: tuple[str, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """Plain starting values in the types that the body gives them, found by one rehearsal of it."""
    around = current()
    with words.tracing(Rehearsal(around)) as target, target.block("a loop of cn.range"):
        after = body(_dummy(rounds, target), *(_inside(value, target) for value in before))
        types = [_unified(old, new, name, rehearsal=True) for old, new, name in zip(before, after, names)]
    return tuple(_typed(value, of, name) for value, of, name in zip(before, types, names))


def _unified(old: Any, new: Any, name: str, rehearsal: bool = False) -> Any:
    """``old`` with its plain numbers turned into secrets where ``new`` has secrets (in a rehearsal: ``new``'s types)."""
    if isinstance(old, (Secret, Unset)):
        return old if isinstance(old, Secret) else new
    if isinstance(new, Secret) and not isinstance(old, Secret) and _fits(old):
        return new if rehearsal else _as_type(old, new, name)
    olds, news = list(_tree.walk(old)), list(_tree.walk(new))
    if [path for path, _ in olds] != [path for path, _ in news] or (_tree._is_leaf(old) and _tree._is_leaf(new)):
        return old
    fresh = iter([_unified(a, b, f"{name}.{path}", rehearsal) for (path, a), (_, b) in zip(olds, news)])
    return _tree.rebuild(old, lambda _: next(fresh))


def _fits(old: Any) -> bool:
    return all(_is_number(leaf) for _, leaf in _tree.walk(old))


def _as_type(old: Any, like: Secret, name: str) -> Secret:
    start = constant(old, like.elem)
    w = full(start, like.shape)
    if w.lanes != lanes_of(like.shape):
        raise compile_error(f"`{name}` starts with shape {start.shape} and has {like.shape} after a round")
    return Secret(like.elem, like.shape, w)


def _typed(value: Any, of: Any, name: str) -> Any:
    """``value`` with the types found in a rehearsal."""
    if isinstance(value, Unset):
        if not _tree.secrets(of):
            return of
        return _tree.rebuild(
            of,
            lambda leaf: (
                Secret(leaf.elem, leaf.shape, words.constant([0] * lanes_of(leaf.shape), leaf.elem.width))
                if isinstance(leaf, Secret)
                else leaf
            ),
        )
    if isinstance(of, Secret) and not isinstance(value, Secret):
        return _as_type(value, of, name)
    leaves = list(_tree.walk(of))
    if _tree._is_leaf(value) or len(leaves) != len(list(_tree.walk(value))):
        return value
    fresh = iter(leaves)
    return _tree.rebuild(value, lambda leaf: _typed(leaf, next(fresh)[1], name))


def _coerced(old: Any, new: Any, name: str) -> Any:
    """``new`` checked to be of the same types as ``old``, which it replaces in the next round."""
    if isinstance(old, Secret) and isinstance(new, Secret):
        return _coerced_leaf(old, new, name)
    olds, news = list(_tree.walk(old)), list(_tree.walk(new))
    if isinstance(old, Secret) and not isinstance(new, Secret) and _fits(new):
        return _as_type(new, old, name)
    if len(olds) != len(news) or any(a[0] != b[0] for a, b in zip(olds, news)):
        raise compile_error(
            f"`{name}` has another structure after a round of the loop than before, {_structure(old)} and then {_structure(new)}: "
            f"carried variables keep theirs. To collect values start with an array, as in {name} = cn.zeros(cn.UInt[8], n), and write "
            f"{name}[i] = v"
        )
    fresh = iter([_coerced_leaf(a, b, name) for (_, a), (_, b) in zip(olds, news)])
    return _tree.rebuild(new, lambda _: next(fresh))


def _structure(value: Any) -> str:
    kind = type(value).__name__
    return f"a {kind} of {len(value)}" if isinstance(value, (list, tuple, dict)) else f"a {kind}"


def _coerced_leaf(old: Any, new: Any, name: str) -> Any:
    if isinstance(old, Unset):
        return new
    if isinstance(old, Secret):
        if not isinstance(new, Secret):
            return _as_type(new, old, name)
        if (old.elem, old.shape) != (new.elem, new.shape):
            raise compile_error(
                f"`{name}` is {_shown(old)} before a round of the loop and {_shown(new)} after it: carried variables keep their type; "
                f"convert, or give it another starting value"
            )
        return new
    if new is old or (type(new) is type(old) and not isinstance(new, (Secret, Index)) and bool(new == old)):
        return old
    if isinstance(new, Secret):
        raise compile_error(f"`{name}` is {old!r} before a round of the loop and {_shown(new)} after it: start with a secret of that type")
    raise compile_error(
        f"`{name}` is a plain value that changes in the loop, from {old!r} to {new!r}: the body is written once for all rounds. "
        f"Compute it from the loop variable, start with cn.UInt[n]({old!r}) to make it a word, or unroll with Python's range"
    )


def _shown(value: Secret) -> str:
    return f"{value.elem} of shape {value.shape}" if value.shape else repr(value.elem)


def _flatten(values: tuple[Any, ...]) -> list[W]:
    return [secret.w for secret in _tree.secrets(values)]


def _rewrap(values: Any, refs: list[int], target: Recorder) -> Any:
    fresh = iter(refs)
    return _tree.rebuild(
        values,
        lambda leaf: (
            Secret(leaf.elem, leaf.shape, W(next(fresh), leaf.w.lanes, leaf.w.width, target.scope)) if isinstance(leaf, Secret) else leaf
        ),
    )


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Turns refusals of the builder into errors with the user's line."""
    try:
        yield
    except _native.BuildError as refusal:
        raise compile_error(str(refusal)) from None


def _watched(target: Target) -> list[W]:
    """The overflow bit on its way into a block, where one is kept."""
    if target.overflow is None:
        return []
    words._usable(target.overflow)
    return [target.overflow]


def _start_watching(target: Target) -> None:
    """Makes sure that a block can hand an overflow bit out."""
    if target.overflow is None and target.watches:
        target.overflow = words.constant([0], 1)


def _loop_recorded(
    target: Recorder, rounds: range, body: Callable[..., tuple[Any, ...]], names: tuple[str, ...], before: tuple[Any, ...]
) -> tuple[Any, ...]:
    _start_watching(target)
    watched = _watched(target)
    for w in _flatten(before):
        words._usable(w)
    builder = target.builder
    with refusals(), target.block("a loop of cn.range") as scope:
        counter, refs = builder.begin_for(len(rounds), [w.ref for w in _flatten(before) + watched])
        inside = _rewrap(before, refs, target)
        if watched:
            target.overflow = W(refs[-1], 1, 1, scope)
        after = body(rounds.index(LoopVariable(counter, len(rounds), scope)), *inside)
        after = tuple(_coerced(old, new, name) for old, new, name in zip(before, after, names))
        results = _flatten(after) + _watched(target)
        for w in results:
            words._usable(w)
        refs = builder.end_for([w.ref for w in results])
    if watched:
        target.overflow = W(refs[-1], 1, 1, target.scope)
    return tuple(_rewrap(before, refs, target)) if before else ()


def last(rounds: Any) -> Any:
    """The value of a loop variable after its loop."""
    return rounds.rounds[-1] if len(rounds) else None


# ---- map --------------------------------------------------------------------------------------------------------------------------


def map(function: Callable[..., Any], *arrays: Any) -> Any:
    """``function`` of every item along the first axis, as lanes that run side by side.

    Several arrays are gone through together. What the function returns is stacked along a new first axis, leaf by leaf.
    Values from outside may be used inside and are shared. Nothing can be revealed inside.
    """
    flat = _tree.secrets(arrays)
    if not flat or any(not leaf.shape for leaf in flat):
        raise compile_error("cn.map goes through the first axis of secret arrays or tables; the function may use other values as they are")
    trips = flat[0].shape[0]
    if any(leaf.shape[0] != trips for leaf in flat):
        raise compile_error(f"cn.map over arrays of different lengths: {', '.join(str(leaf.shape[0]) for leaf in flat)}")
    with unchanged("the function of cn.map", function):
        return _mapped(function, arrays, trips)


def _mapped(function: Callable[..., Any], arrays: tuple[Any, ...], trips: int) -> Any:
    target = current()
    if target.clear:
        import builtins

        rows = [function(*(_tree.rebuild(array, lambda leaf: leaf[k]) for array in arrays)) for k in builtins.range(trips)]  # noqa: B023
        return _stacked(rows)
    if isinstance(target, Rehearsal):
        with target.block("a map of cn.map"):
            result = _plain_leaves(function(*(_item(array, target) for array in arrays)))
        return _outside(result, trips, target)
    assert isinstance(target, Recorder)
    return _map_recorded(target, function, arrays, trips)


def vmap(function: Callable[..., Any]) -> Callable[..., Any]:
    """``cn.vmap(f)(xs, ys)`` is ``cn.map(f, xs, ys)``."""

    def mapped(*arrays: Any) -> Any:
        return map(function, *arrays)

    return mapped


def map_lanes(function: Callable[[Secret], Secret], x: Secret) -> Secret:
    """An elementwise function of every word of an array of any shape."""
    flat = Secret(x.elem, (x.size,), x.w)
    result: Secret = map(function, flat)
    return Secret(result.elem, x.shape + result.shape[1:], result.w)


def _stacked(rows: list[Any]) -> Any:
    first = rows[0]
    columns = [[leaf for _, leaf in _tree.walk(row)] for row in rows]
    fresh = iter(zip(*columns))

    def join(_: Any) -> Any:
        parts = next(fresh)
        secrets = [_plain_leaves(part) for part in parts]
        return Secret(secrets[0].elem, (len(rows), *secrets[0].shape), words.join([s.w for s in secrets]))

    return _tree.rebuild(first, join)


def _plain_leaves(value: Any) -> Any:
    def check(leaf: Any) -> Any:
        if not isinstance(leaf, Secret):
            raise compile_error(f"the function of cn.map returned {leaf!r}: it returns secrets, such as cn.UInt[n]({leaf!r})")
        return leaf

    return _tree.rebuild(value, check)


def _item(value: Any, target: Target) -> Any:
    return _tree.rebuild(
        value, lambda leaf: Secret(leaf.elem, leaf.shape[1:], W(None, lanes_of(leaf.shape[1:]), leaf.elem.width, target.scope))
    )


def _outside(value: Any, trips: int, target: Target) -> Any:
    return _tree.rebuild(
        value, lambda leaf: Secret(leaf.elem, (trips, *leaf.shape), W(None, trips * leaf.w.lanes, leaf.elem.width, target.scope))
    )


def _map_recorded(target: Recorder, function: Callable[..., Any], arrays: tuple[Any, ...], trips: int) -> Any:
    outer, target.overflow = target.overflow, None
    flat = _tree.secrets(arrays)
    for leaf in flat:
        words._usable(leaf.w)
    with refusals(), target.block("a map of cn.map") as scope:
        refs = iter(target.builder.begin_map(trips, [leaf.w.ref for leaf in flat]))
        items = _tree.rebuild(
            arrays, lambda leaf: Secret(leaf.elem, leaf.shape[1:], W(next(refs), lanes_of(leaf.shape[1:]), leaf.elem.width, scope))
        )
        result = _plain_leaves(function(*items))
        over = _watched(target)
        results = [leaf.w for leaf in _tree.secrets(result)] + over
        for w in results:
            words._usable(w)
        fresh = iter(target.builder.end_map([w.ref for w in results]))
    whole = _tree.rebuild(
        result, lambda leaf: Secret(leaf.elem, (trips, *leaf.shape), W(next(fresh), trips * leaf.w.lanes, leaf.elem.width, target.scope))
    )
    target.overflow = outer
    if over:
        words.flag_overflow(W(next(fresh), trips, 1, target.scope))
    return whole


def fold(function: Callable[[Any, Any], Any], items: Any, initial: Any) -> Any:
    """``function(function(initial, items[0]), items[1]) ..`` as one loop, without rewriting of source."""
    return loop(range(len(items)), lambda i, state: (function(state, items[i]),), ("the state of cn.fold",), (lambda: initial,))[0]


# ---- branches on what was revealed --------------------------------------------------------------------------------------------------


def branch(
    condition: Any,
    then: Callable[..., tuple[Any, ...]],
    otherwise: Callable[..., tuple[Any, ...]],
    names: tuple[str, ...],
    getters: tuple[Callable[[], Any], ...],
) -> tuple[Any, ...]:
    """What ``if`` becomes in functions that reveal: both blocks are written if the condition is a revealed bit."""
    before = tuple(_get(getter, name) for getter, name in zip(getters, names))
    if not isinstance(condition, Secret) or not condition.public:
        return (then if condition else otherwise)(*before)
    if condition.elem != Bit or condition.shape:
        raise compile_error(f"`if` on {_shown(condition)}: it takes one revealed Bit")
    target = current()
    with unchanged("an `if` on a revealed bit", then, otherwise):
        if target.clear:
            return (then if condition.w.ref[0] else otherwise)(*(_copied(value) for value in before))
        if isinstance(target, Rehearsal):
            return _agreed(_side(target, then, before), _side(target, otherwise, before), names)[0]
        assert isinstance(target, Recorder)
        return _branch_recorded(target, condition, (then, otherwise), names, before)


def _side(target: Target, block: Callable[..., tuple[Any, ...]], before: tuple[Any, ...]) -> tuple[Any, ...]:
    with target.block("a branch of if"):
        after = block(*(_inside(value, target) for value in before))
    return tuple(_inside(value, target) for value in after)


def _agreed(one: tuple[Any, ...], two: tuple[Any, ...], names: tuple[str, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Both sides of a branch with plain numbers in the types of the other side."""
    first = tuple(_unified(a, b, name, rehearsal=True) if not _tree.secrets(a) else a for a, b, name in zip(one, two, names))
    for a, b, name in zip(first, two, names):
        if not isinstance(a, Unset) and not isinstance(b, Unset):
            _coerced_types(a, b, name)
    return first, two


def _coerced_types(a: Any, b: Any, name: str) -> None:
    left, right = _tree.secrets(a), _tree.secrets(b)
    if left and right and [(x.elem, x.shape) for x in left] != [(x.elem, x.shape) for x in right]:
        raise compile_error(f"`{name}` is {_shown(left[0])} after one side of `if` and {_shown(right[0])} after the other")


def _branch_recorded(
    target: Recorder,
    condition: Secret,
    blocks: tuple[Callable[..., Any], Callable[..., Any]],
    names: tuple[str, ...],
    before: tuple[Any, ...],
) -> tuple[Any, ...]:
    with words.tracing(Rehearsal(target)) as trial:
        sides = [_side(trial, block, before) for block in blocks]
        shapes = _agreed(sides[0], sides[1], names)[0]
    _start_watching(target)
    start = target.overflow
    over: list[W] = []
    with refusals():
        target.builder.begin_if(condition.w.ref)
        for number, block in enumerate(blocks):
            target.overflow = start
            with target.block("a branch of if"):
                after = block(*(_copied(value) for value in before))
                after = tuple(_typed_side(value, of, name) for value, of, name in zip(after, shapes, names))
                results = _flatten(after) + _watched(target)
                refs = [w.ref for w in results]
                if number == 0:
                    target.builder.begin_else(refs)
                else:
                    refs = target.builder.end_if(refs)
                over = _watched(target)
    target.overflow = W(refs[-1], 1, 1, target.scope) if over else None
    return tuple(_rewrap(after, refs, target)) if after else ()


def _typed_side(value: Any, of: Any, name: str) -> Any:
    if isinstance(value, Unset) or isinstance(of, Unset):
        return value if isinstance(value, Unset) and not _tree.secrets(of) else _typed(value, of, name)
    if not _tree.secrets(of):
        if _tree.secrets(value) or (value is not of and not bool(value == of)):
            raise compile_error(f"`{name}` is another plain value on each side of `if`: start with a secret, such as cn.UInt[n](..)")
        return value
    return _typed(value, of, name)


# ---- functions ----------------------------------------------------------------------------------------------------------------------


def call(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that stays a call: the body is written once for arguments of the same types."""
    target = current()
    everything = (args, kwargs)
    if not isinstance(target, Recorder):
        return function(*args, **kwargs)
    for _, leaf in _tree.walk(everything):
        if isinstance(leaf, Index):
            raise compile_error(
                f"{name} was given a loop variable: pass a word, as in cn.UInt[n](i), or decorate the function with @cn.inline instead"
            )
    watches = target.watches and target.checked > 0
    key = (function, watches, _tree.key(everything))
    if key not in target.functions:
        target.functions[key] = _define(target, function, name, everything)
    number, result, watched = target.functions[key]
    leaves = _tree.secrets(everything)
    for leaf in leaves:
        words._usable(leaf.w)
    with refusals():
        refs = target.builder.call(number, [leaf.w.ref for leaf in leaves])
    if watched:
        words.flag_overflow(W(refs[-1], 1, 1, target.scope))
    return _rewrap(result, refs, target)


def _define(target: Recorder, function: Callable[..., Any], name: str, everything: Any) -> tuple[int, Any, bool]:
    free, count = plain_name(name), 2
    while free in target.function_names:
        free, count = f"{plain_name(name)}_{count}", count + 1
    target.function_names.add(free)
    leaves = _tree.secrets(everything)
    outer, target.overflow = target.overflow, None
    with refusals(), target.block(f"function {name}", sealed=True):
        refs = target.builder.begin_function(free, [(leaf.w.lanes, leaf.w.width) for leaf in leaves])
        args, kwargs = _rewrap(everything, refs, target)
        result = function(*args, **kwargs)
        over = _watched(target)
        results = [leaf.w for leaf in _tree.secrets(result)] + over
        for w in results:
            words._usable(w)
        number = target.builder.end_function([w.ref for w in results])
    target.overflow = outer
    return number, result, bool(over)
