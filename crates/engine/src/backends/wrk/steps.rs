//! The steps of a turn on slices, each of its own slice: MACs; keys, leaky ANDs and G; d; what is tested of them (`supply.rs`).
//!
//! They are given what they work on, one direction of oblivious transfer or one part of the generator each, so that
//! workers can compute those of a turn side by side. Messages are received and sent by one thread in the order of the
//! steps, so that the bytes on the line are the same for any number of workers.

use std::mem;
use std::sync::mpsc;

use cenote_net::{Channel, Fault, Role};
use cenote_ot::{Keys, Macs};
use cenote_prim::{Block, Secret, Task, Workers, bits, zeroize_to_fit};

use crate::backends::wrk::bucket::Members;
use crate::backends::wrk::leaky_and::{First, Last, LeakyAnd, Pending, Width, settling};
use crate::backends::wrk::packed::Packed;
use crate::backends::wrk::share::ShareSlice;
use crate::backends::wrk::slices::Place;
use crate::backends::wrk::tags;
use crate::parts::shelves::panicked;

/// The shares of one turn, and what becomes of them.
#[derive(Default)]
pub(super) struct Slice<const N: usize> {
    /// None for shares that stay such.
    pub(super) place: Option<Place>,
    /// Until there are leaky ANDs.
    pub(super) macs: Secret<Vec<Block>>,
    pub(super) piece: Piece<N>,
    pub(super) pending: Pending,
    /// The message of this side or of the peer that the step at hand is about.
    message: Vec<u8>,
}

/// Leaky ANDs of whole buckets.
#[derive(Default)]
pub(super) struct Piece<const N: usize> {
    pub(super) items: Secret<Vec<LeakyAnd<N>>>,
    /// A share for each triple.
    pub(super) masks: Secret<Vec<Packed<N>>>,
    /// What is still to be added to the items ([`settling`]), packed; empty once it was.
    pub(super) d: Vec<u8>,
}

impl<const N: usize> Piece<N> {
    pub(super) fn members(&self) -> Members<'_, N> {
        (&self.items, &self.masks)
    }

    /// Empties it and makes room for so many, so that nothing moves while it grows.
    pub(super) fn make_room(&mut self, ands: usize, masks: usize) {
        self.items.clear();
        zeroize_to_fit(&mut self.items, ands);
        self.masks.clear();
        zeroize_to_fit(&mut self.masks, masks);
        self.d.clear();
    }

    /// Adds d.
    pub(super) fn settle(&mut self, settle: impl Fn(&mut LeakyAnd<N>, bool)) {
        let items = self.items.iter_mut().enumerate();
        items.for_each(|(i, item)| settle(item, bits::get(&self.d, i)));
        self.d.clear();
    }

    /// Takes in the items of `other`.
    fn append(&mut self, other: &Piece<N>) {
        self.items.extend_from_slice(&other.items);
    }
}

/// Adds to all of a batch what is still to be added.
pub(super) fn settle_all<const N: usize>(
    workers: &Workers,
    pieces: &mut [Piece<N>],
    settle: impl Fn(&mut LeakyAnd<N>, bool) + Sync,
) {
    let pieces = pieces.iter_mut();
    workers.run(pieces.map(|piece| Box::new(|| piece.settle(&settle)) as Task<'_>));
}

/// A step: what comes with it, what is computed, and what is sent then.
pub(super) trait Step: Send {
    fn receive(&mut self, _: &mut Channel) -> Result<(), Fault> {
        Ok(())
    }
    fn compute(&mut self) -> Result<(), Fault>;
    fn send(&mut self, _: &mut Channel) -> Result<(), Fault> {
        Ok(())
    }
}

/// Takes `steps`, in order. One thread ends each before the next, so that messages leave as early as they can; several
/// compute them side by side, each as soon as what belongs to it has come.
pub(super) fn take(
    steps: &mut [&mut dyn Step],
    channel: &mut Channel,
    workers: &Workers,
) -> Result<(), Fault> {
    if workers.threads() == 1 {
        return steps.iter_mut().try_for_each(|step| {
            step.receive(channel)?;
            step.compute()?;
            step.send(channel)
        });
    }
    workers.beside(|compute| {
        let mut computed = Vec::with_capacity(steps.len());
        let received = steps.iter_mut().try_for_each(|step| {
            step.receive(channel)?;
            let (done, result) = mpsc::channel();
            compute(Box::new(move || {
                let result = step.compute();
                // Nobody waits for it once another step has failed.
                let _ = done.send((step, result));
            }));
            computed.push(result);
            Ok(())
        });
        for result in computed {
            let (step, result) = result.recv().map_err(|_| panicked())?;
            // A check that failed says more than that the peer left after it.
            result?;
            if received.is_ok() {
                step.send(channel)?;
            }
        }
        received
    })
}

/// Step 1, first half: MACs on fresh random bits; the corrections go to the peer.
pub(super) struct MakeMacs<'s> {
    pub(super) cots: Macs<'s>,
    pub(super) macs: &'s mut [Block],
}

impl Step for MakeMacs<'_> {
    fn compute(&mut self) -> Result<(), Fault> {
        self.cots.make(self.macs)
    }

    fn send(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.cots.send(channel)
    }
}

