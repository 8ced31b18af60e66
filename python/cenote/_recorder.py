"""The recording target: operations become statements of a program, by way of the native builder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _native
from ._errors import compile_error
from ._packing import pack
from ._words import Affine, LoopVariable, Scope, Target, W


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Turns refusals of the builder into errors with the user's line."""
    try:
        yield
    except _native.BuildError as refusal:
        raise compile_error(str(refusal)) from None


class Recorder(Target):
    """Writes a program."""

    def __init__(self, builder: _native.Builder, what: str) -> None:
        super().__init__(what)
        self.builder = builder
        #: Functions by what they were made from, with what is known of their results.
        self.functions: dict[Any, Any] = {}
        self.function_names: set[str] = set()
        #: Constants and places of arrays that a block has written already: naming them again gives the same value.
        self._known: dict[Scope, dict[Any, Any]] = {}

    def _once(self, key: Any, write: Callable[[], Any]) -> Any:
        known = self._known.setdefault(self.scope, {})
        if key not in known:
            with refusals():
                known[key] = write()
        return known[key]

    def emit(self, op: str, attrs: Sequence[int], args: Sequence[W], shapes: Sequence[tuple[int, int]]) -> Sequence[Any]:
        attrs, refs = list(attrs), [x.ref for x in args]
        if op == "gather":
            return [self._once((op, refs[0], *attrs), lambda: self.builder.gather(refs[0], attrs))]
        if op in ("reshape", "transpose"):
            found: Sequence[Any] = self._once((op, refs[0], *attrs), lambda: self.builder.word(op, attrs, refs))
            return found
        try:
            return self.builder.word(op, attrs, refs)
        except _native.BuildError as refusal:
            raise compile_error(str(refusal)) from None

    def constant(self, numbers: Sequence[int], width: int) -> Any:
        data = pack(numbers, width)
        return self._once((width, data), lambda: self.builder.constant(len(numbers), width, data))

    def zeros(self, lanes: int, width: int) -> Any:
        with refusals():
            return self.builder.constant(lanes, width, bytes(lanes * ((width + 7) // 8)))

    def lanes(self, at: Affine, count: int, stride: int, x: W) -> Any:
        constant, terms = _native_affine(at)
        key = ("lanes", x.ref, constant, tuple(terms), count, stride)
        return self._once(key, lambda: self.builder.lanes(x.ref, constant, terms, count, stride))

    def put(self, at: Affine, x: W, y: W) -> Any:
        constant, terms = _native_affine(at)
        try:
            return self.builder.put(x.ref, constant, terms, y.ref)
        except _native.BuildError as refusal:
            raise compile_error(str(refusal)) from None

    def reveal(self, x: W) -> Any:
        try:
            return self.builder.reveal(x.ref)
        except _native.BuildError as refusal:
            raise compile_error(str(refusal)) from None


def _native_affine(at: Affine) -> tuple[int, list[tuple[int, int]]]:
    return at[0], [(_live(variable), factor) for variable, factor in at[1]]


def _live(variable: LoopVariable) -> int:
    if variable.scope.why_not:
        raise compile_error(
            "a loop variable is used outside of its loop, or inside a function that was not given it: pass a word, as in cn.UInt[n](i)"
        )
    number: int = variable.ref
    return number
