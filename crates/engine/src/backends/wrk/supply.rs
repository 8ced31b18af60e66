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
//! **A batch** is made in slices that stay in the caches (`slices.rs`). One message each way a line:
//! 1. COT corrections with their check (`cenote_ot`): 3 shares a leaky AND, 1 a triple.
//! 2. G; 3. d (`leaky_and.rs`), of each slice.
//! 4. Commitment, reply, opening: equality of all slices of the batch and the coin (`parts/equality.rs`).
//! 5. Openings of the bucket differences (`bucket.rs`).
//!
//! **Turns.** Both sides work in turns: one slice may start in each, and of whatever is under way each step that
//! is due is taken. What the evaluator sends in turn t is received in turn t + `lag` and not before, so that the garbler may be `lag` turns
//! ahead of what has arrived: with `lag` from the round trip (`parts/pace.rs`), nothing waits for the line, and the steps of
//! several batches are on it at once. The evaluator follows: what the garbler sends in turn t it receives in turn t + 1. Within a turn, steps send and receive in one order, that of the list above.
//! What is sent does not depend on `lag`, only when. Nothing of a step is taken early: a coin is tossed when all of its batch was
//! finished, and the pool is drawn from by the coin of that batch alone, in the order of batches.
//! **Leakage and abort.** A cheater that attacks leaky ANDs learns bits of x that never reach a wire unless all
//! members of one bucket were attacked: probability at most epsilon over the life of the pool. It may see the buckets of
//! one batch before it fixes the next, as it always could.
//! A failed check ends the session and burns everything: abort is final.
//! **Checks.** Those of the parts named above. No triple leaves before all of its batch passed.

use std::collections::VecDeque;
use std::mem;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_ot::{Bases, Duplex};
use cenote_pool::{Draws, Pool};
use cenote_prim::{Block, Prg, Secret, SessionId, Workers, bits, zeroize_to_fit};

use crate::backends::wrk::WrkParams;
use crate::backends::wrk::bucket::{Folded, GRAIN, Triple};
use crate::backends::wrk::lag::{Lag, Lagged};
use crate::backends::wrk::leaky_and::{Generator, LeakyAnd, Width, settling};
use crate::backends::wrk::opening::{self, Openings};
use crate::backends::wrk::packed::{BITS64, BITS96, BITS128, Packed};
use crate::backends::wrk::refiller::Start;
#[cfg(test)]
use crate::backends::wrk::share::Share;
use crate::backends::wrk::share::{ShareSlice, conventional_delta};
use crate::backends::wrk::shelves::Shelves;
use crate::backends::wrk::slices::{Place, Slices};
use crate::backends::wrk::steps::{
    self, Finish, MakeD, MakeG, MakeMacs, Piece, Slice, Step, settle_all,
};
use crate::backends::wrk::tags;
use crate::parts::equality::{self, Committer, Replier};
use crate::parts::keeper::Keeper;
use crate::parts::tags::{COIN_COMMIT, COIN_OPEN, COIN_REPLY};
use crate::parts::toss::{Coins, Tosses};
use crate::session::store_fault;

/// One party's supply. Both parties' supplies move in step: every turn happens on both sides, with one channel.
pub(super) trait Supply: Send {
    /// What requests need of this party's global key.
    fn delta(&self) -> Block;

    /// A joint coin that was tossed after both global keys were fixed.
    fn start(&self) -> Block;

    /// How its batches are cut.
    fn slices(&self) -> &Slices;

    /// Turns between a message of the evaluator and its receipt, from now on; both sides alike, before the first turn.
    fn set_lag(&mut self, lag: u64);

    /// The threads that compute from now on.
    fn set_workers(&mut self, workers: Workers);

    /// Whether nothing waits for a message of the peer.
    fn is_idle(&self) -> bool;

    /// One turn.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    fn turn(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        start: Start,
    ) -> Result<(), Fault>;

    /// Slices whose start was called for so far.
    fn called(&self) -> u64;

    /// The bytes of the pool, none before it is full. Nothing may be under way.
    fn pool(&self) -> Secret<Vec<u8>>;

    /// Leaves the pool out of what is made: it comes from [`Shelves::begin_making`] as soon as anything is.
    fn skip_pool(&mut self);

    /// Returns the shares that lie in the pool.
    #[cfg(test)]
    fn pooled(&self) -> Vec<Share>;

    /// Returns this party's global key, whole.
    #[cfg(test)]
    fn whole_delta(&self) -> Block;
}

