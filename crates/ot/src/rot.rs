//! From correlated OT to random OT, chosen OT, and correlated OT with chosen bits.
//!
//! Paper: Roy, "SoftSpokenOT", CRYPTO 2022, section 5 (hashing a VOLE to OTs with a tweak per OT);
//! Beaver, "Precomputing Oblivious Transfer", CRYPTO 1995 (choice bits after the fact); hash: Guo,
//! Katz, Wang, Weng, Yu, CRYPTO 2020, section 5.
//! Roles here / in the paper: the same.
//! Adversary: as the correlated OT below, up to malicious. Model: ideal cipher (the re-keyed hash
//! is tweakable correlation robust on inputs that the receiver influences, because no key index is
//! used twice).
//! Parameters: messages of 128 bits; the hash's start point comes from the correlated OT, after
//! Delta is fixed.
//! Leakage and abort: none beyond the correlated OT's. No abort depends on a choice bit.
//! Checks: `ot.choices` - stray bits behind the last choice - on receipt. All else that a party may
//! send is a valid input of it.
//! Private values: choice bit c - as c xor x in `ot.choices`, masked by the random choice bit x;
//! message a_b - in `ot.masked`, masked by the pad b xor c xor x, of which the receiver knows only
//! that of c.
//! Cost: n OTs use n COTs, rounded up to 128; chosen correlated OT sends ceil(n / 8) bytes more,
//! chosen OT 32 n bytes more besides, both in batches of [`BATCH`]. Two AES calls and a key
//! schedule per OT for the sender, one and one for the receiver.
//! Differences from the paper: MITCCRH instead of a tweaked random oracle. Constant time: yes.
//! Status: not audited.

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Secret, bits, mitccrh::Mitccrh};

use crate::params::ROWS;
use crate::tags::{CHOICES, MASKED};
use crate::{CotReceive, CotSend};

/// OTs that are worked on at a time: what bounds memory and frames.
pub const BATCH: usize = 1 << 15;

/// OTs that cost one round: as many as the peer may answer before it is read.
const WINDOW: usize = 16 * BATCH;

/// The check on masked choice bits.
pub const CHOICE_CHECK: &str = "ot.choices";

/// Makes OTs on the side with Delta: all of a run with keys of its own.
pub struct RotSender {
    delta: Secret<Block>,
    hash: Mitccrh,
}

impl RotSender {
    /// A run on `cot`. The peer starts its own at the same place among its calls.
    pub fn new(cot: &mut dyn CotSend) -> RotSender {
        RotSender { delta: Secret::new(cot.delta()), hash: Mitccrh::new(cot.hash_start()) }
    }

    /// The next pads, from as many COT keys: entry i has H(K_i) and H(K_i xor Delta).
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn pads(&mut self, keys: &[Block], pads: &mut [[Block; 2]]) {
        assert_eq!(keys.len(), pads.len());
        for (pad, key) in pads.iter_mut().zip(keys) {
            *pad = [*key, *key ^ *self.delta];
        }
        self.hash.pairs(pads.as_flattened_mut());
    }

    /// Random OT: both random messages of every OT. Any number of them.
    ///
    /// # Errors
    /// Those of [`CotSend::extend`].
    pub fn random(
        &mut self,
        ch: &mut Channel,
        cot: &mut dyn CotSend,
        pads: &mut [[Block; 2]],
    ) -> Result<(), Fault> {
        let mut keys = Secret::new(Vec::new());
        for pads in pads.chunks_mut(BATCH) {
            keys.resize(pads.len().next_multiple_of(ROWS), Block::ZERO);
            cot.extend(ch, &mut keys)?;
            self.pads(&keys[..pads.len()], pads);
        }
        Ok(())
    }

