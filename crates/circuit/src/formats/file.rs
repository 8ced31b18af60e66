//! Circuit files on disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Beside, Format, ParseError, Parsed, Ports, detect, parse};
use crate::circuit::Circuit;

/// Why a circuit cannot be read from disk.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is missing or unreadable.
    #[error("{}: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is larger than what is read as a whole.
    #[error(
        "{}: the file has more than {MAX_FILE_BYTES} bytes; only `cenote circuit optimise` reads larger \
         ones, in the Bristol formats",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file's contents are wrong.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Reads a circuit without latches in any format, with what lies beside it: see [`parse_beside`].
pub fn read_circuit(path: &Path) -> Result<Circuit, ReadError> {
    Ok(read_file(path)?.combinational(&path.to_string_lossy())?)
}

/// Reads a file in any format, with what lies beside it: see [`parse_beside`].
pub fn read_file(path: &Path) -> Result<Parsed, ReadError> {
    parse_beside(path, &read_bytes(path)?)
}

/// Reads `bytes`, the contents of the file at `path`, with `NAME.ports.toml` beside `NAME.EXT` if there
/// is one, and with `NAME.fmt` for an SHDL circuit.
pub fn parse_beside(path: &Path, bytes: &[u8]) -> Result<Parsed, ReadError> {
    let name = path.to_string_lossy();
    let ports = read_ports(path)?;
    let fmt_path = path.with_extension("fmt");
    let fmt = match detect(&name, bytes)? {
        Format::Shdl => read_if_there(&fmt_path)?,
        _ => None,
    };
    let fmt_name = fmt_path.to_string_lossy();
    let fmt = fmt.as_deref().map(|bytes| (&*fmt_name, bytes));
    Ok(parse(&name, bytes, Beside { ports: ports.as_ref(), fmt })?)
}

/// The ports file beside a circuit file, if there is one.
pub fn read_ports(circuit: &Path) -> Result<Option<Ports>, ReadError> {
    let path = ports_path(circuit);
    let bytes = read_if_there(&path)?;
    Ok(bytes.map(|bytes| Ports::parse(&path.to_string_lossy(), &bytes)).transpose()?)
}

/// Where the ports of a circuit file are described.
pub fn ports_path(circuit: &Path) -> PathBuf {
    circuit.with_extension("ports.toml")
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    match read_bytes(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The contents of a file of at most 1 GiB.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let error = |source| ReadError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(error)?;
    let mut bytes = Vec::new();
    // A pipe has no size; of it, one byte more than allowed tells that it is too large.
    if file.metadata().map_err(error)?.len() <= MAX_FILE_BYTES {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(error)?;
        if bytes.len() as u64 <= MAX_FILE_BYTES {
            return Ok(bytes);
        }
    }
    Err(ReadError::TooLarge { path: path.to_owned() })
}

/// The beginning of a file of any size, by which [`detect`] tells its format.
pub fn read_start(path: &Path) -> Result<Vec<u8>, ReadError> {
    let error = |source| ReadError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(error)?;
    file.take(START_BYTES).read_to_end(&mut bytes).map_err(error)?;
    Ok(bytes)
}

/// The largest file that is read as a whole.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The beginning of a file.
const START_BYTES: u64 = 1 << 16;