/// Base OTs in both directions and the coin for the hash start points; makes no items yet. `session` is the
/// identity of the session or, where the supply has a channel of its own, of that channel. A message is received one turn after it was
/// sent. With a `keeper` the base OTs are those of its epoch.
///
/// # Errors
/// Faults of the channel and of the checks of oblivious transfer; `Storage`.
pub(super) fn set_up(
    channel: &mut Channel,
    session: SessionId,
    role: Role,
    params: WrkParams,
    prg: Prg,
    keeper: Option<&mut Keeper>,
) -> Result<Box<dyn Supply>, Fault> {
    let (ch, id) = (channel, session);
    Ok(match params.leaky {
        Width::Bits64 => Box::new(Line::<BITS64>::setup(ch, id, role, params, prg, keeper)?),
        Width::Bits96 => Box::new(Line::<BITS96>::setup(ch, id, role, params, prg, keeper)?),
        Width::Bits128 => Box::new(Line::<BITS128>::setup(ch, id, role, params, prg, keeper)?),
    })
}

impl dyn Supply {
    /// Fills the pool, unless it is full or there is none, and leaves nothing under way.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn fill(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
    ) -> Result<(), Fault> {
        while self.called() < self.slices().of_pool() {
            self.turn(channel, openings, shelves, Start::Slice)?;
        }
        self.rest(channel, openings, shelves)
    }

    /// At least `n` more spare shares; leaves nothing under way.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn spare_shares(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        n: usize,
    ) -> Result<(), Fault> {
        self.turn(channel, openings, shelves, Start::Shares(n))?;
        self.rest(channel, openings, shelves)
    }

    /// A batch of leaky ANDs through the pool into ready triples, once the pool is full; leaves nothing under way.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    pub(super) fn refill(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
    ) -> Result<(), Fault> {
        self.fill(channel, openings, shelves)?;
        for _ in 0..self.slices().of_batch() {
            self.turn(channel, openings, shelves, Start::Slice)?;
        }
        self.rest(channel, openings, shelves)
    }

    /// Turns until nothing is under way.
    fn rest(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
    ) -> Result<(), Fault> {
        while !self.is_idle() {
            self.turn(channel, openings, shelves, Start::Nothing)?;
        }
        Ok(())
    }
}

/// The supply whose items are shares of N bytes.
struct Line<const N: usize> {
    params: WrkParams,
    role: Role,
    delta: Secret<Block>,
    cots: Duplex,
    generator: Generator,
    pool: Option<Pool<LeakyAnd<N>>>,
    prg: Prg,
    /// Joint coin tossed after both Deltas were fixed.
    start: Block,
    tosses: Tosses,
    slices: Slices,
    /// Slices whose start was called for so far.
    called: u64,
    lag: Lag,
    turn: u64,
    workers: Workers,
    under_way: UnderWay<N>,
    /// Room of what is done: used again, since fresh pages cost more than what is written to them. Each kind apart, as each is
    /// needed from another turn on. It is written over then, and wiped when the session ends.
    spare: Spare<N>,
}

/// Room to be used again.
#[derive(Default)]
struct Spare<const N: usize> {
    slices: Vec<Slice<N>>,
    /// Of slices.
    macs: Vec<Secret<Vec<Block>>>,
    /// Of slices as well.
    pieces: Vec<Piece<N>>,
    /// Of the slice at hand: leaky ANDs are made of them at once.
    keys: Secret<Vec<Block>>,
    /// Of batches.
    folded: Vec<Folded<N>>,
    /// MACs on the bits that are opened: not needed when their message is made.
    opened_macs: Secret<Vec<Block>>,
}

