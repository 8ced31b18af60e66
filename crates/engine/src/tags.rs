//! The message tags of the engine's protocols: one per message, so that a frame out of place is
//! refused before it is read.

use cenote_net::Tag;

/// Leaky AND, step 2: the blocks G.
pub const LEAKY_G: Tag = Tag::new(32, "leaky.g");
/// Leaky AND, step 4: the bits d.
pub const LEAKY_D: Tag = Tag::new(33, "leaky.d");
/// Coin toss: the garbler's commitment.
pub const COIN_COMMIT: Tag = Tag::new(34, "coin.commit");
/// Coin toss: the evaluator's contribution.
pub const COIN_REPLY: Tag = Tag::new(35, "coin.reply");
/// Coin toss: the garbler's opening.
pub const COIN_OPEN: Tag = Tag::new(36, "coin.open");
/// Buckets: opening of the differences d.
pub const BUCKET_OPEN: Tag = Tag::new(37, "bucket.open");
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
/// Yao: garbled tables.
pub const YAO_TABLES: Tag = Tag::new(50, "yao.tables");
/// Yao: active labels of the garbler's inputs.
pub const YAO_LABELS: Tag = Tag::new(51, "yao.labels");
/// Yao: decoding bits for the evaluator.
pub const YAO_DECODE: Tag = Tag::new(53, "yao.decode");
/// Yao: colour bits of output labels for the garbler.
pub const YAO_OUTPUT: Tag = Tag::new(54, "yao.output");
/// Yao: the garbler's hash start point.
pub const YAO_START: Tag = Tag::new(55, "yao.start");
/// Plain: input bits in the clear.
pub const PLAIN_INPUT: Tag = Tag::new(60, "plain.input");

/// Interactive hash, set-up: corrections of the offset's wires.
pub const JIMU_OFFSET: Tag = Tag::new(64, "jimu.offset");
/// A strip of fresh wires: corrections, then tables or keys.
pub const JIMU_STRIP: Tag = Tag::new(65, "jimu.strip");
/// Corrections of the wires that the consistency check of a batch sacrifices.
pub const JIMU_CLOSE: Tag = Tag::new(66, "jimu.close");
/// Answer to the consistency check of a batch.
pub const JIMU_ANSWER: Tag = Tag::new(67, "jimu.answer");
/// Openings of checked items.
pub const JIMU_CHECK: Tag = Tag::new(68, "jimu.check");
/// Inner solders of buckets.
pub const JIMU_INNER: Tag = Tag::new(69, "jimu.inner");
/// Solders of escrow gadgets to their wires.
pub const JIMU_ESCROW: Tag = Tag::new(70, "jimu.escrow");
/// Evaluator's input wires: sums of choice bits with a hash of the keys.
pub const JIMU_SUM: Tag = Tag::new(71, "jimu.input.sum");
/// Evaluator's input wires: opened sums of labels.
pub const JIMU_PROOF: Tag = Tag::new(72, "jimu.input.proof");
/// Active labels of the garbler's inputs.
pub const JIMU_LABELS: Tag = Tag::new(73, "jimu.input.labels");
/// The evaluator's inputs, masked by its choice bits.
pub const JIMU_CHOICES: Tag = Tag::new(74, "jimu.input.choices");
/// Outer solders of a chunk.
pub const JIMU_OUTER: Tag = Tag::new(75, "jimu.outer");
/// Permutation messages of outputs, opened to the evaluator.
pub const JIMU_PERMS: Tag = Tag::new(76, "jimu.output.perms");
/// Outputs to the garbler alone: solders of their permutation messages to escrowed wires.
pub const JIMU_BOND: Tag = Tag::new(77, "jimu.output.bond");
/// Masked values of outputs with a hash of their labels.
pub const JIMU_RESULT: Tag = Tag::new(78, "jimu.output.result");
/// Compact storage: drawn items, sent again.
pub const JIMU_AGAIN: Tag = Tag::new(79, "jimu.again");
/// Compact storage: nodes that lead from drawn items to the root.
pub const JIMU_PATHS: Tag = Tag::new(80, "jimu.paths");

/// Every tag of this crate, for the tests that must have a row for each.
pub const ALL: &[Tag] = &[
    LEAKY_G,
    LEAKY_D,
    COIN_COMMIT,
    COIN_REPLY,
    COIN_OPEN,
    BUCKET_OPEN,
    BEAVER_OPEN,
    TABLES,
    REPORT,
    MAC_HASH,
    INPUT_MASK,
    INPUT_BITS,
    INPUT_LABELS,
    OUTPUT_MASK,
    YAO_TABLES,
    YAO_LABELS,
    YAO_DECODE,
    YAO_OUTPUT,
    YAO_START,
    PLAIN_INPUT,
    JIMU_OFFSET,
    JIMU_STRIP,
    JIMU_CLOSE,
    JIMU_ANSWER,
    JIMU_CHECK,
    JIMU_INNER,
    JIMU_ESCROW,
    JIMU_SUM,
    JIMU_PROOF,
    JIMU_LABELS,
    JIMU_CHOICES,
    JIMU_OUTER,
    JIMU_PERMS,
    JIMU_BOND,
    JIMU_RESULT,
    JIMU_AGAIN,
    JIMU_PATHS,
];
