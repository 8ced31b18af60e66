//! Interactive hash: binds the garbler to messages of which the evaluator holds short tags.
//!
//! A tag is hiding until the message is shown, linear, and checked by the evaluator alone: an
//! opening is the message itself. The traits are what garbling on a pool needs; a second
//! construction behind them is the one from vector OLE (docs/protocols/jimu.md).

mod message;
mod reed_solomon;

use cenote_net::Fault;
use cenote_prim::Block;
use zeroize::Zeroizing;

pub use message::{Label, Message, Perm, Tag, decode, encode, encoded_len};
#[cfg(test)]
pub(crate) use reed_solomon::pair;
pub use reed_solomon::{
    ReedSolomonEscrow, ReedSolomonReceiver, ReedSolomonSender, ReedSolomonTags, Watch,
};

/// Wires are hashed in vectors of this many.
pub const LANES: usize = 64;

/// The garbler's end. Both ends number the hashed wires alike, from 0 on; those that end a batch
/// count as well.
pub trait HashSender {
    /// Hashes the next `lanes` wires, a multiple of [`LANES`]. Their random messages replace the
    /// content of `messages`; what the receiver needs is appended to `corrections`,
    /// [`HashSender::corrections_len`] bytes. Returns the number of the first wire.
    ///
    /// # Panics
    /// For another number of lanes, or after [`HashSender::close`] before [`HashSender::answer`].
    fn hash(&mut self, lanes: usize, messages: &mut Vec<Message>, corrections: &mut Vec<u8>)
    -> u64;

    /// Bytes of the corrections for `lanes` wires.
    fn corrections_len(&self, lanes: usize) -> usize;

    /// Blocks of a [`Perm`] that are in use, 1 or 2: how [`encode`] writes it.
    fn perm_blocks(&self) -> usize;

    /// The messages of the wires start .. start + width for each start, hashed before, again: they
    /// are not stored. Replaces the content of `messages`. Starts are public.
    fn again(&self, starts: &[u64], width: usize, messages: &mut Vec<Message>);

    /// As [`HashSender::again`], and appends what the receiver needs to hash these wires once more
    /// by [`HashReceiver::hash_again`]: the corrections sent before, as if of a call of
    /// [`HashSender::hash`] for `lanes` wires that begins with these. The other lanes are zero.
    ///
    /// # Panics
    /// If `lanes` is not a multiple of [`LANES`] or less than there are wires.
    fn again_with_corrections(
        &self,
        starts: &[u64],
        width: usize,
        lanes: usize,
        messages: &mut Vec<Message>,
        corrections: &mut Vec<u8>,
    );

    /// Hashes the wires that [`HashSender::answer`] sacrifices; ends a batch. As
    /// [`HashSender::hash`] without its messages, which nothing else may use.
    fn close(&mut self, corrections: &mut Vec<u8>);

    /// The answer to the consistency check of all wires hashed since the answer before this one.
    /// `coin` must have been tossed after [`HashSender::close`].
    ///
    /// # Panics
    /// If the batch was not closed.
    fn answer(&mut self, coin: Block) -> Vec<u8>;
}

/// The tags of the combinations of a batch.
pub struct Held {
    /// The first wire of the batch.
    batch: u64,
    /// Of the labels, of the permutation messages.
    tags: [Zeroizing<Vec<Block>>; 2],
    /// The sums of the corrections of permutation messages, if they are wanted.
    corrections: Option<Corrections>,
}

/// The combinations of the corrections of a batch.
struct Corrections {
    seed: Block,
    vectors: usize,
    sums: Vec<u8>,
}

/// What a batch, whose check passed, states about the stream of each place: by it the seeds that were used are known from others. Public to its
/// owner's peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The first wire of the batch.
    pub first: u64,
    /// Vectors of wires, sacrificed ones included.
    pub vectors: u64,
    /// Of these, the last.
    pub sacrificed: u64,
    /// Of the coefficients.
    pub seed: Block,
    /// A hash for each place.
    pub sums: Vec<Block>,
}

/// The recogniser of messages by their tags: the part of a [`HashReceiver`] that stays as it is while more is hashed, and that
/// another thread may use.
pub trait Recogniser: Send + Sync {
    /// Blocks of a [`Perm`] that are in use, 1 or 2: how [`decode`] reads it.
    fn perm_blocks(&self) -> usize;

    /// Whether `label` is the one that `tag` is the hash of; constant time.
    fn labels_agree(&self, label: &Label, tag: Block) -> bool;

    /// Whether each of `messages` is the one that the tag at its place is the hash of, and in
    /// canonical form; constant time but for the length.
    ///
    /// # Panics
    /// If the lengths differ.
    fn agree(&self, messages: &[Message], tags: &[Tag]) -> bool;

