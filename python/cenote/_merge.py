"""Types of what a loop or a branch carries: plain numbers take the type that the other round, or the other side, gives them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from . import _tree
from . import _words as words
from ._convert import constant, full
from ._errors import compile_error
from ._heap import EMPTY, same
from ._types import lanes_of
from ._values import Secret


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, list, Decimal, Fraction)) or type(value).__module__ == "numpy"


def _is_numbers(value: Any) -> bool:
    return all(_is_number(leaf) for _, leaf in _tree.walk(value))


def _paths(value: Any) -> list[str]:
    return [path for path, _ in _tree.walk(value)]


def common(old: Any, new: Any) -> Any:
    """A value of the structure and the types that both have: ``old`` with secrets of ``new`` where it has plain numbers."""
    if old is EMPTY:
        return new
    if isinstance(old, Secret):
        return old
    if isinstance(new, Secret) and _is_numbers(old):
        return new
    if _paths(old) != _paths(new) or (_tree.is_leaf(old) and _tree.is_leaf(new)):
        return old
    fresh = iter([common(a, b) for (_, a), (_, b) in zip(_tree.walk(old), _tree.walk(new))])
    return _tree.rebuild(old, lambda _: next(fresh))


class Fit:
    """Makes values of the type of others, or says why that cannot be."""

    def __init__(self, before: str, after: str, plain: str) -> None:
        self._before, self._after, self._plain = before, after, plain

    def __call__(self, like: Any, value: Any, name: str) -> Any:
        """``value`` with its plain numbers in the types of ``like``."""
        if value is EMPTY:
            return _tree.rebuild(like, _zeros)
        if isinstance(like, Secret):
            return self._secret(like, value, name)
        likes, values = list(_tree.walk(like)), list(_tree.walk(value))
        if [path for path, _ in likes] != [path for path, _ in values]:
            raise compile_error(
                f"`{name}` is {_structure(like)} {self._before} and {_structure(value)} {self._after}: carried variables keep their "
                f"structure. To collect values start with an array, as in {name} = cn.zeros(cn.UInt[8], n), and write {name}[i] = v"
            )
        if _tree.is_leaf(like):
            if not same(like, value):
                self._refuse_plain(like, value, name)
            return value
        fresh = iter([self(a, b, f"{name}.{path}") for (path, a), (_, b) in zip(likes, values)])
        return _tree.rebuild(value, lambda _: next(fresh))

    def _secret(self, like: Secret, value: Any, name: str) -> Secret:
        if not isinstance(value, Secret) and _is_numbers(value):
            start = constant(value, like.elem)
            w = full(start, like.shape)
            if w.lanes == lanes_of(like.shape):
                return Secret(like.elem, like.shape, w)
            value = start
        if not isinstance(value, Secret) or (value.elem, value.shape) != (like.elem, like.shape):
            raise compile_error(
                f"`{name}` is {shown(like)} {self._before} and {shown(value)} {self._after}: carried variables keep their type; convert, "
                "or give it another starting value"
            )
        return value

    def _refuse_plain(self, like: Any, value: Any, name: str) -> NoReturn:
        if isinstance(value, Secret):
            raise compile_error(f"`{name}` is {like!r} {self._before} and {shown(value)} {self._after}: start with a secret of that type")
        raise compile_error(self._plain.format(name=name, old=repr(like), new=repr(value)))


#: How values of a loop are made to fit, and those of a branch.
ROUNDS = Fit(
    "before a round of the loop",
    "after it",
    "`{name}` is a plain value that changes in the loop, from {old} to {new}: the body is written once for all rounds. Compute it from the "
    "loop variable, start with cn.UInt[n]({old}) to make it a word, or unroll with Python's range",
)
SIDES = Fit(
    "after one side of `if`",
    "after the other",
    "`{name}` is another plain value on each side of `if`, {old} and {new}: start with a secret, such as cn.UInt[n](..)",
)


def _zeros(leaf: Any) -> Any:
    return Secret(leaf.elem, leaf.shape, words.constant([0] * lanes_of(leaf.shape), leaf.elem.width)) if isinstance(leaf, Secret) else leaf


def shown(value: Any) -> str:
    """The type of a value, for messages."""
    if not isinstance(value, Secret):
        return repr(value)
    return f"{value.elem} of shape {value.shape}" if value.shape else repr(value.elem)


def _structure(value: Any) -> str:
    kind = type(value).__name__
    return f"a {kind} of {len(value)}" if isinstance(value, (list, tuple, dict)) else f"a {kind}"
