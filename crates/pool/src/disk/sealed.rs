//! Authenticated encryption of what lies on disk: short records, and files of any length in chunks.
//!
//! Everything is XChaCha20-Poly1305. A *record* has a nonce of 192 random bits in front, so that no counter has to outlive a
//! process. A *file* begins with a record that holds a fresh key, and goes on with chunks under it whose nonces are their numbers
//! (as in the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizard, CRYPTO 2015, but with the length, known here before, in the place of a mark of the last chunk). So
//!
//! - a chunk that was changed, moved, repeated or is of another file does not open: key or nonce is another;
//! - a file that was cut or grew, at a chunk's end or elsewhere, does not either: its length is in the associated data of the record;
//! - a file of another epoch, name or kind does not: so are these;
//! - no length is believed before it was authenticated, so a damaged file cannot ask for memory;
//! - overwriting the first [`FILE_HEAD`] bytes destroys a file as well as overwriting all of it.
//!
//! Sealing needs memory for a chunk beside what is sealed, opening for a chunk beside the result.

use std::io::{self, Read, Write};

use cenote_prim::{Secret, os_bytes};
use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::aead::{AeadInOut as _, KeyInit as _};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

/// Bytes of a key.
pub(super) const KEY: usize = 32;
/// Bytes by which a record is longer than what it holds: nonce and tag.
pub(super) const RECORD: usize = NONCE + TAG;
/// Bytes of a file before its first chunk: magic, length, record of a key.
pub(super) const FILE_HEAD: usize = MAGIC.len() + 8 + KEY + RECORD;
/// Bytes of a chunk, the last one aside.
pub(super) const CHUNK: usize = 64 << 10;

const NONCE: usize = 24;
const TAG: usize = 16;
/// Kind and version of files.
const MAGIC: [u8; 8] = *b"cenoteF\x02";

/// A key of 32 bytes on the heap, wiped.
pub(super) struct Key(Secret<Vec<u8>>);

impl Key {
    /// A fresh key.
    pub(super) fn random() -> Key {
        let mut bytes = Secret::new(vec![0; KEY]);
        os_bytes(&mut bytes);
        Key(bytes)
    }

    /// These bytes, if there are 32.
    pub(super) fn new(bytes: Secret<Vec<u8>>) -> Option<Key> {
        (bytes.len() == KEY).then_some(Key(bytes))
    }

    /// This key, sealed under another one.
    pub(super) fn wrap(&self, outer: &Key, about: &[u8]) -> Vec<u8> {
        outer.seal(about, &self.0)
    }

    /// What [`Key::wrap`] made.
    pub(super) fn unwrap(outer: &Key, about: &[u8], sealed: &[u8]) -> Option<Key> {
        outer.open(about, sealed).and_then(Key::new)
    }

    /// A record of `plain` that opens with the same `about` alone.
    pub(super) fn seal(&self, about: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut out = vec![0; RECORD + plain.len()];
        let (nonce, body) = out.split_at_mut(NONCE);
        os_bytes(nonce);
        self.encrypt(&XNonce::try_from(&*nonce).expect("24 bytes"), about, plain, body);
        out
    }

    /// What a record holds; nothing if this side did not seal it so.
    pub(super) fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        let (nonce, body) = sealed.split_at_checked(NONCE)?;
        let mut plain = Secret::new(vec![0; body.len().checked_sub(TAG)?]);
        self.decrypt(&XNonce::try_from(nonce).ok()?, about, body, &mut plain).then_some(plain)
    }

    /// Writes `plain` and its tag to `out`, which is as long as both.
    fn encrypt(&self, nonce: &XNonce, about: &[u8], plain: &[u8], out: &mut [u8]) {
        let (body, end) = out.split_at_mut(plain.len());
        let buffers = InOutBuf::new(plain, body).expect("of one length");
        let tag = self.cipher().encrypt_inout_detached(nonce, about, buffers);
        end.copy_from_slice(&tag.expect("far below 256 GiB"));
    }

    /// Whether `sealed` has its tag; if so, it is deciphered to `plain`, which is shorter by that.
    fn decrypt(&self, nonce: &XNonce, about: &[u8], sealed: &[u8], plain: &mut [u8]) -> bool {
        let (body, tag) = sealed.split_at(plain.len());
        let buffers = InOutBuf::new(body, plain).expect("of one length");
        let tag = Tag::try_from(tag).expect("16 bytes");
        self.cipher().decrypt_inout_detached(nonce, about, buffers, &tag).is_ok()
    }

    /// The cipher wipes its copy of the key when it is dropped.
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new_from_slice(&self.0).expect("32 bytes")
    }
}

/// The number of a chunk: keys of files are fresh, so no nonce comes twice.
fn chunk_nonce(number: u64) -> XNonce {
    let mut nonce = XNonce::default();
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    nonce
}

/// What the first record of a file is bound to: `head` has its length.
fn file_about(head: &[u8], about: &[u8]) -> Vec<u8> {
    [head, about].concat()
}

/// Writes `plain` as a file that is opened with the same `about` alone.
///
/// # Errors
/// Of `out`.
pub(super) fn write_file(
    out: &mut dyn Write,
    key: &Key,
    about: &[u8],
    plain: &[u8],
) -> io::Result<()> {
    let head = [MAGIC, (plain.len() as u64).to_le_bytes()].concat();
    let file_key = Key::random();
    out.write_all(&head)?;
    out.write_all(&file_key.wrap(key, &file_about(&head, about)))?;
    let mut sealed = vec![0; plain.len().min(CHUNK) + TAG];
    for (number, start, end) in chunks(plain.len()) {
        let sealed = &mut sealed[..end - start + TAG];
        file_key.encrypt(&chunk_nonce(number), &[], &plain[start..end], sealed);
        out.write_all(sealed)?;
    }
    Ok(())
}

/// What [`write_file`] wrote; nothing if it is not that, whole.
///
/// # Errors
/// Of `input`.
pub(super) fn read_file(
    input: &mut dyn Read,
    key: &Key,
    about: &[u8],
) -> io::Result<Option<Secret<Vec<u8>>>> {
    match read_whole_file(input, key, about) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

fn read_whole_file(
    input: &mut dyn Read,
    key: &Key,
    about: &[u8],
) -> io::Result<Option<Secret<Vec<u8>>>> {
    let mut start = [0; FILE_HEAD];
    input.read_exact(&mut start)?;
    let (head, record) = start.split_at(MAGIC.len() + 8);
    let file_key = Key::unwrap(key, &file_about(head, about), record);
    let len = head[MAGIC.len()..].try_into().map(u64::from_le_bytes).map(usize::try_from);
    let (Some(file_key), true, Ok(Ok(len))) = (file_key, head.starts_with(&MAGIC), len) else {
        return Ok(None);
    };
    let mut plain = Secret::new(vec![0; len]);
    let mut sealed = vec![0; len.min(CHUNK) + TAG];
    for (number, start, end) in chunks(len) {
        let sealed = &mut sealed[..end - start + TAG];
        input.read_exact(sealed)?;
        if !file_key.decrypt(&chunk_nonce(number), &[], sealed, &mut plain[start..end]) {
            return Ok(None);
        }
    }
    // Nothing is appended to what this side wrote.
    Ok((input.read(&mut [0])? == 0).then_some(plain))
}

/// Number, start and end of each chunk of `len` bytes; one at least.
fn chunks(len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let count = len.div_ceil(CHUNK).max(1);
    (0..count).map(move |chunk| {
        let start = chunk * CHUNK;
        (chunk as u64, start, len.min(start + CHUNK))
    })
}
