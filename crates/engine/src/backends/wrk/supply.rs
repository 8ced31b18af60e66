//! The supply of one session: makes authenticated bits, leaky ANDs, the pool, ready triples. They wait in
//! `depot.rs`; when this works, on which channel and in which thread: `depot.rs` and `refiller.rs`.
//!
//! **Construction.** POOL-WRK (POOL sections 6 and 8): leaky ANDs wait in a pool that is full before
//! and after each bucket; a bucket takes B members at positions drawn by a joint coin, and the coin is
//! tossed after the members and those that replace them were fixed. Buckets do not depend on the
//! function, so ready triples are formed ahead of requests. Without a pool, each batch is permuted by
//! its own coin and cut into buckets (docs/parameters.md, one-shot batches), and never smaller than the
//! smallest sound batch.
//! **Roles.** Symmetric but for the coin toss, which the garbler commits to first.
//! **Adversary.** Malicious. **Parameters.** `cenote_pool::params`; nothing is typed in.
//! **Flow of a refill**, one message each way a line, both directions at once where it says so:
//! 1. COT corrections with their check, both ways (`cenote_ot`): 3 shares a leaky AND, 1 a triple.
//! 2. G, both ways; 3. d, both ways (`leaky_and.rs`).
//! 4. Three messages: equality of the batch and the coin (`parts/equality.rs`).
//! 5. Openings of the bucket differences, both ways (`bucket.rs`).
//!
//! **Leakage and abort.** A cheater that attacks leaky ANDs learns bits of x that never reach a wire unless all
//! members of one bucket were attacked: probability at most epsilon over the life of the pool.
//! A failed check ends the session and burns everything: abort is final.
//! **Checks.** Those of the parts named above. No triple leaves before all of its batch passed.

use std::mem;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_ot::{Choice, CotReceive, CotSend};
use cenote_pool::{Draws, Pool, StoreError};
use cenote_prim::{Block, Prg, Secret, SessionId, prefer_large_pages};
use zeroize::Zeroize;

use crate::backends::wrk::WrkParams;
use crate::backends::wrk::bucket;
use crate::backends::wrk::depot::Shelves;
use crate::backends::wrk::leaky_and::{Generator, LeakyAnd};
use crate::backends::wrk::opening::{self, Openings};
use crate::backends::wrk::share::{ShareSlice, conventional_delta};

use crate::backends::wrk::tags;
use crate::parts::toss::{Coins, Tosses};

/// One party's supply. Both parties' supplies move in step: every call happens on both sides, with one channel.
pub struct Supply {
    params: WrkParams,
    delta: Secret<Block>,
    keys: Box<dyn CotSend>,
    macs: Box<dyn CotReceive>,
    generator: Generator,
    pool: Option<Pool<LeakyAnd>>,
    /// Room for fresh shares, kept between refills.
    made: Made,
    prg: Prg,
    /// Joint coin tossed after both Deltas were fixed.
    start: Block,
    tosses: Tosses,
}

/// Most triples or shares that can be taken at a time.
pub const MAX_TAKE: usize = 1 << 16;
/// Most triples kept ready: 128 MiB.
pub const MAX_STOCK: usize = 1 << 20;
/// Name of the pool, for journals and in the occupancy.
pub const POOL: &str = "pool.leaky-and";
/// Name of the stock of triples.
pub const TRIPLES: &str = "stock.triple";
/// Name of the stock of shares.
pub const SHARES: &str = "stock.share";
/// Spare shares made at a time for inputs, beyond what was asked for.
pub(crate) const SPARE_SHARES: usize = 4096;

