//! Preprocessing of the cheater.

use cenote_engine::backends::wrk;
use cenote_engine::backends::wrk::share::Share;
use cenote_engine::parts;
use cenote_engine::{Fault, Role};
use cenote_net::Channel;
use cenote_pool::Draws;
use cenote_prim::commit::commit;
use cenote_prim::{Block, Prg, RandomOracle, bits};

use super::{Cheat, Cheater, Triple, set_stray_bit};

/// A leaky AND.
#[derive(Clone, Copy)]
pub(super) struct Leaky {
    x: Share,
    y: Share,
    z: Share,
}

/// Base OTs with a message that holds no points; the honest side must not get past it.
pub(super) fn send_bad_point(
    channel: &mut Channel,
    role: Role,
    params: cenote_ot::softspoken::Params,
) -> Result<(), Fault> {
    use cenote_ot::{base, pprf, tags};
    match role {
        Role::Garbler => {
            channel.send(tags::BASE_POINTS, &[255; base::RECEIVER_LEN])?;
            channel.recv(tags::BASE_POINT, base::SENDER_LEN)?;
            channel.recv(tags::TREES, pprf::message_len(params)).map(|_| ())
        }
        Role::Evaluator => {
            channel.send(tags::BASE_POINT, &[255; base::SENDER_LEN])?;
            channel.recv(tags::BASE_POINTS, base::RECEIVER_LEN)?;
            channel.send(tags::TREES, &vec![0; pprf::message_len(params)])?;
            channel.recv(tags::BASE_POINT, base::SENDER_LEN).map(|_| ())
        }
    }
}

impl Cheater {
    /// `n` random shares, or the few more that make whole rows, by correlated OT each way.
    fn make_shares(&mut self, n: usize) -> Result<Vec<Share>, Fault> {
        let n = n.next_multiple_of(128);
        let mut macs = vec![Block::ZERO; n];
        let mut keys = vec![Block::ZERO; n];
        let mut message = Vec::new();
        for macs in macs.chunks_mut(self.params.ot.chunk()) {
            self.macs.produce(macs, &mut message)?;
            message[0] ^= u8::from(self.cheats(Cheat::InconsistentChoices));
            self.channel.send(cenote_ot::tags::CHUNK, &message)?;
        }
        self.keys.extend(&mut self.channel, &mut keys)?;
        Ok(macs.into_iter().zip(keys).map(|(mac, key)| Share { mac, key }).collect())
    }

    pub(super) fn take_shares(&mut self, n: usize) -> Result<Vec<Share>, Fault> {
        if self.shares.len() < n {
            let missing = n - self.shares.len();
            let fresh = self.make_shares(missing + 4096)?;
            self.shares.extend(fresh);
        }
        Ok(self.shares.drain(..n).collect())
    }

    pub(super) fn take_triples(&mut self, n: usize) -> Result<Vec<Triple>, Fault> {
        while self.triples.len() < n {
            self.refill()?;
        }
        Ok(self.triples.drain(..n).collect())
    }

    /// Fills the pool, if there is one that is not full.
    fn fill(&mut self) -> Result<(), Fault> {
        let capacity = self.params.pool.unwrap_or(0);
        while self.pool.len() < capacity {
            let n = self.params.batch.min(capacity - self.pool.len());
            let shares = self.make_shares(3 * n)?;
            let (items, digest) = self.leaky_batch(&shares[..3 * n])?;
            self.toss(digest)?;
            self.pool.extend(items);
        }
        Ok(())
    }

    /// Buckets of one batch: members that the coin draws from the pool, each replaced at once by the
    /// next fresh one; without a pool the fresh ones, in the coin's order.
    fn refill(&mut self) -> Result<(), Fault> {
        self.fill()?;
        let (batch, bucket) = (self.params.batch, self.params.bucket);
        let triples = batch / bucket;
        let shares = self.make_shares(3 * batch + triples)?;
        let (leaky, masks) = shares.split_at(3 * batch);
        let (mut members, digest) = self.leaky_batch(leaky)?;
        let coins = words(self.toss(digest)?);
        if self.pool.is_empty() {
            cenote_pool::shuffle(&mut members, coins);
            return self.buckets(&members, masks);
        }
        let drawn = Draws::new(bucket, self.pool.len()).map(|mut draws| {
            draws.draw(triples, coins);
            draws.positions().to_vec()
        });
        let drawn = drawn.map_err(|error| Fault::Internal(error.to_string()))?;
        for (place, fresh) in drawn.into_iter().zip(&mut members) {
            std::mem::swap(&mut self.pool[place as usize], fresh);
        }
        self.buckets(&members, masks)
    }

