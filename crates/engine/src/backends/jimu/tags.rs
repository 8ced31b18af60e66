//! The message tags of `jimu`: 64 to 69 and 71 to 81.

use cenote_net::Tag;

/// Interactive hash, set-up: corrections of Delta's wires.
pub const JIMU_DELTA: Tag = Tag::new(64, "jimu.delta");
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
/// What the garbler orders of a supply with a channel of its own.
pub const JIMU_ORDER: Tag = Tag::new(81, "jimu.order");

/// All of them.
pub const ALL: &[Tag] = &[
    JIMU_DELTA,
    JIMU_STRIP,
    JIMU_CLOSE,
    JIMU_ANSWER,
    JIMU_CHECK,
    JIMU_INNER,
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
    JIMU_ORDER,
];