/// Most triples or shares that can be taken at a time.
pub const MAX_TAKE: usize = 1 << 16;
/// Most triples kept ready: 96 MiB with rho = 40.
pub const MAX_STOCK: usize = 1 << 20;
/// Name of the pool, for journals and in the occupancy.
pub const POOL: &str = "pool.leaky-and";
/// Name of the stock of triples.
pub const TRIPLES: &str = "stock.triple";
/// Name of the stock of shares.
pub const SHARES: &str = "stock.share";
/// Spare shares made at a time for inputs, beyond what was asked for.
pub(crate) const SPARE_SHARES: usize = 4096;

/// A batch of leaky ANDs.
#[derive(Default)]
struct Batch<const N: usize> {
    /// One for each slice, or one for all of the pool.
    pieces: Vec<Piece<N>>,
    of_pool: bool,
}

/// A batch whose buckets are known.
struct Opened<const N: usize> {
    buckets: Folded<N>,
    /// The own bits of their differences, packed.
    own: Vec<u8>,
}

/// Whatever waits for a message of the peer, by the step that comes with it. Secrets are in boxes: a queue keeps copies of what it
/// held.
#[derive(Default)]
struct UnderWay<const N: usize> {
    /// Slices and numbers of shares that are to start, one a turn.
    called: VecDeque<(Option<Place>, usize)>,
    /// The next step of an extension of silent OT.
    extension: Lagged<usize>,
    corrections: Lagged<Slice<N>>,
    g: Lagged<Slice<N>>,
    d: Lagged<Slice<N>>,
    /// The batch that slices are finished for.
    batch: Batch<N>,
    /// Of the evaluator.
    commitment: Lagged<(Batch<N>, Box<Secret<[u8; 32]>>)>,
    /// Of the garbler.
    reply: Lagged<(Batch<N>, Box<Committer>)>,
    /// Of the evaluator, with the garbler's differences.
    opening: Lagged<(Batch<N>, Box<Replier>)>,
    /// Of the garbler: the evaluator's differences.
    differences: Lagged<Opened<N>>,
}

impl<const N: usize> UnderWay<N> {
    fn is_empty(&self) -> bool {
        let slices = [&self.corrections, &self.g, &self.d];
        slices.iter().all(|steps| steps.is_empty())
            && self.called.is_empty()
            && self.extension.is_empty()
            && self.commitment.is_empty()
            && self.reply.is_empty()
            && self.opening.is_empty()
            && self.differences.is_empty()
    }
}

impl<const N: usize> Line<N> {
    /// [`set_up`].
    fn setup(
        channel: &mut Channel,
        session: SessionId,
        role: Role,
        params: WrkParams,
        mut prg: Prg,
        keeper: Option<&mut Keeper>,
    ) -> Result<Line<N>, Fault> {
        let fresh = |prg: &mut Prg| conventional_delta(prg.block(), role);
        let (session, delta, cots) = if let Some(keeper) = keeper {
            let (id, kept) = keeper.open(channel, session, role, Bases::from_bytes)?;
            let bases = match kept {
                Some(bases) => bases,
                None => {
                    let bases = Bases::run(channel, &id, role, fresh(&mut prg), &mut prg)?;
                    keeper.begin(&bases.to_bytes())?;
                    bases
                }
            };
            let cots = Duplex::setup_from(channel, &id, role, params.ot, &bases, &mut prg)?;
            (id, bases.delta(), cots)
        } else {
            let delta = fresh(&mut prg);
            let cots = Duplex::setup(channel, &session, role, params.ot, delta, &mut prg)?;
            (session, delta, cots)
        };
        let mut tosses = Tosses::new(session, role);
        let start = tosses.toss(channel, &mut prg)?;
        Ok(Line {
            params,
            role,
            delta: Secret::new(params.leaky.kept_delta(delta, role)),
            cots,
            generator: Generator::new(session, role, delta, start, params.leaky),
            pool: None,
            start,
            prg,
            tosses,
            slices: Slices::of(&params),
            called: 0,
            lag: Lag { own: 1, peer: 1 },
            turn: 0,
            workers: Workers::default(),
            under_way: UnderWay::default(),
            spare: Spare::default(),
        })
    }
}

impl<const N: usize> Supply for Line<N> {
    fn delta(&self) -> Block {
        *self.delta
    }

    fn start(&self) -> Block {
        self.start
    }

    fn slices(&self) -> &Slices {
        &self.slices
    }

