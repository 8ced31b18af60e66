"""What Python code around a block can be changed by it: variables, and the containers and objects that they hold.

A block of a program is written once, whatever the number of its rounds. So it is gone through with the variables and containers
themselves, what changed is found by comparison, put back, and carried.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import Any, NamedTuple, NoReturn

from ._errors import compile_error
from ._records import RecordValue
from ._values import Index, Secret, View


class _Empty:
    """What a variable has before its first assignment."""

    def __repr__(self) -> str:
        return "nothing"


EMPTY = _Empty()

_CONTAINERS = (list, dict, set, collections.deque)
#: Types of values that hold nothing that could change.
_PLAIN = {type(None), bool, int, float, complex, str, bytes, types.ModuleType, type, Secret, View, RecordValue, Index}
#: Plain arrays up to this size are compared byte by byte.
_SMALL = 1 << 20
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class _Global:
    """A variable of a module, as the cells of closures are."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: dict[str, Any], name: str) -> None:
        self._module, self._name = module, name

    @property
    def cell_contents(self) -> Any:
        """Its value."""
        if self._name not in self._module:
            raise ValueError(self._name)
        return self._module[self._name]

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        self._module[self._name] = value

    @cell_contents.deleter
    def cell_contents(self) -> None:
        self._module.pop(self._name, None)


def _is_variable(holder: Any) -> bool:
    return isinstance(holder, (types.CellType, _Global))


class Slot(NamedTuple):
    """A place that holds a value: a variable, an item, an attribute."""

    holder: Any
    key: Any
    name: str

    @property
    def id(self) -> Any:
        """What tells it from others."""
        return id(self.holder), self.key

    def value(self) -> Any:
        """What is there now."""
        keys, values = _contents(self.holder)
        return values[list(keys).index(self.key)]

    def put(self, value: Any) -> None:
        """Puts a value there."""
        if _is_variable(self.holder):
            if value is not EMPTY:
                self.holder.cell_contents = value
            elif self.value() is not EMPTY:
                del self.holder.cell_contents
        elif isinstance(self.holder, (list, dict, collections.deque)):
            self.holder[self.key] = value
        else:
            object.__setattr__(self.holder, self.key, value)


def _contents(holder: Any) -> tuple[Any, Sequence[Any]]:
    """Keys and values; two holders of the same keys have the same structure."""
    if _is_variable(holder):
        try:
            return (None,), (holder.cell_contents,)
        except ValueError:
            return (None,), (EMPTY,)
    if isinstance(holder, dict):
        return list(holder), list(holder.values())
    if isinstance(holder, set):
        return frozenset(holder), ()
    if isinstance(holder, (list, collections.deque)):
        return range(len(holder)), list(holder)
    if hasattr(holder, "tobytes"):
        return holder.tobytes(), ()
    names = _attributes(holder)
    return names, [getattr(holder, name) for name in names]


def _attributes(value: Any) -> list[str]:
    return list(vars(value)) if hasattr(value, "__dict__") else [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]


def _is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__") and not isinstance(value, io.IOBase)


def _is_object(value: Any) -> bool:
    """Whether attributes of a value are looked at: of dataclasses, and of classes that are neither Python's nor a library's."""
    if dataclasses.is_dataclass(value) or isinstance(value, types.SimpleNamespace):
        return True
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None)
    builtin = module is None or (file is None and module.__name__ != "__main__")
    return hasattr(value, "__dict__") and not builtin and not (file or "").startswith(_LIBRARIES)


class _Held(NamedTuple):
    """A holder with what it held at first."""

    name: str
    holder: Any
    keys: Any
    values: Sequence[Any]

    def slot(self, key: Any) -> Slot:
        if _is_variable(self.holder):
            return Slot(self.holder, key, self.name)
        return Slot(self.holder, key, f"{self.name}[{key!r}]" if isinstance(self.holder, _CONTAINERS) else f"{self.name}.{key}")


