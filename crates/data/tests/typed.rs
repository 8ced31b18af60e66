//! Parquet and Arrow files, as pandas, polars and pyarrow write them (tests/files/make.py) and as the libraries of this crate do, and what is
//! refused of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, types::Int32Type,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use cenote_data::{ColumnKind, ColumnSchema, DataSet, Nulls, Schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn open(path: &Path, schema: Option<&Schema>) -> Result<DataSet, String> {
    DataSet::open(path, schema).map_err(|error| error.to_string())
}

fn refused(name: &str) -> String {
    open(&fixture(name), None).unwrap_err()
}

/// One column of a file, missing cells as zero.
fn column(name: &str, column: &str, kind: ColumnKind) -> Result<Value, String> {
    let column = ColumnSchema { nulls: Nulls::Zero, ..ColumnSchema::of(column, kind) };
    let data = open(&fixture(name), Some(&Schema { columns: vec![column.clone()] }))?;
    Ok(data.table(&[("c", &column.name)]).unwrap()["c"].clone())
}

#[test]
fn files_of_others_are_read() {
    let files = [
        "pandas.parquet",
        "pandas_index.parquet",
        "pandas_category.parquet",
        "pandas.feather",
        "pandas_category.feather",
        "polars.parquet",
        "polars.arrow",
        "polars_zstd.arrow",
        "polars_category.arrow",
        "pyarrow_none.parquet",
        "pyarrow_snappy.parquet",
        "pyarrow_zstd.parquet",
        "pyarrow_lz4.parquet",
        "pyarrow_v2.parquet",
        "pyarrow_plain.parquet",
        "pyarrow.arrow",
    ];
    for file in files {
        let data = open(&fixture(file), None).unwrap_or_else(|error| panic!("{error}"));
        let columns = ["key", "spend", "vip", "score"].map(|name| (name, name));
        let table = json!({
            "key": ["ann", "bob", "zoé"],
            "spend": ["12", "-3", "9007199254740993"],
            "vip": ["true", "false", "true"],
            "score": ["0.5", "-2.0", "0.0000001"],
        });
        assert_eq!(data.table(&columns).unwrap(), table, "{file}");
        let kinds: Vec<_> = data.schema().columns.iter().map(|column| column.kind).collect();
        use ColumnKind::{Bool, Integer, Number, Text};
        assert_eq!(kinds, [Text, Integer, Bool, Number], "{file}");
        assert_eq!(data.record("key", "bob", &[("s", "spend")]).unwrap(), json!({"s": "-3"}));
        assert!(data.record("key", "eve", &[("s", "spend")]).is_err());
        assert_eq!(data.digest(), open(&fixture(file), None).unwrap().digest());
    }
}

#[test]
fn decimals_of_spark_are_read() {
    let price = column("spark_like.parquet", "price", ColumnKind::Number);
    assert_eq!(price.unwrap(), json!(["12.50", "0", "-0.05"]));
}