    /// Chosen OT: the peer learns one of each pair. Any number of them.
    ///
    /// # Errors
    /// `Misbehaved` for stray bits; those of [`CotSend::extend`].
    pub fn chosen(
        &mut self,
        ch: &mut Channel,
        cot: &mut dyn CotSend,
        messages: &[[Block; 2]],
    ) -> Result<(), Fault> {
        let mut pads = Secret::new(Vec::new());
        for messages in messages.chunks(BATCH) {
            pads.resize(messages.len(), [Block::ZERO; 2]);
            self.random(ch, cot, &mut pads)?;
            let flips = receive_choices(ch, messages.len())?;
            for (i, (pad, message)) in pads.iter_mut().zip(messages).enumerate() {
                let swap = (pad[0] ^ pad[1]).times(bits::get(&flips, i));
                *pad = [pad[0] ^ swap ^ message[0], pad[1] ^ swap ^ message[1]];
            }
            ch.send(MASKED, Block::as_bytes(pads.as_flattened()))?;
        }
        ch.flush()
    }
}

/// Makes OTs on the side with the choice bits.
pub struct RotReceiver {
    hash: Mitccrh,
}

impl RotReceiver {
    /// A run on `cot`. The peer starts its own at the same place among its calls.
    pub fn new(cot: &mut dyn CotReceive) -> RotReceiver {
        RotReceiver { hash: Mitccrh::new(cot.hash_start()) }
    }

    /// The next pads, from COT MACs in their place: M_i becomes H(M_i), the pad of its choice bit.
    pub fn pads(&mut self, macs: &mut [Block]) {
        self.hash.singles(macs);
    }

    /// Random OT: random choice bits and the chosen message of every OT.
    ///
    /// # Errors
    /// Those of [`CotReceive::extend`].
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn random(
        &mut self,
        ch: &mut Channel,
        cot: &mut dyn CotReceive,
        choices: &mut [bool],
        pads: &mut [Block],
    ) -> Result<(), Fault> {
        assert_eq!(choices.len(), pads.len());
        let mut macs = Secret::new(Vec::new());
        for (choices, pads) in choices.chunks_mut(BATCH).zip(pads.chunks_mut(BATCH)) {
            macs.resize(pads.len().next_multiple_of(ROWS), Block::ZERO);
            cot.extend(ch, &mut macs)?;
            pads.copy_from_slice(&macs[..pads.len()]);
            choices.iter_mut().zip(pads.iter()).for_each(|(choice, mac)| *choice = mac.lsb());
            self.pads(pads);
        }
        Ok(())
    }

    /// Chosen OT: writes to `out` the message of every pair that `choices` names.
    ///
    /// # Errors
    /// Those of [`CotReceive::extend`].
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn chosen(
        &mut self,
        ch: &mut Channel,
        cot: &mut dyn CotReceive,
        choices: &[bool],
        out: &mut [Block],
    ) -> Result<(), Fault> {
        assert_eq!(choices.len(), out.len());
        for (choices, out) in choices.chunks(WINDOW).zip(out.chunks_mut(WINDOW)) {
            self.choose(ch, cot, choices, out)?;
            unmask(ch, choices, out, |_| ())?;
        }
        Ok(())
    }

    /// As [`RotReceiver::choose`] for at most [`BATCH`] choices, in a run of their own; what opens the messages that are not chosen, once `unmask`
    /// has put them there.
    pub(crate) fn choose_few(
        ch: &mut Channel,
        cot: &mut dyn CotReceive,
        choices: &[bool],
        pads: &mut [Block],
    ) -> Result<Others, Fault> {
        let start = cot.hash_start();
        let mut full = Secret::new(vec![Block::ZERO; choices.len().next_multiple_of(ROWS)]);
        cot.extend(ch, &mut full)?;
        let macs: Secret<Vec<Block>> = full.iter().copied().take(choices.len()).collect();
        let random: Secret<Vec<bool>> = macs.iter().map(|mac| mac.lsb()).collect();
        send_choices(ch, choices, &random)?;
        pads.copy_from_slice(&macs);
        RotReceiver { hash: Mitccrh::new(start) }.pads(pads);
        Ok(Others { start: Secret::new(start), macs, masked: Secret::with_capacity(choices.len()) })
    }

