"""Structures of secrets (tuples, lists, dicts, dataclasses, records) as flat lists of words, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import CompileError
from ._records import RecordValue
from ._values import Index, Secret


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a structure with their paths: secrets, and whatever is no structure."""
    if isinstance(value, Secret):
        yield path, value
        return
    for name, part in parts(value):
        yield from walk(part, f"{path}.{name}" if path else name)
    if is_leaf(value):
        yield path, value


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a structure with their names, those of tuples and lists numbered; none of anything else."""
    if isinstance(value, RecordValue):
        yield from value.fields().items()
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        yield from zip(names, value)
    elif isinstance(value, dict):
        yield from ((str(name), part) for name, part in value.items())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))


def is_leaf(value: Any) -> bool:
    """Whether a value has no parts here."""
    return not (isinstance(value, (RecordValue, tuple, list, dict)) or (dataclasses.is_dataclass(value) and not isinstance(value, type)))


def rebuild(value: Any, leaf: Callable[[Any], Any], known: dict[int, Any] | None = None) -> Any:
    """The same structure with every leaf replaced, in the order of :func:`walk`.

    ``known`` is kept between calls where a list that stands in two places shall become one list.
    """
    if isinstance(value, Secret):
        return leaf(value)
    if known is None:
        known = {}
    if isinstance(value, RecordValue):
        return RecordValue(value.type, {name: rebuild(part, leaf, known) for name, part in value.fields().items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(part, leaf, known) for part in value))
    if isinstance(value, tuple):
        return type(value)(rebuild(part, leaf, known) for part in value)
    if is_leaf(value):
        return leaf(value)
    made: Any
    if isinstance(value, list):
        made = type(value)(rebuild(part, leaf, known) for part in value)
    elif isinstance(value, dict):
        made = {name: rebuild(part, leaf, known) for name, part in value.items()}
    else:
        fields = {field.name: rebuild(getattr(value, field.name), leaf, known) for field in dataclasses.fields(value)}
        made = dataclasses.replace(value, **fields)
    # Leaves are replaced all the same: the caller counts them.
    return known.setdefault(id(value), made)


def containers(value: Any) -> Iterator[Any]:
    """The lists, dicts and dataclass instances in a structure: what can be changed, other than secrets."""
    if not isinstance(value, (Secret, RecordValue, tuple)) and not is_leaf(value):
        yield value
    if not isinstance(value, (Secret, RecordValue)):
        for _, part in parts(value):
            yield from containers(part)


def arrays(value: Any, path: str = "", row: bool = False) -> Iterator[tuple[str, Secret]]:
    """The secrets in a structure that can change where they are, with their paths: arrays, and all fields of records."""
    if isinstance(value, Secret):
        if value.shape or row:
            yield path, value
    else:
        for name, part in parts(value):
            yield from arrays(part, f"{path}.{name}" if path else name, row=isinstance(value, RecordValue))


def secrets(value: Any) -> list[Secret]:
    """The secrets in a structure, in order."""
    return [leaf for _, leaf in walk(value) if isinstance(leaf, Secret)]


def key(value: Any) -> Any:
    """What a structure is, without its secrets: types, shapes and plain values, as something hashable.

    Other objects are known by their addresses: whoever keeps the key keeps them.
    """

    def leaf_key(leaf: Any) -> Any:
        if isinstance(leaf, Secret):
            return ("secret", leaf.elem, leaf.shape)
        if isinstance(leaf, Index):
            return ("index", id(leaf))
        if type(leaf).__module__ == "numpy" and hasattr(leaf, "shape"):
            return ("array", str(leaf.dtype), leaf.shape, leaf.tobytes())
        try:
            hash(leaf)
        except (TypeError, CompileError):
            return ("object", id(leaf))
        return ("plain", type(leaf), leaf)

    shape = type(value) if not isinstance(value, RecordValue) else value.type
    return (shape, tuple((path, leaf_key(leaf)) for path, leaf in walk(value)))