impl Supply {
    /// Base OTs in both directions and the coin for the hash start points; makes no items yet. `session` is the
    /// identity of the session or, where the supply has a channel of its own, of that channel.
    ///
    /// # Errors
    /// Faults of the channel and of the checks of oblivious transfer.
    pub fn setup(
        channel: &mut Channel,
        session: SessionId,
        role: Role,
        params: WrkParams,
        mut prg: Prg,
    ) -> Result<Supply, Fault> {
        let delta = conventional_delta(prg.block(), role);
        let (keys, macs) = both_directions(channel, &session, role, params.ot, delta, &mut prg)?;
        let mut tosses = Tosses::new(session, role);
        let start = tosses.toss(channel, &mut prg)?;
        Ok(Supply {
            params,
            delta: Secret::new(delta),
            keys,
            macs,
            generator: Generator::new(session, role, delta, start, params.leaky),
            pool: None,
            made: Made::default(),
            start,
            prg,
            tosses,
        })
    }

    /// This party's global key.
    #[must_use]
    pub fn delta(&self) -> Block {
        *self.delta
    }

    /// A joint coin that was tossed after both global keys were fixed.
    #[must_use]
    pub fn start(&self) -> Block {
        self.start
    }

    /// Returns the items that lie in the pool.
    #[cfg(test)]
    pub(crate) fn pooled(&self) -> &[LeakyAnd] {
        self.pool.as_ref().map_or(&[], Pool::items)
    }

    /// Fills the pool, unless it is full or there is none.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn fill(&mut self, channel: &mut Channel, shelves: &Shelves) -> Result<(), Fault> {
        let WrkParams { pool: Some(capacity), batch, .. } = self.params else { return Ok(()) };
        if self.pool.is_some() {
            return Ok(());
        }
        channel.set_phase(Phase::Preprocess);
        let mut items = Secret::with_capacity(capacity);
        prefer_large_pages(&items);
        while items.len() < capacity {
            let n = batch.min(capacity - items.len());
            let made = self.make_shares(channel, 3 * n)?;
            let (fresh, _) = self.leaky_batch(channel, made.slice().split_at(3 * n).0)?;
            items.extend_from_slice(&fresh);
            self.made = made;
            shelves.step();
        }
        let full = Pool::full(POOL, capacity, mem::take(&mut *items)).map_err(store_defect)?;
        shelves.pool_is(&full);
        self.pool = Some(full);
        Ok(())
    }

    /// At least `n` more spare shares.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn spare_shares(
        &mut self,
        channel: &mut Channel,
        shelves: &Shelves,
        n: usize,
    ) -> Result<(), Fault> {
        let made = self.make_shares(channel, n)?;
        shelves.put_shares(made.slice());
        self.made = made;
        Ok(())
    }

    /// One batch of leaky ANDs through the pool into ready triples. The drawing and the buckets are
    /// charged to the phase `buckets`: online for a request that waits for them.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn refill(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        buckets: Phase,
    ) -> Result<(), Fault> {
        self.fill(channel, shelves)?;
        channel.set_phase(Phase::Preprocess);
        let (batch, triples) = (self.params.batch, self.params.triples());
        let made = self.make_shares(channel, 3 * batch + triples)?;
        let (leaky, masks) = made.slice().split_at(3 * batch);
        let (fresh, coin) = self.leaky_batch(channel, leaky)?;
        channel.set_phase(buckets);
        let members = self.draw(shelves, fresh, coin)?;
        self.buckets(channel, openings, shelves, &members, masks)?;
        self.made = made;
        Ok(())
    }

    /// Members of buckets in the order of the coin: out of the pool, which takes `fresh` in, or
    /// `fresh` itself, permuted.
    fn draw(
        &mut self,
        shelves: &Shelves,
        mut fresh: Secret<Vec<LeakyAnd>>,
        coin: Block,
    ) -> Result<Secret<Vec<LeakyAnd>>, Fault> {
        let mut coins = Coins::new(coin);
        let Some(pool) = &mut self.pool else {
            cenote_pool::shuffle(&mut fresh, || coins.word());
            return Ok(fresh);
        };
        let bucket = self.params.bucket;
        let mut draws = Draws::new(bucket, pool.capacity()).map_err(store_defect)?;
        draws.draw(fresh.len() / bucket, || coins.word());
        // The drawn members change places with the fresh items.
        pool.exchange(&mut shelves.journal(), &draws, &mut fresh).map_err(store_defect)?;
        shelves.pool_is(pool);
        Ok(fresh)
    }

    /// Buckets over members already in random order: their triples become ready.
    fn buckets(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        members: &[LeakyAnd],
        masks: ShareSlice<'_>,
    ) -> Result<(), Fault> {
        let bucket = self.params.bucket;
        let differences = bucket::differences(members, bucket);
        let opened = members.len() / bucket * (bucket - 1);
        let (mut macs, mut keys) = (Secret::with_capacity(opened), Secret::with_capacity(opened));
        for share in differences {
            macs.push(share.mac);
            keys.push(share.key);
        }
        let own = openings.open(&macs);
        channel.send(tags::BUCKET_OPEN, &own)?;
        let message = channel.recv(tags::BUCKET_OPEN, opening::message_len(keys.len()))?;
        let peer = openings.verify(&message, &keys, *self.delta)?;
        shelves.put_triples(bucket::combine(members, bucket, &own, &peer, masks));
        Ok(())
    }

    /// Leaky ANDs from random shares, with the coin tossed once they were fixed and found equal.
    fn leaky_batch(
        &mut self,
        channel: &mut Channel,
        shares: ShareSlice<'_>,
    ) -> Result<(Secret<Vec<LeakyAnd>>, Block), Fault> {
        let (state, mut g) = self.generator.send_g(shares)?;
        channel.send(tags::LEAKY_G, &g)?;
        channel.recv_into(tags::LEAKY_G, &mut g)?;
        let (state, d) = self.generator.send_d(state, &g)?;
        channel.send(tags::LEAKY_D, &d)?;
        let peer_d = channel.recv(tags::LEAKY_D, d.len())?;
        let (items, digest) = self.generator.finish(state, &peer_d)?;
        let coin = self.tosses.toss_equal(channel, &mut self.prg, &digest)?;
        Ok((items, coin))
    }

    /// At least `n` fresh authenticated shares of random bits: one COT each way for each.
    fn make_shares(&mut self, channel: &mut Channel, n: usize) -> Result<Made, Fault> {
        let n = n.next_multiple_of(128);
        let mut made = mem::take(&mut self.made);
        made.resize(n);
        // Sending comes first on both sides, so that both work at the same time.
        self.macs.extend(channel, &mut made.macs)?;
        self.keys.extend(channel, &mut made.keys)?;
        Ok(made)
    }
}

