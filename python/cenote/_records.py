"""Records: named fields of secrets. An array of records is a record of arrays."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from . import _words as words
from ._arrays import get_item, set_item, watch_places
from ._convert import as_secret
from ._errors import CompileError, NoAttribute, compile_error
from ._types import ArrayType, Bit, Deferred, Record, RecordMeta, Scalar, Shape, is_type, lanes_of, resolve, type_name
from ._values import Secret, _unhashable


def field_types(cls: type) -> dict[str, Any]:
    """Names and types of the fields, those of base classes first."""
    known = cls.__dict__.get("_cenote_fields")
    if known is not None:
        return typing.cast("dict[str, Any]", known)
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        raise CompileError(f"the fields of {cls.__name__} cannot be read: {error}") from None
    except TypeError:
        hints = {name: of for base in reversed(cls.__mro__) for name, of in inspect.get_annotations(base).items()}
    for name, of in hints.items():
        if isinstance(of, Deferred) or not is_type(resolve(of, {})):
            raise CompileError(
                f"field {cls.__name__}.{name} has the type {of!r}: take Bit, UInt[n], Int[n], Fixed[i, f], Array[..] or a Record"
            )
    if not hints:
        raise CompileError(f"{cls.__name__} has no fields: write them as `name: cn.UInt[32]` in its body")
    cls._cenote_fields = dict(hints)  # type: ignore[attr-defined]
    return dict(hints)


def leaves(of: Any, shape: Shape = (), path: str = "") -> list[tuple[str, Scalar, Shape]]:
    """The words in a type: path, type and shape of each, fields in order."""
    if isinstance(of, Scalar):
        return [(path, of, shape)]
    if isinstance(of, ArrayType):
        return leaves(of.item, shape + of.shape, path)
    parts = []
    for name, field in field_types(of).items():
        parts += leaves(field, shape, f"{path}.{name}" if path else name)
    return parts


#: Names of the steps to a port, from the input or output itself on, each with the sizes of its array.
Path = tuple[tuple[str, Shape], ...]


def dotted(path: Path) -> str:
    """The name of a port."""
    return ".".join(name for name, _ in path)


def places(of: Any, name: str, before: Path = (), shape: Shape = ()) -> Iterator[tuple[Path, Scalar, Shape]]:
    """The leaves of a type as ports: path, type and shape of each, in the order of :func:`leaves`."""
    of, own = (of.item, of.shape) if isinstance(of, ArrayType) else (of, ())
    here, whole = (*before, (name, own)), shape + own
    if isinstance(of, Scalar):
        yield here, of, whole
        return
    for field, field_type in field_types(of).items():
        yield from places(field_type, field, here, whole)


def type_at(parts: Sequence[tuple[Path, Scalar]]) -> Any:
    """The type whose leaves are at these paths, which begin with one name; the opposite of :func:`places`."""
    path, elem = parts[0]
    (name, sizes), rest = path[0], path[1:]
    item = record_of(name, {field: type_at(group) for field, group in grouped([(p[1:], e) for p, e in parts])}) if rest else elem
    return ArrayType(item, sizes) if sizes else item


_Leaf = TypeVar("_Leaf")


def grouped(parts: Sequence[tuple[Path, _Leaf]]) -> list[tuple[str, list[tuple[Path, _Leaf]]]]:
    """Leaves by the names that their paths begin with."""
    groups: dict[str, list[tuple[Path, _Leaf]]] = {}
    for path, leaf in parts:
        groups.setdefault(path[0][0], []).append((path, leaf))
    return list(groups.items())


def record_of(name: str, fields: dict[str, Any]) -> Any:
    """A record type with these fields, which nobody wrote as a class."""
    return types.new_class(name[:1].upper() + name[1:], (Record,), exec_body=lambda body: body.update(_cenote_fields=dict(fields)))


def is_tuple(names: Iterable[str]) -> bool:
    """Whether parts have the names of those of a tuple: ``0``, ``1``, and so on."""
    return all(name == str(k) for k, name in enumerate(names))


def build(of: Any, words: Any, shape: Shape = ()) -> Any:
    """The value of a type from its leaves, in the order of :func:`leaves`; ``words`` is an iterator."""
    if isinstance(of, Scalar):
        return next(words)
    if isinstance(of, ArrayType):
        return build(of.item, words, shape + of.shape)
    return RecordValue(of, {name: build(field, words, shape) for name, field in field_types(of).items()})


def _field(value: Any, of: Any, name: str) -> Any:
    if isinstance(value, RecordValue):
        if value.type is not of:
            raise compile_error(f"field {name} takes {type_name(of)}, not {value.type.__name__}")
        return value.copy()
    elem = of.item if isinstance(of, ArrayType) else of
    if not isinstance(elem, Scalar):
        raise compile_error(f"field {name} takes a {type_name(of)}")
    return as_secret(value, elem, f"field {name}").copy()


def made(cls: RecordMeta, *args: Any, **fields: Any) -> RecordValue:
    """A record of the type ``cls``, its fields by name."""
    if args:
        raise compile_error(
            f"{cls.__name__} takes its fields by name, as in {cls.__name__}({', '.join(f'{n}=..' for n in field_types(cls))})"
        )
    wanted = field_types(cls)
    if set(fields) != set(wanted):
        missing = ", ".join(sorted(set(wanted) - set(fields)))
        extra = ", ".join(sorted(set(fields) - set(wanted)))
        what = "; ".join(filter(None, [missing and f"missing: {missing}", extra and f"unknown: {extra}"]))
        raise compile_error(f"{cls.__name__} has the fields {', '.join(wanted)} ({what})")
    return RecordValue(cls, {name: _field(fields[name], of, name) for name, of in wanted.items()})


class RecordValue:
    """A record of secrets, or a table: each field then has the table's axes before its own.

    Its leaves are its own for good; what is assigned to a field is copied into them, as into a row of an array.
    """

    __slots__ = ("_fields", "type")

    _fields: dict[str, Any]
    type: Any

    def __init__(self, of: Any, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "type", of)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field = self._named(name)
        # A single word is a value, whatever becomes of the record.
        return field.copy() if isinstance(field, Secret) and not field.shape else field

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._named(name)
        if isinstance(field, RecordValue):
            for mine, other in zip(field.leaves(), _field(value, field.type, name).leaves()):
                mine.assign(other)
        else:
            field.assign(value)

    def _named(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise compile_error(f"{self.type.__name__} has no field {name}; it has {', '.join(self._fields)}", NoAttribute) from None

    def fields(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(self._fields)

    def replace(self, **fields: Any) -> RecordValue:
        """A record of its own with some fields changed."""
        copy = self.copy()
        for name, value in fields.items():
            setattr(copy, name, value)
        return copy

    def copy(self) -> RecordValue:
        """A record of its own with the same words."""
        return self.each(Secret.copy)

    def each(self, function: Callable[[Any], Any]) -> RecordValue:
        """A record of what a function gives for each leaf."""
        return RecordValue(
            self.type,
            {name: field.each(function) if isinstance(field, RecordValue) else function(field) for name, field in self._fields.items()},
        )

    @staticmethod
    def build(of: Any, function: Callable[[Any], Any]) -> RecordValue:
        """A record of what a function gives for the type of each leaf."""
        return RecordValue(of, {name: function(field) for name, field in field_types(of).items()})

    @staticmethod
    def combine(function: Callable[..., Any], *records: Any) -> RecordValue:
        """A record of what a function gives for the leaves of several, in turn."""
        first = records[0]
        if any(not isinstance(r, RecordValue) or r.type is not first.type for r in records):
            shown = ", ".join(r.type.__name__ if isinstance(r, RecordValue) else type(r).__name__ for r in records)
            raise compile_error(f"records of one type are needed, not {shown}")
        return RecordValue(
            first.type,
            {
                name: RecordValue.combine(function, *(r._fields[name] for r in records))
                if isinstance(field, RecordValue)
                else function(*(r._fields[name] for r in records))
                for name, field in first._fields.items()
            },
        )

    def leaves(self) -> list[Secret]:
        """All words, fields in order."""
        found: list[Secret] = []
        for field in self._fields.values():
            found += field.leaves() if isinstance(field, RecordValue) else [field]
        return found

    def rearranged(self, by: str, function: Callable[[Secret, tuple[Any, ...]], Any]) -> RecordValue:
        """A table whose rows a function puts into another order, given the key and all other leaves."""
        key = self._named(by)
        if not isinstance(key, Secret):
            raise compile_error(f"field {by} is a record; sort by one of its fields")
        rest = [leaf for leaf in self.leaves() if leaf is not key]
        result = function(key, tuple(rest))
        ordered = list(result) if rest else [result]
        changed = {id(leaf): new for leaf, new in zip([key, *rest], ordered)}
        return self.each(lambda leaf: changed[id(leaf)])

    def __len__(self) -> int:
        return len(self.leaves()[0])

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> RecordValue:
        axes = self._watched_axes(key)
        return self.each(lambda field: get_item(field, key, axes))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, RecordValue) or value.type is not self.type:
            raise compile_error(f"a row of this table is a {self.type.__name__}")
        axes = self._watched_axes(key)
        for mine, other in zip(self.leaves(), value.leaves()):
            mine.write(set_item(mine, key, other, axes))

    def _watched_axes(self, key: Any) -> int:
        """How many axes the table has, before those of its fields; a secret place beyond the end is flagged, once for all fields."""
        own = leaves(self.type)[0][2]
        axes = self.leaves()[0].ndim - len(own)
        if not axes:
            raise compile_error(f"this is one {self.type.__name__} and has no rows: it has the fields {', '.join(self._fields)}")
        if isinstance(key, Secret):
            watch_places(key, len(self))
        return axes

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, RecordValue) or other.type is not self.type:
            raise compile_error(f"== of {self.type.__name__} and {type(other).__name__}: records of one type are compared")
        result: Any = None
        for (_, _, own), mine, theirs in zip(leaves(self.type), self.leaves(), other.leaves()):
            same = mine == theirs
            if own:
                shape = same.shape[: same.ndim - len(own)]
                same = Secret(Bit, shape, words.over("rand", (lanes_of(shape),), same.w, lanes_of(shape), 1))
            result = same if result is None else result & same
        return result

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = _unhashable

    def __bool__(self) -> bool:
        raise compile_error("a record of secrets has no truth value")

    def __repr__(self) -> str:
        return f"{self.type.__name__}({', '.join(f'{name}={field!r}' for name, field in self._fields.items())})"
