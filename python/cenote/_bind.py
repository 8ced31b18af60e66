"""Values that users give for inputs, as words; data frames, Arrow tables and CSV files as columns of a table of records.

Whatever does not fit is refused before anything runs, with the input, the column and the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._errors import InputError
from ._packing import unpack
from ._plain import BadValue, flatten, shape_of
from ._records import field_types, is_tuple, leaves
from ._types import ArrayType, Record, Scalar, Shape, type_name

_MISSING = ("NAType", "NaTType")


def encode(value: Any, of: Any, name: str) -> list[list[int]]:
    """The numbers of each leaf of a type, for the input ``name``."""
    if isinstance(value, Path):
        return _file(value, of, name)
    if isinstance(value, str) and not isinstance(of, Scalar):
        raise InputError(f"input `{name}` is {type_name(of)} and given a text; a file is given as pathlib.Path(..)")
    if isinstance(of, ArrayType) and not isinstance(of.item, Scalar):
        return _table(value, of, name)
    if isinstance(of, type) and issubclass(of, Record):
        return _record(value, of, name)
    elem, shape = (of.item, of.shape) if isinstance(of, ArrayType) else (of, ())
    return [_column(value, elem, shape, f"input `{name}`", f"input `{name}`")]


def _file(path: Path, of: Any, name: str) -> list[list[int]]:
    """A CSV file: a column for each leaf of a record, or one for words."""
    rows, item = (of.shape, of.item) if isinstance(of, ArrayType) else ((1,), of)
    fields = [(field or name, elem, shape) for field, elem, shape in leaves(item)]
    if len(rows) != 1 or any(shape for _, _, shape in fields):
        raise InputError(
            f"input `{name}` is {type_name(of)}: a CSV file has one number in each place of a table; read it yourself, and give arrays"
        )
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"input `{name}`: {path}: {error.strerror}") from None
    try:
        found, columns = _native.read_csv(text, [(field, elem.kind, elem.frac, elem.width) for field, elem, _ in fields])
    except ValueError as error:
        raise InputError(f"input `{name}`: {path}:{error}") from None
    if found != rows[0]:
        raise InputError(f"input `{name}`: {path} has {found} rows, the program takes {rows[0]}")
    return [unpack(column, elem.width, elem.signed) for column, (_, elem, _) in zip(columns, fields)]


def _column(value: Any, elem: Scalar, shape: Shape, what: str, column: str) -> list[int]:
    names = None if isinstance(value, Mapping) else _columns(value, what)
    # A data frame as a matrix.
    values = _plain(value) if names is None else list(zip(*(_plain(value[name]) for name in names)))
    given = shape_of(values)
    if shape and given and given[0] != shape[0]:
        raise InputError(f"{what} has {given[0]} items, the program takes {shape[0]}: {elem} of shape {shape}")
    try:
        return flatten(values, shape, elem)
    except BadValue as bad:
        raise InputError(_described(bad, what, column)) from None


def _described(bad: BadValue, what: str, column: str) -> str:
    tail = [f"[{k}]" for k in bad.index]
    if bad.index and column != what:
        return f"{column}, {_row(bad.index[0], ''.join(tail[1:]))}: {bad.private()}"
    return f"{column}{''.join(tail)}: {bad.private()}"


def _row(index: int, inside: str = "") -> str:
    """How messages name a row, and a place inside of it: as people count, and the command."""
    return f"row {index + 1}{inside} (the first is row 1)"


def _plain(value: Any) -> Any:
    """A column of a data frame or an Arrow array as a NumPy array or a list, missing values as ``None``."""
    if hasattr(value, "to_pylist"):
        return value.to_pylist()
    module = type(value).__module__.split(".")[0]
    if module == "numpy" and hasattr(value, "mask"):
        return value.tolist()
    if module == "polars" and hasattr(value, "to_list"):
        return value.to_list()
    if module == "pandas" and hasattr(value, "tolist"):
        if getattr(value.dtype, "kind", "") in ("u", "i") and not hasattr(value.dtype, "na_value"):
            return value.to_numpy()
        return [None if type(item).__name__ in _MISSING else item for item in value.tolist()]
    return value


def _record(value: Any, of: Any, name: str) -> list[list[int]]:
    """One record: a mapping, or an object with the fields as attributes."""
    result: list[list[int]] = []
    value = _fields(value, of, f"input `{name}`")
    for field, field_type in field_types(of).items():
        if isinstance(value, Mapping):
            if field not in value:
                raise InputError(f"input `{name}` has no `{field}`; {of.__name__} has the fields {', '.join(field_types(of))}")
            item = value[field]
        elif hasattr(value, field):
            item = getattr(value, field)
        else:
            raise InputError(
                f"input `{name}` is {type(value).__name__} without `{field}`: give a mapping or an object with the fields of {of.__name__}"
            )
        result += encode(item, field_type, f"{name}.{field}")
    return result


def _fields(value: Any, of: Any, what: str) -> Any:
    """A tuple as a mapping, for a type whose fields are numbered."""
    names = list(field_types(of))
    if not is_tuple(names) or not isinstance(value, (tuple, list)):
        return value
    if len(value) != len(names):
        raise InputError(f"{what} has {len(value)} parts, the program takes {len(names)}")
    return dict(zip(names, value))


def _columns(value: Any, what: str) -> list[Any] | None:
    """Names of the columns of a data frame, an Arrow table or a mapping of columns."""
    if isinstance(value, Mapping):
        return list(value)
    if hasattr(value, "collect_schema") and hasattr(value, "collect"):
        raise InputError(f"{what} is {type(value).__name__}, which is not computed yet: give what its collect() returns")
    for attribute in ("column_names", "columns"):
        found = getattr(value, attribute, None)
        if found is not None and not callable(found):
            names = list(found)
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise InputError(f"{what} has two columns `{twice}`: drop or rename one")
            return names
    return None


def _table(value: Any, of: ArrayType, name: str) -> list[list[int]]:
    record, rows = of.item, of.shape[0]
    names = _columns(value, f"input `{name}`")
    if names is None:
        value, names = _transposed(value, of, name)
    result = []
    for path, elem, shape in leaves(record):
        where = f"input `{name}`, column `{path}`"
        column = _find(value, names, path)
        if column is None:
            raise InputError(
                f"input `{name}` has no column `{path}`; {type_name(record)} takes {', '.join(p for p, _, _ in leaves(record))}, "
                f"it has {', '.join(map(str, names))}"
            )
        values = _plain(column)
        if len(values) != rows:
            raise InputError(f"{where} has {len(values)} rows, the program takes {rows}")
        result.append(_column(values, elem, of.shape + shape, f"input `{name}`", where))
    return result


def _find(value: Any, names: list[Any], path: str) -> Any:
    """A column by its path, through nested mappings or by a name with dots."""
    if path in names:
        return value[path]
    head, _, rest = path.partition(".")
    if rest and head in names and isinstance(value[head], Mapping):
        return _find(value[head], list(value[head]), rest)
    return None


def _transposed(value: Any, of: ArrayType, name: str) -> tuple[dict[str, list[Any]], list[Any]]:
    """Columns from a list of rows."""
    record, rows = of.item, of.shape[0]
    try:
        items = list(value)
    except TypeError:
        raise InputError(f"input `{name}` is {type(value).__name__}: give a data frame, a mapping of columns or a list of rows") from None
    if len(items) != rows:
        raise InputError(f"input `{name}` has {len(items)} rows, the program takes {rows}")
    columns: dict[str, list[Any]] = {path: [] for path, _, _ in leaves(record)}
    for number, row in enumerate(items):
        for path, column in columns.items():
            column.append(_cell(row, path, f"input `{name}`, {_row(number)}"))
    return columns, list(columns)


def _cell(row: Any, path: str, where: str) -> Any:
    for part in path.split("."):
        if isinstance(row, Mapping) and part in row:
            row = row[part]
        elif not isinstance(row, Mapping) and hasattr(row, part):
            row = getattr(row, part)
        elif isinstance(row, (tuple, list)) and part in map(str, range(len(row))):
            row = row[int(part)]
        else:
            raise InputError(f"{where} has no `{path}`")
    return row
