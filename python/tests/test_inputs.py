"""Values that fit and values that do not: refused before anything runs, with input, column and row."""

import datetime
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote as cn
from cenote import _run


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
    """The same columns in every form."""
    yield "mapping", columns
    yield "rows", [dict(zip(columns, row)) for row in zip(*columns.values())]
    yield "pandas", pd.DataFrame(columns)
    yield "pandas extension types", pd.DataFrame(columns).convert_dtypes()
    yield "pandas over arrow", pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow")
    yield "polars", pl.DataFrame(columns, strict=False)
    yield "arrow", pa.table(columns)
    yield "arrow batch", pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(("form", "table"), list(tables(COLUMNS)))
def test_tables_in_every_form(form, table):
    assert spent(table, 1) == 5.75
    assert spent.simulate(rows=table, who=2).value == 2.0


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("customer", [1, 70000, 1], "column `customer`, row 2 (the first is row 1): the value does not fit UInt[16] (0 .. 65535)"),
        ("customer", [1, 2, -1], "column `customer`, row 3 (the first is row 1): the value does not fit UInt[16]"),
        ("customer", [1, None, 1], "column `customer`, row 2 (the first is row 1): a missing value"),
        ("customer", ["1", "2", "3"], "column `customer`, row 1 (the first is row 1): the value (str) is not a number for UInt[16]"),
        ("customer", [1.0, 2.5, 1.0], "column `customer`, row 2 (the first is row 1): the value has a fraction"),
        ("amount", [1.5, None, 2.0], "column `amount`, row 2 (the first is row 1): a missing value"),
        ("amount", [1.5, 1e9, 2.0], "column `amount`, row 2 (the first is row 1): the value does not fit Fixed[16, 8]"),
        ("refund", [False, None, True], "column `refund`, row 2 (the first is row 1): a missing value"),
        ("refund", [0, 1, 2], "column `refund`, row 3 (the first is row 1): the value does not fit Bit"),
    ],
)
def test_bad_cells_are_refused_in_every_form(column, values, message, monkeypatch):
    for form, table in tables({**COLUMNS, column: values}):
        refused(table, message, monkeypatch, form)


def refused(table, message, monkeypatch, form=""):
    """Whatever runs the program, nothing is started."""
    monkeypatch.setattr(_run, "pair", lambda *_: pytest.fail("the parties were started"))
    made = spent.compile()
    for run in (spent, lambda rows, who: made.simulate(rows=rows, who=who), lambda rows, who: made.run_local(rows=rows, who=who)):
        with pytest.raises(cn.InputError) as caught:
            run(table, 1)
        assert "input `rows`" in str(caught.value), form
        assert message in str(caught.value), form


@pytest.mark.parametrize("form", [form for form, _ in tables(COLUMNS)])
def test_tables_of_another_length_and_without_columns_are_refused(form, monkeypatch):
    for rows in (2, 4):
        wrong = dict(tables({name: [*column, column[0]][:rows] for name, column in COLUMNS.items()}))
        refused(wrong[form], f"has {rows} rows, the program takes 3", monkeypatch)
    lacking = dict(tables({name: column for name, column in COLUMNS.items() if name != "amount"}))
    refused(lacking[form], "row 1 (the first is row 1) has no `amount`" if form == "rows" else "has no column `amount`", monkeypatch)


