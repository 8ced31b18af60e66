//! The message tags of what backends share: 34 to 36.

use cenote_net::Tag;

/// Coin toss: the garbler's commitment.
pub const COIN_COMMIT: Tag = Tag::new(34, "coin.commit");
/// Coin toss: the evaluator's contribution.
pub const COIN_REPLY: Tag = Tag::new(35, "coin.reply");
/// Coin toss: the garbler's opening.
pub const COIN_OPEN: Tag = Tag::new(36, "coin.open");

/// All of them.
pub const ALL: &[Tag] = &[COIN_COMMIT, COIN_REPLY, COIN_OPEN];