    fn set_lag(&mut self, lag: u64) {
        self.lag = match self.role {
            Role::Garbler => Lag { own: lag, peer: 1 },
            Role::Evaluator => Lag { own: 1, peer: lag },
        };
    }

    fn set_workers(&mut self, workers: Workers) {
        self.workers = workers;
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    fn called(&self) -> u64 {
        self.called
    }

    fn pool(&self) -> Secret<Vec<u8>> {
        let items = self.pool.as_ref().map_or(&[][..], Pool::items);
        let mut bytes = Secret::with_capacity(3 * N * items.len());
        for item in items {
            for share in [item.x, item.y, item.z] {
                bytes.extend_from_slice(bytemuck::bytes_of(&share));
            }
        }
        bytes
    }

    fn skip_pool(&mut self) {
        self.called = self.slices.of_pool();
    }

    #[cfg(test)]
    fn pooled(&self) -> Vec<Share> {
        let items = self.pool.as_ref().map_or(&[][..], Pool::items).iter();
        items
            .flat_map(|item| [item.x, item.y, item.z])
            .map(|share| share.share(self.role))
            .collect()
    }

    #[cfg(test)]
    fn whole_delta(&self) -> Block {
        self.generator.delta()
    }

    fn turn(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        start: Start,
    ) -> Result<(), Fault> {
        channel.set_phase(Phase::Preprocess);
        self.turn += 1;
        let now = self.turn;
        if matches!(start, Start::Slice | Start::Shares(_))
            && let Some(pool) = shelves.begin_making()?
        {
            self.put_pool(&pool, shelves)?;
        }
        self.call(start);
        self.extend(channel)?;
        self.work(channel, shelves)?;
        if let Some((batch, digest)) = self.under_way.commitment.due(now) {
            self.reply(channel, batch, &digest)?;
        }
        if let Some((batch, committer)) = self.under_way.reply.due(now) {
            self.open(channel, openings, shelves, batch, *committer)?;
        }
        if let Some((batch, replier)) = self.under_way.opening.due(now) {
            self.draw_opened(channel, openings, shelves, batch, *replier)?;
        }
        if let Some(opened) = self.under_way.differences.due(now) {
            self.combine(channel, openings, shelves, opened)?;
        }
        shelves.step();
        Ok(())
    }
}

impl<const N: usize> Line<N> {
    /// Takes in what [`Supply::pool`] gave.
    fn put_pool(&mut self, bytes: &[u8], shelves: &Shelves) -> Result<(), Fault> {
        let shares = bytemuck::try_cast_slice::<u8, Packed<N>>(bytes);
        let items = shares.map_or(&[][..], |shares| shares.as_chunks::<3>().0);
        if 3 * N * items.len() != bytes.len() {
            return Err(Fault::Storage("a pool of items of another size".into()));
        }
        if items.is_empty() {
            return Ok(());
        }
        let mut of_pool = Secret::with_capacity(items.len());
        of_pool.extend(items.iter().map(|&[x, y, z]| LeakyAnd { x, y, z }));
        let pieces = vec![Piece { items: of_pool, ..Piece::default() }];
        self.pool_is_full(shelves, Batch { pieces, of_pool: true })
    }

    /// Takes note of what is to start.
    fn call(&mut self, start: Start) {
        let called = match start {
            Start::Nothing | Start::Save(_) => return,
            Start::Slice => {
                self.called += 1;
                let place = self.slices.place(self.called - 1);
                (Some(place), place.shares())
            }
            Start::Shares(count) => (None, count),
        };
        let shares = called.1.next_multiple_of(128);
        self.under_way.called.push_back((called.0, shares));
    }

    /// Extensions of silent OT, a step whenever the message that it begins with is due, so early that what is to start need not wait for one: what is
    /// ready lasts while the next one is under way.
    fn extend(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        let steps = self.cots.steps();
        if let Some(step) = self.under_way.extension.due(self.turn) {
            self.cots.step(channel)?;
            if step < steps {
                let lag = if step % 2 == 1 { self.lag.peer } else { self.lag.own };
                self.under_way.extension.put(self.turn + lag, step + 1);
            }
        } else if let Some((_, shares)) = self.under_way.called.front()
            && self.under_way.extension.is_empty()
            && self.cots.ready() < *shares as u64 * (steps as u64 / 2 * self.lag.both() + 2)
        {
            self.cots.begin(channel)?;
            self.under_way.extension.put(self.turn + self.lag.own, 1);
        }
        Ok(())
    }

