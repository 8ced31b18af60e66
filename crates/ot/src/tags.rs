//! The message tags of this crate: one per message, so that a frame out of place is refused before
//! it is read.

use cenote_net::Tag;

/// Base OT: the sender's point.
pub const BASE_POINT: Tag = Tag::new(16, "ot.base.point");
/// Base OT: the receiver's points.
pub const BASE_POINTS: Tag = Tag::new(17, "ot.base.points");
/// All-but-one trees: masked sums, tags, digest.
pub const TREES: Tag = Tag::new(18, "ot.trees");
/// Correlated OT: the corrections and the answer of one chunk.
pub const CHUNK: Tag = Tag::new(19, "ot.chunk");
/// Chosen OT and chosen correlated OT: choice bits, masked by random choice bits.
pub const CHOICES: Tag = Tag::new(20, "ot.choices");
/// Chosen OT: masked messages.
pub const MASKED: Tag = Tag::new(21, "ot.masked");
/// Watch list: the sender's commitment to the shares.
pub const WATCH_COMMIT: Tag = Tag::new(22, "ot.watch.commit");
/// Watch list: the secret that the receiver can tell if it took no seed too many.
pub const WATCH_SECRET: Tag = Tag::new(23, "ot.watch.secret");
/// Silent OT: masked places of the noise.
pub const SILENT_CHOICES: Tag = Tag::new(24, "ot.silent.choices");
/// Silent OT: masked sums of the levels of all trees.
pub const SILENT_LEVELS: Tag = Tag::new(25, "ot.silent.levels");
/// Silent OT: coefficients of the check, and their masked sum over the noise.
pub const SILENT_FOLD: Tag = Tag::new(26, "ot.silent.fold");
/// Silent OT: the sender's fold, hashed.
pub const SILENT_DIGEST: Tag = Tag::new(27, "ot.silent.digest");
/// Base OTs of the other direction out of those of the first: trees and chunk of 128 COTs, choices masked by theirs.
pub const TURNED: Tag = Tag::new(28, "ot.base.turned");

/// Every tag of this crate, for the tests that must have a row for each.
pub const ALL: &[Tag] = &[
    BASE_POINT,
    BASE_POINTS,
    TREES,
    CHUNK,
    CHOICES,
    MASKED,
    WATCH_COMMIT,
    WATCH_SECRET,
    SILENT_CHOICES,
    SILENT_LEVELS,
    SILENT_FOLD,
    SILENT_DIGEST,
    TURNED,
];
