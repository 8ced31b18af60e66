//! CSV files as they come, and what is refused.

use std::path::PathBuf;

use cenote_data::{ColumnKind, ColumnSchema, DataSet, Schema};
use proptest::prelude::*;
use serde_json::json;

fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data.csv");
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn open(content: &str) -> Result<DataSet, String> {
    let (_dir, path) = file(content.as_bytes());
    DataSet::open(&path, None).map_err(|error| error.to_string())
}

fn with(content: &str, column: ColumnSchema) -> Result<DataSet, String> {
    let (_dir, path) = file(content.as_bytes());
    let schema = Schema { columns: vec![column] };
    DataSet::open(&path, Some(&schema)).map_err(|error| error.to_string())
}

#[test]
fn exports_of_spreadsheets_and_pandas_are_read() {
    for text in [
        "key,spend,vip\nann,12,true\nbob,-3,FALSE\n",
        "\u{feff}key;spend;vip\r\nann;12;true\r\nbob;-3;false\r\n",
        "key\tspend\tvip\nann\t12\ttrue\nbob\t-3\tfalse",
        ",key,spend,vip\n0,ann,12,True\n1,bob,-3,False\n",
        "key, spend ,vip\n\"ann\", 12 ,true\n\"bob\",\"-3\",false\n\n",
    ] {
        let data = open(text).unwrap();
        assert_eq!(data.rows(), 2, "{text}");
        let table = data.table(&[("s", "spend"), ("v", "vip")]).unwrap();
        assert_eq!(table, json!({"s": ["12", "-3"], "v": ["true", "false"]}), "{text}");
        assert_eq!(data.record("key", "bob", &[("s", "spend")]).unwrap(), json!({"s": "-3"}));
        let kinds: Vec<_> = data.schema().columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [ColumnKind::Text, ColumnKind::Integer, ColumnKind::Bool], "{text}");
    }
}

#[test]
fn keys_are_compared_as_what_they_are() {
    let data = open("id,y\n007,1\n8,2\n").unwrap();
    assert_eq!(data.record("id", "7", &[("y", "y")]).unwrap(), json!({"y": "1"}));
    assert!(data.record("id", "9", &[("y", "y")]).unwrap_err().to_string().contains("no record"));
    let twice = open("id,y\n7,1\n07,2\n").unwrap();
    assert!(twice.record("id", "7", &[("y", "y")]).unwrap_err().to_string().contains("several"));
    assert!(
        data.record("id", "7", &[("y", "z")]).unwrap_err().to_string().contains("no column `z`")
    );
}

#[test]
fn what_breaks_the_schema_is_refused_with_its_place() {
    let column = ColumnSchema::of("n", ColumnKind::Integer);
    let ranged = ColumnSchema { min: Some(0), max: Some(9), ..column.clone() };
    let unique = ColumnSchema { unique: true, ..column.clone() };
    let zero = ColumnSchema { nulls: cenote_data::Nulls::Zero, ..column.clone() };
    let cases = [
        (
            "n,m\n1,2\n4815162342x,3\n",
            column.clone(),
            "line 3, column `n`: the cell is no whole number",
        ),
        ("n,m\n1,2\n,3\n", column.clone(), "line 3, column `n`: the cell is empty"),
        ("n\n1\n10\n", ranged, "line 3, column `n`: the cell is out of the range"),
        ("n\n1\n2\n01\n", unique, "line 4, column `n`: an earlier row"),
        ("m\n1\n", column.clone(), "there is no column `n`"),
        ("n,n\n1,2\n", column.clone(), "two columns are called `n`"),
        ("n,m\n1,2\n1\n", column.clone(), "line 3: the row has 1 cells, the header 2"),
        ("n\n", column.clone(), "no row"),
        ("", column, "no column `n`"),
    ];
    for (text, column, expected) in cases {
        let error = with(text, column).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("4815162342"), "{error}");
    }
    assert_eq!(with("n,m\n,1\n", zero).unwrap().table(&[("n", "n")]).unwrap(), json!({"n": ["0"]}));
    let (_dir, path) = file(b"PAR1....");
    assert!(DataSet::open(&path, None).unwrap_err().to_string().contains("end of this Parquet"));
    assert!(DataSet::open(&path.with_extension("none"), None).is_err());
    let (_dir, path) = file(b"n\n\xff\n");
    assert!(
        DataSet::open(&path, None)
            .unwrap_err()
            .to_string()
            .contains("line 2, column 1: the cell is not UTF-8")
    );
}

#[test]
fn another_content_has_another_digest() {
    assert_eq!(open("n\n1\n").unwrap().digest(), open("n\n1\n").unwrap().digest());
    assert_ne!(open("n\n1\n").unwrap().digest(), open("n\n1").unwrap().digest());
}

proptest! {
    #[test]
    fn a_table_is_what_was_written(rows in prop::collection::vec((any::<i64>(), "[a-z,;\" ]{0,12}"), 1..20)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["number", "text"]).unwrap();
        for (number, text) in &rows {
            writer.write_record([&number.to_string(), text]).unwrap();
        }
        let (_dir, path) = file(&writer.into_inner().unwrap());
        let columns = vec![ColumnSchema::of("number", ColumnKind::Integer), ColumnSchema::of("text", ColumnKind::Text)];
        let data = DataSet::open(&path, Some(&Schema { columns })).unwrap();
        let numbers: Vec<String> = rows.iter().map(|row| row.0.to_string()).collect();
        let texts: Vec<&str> = rows.iter().map(|row| row.1.trim()).collect();
        prop_assert_eq!(data.table(&[("n", "number"), ("t", "text")]).unwrap(), json!({"n": numbers, "t": texts}));
    }

    #[test]
    fn no_file_panics_and_no_error_shows_a_cell(noise in prop::collection::vec(any::<u8>(), 0..200), secret in "[0-9]{9}x") {
        let text = format!("n,m\n{secret},1\n");
        let column = ColumnSchema::of("n", ColumnKind::Integer);
        prop_assert!(!with(&text, column.clone()).unwrap_err().contains(&secret));
        let (_dir, path) = file(&noise);
        let read = DataSet::open(&path, Some(&Schema { columns: vec![column] }));
        prop_assert!(read.is_err() || read.is_ok_and(|data| data.rows() > 0));
    }
}