    /// Steps 1 to 3 of the slices that are due, and the begin of step 4.
    fn work(&mut self, channel: &mut Channel, shelves: &Shelves) -> Result<(), Fault> {
        let mut begun = self.begin()?;
        let UnderWay { corrections, g, d, batch, .. } = &mut self.under_way;
        let mut due = [corrections, g, d].map(|slices| slices.due(self.turn));
        let finished = due[2].as_ref().and_then(|slice| slice.place);
        let Spare { pieces, keys, .. } = &mut self.spare;
        // The pool lies in one array.
        let of_pool = finished.filter(|place| place.masks == 0);
        let whole = of_pool.map(|place| batch.whole(place, &self.slices));
        if let Some(slice) = &mut due[0] {
            if slice.place.is_some() {
                slice.piece = pieces.pop().unwrap_or_default();
            }
            *keys = resized(mem::take(keys), slice.macs.len());
        }
        let (macs, for_keys) = self.cots.halves();
        let (first, last) = self.generator.parts();
        let (role, delta, width) = (self.role, *self.delta, self.params.leaky);
        let [shared, answered, ended] = &mut due;
        let mut steps = (
            begun.as_mut().map(|slice| MakeMacs { cots: macs, macs: &mut slice.macs }),
            shared.as_mut().map(|slice| MakeG {
                cots: for_keys,
                generator: first,
                slice,
                keys: &mut keys[..],
                role,
            }),
            answered.as_mut().and_then(|slice| {
                let place = slice.place?;
                Some(MakeD { slice, place, width })
            }),
            ended.as_mut().and_then(|slice| {
                let (place, whole) = (slice.place?, whole.map(|whole| (whole, role, delta)));
                Some(Finish { generator: last, slice, place, whole })
            }),
        );
        let all: [Option<&mut dyn Step>; 4] = [
            steps.0.as_mut().map(|step| step as _),
            steps.1.as_mut().map(|step| step as _),
            steps.2.as_mut().map(|step| step as _),
            steps.3.as_mut().map(|step| step as _),
        ];
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        steps::take(&mut all, channel, &self.workers)?;
        self.go_on(begun, due, shelves);
        if finished.is_some_and(|place| place.last) { self.commit(channel) } else { Ok(()) }
    }

    /// The slice that begins in this turn.
    fn begin(&mut self) -> Result<Option<Slice<N>>, Fault> {
        let Some((place, shares)) = self.under_way.called.front().copied() else { return Ok(None) };
        if self.cots.ready() < shares as u64 {
            return Ok(None);
        }
        self.under_way.called.pop_front();
        let mut slice = self.spare.slices.pop().unwrap_or_default();
        slice.place = place;
        slice.macs = resized(self.spare.macs.pop().unwrap_or_default(), shares);
        if !self.is_silent() {
            return Ok(Some(slice));
        }
        // Silent OT has no corrections: the keys are there as well.
        self.cots.halves().0.make(&mut slice.macs)?;
        self.under_way.corrections.put(self.turn, slice);
        Ok(None)
    }

    /// Each slice to where it waits for its next step.
    fn go_on(&mut self, begun: Option<Slice<N>>, due: [Option<Slice<N>>; 3], shelves: &Shelves) {
        let (now, [shared, answered, finished]) = (self.turn, due);
        let (g, d) = self.after_keys();
        if let Some(slice) = begun {
            self.under_way.corrections.put(now + self.lag.own, slice);
        }
        if let Some(mut slice) = shared {
            let macs = mem::take(&mut slice.macs);
            if slice.place.is_some() {
                self.under_way.g.put(now + g, slice);
            } else {
                let (width, role) = (self.params.leaky, self.role);
                let shares = ShareSlice { macs: &macs, keys: &self.spare.keys };
                shelves.put_shares(shares.iter().map(|share| width.kept(share, role)));
                self.spare.slices.push(slice);
            }
            self.spare.macs.push(macs);
        }
        if let Some(slice) = answered {
            self.under_way.d.put(now + d, slice);
        }
        if let Some(mut slice) = finished {
            let piece = mem::take(&mut slice.piece);
            // What is of the pool was copied.
            let done = if piece.d.is_empty() {
                &mut self.spare.pieces
            } else {
                &mut self.under_way.batch.pieces
            };
            done.push(piece);
            self.spare.slices.push(slice);
        }
    }

