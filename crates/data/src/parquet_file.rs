//! Parquet: flat columns of integers, booleans, decimals, floating-point numbers, dates and texts.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::file::metadata::{ParquetStatisticsPolicy, RowGroupMetaData};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{
    ReadOptionsBuilder, SerializedFileReader, SerializedPageReader,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::parquet_pages::{Budget, Pages};
use crate::table::{Cells, Field, Format, Sink, Type, rows_of};
use crate::typed::{self, MAX_DIGITS};
use crate::{MAX_FILE, parquet_schema};

/// Most bytes of the footer; what is read of it takes many times as much.
const MAX_FOOTER: u32 = 1 << 24;
/// Cells that are read at once.
const BATCH: usize = 4096;

/// A file whose footer was read.
pub(crate) struct Parquet {
    bytes: Arc<Bytes>,
    reader: SerializedFileReader<Bytes>,
    fields: Vec<Field>,
    /// The leaf of the schema that each field is; none for one that has fields itself.
    leaves: Vec<Option<usize>>,
}

impl Parquet {
    pub(crate) fn open(bytes: &Bytes) -> Result<Parquet, String> {
        let missing = "the end of this Parquet file is missing; copy it again";
        let end = bytes.len().checked_sub(8).filter(|_| bytes.ends_with(b"PAR1")).ok_or(missing)?;
        let footer = bytes[end..].first_chunk().map_or(u32::MAX, |size| u32::from_le_bytes(*size));
        if footer > MAX_FOOTER {
            return Err(format!("the footer has more than {MAX_FOOTER} bytes"));
        }
        let start = end.checked_sub(footer as usize).ok_or(missing)?;
        let schema = parquet_schema::read(&bytes[start..end])?;
        let skip = ParquetStatisticsPolicy::SkipAll;
        let options = ReadOptionsBuilder::new()
            .with_encoding_stats_policy(skip.clone())
            .with_column_stats_policy(skip.clone())
            .with_size_stats_policy(skip)
            // Read already: the library passes over the one in the footer.
            .with_parquet_schema(schema);
        let reader = SerializedFileReader::new_with_options(bytes.clone(), options.build());
        let reader = reader.map_err(|_| "the footer of this Parquet file is broken")?;
        let (fields, leaves) = fields(reader.metadata().file_metadata().schema_descr());
        Ok(Parquet { bytes: Arc::new(bytes.clone()), reader, fields, leaves })
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.reader.metadata().row_groups()
    }

