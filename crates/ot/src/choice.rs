//! The protocol of correlated OT, picked by value.

use std::fmt;

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg, SessionId};

use crate::base;
use crate::bases::Bases;
use crate::correlated::{CotReceive, CotSend, Sent, Traffic};
use crate::silent::{self, SilentReceiver, SilentSender};
use crate::softspoken::{self, CotReceiver, CotSender, Params};

impl CotSend for CotSender {
    fn delta(&self) -> Block {
        CotSender::delta(self)
    }

    fn extend(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        CotSender::extend(self, ch, keys)
    }

    fn hash_start(&mut self) -> Block {
        CotSender::hash_start(self)
    }
}

impl CotReceive for CotReceiver {
    fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        CotReceiver::extend(self, ch, macs)
    }

    fn hash_start(&mut self) -> Block {
        CotReceiver::hash_start(self)
    }
}

impl CotSend for SilentSender {
    fn delta(&self) -> Block {
        SilentSender::delta(self)
    }

    fn extend(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        SilentSender::extend(self, ch, keys)
    }

    fn hash_start(&mut self) -> Block {
        SilentSender::hash_start(self)
    }
}

impl CotReceive for SilentReceiver {
    fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        SilentReceiver::extend(self, ch, macs)
    }

    fn hash_start(&mut self) -> Block {
        SilentReceiver::hash_start(self)
    }
}

/// The protocol that makes the correlated OTs of a session; both parties must use the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// SoftSpokenOT.
    SoftSpoken(Params),
    /// Silent OT: hardly any bytes, in extensions of many COTs at once. It rests on learning parity with noise as well.
    Silent(silent::Params),
}

/// Seconds of one core for a COT (`cenote bench ot`, processor time, a server core of 2024): a leaf of SoftSpokenOT, what is done once
/// for all leaves, and a COT of silent OT.
const LEAF_S: f64 = 4.7e-10;
const TRANSPOSED_S: f64 = 3.9e-9;
const SILENT_S: f64 = 1.1e-8;

impl Choice {
    /// SoftSpokenOT with digits of `k` bits: 1, 2, 4 or 8.
    ///
    /// # Errors
    /// `Misuse` for any other `k`.
    pub fn softspoken(k: usize) -> Result<Choice, Fault> {
        Params::new(k, Params::default().chunk()).map(Choice::SoftSpoken)
    }

    /// Silent OT with the default parameters.
    #[must_use]
    pub fn silent() -> Choice {
        Choice::Silent(silent::Params::default())
    }

    /// The SoftSpokenOT that is set up first: itself, or what silent OT starts from.
    pub(crate) const fn carrier(self) -> Params {
        match self {
            Choice::SoftSpoken(params) => params,
            Choice::Silent(_) => silent::BOOTSTRAP,
        }
    }

    /// Whether it is silent OT: with extensions, and without corrections of each COT.
    #[must_use]
    pub const fn is_silent(self) -> bool {
        matches!(self, Choice::Silent(_))
    }

    /// Sets up the side with Delta. `instance` is a number that no other set-up in `session` has.
    /// Bit 0 of `delta` must be 1.
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0; `Misbehaved`; faults of the channel.
    pub fn sender(
        self,
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        delta: Block,
        prg: &mut Prg,
    ) -> Result<Box<dyn CotSend>, Fault> {
        match self {
            Choice::SoftSpoken(params) => {
                let sender = CotSender::setup(ch, session, instance, params, delta, prg)?;
                Ok(Box::new(sender))
            }
            Choice::Silent(params) => {
                let sender = SilentSender::setup(ch, session, instance, params, delta, prg)?;
                Ok(Box::new(sender))
            }
        }
    }

    /// Sets up the side with the choice bits, with a [`Choice::sender`] of the same `instance` on
    /// the other side.
    ///
    /// # Errors
    /// `Misbehaved`; faults of the channel.
    pub fn receiver(
        self,
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        prg: &mut Prg,
    ) -> Result<Box<dyn CotReceive>, Fault> {
        match self {
            Choice::SoftSpoken(params) => {
                Ok(Box::new(CotReceiver::setup(ch, session, instance, params, prg)?))
            }
            Choice::Silent(params) => {
                Ok(Box::new(SilentReceiver::setup(ch, session, instance, params, prg)?))
            }
        }
    }

    /// Traffic of a set-up. Both sides send at once first, the receiver last.
    #[must_use]
    pub fn setup_traffic(self) -> Traffic {
        match self {
            Choice::SoftSpoken(params) => {
                let (sender, receiver) = softspoken::setup_len(params);
                Traffic {
                    sender: Sent { bytes: sender as u64, messages: base::PARTS as u64 },
                    receiver: Sent { bytes: receiver as u64, messages: 2 },
                }
            }
            Choice::Silent(params) => silent::setup_traffic(params),
        }
    }

    /// What garbler and evaluator send to set both directions up at once, as [`Duplex`](crate::Duplex) does.
    #[must_use]
    pub fn duplex_traffic(self) -> [Sent; 2] {
        let Sent { bytes, messages } = self.setup_traffic().receiver;
        Bases::SENT.map(|bases| Sent {
            bytes: bases.bytes.saturating_add(bytes - base::SENDER_LEN as u64),
            messages: bases.messages + messages - 1,
        })
    }

