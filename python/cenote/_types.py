"""Types of secret values: words, arrays of words, records; and who owns or receives them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Union

from ._errors import CompileError, compile_error

#: Widest word, in bits.
MAX_WIDTH = 4096

Shape = tuple[int, ...]


class Scalar:
    """The type of one word: ``Bit``, ``UInt[n]``, ``Int[n]`` or ``Fixed[i, f]``. Calling it converts a value.

    ``UInt[8](7)`` is a public constant, ``UInt[16](x)`` widens or narrows a secret. A secret that does not fit keeps its
    lowest bits, which is an overflow as that of arithmetic; a constant that does not fit is refused.
    """

    __slots__ = ("frac", "kind", "width")

    def __init__(self, kind: str, width: int, frac: int = 0) -> None:
        self.kind, self.width, self.frac = kind, width, frac

    @property
    def signed(self) -> bool:
        """Whether the highest bit is a sign."""
        return self.kind in ("int", "fixed")

    @property
    def low(self) -> int:
        """Smallest number, in units of the last place."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """Largest number, in units of the last place."""
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1

    def bounds(self) -> str:
        """Smallest and largest value, for messages."""
        if self.kind == "fixed":
            unit = 2.0**-self.frac
            return f"{self.low * unit:g} .. {self.high * unit:g}"
        if self.width > 64:
            return f"-2^{self.width - 1} .. 2^{self.width - 1} - 1" if self.signed else f"0 .. 2^{self.width} - 1"
        return f"{self.low} .. {self.high}"

    if TYPE_CHECKING:  # Given by ``_operators``.

        def __call__(self, value: Any, shape: Any = None) -> Any: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and (self.kind, self.width, self.frac) == (other.kind, other.width, other.frac)

    def __hash__(self) -> int:
        return hash((self.kind, self.width, self.frac))

    def __repr__(self) -> str:
        if self.kind == "bool":
            return "Bit"
        if self.kind == "fixed":
            return f"Fixed[{self.width - self.frac}, {self.frac}]"
        return f"{'Int' if self.signed else 'UInt'}[{self.width}]"


class ArrayType:
    """The type of an array of words or records with a fixed shape."""

    __slots__ = ("item", "shape")

    def __init__(self, item: Any, shape: Shape) -> None:
        self.item, self.shape = item, shape

    if TYPE_CHECKING:  # Given by ``_operators``.

        def __call__(self, value: Any) -> Any: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and (self.item, self.shape) == (other.item, other.shape)

    def __hash__(self) -> int:
        return hash((self.item, self.shape))

    def __repr__(self) -> str:
        return f"Array[{type_name(self.item)}, {', '.join(map(str, self.shape))}]"


class RecordMeta(type):
    """Makes a call of a record type a record value instead of an instance."""

    if TYPE_CHECKING:  # Given by ``_operators``.

        def __call__(cls, *args: Any, **fields: Any) -> Any: ...


class Record(metaclass=RecordMeta):
    """Base of record types.

    ::

        class Purchase(cn.Record):
            customer: cn.UInt[32]
            cents: cn.UInt[24]

    Fields are words, arrays of a fixed shape or other records. ``Array[Purchase, 100]`` is a table of 100 rows, whose
    ``rows.cents`` is an array and whose ``rows[i]`` is one purchase.
    """


#: Any type of a secret value; a record type is a subclass of ``Record``.
Type = Union[Scalar, ArrayType, type[Record]]


class Deferred:
    """A type whose sizes are expressions of the program's parameters, such as ``Array[UInt[8], "n + 1"]``."""

    __slots__ = ("arguments", "maker")

    def __init__(self, maker: Any, arguments: tuple[Any, ...]) -> None:
        self.maker, self.arguments = maker, arguments

    def resolve(self, names: dict[str, Any]) -> Any:
        """The type for these values of the parameters."""
        return self.maker[tuple(resolve(argument, names) for argument in self.arguments)]

    def __repr__(self) -> str:
        return f"{self.maker!r}[{', '.join(map(str, self.arguments))}]"


def resolve(value: Any, names: dict[str, Any]) -> Any:
    """Evaluates sizes that were written as text, with the values of the program's parameters."""
    if isinstance(value, Deferred):
        return value.resolve(names)
    if isinstance(value, Ported):
        return Ported(value.party, resolve(value.type, names))
    if isinstance(value, Lasting):
        return Lasting(value.is_new, resolve(value.type, names))
    if isinstance(value, str):
        try:
            return eval(value, {"__builtins__": {}, "len": len, "min": min, "max": max}, names)
        except Exception as error:
            raise CompileError(f"the size {value!r} cannot be computed from the parameters {sorted(names)}: {error}") from None
    return value


def _size(value: Any, what: str, low: int, high: int) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise compile_error(f"{what} is {value!r}, not a whole number") from None
    if not low <= number <= high:
        raise compile_error(f"{what} is {number}: choose from {low} to {high}")
    return int(number)


def _waits(arguments: tuple[Any, ...]) -> bool:
    return any(isinstance(argument, (str, Deferred)) for argument in arguments)