    /// Reads a column of a group of rows.
    fn column(
        &self,
        group: &RowGroupMetaData,
        place: usize,
        budget: &Budget,
        column: (usize, &mut Sink<'_>),
    ) -> Result<(), String> {
        let (number, sink) = column;
        let broken = sink.broken(number);
        let leaf = self.leaves[place].ok_or_else(|| broken.clone())?;
        let chunk = group.columns().get(leaf).ok_or_else(|| broken.clone())?;
        let name = &self.fields[place].name;
        packed(chunk.compression()).map_err(|what| format!("column `{name}`: {what}"))?;
        let rows = usize::try_from(group.num_rows()).map_err(|_| broken.clone())?;
        let pages = SerializedPageReader::new(Arc::clone(&self.bytes), chunk, rows, None);
        let pages = Pages::new(pages.map_err(|_| broken)?, budget.clone());
        let descriptor = chunk.column_descr_ptr();
        let reader = get_column_reader(Arc::clone(&descriptor), Box::new(pages));
        let holds = &self.fields[place].holds;
        let mut out = Out { rows, number, sink, budget };
        match reader {
            ColumnReader::BoolColumnReader(reader) => out.take(reader, |v| Ok(v.to_string())),
            ColumnReader::Int32ColumnReader(reader) => {
                let is_signed = is_signed(&descriptor);
                out.take(reader, |v| match holds {
                    Type::Date => typed::date(*v),
                    Type::Decimal(scale) => typed::decimal((*v).into(), *scale),
                    _ if is_signed => Ok(v.to_string()),
                    _ => Ok(v.cast_unsigned().to_string()),
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let is_signed = is_signed(&descriptor);
                out.take(reader, |v| match holds {
                    Type::Decimal(scale) => typed::decimal((*v).into(), *scale),
                    _ if is_signed => Ok(v.to_string()),
                    _ => Ok(v.cast_unsigned().to_string()),
                })
            }
            ColumnReader::FloatColumnReader(reader) => {
                out.take(reader, |v| typed::float(v.is_finite(), v.to_string()))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                out.take(reader, |v| typed::float(v.is_finite(), v.to_string()))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                out.take(reader, |v| bytes(holds, v.data()))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                out.take(reader, |v| bytes(holds, v.data()))
            }
            ColumnReader::Int96ColumnReader(_) => Err(out.sink.broken(number)),
        }
    }
}

impl Format for Parquet {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn cells(&self, places: &[usize]) -> Result<Cells, String> {
        let mut claimed = self.groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let claimed = claimed.try_fold(0_u64, |sum, rows| sum.checked_add(rows?));
        let rows = rows_of(claimed.unwrap_or(u64::MAX), places.len())?;
        let mut sink = Sink::new(&self.fields, places, rows);
        let budget = Budget::new(MAX_FILE);
        for group in self.groups() {
            for (number, place) in places.iter().enumerate() {
                self.column(group, *place, &budget, (number, &mut sink))?;
            }
        }
        Ok(sink.done())
    }
}

/// Where the cells of a column of a group go.
struct Out<'s, 'f> {
    rows: usize,
    number: usize,
    sink: &'s mut Sink<'f>,
    budget: &'s Budget,
}

impl Out<'_, '_> {
    fn take<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        shown: impl Fn(&T::T) -> Result<String, String>,
    ) -> Result<(), String> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut left = self.rows;
        while left > 0 {
            levels.clear();
            values.clear();
            let batch = left.min(BATCH);
            let read = reader.read_records(batch, Some(&mut levels), None, &mut values);
            let rows = read.map_or(0, |(rows, _, _)| rows);
            if rows == 0 || rows > batch {
                return Err(self.budget.refused().unwrap_or_else(|| self.sink.broken(self.number)));
            }
            // A column without missing cells has no levels.
            let mut values = values.iter();
            for row in 0..rows {
                let is_there = levels.get(row).is_none_or(|level| *level == 1);
                let value = if is_there { values.next().map(&shown).transpose() } else { Ok(None) };
                if is_there && matches!(value, Ok(None)) {
                    return Err(self.sink.broken(self.number));
                }
                self.sink.put(self.number, value)?;
            }
            left -= rows;
        }
        Ok(())
    }
}

fn bytes(holds: &Type, bytes: &[u8]) -> Result<String, String> {
    match holds {
        Type::Decimal(scale) => typed::decimal_bytes(bytes, *scale),
        _ => typed::text(bytes),
    }
}

/// Codecs that unpack no more than a page claims.
fn packed(codec: Compression) -> Result<(), String> {
    match codec {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::ZSTD(_)
        | Compression::LZ4_RAW => Ok(()),
        other => {
            let name = other.to_string();
            let name = name.split('(').next().unwrap_or_default();
            Err(format!("it is compressed with {name}; write it with Snappy, Zstandard or none"))
        }
    }
}

/// The columns of a file, and the leaves that they are.
fn fields(schema: &SchemaDescriptor) -> (Vec<Field>, Vec<Option<usize>>) {
    let fields = schema.root_schema().get_fields();
    let mut leaves = vec![None; fields.len()];
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        let is_flat = fields[root].is_primitive()
            && fields[root].get_basic_info().repetition() != Repetition::REPEATED;
        if is_flat {
            leaves[root] = Some(leaf);
        }
    }
    let field = |(field, leaf): (&Arc<parquet::schema::types::Type>, &Option<usize>)| {
        let holds = match leaf {
            Some(leaf) => holds(&schema.column(*leaf)),
            None => Type::Other("nested values".into()),
        };
        Field { name: field.name().to_owned(), holds }
    };
    (fields.iter().zip(&leaves).map(field).collect(), leaves)
}

/// What a leaf holds; files of older writers have the converted type alone.
fn holds(leaf: &ColumnDescriptor) -> Type {
    let other = |what: &str| Type::Other(what.into());
    let converted = match leaf.logical_type_ref() {
        Some(logical) => ConvertedType::from(Some(logical.clone())),
        None => leaf.converted_type(),
    };
    let (physical, is_annotated) = (leaf.physical_type(), leaf.logical_type_ref().is_some());
    match (converted, physical) {
        (ConvertedType::DECIMAL, _) => decimal(leaf),
        (ConvertedType::DATE, Physical::INT32) => Type::Date,
        (ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON, Physical::BYTE_ARRAY) => {
            Type::Text
        }
        (
            ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32,
            Physical::INT32,
        )
        | (ConvertedType::INT_64 | ConvertedType::UINT_64, Physical::INT64) => Type::Integer,
        (ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS, _)
        | (ConvertedType::NONE, Physical::INT96) => other("timestamps"),
        (ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS, _) => other("times of day"),
        (ConvertedType::NONE, physical) if !is_annotated => match physical {
            Physical::BOOLEAN => Type::Bool,
            Physical::INT32 | Physical::INT64 => Type::Integer,
            Physical::FLOAT | Physical::DOUBLE => Type::Float,
            _ => other("bytes that are not marked as text"),
        },
        _ => match leaf.logical_type_ref() {
            Some(LogicalType::Timestamp(_)) => other("timestamps"),
            Some(LogicalType::Time(_)) => other("times of day"),
            Some(LogicalType::Unknown) => other("nothing but missing cells"),
            _ => other("values of a special type"),
        },
    }
}

fn decimal(leaf: &ColumnDescriptor) -> Type {
    let (scale, precision) = match leaf.logical_type_ref() {
        Some(LogicalType::Decimal(decimal)) => (decimal.scale, decimal.precision),
        _ => (leaf.type_scale(), leaf.type_precision()),
    };
    let number = |number: i32| u32::try_from(number).ok().filter(|number| *number <= MAX_DIGITS);
    match (number(scale), number(precision)) {
        (Some(scale), Some(_)) => Type::Decimal(scale),
        _ => Type::Other(format!("decimals of more than {MAX_DIGITS} digits")),
    }
}

fn is_signed(leaf: &ColumnDescriptor) -> bool {
    match leaf.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => integer.is_signed,
        Some(_) => true,
        None => !matches!(
            leaf.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}
