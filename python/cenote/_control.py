"""Loops and branches that stay what they are in the program."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _words as words
from ._blocks import Plan
from ._errors import CompileError, compile_error
from ._heap import Heap
from ._merge import ROUNDS, SIDES, shown
from ._recorder import Recorder, refusals
from ._types import Bit
from ._values import Index, Secret
from ._words import LoopVariable, Rehearsal, Target, W, current

#: Rounds of a loop, by the format.
_MOST_ROUNDS = 1 << 30
_LOOP, _SIDE = "a loop of cn.range", "a branch of if"


class range:
    """The rounds of a loop that stays a loop in the program: ``for i in cn.range(n):`` in a decorated function.

    Arguments are as those of Python's ``range``. Variables that the body assigns, and that are read in the next round or
    after the loop, are carried from round to round; each keeps its type. ``i`` is public and may be used in indices.
    """

    def __init__(self, start: int, stop: int | None = None, step: int = 1) -> None:
        for part in (start, stop, step):
            if isinstance(part, (Secret, Index)):
                raise compile_error(
                    "the number of rounds must be a public number that is known while the program is written: take the "
                    "largest, and use cn.where inside"
                )
        try:
            self.rounds = builtins.range(start) if stop is None else builtins.range(start, stop, step)
        except (TypeError, ValueError) as problem:
            raise compile_error(f"cn.range takes whole numbers, as Python's: {problem}") from None
        if self.rounds[_MOST_ROUNDS:]:
            raise compile_error(f"a loop of cn.range has at most 2^{_MOST_ROUNDS.bit_length() - 1} rounds: write one inside of another")

    def __len__(self) -> int:
        return len(self.rounds)

    def __iter__(self) -> Iterator[Any]:
        raise compile_error(
            "cn.range makes a loop only as `for i in cn.range(..):` inside a function whose source is at hand and that is decorated "
            "with @cn.program, @cn.function or @cn.inline; elsewhere use cn.fold, cn.map, or Python's range, which unrolls"
        )

    def index(self, counter: Any) -> Any:
        """The value of the loop variable in the present block."""
        if len(self.rounds) == 1:
            return self.rounds.start
        return Index(self.rounds.start, ((LoopVariable(counter, len(self.rounds), current().scope), self.rounds.step),))


def loop(rounds: Any, body: Callable[[Any], object], names: Sequence[str] = ()) -> None:
    """What ``for i in cn.range(..)`` becomes: ``body`` takes the loop variable, ``names`` are variables around it that it assigns."""
    if not isinstance(rounds, range):
        raise CompileError("this loop was written with cn.range, which gave something else")
    if not len(rounds):
        return
    heap = Heap(_LOOP, (body,), names)
    plan = Plan(_LOOP, heap, ROUNDS, (lambda: body(rounds.index(None)),))
    target = current()
    if isinstance(target, Rehearsal):
        plan.leave(itertools.repeat(None))
        return
    watched = _start_watching(target)
    refs = [w.ref for w in _usable(plan.starts() + watched)]
    try:
        if isinstance(target, Recorder):
            with refusals():
                counter, refs = target.builder.begin_for(len(rounds), refs)
                results = _written(target, _LOOP, plan, lambda: body(rounds.index(counter)), refs)
                refs = target.builder.end_for(results)
        else:
            for k in rounds.rounds:
                refs = _written(target, _LOOP, plan, lambda: body(k), refs)  # noqa: B023
    finally:
        heap.restore()
    _leave(target, plan, refs, bool(watched))


def _written(target: Target, what: str, plan: Plan, block: Callable[[], object], refs: Sequence[Any] | None) -> list[Any]:
    """Goes through a block, into which words go if it is the body of a loop, and which gives the words that come out."""
    with target.block(what) as scope:
        if refs is not None:
            inside = iter(refs)
            plan.enter(inside)
            target.overflow = next((W(ref, 1, 1, scope) for ref in inside), target.overflow)
        block()
        watched = [] if target.overflow is None else [target.overflow]
        return [w.ref for w in _usable(plan.collect() + watched)]


def _leave(target: Target, plan: Plan, refs: Sequence[Any], watched: bool) -> None:
    fresh = iter(refs)
    plan.leave(fresh)
    target.overflow = next((W(ref, 1, 1, target.scope) for ref in fresh), None)


def _start_watching(target: Target) -> list[W]:
    """The overflow bit on its way into a block, where one is kept."""
    if target.overflow is None and target.watches:
        target.overflow = words.constant([0], 1)
    return [] if target.overflow is None else [target.overflow]


def _usable(carried: list[W]) -> list[W]:
    for w in carried:
        words._usable(w)
    return carried


def last(rounds: Any) -> Any:
    """The value of a loop variable after its loop."""
    return rounds.rounds[-1] if len(rounds) else None


def fold(function: Callable[[Any, Any], Any], items: Any, initial: Any) -> Any:
    """``function(function(initial, items[0]), items[1]) ..`` as one loop."""
    state = initial

    def body(i: Any) -> None:
        nonlocal state
        state = function(state, items[i])

    loop(range(len(items)), body, ("state",))
    return state


def branch(condition: Any, then: Callable[[], object], otherwise: Callable[[], object], names: Sequence[str], dead: Sequence[str]) -> None:
    """What ``if`` becomes in functions that reveal: both blocks are written if the condition is a revealed bit.

    ``names`` are variables around the blocks that they assign, ``dead`` those among them that nobody reads after the branch.
    """
    if not isinstance(condition, Secret) or not condition.public:
        (then if condition else otherwise)()
        return
    if condition.elem != Bit or condition.shape:
        raise compile_error(f"`if` on {shown(condition)}: it takes one revealed Bit")
    heap = Heap("an `if` on a revealed bit", (then, otherwise), names, dead)
    plan = Plan(_SIDE, heap, SIDES, (then, otherwise))
    target = current()
    if isinstance(target, Rehearsal):
        plan.leave(itertools.repeat(None))
    else:
        watched = _start_watching(target)
        try:
            refs = _branch(target, condition, (then, otherwise), plan, heap)
        finally:
            heap.restore()
        _leave(target, plan, refs, bool(watched))
    heap.bury()


def _branch(target: Target, condition: Secret, blocks: Sequence[Callable[[], object]], plan: Plan, heap: Heap) -> list[Any]:
    if not isinstance(target, Recorder):
        return _written(target, _SIDE, plan, blocks[0 if condition.w.ref[0] else 1], None)
    start = target.overflow
    with refusals():
        target.builder.begin_if(condition.w.ref)
        target.builder.begin_else(_written(target, _SIDE, plan, blocks[0], None))
        heap.restore()
        target.overflow = start
        return target.builder.end_if(_written(target, _SIDE, plan, blocks[1], None))
