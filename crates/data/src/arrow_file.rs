//! Arrow IPC files, which are Feather files of version 2 too: flat columns of integers, booleans, decimals, floating-point numbers, dates and
//! texts, and dictionaries of these.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Message, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;

use crate::table::{Cells, Field, Format, Sink, Type, rows_of};
use crate::typed::{self, MAX_DIGITS};
use crate::{MAX_FILE, MAX_ROWS};

const BROKEN: &str = "this Arrow file is broken; write it again";
const MS_PER_DAY: i64 = 86_400_000;

/// A file whose footer was read.
pub(crate) struct Arrow {
    bytes: Bytes,
    schema: Arc<Schema>,
    version: MetadataVersion,
    fields: Vec<Field>,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl Arrow {
    pub(crate) fn open(bytes: &Bytes) -> Result<Arrow, String> {
        let missing = "the end of this Arrow file is missing; copy it again";
        let trailer = bytes.len().checked_sub(10).ok_or(missing)?;
        let last = bytes[trailer..].first_chunk().ok_or(missing)?;
        let length = read_footer_length(*last).map_err(|_| missing)?;
        let start = trailer.checked_sub(length).ok_or(BROKEN)?;
        let footer = root_as_footer(&bytes[start..trailer]).map_err(|_| BROKEN)?;
        let schema = footer.schema().ok_or(BROKEN)?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err("the numbers of this Arrow file are written the other way round".into());
        }
        let schema = arrow_ipc::convert::try_fb_to_schema(schema).map_err(|_| BROKEN)?;
        let field = |field: &Arc<arrow_schema::Field>| Field {
            name: field.name().clone(),
            holds: holds(field.data_type()),
        };
        Ok(Arrow {
            bytes: bytes.clone(),
            fields: schema.fields().iter().map(field).collect(),
            schema: Arc::new(schema),
            version: footer.version(),
            dictionaries: footer.dictionaries().iter().flatten().copied().collect(),
            batches: footer.recordBatches().iter().flatten().copied().collect(),
        })
    }
}

impl Format for Arrow {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn cells(&self, places: &[usize]) -> Result<Cells, String> {
        let mut budget = MAX_FILE;
        for block in &self.dictionaries {
            self.claimed(block, &mut budget)?;
        }
        let claimed = self.batches.iter().try_fold(0_u64, |sum, block| {
            Ok::<_, String>(sum.saturating_add(self.claimed(block, &mut budget)?))
        })?;
        let mut sink = Sink::new(&self.fields, places, rows_of(claimed, places.len())?);
        let mut decoder = FileDecoder::new(Arc::clone(&self.schema), self.version)
            .with_projection(places.to_vec());
        for block in &self.dictionaries {
            let read = decoder.read_dictionary(block, &self.block(block)?.into());
            read.map_err(|_| BROKEN)?;
        }
        for block in &self.batches {
            let batch = decoder.read_record_batch(block, &self.block(block)?.into());
            // `None` is a block without a message.
            let batch: RecordBatch = batch.ok().flatten().ok_or(BROKEN)?;
            for (column, array) in batch.columns().iter().enumerate() {
                put(array.as_ref(), column, &mut sink)?;
            }
        }
        Ok(sink.done())
    }
}

/// What blocks claim, before they are decoded.
impl Arrow {
    fn block(&self, block: &Block) -> Result<Bytes, String> {
        let size = |size: i64| usize::try_from(size).map_err(|_| BROKEN.to_owned());
        let (start, body) = (size(block.offset())?, size(block.bodyLength())?);
        let length = size(block.metaDataLength().into())?.checked_add(body).ok_or(BROKEN)?;
        let end = start.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(BROKEN)?;
        Ok(self.bytes.slice(start..end))
    }

    /// The rows that a block claims. Its buffers must lie in it, and be in the budget once they are unpacked: memory that is not there ends the
    /// process, and is no error that could be reported.
    fn claimed(&self, block: &Block, budget: &mut u64) -> Result<u64, String> {
        let bytes = self.block(block)?;
        let head = usize::try_from(block.metaDataLength()).map_err(|_| BROKEN)?;
        let (message, body) = bytes.split_at(head);
        let message = message.strip_prefix(&[0xff; 4]).unwrap_or(message);
        let message: Message<'_> =
            message.get(4..).and_then(|message| root_as_message(message).ok()).ok_or(BROKEN)?;
        let dictionary = message.header_as_dictionary_batch().and_then(|one| one.data());
        let batch = message.header_as_record_batch().or(dictionary).ok_or(BROKEN)?;
        for buffer in batch.buffers().iter().flatten() {
            let start = usize::try_from(buffer.offset()).map_err(|_| BROKEN)?;
            let length = usize::try_from(buffer.length()).map_err(|_| BROKEN)?;
            let bytes = body.get(start..).and_then(|body| body.get(..length)).ok_or(BROKEN)?;
            let unpacked = match bytes.first_chunk() {
                _ if batch.compression().is_none() || bytes.is_empty() => length as u64,
                // -1 says that it is not packed.
                Some(size) if *size == [0xff; 8] => length as u64,
                Some(size) => u64::from_le_bytes(*size),
                None => return Err(BROKEN.into()),
            };
            let left = budget.checked_sub(unpacked);
            *budget = left.ok_or("the file unpacks to more bytes than a data set may have")?;
        }
        let rows = u64::try_from(batch.length()).map_err(|_| BROKEN)?;
        if rows > MAX_ROWS as u64 {
            return Err(format!("the file has more than {MAX_ROWS} rows"));
        }
        Ok(rows)
    }
}

