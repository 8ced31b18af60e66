"""Blocks that are written once must not change Python's own containers: a list would grow once, not once a round."""

from __future__ import annotations

import types
from collections.abc import Callable
from operator import is_
from typing import Any

from ._errors import compile_error

_CONTAINERS = (list, dict, set)


def _seen(function: Callable[..., Any]) -> dict[str, Any]:
    """The containers around a function that it names: those of the functions around it and of its module."""
    if not isinstance(function, types.FunctionType):
        return {}
    code = function.__code__
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # Assigned later.
            continue
    return {name: value for name, value in found.items() if type(value) in _CONTAINERS}


def _items(value: Any, depth: int = 4) -> list[Any]:
    """What is in a container, containers in it opened; references keep the items alive, so that `is` compares them."""
    flat: list[Any] = []
    parts = [*value.keys(), *value.values()] if type(value) is dict else value
    for part in parts:
        flat.append(part)
        if depth and type(part) in _CONTAINERS:
            flat.extend(_items(part, depth - 1))
            flat.append(None)
    return flat


class unchanged:
    """Refuses changes that ``functions``, the text of ``block``, make to containers around them."""

    def __init__(self, block: str, *functions: Callable[..., Any]) -> None:
        self._block = block
        self._around = [(name, value, _items(value)) for function in functions for name, value in _seen(function).items()]

    def __enter__(self) -> None:
        pass

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is not None:
            return
        for name, value, before in self._around:
            after = _items(value)
            if len(after) != len(before) or not all(map(is_, before, after)):
                raise compile_error(
                    f"the {type(value).__name__} `{name}` is changed inside of {self._block}, which is written once and so would change "
                    f"it once: put the values into an array, as in {name} = cn.zeros(cn.UInt[8], n) before and {name}[i] = v inside, "
                    f"or return them"
                )