    /// The tags that labels would have: for a label Z, `tag` is that of Z exactly if it agrees.
    ///
    /// # Panics
    /// If the lengths differ.
    fn tags_of_labels(&self, labels: &[Label], tags: &mut [Block]);
}

/// The evaluator's end.
pub trait HashReceiver: Recogniser {
    /// Tags of the next `lanes` wires: replace the content of `tags`. Returns the number of the
    /// first. No tag may be relied on before [`HashReceiver::check`] passed.
    ///
    /// # Errors
    /// `Misbehaved("jimu.format")` for corrections of another length or with padding that is not
    /// zero. No check passes after an error.
    ///
    /// # Panics
    /// For a number of lanes that is not a multiple of [`LANES`], or after [`HashReceiver::close`]
    /// before [`HashReceiver::check`].
    fn hash(&mut self, lanes: usize, corrections: &[u8], tags: &mut Vec<Tag>)
    -> Result<u64, Fault>;

    /// Tags of the wires start .. start + width for each start, hashed before: replace the content of
    /// `tags`. `corrections` are of [`HashSender::again_with_corrections`].
    ///
    /// These are the tags of the first time if the corrections are those of the first time, which
    /// the caller must see to; they rest on the check that passed then.
    ///
    /// # Errors
    /// `Misbehaved("jimu.format")` for corrections of another length, for padding or lanes without a
    /// wire that are not zero, and for wires that were never hashed.
    ///
    /// # Panics
    /// As [`HashSender::again_with_corrections`].
    fn hash_again(
        &self,
        starts: &[u64],
        width: usize,
        lanes: usize,
        corrections: &[u8],
        tags: &mut Vec<Tag>,
    ) -> Result<(), Fault>;

    /// Bytes of the corrections for `lanes` wires.
    fn corrections_len(&self, lanes: usize) -> usize;

    /// Lanes that [`HashReceiver::close`] sacrifices.
    fn sacrificed(&self) -> usize;

    /// Takes the corrections of the sacrificed wires; ends a batch.
    ///
    /// # Errors
    /// As [`HashReceiver::hash`].
    fn close(&mut self, corrections: &[u8]) -> Result<(), Fault>;

    /// Bytes of [`HashSender::answer`].
    fn answer_len(&self) -> usize;

    /// What this side holds of the answer to the check, `coin` as in [`HashSender::answer`]: the work of the
    /// check, which can be done while the answer is being made.
    ///
    /// # Panics
    /// If the batch was not closed, unless there was an error before.
    fn held(&self, coin: Block) -> Held;

    /// Checks that all wires hashed since the last check are within the code wherever this side
    /// looks: that `answer` is what this side holds of it.
    ///
    /// # Errors
    /// `Misbehaved("jimu.hash.codeword")`, and again whatever follows.
    ///
    /// # Panics
    /// If `held` is of another batch, unless there was an error before.
    fn check(&mut self, held: &Held, answer: &[u8]) -> Result<(), Fault>;

    /// Whole labels from their keys: of the wires `first ..`, plus Delta where `bits` says so,
    /// whose tag symbols are known from the hashes and whose keys came another way. The wires must
    /// have been hashed with [`HashReceiver::hash`] after [`HashReceiver::keep_watched`]; they can be
    /// completed until the next batch begins.
    ///
    /// # Panics
    /// If the lengths differ or the wires were not kept.
    fn complete(&self, first: u64, keys: &[Block], bits: &[bool]) -> Vec<Label>;

    /// Keeps what [`HashReceiver::complete`] needs of the wires hashed up to the next check.
    fn keep_watched(&mut self);

    /// Keeps what [`HashReceiver::statement`] needs of the wires hashed up to the next check.
    fn keep_corrections(&mut self);

    /// What the batch states whose `answer` has just passed [`HashReceiver::check`], by what was `held` of it.
    ///
    /// # Panics
    /// If its corrections were not kept.
    fn statement(&self, held: &Held, answer: &[u8]) -> Statement;

    /// Writes the corrections of the permutation messages of `lanes` wires, as [`HashReceiver::hash`] takes them, to every `stride` blocks of `out` from
    /// `offset` on, as many blocks as [`ReedSolomonEscrow::correction_blocks`].
    fn perm_corrections(
        &self,
        lanes: usize,
        corrections: &[u8],
        out: &mut [Block],
        stride: usize,
        offset: usize,
    );

    /// Makes wire number `wire` of this batch, plus `shift`, the delta that
    /// [`HashReceiver::complete`] adds from now on. Returns the tag of its label.
    ///
    /// # Panics
    /// If the wire was not hashed since the last check or not kept.
    fn set_delta(&mut self, wire: u64, shift: &Label) -> Block;
}