/// Fresh shares; wiped when dropped.
#[derive(Default)]
struct Made {
    macs: Secret<Vec<Block>>,
    keys: Secret<Vec<Block>>,
}

impl Made {
    /// Makes room for `n` shares without leaving a copy of old ones behind.
    fn resize(&mut self, n: usize) {
        for array in [&mut self.macs, &mut self.keys] {
            if n > array.capacity() {
                array.zeroize();
                array.reserve_exact(n);
                prefer_large_pages(array);
            }
            array.resize(n, Block::ZERO);
        }
    }

    fn slice(&self) -> ShareSlice<'_> {
        ShareSlice { macs: &self.macs, keys: &self.keys }
    }
}

/// Correlated OT with this party as sender, and as receiver.
type BothWays = (Box<dyn CotSend>, Box<dyn CotReceive>);

/// COT set-up in both directions; the garbler is sender first.
fn both_directions(
    channel: &mut Channel,
    session: &SessionId,
    role: Role,
    ot: Choice,
    delta: Block,
    prg: &mut Prg,
) -> Result<BothWays, Fault> {
    // A set-up is numbered by the role of its sender.
    let (own, peer) = (role as u64, role.peer() as u64);
    Ok(match role {
        Role::Garbler => {
            let keys = ot.sender(channel, session, own, delta, prg)?;
            (keys, ot.receiver(channel, session, peer, prg)?)
        }
        Role::Evaluator => {
            let macs = ot.receiver(channel, session, peer, prg)?;
            (ot.sender(channel, session, own, delta, prg)?, macs)
        }
    })
}

/// Both sides count items alike and within bounds derived from the same parameters.
pub(super) fn store_defect(error: StoreError) -> Fault {
    Fault::Internal(error.to_string())
}