class _Maker:
    """``UInt[8]`` and ``UInt(8)`` alike."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[Any, Any] = {}

    def __getitem__(self, arguments: Any) -> Any:
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        if _waits(arguments):
            return Deferred(self, arguments)
        if arguments not in self._made:
            self._made[arguments] = self._make(arguments)
        return self._made[arguments]

    def __call__(self, *arguments: Any) -> Any:
        return self[arguments]

    def __repr__(self) -> str:
        return self._name

    def _make(self, arguments: tuple[Any, ...]) -> Any:
        raise NotImplementedError


class _Whole(_Maker):
    """Whole numbers of a width, as in ``UInt[32]`` and ``Int[8]``."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(name)
        self._kind = kind

    def _make(self, arguments: tuple[Any, ...]) -> Scalar:
        if len(arguments) != 1:
            raise compile_error(f"{self._name} takes one width, as in {self._name}[32]")
        return Scalar(self._kind, _size(arguments[0], f"the width of {self._name}", 1, MAX_WIDTH))


class _FixedMaker(_Maker):
    """Fixed-point numbers: ``Fixed[i, f]`` has i bits before the point, the sign among them, and f after it."""

    def _make(self, arguments: tuple[Any, ...]) -> Scalar:
        if len(arguments) != 2:
            raise compile_error("Fixed takes integer bits (sign included) and fraction bits, as in Fixed[16, 16]")
        whole = _size(arguments[0], "the number of integer bits of Fixed", 1, MAX_WIDTH)
        frac = _size(arguments[1], "the number of fraction bits of Fixed", 0, MAX_WIDTH)
        return Scalar("fixed", _size(whole + frac, "the width of Fixed", 1, MAX_WIDTH), frac)


class _ArrayMaker(_Maker):
    """Arrays of words or records, as in ``Array[UInt[8], 3, 4]``."""

    def _make(self, arguments: tuple[Any, ...]) -> ArrayType:
        if len(arguments) < 2:
            raise compile_error("Array takes the type of its items and its sizes, as in Array[UInt[8], 16] or Array[Bit, 3, 4]")
        item, sizes = arguments[0], arguments[1:]
        if len(sizes) == 1 and isinstance(sizes[0], tuple):
            sizes = sizes[0]
        shape = tuple(_size(size, "a size of Array", 1, 1 << 26) for size in sizes)
        if isinstance(item, ArrayType):
            return ArrayType(item.item, shape + item.shape)
        if not is_type(item):
            raise compile_error(f"{item!r} is no type of array items: take Bit, UInt[n], Int[n], Fixed[i, f] or a Record")
        return ArrayType(item, shape)


Bit = Scalar("bool", 1)
UInt = _Whole("UInt", "uint")
Int = _Whole("Int", "int")
Fixed = _FixedMaker("Fixed")
Array = _ArrayMaker("Array")


def port_type(kind: str, width: int, frac: int) -> Scalar:
    """The type of the words of a port; a string of bits is a number here."""
    return Scalar("uint" if kind == "bits" else kind, width, frac)


def is_type(value: Any) -> bool:
    """Whether ``value`` is a type of secrets."""
    return isinstance(value, (Scalar, ArrayType)) or (isinstance(value, type) and issubclass(value, Record))


def type_name(value: Any) -> str:
    """How a type is written."""
    return value.__name__ if isinstance(value, type) else repr(value)


def lanes_of(shape: Shape) -> int:
    """Number of words in an array of this shape."""
    return math.prod(shape)


class Ported:
    """A type with the party that provides it or receives it."""

    __slots__ = ("party", "type")

    def __init__(self, party: str, of: Any) -> None:
        self.party, self.type = party, of

    def __call__(self, *_: Any) -> Any:
        # Called by nobody; classes with annotated fields want annotations that can be.
        raise compile_error(f"{self!r} says whose a value is; convert with {type_name(self.type)}(..)")

    def __repr__(self) -> str:
        return f"{party_of(self.party)!r}[{type_name(self.type)}]"


class PartyMarker:
    """``A[T]``: an input of A, or an output for it alone; ``Both[T]``: an output for both."""

    def __init__(self, shown: str, name: str) -> None:
        #: The role that it has: "garbler" or "evaluator"; or "both".
        self.name = name
        self._shown = shown

    def __getitem__(self, of: Any) -> Ported:
        if isinstance(of, Ported):
            raise compile_error(f"{of!r} has a party already")
        if not (is_type(of) or isinstance(of, (Deferred, str))):
            raise compile_error(f"{of!r} is no type of secrets: take Bit, UInt[n], Int[n], Fixed[i, f], Array[..] or a Record")
        return Ported(self.name, of)

    def __repr__(self) -> str:
        return self._shown


class RamType:
    """``Ram[T, n, accesses]``: a random access memory of ``n`` rows that outlives a run, for so many accesses in its whole life."""

    __slots__ = ("accesses", "item", "rows")

    def __init__(self, item: Any, rows: Any, accesses: Any) -> None:
        self.item = item
        self.rows = _size(rows, "the number of rows", 1, 1 << 24)
        self.accesses = _size(accesses, "the number of accesses", 1, (1 << 32) - 1)

    @property
    def table(self) -> Any:
        """The array of its rows, as plain values have it."""
        return Array[self.item, self.rows]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RamType) and (self.item, self.rows, self.accesses) == (other.item, other.rows, other.accesses)

    def __hash__(self) -> int:
        return hash((self.item, self.rows, self.accesses))

    def __repr__(self) -> str:
        return f"Ram[{type_name(self.item)}, {self.rows}, {self.accesses}]"