DATE = datetime.datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pd.DataFrame({**COLUMNS, "customer": [DATE] * 3}),
            "column `customer`, row 1 (the first is row 1): the value (Timestamp) is not a number",
        ),
        (
            pd.DataFrame({**COLUMNS, "amount": [DATE] * 3}),
            "column `amount`, row 1 (the first is row 1): the value is not a number for Fixed",
        ),
        (pd.DataFrame({**COLUMNS, "amount": [True] * 3}), "column `amount`, row 1 (the first is row 1): the value is a truth value"),
        (
            pd.DataFrame({**COLUMNS, "customer": [1, 2, float("inf")]}),
            "column `customer`, row 3 (the first is row 1): the value is infinite",
        ),
        (
            pd.DataFrame({**COLUMNS, "customer": [1, pd.NaT, 2]}, dtype=object),
            "column `customer`, row 2 (the first is row 1): a missing value",
        ),
        (
            pd.DataFrame({**COLUMNS, "customer": pd.array([1, None, 2], "Int64")}),
            "column `customer`, row 2 (the first is row 1): a missing value",
        ),
        (
            pd.DataFrame({**COLUMNS, "refund": pd.array([True, None, True], "boolean")}),
            "column `refund`, row 2 (the first is row 1): a missing value",
        ),
        (
            pd.DataFrame({**COLUMNS, "customer": pd.Categorical(["a", "b", "a"])}),
            "column `customer`, row 1 (the first is row 1): the value (str)",
        ),
        (pd.concat([pd.DataFrame(COLUMNS)] * 2, axis=1), "has two columns `customer`"),
        (
            pl.DataFrame({**COLUMNS, "customer": [DATE.date()] * 3}),
            "column `customer`, row 1 (the first is row 1): the value (date) is not a number",
        ),
        (pl.DataFrame({**COLUMNS, "amount": [True] * 3}), "column `amount`, row 1 (the first is row 1): the value is a truth value"),
        (
            pl.DataFrame({**COLUMNS, "amount": [1.0, float("nan"), 2.0]}),
            "column `amount`, row 2 (the first is row 1): a missing value (NaN)",
        ),
        (
            pl.DataFrame({**COLUMNS, "customer": [[1], [2], [3]]}),
            "column `customer`, row 1 (the first is row 1): a list, where one UInt[16] is expected",
        ),
        (
            pl.DataFrame(COLUMNS).with_columns(pl.lit("a").cast(pl.Categorical).alias("customer")),
            "column `customer`, row 1 (the first is row 1): the value (str)",
        ),
        (pl.LazyFrame(COLUMNS), "is LazyFrame, which is not computed yet: give what its collect() returns"),
        (
            pa.table({**COLUMNS, "customer": [DATE.date()] * 3}),
            "column `customer`, row 1 (the first is row 1): the value (date) is not a number",
        ),
        (pa.table({**COLUMNS, "amount": [True] * 3}), "column `amount`, row 1 (the first is row 1): the value is a truth value"),
        (pa.table({**COLUMNS, "customer": pa.nulls(3)}), "column `customer`, row 1 (the first is row 1): a missing value"),
        (pa.table([pa.array(c) for c in [*COLUMNS.values(), [1, 2, 3]]], names=[*COLUMNS, "customer"]), "has two columns `customer`"),
        (
            pa.table({**COLUMNS, "refund": ["yes", "no", "no"]}),
            "column `refund`, row 1 (the first is row 1): the value (str) is not a number for Bit",
        ),
        ({**COLUMNS, "customer": [Decimal("sNaN")] * 3}, "column `customer`, row 1 (the first is row 1): a missing value (NaN)"),
        ({**COLUMNS, "amount": [Decimal("NaN")] * 3}, "column `amount`, row 1 (the first is row 1): a missing value (NaN)"),
    ],
)
def test_what_only_some_forms_can_hold(table, message, monkeypatch):
    refused(table, message, monkeypatch)


class Panel(cn.Record):
    """Several readings in a row."""

    readings: cn.Array[cn.UInt[4], 2]


@cn.program
def panels(rows: cn.Garbler[cn.Array[Panel, 2]]):
    """What a person read."""
    return rows.readings


@pytest.mark.parametrize(
    ("readings", "message"),
    [
        ([[1, 2], [3, 44]], "column `readings`, row 2[1] (the first is row 1): the value does not fit UInt[4]"),
        ([[1, 2], [3]], "column `readings`, row 2 (the first is row 1): 1 items, where 2 are expected"),
        ([[1, 2], None], "column `readings`, row 2 (the first is row 1): a missing value"),
        ([[1, 2], [None, 3]], "column `readings`, row 2[0] (the first is row 1): a missing value"),
    ],
)
def test_columns_of_lists(readings, message):
    for form in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        assert panels(form({"readings": [[1, 2], [3, 4]]})) == [[1, 2], [3, 4]]
        with pytest.raises(cn.InputError, match=re.escape(message)):
            panels(form({"readings": readings}))


@cn.program
def matrix(x: cn.Garbler[cn.Array[cn.Int[8], 2, 2]], v: cn.Evaluator[cn.Array[cn.Int[8], 2]]):
    """Data frames as matrices, columns as vectors."""
    return x, v


@pytest.mark.parametrize("library", [pd, pl, pa])
def test_frames_are_matrices_and_columns_are_vectors(library):
    frame, series = (library.table, library.array) if library is pa else (library.DataFrame, library.Series)
    good, vector = frame({"a": [1, 3], "b": [2, 4]}), series([5, 6])
    assert matrix(good, vector) == ([[1, 2], [3, 4]], [5, 6])
    for x, v, message in [
        (frame({"a": [1, 3], "b": [2, 400]}), vector, "input `x`[1][1]: the value does not fit Int[8]"),
        (frame({"a": [1, 3]}), vector, "input `x`[0]: 1 items, where 2 are expected"),
        (frame({"a": [1, 3, 5], "b": [2, 4, 6]}), vector, "input `x` has 3 items, the program takes 2"),
        (good, series([1, None]), "input `v`[1]: a missing value"),
        (good, series([1, 2, 3]), "input `v` has 3 items, the program takes 2"),
        (good, series(["1", "2"]), "input `v`[0]: the value (str) is not a number"),
        (good, series([1, 200]), "input `v`[1]: the value does not fit Int[8]"),
    ]:
        with pytest.raises(cn.InputError, match=re.escape(message)):
            matrix(x, v)