class Heap:
    """What ``functions``, the text of ``block``, may find and change around them, as it is now.

    ``names`` are variables that they assign, in order; ``dead`` ones that nobody reads after them; ``values`` what they are given;
    ``advice`` is what to do instead of changing any of it.
    """

    def __init__(
        self,
        block: str,
        functions: Sequence[Callable[..., Any]],
        names: Sequence[str] = (),
        dead: Sequence[str] = (),
        values: Sequence[Any] = (),
        advice: str = "put the values into an array, as in {0} = cn.zeros(cn.UInt[8], n) before and {0}[i] = v inside, or return them",
    ) -> None:
        self._block, self._advice = block, advice
        self._seen: dict[int, Any] = {}
        self.held: list[_Held] = []
        variables: dict[str, Any] = {}
        for function in functions:
            if isinstance(function, types.FunctionType):
                variables.update(_variables(function, (*names, *dead)))
        self._times: collections.Counter[int] | None = None
        self._dead = [(variables[name], *_contents(variables[name])[1]) for name in dead if name in variables]
        for name in dead:
            variables.pop(name, None)
        for name in dict.fromkeys((*names, *variables)):
            if name in variables:
                self._hold(name, variables[name])
        for function in functions:
            if not isinstance(function, types.FunctionType):
                self._walk("the function", function)
        for value in values:
            self._walk("its argument", value)

    def _hold(self, name: str, holder: Any) -> None:
        if id(holder) in self._seen:
            return
        self._seen[id(holder)] = holder
        held = _Held(name, holder, *_contents(holder))
        self.held.append(held)
        for key, value in zip(held.keys, held.values):
            if type(value) not in _PLAIN:
                self._walk(held.slot(key).name, value)

    def _walk(self, name: str, value: Any) -> None:
        if isinstance(value, tuple):
            for k, part in enumerate(value):
                self._walk(f"{name}[{k}]", part)
        elif isinstance(value, _CONTAINERS):
            self._hold(name, value)
        elif isinstance(value, types.FunctionType):
            for inner, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                self._hold(inner, cell)
        elif isinstance(value, types.MethodType):
            self._walk(name, value.__self__)
            self._walk(name, value.__func__)
        elif isinstance(value, functools.partial):
            self._walk(name, (value.func, *value.args, *value.keywords.values()))
        elif type(value) in _PLAIN or isinstance(value, type) or type(value).__module__.split(".")[0] == "cenote":
            # Helpers that are decorated, among others.
            if "__wrapped__" in getattr(value, "__dict__", {}):
                self._walk(name, value.__wrapped__)
        elif _is_iterator(value):
            raise compile_error(
                f"the iterator `{name}` goes on inside of {self._block}, which is written once: make it a list before, and use its items"
            )
        elif (hasattr(value, "tobytes") and value.nbytes <= _SMALL) or _is_object(value):
            self._hold(name, value)

    def holds(self, value: Any) -> bool:
        """Whether a container was there at first."""
        return id(value) in self._seen

    def containers(self) -> dict[int, Any]:
        """The containers that were there at first, by what tells them apart."""
        return dict(self._seen)

    def shares(self, value: Any) -> bool:
        """Whether something in a value stood in several places at first."""
        if self._times is None:
            self._times = collections.Counter(id(part) for held in self.held for value in held.values for part in _objects(value))
        return any(self._times[id(part)] > 1 for part in _objects(value))

    def changes(self) -> Iterator[tuple[Slot, Any, Any]]:
        """Places whose values are others than at first: what was there, and what is."""
        for held in self.held:
            keys, values = _contents(held.holder)
            known = isinstance(held.keys, list) and not isinstance(held.holder, dict)
            if known and set(held.keys) <= set(keys):
                # An attribute that is new is a cache: whoever looks for it finds what the block may not keep.
                values = [getattr(held.holder, name) for name in held.keys]
            elif keys != held.keys:
                self._refuse(type(held.holder).__name__, held.name)
            if not all(map(is_, held.values, values)):
                for key, old, new in zip(held.keys, held.values, values):
                    if not same(old, new):
                        yield held.slot(key), old, new

    def check(self) -> None:
        """Refuses any change."""
        for slot, _, _ in self.changes():
            self._refuse("variable" if _is_variable(slot.holder) else type(slot.holder).__name__, slot.name)

    def _refuse(self, kind: str, name: str) -> NoReturn:
        raise compile_error(
            f"the {kind} `{name}` is changed inside of {self._block}, which is written once and so would change it once: "
            + self._advice.format(name)
        )

    def restore(self) -> None:
        """Puts everything back as it was at first."""
        for held in self.held:
            keys, values = _contents(held.holder)
            for key, old, new in zip(held.keys, held.values, values):
                if old is not new:
                    held.slot(key).put(old)
            if not isinstance(held.holder, _CONTAINERS) and isinstance(keys, list):
                for name in keys[len(held.keys) :]:
                    object.__delattr__(held.holder, name)
        for variable, value in self._dead:
            Slot(variable, None, "").put(value)

    def bury(self) -> None:
        """Leaves the variables that nobody reads any more without a value."""
        for variable, _ in self._dead:
            Slot(variable, None, "").put(EMPTY)


def _variables(function: types.FunctionType, assigned: Sequence[str]) -> dict[str, Any]:
    """Variables of the functions around, and of the module those that are assigned or hold what can change."""
    found: dict[str, Any] = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for name in names_of(function.__code__):
        value = function.__globals__.get(name, EMPTY)
        if name not in found and (name in assigned or isinstance(value, _CONTAINERS) or _is_iterator(value) or _is_object(value)):
            found[name] = _Global(function.__globals__, name)
    return found


def names_of(code: types.CodeType) -> dict[str, None]:
    """Names that a function and those inside it mention, in order."""
    names = dict.fromkeys((*code.co_names, *code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(names_of(constant))
    return names


def _objects(value: Any) -> Iterator[Any]:
    """Secrets and containers in a value; those in a container are in another place."""
    if isinstance(value, (Secret, *_CONTAINERS)):
        yield value
    elif isinstance(value, RecordValue):
        yield from value.leaves()
    elif isinstance(value, tuple):
        for part in value:
            yield from _objects(part)


def same(x: Any, y: Any) -> bool:
    """Whether a value stayed what it was: the same object, or an equal one that cannot change."""
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, (Secret, Index, *_CONTAINERS)):
        return False
    if isinstance(x, RecordValue):
        return all(map(is_, x.leaves(), y.leaves()))
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    try:
        return bool(x == y)
    except Exception:
        return False
