//! Hashed wires for tests, dealt to both parties.

use cenote_prim::field::{Field, Matrix};
use cenote_prim::{Block, Prg};

use super::Active;
use crate::Rho;
use crate::backends::jimu::ihash::{
    HashReceiver, HashSender, LANES, Label, Message, Recogniser, ReedSolomonReceiver,
    ReedSolomonSender, Tag, pair,
};

/// Both ends of an interactive hash that know one delta.
pub(crate) struct Dealer {
    sender: ReedSolomonSender,
    /// The evaluator's end.
    pub(crate) receiver: ReedSolomonReceiver,
    /// The garbler's secret.
    pub(crate) delta: Label,
    /// Its tag.
    pub(crate) delta_tag: Block,
    /// The generator that the tests draw from.
    pub(crate) prg: Prg,
}

impl Dealer {
    /// With a Delta, hashed in a batch of its own.
    pub(crate) fn new(rho: Rho, seed: u128) -> Dealer {
        let (mut sender, mut receiver) = pair(rho, Block::new(seed));
        let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        let first = sender.hash(LANES, &mut messages, &mut corrections);
        receiver.keep_watched();
        receiver.hash(LANES, &corrections, &mut tags).expect("honest");
        let shift = Label::of_key(messages[0].label.key() ^ Block::new(!seed).with_lsb(true));
        let delta_tag = receiver.set_delta(first, &shift);
        let delta = messages[0].label ^ shift;
        Dealer { sender, receiver, delta, delta_tag, prg: Prg::new(Block::new(!seed)) }
    }

    /// The number of the first of `wires` hashed wires, their messages and tags.
    pub(crate) fn wires(&mut self, wires: usize) -> (u64, Vec<Message>, Vec<Tag>) {
        let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        let lanes = wires.next_multiple_of(LANES);
        let first = self.sender.hash(lanes, &mut messages, &mut corrections);
        self.receiver.hash(lanes, &corrections, &mut tags).expect("honest");
        messages.truncate(wires);
        tags.truncate(wires);
        (first, messages, tags)
    }

    /// Random bits.
    pub(crate) fn bits(&mut self, count: usize) -> Vec<bool> {
        (0..count).map(|_| self.prg.block().lsb()).collect()
    }

    /// The active label of a wire of this value, of which masked values are turned if `flip`.
    pub(crate) fn active(&self, wire: &Message, flip: bool, value: bool) -> Active {
        let masked = value ^ wire.perm.bit() ^ flip;
        Active { label: wire.label ^ self.delta.times(masked), masked }
    }
}

/// A label other than zero whose tag is zero: what a garbler who guesses well could add to another
/// without being noticed.
pub(crate) fn label_with_no_tag(hash: &impl Recogniser) -> Label {
    // The tags of labels of which one symbol is 1 are the columns of the map to tags.
    let unit = |symbol: usize| {
        let mut bytes = [0u8; 48];
        bytes[symbol] = 1;
        Label(bytemuck::cast(bytes))
    };
    let columns: Vec<[u8; 16]> = (0..17)
        .map(|symbol| {
            let mut tag = [Block::ZERO];
            hash.tags_of_labels(&[unit(symbol)], &mut tag);
            tag[0].to_bytes()
        })
        .collect();
    let entries = (0..16).flat_map(|row| columns[..16].iter().map(move |column| column[row]));
    let keys = Matrix::new(Field::Gf256, 16, 16, entries.collect()).inverse().expect("regular");
    let key = keys.mul(&Matrix::new(Field::Gf256, 16, 1, columns[16].to_vec()));
    let mut label = unit(16);
    label.0[0] = Block::from_bytes(key.entries().try_into().expect("16 symbols"));
    label
}
