//! The set-up of a session of SoftSpokenOT in one direction, with a channel and without: base OTs and trees.
//!
//! Part of the protocol of `softspoken.rs`, whose header says what hides and checks what.

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};

use crate::params::Params;
use crate::softspoken::{CotReceiver, CotSender};
use crate::tags::{BASE_POINT, TREES};
use crate::{base, pprf};

impl CotSender {
    /// Sets a session up with a [`CotReceiver`] on the other side.
    ///
    /// `instance` is a number that no other setup in `session` has. Bit 0 of `delta` must be 1.
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0; `Misbehaved`; faults of the channel.
    pub fn setup(
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        params: Params,
        delta: Block,
        prg: &mut Prg,
    ) -> Result<CotSender, Fault> {
        let mut setup = SenderSetup::new(session, instance, params, delta)?;
        setup.base().send(ch, prg)?;
        let point = ch.recv(BASE_POINT, base::SENDER_LEN)?;
        let trees = ch.recv(TREES, pprf::message_len(params))?;
        setup.finish(&point, &trees)
    }
}

impl CotReceiver {
    /// Sets a session up with a [`CotSender`] on the other side, which has the same `instance`.
    ///
    /// # Errors
    /// `Misbehaved`; faults of the channel.
    pub fn setup(
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        params: Params,
        prg: &mut Prg,
    ) -> Result<CotReceiver, Fault> {
        let (mut setup, point) = ReceiverSetup::new(session, instance, params, prg);
        ch.send(BASE_POINT, &point)?;
        setup.base().receive(ch)?;
        let (receiver, trees) = setup.finish(prg)?;
        ch.send(TREES, &trees)?;
        ch.flush()?;
        Ok(receiver)
    }
}

/// The setup on the COT sender's side.
pub struct SenderSetup {
    id: SessionId,
    params: Params,
    delta: Secret<Block>,
    base: base::BaseReceiver,
}

impl SenderSetup {
    /// Starts. Arguments as [`CotSender::setup`].
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0.
    pub fn new(
        session: &SessionId,
        instance: u64,
        params: Params,
        delta: Block,
    ) -> Result<SenderSetup, Fault> {
        let id = instance_id(session, instance, params);
        let base = base::BaseReceiver::new(&id, choices(delta)?);
        Ok(SenderSetup { id, params, delta: Secret::new(delta), base })
    }

    /// The base OTs, whose messages go first.
    pub fn base(&mut self) -> &mut base::BaseReceiver {
        &mut self.base
    }

    /// Ends, with the receiver's point and trees, when all parts of the base OTs were made.
    ///
    /// # Errors
    /// `Misbehaved` when a message is wrong; `Misuse` when parts are missing.
    pub fn finish(self, point: &[u8], trees: &[u8]) -> Result<CotSender, Fault> {
        if self.base.sent().len() != base::RECEIVER_LEN {
            return Err(Fault::Misuse("ot: parts of the base OTs are missing".into()));
        }
        let keys = self.base.finish(point)?;
        let points = self.base.sent();
        opened(&self.id, self.params, *self.delta, &keys, [point, points, trees])
    }
}

/// The setup on the COT receiver's side.
pub struct ReceiverSetup {
    id: SessionId,
    params: Params,
    base: base::BaseSender,
}

impl ReceiverSetup {
    /// Starts; returns the point to the sender. Arguments as [`CotReceiver::setup`].
    pub fn new(
        session: &SessionId,
        instance: u64,
        params: Params,
        prg: &mut Prg,
    ) -> (ReceiverSetup, [u8; base::SENDER_LEN]) {
        let id = instance_id(session, instance, params);
        let (base, point) = base::BaseSender::new(&id, prg);
        (ReceiverSetup { id, params, base }, point)
    }

    /// The base OTs, which take the sender's messages.
    pub fn base(&mut self) -> &mut base::BaseSender {
        &mut self.base
    }

    /// Ends, with all of the sender's points taken in; returns the trees for the sender, of [`pprf::message_len`]
    /// bytes.
    ///
    /// # Errors
    /// `Misbehaved` when some are missing.
    pub fn finish(self, prg: &mut Prg) -> Result<(CotReceiver, Vec<u8>), Fault> {
        let (point, points, keys) = self.base.finish()?;
        Ok(built(&self.id, self.params, &keys, [&point, &points], prg))
    }
}

/// The choices in the base OTs: these open the side of each level that the path to Delta's digit does not take.
pub(crate) fn choices(delta: Block) -> Result<Block, Fault> {
    if !delta.lsb() {
        return Err(Fault::Misuse("ot: bit 0 of Delta is not 1".into()));
    }
    Ok(delta ^ Block::new(u128::MAX))
}

/// The receiver with trees from both keys of each base OT, and the message about the trees. `before`: the messages that made
/// the keys; none where these were made before. The digest of the trees' tags binds all seeds that the sender can use.
pub(crate) fn built(
    id: &SessionId,
    params: Params,
    keys: &[[Block; 2]],
    before: [&[u8]; 2],
    prg: &mut Prg,
) -> (CotReceiver, Vec<u8>) {
    let (seeds, trees) = pprf::build(id, params, keys, prg);
    let [point, points] = before;
    let transcript = transcript(id, [point, points, &trees]);
    (CotReceiver::new(params, transcript, &seeds), trees)
}

/// The sender with the trees that the chosen keys open. `messages`: those that made the keys, and the one about the trees.
pub(crate) fn opened(
    id: &SessionId,
    params: Params,
    delta: Block,
    keys: &[Block],
    messages: [&[u8]; 3],
) -> Result<CotSender, Fault> {
    let seeds = pprf::open(id, params, delta, keys, messages[2])?;
    Ok(CotSender::new(params, transcript(id, messages), delta, &seeds))
}

/// Returns the id that binds every oracle of the setup to one instance and its parameters.
pub(crate) fn instance_id(session: &SessionId, instance: u64, params: Params) -> SessionId {
    let oracle = RandomOracle::new("cenote 2026 ot instance v1", session).number(instance);
    let oracle = oracle.number(params.digit_bits() as u64).number(params.chunk() as u64);
    SessionId(oracle.digest())
}

/// Returns the id that binds every oracle after the setup to its messages.
fn transcript(id: &SessionId, messages: [&[u8]; 3]) -> SessionId {
    let oracle = RandomOracle::new("cenote 2026 ot setup transcript v1", id);
    SessionId(messages.iter().fold(oracle, |oracle, message| oracle.bytes(message)).digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transcript_has_every_message_of_the_setup() {
        let id = SessionId([1; 32]);
        let ids = [
            transcript(&id, [b"a", b"b", b"c"]),
            transcript(&id, [b"x", b"b", b"c"]),
            transcript(&id, [b"a", b"x", b"c"]),
            transcript(&id, [b"a", b"b", b"x"]),
            transcript(&SessionId([2; 32]), [b"a", b"b", b"c"]),
        ];
        for (i, a) in ids.iter().enumerate() {
            assert!(ids[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn instances_have_their_own_oracles() {
        let (s, k, chunk) = (SessionId([1; 32]), Params::new(4, 128), Params::new(4, 256));
        let (k, chunk, digits) = (k.unwrap(), chunk.unwrap(), Params::new(2, 128).unwrap());
        let ids = [(0, k), (1, k), (0, chunk), (0, digits)].map(|(i, p)| instance_id(&s, i, p));
        for (i, a) in ids.iter().enumerate() {
            assert!(ids[i + 1..].iter().all(|b| a != b));
        }
    }
}
