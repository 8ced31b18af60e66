//! The message tags of `yao`: 50 to 55.

use cenote_net::Tag;

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

/// All of them.
pub const ALL: &[Tag] = &[YAO_TABLES, YAO_LABELS, YAO_DECODE, YAO_OUTPUT, YAO_START];
