//! The schema in the footer of a Parquet file, looked at before the library reads it: the library reads groups in groups by recursion, makes room
//! for as many children as a group claims, and takes fields for what it expects whatever their types say. A stack that overflows ends the process,
//! and is no error that could be reported.
//!
//! So the schema is walked here without recursion, in the one form that writers give it, and the library gets these very bytes and no others. They
//! are in the compact protocol of Thrift; the structures are those of `parquet.thrift`.

use std::ops::Range;

use parquet::file::metadata::ParquetMetaDataReader;
use parquet::schema::types::SchemaDescPtr;

/// Most groups that a column may be in, the root among them.
const MAX_DEPTH: usize = 8;

const BROKEN: &str = "the footer of this Parquet file is broken";

/// The types of Thrift that a schema has.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The fields of `SchemaElement` that are looked at.
const CHILDREN: u8 = 5;
const LOGICAL: u8 = 10;

/// The schema of a footer.
pub(crate) fn read(footer: &[u8]) -> Result<SchemaDescPtr, String> {
    let list = walked(footer)?;
    // Its field 2 is the first that the library sees, so that nothing before it can be taken for another.
    let alone = [&[2 << 4 | LIST], &footer[list], &[0]].concat();
    ParquetMetaDataReader::decode_schema(&alone).map_err(|_| BROKEN.into())
}

/// Where the list of the elements is, if it is sound.
fn walked(footer: &[u8]) -> Result<Range<usize>, String> {
    let mut input = Input { bytes: footer, at: 0 };
    if input.field(0)? != Some((1, I32)) {
        return Err(BROKEN.into());
    }
    input.number()?;
    if input.field(1)? != Some((2, LIST)) {
        return Err(BROKEN.into());
    }
    let start = input.at;
    let elements = input.list()?;
    // How many children are still to come in each of the groups around the next element.
    let mut groups = vec![1_usize];
    for _ in 0..elements {
        while groups.last() == Some(&0) {
            groups.pop();
        }
        *groups.last_mut().ok_or(BROKEN)? -= 1;
        let children = usize::try_from(input.element()?).map_err(|_| BROKEN)?;
        if children > elements {
            return Err(BROKEN.into());
        }
        if children > 0 {
            groups.push(children);
        }
        // The root is itself in a list of one.
        if groups.len() > MAX_DEPTH + 1 {
            let remedy = "nested columns are refused; write the file without them";
            return Err(format!("a column is nested more than {MAX_DEPTH} deep: {remedy}"));
        }
    }
    if groups.iter().any(|left| *left > 0) {
        return Err(BROKEN.into());
    }
    Ok(start..input.at)
}

struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Result<u8, String> {
        let byte = *self.bytes.get(self.at).ok_or(BROKEN)?;
        self.at += 1;
        Ok(byte)
    }

    /// A number of 32 bits without sign.
    fn size(&mut self) -> Result<u32, String> {
        let mut size = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(size).map_err(|_| BROKEN.into());
            }
        }
        Err(BROKEN.into())
    }

    fn number(&mut self) -> Result<i32, String> {
        let size = self.size()?;
        Ok((size >> 1).cast_signed() ^ -(size & 1).cast_signed())
    }

    fn binary(&mut self) -> Result<(), String> {
        let size = self.size()? as usize;
        let end = self.at.checked_add(size).filter(|end| *end <= self.bytes.len());
        self.at = end.ok_or(BROKEN)?;
        Ok(())
    }

    /// Number and type of the next field, none at the end; fields come in their order, as all writers have them.
    fn field(&mut self, last: u8) -> Result<Option<(u8, u8)>, String> {
        let byte = self.byte()?;
        match (byte >> 4, byte & 0xf) {
            (0, 0) => Ok(None),
            (0, _) | (_, 0) => Err(BROKEN.into()),
            // No structure of a schema has more fields than one step reaches a few times.
            (step, of) => Ok(Some((last.checked_add(step).ok_or(BROKEN)?, of))),
        }
    }

    /// The length of a list of structures.
    fn list(&mut self) -> Result<usize, String> {
        let head = self.byte()?;
        if head & 0xf != STRUCT {
            return Err(BROKEN.into());
        }
        match head >> 4 {
            15 => Ok(self.size()? as usize),
            size => Ok(size.into()),
        }
    }

    /// Reads a `SchemaElement`: how many children it has.
    fn element(&mut self) -> Result<i32, String> {
        let (mut last, mut children) = (0, 0);
        while let Some((field, of)) = self.field(last)? {
            last = field;
            match (field, of) {
                (CHILDREN, I32) => children = self.number()?,
                (1..=3 | 6..=9, I32) => drop(self.number()?),
                (4, BINARY) => self.binary()?,
                (LOGICAL, STRUCT) => self.logical()?,
                _ => return Err(BROKEN.into()),
            }
        }
        Ok(children)
    }

    /// Reads a `LogicalType`.
    fn logical(&mut self) -> Result<(), String> {
        let Some((which, STRUCT)) = self.field(0)? else { return Err(BROKEN.into()) };
        let mut last = 0;
        while let Some((field, of)) = self.field(last)? {
            last = field;
            match (which, field, of) {
                // Decimals; the algorithm of a geography.
                (5, 1 | 2, I32) | (18, 2, I32) => drop(self.number()?),
                // Whether a time is of UTC, and an integer has a sign.
                (7 | 8, 1, TRUE | FALSE) | (10, 2, TRUE | FALSE) => {}
                (7 | 8, 2, STRUCT) => self.unit()?,
                // The width of an integer; the version of a variant.
                (10 | 16, 1, BYTE) => drop(self.byte()?),
                (17 | 18, 1, BINARY) => self.binary()?,
                _ => return Err(BROKEN.into()),
            }
        }
        self.end()
    }

    /// Reads a `TimeUnit`, which has one field without fields.
    fn unit(&mut self) -> Result<(), String> {
        let Some((1..=3, STRUCT)) = self.field(0)? else { return Err(BROKEN.into()) };
        self.end()?;
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        if self.byte()? == 0 { Ok(()) } else { Err(BROKEN.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As tests/deep.rs does, but without the library, which ends the process if the check is lost.
    #[test]
    fn deep_schemas_are_refused_by_the_walk() {
        let footer = |groups: u8| {
            let list = [&[0x15, 2, 0x19, 0xfc, groups + 2][..], b"\x48\x01r\x15\x02\0"].concat();
            let group = b"\x35\0\x18\x01a\x15\x02\0".repeat(groups.into());
            [&list[..], &group, b"\x15\x02\x25\0\x18\x01a\0\0"].concat()
        };
        assert!(walked(&footer(7)).is_ok());
        for groups in [8, 9, 100] {
            let error = walked(&footer(groups)).unwrap_err();
            assert!(error.contains("nested columns are refused"), "{error}");
        }
    }
}
