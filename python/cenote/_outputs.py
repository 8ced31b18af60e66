"""Results of programs: who receives which words, and how they become plain values again."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _native, _tree
from ._clear import numbers
from ._convert import constant, full
from ._errors import CompileError
from ._packing import unpack
from ._plain import nest, plain
from ._records import Path, RecordValue, dotted, field_types, grouped, is_tuple, leaves
from ._types import ArrayType, Deferred, PartyMarker, Ported, Record, Scalar, Shape, port_type, resolve, type_name
from ._values import Secret
from ._words import W

#: The output that tells whether a number did not fit.
OVERFLOW = "overflow"


class Slot:
    """One output port within the structure of a result."""

    __slots__ = ("elem", "name", "receiver", "shape", "w")

    def __init__(self, name: str, receiver: str, elem: Scalar, shape: Shape, w: W | None) -> None:
        self.name, self.receiver, self.elem, self.shape, self.w = name, receiver, elem, shape, w


class Outputs:
    """The outputs of a program, in order, and the structure that users see them in."""

    def __init__(self, structure: Any, slots: list[Slot]) -> None:
        self._structure, self._slots = structure, slots
        self.watched = False

    @staticmethod
    def of_program(native: _native.Program) -> Outputs:
        """The outputs of a program that was read: parts with names as dictionaries, numbered parts as tuples.

        The result of a function that gave it no name is an output ``result``, and is the value itself; so is the only output of
        a program of version 1.
        """
        parts = []
        for steps, receiver, kind, frac, width in native.outputs():
            path = tuple((name, tuple(sizes)) for name, sizes in steps)
            shape = tuple(size for _, sizes in path for size in sizes)
            parts.append((path, Slot(dotted(path), receiver, port_type(kind, width, frac), shape, None)))
        slots = [slot for _, slot in parts]
        first = native.version == 1
        watched = not first and bool(slots) and slots[-1].name == OVERFLOW
        named = _structure(parts[:-1] if watched else parts)
        alone = list(named) == ["result"] or (first and len(named) == 1)
        outputs = Outputs(next(iter(named.values())) if alone else named, slots)
        outputs.watched = watched
        return outputs

    def watch(self, bit: W) -> None:
        """Adds the overflow bit, for who learns a result: it tells about the data as the results do."""
        receivers = {slot.receiver for slot in self._slots}
        receiver = receivers.pop() if len(receivers) == 1 else "both"
        self._slots.append(Slot(OVERFLOW, receiver, Scalar("bool", 1), (), bit))
        self.watched = True

    def ports(self) -> Iterator[tuple[Path, Scalar, str, W]]:
        """Path, type, receiver and words of each output."""
        paths = dict(_paths(self._structure))
        for slot in self._slots:
            assert slot.w is not None
            yield paths.get(slot, ((slot.name, ()),)), slot.elem, slot.receiver, slot.w

    def described(self) -> dict[str, tuple[str, str]]:
        """Receiver and type of each output, for people."""
        return {s.name: (s.receiver, type_name(ArrayType(s.elem, s.shape)) if s.shape else repr(s.elem)) for s in self._slots}

    def clear_values(self) -> list[list[int] | None]:
        """The numbers of each output, in a clear run."""
        return [numbers(slot.w, slot.elem.signed) for slot in self._slots if slot.w is not None]

    def unpacked(self, data: Sequence[bytes | None]) -> list[list[int] | None]:
        """The numbers of each output from what the native module gives."""
        return [None if words is None else unpack(words, slot.elem.width, slot.elem.signed) for words, slot in zip(data, self._slots)]

    def overflowed(self, values: Sequence[list[int] | None]) -> bool | None:
        """The overflow bit, if the program has one and the party received it."""
        last = values[-1] if self.watched else None
        return None if last is None else bool(last[0])

    def named(self, values: Sequence[list[int] | None]) -> dict[str, Any]:
        """Plain values by the names of the ports."""
        return {slot.name: _value(slot, found) for slot, found in zip(self._slots, values)}

    def structured(self, values: Sequence[list[int] | None], leaf: Callable[[Slot, list[int] | None], Any] | None = None) -> Any:
        """Plain values in the structure that the function returned; ``None`` for what was not received."""
        known = {id(slot): found for slot, found in zip(self._slots, values)}
        make = leaf or _value

        def walk(node: Any) -> Any:
            if isinstance(node, Slot):
                return make(node, known[id(node)])
            if isinstance(node, RecordValue):
                return {name: walk(part) for name, part in node.fields().items()}
            if isinstance(node, dict):
                return {name: walk(part) for name, part in node.items()}
            if isinstance(node, tuple) and hasattr(node, "_fields"):
                return type(node)(*map(walk, node))
            if isinstance(node, (tuple, list)):
                return type(node)(map(walk, node))
            if dataclasses.is_dataclass(node) and not isinstance(node, type):
                return dataclasses.replace(node, **{f.name: walk(getattr(node, f.name)) for f in dataclasses.fields(node)})
            return node

        return walk(self._structure)


def _structure(parts: Sequence[tuple[Path, Slot]]) -> Any:
    """What has these parts: the slot itself where the path of one ends."""
    if parts and not parts[0][0]:
        return parts[0][1]
    named = {name: _structure([(path[1:], slot) for path, slot in group]) for name, group in grouped(parts)}
    return tuple(named.values()) if named and is_tuple(named) else named


def _paths(node: Any, name: str | None = None, before: Path = (), shape: Shape = ()) -> Iterator[tuple[Slot, Path]]:
    """Where each slot stands in a result. ``shape`` is that of the tables around."""
    if name is None and (isinstance(node, (Slot, RecordValue)) or (isinstance(node, (tuple, list)) and not hasattr(node, "_fields"))):
        name = "result"
    if isinstance(node, Slot):
        yield node, (*before, (str(name), node.shape[len(shape) :]))
        return
    own: Shape = ()
    if isinstance(node, RecordValue):
        # The sizes of a table are those of a leaf that are not of its row.
        whole, inside = next(iter(_slots(node))).shape, leaves(node.type)[0][2]
        own = whole[len(shape) : len(whole) - len(inside)]
    here = before if name is None else (*before, (name, own))
    for part, value in _tree.parts(node):
        yield from _paths(value, part, here, shape + own)


def _slots(node: Any) -> Iterator[Slot]:
    if isinstance(node, Slot):
        yield node
    for _, part in _tree.parts(node):
        yield from _slots(part)


def _value(slot: Slot, found: list[int] | None) -> Any:
    if found is None:
        return None
    return nest([plain(number, slot.elem) for number in found], slot.shape)


def as_array(slot: Slot, found: list[int] | None) -> Any:
    """The same as a NumPy array, of the smallest type that holds it."""
    import numpy as np

    value = _value(slot, found)
    if value is None or not slot.shape:
        return value
    if slot.elem.kind == "bool":
        return np.array(value, dtype=np.bool_)
    if slot.elem.kind == "fixed":
        return np.array(value, dtype=np.float64 if slot.elem.width <= 53 else object)
    size = next((size for size in (8, 16, 32, 64) if slot.elem.width <= size), None)
    return np.array(value, dtype=object if size is None else f"{'int' if slot.elem.signed else 'uint'}{size}")


def collect(result: Any, spec: Any, statics: Mapping[str, Any], to: str, program: str) -> Outputs:
    """The outputs for what a function returned and what it says that it returns; sizes may be text over ``statics``."""
    slots: list[Slot] = []
    if result is None:
        raise CompileError(f"{program} returns nothing: return what somebody shall learn")
    structure = _Collector(statics, to, program, slots).part(result, spec, "")
    if not slots:
        raise CompileError(f"{program} returns nothing secret: return what somebody shall learn")
    if any(slot.name == OVERFLOW for slot in slots):
        raise CompileError(f"{program}: output {OVERFLOW} has the name of the bit that cn.checked adds: rename it")
    return Outputs(structure, slots)


class _Collector:
    def __init__(self, statics: Mapping[str, Any], to: str, program: str, slots: list[Slot]) -> None:
        self._statics, self._to, self._program, self._slots = dict(statics), to, program, slots

    def _error(self, path: str, what: str) -> CompileError:
        return CompileError(f"{self._program}: {f'output {path}' if path else 'the result'} {what}")

    def part(self, result: Any, spec: Any, path: str) -> Any:
        """One part of the result, with the part of the annotation that is about it."""
        if isinstance(spec, (Deferred, Ported)):
            spec = resolve(spec, self._statics)
        if spec is None or isinstance(spec, PartyMarker):
            return self._untyped(result, self._to if spec is None else spec.name, path)
        if isinstance(spec, Ported):
            return self._typed(result, spec.type, spec.party, path)
        if isinstance(spec, (Scalar, ArrayType)) or (isinstance(spec, type) and issubclass(spec, Record)):
            return self._typed(result, spec, self._to, path)
        if typing.get_origin(spec) is tuple:
            return self._tuple(result, typing.get_args(spec), path)
        if isinstance(spec, tuple):
            return self._tuple(result, spec, path)
        names = self._fields(spec, path)
        values = _named_parts(result)
        if values is None or set(values) != set(names):
            raise self._error(path, f"has the parts {sorted(values or {})}, annotated are {sorted(names)}")
        made = {name: self.part(values[name], of, f"{path}.{name}" if path else name) for name, of in names.items()}
        if isinstance(spec, type) and not isinstance(result, dict):
            return type(result)(**made)
        return made

    def _fields(self, spec: Any, path: str) -> dict[str, Any]:
        if isinstance(spec, dict):
            return spec
        if isinstance(spec, type) and getattr(spec, "__annotations__", None):
            return typing.get_type_hints(spec)
        raise self._error(
            path,
            f"is annotated with {spec!r}: write cn.Both[..], cn.A[..] or cn.B[..] around a secret type, a "
            "tuple of them, a dict or a dataclass",
        )

    def _tuple(self, result: Any, specs: Sequence[Any], path: str) -> Any:
        if not isinstance(result, (tuple, list)) or len(result) != len(specs):
            raise self._error(
                path,
                f"is annotated as a tuple of {len(specs)} and is {type(result).__name__}"
                + (f" of {len(result)}" if isinstance(result, (tuple, list)) else ""),
            )
        return tuple(self.part(part, of, f"{path or 'result'}.{k}") for k, (part, of) in enumerate(zip(result, specs)))

    def _slot(self, secret: Secret, receiver: str, path: str) -> Slot:
        slot = Slot(path or "result", receiver, secret.elem, secret.shape, secret.w)
        self._slots.append(slot)
        return slot

    def _untyped(self, result: Any, receiver: str, path: str) -> Any:
        prefix = path
        if not prefix and (isinstance(result, RecordValue) or (isinstance(result, (tuple, list)) and not hasattr(result, "_fields"))):
            prefix = "result"
        leaves = iter([f"{prefix}.{name}" if prefix and name else name or prefix for name, _ in _tree.walk(result)])

        def leaf(value: Any) -> Slot:
            name = next(leaves)
            if not isinstance(value, Secret):
                raise self._error(name, f"is the plain value {value!r}: annotate its type, as in -> cn.Both[cn.UInt[8]], or leave it out")
            return self._slot(value, receiver, name)

        return _tree.rebuild(result, leaf)

    def _typed(self, result: Any, of: Any, receiver: str, path: str) -> Any:
        if isinstance(of, type) or (isinstance(of, ArrayType) and not isinstance(of.item, Scalar)):
            return self._record(result, of, receiver, path)
        elem, shape = (of.item, of.shape) if isinstance(of, ArrayType) else (of, ())
        if not isinstance(result, Secret):
            if isinstance(result, (RecordValue, dict)):
                raise self._error(path, f"is a {type(result).__name__}, annotated is {type_name(of)}")
            if isinstance(result, (tuple, list)) and any(isinstance(part, (Secret, RecordValue)) for part in result):
                remedy = "make it one array with cn.stack" if shape else "annotate each part, as in -> tuple[cn.Both[..], cn.A[..]]"
                raise self._error(path, f"is a {type(result).__name__} of {len(result)}, annotated is {type_name(of)}: {remedy}")
            result = constant(result, elem)
            result = Secret(elem, shape, full(result, shape)) if result.shape != shape and not result.shape else result
        if (result.elem, result.shape) != (elem, shape):
            given = type_name(ArrayType(result.elem, result.shape)) if result.shape else repr(result.elem)
            raise self._error(path, f"is {given}, annotated is {type_name(of)}: convert it, or change the annotation")
        return self._slot(result, receiver, path)

    def _record(self, result: Any, of: Any, receiver: str, path: str) -> Any:
        record, shape = (of.item, of.shape) if isinstance(of, ArrayType) else (of, ())
        if not isinstance(result, RecordValue) or result.type is not record:
            shown = result.type.__name__ if isinstance(result, RecordValue) else type(result).__name__
            raise self._error(path, f"is {shown}, annotated is {type_name(of)}")
        made = {}
        for name, field in field_types(record).items():
            item = field.item if isinstance(field, ArrayType) else field
            own = field.shape if isinstance(field, ArrayType) else ()
            wanted = ArrayType(item, shape + own) if shape + own else item
            made[name] = self._typed(getattr(result, name), wanted, receiver, f"{path or 'result'}.{name}")
        return RecordValue(record, made)


def _named_parts(result: Any) -> dict[str, Any] | None:
    if isinstance(result, dict):
        return result
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        return dict(result._asdict())
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    return None
