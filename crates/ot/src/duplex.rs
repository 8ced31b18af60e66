//! Correlated OT in both directions over one channel, whatever protocol makes it.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, SessionId};

use crate::choice::Choice;
use crate::silent::{self, SilentReceiver, SilentSender};
use crate::softspoken::{CotReceiver, CotSender};

/// Correlated OT in both directions over one channel: this party is sender with Delta in one, receiver
/// in the other. Both parties make the same calls in the same order, so that no message waits for the
/// answer to one just sent.
pub struct Duplex(Form);

enum Form {
    SoftSpoken { keys: Box<CotSender>, macs: Box<CotReceiver> },
    Silent { keys: Box<SilentSender>, macs: Box<SilentReceiver>, next: usize },
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
        let (own, peer) = (role as u64, role.peer() as u64);
        Ok(Duplex(match choice {
            Choice::SoftSpoken(params) => {
                let (keys, macs) = in_order(
                    role,
                    (ch, prg),
                    |(ch, prg)| CotSender::setup(ch, session, own, params, delta, prg),
                    |(ch, prg)| CotReceiver::setup(ch, session, peer, params, prg),
                )?;
                Form::SoftSpoken { keys: Box::new(keys), macs: Box::new(macs) }
            }
            Choice::Silent(params) => {
                let (keys, macs) = in_order(
                    role,
                    (ch, prg),
                    |(ch, prg)| SilentSender::setup(ch, session, own, params, delta, prg),
                    |(ch, prg)| SilentReceiver::setup(ch, session, peer, params, prg),
                )?;
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

    /// Fills `macs`, whose bits 0 are random choice bits. Sends what the peer's [`Duplex::take_keys`] for
    /// as many needs, and receives nothing.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Exhausted`; faults of the channel.
    pub fn take_macs(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        match &mut self.0 {
            Form::SoftSpoken { macs: receiver, .. } => receiver.extend(ch, macs),
            Form::Silent { macs: receiver, .. } => receiver.take(macs),
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
            Form::Silent { keys: sender, .. } => sender.take(keys),
        }
    }
}

/// Both set-ups in the order of `role`.
fn in_order<C, K, M>(
    role: Role,
    mut with: C,
    keys: impl FnOnce(&mut C) -> Result<K, Fault>,
    macs: impl FnOnce(&mut C) -> Result<M, Fault>,
) -> Result<(K, M), Fault> {
    match role {
        Role::Garbler => Ok((keys(&mut with)?, macs(&mut with)?)),
        Role::Evaluator => {
            let macs = macs(&mut with)?;
            Ok((keys(&mut with)?, macs))
        }
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
