//! Parquet files whose schema would take the stack, or the memory, of the process: a check that is lost ends the tests.

use std::path::Path;

use cenote_data::DataSet;

/// A number as the compact protocol of Thrift has it.
fn number(mut left: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while left > 0x7f {
        bytes.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// A file of these elements, of which there are `count`, and no row.
fn file(before: &[u8], count: u64, elements: &[u8]) -> Vec<u8> {
    let list = [&[0x19, 0xfc], &number(count)[..], elements].concat();
    let footer = [before, &list, b"\x16\x02\x19\x0c\0"].concat();
    let size = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", &footer[..], &size, b"PAR1"].concat()
}

const VERSION: &[u8] = b"\x15\x02";
const ROOT: &[u8] = b"\x48\x01r\x15\x02\0";
const LEAF: &[u8] = b"\x15\x02\x25\0\x18\x01a\0";

/// A column in so many groups.
fn nested(groups: usize) -> Vec<u8> {
    let group = b"\x35\0\x18\x01a\x15\x02\0".repeat(groups);
    file(VERSION, groups as u64 + 2, &[ROOT, &group, LEAF].concat())
}

fn refused(content: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    std::fs::write(&path, content).unwrap();
    let error = DataSet::open(Path::new(&path), None).unwrap_err().to_string();
    error.split_once(": ").unwrap().1.to_owned()
}

#[test]
fn deep_schemas_are_refused() {
    for groups in [8, 100, 20_000, 1_000_000] {
        assert!(refused(&nested(groups)).contains("nested columns are refused"), "{groups}");
    }
    // Such a column is named, and a schema can leave it out.
    for groups in [1, 7] {
        let error = refused(&nested(groups));
        assert!(error.contains("column `a`: it holds nested values"), "{groups}: {error}");
    }
}

#[test]
fn schemas_in_another_form_are_refused() {
    let broken = "the footer of this Parquet file is broken";
    let deep = b"\x35\0\x18\x01a\x15\x02\0".repeat(20_000);
    let hidden = [ROOT, &deep, LEAF].concat();
    let count = 20_002;
    // The version is a number to the library, whatever its type says: a text here.
    let skipped = number(hidden.len() as u64 + 5);
    assert_eq!(refused(&file(&[b"\x18", &skipped[..]].concat(), count, &hidden)), broken);
    // A text where the library takes a number.
    let text = [ROOT, b"\x18\x01\x02\x25\0\x18\x01a\0"].concat();
    assert_eq!(refused(&file(VERSION, 2, &text)), broken);
    // The same in the type of a decimal.
    let logical = [ROOT, b"\x15\x02\x25\0\x18\x01a\x6c\x5c\x18\x01\x02\0\0\0"].concat();
    assert_eq!(refused(&file(VERSION, 2, &logical)), broken);
    // More children than there are elements, fewer than none, too few and too many.
    for children in [&[0xfe, 0xff, 0xff, 0xff, 0x0f][..], &[1], &[4], &[0]] {
        let root = [b"\x48\x01r\x15", children, &[0]].concat();
        assert_eq!(refused(&file(VERSION, 2, &[&root, LEAF].concat())), broken, "{children:?}");
    }
}

/// After the first schema the library is out of step, and sees another one.
#[test]
fn a_second_schema_is_not_read() {
    let first = [b"\x19\x2c", ROOT, LEAF].concat();
    let deep = b"\x35\0\x18\x01a\x15\x02\0".repeat(20_000);
    let count = 20_002;
    let again = [VERSION, &first, b"\x09\x04"].concat();
    let second = [&[0xfc][..], &number(count), ROOT, &deep, LEAF].concat();
    let footer = [&again[..], &second, b"\x16\x02\x19\x0c\0"].concat();
    let size = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let content = [b"PAR1", &footer[..], &size, b"PAR1"].concat();
    assert!(refused(&content).contains("the file has columns and no row"));
}