    /// Traffic of one call of `extend` for `cots` COTs, rounded up to a multiple of 128. For silent OT: of the
    /// first calls of a session for so many together; its extensions serve later calls as well.
    #[must_use]
    pub fn traffic(self, cots: u64) -> Traffic {
        match self {
            Choice::SoftSpoken(params) => {
                let receiver = softspoken::extension(params, cots);
                Traffic { receiver, ..Traffic::default() }
            }
            Choice::Silent(params) => silent::traffic(params, cots),
        }
    }

    /// COTs of one message at most: extensions by a multiple of it waste nothing.
    #[must_use]
    pub const fn chunk(self) -> usize {
        match self {
            Choice::SoftSpoken(params) => params.chunk(),
            Choice::Silent(params) => params.output() as usize,
        }
    }

    /// Calls of AES that a COT takes, on the side with more of them.
    #[must_use]
    pub fn aes_per_cot(self) -> f64 {
        match self {
            Choice::SoftSpoken(params) => params.leaves() as f64 / params.digit_bits() as f64,
            Choice::Silent(params) => params.aes_per_cot(),
        }
    }

    /// Seconds that one core takes for a COT, on the side with more to do, about.
    #[must_use]
    pub fn seconds_per_cot(self) -> f64 {
        match self {
            Choice::SoftSpoken(_) => TRANSPOSED_S + self.aes_per_cot() * LEAF_S,
            Choice::Silent(_) => SILENT_S,
        }
    }

    /// Payload bytes of each message of an extension, which both sides send at once; none where there are no extensions.
    #[must_use]
    pub const fn extension(self) -> Option<[usize; silent::STEPS]> {
        match self {
            Choice::SoftSpoken(_) => None,
            Choice::Silent(params) => Some(silent::extension(params)),
        }
    }

    /// One way trips of messages that follow one another before the first COTs are there, after the set-up.
    #[must_use]
    pub const fn trips(self) -> usize {
        match self {
            Choice::SoftSpoken(_) => 1,
            Choice::Silent(_) => silent::STEPS,
        }
    }

    /// All that sessions choose from by the line: SoftSpokenOT with digits of 4 and 8 bits, silent OT.
    #[must_use]
    pub fn all() -> [Choice; 3] {
        let wide = softspoken::Params { digit_bits: 8, ..Params::default() };
        [Choice::default(), Choice::SoftSpoken(wide), Choice::silent()]
    }

    /// The term that both sides of a session must agree on, by name; the default goes without
    /// saying.
    #[must_use]
    pub fn term(self) -> Option<(&'static str, String)> {
        (self != Choice::default()).then(|| ("ot", self.to_string()))
    }
}

impl Default for Choice {
    /// SoftSpokenOT with digits of 4 bits.
    fn default() -> Choice {
        Choice::SoftSpoken(Params::default())
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::SoftSpoken(params) => {
                let (k, chunk) = (params.digit_bits(), params.chunk());
                write!(f, "softspoken, k = {k}, chunks of {chunk}")
            }
            Choice::Silent(params) => write!(f, "silent, {params}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_goes_without_saying_and_any_other_choice_is_a_term_of_its_own() {
        assert_eq!(Choice::softspoken(4), Ok(Choice::default()));
        assert_eq!(Choice::default().term(), None);
        let others = [8, 2, 1].map(|k| Choice::softspoken(k).expect("allowed"));
        let terms = others.map(|choice| choice.term().expect("not the default"));
        assert!(terms[0].1.contains("k = 8"), "{terms:?}");
        for (i, term) in terms.iter().enumerate() {
            assert!(term.0 == "ot" && !terms[i + 1..].contains(term), "{terms:?}");
        }
        let silent = Choice::silent().term().expect("not the default");
        assert!(silent.0 == "ot" && silent.1.starts_with("silent, ") && !terms.contains(&silent));
        assert!(matches!(Choice::softspoken(3), Err(Fault::Misuse(_))));
    }

    #[test]
    fn wide_digits_halve_the_bytes_for_eight_times_the_aes() {
        let [four, eight] = [4, 8].map(|k| Choice::softspoken(k).expect("allowed"));
        let bytes = |choice: Choice| choice.traffic(1 << 20).receiver.bytes as f64;
        // 15 corrections of a bit against 31, and the check.
        let ratio = bytes(eight) / bytes(four);
        assert!((0.48..0.50).contains(&ratio), "{ratio}");
        let seconds = [four, eight].map(Choice::seconds_per_cot);
        assert!(seconds[1] > 3.0 * seconds[0] && seconds[0] < Choice::silent().seconds_per_cot());
    }

    #[test]
    fn silent_cots_cost_less_than_a_fifth_of_a_byte_in_whole_extensions() {
        let silent = Choice::silent();
        let chunk = silent.chunk() as u64;
        assert_eq!(silent.traffic(0), Traffic::default());
        assert_eq!(silent.traffic(1), silent.traffic(chunk));
        let two = silent.traffic(chunk + 1);
        assert_eq!((two.bytes(), two.sender.messages), (2 * silent.traffic(chunk).bytes(), 4));
        assert!((0.17..0.18).contains(&(silent.traffic(chunk).bytes() as f64 / chunk as f64)));
        assert!(silent.traffic(u64::MAX).bytes() > 1 << 61);
    }

    #[test]
    fn traffic_of_any_size_is_a_number() {
        for k in [1, 2, 4, 8] {
            let choice = Choice::softspoken(k).expect("allowed");
            assert_eq!(choice.traffic(0), Traffic::default());
            assert_eq!(choice.traffic(1), choice.traffic(128));
            assert_eq!(choice.traffic(u64::MAX).receiver.bytes, u64::MAX);
        }
    }
}
