"""What a loop or a branch changes of what is around it, and how that gets into the block and out of it.

Blocks are rehearsed first, for types alone. Whatever Python code does there to variables, containers (``_heap``) and arrays is noticed
and undone. A place that has another value afterwards is a :class:`Variable` of the plan; an array that changed where it is stays the
same object, by whatever names it goes, and only its words are carried.

A variable that gets another array each round may hold one that has another name as well. Such arrays are *kin*: to change one makes the
other unusable, so that a program which is accepted does what Python does.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import _tree
from . import _words as words
from ._errors import compile_error
from ._heap import EMPTY, Heap, Slot
from ._merge import Fit, common
from ._types import lanes_of
from ._values import Secret, forgotten, link, related, root
from ._words import Rehearsal, W, current


class Variable:
    """A place whose value changes."""

    __slots__ = ("ends", "like", "slot", "start")

    def __init__(self, slot: Slot, start: Any) -> None:
        self.slot, self.start = slot, start
        #: A value of the type that it has; ``EMPTY`` if it has none afterwards.
        self.like = start
        #: Its values at the ends of the rehearsed blocks.
        self.ends: list[Any] = []

    def values(self, cyclic: bool) -> list[Any]:
        """All the values that it has between blocks, that before a loop among them."""
        return [self.start, *self.ends] if cyclic else self.ends


#: An array of a variable: which variable, and where in its value.
Spot = tuple[Any, str]
#: What is carried: variables, and arrays that change where they are.
Item = Union[Variable, Secret]


class Relation:
    """Which arrays of variables may be the same one: among themselves, and as arrays that were there before the block."""

    def __init__(self) -> None:
        self._pairs: set[tuple[Spot, Spot]] = set()
        self._outside: dict[tuple[Spot, int], Secret] = {}

    def add(self, arrays: Mapping[Spot, Secret]) -> None:
        """Takes in what the arrays are at some moment."""
        roots = [(spot, root(array)) for spot, array in arrays.items()]
        for (one, x), (two, y) in itertools.combinations(roots, 2):
            if related(x, y):
                self._pairs.add((one, two))
        for spot, x in roots:
            self._outside.update(((spot, id(y)), y) for y in (x, *x.kin) if _is_outside(y))

    def grow(self, other: Relation) -> bool:
        """Takes in another relation; whether that has something new."""
        before = len(self._pairs) + len(self._outside)
        self._pairs |= other._pairs
        self._outside.update(other._outside)
        return len(self._pairs) + len(self._outside) > before

    def link(self, arrays: Mapping[Spot, Secret]) -> None:
        """Makes arrays kin that may be the same."""
        for one, two in self._pairs:
            if one in arrays and two in arrays:
                link(arrays[one], arrays[two])
        for (spot, _), outer in self._outside.items():
            if spot in arrays:
                link(arrays[spot], outer)


def _is_outside(x: Secret) -> bool:
    """Whether an array was there before a block that has ended."""
    return not x.home.why_not


class _Side(NamedTuple):
    """What a rehearsed block did: to places, to arrays, and to arrays that cannot be used any more since another was changed somewhere."""

    changes: dict[Any, tuple[Slot, Any, Any]]
    arrays: dict[int, Secret]
    unusable: dict[int, str]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing that a rehearsed block prints is shown, as it is printed again when the block is written; unless it fails."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            yield
    except BaseException:
        sys.stdout.write(said.getvalue())
        raise


class Plan:
    """What the body of a loop, or the two sides of a branch, change; made by rehearsing them."""

    def __init__(self, what: str, heap: Heap, fit: Fit, blocks: Sequence[Callable[[], object]]) -> None:
        self._what, self._heap, self._fit, self._cyclic = what, heap, fit, len(blocks) == 1
        self._variables: dict[Any, Variable] = {}
        self._arrays: dict[int, Secret] = {}
        #: Arrays that cannot be used any more, and where one was changed that may be the same; and such arrays of variables.
        self._forgotten: dict[int, tuple[Secret, str]] = {}
        self._lost: dict[Spot, str] = {}
        #: Which arrays may be the same when a round begins, and which when the blocks have ended.
        self._before, self._after = Relation(), Relation()
        #: Arrays that stand for those of variables inside of a body.
        self._inside: dict[Spot, Secret] = {}
        while self._rehearse(blocks):
            pass
        self._items = list(self._ordered())

    # ---- rehearsing ---------------------------------------------------------------------------------------------------------

    def _rehearse(self, blocks: Sequence[Callable[[], object]]) -> bool:
        """Goes through the blocks; whether a body has to be gone through again, with what was found."""
        around = current()
        target = around if isinstance(around, Rehearsal) else Rehearsal(around)
        known = len(self._forgotten), len(self._lost)
        sides = [self._gone_through(target, block) for block in blocks]
        unusable = {key for side in sides for key in side.unusable}
        self._arrays = {key: array for side in sides for key, array in side.arrays.items() if key not in unusable}
        found = [change for side in sides for change in side.changes.values()]
        self._check_containers(found)
        again = [self._add(slot, start) for slot, start, _ in found]
        for key, variable in self._variables.items():
            again.append(self._type(variable, [side.changes.get(key, (None, None, variable.start))[2] for side in sides]))
            self._lose(variable, [*([{}] if self._cyclic else []), *(side.unusable for side in sides)])
        again += [known != (len(self._forgotten), len(self._lost)), self._relate(len(sides))]
        if self._cyclic and any(again):
            return True
        # What does not fit is refused wherever a program is gone through, whichever side runs.
        with words.tracing(target):
            for variable in self._variables.values():
                for value in variable.values(self._cyclic) if variable.like is not EMPTY else ():
                    self._fit(variable.like, value, variable.slot.name)
        return False

    def _gone_through(self, target: Rehearsal, block: Callable[[], object]) -> _Side:
        with words.tracing(target), target.block(self._what), _quiet():
            try:
                if self._cyclic:
                    self._enter(self._variables.values(), itertools.repeat(None))
                block()
                side = _Side({slot.id: (slot, start, end) for slot, start, end in self._heap.changes()}, {}, {})
            finally:
                self._heap.restore()
            for key, (array, w, _) in target.changed.items():
                if array.w is not w:
                    side.arrays[key] = array
                if forgotten(array.w):
                    side.unusable[key] = forgotten(array.w)
                if forgotten(array.w) or forgotten(w):
                    self._forgotten.setdefault(key, (array, forgotten(array.w) or forgotten(w)))
        return side

    def _add(self, slot: Slot, start: Any) -> bool:
        """Notes a variable; whether what it held at first, and holds in the first round alone, matters to others."""
        if slot.id in self._variables:
            return False
        self._variables[slot.id] = Variable(slot, start)
        return self._heap.shares(start) or any(id(root(array)) in self._arrays for _, array in _tree.arrays(start))

    def _type(self, variable: Variable, ends: list[Any]) -> bool:
        """Finds the type of a variable; whether it is another one than before."""
        before, variable.ends = variable.like, ends
        first, last = (variable.start, ends[0]) if self._cyclic else ends
        variable.like = EMPTY if any(end is EMPTY for end in ends) else common(first, last)
        for one, two in itertools.pairwise(_tree.containers(end) for end in ends):
            if any(x is not y and (self._heap.holds(x) or self._heap.holds(y)) for x, y in zip(one, two)):
                self._refuse_container(variable.slot, "is another one on each side of `if`")
        same = (before is EMPTY, len(_tree.secrets(before))) == (variable.like is EMPTY, len(_tree.secrets(variable.like)))
        return variable.start is not EMPTY and not same

    def _lose(self, variable: Variable, unusable: Sequence[Mapping[int, str]]) -> None:
        """Notes which arrays of a variable cannot be used; ``unusable`` are those from before the blocks, for each of its values."""
        for value, arrays in zip(variable.values(self._cyclic), unusable):
            for path, array in _tree.arrays(value):
                where = forgotten(root(array).w) or arrays.get(id(root(array)))
                if where:
                    self._lost.setdefault((variable.slot.id, path), where)

    def _relate(self, sides: int) -> bool:
        """Finds which arrays may be the same; whether that has to be followed through another round."""
        before, self._after = Relation(), Relation()
        starts = self._spots(lambda variable: variable.start)
        before.add(starts)
        first = {id(root(array)) for array in (*starts.values(), *self._inside.values())}
        chained = False
        for side in range(sides):
            ends = self._spots(lambda variable: variable.ends[side])  # noqa: B023
            self._after.add(ends)
            chained = chained or any(id(root(array)) in first for array in ends.values())
        before.grow(self._after)
        return self._before.grow(before) and chained

    def _spots(self, value: Callable[[Variable], Any]) -> dict[Spot, Secret]:
        """The arrays in some values of the variables."""
        return {(variable.slot.id, path): array for variable in self._variables.values() for path, array in _tree.arrays(value(variable))}

    def _check_containers(self, found: Sequence[tuple[Slot, Any, Any]]) -> None:
        """Refuses what happens to lists, which Python shows to nobody, and cannot be kept."""
        changed = {id(slot.holder) for slot, _, _ in found}
        fresh: set[int] = set()
        for slot, start, end in found:
            parts = list(_tree.containers(end))
            new = {id(part) for part in parts if not self._heap.holds(part)}
            if self._cyclic and start is not EMPTY and any(id(part) in changed for part in (*parts, *_tree.containers(start))):
                self._refuse_container(slot, "changes where it is, and another one takes its place")
            if new & fresh:
                self._refuse_container(slot, "is that of another variable as well")
            fresh |= new

    def _refuse_container(self, slot: Slot, what: str) -> None:
        raise compile_error(
            f"what `{slot.name}` holds {what} inside of {self._what}, which a program cannot follow: make a list of its own, as in "
            "list(x), or use an array"
        )

    # ---- into the blocks ----------------------------------------------------------------------------------------------------

    def _ordered(self) -> Iterator[Item]:
        """What is carried: by the order of the variables, then what else was changed."""
        known: set[int] = set()
        for held in self._heap.held:
            for key, value in zip(held.keys, held.values):
                slot = held.slot(key)
                if slot.id in self._variables:
                    yield self._variables[slot.id]
                    continue
                for _, array in _tree.arrays(value):
                    base = root(array)
                    if id(base) in self._arrays and id(base) not in known:
                        known.add(id(base))
                        yield base
        yield from (array for key, array in self._arrays.items() if key not in known)

    def starts(self) -> list[W]:
        """The words that go into a loop."""
        carried: list[W] = []
        for item in self._items:
            if isinstance(item, Secret):
                carried.append(_nothing(item) if forgotten(item.w) else item.w)
            else:
                carried += self._carried(item, item.start)
        return carried

    def _carried(self, variable: Variable, value: Any) -> list[W]:
        """The words in a value of a variable, of those arrays that can be used."""
        if variable.like is EMPTY:
            return []
        leaves = _tree.walk(self._fit(variable.like, value, variable.slot.name))
        pairs = [(path, leaf) for path, leaf in leaves if isinstance(leaf, Secret)]
        return [_nothing(leaf) if (variable.slot.id, path) in self._lost else leaf.w for path, leaf in pairs]

    def enter(self, refs: Iterator[Any]) -> None:
        """At the beginning of a body, gives everything the words that it has in this round."""
        self._enter(self._items, refs)

    def _enter(self, items: Iterable[Item], refs: Iterator[Any]) -> None:
        self._inside = {}
        for item in items:
            if isinstance(item, Secret):
                item.note()
                item.w = _words(item, refs)
            elif item.start is EMPTY or item.like is EMPTY:
                for leaf in _tree.secrets(item.like):
                    _words(leaf, refs)
                item.slot.put(EMPTY)
            else:
                made = _tree.rebuild(
                    item.like, lambda leaf: Secret(leaf.elem, leaf.shape, _words(leaf, refs)) if isinstance(leaf, Secret) else leaf
                )
                item.slot.put(made)
                self._inside.update(((item.slot.id, path), array) for path, array in _tree.arrays(made))
        self._before.link(self._inside)
        self._forget(self._inside)
        for array, where in self._forgotten.values():
            array.forget(where)

    def _forget(self, arrays: Mapping[Spot, Secret]) -> None:
        for spot, where in self._lost.items():
            if spot in arrays:
                arrays[spot].forget(where)

    # ---- and out of them ----------------------------------------------------------------------------------------------------

    def collect(self) -> list[W]:
        """At the end of a block, the words of everything."""
        touched = {key for key, (array, w, _) in current().changed.items() if array.w is not w}
        if not touched <= self._arrays.keys() | self._forgotten.keys() or any(
            slot.id not in self._variables for slot, _, _ in self._heap.changes()
        ):
            raise compile_error(
                f"{self._what} does something else each time that it is gone through: what depends on random numbers, on the time or on "
                "what it did before has to be computed before it"
            )
        found: list[W] = []
        for item in self._items:
            found += [item.w] if isinstance(item, Secret) else self._carried(item, item.slot.value())
        return found

    def leave(self, refs: Iterator[Any]) -> None:
        """After the blocks, gives everything the words that came out."""
        known: dict[tuple[int, ...], Secret] = {}
        made: dict[Spot, Secret] = {}
        for item in self._items:
            if isinstance(item, Secret):
                item.write(_words(item, refs))
            elif item.like is EMPTY:
                item.slot.put(EMPTY)
            else:
                item.slot.put(self._result(item, refs, known, made))
        self._after.link(made)
        self._forget(made)
        for key, (array, where) in self._forgotten.items():
            if key not in self._arrays:
                array.forget(where)

    def _result(self, variable: Variable, refs: Iterator[Any], known: dict[tuple[int, ...], Secret], made: dict[Spot, Secret]) -> Any:
        """The value of a variable afterwards: an array that was there before, if it is the same whatever runs; else one of its own."""
        likes = dict(_tree.walk(variable.like))
        ends = [dict(_tree.arrays(end)) for end in variable.ends]
        model = variable.ends[0] if [path for path, _ in _tree.walk(variable.ends[0])] == list(likes) else variable.like
        paths = iter(likes)

        def leaf(_: Any) -> Any:
            path = next(paths)
            like = likes[path]
            if not isinstance(like, Secret):
                return like
            fresh = Secret(like.elem, like.shape, _words(like, refs))
            arrays = [end[path] for end in ends if path in end]
            if len(arrays) == len(ends) and all(array is arrays[0] for array in arrays) and _is_outside(arrays[0]):
                return arrays[0]
            if arrays:
                fresh = known.setdefault((*map(id, arrays), len(ends) - len(arrays)), fresh)
                made[variable.slot.id, path] = fresh
            return fresh

        return _tree.rebuild(model, leaf, self._heap.containers())


def _nothing(like: Secret) -> W:
    """Words in the place of those that nobody can use."""
    return words.constant([0] * lanes_of(like.shape), like.elem.width)


def _words(like: Secret, refs: Iterator[Any]) -> W:
    """Words of the present block for an array."""
    return W(next(refs), lanes_of(like.shape), like.elem.width, current().scope)