    /// Sends the masked choices of a window; writes the pads to `pads`, for [`unmask`].
    fn choose(
        &mut self,
        ch: &mut Channel,
        cot: &mut dyn CotReceive,
        choices: &[bool],
        pads: &mut [Block],
    ) -> Result<(), Fault> {
        let mut random = Secret::new(vec![false; choices.len().min(BATCH)]);
        for (choices, pads) in choices.chunks(BATCH).zip(pads.chunks_mut(BATCH)) {
            let random = &mut random[..choices.len()];
            self.random(ch, cot, random, pads)?;
            send_choices(ch, choices, random)?;
        }
        Ok(())
    }
}

/// The messages that a receiver of chosen OTs did not choose, masked by the pads that Delta gives.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    /// Start point of the hash of the run, whose first key is that of the first OT.
    pub(crate) start: Secret<Block>,
    pub(crate) macs: Secret<Vec<Block>>,
    /// Secret: in which of the messages of the sender it was tells the choices.
    pub(crate) masked: Secret<Vec<Block>>,
}

impl Others {
    /// The messages, if `delta` is that of the correlated OT.
    pub(crate) fn open(&self, delta: Block) -> Secret<Vec<Block>> {
        let mut pads: Secret<Vec<Block>> = self.macs.iter().map(|mac| *mac ^ delta).collect();
        Mitccrh::new(*self.start).singles(&mut pads);
        pads.iter_mut().zip(self.masked.iter()).for_each(|(pad, masked)| *pad ^= *masked);
        pads
    }
}

/// Receives the masked messages of a window and takes the pads off those that `choices` names; `other` gets the others, masked.
pub(crate) fn unmask(
    ch: &mut Channel,
    choices: &[bool],
    pads: &mut [Block],
    mut other: impl FnMut(Block),
) -> Result<(), Fault> {
    for (choices, pads) in choices.chunks(BATCH).zip(pads.chunks_mut(BATCH)) {
        let masked = ch.recv(MASKED, 32 * pads.len())?;
        let pairs = masked.as_chunks::<32>().0.iter().map(|pair| {
            let (halves, _) = pair.as_chunks::<16>();
            [Block::from_bytes(halves[0]), Block::from_bytes(halves[1])]
        });
        for ((pad, choice), pair) in pads.iter_mut().zip(choices).zip(pairs) {
            let chosen = pair[0] ^ (pair[0] ^ pair[1]).times(*choice);
            *pad ^= chosen;
            other(pair[0] ^ pair[1] ^ chosen);
        }
    }
    Ok(())
}

/// Correlated OT with bits that the peer chooses: K = M xor c Delta, bit 0 of K is 0. Any number of
/// them.
///
/// # Errors
/// `Misbehaved` for stray bits; those of [`CotSend::extend`].
pub fn send_correlated(
    ch: &mut Channel,
    cot: &mut dyn CotSend,
    keys: &mut [Block],
) -> Result<(), Fault> {
    // Bit 0 stays clear: it is 1 in Delta.
    let step = cot.delta() ^ Block::ONE;
    let mut random = Secret::new(Vec::new());
    for keys in keys.chunks_mut(BATCH) {
        random.resize(keys.len().next_multiple_of(ROWS), Block::ZERO);
        cot.extend(ch, &mut random)?;
        let flips = receive_choices(ch, keys.len())?;
        for (i, (key, random)) in keys.iter_mut().zip(random.iter()).enumerate() {
            *key = *random ^ step.times(bits::get(&flips, i));
        }
    }
    Ok(())
}

