"""Values of inputs and outputs as a service takes and gives them: JSON, by the types of a program."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from . import _bind
from ._errors import InputError
from ._plain import exact_decimal, nest
from ._program import Program
from ._records import grouped
from ._service_views import malformed
from ._types import Scalar, Shape, lanes_of, port_type

#: Widest word that JSON has as a number.
_NUMBER = 53


def to_json(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of some inputs, which may be all that ``run_local`` takes; raises :class:`InputError`."""
    inputs = program.inputs
    unknown = sorted(set(given) - set(inputs))
    if unknown:
        raise InputError(f"{program.name} has no input {', '.join(unknown)}; it takes {', '.join(inputs)}")
    ports = [(tuple((name, tuple(sizes)) for name, sizes in steps), port_type(*kind)) for steps, kind in _ports(program, True)]
    parts = dict(grouped(ports))
    made: dict[str, Any] = {}
    for name, value in given.items():
        leaves = _bind.encode(value, inputs[name].type, name)
        for (path, elem), numbers in zip(parts[name], leaves):
            shape = tuple(size for _, sizes in path for size in sizes)
            _put(made, [step for step, _ in path], nest([_word(number, elem) for number in numbers], shape))
    return made


def _ports(program: Program, inputs: bool) -> list[tuple[Any, tuple[str, int, int]]]:
    """Steps of each port, and the arguments of its type."""
    native = program._native
    return [(steps, (kind, width, frac)) for steps, _, kind, frac, width in (native.inputs() if inputs else native.outputs())]


def _put(tree: dict[str, Any], names: list[str], leaf: Any) -> None:
    for name in names[:-1]:
        tree = tree.setdefault(name, {})
    tree[names[-1]] = leaf


def _word(number: int, elem: Scalar) -> Any:
    """A word as the service reads it, exactly."""
    if elem.kind == "bool":
        return bool(number)
    if elem.kind == "fixed":
        return format(exact_decimal(number, elem.frac), "f")
    # Decimal digits of wide words take quadratic time.
    return number if elem.width <= _NUMBER else f"{number:#x}"


def from_json(program: Program, found: Any) -> list[list[int] | None]:
    """The numbers of each output, in units of the last place, from the result of a job; ``None`` for what the peer alone received.

    Raises :class:`ServiceError` for a result that is not of this program.
    """
    return [_received(found, steps, kind) for steps, kind in _ports(program, False)]


def _received(found: Any, steps: Any, kind: tuple[str, int, int]) -> list[int] | None:
    if found is None:
        return None
    name = ".".join(step for step, _ in steps)
    shape = tuple(size for _, sizes in steps for size in sizes)
    try:
        leaf = found
        for step, _ in steps:
            leaf = leaf[int(step)] if isinstance(leaf, list) else leaf[step]
        if leaf is None:
            return None
        if isinstance(leaf, str) and kind[0] == "bits" and kind[1] == 1 and len(shape) == 1:
            leaf = list(leaf)
        flat = _flat(leaf, shape)
        return [_units(word, port_type(*kind)) for word in flat]
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        # The words are secrets: they go into no message.
        raise malformed(f"has another output `{name}` than {program_kind(kind, shape)}") from None


def program_kind(kind: tuple[str, int, int], shape: Shape) -> str:
    """A type for messages."""
    return f"{port_type(*kind)!r} of shape {shape}" if shape else repr(port_type(*kind))


def _flat(leaf: Any, shape: Shape) -> list[Any]:
    """The words in nested lists of a shape."""
    level = [leaf]
    for size in shape:
        if any(not isinstance(item, list) or len(item) != size for item in level):
            raise ValueError("other sizes")
        level = [word for item in level for word in item]
    if len(level) != lanes_of(shape):
        raise ValueError("other sizes")
    return level


def _units(word: Any, elem: Scalar) -> int:
    if elem.kind == "bool":
        if not isinstance(word, bool):
            raise TypeError("no truth value")
        return int(word)
    if isinstance(word, bool) or not isinstance(word, (int, float, str)):
        raise TypeError("no number")
    if isinstance(word, str) and word.startswith("0x"):
        units = int(word, 16)
        # Hexadecimal has the bits of a word, of which the highest is the sign.
        units -= (1 << elem.width) if elem.signed and units > elem.high else 0
    elif isinstance(word, str) and not elem.frac:
        units = int(word)
    else:
        exact = Fraction(word) * (1 << elem.frac)
        if exact.denominator != 1:
            raise ValueError("more places than the type has")
        units = exact.numerator
    if not elem.low <= units <= elem.high:
        raise ValueError("out of range")
    return units