    /// Turns from this side's G to the peer's, and from its d to the peer's. The peer sends G as soon as it has keys, which this side waits
    /// for as well unless the OT is silent; it sends d as soon as it has G.
    fn after_keys(&self) -> (u64, u64) {
        let Lag { own, peer } = self.lag;
        if self.is_silent() { (own, peer) } else { (peer, own) }
    }

    fn is_silent(&self) -> bool {
        self.params.ot.is_silent()
    }

    /// Step 4 of the batch whose last slice was finished: the garbler's commitment.
    fn commit(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        let batch = mem::take(&mut self.under_way.batch);
        let digest = self.generator.digest();
        match self.role {
            Role::Garbler => {
                let (committer, message) = self.tosses.commit_equal(&mut self.prg, &digest);
                channel.send(COIN_COMMIT, &message)?;
                self.under_way.reply.put(self.turn + self.lag.both(), (batch, Box::new(committer)));
            }
            Role::Evaluator => {
                // So much later the garbler has this side's last d.
                let Lag { own, peer } = self.lag;
                let lag = if self.is_silent() { own } else { peer };
                self.under_way.commitment.put(self.turn + lag, (batch, Box::new(digest)));
            }
        }
        Ok(())
    }

    /// Step 4, the evaluator's: its part of the coin.
    fn reply(
        &mut self,
        channel: &mut Channel,
        batch: Batch<N>,
        digest: &[u8; 32],
    ) -> Result<(), Fault> {
        let mut message = [0; equality::COMMIT_LEN];
        channel.recv_into(COIN_COMMIT, &mut message)?;
        let (replier, reply) = self.tosses.reply_equal(&mut self.prg, digest, &message)?;
        channel.send(COIN_REPLY, &reply)?;
        self.under_way.opening.put(self.turn + self.lag.both(), (batch, Box::new(replier)));
        Ok(())
    }

    /// Step 4, the garbler's end: the coin is known. Step 5: it opens its differences.
    fn open(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        batch: Batch<N>,
        committer: Committer,
    ) -> Result<(), Fault> {
        let mut reply = [0; equality::REPLY_LEN];
        channel.recv_into(COIN_REPLY, &mut reply)?;
        let (coin, opening) = committer.open(&reply)?;
        channel.send(COIN_OPEN, &opening)?;
        if batch.of_pool {
            return self.pool_is_full(shelves, batch);
        }
        let opened = self.open_buckets(channel, openings, shelves, batch, coin)?;
        self.under_way.differences.put(self.turn + self.lag.both(), opened);
        Ok(())
    }

    /// Step 4, the evaluator's end, and step 5.
    fn draw_opened(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        batch: Batch<N>,
        replier: Replier,
    ) -> Result<(), Fault> {
        let mut opening = [0; equality::OPENING_LEN];
        channel.recv_into(COIN_OPEN, &mut opening)?;
        let coin = self.tosses.finish_equal(replier, &opening)?;
        if batch.of_pool {
            return self.pool_is_full(shelves, batch);
        }
        let opened = self.open_buckets(channel, openings, shelves, batch, coin)?;
        self.combine(channel, openings, shelves, opened)
    }

    fn pool_is_full(&mut self, shelves: &Shelves, mut batch: Batch<N>) -> Result<(), Fault> {
        let capacity = self.params.pool.unwrap_or_default();
        let items =
            batch.pieces.pop().map_or_else(Vec::new, |mut piece| mem::take(&mut *piece.items));
        let full = Pool::full(POOL, capacity, items).map_err(store_fault)?;
        shelves.pool_is(&full);
        self.pool = Some(full);
        Ok(())
    }