/// Correlated OT with the bits `choices`, which come back in bit 0 of `macs`.
///
/// # Errors
/// Those of [`CotReceive::extend`].
///
/// # Panics
/// If the lengths differ.
pub fn receive_correlated(
    ch: &mut Channel,
    cot: &mut dyn CotReceive,
    choices: &[bool],
    macs: &mut [Block],
) -> Result<(), Fault> {
    assert_eq!(choices.len(), macs.len());
    let mut full = Secret::new(Vec::new());
    let mut random = Secret::new(Vec::new());
    for (choices, macs) in choices.chunks(BATCH).zip(macs.chunks_mut(BATCH)) {
        full.resize(macs.len().next_multiple_of(ROWS), Block::ZERO);
        cot.extend(ch, &mut full)?;
        random.clear();
        random.extend(full[..macs.len()].iter().map(|mac| mac.lsb()));
        send_choices(ch, choices, &random)?;
        for ((mac, full), choice) in macs.iter_mut().zip(full.iter()).zip(choices) {
            *mac = full.with_lsb(*choice);
        }
    }
    ch.flush()
}

fn send_choices(ch: &mut Channel, choices: &[bool], random: &[bool]) -> Result<(), Fault> {
    ch.send(CHOICES, &bits::pack(choices.iter().zip(random).map(|(c, x)| c ^ x)))
}

