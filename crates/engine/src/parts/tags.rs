//! The message tags of what backends share: 34 to 36, 92 to 96.

use cenote_net::Tag;

/// Coin toss: the garbler's commitment.
pub const COIN_COMMIT: Tag = Tag::new(34, "coin.commit");
/// Coin toss: the evaluator's contribution.
pub const COIN_REPLY: Tag = Tag::new(35, "coin.reply");
/// Coin toss: the garbler's opening.
pub const COIN_OPEN: Tag = Tag::new(36, "coin.open");
/// Pace: the garbler's probe.
pub const PACE_PROBE: Tag = Tag::new(92, "pace.probe");
/// Pace: the evaluator's train of frames.
pub const PACE_TRAIN: Tag = Tag::new(93, "pace.train");
/// Pace: what the garbler makes of it.
pub const PACE: Tag = Tag::new(94, "pace");

/// Epoch: what a side has kept.
pub const EPOCH_STATE: Tag = Tag::new(95, "epoch.state");
/// Epoch: the name of what a side has saved.
pub const EPOCH_SAVED: Tag = Tag::new(96, "epoch.saved");

/// All of them.
pub const ALL: &[Tag] =
    &[COIN_COMMIT, COIN_REPLY, COIN_OPEN, PACE_PROBE, PACE_TRAIN, PACE, EPOCH_STATE, EPOCH_SAVED];
