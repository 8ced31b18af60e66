//! The steps of a turn on slices, each of its own slice: MACs, keys and G, d, leaky ANDs (`supply.rs`).
//!
//! They are given what they work on, one direction of oblivious transfer or one part of the generator each, so that
//! workers can compute those of a turn side by side. Messages are received and sent by one thread in the order of the
//! steps, so that the bytes on the line are the same for any number of workers.

use std::mem;
use std::sync::mpsc;

use cenote_net::{Channel, Fault, Role};
use cenote_ot::{Keys, Macs};
use cenote_prim::{Block, Secret, Workers};

use crate::backends::wrk::leaky_and::{First, LeakyAnd, Second, Third};
use crate::backends::wrk::packed::Packed;
use crate::backends::wrk::share::ShareSlice;
use crate::backends::wrk::slices::Place;
use crate::backends::wrk::tags;
use crate::parts::shelves::panicked;

/// The shares of one turn, and what becomes of them.
#[derive(Default)]
pub(super) struct Slice {
    /// None for shares that stay such.
    pub(super) place: Option<Place>,
    pub(super) macs: Secret<Vec<Block>>,
    /// None before they are made.
    pub(super) keys: Secret<Vec<Block>>,
    /// S of each leaky AND, as far as it is known.
    pub(super) s: Secret<Vec<u8>>,
    /// The message of this side or of the peer that the step at hand is about.
    message: Vec<u8>,
}

impl Slice {
    pub(super) fn shares(&self) -> ShareSlice<'_> {
        ShareSlice { macs: &self.macs, keys: &self.keys }
    }

    /// The shares x, y and z of its leaky ANDs, and S.
    fn leaky(&mut self, place: Place) -> (ShareSlice<'_>, &mut Secret<Vec<u8>>, &mut Vec<u8>) {
        let shares = ShareSlice { macs: &self.macs, keys: &self.keys };
        (shares.split_at(3 * place.ands).0, &mut self.s, &mut self.message)
    }

    /// The shares that are masks of triples.
    fn masks(&self, place: Place) -> ShareSlice<'_> {
        self.shares().split_at(3 * place.ands).1.split_at(place.masks).0
    }
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
    pub(super) slice: &'s mut Slice,
}

impl Step for MakeMacs<'_> {
    fn compute(&mut self) -> Result<(), Fault> {
        self.cots.make(&mut self.slice.macs)
    }

    fn send(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.cots.send(channel)
    }
}

/// Step 1, second half: keys, from the peer's corrections. Step 2: G goes out.
pub(super) struct MakeG<'s> {
    pub(super) cots: Keys<'s>,
    pub(super) generator: First<'s>,
    pub(super) slice: &'s mut Slice,
}

impl Step for MakeG<'_> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.cots.receive(channel, self.slice.keys.len())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        self.cots.make(&mut self.slice.keys)?;
        let Some(place) = self.slice.place else { return Ok(()) };
        let (shares, s, g) = self.slice.leaky(place);
        *g = self.generator.send_g(shares, s)?;
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
pub(super) struct MakeD<'s> {
    pub(super) generator: Second<'s>,
    pub(super) slice: &'s mut Slice,
    pub(super) place: Place,
    /// Bytes of a G.
    pub(super) width: usize,
}

impl Step for MakeD<'_> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.slice.message = channel.recv(tags::LEAKY_G, self.width * self.place.ands)?;
        Ok(())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        let (shares, s, message) = self.slice.leaky(self.place);
        *message = self.generator.send_d(shares, s, message)?;
        Ok(())
    }

    fn send(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        channel.send(tags::LEAKY_D, &self.slice.message)
    }
}

/// The end of step 3: leaky ANDs, from the peer's d.
pub(super) struct Finish<'s, const N: usize> {
    pub(super) generator: Third<'s>,
    pub(super) slice: &'s mut Slice,
    pub(super) place: Place,
    pub(super) role: Role,
    pub(super) items: &'s mut Secret<Vec<LeakyAnd<N>>>,
    /// Masks of triples.
    pub(super) masks: &'s mut Secret<Vec<Packed<N>>>,
}

impl<const N: usize> Step for Finish<'_, N> {
    fn receive(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.slice.message = channel.recv(tags::LEAKY_D, self.place.ands.div_ceil(8))?;
        Ok(())
    }

    fn compute(&mut self) -> Result<(), Fault> {
        let (shares, s, peer_d) = self.slice.leaky(self.place);
        self.generator.finish(shares, s, peer_d, self.items)?;
        let masks = self.slice.masks(self.place).iter();
        self.masks.extend(masks.map(|share| Packed::of(share, self.role)));
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
