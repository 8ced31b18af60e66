//! The garbling cheater: what it keeps, and how it sets a session up.

use std::collections::{BTreeMap, VecDeque};

use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::ihash::{HashSender, LANES, Label, Message, ReedSolomonSender};
use cenote_engine::{Fault, JimuParams, Role};
use cenote_net::{Channel, Deviation, Fate};
use cenote_ot::{CotSend, watch};
use cenote_pool::{MemoryJournal, Pool};
use cenote_prim::{Block, Prg, SessionId};

use super::cheat::{Cheat, Plan};
use super::coins::Tosses;
use super::compact::Sent;
use super::items::{History, Kind};
use super::kept::Kept;
use super::lies::{wrong_key, zero_seeds};

/// Pools of item numbers, and what is ready for requests.
#[derive(Default)]
pub(super) struct Pools {
    pub(super) full: BTreeMap<Kind, Pool<u64>>,
    pub(super) journal: MemoryJournal,
    pub(super) escrowed: VecDeque<Message>,
    pub(super) inputs: VecDeque<Label>,
}

/// A live wire: value = masked value + permutation bit + flip.
#[derive(Clone, Copy, Default)]
pub(super) struct Wire {
    pub(super) message: Message,
    pub(super) flip: bool,
}

/// The cheater that garbles.
pub(super) struct Garbler {
    pub(super) channel: Channel,
    pub(super) session: SessionId,
    pub(super) params: JimuParams,
    pub(super) plan: Plan,
    pub(super) prg: Prg,
    pub(super) hash: ReedSolomonSender,
    pub(super) delta: Label,
    pub(super) choices: Box<dyn CotSend>,
    pub(super) tosses: Tosses,
    pub(super) pools: Pools,
    pub(super) history: History,
    pub(super) sent: Sent,
    /// Solders of the gates since the last flush.
    pub(super) solders: Vec<Message>,
    pub(super) kept: Kept<Wire>,
    /// Reports asked for, and solders sent.
    pub(super) reports: u64,
    pub(super) flushed: bool,
}

/// The seeds of both codes, of which the peer learns some.
fn send_seeds(
    channel: &mut Channel,
    cot: &mut dyn CotSend,
    session: &SessionId,
    params: &JimuParams,
    plan: &Plan,
    prg: &mut Prg,
) -> Result<[Vec<Block>; 2], Fault> {
    let cheat = plan.cheat;
    deal_other_shares(channel, &plan.shares);
    match cheat {
        Cheat::Commitment => {
            channel.deviate(cenote_ot::tags::WATCH_COMMIT, 0, Deviation::Flip(9));
        }
        // A pair of messages is a seed and a share.
        Cheat::Share => {
            channel.deviate(cenote_ot::tags::MASKED, 0, Deviation::Flip(128 + 5));
        }
        _ => {}
    }
    let mut lists = [Vec::new(), Vec::new()];
    let codes = [&params.codes.labels, &params.codes.perms];
    for (instance, (list, code)) in (0..).zip(lists.iter_mut().zip(codes)) {
        list.resize(code.n as usize, Block::ZERO);
        prg.fill(list);
        if cheat == Cheat::ZeroDelta && instance == 0 {
            zero_seeds(&mut list[..code.k as usize]);
        }
        let mut dealt = list.clone();
        if instance == 1 {
            let first = (cheat == Cheat::Seed).then_some(&0);
            for place in plan.seeds.iter().chain(first) {
                dealt[usize::from(*place)] ^= Block::ONE;
            }
        }
        watch::send(channel, cot, session, instance, &dealt, code.w as usize, prg)?;
    }
    Ok(lists)
}

