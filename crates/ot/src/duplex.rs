//! Correlated OT in both directions over one channel, whatever protocol makes it.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, SessionId};

use crate::choice::Choice;
use crate::softspoken::{CotReceiver, CotSender};

/// Correlated OT in both directions over one channel: this party is sender with Delta in one, receiver
/// in the other. Both parties make the same calls in the same order, so that no message waits for the
/// answer to one just sent.
pub struct Duplex(Form);

enum Form {
    SoftSpoken { keys: Box<CotSender>, macs: Box<CotReceiver> },
}

impl Duplex {
    /// Set-ups of both directions, numbered by the role of their sender; the garbler is sender first.
    /// Bit 0 of `delta` must be 1.
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0; `Misbehaved`; faults of the channel.
    pub fn setup(
        ch: &mut Channel,
        session: &SessionId,
        role: Role,
        choice: Choice,
        delta: Block,
        prg: &mut Prg,
    ) -> Result<Duplex, Fault> {
        let Choice::SoftSpoken(params) = choice;
        let (own, peer) = (role as u64, role.peer() as u64);
        let (keys, macs) = match role {
            Role::Garbler => {
                let keys = CotSender::setup(ch, session, own, params, delta, prg)?;
                (keys, CotReceiver::setup(ch, session, peer, params, prg)?)
            }
            Role::Evaluator => {
                let macs = CotReceiver::setup(ch, session, peer, params, prg)?;
                (CotSender::setup(ch, session, own, params, delta, prg)?, macs)
            }
        };
        Ok(Duplex(Form::SoftSpoken { keys: Box::new(keys), macs: Box::new(macs) }))
    }

    /// COTs each way that [`Duplex::take_macs`] and [`Duplex::take_keys`] give before an extension must
    /// have ended. `u64::MAX` where there are no extensions.
    #[must_use]
    pub fn ready(&self) -> u64 {
        match self.0 {
            Form::SoftSpoken { .. } => u64::MAX,
        }
    }

    /// Calls of [`Duplex::step`] that an extension takes after [`Duplex::begin`]; 0 where there are no
    /// extensions.
    #[must_use]
    pub fn steps(&self) -> usize {
        match self.0 {
            Form::SoftSpoken { .. } => 0,
        }
    }

    /// Starts an extension of both directions: sends the first message and receives nothing.
    ///
    /// # Errors
    /// `Misuse` where there are no extensions.
    pub fn begin(&mut self, _: &mut Channel) -> Result<(), Fault> {
        match self.0 {
            Form::SoftSpoken { .. } => Err(no_extension()),
        }
    }

    /// Receives the peer's next message of the extension first, then sends the next own one, if there is
    /// one. After [`Duplex::steps`] calls the new COTs are ready.
    ///
    /// # Errors
    /// `Misuse` where there are no extensions.
    pub fn step(&mut self, _: &mut Channel) -> Result<(), Fault> {
        match self.0 {
            Form::SoftSpoken { .. } => Err(no_extension()),
        }
    }

    /// Fills `macs`, whose bits 0 are random choice bits. Sends what the peer's [`Duplex::take_keys`] for
    /// as many needs, and receives nothing.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Exhausted`; faults of the channel.
    pub fn take_macs(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        match &mut self.0 {
            Form::SoftSpoken { macs: receiver, .. } => receiver.extend(ch, macs),
        }
    }

    /// Fills `keys`, whose bits 0 are 0, with those of the peer's MACs: K = M xor x Delta. May lag behind
    /// [`Duplex::take_macs`] by several calls, on both sides alike, of the same lengths in the same order.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Misbehaved`; `Exhausted`; faults of the
    /// channel. After a fault no key may be used.
    pub fn take_keys(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        match &mut self.0 {
            Form::SoftSpoken { keys: sender, .. } => sender.extend(ch, keys),
        }
    }
}

fn no_extension() -> Fault {
    Fault::Misuse("ot: this protocol has no extensions of its own".into())
}
