//! Which format a file has: its first bytes say it, and the end of its name must not say another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;

use crate::arrow_file::Arrow;
use crate::csv_table::Csv;
use crate::parquet_file::Parquet;
use crate::schema::Schema;
use crate::table::{self, Columns};

/// The first bytes of files that are refused, and what to do.
const REFUSED: [(&[u8], &str); 6] = [
    (b"PARE", "this is an encrypted Parquet file; write it without encryption"),
    (b"FEA1", "this is a Feather file of version 1; write version 2"),
    (
        b"\xff\xff\xff\xff",
        "this is an Arrow stream; write the Arrow file format (Feather version 2)",
    ),
    (b"PK\x03\x04", "this is a spreadsheet or an archive; export it as CSV"),
    (b"\x1f\x8b", "this is a compressed file; unpack it"),
    (b"\x28\xb5\x2f\xfd", "this is a compressed file; unpack it"),
];

/// The columns that `schema` names, or all, checked.
pub(crate) fn read(
    path: &Path,
    bytes: &Bytes,
    schema: Option<&Schema>,
) -> Result<(Schema, Columns), String> {
    if bytes.starts_with(b"PAR1") {
        return guarded(|| table::read(&Parquet::open(bytes)?, schema));
    }
    if bytes.starts_with(b"ARROW1") {
        return guarded(|| table::read(&Arrow::open(bytes)?, schema));
    }
    if let Some((_, what)) = REFUSED.iter().find(|(first, _)| bytes.starts_with(first)) {
        return Err((*what).into());
    }
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is = |one: &&&str| end.eq_ignore_ascii_case(one);
    if let Some(end) = ["parquet", "pq", "arrow", "feather", "ipc"].iter().find(is) {
        return Err(format!("the name ends in .{end}, and the content does not begin like one"));
    }
    table::read(&Csv::open(bytes)?, schema)
}

/// A broken file is an error, whatever a library makes of it: those of Parquet and Arrow assert what a file claims of offsets, lengths and pages in
/// many places, and a service must not lose a thread to a file.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.unwrap_or_else(|_| Err("the file is broken; write it again".into()))
}
