//! Correlated OT in both directions over one channel, whatever protocol makes it.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, SessionId};

use crate::bases::Bases;
use crate::choice::Choice;
use crate::silent::{self, SilentReceiver, SilentSender};
use crate::softspoken::{CotReceiver, CotSender, message_len};
use crate::tags::CHUNK;

/// Messages of one direction, before they are sent or after they came, in room that is used again.
type Messages = Vec<Vec<u8>>;

/// Correlated OT in both directions over one channel: this party is sender with Delta in one, receiver
/// in the other. Both parties make the same calls in the same order, so that no message waits for the
/// answer to one just sent.
pub struct Duplex(Form);

enum Form {
    SoftSpoken { keys: Box<CotSender>, macs: Box<CotReceiver>, room: [Messages; 2] },
    Silent { keys: Box<SilentSender>, macs: Box<SilentReceiver>, next: usize },
}

impl Duplex {
    /// Set-ups of both directions, numbered by the role of their sender. Bit 0 of `delta` must be 1.
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
        let bases = Bases::run(ch, session, role, delta, prg)?;
        Duplex::setup_from(ch, session, role, choice, &bases, prg)
    }

    /// The same out of base OTs that were made before: as many set-ups as there are sessions.
    ///
    /// # Errors
    /// `Misbehaved`; faults of the channel.
    pub fn setup_from(
        ch: &mut Channel,
        session: &SessionId,
        role: Role,
        choice: Choice,
        bases: &Bases,
        prg: &mut Prg,
    ) -> Result<Duplex, Fault> {
        let (keys, macs) = bases.setup(ch, session, role, choice.carrier(), prg)?;
        Ok(Duplex(match choice {
            Choice::SoftSpoken(_) => {
                let room = <[Messages; 2]>::default();
                Form::SoftSpoken { keys: Box::new(keys), macs: Box::new(macs), room }
            }
            Choice::Silent(params) => {
                // What is sent comes first: the peer's is under way then.
                let macs = SilentReceiver::bootstrap(ch, macs, params, prg)?;
                let keys = SilentSender::bootstrap(ch, keys, params, prg)?;
                Form::Silent { keys: Box::new(keys), macs: Box::new(macs), next: 0 }
            }
        }))
    }

    /// COTs each way that [`Duplex::take_macs`] and [`Duplex::take_keys`] give before an extension must
    /// have ended. `u64::MAX` where there are no extensions.
    #[must_use]
    pub fn ready(&self) -> u64 {
        match &self.0 {
            Form::SoftSpoken { .. } => u64::MAX,
            Form::Silent { keys, macs, .. } => keys.ready().min(macs.ready()),
        }
    }

    /// Calls of [`Duplex::step`] that an extension takes after [`Duplex::begin`]; 0 where there are no
    /// extensions.
    #[must_use]
    pub fn steps(&self) -> usize {
        match self.0 {
            Form::SoftSpoken { .. } => 0,
            Form::Silent { .. } => silent::STEPS,
        }
    }

    /// Starts an extension of both directions: sends the first message and receives nothing.
    ///
    /// # Errors
    /// `Misuse` where there are no extensions, in one, or after a fault; `Exhausted`; faults of the channel.
    pub fn begin(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        match &mut self.0 {
            Form::Silent { macs, next, .. } if *next == 0 => {
                macs.step(ch)?;
                *next = 1;
                Ok(())
            }
            _ => Err(out_of_turn()),
        }
    }

    /// Receives the peer's next message of the extension first, then sends the next own one, if there is
    /// one. After [`Duplex::steps`] calls the new COTs are ready.
    ///
    /// # Errors
    /// `Misuse` outside of an extension or after a fault; `Misbehaved`; `Exhausted`; faults of the channel.
    pub fn step(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        match &mut self.0 {
            Form::Silent { keys, macs, next } if *next > 0 => {
                // The receiver's steps are the even ones, the sender's the odd ones.
                if next.is_multiple_of(2) {
                    macs.step(ch)?
                } else {
                    keys.step(ch)?
                }
                *next = (*next + 1) % (silent::STEPS + 1);
                Ok(())
            }
            _ => Err(out_of_turn()),
        }
    }

    /// [`Macs::make`] and [`Macs::send`].
    ///
    /// # Errors
    /// Those of both.
    pub fn take_macs(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        let (mut half, _) = self.halves();
        half.make(macs)?;
        half.send(ch)
    }

    /// [`Keys::receive`] and [`Keys::make`].
    ///
    /// # Errors
    /// Those of both.
    pub fn take_keys(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        let (_, mut half) = self.halves();
        half.receive(ch, keys.len())?;
        half.make(keys)
    }

    /// Both directions apart, each with computing and messages apart, for two threads.
    pub fn halves(&mut self) -> (Macs<'_>, Keys<'_>) {
        match &mut self.0 {
            Form::SoftSpoken { keys, macs, room: [sent, received] } => {
                (Macs(Ok((macs, sent))), Keys(Ok((keys, received))))
            }
            Form::Silent { keys, macs, .. } => (Macs(Err(macs)), Keys(Err(keys))),
        }
    }
}

/// The direction in which this party has the choice bits, with what it is to send; the second form is silent.
pub struct Macs<'d>(Result<(&'d mut CotReceiver, &'d mut Messages), &'d mut SilentReceiver>);

/// The direction in which this party has Delta, with what it received; the second form is silent.
pub struct Keys<'d>(Result<(&'d mut CotSender, &'d mut Messages), &'d mut SilentSender>);