class MapType:
    """``Map[K, V, n, accesses, T]``: a map that outlives a run, with room for ``n`` entries, for so many accesses in its whole life."""

    __slots__ = ("accesses", "key", "n", "time", "value")

    def __init__(self, key: Scalar, value: Any, n: Any, accesses: Any, time: Scalar | None) -> None:
        self.key, self.value, self.time = key, value, time
        self.n = _size(n, "the number of entries", 1, 1 << 24)
        self.accesses = _size(accesses, "the number of accesses", 1, (1 << 32) - 1)

    def _all(self) -> tuple[Any, ...]:
        return self.key, self.value, self.n, self.accesses, self.time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapType) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        until = "" if self.time is None else f", {self.time}"
        return f"Map[{self.key}, {type_name(self.value)}, {self.n}, {self.accesses}{until}]"


class RamMaker:
    """What ``Ram[..]`` is made by, where sizes may be expressions of parameters."""

    def __getitem__(self, arguments: Any) -> Any:
        if not isinstance(arguments, tuple) or len(arguments) != 3:
            raise compile_error(
                "a memory of rows is Ram[T, n, accesses]: the type of a row, their number, and the accesses of its whole life"
            )
        item, rows, accesses = arguments
        if _waits(arguments):
            return Deferred(self, arguments)
        if not is_type(item):
            raise compile_error(f"{item!r} is no type of secrets: rows are Bit, UInt[n], Int[n], Fixed[i, f], Array[..] or a Record")
        return RamType(item, rows, accesses)

    def __repr__(self) -> str:
        return "Ram"


RAM_MAKER = RamMaker()


class MapMaker:
    """What ``Map[..]`` is made by, where sizes may be expressions of parameters."""

    def __getitem__(self, arguments: Any) -> Any:
        if not isinstance(arguments, tuple) or len(arguments) not in (4, 5):
            raise compile_error(
                "a map that outlives a run is Map[K, V, n, accesses], or Map[K, V, n, accesses, T] with times: the types of keys, values "
                "and times, the number of entries, and the accesses of its whole life"
            )
        if _waits(arguments):
            return Deferred(self, arguments)
        key, value, n, accesses, time = (*arguments, None)[:5]
        if not isinstance(key, Scalar):
            raise compile_error(f"a map whose keys are {key!r}: they are cn.Bit, UInt[n], Int[n] or Fixed[i, f]")
        if not is_type(value):
            raise compile_error(f"{value!r} is no type of secrets: values are Bit, UInt[n], Int[n], Fixed[i, f], Array[..] or a Record")
        if time is not None and (not isinstance(time, Scalar) or time == Bit):
            raise compile_error(f"a map whose times are {time!r}: they are UInt[n], Int[n] or Fixed[i, f]")
        return MapType(key, value, n, accesses, time)

    def __repr__(self) -> str:
        return "Map"


MAP_MAKER = MapMaker()


class Lasting:
    """The type of a memory that outlives a run, and whether the run begins it."""

    __slots__ = ("is_new", "type")

    def __init__(self, is_new: bool, of: Any) -> None:
        self.is_new, self.type = is_new, of

    def __repr__(self) -> str:
        of = repr(self.type) if isinstance(self.type, (MapType, RamType)) else type_name(self.type)
        return f"{'NewMemory' if self.is_new else 'Memory'}[{of}]"


class MemoryMarker:
    """``Memory[T]``: a memory that an earlier run has left; ``NewMemory[T]``: one that the run begins, with zeros."""

    def __init__(self, is_new: bool) -> None:
        self._is_new = is_new

    def __getitem__(self, of: Any) -> Lasting:
        if not (is_type(of) or isinstance(of, (Deferred, MapType, RamType, str))):
            raise compile_error(
                f"{of!r} is no type of secrets: take Bit, UInt[n], Int[n], Fixed[i, f], Array[..], a Record, Ram[T, n, accesses], or "
                "Map[K, V, n, accesses]"
            )
        return Lasting(self._is_new, of)

    def __repr__(self) -> str:
        return "NewMemory" if self._is_new else "Memory"


Memory = MemoryMarker(False)
NewMemory = MemoryMarker(True)

A = PartyMarker("A", "garbler")
B = PartyMarker("B", "evaluator")
Both = PartyMarker("Both", "both")
#: The parties by what they do in the protocols.
Garbler, Evaluator = A, B

_PARTIES = {"a": A, "b": B, **{party.name: party for party in (A, B, Both)}}


def party_of(named: Any) -> PartyMarker | None:
    """The party, or both, of this name or marker; ``None`` for anything else."""
    return named if isinstance(named, PartyMarker) else _PARTIES.get(named) if isinstance(named, str) else None