/// What a column holds.
fn holds(of: &DataType) -> Type {
    let decimal = |digits: u8, scale: i8| match u32::try_from(scale) {
        Ok(scale) if u32::from(digits) <= MAX_DIGITS => Type::Decimal(scale),
        _ => Type::Other(format!("decimals of more than {MAX_DIGITS} digits")),
    };
    match of {
        DataType::Boolean => Type::Bool,
        of if of.is_integer() => Type::Integer,
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale) => decimal(*digits, *scale),
        DataType::Decimal256(..) => decimal(u8::MAX, 0),
        DataType::Float32 | DataType::Float64 => Type::Float,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        // A dictionary of dictionaries is nothing that is written.
        DataType::Dictionary(_, of) if !matches!(**of, DataType::Dictionary(..)) => holds(of),
        DataType::Timestamp(..) => Type::Other("timestamps".into()),
        DataType::Time32(_) | DataType::Time64(_) => Type::Other("times of day".into()),
        DataType::Null => Type::Other("nothing but missing cells".into()),
        of if of.is_nested() => Type::Other("nested values".into()),
        _ => Type::Other("values of a special type".into()),
    }
}

/// Appends the cells of an array to a column.
fn put(array: &dyn Array, column: usize, sink: &mut Sink<'_>) -> Result<(), String> {
    let shown = shown(array).ok_or_else(|| sink.broken(column))?;
    (0..array.len()).try_for_each(|row| sink.put(column, shown(row)))
}

/// The cell of a row.
type Shown<'a> = Box<dyn Fn(usize) -> Result<Option<String>, String> + 'a>;

/// How the rows of an array are shown; none for an array of another type than [`holds`] lets through.
fn shown(array: &dyn Array) -> Option<Shown<'_>> {
    Some(match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let value = shown(dictionary.values().as_ref())?;
            // Keys are made into places only if there is a place.
            let is_empty = dictionary.values().is_empty();
            let keys = if is_empty { Vec::new() } else { dictionary.normalized_keys() };
            Box::new(move |row| match keys.get(row) {
                Some(place) if !array.is_null(row) => value(*place),
                _ => Ok(None),
            })
        }
        DataType::Boolean => {
            let array = array.as_boolean_opt()?;
            some(array, |row| Ok(array.value(row).to_string()))
        }
        DataType::Utf8 => {
            let array = array.as_string_opt::<i32>()?;
            some(array, |row| typed::text(array.value(row).as_bytes()))
        }
        DataType::LargeUtf8 => {
            let array = array.as_string_opt::<i64>()?;
            some(array, |row| typed::text(array.value(row).as_bytes()))
        }
        DataType::Utf8View => {
            let array = array.as_string_view_opt()?;
            some(array, |row| typed::text(array.value(row).as_bytes()))
        }
        _ => return number(array),
    })
}

fn number(array: &dyn Array) -> Option<Shown<'_>> {
    match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array, |v| Ok(v.to_string())),
        DataType::Int16 => of::<Int16Type>(array, |v| Ok(v.to_string())),
        DataType::Int32 => of::<Int32Type>(array, |v| Ok(v.to_string())),
        DataType::Int64 => of::<Int64Type>(array, |v| Ok(v.to_string())),
        DataType::UInt8 => of::<UInt8Type>(array, |v| Ok(v.to_string())),
        DataType::UInt16 => of::<UInt16Type>(array, |v| Ok(v.to_string())),
        DataType::UInt32 => of::<UInt32Type>(array, |v| Ok(v.to_string())),
        DataType::UInt64 => of::<UInt64Type>(array, |v| Ok(v.to_string())),
        DataType::Float32 => {
            of::<Float32Type>(array, |v| typed::float(v.is_finite(), v.to_string()))
        }
        DataType::Float64 => {
            of::<Float64Type>(array, |v| typed::float(v.is_finite(), v.to_string()))
        }
        DataType::Date32 => of::<Date32Type>(array, typed::date),
        DataType::Date64 => of::<Date64Type>(array, |v| {
            let days = (v % MS_PER_DAY == 0).then_some(v / MS_PER_DAY);
            typed::date(days.and_then(|days| i32::try_from(days).ok()).unwrap_or(i32::MAX))
        }),
        DataType::Decimal32(_, scale) => {
            let scale = u32::try_from(*scale).ok()?;
            of::<Decimal32Type>(array, move |v| typed::decimal(v.into(), scale))
        }
        DataType::Decimal64(_, scale) => {
            let scale = u32::try_from(*scale).ok()?;
            of::<Decimal64Type>(array, move |v| typed::decimal(v.into(), scale))
        }
        DataType::Decimal128(_, scale) => {
            let scale = u32::try_from(*scale).ok()?;
            of::<Decimal128Type>(array, move |v| typed::decimal(v, scale))
        }
        _ => None,
    }
}

fn of<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    shown: impl Fn(T::Native) -> Result<String, String> + 'a,
) -> Option<Shown<'a>> {
    let array = array.as_primitive_opt::<T>()?;
    Some(some(array, move |row| shown(array.value(row))))
}

/// Rows that are not missing.
fn some<'a>(
    array: &'a dyn Array,
    shown: impl Fn(usize) -> Result<String, String> + 'a,
) -> Shown<'a> {
    Box::new(move |row| if array.is_null(row) { Ok(None) } else { shown(row).map(Some) })
}