/// Step 1, second half: keys, from the peer's corrections. Step 2: G goes out.
pub(super) struct MakeG<'s, const N: usize> {
    pub(super) cots: Keys<'s>,
    pub(super) generator: First<'s>,
    pub(super) slice: &'s mut Slice<N>,
    /// As many as MACs.
    pub(super) keys: &'s mut [Block],
    pub(super) role: Role,
}

impl<const N: usize> Step for MakeG<'_, N> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.cots.receive(channel, self.keys.len())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        self.cots.make(self.keys)?;
        let Slice { place: Some(place), macs, piece, pending, message } = &mut *self.slice else {
            return Ok(());
        };
        let (shares, rest) = ShareSlice { macs, keys: self.keys }.split_at(3 * place.ands);
        piece.make_room(place.ands, place.masks);
        *message = self.generator.send_g(shares, pending, &mut piece.items)?;
        let masks = rest.split_at(place.masks).0.iter();
        piece.masks.extend(masks.map(|share| Packed::of(share, self.role)));
        Ok(())
    }

    fn send(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        if self.slice.place.is_none() {
            return Ok(());
        }
        // It waits for the peer's, which may take many turns.
        channel.send(tags::LEAKY_G, &mem::take(&mut self.slice.message))
    }
}

/// Step 3: d goes out, from the peer's G.
pub(super) struct MakeD<'s, const N: usize> {
    pub(super) slice: &'s mut Slice<N>,
    pub(super) place: Place,
    pub(super) width: Width,
}

impl<const N: usize> Step for MakeD<'_, N> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.slice.message = channel.recv(tags::LEAKY_G, self.width.bytes() * self.place.ands)?;
        Ok(())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        let Slice { pending, message, .. } = &mut *self.slice;
        *message = pending.send_d(self.width, message)?;
        Ok(())
    }

    fn send(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        channel.send(tags::LEAKY_D, &self.slice.message)
    }
}

/// The end of step 3, from the peer's d.
pub(super) struct Finish<'s, const N: usize> {
    pub(super) generator: Last<'s>,
    pub(super) slice: &'s mut Slice<N>,
    pub(super) place: Place,
    /// Where the leaky ANDs of the pool go, and what settles them.
    pub(super) whole: Option<(&'s mut Piece<N>, Role, Block)>,
}

impl<const N: usize> Step for Finish<'_, N> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.slice.message = channel.recv(tags::LEAKY_D, self.place.ands.div_ceil(8))?;
        Ok(())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        let Slice { piece, pending, message, .. } = &mut *self.slice;
        self.generator.finish(pending, message, &mut piece.d)?;
        if let Some((whole, role, delta)) = &mut self.whole {
            piece.settle(settling(*role, *delta));
            whole.append(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::mem_pair;

    use super::*;

    /// A step whose check fails, or for which nothing comes.
    enum Bad {
        Check,
        Line,
    }

    impl Step for Bad {
        fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
            match self {
                Bad::Check => Ok(()),
                Bad::Line => channel.recv(tags::LEAKY_G, 1).map(|_| ()),
            }
        }

        fn compute(&mut self) -> Result<(), Fault> {
            Err(Fault::Misbehaved("leaky-and.length"))
        }

        fn send(&mut self, _: &mut Channel) -> Result<(), Fault> {
            panic!("sent after a check that failed")
        }
    }

    /// A peer that leaves after it has cheated has cheated, however many threads look.
    #[test]
    fn a_failed_check_is_reported_before_a_broken_line() {
        let ends = |steps: &mut [&mut dyn Step], threads| {
            let (mut channel, peer) = mem_pair();
            drop(peer);
            take(steps, &mut channel, &Workers::new(threads).expect("threads"))
        };
        for threads in [1, 2] {
            let (mut check, mut line) = (Bad::Check, Bad::Line);
            let caught = ends(&mut [&mut check, &mut line], threads);
            assert_eq!(caught, Err(Fault::Misbehaved("leaky-and.length")));
            let left = ends(&mut [&mut line, &mut check], threads);
            assert!(matches!(left, Err(Fault::Transport(_) | Fault::PeerAborted)), "{left:?}");
        }
    }
}
