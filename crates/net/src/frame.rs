//! Frames: `tag u8 | length u32 little-endian | payload`. The format's page is docs/formats/wire.md.

use crate::Fault;

/// Bytes of a frame header.
pub const HEADER_LEN: usize = 5;

/// Largest payload of one frame, in bytes. Longer data goes in several frames.
pub const MAX_FRAME: usize = 16 << 20;

/// The kind of a message: one byte on the wire and a name for logs and tests.
///
/// Ids below [`Tag::FIRST_FREE`] belong to this crate; each protocol defines its own as constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// The byte on the wire.
    pub id: u8,
    /// The name in logs and tests; it never travels.
    pub name: &'static str,
}

impl Tag {
    /// The first id that a protocol may use.
    pub const FIRST_FREE: u8 = 16;
    /// The one uniform abort frame; its payload is empty.
    pub const ABORT: Tag = Tag { id: 0, name: "abort" };
    /// Orderly end of the session; its payload is empty.
    pub const BYE: Tag = Tag { id: 1, name: "bye" };
    /// One party's side of a handshake (`handshake.rs`).
    pub const HELLO: Tag = Tag { id: 2, name: "hello" };
    /// Nothing but that this side is there (`alive.rs`); its payload is empty.
    pub const ALIVE: Tag = Tag { id: 3, name: "alive" };

    /// A protocol's tag, for use in a `const`.
    ///
    /// # Panics
    /// When `id` is below [`Tag::FIRST_FREE`]; in a `const` this is a compile error.
    #[must_use]
    pub const fn new(id: u8, name: &'static str) -> Tag {
        assert!(id >= Tag::FIRST_FREE, "tag ids below 16 are reserved");
        Tag { id, name }
    }
}

/// A decoded frame header; `len` is at most [`MAX_FRAME`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    /// The tag's byte.
    pub tag: u8,
    /// Payload length in bytes.
    pub len: usize,
}

/// Decodes a frame header.
///
/// # Errors
/// `Misbehaved` when the length is over [`MAX_FRAME`], or when an abort, bye or alive frame has a payload.
pub fn decode_frame_header(bytes: &[u8; HEADER_LEN]) -> Result<FrameHeader, Fault> {
    let [tag, a, b, c, d] = *bytes;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    if len > MAX_FRAME {
        return Err(Fault::Misbehaved("frame: length over the limit"));
    }
    if len != 0 && [Tag::ABORT.id, Tag::BYE.id, Tag::ALIVE.id].contains(&tag) {
        return Err(Fault::Misbehaved("frame: control frame with a payload"));
    }
    Ok(FrameHeader { tag, len })
}

/// Encodes a frame header; the caller has checked `len <= MAX_FRAME`.
pub(crate) fn encode_header(tag: u8, len: usize) -> [u8; HEADER_LEN] {
    let [a, b, c, d] = (len as u32).to_le_bytes();
    [tag, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_up_to_the_limit() {
        for len in [0, 1, 255, 65536, MAX_FRAME] {
            let header = decode_frame_header(&encode_header(77, len));
            assert_eq!(header, Ok(FrameHeader { tag: 77, len }));
        }
    }

    #[test]
    fn length_over_the_limit_is_refused() {
        assert!(decode_frame_header(&encode_header(77, MAX_FRAME + 1)).is_err());
        assert!(decode_frame_header(&[77, 255, 255, 255, 255]).is_err());
    }

    #[test]
    fn control_frames_are_empty() {
        for tag in [Tag::ABORT, Tag::BYE, Tag::ALIVE] {
            assert!(decode_frame_header(&[tag.id, 0, 0, 0, 0]).is_ok());
            assert!(decode_frame_header(&[tag.id, 1, 0, 0, 0]).is_err());
        }
    }
}