    fn leaky_batch(&mut self, shares: &[Share]) -> Result<(Vec<Leaky>, [u8; 32]), Fault> {
        let n = shares.len() / 3;
        let mut items: Vec<Leaky> = (0..n)
            .map(|i| Leaky { x: shares[i], y: shares[n + i], z: shares[2 * n + i] })
            .collect();
        let (delta, wrong) = (self.delta, self.prg.block().with_lsb(true));
        let other = self.cheats(Cheat::WrongDelta) || self.cheats(Cheat::EchoDigest);
        let own_delta = if other { wrong } else { delta };
        let mut hashed: Vec<Block> =
            items.iter().flat_map(|item| [item.x.key, item.x.key ^ own_delta]).collect();
        self.leaky[0].pairs(&mut hashed);
        let c: Vec<Block> = items.iter().map(|item| item.y.times_both_deltas(delta)).collect();
        let mut g: Vec<Block> = (0..n).map(|i| hashed[2 * i] ^ hashed[2 * i + 1] ^ c[i]).collect();
        if let Cheat::WrongG(count) = self.cheat
            && self.is_time()
        {
            g.iter_mut().take(count).for_each(|g| *g ^= self.prg.block());
        }
        self.channel.send(wrk::tags::LEAKY_G, Block::as_bytes(&g))?;
        self.channel.recv_into(wrk::tags::LEAKY_G, Block::as_bytes_mut(&mut g))?;
        let mut answers: Vec<Block> = items.iter().map(|item| item.x.mac).collect();
        self.leaky[1].singles(&mut answers);
        let mut s: Vec<Block> = (0..n)
            .map(|i| {
                let Leaky { x, z, .. } = items[i];
                let shown = (g[i] ^ c[i]).times(x.bit());
                answers[i] ^ shown ^ hashed[2 * i] ^ z.times_both_deltas(delta)
            })
            .collect();
        let mut own = bits::pack(s.iter().map(|s| s.colour()));
        own[0] ^= u8::from(self.cheats(Cheat::WrongD));
        if self.cheats(Cheat::StrayD) {
            set_stray_bit(&mut own, n);
        }
        self.channel.send(wrk::tags::LEAKY_D, &own)?;
        let peer = self.channel.recv(wrk::tags::LEAKY_D, own.len())?;
        for (i, (item, s)) in items.iter_mut().zip(&mut s).enumerate() {
            let d = bits::get(&own, i) ^ bits::get(&peer, i);
            item.z = item.z.add_public(d, self.role, delta);
            *s ^= delta.times(d);
        }
        let oracle = RandomOracle::new("cenote 2026 engine leaky-and digest v1", &self.session);
        let mut digest = oracle.number(self.tosses - 1).blocks(&s).digest();
        digest[7] ^= u8::from(self.cheats(Cheat::WrongDigest));
        Ok((items, digest))
    }

    /// The joint coin; the equality of digests is not looked at.
    pub(super) fn toss(&mut self, digest: [u8; 32]) -> Result<Block, Fault> {
        let (number, coin) = (self.tosses, self.prg.block());
        self.tosses += 1;
        let mut value = [coin.to_bytes().as_slice(), &digest].concat();
        if self.role == Role::Evaluator {
            self.channel.recv(parts::tags::COIN_COMMIT, 32)?;
            self.channel.send(parts::tags::COIN_REPLY, &value)?;
            let opening = self.channel.recv(parts::tags::COIN_OPEN, 80)?;
            return Ok(coin ^ coin_in(&opening));
        }
        let nonce = self.prg.bytes32();
        let commitment = commit(&self.session, &format!("toss {number}"), &value, &nonce);
        self.channel.send(parts::tags::COIN_COMMIT, &commitment.0)?;
        let reply = self.channel.recv(parts::tags::COIN_REPLY, 48)?;
        value[3] ^= u8::from(self.cheats(Cheat::BiasedCoin));
        if self.cheat == Cheat::EchoDigest && self.cheated_in.is_some() {
            value[16..].copy_from_slice(&reply[16..]);
        }
        self.channel.send(parts::tags::COIN_OPEN, &[value.as_slice(), &nonce].concat())?;
        Ok(coin_in(&value) ^ coin_in(&reply))
    }

    fn buckets(&mut self, members: &[Leaky], masks: &[Share]) -> Result<(), Fault> {
        let bucket = self.params.bucket;
        let macs: Vec<Block> = members
            .chunks(bucket)
            .flat_map(|m| m[1..].iter().map(|other| m[0].y.mac ^ other.y.mac))
            .collect();
        let lie = self.cheats(Cheat::FalseBucketBit);
        let own = self.open_bits(&macs, lie);
        self.channel.send(wrk::tags::BUCKET_OPEN, &own)?;
        let peer = self.channel.recv(wrk::tags::BUCKET_OPEN, own.len())?;
        for (k, (m, &mask)) in members.chunks(bucket).zip(masks).enumerate() {
            let Leaky { mut x, y, mut z } = m[0];
            for (i, other) in m[1..].iter().enumerate() {
                let place = k * (bucket - 1) + i;
                let d = macs[place].lsb() ^ bits::get(&peer, place);
                x = x ^ other.x;
                z = z ^ other.z ^ other.x.times(d);
            }
            self.triples.push_back(Triple { x, y, z, mask });
        }
        Ok(())
    }
}

/// The words of a coin: the lower half of each block of its stream first.
fn words(coin: Block) -> impl FnMut() -> u64 {
    let mut stream = Prg::new(coin);
    let mut upper = None;
    move || {
        upper.take().unwrap_or_else(|| {
            let block = stream.block().to_u128();
            upper = Some((block >> 64) as u64);
            block as u64
        })
    }
}

fn coin_in(contribution: &[u8]) -> Block {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&contribution[..16]);
    Block::from_bytes(bytes)
}