def test_masked_arrays_have_missing_values():
    with pytest.raises(cn.InputError, match=re.escape("input `v`[1]: a missing value")):
        matrix([[1, 2], [3, 4]], np.ma.array([1, 2], mask=[False, True]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"customer": [1], "amount": [1]}, "column `customer` has 1 rows, the program takes 3"),
        (
            {"customer": [1, 2, 3], "amount": [1, 2, 3]},
            "no column `refund`; Purchase takes customer, amount, refund, it has customer, amount",
        ),
        ([{"customer": 1}] * 2, "has 2 rows, the program takes 3"),
        ([{"customer": 1, "amount": 2}] * 3, "row 1 (the first is row 1) has no `refund`"),
        (7, "is int: give a data frame, a mapping of columns or a list of rows"),
    ],
)
def test_tables_of_another_shape_are_refused(rows, message):
    with pytest.raises(cn.InputError, match=re.escape(message)):
        spent(rows, 1)


def test_labels_of_rows_mean_nothing():
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


@pytest.mark.parametrize(
    "text",
    [
        pd.DataFrame(COLUMNS).to_csv(index=False),
        pd.DataFrame({**COLUMNS, "customer": [1.0, 2.0, 1.0]}).to_csv(index=False, lineterminator="\r\n"),
        pd.DataFrame(COLUMNS)[["refund", "amount", "customer"]].to_csv(index=False, quoting=1),
        pl.DataFrame(COLUMNS).write_csv(),
        pl.DataFrame(COLUMNS).write_csv(include_header=False),
        "\ufeffcustomer,amount,refund\r\n1,1.5,FALSE\r\n2,2,FALSE\r\n1,4.25,FALSE\r\n\r\n",
        "customer,amount,refund\n1e0,15e-1,0\n2.0,2E+00,0\n0x1,4.25,0\n",
    ],
)
def test_csv_files_are_tables(text, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8", newline="")
    assert spent(file, 1) == 5.75
    assert spent.simulate(rows=file, who=2).value == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("customer,amount,refund\n1,1,0\n1,s3cret,0\n1,1,0\n", "rows.csv:3: column 2 (`amount`): no fixed.8 b24"),
        ("customer,amount,refund\n1,1,0\n1,1\n1,1,0\n", "rows.csv:3: 2 cells, line 1 has 3"),
        ("customer;amount;refund\n1;1,5;0\n", "rows.csv:1: semicolons between cells"),
        (pd.DataFrame(COLUMNS).to_csv(), "rows.csv:1: column 1 has no name: leave it out, as pandas does with to_csv(.., index=False)"),
        ("customer,amount,refund\n1,1,0\n", "rows.csv has 1 rows, the program takes 3"),
    ],
)
def test_csv_files_that_do_not_fit_are_refused(text, message, tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(cn.InputError) as caught:
        spent(file, 1)
    assert "s3cret" not in str(caught.value)
    refused(file, message, monkeypatch)


def test_csv_files_of_other_shapes(tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("v\n-5\n6.0\n")
    assert matrix([[1, 2], [3, 4]], file) == ([[1, 2], [3, 4]], [-5, 6])
    file.write_text("1.27\n")
    assert twice([[1, 2], [3, 4]], file)[1] == 1.25
    with pytest.raises(cn.InputError, match="a CSV file has one number in each place of a table"):
        matrix(file, [1, 2])
    with pytest.raises(cn.InputError, match=re.escape("input `v`: no.csv: No such file or directory")):
        matrix([[1, 2], [3, 4]], tmp_path.relative_to(tmp_path) / "no.csv")


def test_the_name_of_a_file_is_no_table():
    with pytest.raises(cn.InputError, match=r"input `rows` is .* given a text; a file is given as pathlib.Path"):
        spent.simulate(rows="rows.csv", who=1)


def test_halves_are_rounded_alike_in_files_and_in_values(tmp_path):
    file = tmp_path / "y.csv"
    for y in ("0.03125", "0.09375", "-0.15625", "0.21875", "3e-05"):
        file.write_text(y)
        assert twice([[1, 2], [3, 4]], file) == twice([[1, 2], [3, 4]], float(y)) == twice([[1, 2], [3, 4]], Decimal(y))
