"""Writes the files of this folder: pip install pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0, then python make.py.

All have the rows of `ROWS`, in columns whose types are those that each library takes by itself, if nothing else is said.
"""

import datetime as dt
import decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

ROWS = {
    "key": ["ann", "bob", "zoé"],
    "spend": [12, -3, 9_007_199_254_740_993],
    "vip": [True, False, True],
    "score": [0.5, -2.0, 1e-7],
}
frame = pd.DataFrame(ROWS)

# What pandas writes.
frame.to_parquet("pandas.parquet")
frame.set_index("key", drop=False).rename_axis(None).to_parquet("pandas_index.parquet")
frame.astype({"key": "category"}).to_parquet("pandas_category.parquet")
frame.to_feather("pandas.feather")
frame.astype({"key": "category"}).to_feather("pandas_category.feather")

# What polars writes.
pl.DataFrame(ROWS).write_parquet("polars.parquet")
pl.DataFrame(ROWS).write_ipc("polars.arrow")
pl.DataFrame(ROWS).write_ipc("polars_zstd.arrow", compression="zstd")
pl.DataFrame(ROWS).with_columns(pl.col("key").cast(pl.Categorical)).write_ipc("polars_category.arrow")

# What pyarrow writes.
table = pa.table(ROWS)
for codec in ["none", "snappy", "zstd", "lz4", "gzip", "brotli"]:
    pq.write_table(table, f"pyarrow_{codec}.parquet", compression=codec)
pq.write_table(table, "pyarrow_v2.parquet", version="1.0", data_page_version="2.0", row_group_size=2)
pq.write_table(table, "pyarrow_plain.parquet", use_dictionary=False)
pq.write_table(
    table, "pyarrow_delta.parquet", use_dictionary=False, column_encoding={"key": "DELTA_LENGTH_BYTE_ARRAY"}
)
# Spark writes decimals and integers in this older form.
spark = table.append_column("price", pa.array([decimal.Decimal("12.50"), None, decimal.Decimal("-0.05")]))
pq.write_table(spark, "spark_like.parquet", flavor="spark", store_decimal_as_integer=True, version="1.0")
with pa.OSFile("pyarrow.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
    writer.write_table(table, max_chunksize=2)
with pa.OSFile("pyarrow_stream.arrows", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table)
feather.write_feather(table, "pyarrow_v1.feather", version=1)

# All that a column can be, and some that it cannot.
kinds = {f"{sign}int{bits}": pa.array([1, None, 2], getattr(pa, f"{sign}int{bits}")()) for sign in ["", "u"] for bits in [8, 16, 32, 64]}
kinds |= {
    "large": pa.array([2**64 - 1, None, 2**63], pa.uint64()),
    "low": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
    "float": pa.array([0.5, None, -3.0], pa.float32()),
    "nan": pa.array([0.5, float("nan"), 1.0], pa.float64()),
    "price": pa.array([decimal.Decimal("12.50"), None, decimal.Decimal("-0.05")], pa.decimal128(10, 2)),
    "whole": pa.array([decimal.Decimal("12"), None, decimal.Decimal("-7")], pa.decimal128(20, 0)),
    "wide": pa.array([decimal.Decimal("12"), None, decimal.Decimal("-7")], pa.decimal256(60, 0)),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]),
    "time": pa.array([dt.datetime(2024, 2, 29, 12), None, dt.datetime(1969, 12, 31)]),
    "text": pa.array(["a", None, ""], pa.large_string()),
    "dict": pa.array(["a", None, "a"]).dictionary_encode(),
    "numbers": pa.array([7, None, 7]).dictionary_encode(),
    "bytes": pa.array([b"a", None, b""]),
    "null": pa.nulls(3),
    "list": pa.array([[1], None, [2, 3]]),
    "struct": pa.array([{"a": 1}, None, {"a": 2}]),
}
kinds = pa.table(kinds)
pq.write_table(kinds, "kinds.parquet")
feather.write_feather(kinds, "kinds.feather", compression="zstd")
views = pa.table({"view": pa.array(["a", None, "longer than twelve bytes"]).cast(pa.string_view())})
feather.write_feather(views, "views.feather", compression="uncompressed")