#[test]
fn what_is_not_read_is_refused_with_a_remedy() {
    let cases = [
        ("pyarrow_gzip.parquet", "column `key`: it is compressed with GZIP; write it with Snappy"),
        ("pyarrow_brotli.parquet", "BROTLI"),
        ("pyarrow_delta.parquet", "DELTA_LENGTH_BYTE_ARRAY is not read; write the file with"),
        ("pyarrow_stream.arrows", "Arrow stream; write the Arrow file format"),
        ("pyarrow_v1.feather", "write version 2"),
    ];
    for (file, what) in cases {
        assert!(refused(file).contains(what), "{}", refused(file));
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, content, what) in [
        ("a.parquet", &b"key,spend\nann,1\n"[..], "the name ends in .parquet"),
        ("a.FEATHER", b"key,spend\nann,1\n", "the name ends in .feather"),
        ("a.parquet", b"PAR1", "the end of this Parquet file is missing"),
        ("a.arrow", b"ARROW1\0\0", "the end of this Arrow file is missing"),
        ("a.csv", b"PK\x03\x04", "export it as CSV"),
        ("a.parquet", b"PAR1\xff\xff\xff\xffPAR1", "the footer has more than"),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        let error = open(&path, None).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn columns_of_all_types_are_read_or_refused() {
    use ColumnKind::{Bool, Integer, Number, Text};
    let (wide, inner) = ("more than 38 digits", "nested values");
    let ints = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
    for file in ["kinds.parquet", "kinds.feather"] {
        for name in ints {
            assert_eq!(
                column(file, name, Integer).unwrap(),
                json!(["1", "0", "2"]),
                "{file} {name}"
            );
        }
        let read = [
            ("low", Integer, ["-9223372036854775808", "0", "9223372036854775807"]),
            ("large", Number, ["18446744073709551615", "0", "9223372036854775808"]),
            ("float", Number, ["0.5", "0", "-3.0"]),
            ("price", Number, ["12.50", "0", "-0.05"]),
            ("whole", Integer, ["12", "0", "-7"]),
            ("date", Text, ["2024-02-29", "", "1969-12-31"]),
            ("text", Text, ["a", "", ""]),
            ("dict", Text, ["a", "", "a"]),
            ("numbers", Integer, ["7", "0", "7"]),
        ];
        for (name, kind, cells) in read {
            assert_eq!(column(file, name, kind).unwrap(), json!(cells), "{file} {name}");
        }
        let refused = [
            ("large", Integer, "row 1, column `large`: the cell is no whole number of 64 bits"),
            ("nan", Number, "row 2, column `nan`: the cell is no finite number"),
            ("float", Integer, "holds floating-point numbers, the schema wants `integer`: cast it"),
            ("price", Integer, "decimals with a fraction, the schema wants `integer`"),
            ("int8", Bool, "column `int8`: it holds integers, the schema wants `bool`"),
            ("date", Integer, "it holds dates, the schema wants `integer`: say `text`"),
            ("text", Integer, "row 1, column `text`: the cell is no whole number"),
            ("wide", Number, wide),
            ("time", Text, "column `time`: it holds timestamps, which no kind of a schema says"),
            ("null", Text, "nothing but missing cells"),
            ("list", Text, inner),
            ("struct", Text, inner),
            ("none", Text, "there is no column `none`; the file has: int8, int16"),
        ];
        for (name, kind, what) in refused {
            let error = column(file, name, kind).unwrap_err();
            assert!(error.contains(what), "{file}: {error}");
        }
        assert!(column(file, "bytes", Text).is_err());
        // Without a schema all columns are read, and the first that cannot be is named.
        let error = open(&fixture(file), None).unwrap_err();
        assert!(error.contains("column `wide`"), "{error}");
    }
    let views = column("views.feather", "view", Text).unwrap();
    assert_eq!(views, json!(["a", "", "longer than twelve bytes"]));
}

#[test]
fn ranges_missing_cells_and_repeats_are_refused_with_their_row() {
    for file in ["kinds.parquet", "kinds.feather"] {
        let with = |column: ColumnSchema| {
            open(&fixture(file), Some(&Schema { columns: vec![column] })).unwrap_err()
        };
        let low = ColumnSchema::of("low", ColumnKind::Integer);
        let error = with(ColumnSchema { min: Some(0), ..low.clone() });
        assert!(error.contains("row 1, column `low`: the cell is out of the range"), "{error}");
        assert!(!error.contains("9223372036854775808"), "{error}");
        assert!(with(low).contains("row 2, column `low`: the cell is empty"));
        // What CSV cannot tell apart: an empty text is a text, a missing one is none.
        let text = ColumnSchema::of("text", ColumnKind::Text);
        assert!(with(text).contains("row 2, column `text`: the cell is empty"));
        let dict =
            ColumnSchema { nulls: Nulls::Zero, ..ColumnSchema::of("dict", ColumnKind::Text) };
        let error = with(ColumnSchema { unique: true, ..dict });
        assert!(error.contains("row 3, column `dict`: an earlier row"), "{error}");
    }
}

#[test]
fn a_broken_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let files = [
        "pandas.parquet",
        "pandas_category.feather",
        "polars.parquet",
        "polars_category.arrow",
        "pyarrow_zstd.parquet",
        "pyarrow_lz4.parquet",
        "pyarrow_v2.parquet",
        "pyarrow_delta.parquet",
        "pyarrow_stream.arrows",
        "spark_like.parquet",
        "kinds.feather",
        "kinds.parquet",
        "views.feather",
    ];
    for file in files {
        let whole = std::fs::read(fixture(file)).unwrap();
        let integers = Schema { columns: vec![ColumnSchema::of("int64", ColumnKind::Integer)] };
        let schema = file.starts_with("kinds").then_some(&integers);
        let (mut read, mut tried) = (0, 0);
        for at in (0..whole.len()).step_by(5) {
            std::fs::write(&path, &whole[..at]).unwrap();
            // What is cut down to nothing of its format may be CSV, but never all of it.
            let cut = open(&path, schema);
            assert!(cut.is_err() || at < 12, "{file} cut at {at}");
        }
        for at in (0..whole.len()).step_by(2) {
            let mut bytes = whole.clone();
            bytes[at] ^= [0x01, 0x80, 0xff][at / 2 % 3];
            std::fs::write(&path, &bytes).unwrap();
            read += usize::from(open(&path, schema).is_ok_and(|data| data.rows() > 0));
            tried += 1;
        }
        // Some bytes mean nothing, or another value.
        assert!(read < tried, "{file}");
    }
}

#[test]
fn what_a_buffer_claims_to_unpack_to_is_not_believed() {
    let cells = Int64Array::from(vec![7; 10_000]);
    let bytes = arrow(vec![("n", Arc::new(cells))], Some(CompressionType::ZSTD), 1);
    let claimed = 80_000_u64.to_le_bytes();
    let at = bytes.windows(8).position(|eight| eight == claimed).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("n.arrow");
    for (claim, what) in
        [(1 << 60, "unpacks to more bytes"), (80_001, "broken"), (79_999, "broken")]
    {
        let mut lie = bytes.clone();
        lie[at..at + 8].copy_from_slice(&u64::to_le_bytes(claim));
        std::fs::write(&path, &lie).unwrap();
        let error = open(&path, None).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn rows_without_bytes_are_counted_before_they_are_read() {
    // A run of 2^25 equal values is a few bytes.
    let many = (1 << 24) + 1;
    let bytes =
        parquet(&vec![Some(5); many], None, Compression::SNAPPY, WriterVersion::PARQUET_1_0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("n.parquet");
    std::fs::write(&path, &bytes).unwrap();
    assert!(bytes.len() < 100_000);
    assert!(open(&path, None).unwrap_err().contains("more than 16777216 rows"));
}

#[test]
fn cells_without_bytes_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    // Two columns of 2^24 rows would be within the limit of rows.
    let column = || -> ArrayRef { Arc::new(Int64Array::from(vec![7; 1 << 20])) };
    let path = dir.path().join("n.arrow");
    let packed = Some(CompressionType::ZSTD);
    std::fs::write(&path, arrow(vec![("a", column()), ("b", column())], packed, 12)).unwrap();
    let error = open(&path, None).unwrap_err();
    assert!(error.contains("more than 22369621 cells; give a schema with the"), "{error}");
}

#[test]
fn a_file_of_another_digest_is_not_parsed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    std::fs::write(&path, "key,spend\nann,1\n").unwrap();
    let digest = open(&path, None).unwrap().digest();
    let expected = |digest| DataSet::open_expected(&path, None, digest);
    assert_eq!(expected(&digest).unwrap().unwrap().digest(), digest);
    assert!(expected(&[0; 32]).unwrap().is_none());
    // What cannot be parsed is another file first of all.
    std::fs::write(&path, "PAR1").unwrap();
    assert!(expected(&digest).unwrap().is_none());
    assert!(expected(blake3::hash(b"PAR1").as_bytes()).is_err());
}

/// An Arrow file of some batches.
fn arrow(
    columns: Vec<(&str, ArrayRef)>,
    packed: Option<CompressionType>,
    batches: usize,
) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    (0..batches).for_each(|_| writer.write(&batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// A Parquet file of a column `n` and perhaps a column `t`.
fn parquet(
    numbers: &[Option<i64>],
    texts: Option<&[String]>,
    packed: Compression,
    version: WriterVersion,
) -> Vec<u8> {
    let text = texts.map_or("", |_| "required binary t (STRING);");
    let schema = format!("message m {{ optional int64 n; {text} }}");
    let properties = WriterProperties::builder()
        .set_compression(packed)
        .set_writer_version(version)
        // In version 2 texts are written in the encoding that is not read.
        .set_column_encoding("t".into(), parquet::basic::Encoding::PLAIN);
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
    let mut group = file.next_row_group().unwrap();
    let levels: Vec<i16> = numbers.iter().map(|number| number.is_some().into()).collect();
    let values: Vec<i64> = numbers.iter().flatten().copied().collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    if let Some(texts) = texts {
        let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

/// What is read of a file whose columns are `n` and `t`.
fn words(bytes: &[u8]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let number = ColumnSchema::of("n", ColumnKind::Integer);
    let columns = vec![
        ColumnSchema { nulls: Nulls::Zero, ..number },
        ColumnSchema::of("t", ColumnKind::Text),
    ];
    open(&path, Some(&Schema { columns })).unwrap().table(&[("n", "n"), ("t", "t")]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_table_is_what_was_written(
        rows in prop::collection::vec((any::<Option<i64>>(), "[a-zé]{0,20}"), 1..300),
        choice in 0..3_usize,
    ) {
        let numbers: Vec<Option<i64>> = rows.iter().map(|row| row.0).collect();
        let texts: Vec<String> = rows.iter().map(|row| row.1.clone()).collect();
        let shown: Vec<String> = numbers.iter().map(|n| n.unwrap_or(0).to_string()).collect();
        let expected = json!({ "n": shown, "t": texts });

        let codec = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())][choice];
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            prop_assert_eq!(&words(&parquet(&numbers, Some(&texts), codec, version)), &expected);
        }

        let packed = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)][choice];
        let plain: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let dictionary: DictionaryArray<Int32Type> = texts.iter().map(String::as_str).collect();
        for texts in [plain, Arc::new(dictionary)] {
            let numbers = Arc::new(Int64Array::from(numbers.clone()));
            let bytes = arrow(vec![("n", numbers), ("t", texts)], packed, 1);
            prop_assert_eq!(&words(&bytes), &expected);
        }
    }

    #[test]
    fn no_content_behind_the_first_bytes_panics(noise in prop::collection::vec(any::<u8>(), 0..200), which in any::<bool>()) {
        let (first, last): (&[u8], &[u8]) = if which { (b"PAR1", b"PAR1") } else { (b"ARROW1\0\0", b"ARROW1") };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [first, &noise, last].concat()).unwrap();
        prop_assert!(open(&path, None).is_err());
    }
}