fn receive_choices(ch: &mut Channel, count: usize) -> Result<Vec<u8>, Fault> {
    let flips = ch.recv(CHOICES, bits::packed_len(count))?;
    if !bits::is_canonical(&flips, count) {
        return Err(Fault::Misbehaved(CHOICE_CHECK));
    }
    Ok(flips)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cenote_net::mem_pair;
    use cenote_prim::Prg;

    use super::*;
    use crate::ideal::{IdealReceiver, IdealSender, ideal_pair};

    fn delta() -> Block {
        Prg::new(Block::new(8)).block().with_lsb(true)
    }

    /// Runs the two sides on the ideal functionality.
    fn both<A: Send, B>(
        a: impl FnOnce(&mut Channel, &mut IdealSender) -> A + Send,
        b: impl FnOnce(&mut Channel, &mut IdealReceiver) -> B,
    ) -> (A, B) {
        let (mut ca, mut cb) = mem_pair();
        let (mut s, mut r) = ideal_pair(Block::new(4), delta());
        thread::scope(|scope| {
            let a = scope.spawn(move || a(&mut ca, &mut s));
            let b = b(&mut cb, &mut r);
            (a.join().expect("no panic"), b)
        })
    }

    fn choices(n: usize) -> Vec<bool> {
        (0..n).map(|i| i % 3 == 0 || i % 7 == 5).collect()
    }

    fn messages(n: usize) -> Vec<[Block; 2]> {
        let mut messages = vec![[Block::ZERO; 2]; n];
        Prg::new(Block::new(6)).fill(messages.as_flattened_mut());
        messages
    }

    #[test]
    fn random_ot_gives_one_of_two_distinct_pads() {
        for n in [0, 1, 127, 128, 300] {
            let (pads, (choices, chosen)) = both(
                |ch, cot| {
                    let mut pads = vec![[Block::ZERO; 2]; n];
                    RotSender::new(cot).random(ch, cot, &mut pads).unwrap();
                    pads
                },
                |ch, cot| {
                    let (mut choices, mut pads) = (vec![false; n], vec![Block::ZERO; n]);
                    RotReceiver::new(cot).random(ch, cot, &mut choices, &mut pads).unwrap();
                    (choices, pads)
                },
            );
            let picked = pads.iter().zip(&choices).map(|(pad, c)| pad[usize::from(*c)]);
            assert!(picked.eq(chosen));
            let mut all: Vec<u128> = pads.as_flattened().iter().map(|p| p.to_u128()).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2 * n);
        }
    }

    #[test]
    fn chosen_ot_gives_the_chosen_message_in_every_batch() {
        for n in [0, 1, 200, BATCH + 1] {
            let ((), (chosen, traffic)) = both(
                |ch, cot| RotSender::new(cot).chosen(ch, cot, &messages(n)).unwrap(),
                |ch, cot| {
                    let mut out = vec![Block::ZERO; n];
                    RotReceiver::new(cot).chosen(ch, cot, &choices(n), &mut out).unwrap();
                    (out, ch.counters().total())
                },
            );
            let messages = messages(n);
            let expected = choices(n).into_iter().zip(&messages).map(|(c, m)| m[usize::from(c)]);
            assert!(expected.eq(chosen));
            let frames = n.div_ceil(BATCH);
            assert_eq!(traffic.bytes_received as usize, 32 * n + 5 * frames);
            assert_eq!(traffic.bytes_sent as usize, n.div_ceil(8) + 5 * frames);
            assert_eq!(traffic.rounds, u64::from(n > 0));
        }
    }

    #[test]
    fn correlated_ot_takes_chosen_bits() {
        for n in [0, 1, 129, BATCH + 3] {
            let (keys, macs) = both(
                |ch, cot| {
                    let mut keys = vec![Block::ZERO; n];
                    send_correlated(ch, cot, &mut keys).unwrap();
                    keys
                },
                |ch, cot| {
                    let mut macs = vec![Block::ZERO; n];
                    receive_correlated(ch, cot, &choices(n), &mut macs).unwrap();
                    macs
                },
            );
            for ((k, m), c) in keys.iter().zip(&macs).zip(choices(n)) {
                assert_eq!((m.lsb(), k.lsb()), (c, false));
                assert_eq!(*k, *m ^ delta().times(c));
            }
        }
    }

    #[test]
    fn two_runs_on_one_source_share_no_pads() {
        let (mut s, _) = ideal_pair(Block::new(4), delta());
        let keys = [Block::new(2); 4];
        let mut pads = [[Block::ZERO; 2]; 8];
        RotSender::new(&mut s).pads(&keys, &mut pads[..4]);
        RotSender::new(&mut s).pads(&keys, &mut pads[4..]);
        // Equal keys too get other pads each time: the tweak is unique.
        let mut all: Vec<u128> = pads.as_flattened().iter().map(|p| p.to_u128()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16);
    }

    #[test]
    fn stray_choice_bits_are_refused() {
        let (sent, ()) = both(
            |ch, cot| RotSender::new(cot).chosen(ch, cot, &messages(3)),
            |ch, _| {
                ch.send(CHOICES, &[0b1000]).unwrap();
                ch.flush().unwrap();
            },
        );
        assert_eq!(sent, Err(Fault::Misbehaved(CHOICE_CHECK)));
    }

    /// With fixed choices and messages, no bit on the wire leans, and no message crosses in the
    /// clear.
    #[test]
    fn messages_on_the_wire_are_balanced() {
        let mut ones = vec![0u32; 128 + 2 * 128 * 128];
        for seed in 0..300 {
            let (mut s, mut r) = ideal_pair(Block::new(seed), delta());
            let (mut keys, mut macs) = ([Block::ZERO; 128], [Block::ZERO; 128]);
            s.deal(&mut keys).unwrap();
            r.deal(&mut macs).unwrap();
            let (mut ca, mut cb) = mem_pair();
            send_choices(&mut cb, &[true; 128], &macs.map(|m| m.lsb())).unwrap();
            cb.flush().unwrap();
            let flips = receive_choices(&mut ca, 128).unwrap();
            let mut pads = [[Block::ZERO; 2]; 128];
            RotSender::new(&mut s).pads(&keys, &mut pads);
            let wire = flips.iter().chain(Block::as_bytes(pads.as_flattened()));
            for (i, byte) in wire.enumerate() {
                (0..8).for_each(|b| ones[8 * i + b] += u32::from(byte >> b & 1));
            }
        }
        // 150 +- 6 sigma (sigma 8.7).
        assert!(ones.iter().all(|n| (98..=202).contains(n)));
    }
}
