"""Maps, and functions that stay functions of the program. Both see arrays of others and change none but their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from . import _tree
from . import _words as words
from ._errors import compile_error, plain_name
from ._heap import Heap
from ._recorder import Recorder, refusals
from ._types import Shape, lanes_of
from ._values import Index, Secret, forgotten, link, related, root
from ._words import Target, W, current

_FUNCTION = "return what it makes, or decorate the function with @cn.inline"
_SIDE_BY_SIDE = (
    "the function of cn.map runs on all items side by side, so it changes no array from outside of it, nor its arguments, and reveals "
    "nothing: change a copy, as in y = x.copy(), return it, and reveal the results; or write a loop of cn.range"
)


def map(function: Callable[..., Any], *arrays: Any) -> Any:
    """``function`` of every item along the first axis, as lanes that run side by side.

    Several arrays are gone through together. What the function returns is stacked along a new first axis, leaf by leaf.
    Values from outside may be used inside and are shared. Nothing can be changed or revealed inside.
    """
    flat = _tree.secrets(arrays)
    if not flat or any(not leaf.shape for leaf in flat):
        raise compile_error("cn.map goes through the first axis of secret arrays or tables; the function may use other values as they are")
    trips = flat[0].shape[0]
    if any(leaf.shape[0] != trips for leaf in flat):
        raise compile_error(f"cn.map over arrays of different lengths: {', '.join(str(leaf.shape[0]) for leaf in flat)}")
    target = current()
    heap = Heap("the function of cn.map", (function,))
    outer = target.overflow
    result, leaves, refs = _mapped(target, function, arrays, trips, [words._usable(leaf.w) for leaf in flat])
    target.overflow = outer
    heap.check()
    whole = _tree.rebuild(result, lambda leaf: _secret(leaf, (trips, *leaf.shape), refs))
    if len(leaves) > len(_tree.secrets(result)):
        words.flag_overflow(W(next(refs), trips, 1, target.scope))
    return whole


def _mapped(
    target: Target, function: Callable[..., Any], arrays: tuple[Any, ...], trips: int, sources: list[W]
) -> tuple[Any, list[W], Iterator[Any]]:
    """What the function gives for one item, the words in it, and what they are for all items together."""
    if isinstance(target, Recorder):
        with refusals():
            items = target.builder.begin_map(trips, [w.ref for w in sources])
            result, leaves = _item(target, function, arrays, items)
            return result, leaves, iter(target.builder.end_map([w.ref for w in leaves]))
    if not target.clear:
        return *_item(target, function, arrays, itertools.repeat(None)), itertools.repeat(None)
    rows = []
    for k in range(trips):
        sizes = [w.lanes // trips for w in sources]
        result, leaves = _item(target, function, arrays, [w.ref[k * size : (k + 1) * size] for w, size in zip(sources, sizes)])
        rows.append([w.ref for w in leaves])
    return result, leaves, iter([[word for part in parts for word in part] for parts in zip(*rows)])


def _item(target: Target, function: Callable[..., Any], arrays: tuple[Any, ...], refs: Iterable[Any]) -> tuple[Any, list[W]]:
    fresh = iter(refs)
    outer = target.scope

    def item(leaf: Secret) -> Secret:
        made = _secret(leaf, leaf.shape[1:], fresh)
        # As a part of the array outside it cannot be changed.
        made.home = outer
        return made

    target.overflow = None
    with target.block("a map of cn.map", why_fixed=_SIDE_BY_SIDE, why_silent=_SIDE_BY_SIDE):
        result = function(*(_tree.rebuild(array, item) for array in arrays))
        for _, leaf in _tree.walk(result):
            if not isinstance(leaf, Secret):
                raise compile_error(f"the function of cn.map returned {leaf!r}: it returns secrets, such as cn.UInt[n]({leaf!r})")
        return result, [words._usable(leaf.w) for leaf in _tree.secrets(result)] + _overflow(target)


def _overflow(target: Target) -> list[W]:
    return [] if target.overflow is None else [words._usable(target.overflow)]


def _secret(like: Secret, shape: Shape, refs: Iterator[Any]) -> Secret:
    return Secret(like.elem, shape, W(next(refs), lanes_of(shape), like.elem.width, current().scope))


def vmap(function: Callable[..., Any]) -> Callable[..., Any]:
    """``cn.vmap(f)(xs, ys)`` is ``cn.map(f, xs, ys)``."""

    def mapped(*arrays: Any) -> Any:
        return map(function, *arrays)

    return mapped


# ---- functions ----------------------------------------------------------------------------------------------------------------------


class _Made(NamedTuple):
    """A function that has been gone through."""

    #: Its number in the program.
    number: int
    result: Any
    #: Of each secret of the result: the argument that it is or is a part of, if any, and whether it is that argument itself.
    sources: list[tuple[int | None, bool]]
    #: Secrets of the result that are one array, or parts of one.
    pairs: tuple[tuple[int, int], ...]
    #: Arguments that it changes.
    changed: list[int]
    watched: bool
    #: Objects that are known by their addresses.
    alive: Any


def call(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that stays a call: the body is written once for arguments of the same types."""
    target = current()
    given = (args, kwargs)
    for _, leaf in _tree.walk(given):
        if isinstance(leaf, Index):
            raise compile_error(
                f"{name} was given a loop variable: pass a word, as in cn.UInt[n](i), or decorate the function with @cn.inline instead"
            )
    leaves = _tree.secrets(given)
    sources = [words._usable(leaf.w) for leaf in leaves]
    refs: Iterator[Any]
    outer, target.overflow = target.overflow, None
    if isinstance(target, Recorder):
        heap = Heap(f"the function {name}", (function,))
        key = (function, target.watches and target.checked > 0, _tree.key(given), _pairs(given), _tree.key([h.values for h in heap.held]))
        if key not in target.functions:
            target.functions[key] = _define(target, function, name, given, (given, heap))
        made: _Made = target.functions[key]
        with refusals():
            refs = iter(target.builder.call(made.number, [w.ref for w in sources]))
    else:
        made, results = _gone_through(target, function, name, given, [w.ref for w in sources])
        refs = iter([w.ref for w in results])
    target.overflow = outer
    return _received(target, made, leaves, refs)


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    """Arrays in a structure that may be one, or parts of one, by number."""
    arrays = {id(x) for _, x in _tree.arrays(value)}
    numbered = [(k, root(x)) for k, x in enumerate(_tree.secrets(value)) if id(x) in arrays]
    return tuple((j, k) for (j, x), (k, y) in itertools.combinations(numbered, 2) if related(x, y))


