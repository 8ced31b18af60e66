//! Circuit files on disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{ParseError, Ports, parse_with_ports};
use crate::circuit::Circuit;

/// Why a circuit cannot be read from disk.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is missing, unreadable or too large.
    #[error("{}: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file's contents are wrong.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Reads a circuit in either Bristol format, with `NAME.ports.toml` beside `NAME.EXT` if there is
/// one.
pub fn read_circuit(path: &Path) -> Result<Circuit, ReadError> {
    let bytes = read(path)?;
    let ports = read_ports(path)?;
    Ok(parse_with_ports(&path.to_string_lossy(), &bytes, ports.as_ref())?)
}

/// The ports file beside a circuit file, if there is one.
pub fn read_ports(circuit: &Path) -> Result<Option<Ports>, ReadError> {
    let path = ports_path(circuit);
    match read(&path) {
        Ok(bytes) => Ok(Some(Ports::parse(&path.to_string_lossy(), &bytes)?)),
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where the ports of a circuit file are described.
pub fn ports_path(circuit: &Path) -> PathBuf {
    circuit.with_extension("ports.toml")
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    let error = |source| ReadError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, be it a pipe without a size.
    let mut file = File::open(path).map_err(error)?.take(MAX_FILE_BYTES + 1);
    file.read_to_end(&mut bytes).map_err(error)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("the file has more than {MAX_FILE_BYTES} bytes");
        return Err(error(io::Error::new(io::ErrorKind::FileTooLarge, message)));
    }
    Ok(bytes)
}

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;
