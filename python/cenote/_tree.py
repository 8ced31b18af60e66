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
    for name, part in _parts(value):
        yield from walk(part, f"{path}.{name}" if path else name)
    if _is_leaf(value):
        yield path, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, RecordValue):
        yield from value.fields().items()
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        yield from zip(names, value)
    elif isinstance(value, dict):
        yield from ((str(name), part) for name, part in value.items())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))


def _is_leaf(value: Any) -> bool:
    return not (isinstance(value, (RecordValue, tuple, list, dict)) or (dataclasses.is_dataclass(value) and not isinstance(value, type)))


def rebuild(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same structure with every leaf replaced, in the order of :func:`walk`."""
    if isinstance(value, Secret):
        return leaf(value)
    if isinstance(value, RecordValue):
        return RecordValue(value.type, {name: rebuild(part, leaf) for name, part in value.fields().items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(part, leaf) for part in value))
    if isinstance(value, (tuple, list)):
        return type(value)(rebuild(part, leaf) for part in value)
    if isinstance(value, dict):
        return {name: rebuild(part, leaf) for name, part in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: rebuild(getattr(value, f.name), leaf) for f in dataclasses.fields(value)})
    return leaf(value)


def secrets(value: Any) -> list[Secret]:
    """The secrets in a structure, in order."""
    return [leaf for _, leaf in walk(value) if isinstance(leaf, Secret)]


def key(value: Any) -> Any:
    """What a structure is, without its secrets: types, shapes and plain values, as something hashable."""

    def leaf_key(leaf: Any) -> Any:
        if isinstance(leaf, Secret):
            return ("secret", leaf.elem, leaf.shape)
        if isinstance(leaf, Index):
            return ("index", id(leaf))
        try:
            hash(leaf)
        except (TypeError, CompileError):
            return ("object", id(leaf))
        return ("plain", type(leaf), leaf)

    shape = type(value) if not isinstance(value, RecordValue) else value.type
    return (shape, tuple((path, leaf_key(leaf)) for path, leaf in walk(value)))
