//! The message tags of `wrk`: 32 to 33, 37 to 38, 40 to 49.

use cenote_net::Tag;

/// Leaky AND, step 2: the low bits of all G.
pub const LEAKY_G: Tag = Tag::new(32, "leaky.g");
/// Leaky AND, step 4: the bits d.
pub const LEAKY_D: Tag = Tag::new(33, "leaky.d");
/// Buckets: opening of the differences d.
pub const BUCKET_OPEN: Tag = Tag::new(37, "bucket.open");
/// The garbler's order to the supply.
pub const ORDER: Tag = Tag::new(38, "wrk.order");
/// Beaver's step: opening of f and g of a chunk.
pub const BEAVER_OPEN: Tag = Tag::new(40, "wrk.beaver");
/// Tables and colour bits of a chunk.
pub const TABLES: Tag = Tag::new(41, "wrk.tables");
/// Masked values of a chunk, label hash and the evaluator's seed.
pub const REPORT: Tag = Tag::new(42, "wrk.report");
/// The garbler's hash of the MACs of a chunk.
pub const MAC_HASH: Tag = Tag::new(43, "wrk.machash");
/// Opening of the peer's share of an input mask to the owner.
pub const INPUT_MASK: Tag = Tag::new(44, "wrk.input.mask");
/// Masked input bits of the owner.
pub const INPUT_BITS: Tag = Tag::new(45, "wrk.input.bits");
/// Labels of input wires.
pub const INPUT_LABELS: Tag = Tag::new(46, "wrk.input.labels");
/// Opening of output masks.
pub const OUTPUT_MASK: Tag = Tag::new(47, "wrk.output.mask");
/// Kept wires that come back: own bits of the masks xor those of fresh shares.
pub const KEPT_BITS: Tag = Tag::new(48, "wrk.kept.bits");
/// The sum that proves them.
pub const KEPT_PROOF: Tag = Tag::new(49, "wrk.kept.proof");

/// All of them.
pub const ALL: &[Tag] = &[
    LEAKY_G,
    LEAKY_D,
    BUCKET_OPEN,
    ORDER,
    BEAVER_OPEN,
    TABLES,
    REPORT,
    MAC_HASH,
    INPUT_MASK,
    INPUT_BITS,
    INPUT_LABELS,
    OUTPUT_MASK,
    KEPT_BITS,
    KEPT_PROOF,
];
