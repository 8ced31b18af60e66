//! The garbling cheater: what it keeps, and how it sets a session up.

use std::collections::{BTreeMap, VecDeque};

use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::ihash::{HashSender, LANES, Label, Message, ReedSolomonSender};
use cenote_engine::{Fault, JimuParams, Role};
use cenote_net::{Channel, Deviation};
use cenote_ot::{CotSend, watch};
use cenote_pool::{MemoryJournal, Pool};
use cenote_prim::{Block, Prg, SessionId};

use super::cheat::{Cheat, Plan};
use super::coins::Tosses;
use super::compact::Sent;
use super::items::{History, Kind};
use super::lies::{wrong_key, zero_seeds};

/// Pools of item numbers, and what is ready for requests.
#[derive(Default)]
pub(super) struct Pools {
    pub(super) full: BTreeMap<Kind, Pool<u64>>,
    pub(super) journal: MemoryJournal,
    pub(super) escrowed: VecDeque<Message>,
    pub(super) inputs: VecDeque<Label>,
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
    cheat: Cheat,
    prg: &mut Prg,
) -> Result<[Vec<Block>; 2], Fault> {
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
        watch::send(channel, cot, session, instance, list, code.w as usize, prg)?;
    }
    Ok(lists)
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
        let mut key = prg.block().with_lsb(true);
        let mut choices = params.ot.sender(&mut channel, &session, 0, key, &mut prg)?;
        let lists = send_seeds(&mut channel, &mut *choices, &session, &params, cheat, &mut prg);
        let [labels, perms] = lists?;
        let mut hash = ReedSolomonSender::new(&params.codes, session, &labels, &perms);
        let mut tosses = Tosses { session, role: Role::Garbler, count: 0, cheat };
        let (mut messages, mut frame) = (Vec::new(), vec![0; 16]);
        hash.hash(LANES, &mut messages, &mut frame);
        match cheat {
            Cheat::ZeroDelta => key = Block::ZERO,
            Cheat::EvenDelta => key ^= Block::ONE,
            Cheat::Correlation | Cheat::FittingCorrelation => key ^= wrong_key(),
            _ => {}
        }
        let shift = messages[0].label.key() ^ key;
        frame[..16].copy_from_slice(&shift.to_bytes());
        let delta = messages[0].label ^ Label::of_key(shift);
        hash.close(&mut frame);
        channel.send(jimu::tags::JIMU_DELTA, &frame)?;
        let coin = tosses.toss(&mut channel, &mut prg)?;
        channel.send(jimu::tags::JIMU_ANSWER, &hash.answer(coin))?;
        Ok(Garbler {
            pools: Pools::default(),
            history: History::default(),
            sent: Sent::default(),
            solders: Vec::new(),
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
        })
    }

    pub(super) fn cheats(&self, cheat: Cheat) -> bool {
        self.plan.cheat == cheat && self.reports >= self.plan.after
    }
}