/// Makes shares wrong at these places of the two lists.
fn deal_other_shares(channel: &mut Channel, shares: &[Vec<u8>; 2]) {
    let (shares, mut lists) = (shares.clone(), 0);
    channel.tamper(move |frame| {
        if frame.tag != cenote_ot::tags::MASKED.id || lists == shares.len() {
            return Fate::Pass;
        }
        let mut payload = frame.payload.to_vec();
        // A pair of messages is a seed and a share.
        shares[lists].iter().for_each(|place| payload[32 * usize::from(*place) + 16] ^= 1);
        lists += 1;
        Fate::Replace(payload)
    });
}

/// Delta, which is to have `key`, and the labels of the `proving` wires that show it.
fn send_delta(
    channel: &mut Channel,
    choices: &mut dyn CotSend,
    hash: &mut ReedSolomonSender,
    cheat: Cheat,
    (mut key, proving): (Block, usize),
) -> Result<(Label, Vec<Label>), Fault> {
    let mut keys = vec![Block::ZERO; proving.next_multiple_of(128)];
    choices.extend(channel, &mut keys)?;
    let (mut messages, mut frame) = (Vec::new(), vec![0; 16]);
    hash.hash(LANES + keys.len(), &mut messages, &mut frame);
    match cheat {
        Cheat::ZeroDelta => key = Block::ZERO,
        Cheat::EvenDelta => key ^= Block::ONE,
        Cheat::Correlation | Cheat::FittingCorrelation => key ^= wrong_key(),
        _ => {}
    }
    let shift = messages[0].label.key() ^ key;
    frame[..16].copy_from_slice(&shift.to_bytes());
    let delta = messages[0].label ^ Label::of_key(shift);
    let labels: Vec<Label> = messages[LANES..].iter().map(|message| message.label).collect();
    keys.iter_mut().zip(&labels).for_each(|(key, label)| *key ^= label.key());
    if cheat == Cheat::ProvingKey {
        keys[0] ^= wrong_key();
    }
    frame.extend_from_slice(Block::as_bytes(&keys));
    hash.close(&mut frame);
    channel.send(jimu::tags::JIMU_DELTA, &frame)?;
    Ok((delta, labels))
}

impl Garbler {
    pub(super) fn set_up(
        mut channel: Channel,
        session: SessionId,
        params: JimuParams,
        plan: Plan,
        mut prg: Prg,
    ) -> Result<Garbler, Fault> {
        let cheat = plan.cheat;
        let key = prg.block().with_lsb(true);
        let mut choices = params.ot.sender(&mut channel, &session, 0, key, &mut prg)?;
        let lists = send_seeds(&mut channel, &mut *choices, &session, &params, &plan, &mut prg);
        let [labels, perms] = lists?;
        let mut hash = ReedSolomonSender::new(&params.codes, session, &labels, &perms);
        let mut tosses = Tosses { session, role: Role::Garbler, count: 0, cheat };
        let proving = params.input_sacrificed();
        let cot = &mut *choices;
        let (delta, labels) = send_delta(&mut channel, cot, &mut hash, cheat, (key, proving))?;
        let coin = tosses.toss(&mut channel, &mut prg)?;
        channel.send(jimu::tags::JIMU_ANSWER, &hash.answer(coin))?;
        let mut garbler = Garbler {
            pools: Pools::default(),
            history: History::default(),
            sent: Sent::default(),
            solders: Vec::new(),
            kept: Kept::default(),
            reports: 0,
            flushed: false,
            channel,
            session,
            params,
            plan,
            prg,
            hash,
            delta,
            choices,
            tosses,
        };
        // Sums that are opened wrongly come later.
        let cheat = std::mem::replace(&mut garbler.plan.cheat, Cheat::None);
        if cheat == Cheat::FittingCorrelation {
            garbler.plan.cheat = cheat;
        }
        garbler.prove_inputs(coin, &labels)?;
        garbler.plan.cheat = cheat;
        garbler.channel.flush()?;
        Ok(garbler)
    }

    pub(super) fn cheats(&self, cheat: Cheat) -> bool {
        self.plan.cheat == cheat && self.reports >= self.plan.after
    }
}