impl Macs<'_> {
    /// Fills `macs`, whose bits 0 are random choice bits.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Exhausted`.
    pub fn make(&mut self, macs: &mut [Block]) -> Result<(), Fault> {
        let (receiver, messages) = match &mut self.0 {
            Ok(softspoken) => softspoken,
            Err(silent) => return silent.take(macs),
        };
        let chunk = receiver.params().chunk();
        let chunks = macs.chunks_mut(chunk);
        if chunks.len() == 0 {
            return Err(Fault::Misuse("ot: an extension by 0 COTs".into()));
        }
        messages.resize_with(chunks.len(), Vec::new);
        chunks.zip(messages.iter_mut()).try_for_each(|(macs, room)| receiver.produce(macs, room))
    }

    /// Sends what the peer's [`Keys`] for the MACs made last need.
    ///
    /// # Errors
    /// Faults of the channel.
    pub fn send(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        let Ok((_, messages)) = &self.0 else { return Ok(()) };
        messages.iter().try_for_each(|message| ch.send(CHUNK, message))?;
        ch.flush()
    }
}

impl Keys<'_> {
    /// Receives what the next `n` keys need. May lag behind the peer's [`Macs::send`] by several calls, on both
    /// sides alike, of the same numbers in the same order.
    ///
    /// # Errors
    /// Faults of the channel.
    pub fn receive(&mut self, ch: &mut Channel, n: usize) -> Result<(), Fault> {
        let Ok((sender, messages)) = &mut self.0 else { return Ok(()) };
        let params = sender.params();
        messages.resize_with(n.div_ceil(params.chunk()), Vec::new);
        for (i, message) in messages.iter_mut().enumerate() {
            let cots = params.chunk().min(n - i * params.chunk());
            message.resize(message_len(params, cots), 0);
            ch.recv_into(CHUNK, message)?;
        }
        Ok(())
    }

    /// Fills `keys`, of the number received for, whose bits 0 are 0, with those of the peer's MACs:
    /// K = M xor x Delta.
    ///
    /// # Errors
    /// `Misuse` when the length is 0, no multiple of 128, or another; `Misbehaved`; `Exhausted`. After a fault
    /// no key may be used.
    pub fn make(&mut self, keys: &mut [Block]) -> Result<(), Fault> {
        let (sender, messages) = match &mut self.0 {
            Ok(softspoken) => softspoken,
            Err(silent) => return silent.take(keys),
        };
        let chunks = keys.chunks_mut(sender.params().chunk());
        if chunks.len() != messages.len() || messages.is_empty() {
            return Err(Fault::Misuse("ot: keys of other numbers than were received for".into()));
        }
        chunks.zip(messages.iter()).try_for_each(|(keys, message)| sender.absorb(message, keys))
    }
}

fn out_of_turn() -> Fault {
    Fault::Misuse("ot: a step out of its turn, or of a protocol that has none".into())
}

#[cfg(test)]
mod tests {
    use cenote_net::mem_pair;

    use super::*;
    use crate::silent::Params;

    /// MACs, keys and Delta of one side: extensions begin as soon as the one before ended, a step a turn,
    /// while MACs are taken in every turn and keys some turns later.
    fn run(mut ch: Channel, role: Role) -> Result<(Vec<Block>, Vec<Block>, Block), Fault> {
        const LAG: usize = 3;
        const TURNS: usize = 40;
        let ch = &mut ch;
        let (session, choice) = (SessionId([4; 32]), Choice::Silent(Params::tiny()));
        let mut prg = Prg::new(Block::new(9 + role as u128));
        let delta = prg.block().with_lsb(true);
        let mut cots = Duplex::setup(ch, &session, role, choice, delta, &mut prg)?;
        assert_eq!((cots.ready(), cots.steps()), (0, 4));
        assert!(matches!(cots.step(ch), Err(Fault::Misuse(_))));
        let (mut macs, mut keys, mut step) = (Vec::new(), Vec::new(), 0);
        let mut take = Vec::new();
        for turn in 0..TURNS + LAG {
            if turn < TURNS {
                if step == 0 {
                    cots.begin(ch)?
                } else {
                    cots.step(ch)?
                }
                step = (step + 1) % 5;
                if step > 0 {
                    assert!(matches!(cots.begin(ch), Err(Fault::Misuse(_))));
                }
            }
            take.push(if turn < TURNS && cots.ready() >= 128 { 128 } else { 0 });
            macs.extend(taken(take[turn], |macs| cots.take_macs(ch, macs))?);
            let late = turn.checked_sub(LAG).map_or(0, |turn| take[turn]);
            keys.extend(taken(late, |keys| cots.take_keys(ch, keys))?);
        }
        Ok((macs, keys, delta))
    }

    fn taken(
        n: usize,
        take: impl FnOnce(&mut [Block]) -> Result<(), Fault>,
    ) -> Result<Vec<Block>, Fault> {
        let mut blocks = vec![Block::ZERO; n];
        if n > 0 {
            take(&mut blocks)?;
        }
        Ok(blocks)
    }

    #[test]
    fn extensions_run_while_the_ones_before_are_taken() {
        let (a, b) = mem_pair();
        let (a, b) = std::thread::scope(|scope| {
            let a = scope.spawn(|| run(a, Role::Garbler));
            let b = run(b, Role::Evaluator);
            (a.join().expect("no panic").unwrap(), b.unwrap())
        });
        for ((macs, ..), (_, keys, delta)) in [(&a, &b), (&b, &a)] {
            // Four takes from each of seven extensions, and one from the eighth, which ended last.
            assert_eq!((macs.len(), keys.len()), (128 * 29, 128 * 29));
            for (k, m) in keys.iter().zip(macs) {
                assert_eq!((*k, k.lsb()), (*m ^ delta.times(m.lsb()), false));
            }
        }
    }
}
