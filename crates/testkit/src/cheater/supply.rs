//! Preprocessing of the cheater.

use cenote_engine::backends::wrk;
use cenote_engine::backends::wrk::share::Share;
use cenote_engine::parts;
use cenote_engine::{Fault, Role};
use cenote_net::Channel;
use cenote_ot::{base, tags};
use cenote_pool::Draws;
use cenote_prim::commit::commit;
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;

use super::{Cheat, Cheater, Triple, set_stray_bit};

/// A leaky AND.
#[derive(Clone, Copy)]
pub(super) struct Leaky {
    x: Share,
    y: Share,
    z: Share,
}

/// Base OTs with a message that holds no point, as sender or as receiver by its role; the honest side must not get past it.
pub(super) fn send_bad_point(channel: &mut Channel, role: Role) -> Result<(), Fault> {
    match role {
        Role::Garbler => {
            channel.send(tags::BASE_POINT, &[255; base::SENDER_LEN])?;
            for _ in 0..base::PARTS {
                channel.recv(tags::BASE_POINTS, base::PART_LEN)?;
            }
        }
        Role::Evaluator => {
            for _ in 0..base::PARTS {
                channel.send(tags::BASE_POINTS, &[255; base::PART_LEN])?;
            }
            channel.recv(tags::BASE_POINT, base::SENDER_LEN)?;
        }
    }
    channel.recv(tags::TREES, 0).map(drop)
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
        if self.pool.len() < capacity {
            let shares = self.make_shares(3 * capacity)?;
            let (items, digest) = self.leaky_batch(&shares[..3 * capacity])?;
            self.toss(Some(digest))?;
            self.pool = items;
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
        let coins = words(self.toss(Some(digest))?);
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
        let other = self.cheats(Cheat::WrongDelta) || self.cheats(Cheat::EchoTag);
        let own_delta = if other { wrong } else { delta };
        let mut hashed: Vec<Block> =
            items.iter().flat_map(|item| [item.x.key, item.x.key ^ own_delta]).collect();
        self.leaky[0].pairs(&mut hashed);
        let c: Vec<Block> = items.iter().map(|item| item.y.times_both_deltas(delta)).collect();
        let whole = |i: usize| hashed[2 * i] ^ hashed[2 * i + 1] ^ c[i];
        let mut g: Vec<Block> = (0..n).map(|i| self.cut(whole(i))).collect();
        if let Cheat::WrongG(count) = self.cheat
            && self.is_time()
        {
            g.iter_mut().take(count).for_each(|g| *g ^= self.prg.block());
            g.iter_mut().for_each(|g| *g = self.cut(*g));
        }
        let width = self.params.leaky.bytes();
        let sent: Vec<u8> = g.iter().flat_map(|g| g.to_bytes().into_iter().take(width)).collect();
        self.channel.send(wrk::tags::LEAKY_G, &sent)?;
        let received = self.channel.recv(wrk::tags::LEAKY_G, sent.len())?;
        for (g, received) in g.iter_mut().zip(received.chunks(width)) {
            let mut bytes = [0; 16];
            bytes[..width].copy_from_slice(received);
            *g = Block::from_bytes(bytes);
        }
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
        let mut digest = self.digest(&s);
        digest[7] ^= u8::from(self.cheats(Cheat::WrongDigest));
        Ok((items, digest))
    }

    /// The digest of a batch, which is of one slice here.
    fn digest(&self, s: &[Block]) -> [u8; 32] {
        let (number, width) = (self.tosses - 1, self.params.leaky.bytes());
        let low: Vec<u8> = s.iter().flat_map(|s| s.to_bytes().into_iter().take(width)).collect();
        let slice = RandomOracle::new("cenote 2026 engine leaky-and slice v1", &self.session);
        let batch = RandomOracle::new("cenote 2026 engine leaky-and digest v2", &self.session);
        batch.number(number).bytes(&slice.number(number).bytes(&low).digest()).digest()
    }

    /// The low bits of a leaky AND.
    pub(super) fn cut(&self, block: Block) -> Block {
        let mut bytes = block.to_bytes();
        bytes[self.params.leaky.bytes()..].fill(0);
        Block::from_bytes(bytes)
    }

    /// The joint coin, and the test of equality of `digest`, if there is one: what it says is not looked at.
    pub(super) fn toss(&mut self, digest: Option<[u8; 32]>) -> Result<Block, Fault> {
        let (label, coin) = (format!("toss {}", self.tosses), self.prg.block());
        self.tosses += 1;
        let nonce = self.prg.bytes32();
        let commitment = commit(&self.session, &label, &coin.to_bytes(), &nonce).0;
        let test = digest.map(|digest| Test::new(&self.session, label, &digest, &mut self.prg));
        let (points, tags) = if test.is_some() { (32, 32) } else { (0, 0) };
        let mut point = test.as_ref().map_or_else(Vec::new, |test| test.point.to_vec());
        if !point.is_empty() && self.cheats(Cheat::IdentityPoint) {
            point.fill(0);
        }
        let first = match self.role {
            Role::Garbler => [&commitment[..], &point].concat(),
            Role::Evaluator => self.channel.recv(parts::tags::COIN_COMMIT, 32 + points)?,
        };
        let mut shown = coin.to_bytes();
        if self.role == Role::Evaluator {
            let mut reply = [&shown[..], &point].concat();
            if let Some(test) = &test {
                let mut tag = test.tag(Role::Evaluator, &first[32..], [&first, &reply]);
                tag[3] ^= u8::from(self.cheats(Cheat::WrongTag));
                reply.extend(tag);
            }
            self.channel.send(parts::tags::COIN_REPLY, &reply)?;
            let opening = self.channel.recv(parts::tags::COIN_OPEN, 48 + tags)?;
            return Ok(coin ^ coin_in(&opening));
        }
        self.channel.send(parts::tags::COIN_COMMIT, &first)?;
        let reply = self.channel.recv(parts::tags::COIN_REPLY, 16 + points + tags)?;
        shown[3] ^= u8::from(self.cheats(Cheat::BiasedCoin));
        let mut opening = [&shown[..], &nonce].concat();
        if let Some(test) = &test {
            let mut tag = test.tag(Role::Garbler, &reply[16..48], [&first, &reply[..48]]);
            tag[3] ^= u8::from(self.cheats(Cheat::WrongTag));
            let echo = self.cheat == Cheat::EchoTag && self.cheated_in.is_some();
            opening.extend_from_slice(if echo { &reply[48..] } else { &tag });
        }
        self.channel.send(parts::tags::COIN_OPEN, &opening)?;
        Ok(coin_in(&shown) ^ coin_in(&reply))
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

/// This side of a test of equality: CPace with a digest as password.
struct Test {
    session: SessionId,
    label: String,
    secret: Scalar,
    point: [u8; 32],
}

impl Test {
    fn new(session: &SessionId, label: String, digest: &[u8; 32], prg: &mut Prg) -> Test {
        let mut wide = [0; 64];
        prg.fill_bytes(&mut wide);
        let secret = Scalar::from_bytes_mod_order_wide(&wide);
        let oracle = RandomOracle::new("cenote 2026 engine equality generator v1", session);
        oracle.bytes(label.as_bytes()).bytes(digest).fill(&mut wide);
        let point = RistrettoPoint::from_uniform_bytes(&wide) * secret;
        Test { session: *session, label, secret, point: point.compress().to_bytes() }
    }

    /// The tag of `role`, with the point of the peer, after the two messages without tags. What is no
    /// point counts as the identity.
    fn tag(&self, role: Role, point: &[u8], messages: [&[u8]; 2]) -> [u8; 32] {
        let point = CompressedRistretto::from_slice(point).ok().and_then(|p| p.decompress());
        let shared = (point.unwrap_or_default() * self.secret).compress();
        let oracle = RandomOracle::new("cenote 2026 engine equality key v1", &self.session);
        let oracle = oracle.bytes(self.label.as_bytes()).bytes(shared.as_bytes());
        let key = oracle.bytes(messages[0]).bytes(messages[1]).digest();
        let oracle = RandomOracle::new("cenote 2026 engine equality tag v1", &self.session);
        oracle.number(role as u64).bytes(&key).digest()
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