def _define(target: Recorder, function: Callable[..., Any], name: str, given: Any, alive: Any) -> _Made:
    free, count = plain_name(name), 2
    while free in target.function_names:
        free, count = f"{plain_name(name)}_{count}", count + 1
    target.function_names.add(free)
    with refusals():
        refs = target.builder.begin_function(free, [(leaf.w.lanes, leaf.w.width) for leaf in _tree.secrets(given)])
        made, results = _gone_through(target, function, name, given, refs)
        return made._replace(number=target.builder.end_function([w.ref for w in results]), alive=alive)


def _gone_through(target: Target, function: Callable[..., Any], name: str, given: Any, refs: Iterable[Any]) -> tuple[_Made, list[W]]:
    """The function with arguments of its own, and the words that it gives: its result, the arguments that it changes, overflow."""
    fresh = iter(refs)
    with target.block(f"function {name}", sealed=True):
        args, kwargs = _tree.rebuild(given, lambda leaf: _secret(leaf, leaf.shape, fresh) if isinstance(leaf, Secret) else leaf)
        inside = _tree.secrets((args, kwargs))
        for j, k in _pairs(given):
            link(inside[j], inside[k])
        before = [x.w for x in inside]
        heap = Heap(f"the function {name}", (function,), values=(*args, *kwargs.values()), advice=_FUNCTION)
        result = function(*args, **kwargs)
        heap.check()
        changed = [k for k, (x, w) in enumerate(zip(inside, before)) if x.w is not w and not forgotten(x.w)]
        leaves = _tree.secrets(result)
        numbers, arrays = {id(x): k for k, x in enumerate(inside)}, {id(x) for _, x in _tree.arrays(result)}
        sources = [(numbers.get(id(root(x))) if id(x) in arrays else None, id(x) in numbers) for x in leaves]
        results = [words._usable(x.w) for x in (*leaves, *(inside[k] for k in changed))] + _overflow(target)
        watched = target.overflow is not None
        return _Made(0, result, sources, _pairs(result), changed, watched, None), results


def _received(target: Target, made: _Made, arguments: list[Secret], refs: Iterator[Any]) -> Any:
    """The result of a call; what it changed is changed in the arguments."""
    fresh: list[Secret] = []

    def receive(leaf: Any) -> Any:
        if not isinstance(leaf, Secret):
            return leaf
        source, itself = made.sources[len(fresh)]
        x = _secret(leaf, leaf.shape, refs)
        fresh.append(arguments[source] if source is not None and itself else x)
        return fresh[-1]

    result = _tree.rebuild(made.result, receive)
    for k in made.changed:
        arguments[k].write(_secret(arguments[k], arguments[k].shape, refs).w)
    for j, k in made.pairs:
        link(root(fresh[j]), root(fresh[k]))
    for x, (source, _) in zip(fresh, made.sources):
        if source is not None:
            link(root(x), root(arguments[source]))
    if made.watched:
        words.flag_overflow(W(next(refs), 1, 1, current().scope))
    return result
