"""Values that fit and values that do not: refused before anything runs, with input, column and row."""

import datetime
import re
from decimal import Decimal
from fractions import Fraction

import pytest

import cenote as cn


class Purchase(cn.Record):
    """A row."""

    customer: cn.UInt[16]
    amount: cn.Fixed[16, 8]
    refund: cn.Bit


@cn.program
def spent(rows: cn.Garbler[cn.Array[Purchase, 3]], who: cn.Evaluator[cn.UInt[16]]):
    """What one customer spent."""
    mine = (rows.customer == who) & ~rows.refund
    return cn.sum(cn.where(mine, rows.amount, 0))


COLUMNS = {"customer": [1, 2, 1], "amount": [1.5, 2.0, 4.25], "refund": [False, False, False]}


def tables(columns):
    """The same columns in every form that is installed."""
    yield "mapping", columns
    yield "rows", [dict(zip(columns, row)) for row in zip(*columns.values())]
    try:
        import pandas as pd

        yield "pandas", pd.DataFrame(columns)
        yield "pandas extension types", pd.DataFrame(columns).convert_dtypes()
    except ImportError:
        pass
    try:
        import polars as pl

        yield "polars", pl.DataFrame(columns, strict=False)
    except ImportError:
        pass
    try:
        import pyarrow as pa

        yield "arrow", pa.table(columns)
    except ImportError:
        pass


@pytest.mark.parametrize(("form", "table"), list(tables(COLUMNS)))
def test_tables_in_every_form(form, table):
    assert spent(table, 1) == 5.75
    assert spent.simulate(rows=table, who=2).value == 2.0


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("customer", [1, 70000, 1], "column `customer`, row 1: the value does not fit UInt[16] (0 .. 65535)"),
        ("customer", [1, 2, -1], "column `customer`, row 2: the value does not fit UInt[16]"),
        ("customer", [1, None, 1], "column `customer`, row 1: a missing value"),
        ("customer", ["1", "2", "3"], "column `customer`, row 0: the value (str) is not a number for UInt[16]"),
        ("customer", [1.0, 2.5, 1.0], "column `customer`, row 1: the value has a fraction"),
        ("amount", [1.5, None, 2.0], "column `amount`, row 1: a missing value"),
        ("amount", [1.5, 1e9, 2.0], "column `amount`, row 1: the value does not fit Fixed[16, 8]"),
        ("refund", [False, None, True], "column `refund`, row 1: a missing value"),
        ("refund", [0, 1, 2], "column `refund`, row 2: the value does not fit Bit"),
    ],
)
def test_bad_cells_are_refused_in_every_form(column, values, message):
    count = 0
    for form, table in tables({**COLUMNS, column: values}):
        with pytest.raises(cn.InputError) as caught:
            spent(table, 1)
        assert message in str(caught.value), form
        with pytest.raises(cn.InputError):
            spent.compile().run_local(rows=table, who=1)
        count += 1
    assert count >= 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"customer": [1], "amount": [1]}, "column `customer` has 1 rows, the program takes 3"),
        (
            {"customer": [1, 2, 3], "amount": [1, 2, 3]},
            "no column `refund`; Purchase takes customer, amount, refund, it has customer, amount",
        ),
        ([{"customer": 1}] * 2, "has 2 rows, the program takes 3"),
        ([{"customer": 1, "amount": 2}] * 3, "row 0 has no `refund`"),
        (7, "is int: give a data frame, a mapping of columns or a list of rows"),
    ],
)
def test_tables_of_another_shape_are_refused(rows, message):
    with pytest.raises(cn.InputError, match=re.escape(message)):
        spent(rows, 1)


def test_dates_and_missing_values_of_pandas():
    pd = pytest.importorskip("pandas")
    dates = pd.DataFrame({**COLUMNS, "customer": [datetime.datetime(2026, 1, 1)] * 3})
    with pytest.raises(cn.InputError, match=r"column `customer`, row 0: .* is not a number"):
        spent(dates, 1)
    missing = pd.DataFrame({**COLUMNS, "customer": pd.array([1, None, 2], dtype="Int64")})
    with pytest.raises(cn.InputError, match="column `customer`, row 1: a missing value"):
        spent(missing, 1)
    relabelled = pd.DataFrame(COLUMNS, index=[10, 20, 30])
    assert spent(relabelled, 1) == 5.75


@cn.program
def twice(x: cn.Garbler[cn.Array[cn.Int[8], 2, 2]], y: cn.Evaluator[cn.Fixed[8, 4]]):
    """Arrays and fixed-point numbers."""
    return x + x, y


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1, 2], [3, 200]], 0, "input `x`[1][1]: the value does not fit Int[8] (-128 .. 127)"),
        ([[1, 2], [3]], 0, "input `x`[1]: 1 items, where 2 are expected"),
        ([1, 2], 0, "input `x`[0]: the value is no list of 2"),
        ([[1, 2]], 0, "input `x` has 1 items, the program takes 2: Int[8] of shape (2, 2)"),
        ([[[1], 2], [3, 4]], 0, "input `x`[0][0]: a list, where one Int[8] is expected"),
        ([[1, 2], [3, True]], 0, "input `x`[1][1]: the value is a truth value"),
        ([[1, 2], [3, 4]], 128, "input `y`: the value does not fit Fixed[8, 4] (-128 .. 127.938)"),
        ([[1, 2], [3, 4]], float("nan"), "input `y`: a missing value (NaN)"),
        ([[1, 2], [3, 4]], "3", "input `y`: the value is text"),
        ([[1, 2], [3, 4]], None, "input `y`: a missing value"),
    ],
)
def test_bad_values_are_refused(x, y, message):
    with pytest.raises(cn.InputError, match=re.escape(message)):
        twice(x, y)


def test_numbers_of_every_kind():
    np = pytest.importorskip("numpy")
    x = np.array([[1, -2], [3, 4]], dtype=np.int64)
    for y in (1.25, Decimal("1.25"), Fraction(5, 4), np.float32(1.25), 1.27):
        assert twice(x, y) == ([[2, -4], [6, 8]], 1.25)
    with pytest.raises(cn.InputError, match=re.escape("input `x`[0][1]: the value does not fit")):
        twice(np.array([[1, 300], [3, 4]]), 0)


def test_arguments_are_checked():
    with pytest.raises(cn.InputError, match="missing a required argument: 'y'"):
        twice([[1, 2], [3, 4]])
    with pytest.raises(cn.InputError, match="lacks input y"):
        twice.compile().simulate(x=[[1, 2], [3, 4]])
    with pytest.raises(cn.InputError, match="has no input z; it takes x, y"):
        twice.compile().simulate(x=0, y=0, z=0)