    /// Step 5, first half: buckets of members in the order of the coin, out of the pool, which takes the batch in, or the
    /// batch itself, permuted; their differences go to the peer.
    fn open_buckets(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        batch: Batch<N>,
        coin: Block,
    ) -> Result<Opened<N>, Fault> {
        if self.pool.is_some() != self.params.pool.is_some() {
            // Batches of a pool's parameters are too small to be permuted alone.
            return Err(Fault::Internal("a pool that is not there".into()));
        }
        let mut pieces = batch.pieces;
        let mut buckets = self.spare.folded.pop().unwrap_or_default();
        let (macs, shape) =
            (&mut self.spare.opened_macs, (self.params.triples(), self.params.bucket));
        let mut folding = buckets.begin(shape, self.role, macs);
        let mut coins = Coins::new(coin);
        let settle = settling(self.role, *self.delta);
        if let Some(pool) = &mut self.pool {
            let mut draws = Draws::new(shape.1, pool.capacity()).map_err(store_fault)?;
            draws.draw(shape.0, || coins.word());
            let fresh = pieces.iter().map(|piece| piece.items.len()).sum();
            let mut leaving =
                pool.leave(&mut shelves.journal(), &draws, fresh).map_err(store_fault)?;
            if self.workers.threads() == 1 {
                // While they are in the caches.
                for Piece { items, masks, d } in &mut pieces {
                    let grains = items.chunks_mut(shape.1 * GRAIN).zip(masks.chunks(GRAIN));
                    for (i, (items, masks)) in grains.enumerate() {
                        let first = i * shape.1 * GRAIN;
                        leaving
                            .exchange_with(items, |i, item| settle(item, bits::get(d, first + i)));
                        folding.fold((items, masks));
                    }
                    d.clear();
                }
                leaving.done().map_err(store_fault)?;
                folding.done()?;
            } else {
                settle_all(&self.workers, &mut pieces, settle);
                let mut fresh: Vec<_> =
                    pieces.iter_mut().map(|piece| &mut piece.items[..]).collect();
                leaving.exchange_on(&self.workers, &mut fresh).map_err(store_fault)?;
                folding.fold_on(&self.workers, pieces.iter().map(Piece::members))?;
            }
            shelves.pool_is(pool);
        } else {
            settle_all(&self.workers, &mut pieces, settle);
            let mut order: Vec<u32> = (0..(shape.0 * shape.1) as u32).collect();
            cenote_pool::shuffle(&mut order, || coins.word());
            let members: Vec<_> = pieces.iter().map(Piece::members).collect();
            folding.fold_in_order(&self.workers, &members, &order)?;
        }
        self.spare.pieces.append(&mut pieces);
        let own = openings.open(macs);
        channel.send(tags::BUCKET_OPEN, &own)?;
        Ok(Opened { buckets, own })
    }

    /// Step 5, second half: the triples become ready.
    fn combine(
        &mut self,
        channel: &mut Channel,
        openings: &mut Openings,
        shelves: &Shelves,
        Opened { buckets, own }: Opened<N>,
    ) -> Result<(), Fault> {
        let message = channel.recv(tags::BUCKET_OPEN, opening::message_len(buckets.keys.len()))?;
        let peer = openings.verify(&message, &buckets.keys, *self.delta)?;
        shelves.put_triples(self.params.triples(), |triples: &mut [Triple<N>]| {
            buckets.combine(&self.workers, self.params.bucket, (&own, &peer), triples);
        });
        self.spare.folded.push(buckets);
        Ok(())
    }
}

/// So many blocks, whichever; leaves no copy of old ones behind.
fn resized(mut blocks: Secret<Vec<Block>>, n: usize) -> Secret<Vec<Block>> {
    zeroize_to_fit(&mut blocks, n);
    blocks.resize(n, Block::ZERO);
    blocks
}

impl<const N: usize> Batch<N> {
    /// The one array of the pool, of which `place` is a slice, with room for all of it.
    fn whole(&mut self, place: Place, slices: &Slices) -> &mut Piece<N> {
        self.of_pool = true;
        if self.pieces.is_empty() {
            let (mut whole, (ands, _)) = (Piece::default(), slices.batch_of(place));
            whole.make_room(ands, 0);
            self.pieces.push(whole);
        }
        &mut self.pieces[0]
    }
}
