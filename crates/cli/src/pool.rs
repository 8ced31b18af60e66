//! `cenote pool`: items that are made ahead of programs and kept on disk.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cenote_engine::backends::wrk::supply::MAX_STOCK;
use cenote_engine::{Backend, MOST_POOLS, Session, SessionConfig, kept_items};
use cenote_job::Summary;
use cenote_pool::{DiskStore, Ledger, Store, StoreFailure, StoreKey};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::args::{PeerArgs, SecurityArgs, ThreadArgs};
use crate::evidence;
use crate::exit::{Failure, Kind};
use crate::output::{self, Format, Reply};
use crate::party::Meeting;
use crate::progress::Meter;
use crate::store_key::KeyArgs;

/// What is kept with one peer, on disk.
#[derive(Args)]
pub(crate) struct StoreArgs {
    /// Directory of what is kept with one peer. Keep it out of backups and images.
    #[arg(value_name = "DIR", requires = "key")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Subcommand)]
pub(crate) enum PoolCommand {
    /// Make items with the peer, ahead of programs, and keep them.
    Fill(Box<FillArgs>),
    /// Show what is kept; a copy that was put back is destroyed by that, as by any opening.
    Show(StoreArgs),
    /// Destroy what is kept; the peer's is destroyed when both meet.
    End(StoreArgs),
    /// Permit sessions with a peer of which a check has failed.
    Lift(StoreArgs),
}

#[derive(Args)]
pub(crate) struct FillArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Ready triples (wrk) or buckets (jimu) that there are to be at least, one for each AND of later programs; both sides name as many.
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..=MAX_STOCK as u64))]
    pub(crate) ands: u64,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Should an earlier session have found that the peer cheated, keep the evidence in FILE, readable for its owner alone (jimu, for the
    /// evaluator).
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,
}

/// Triples between two steps of the bar.
const STEP: usize = 1 << 15;

pub(crate) fn command(command: PoolCommand, format: Format) -> Result<Reply, Failure> {
    match command {
        PoolCommand::Fill(args) => fill(*args, format),
        PoolCommand::Show(args) => show(&args),
        PoolCommand::End(args) => {
            let mut store = args.open()?;
            store.end(false).map_err(failed)?;
            shown(
                &store,
                &args.store,
                "nothing is kept any more; the peer's items end when both meet",
            )
        }
        PoolCommand::Lift(args) => {
            let mut store = args.open()?;
            let what = match store.ledger().held {
                true => "sessions with this peer may open again",
                false => "no session with this peer was held",
            };
            store.release().map_err(failed)?;
            shown(&store, &args.store, what)
        }
    }
}

impl StoreArgs {
    /// What is kept there.
    fn open(&self) -> Result<DiskStore, Failure> {
        open(&self.store, &key(&self.store, &self.key)?)
    }
}

/// What opens the store in `dir`, which is there.
pub(crate) fn key(dir: &Path, key: &KeyArgs) -> Result<StoreKey, Failure> {
    if !dir.exists() {
        let dir = dir.display();
        let message = format!("{dir}: nothing is kept there; `cenote pool fill {dir}` makes it");
        return Err(Failure::bad_input(message));
    }
    key.key(dir)
}

/// The store in `dir`, or a new one where there is no such directory.
pub(crate) fn open(dir: &Path, key: &StoreKey) -> Result<DiskStore, Failure> {
    let store = DiskStore::open(dir, key).map_err(failed)?;
    if store.restored() {
        output::note(&format!(
            "{}: this is a copy, or a backup that was put back: its items may have been used and were destroyed",
            dir.display()
        ));
    }
    Ok(store)
}

/// The configuration of a session whose items are kept.
pub(crate) fn kept(config: SessionConfig) -> Result<SessionConfig, Failure> {
    if config.backend.keeps_items() {
        return Ok(config.lasting());
    }
    let with = Backend::ALL.into_iter().filter(|backend| backend.keeps_items());
    let names = with.map(Backend::name).collect::<Vec<_>>().join(" or ");
    Err(Failure::bad_input(format!("{} keeps no items; use {names}", config.backend.name())))
}

fn fill(args: FillArgs, format: Format) -> Result<Reply, Failure> {
    let config = kept(args.security.chosen()?)?.for_ands(args.ands);
    Backend::shown(&config).map_err(Failure::unusable)?;
    evidence::check(args.evidence.as_deref(), config.backend)?;
    if args.peer.insecure_plaintext {
        let what = "--insecure-plaintext: items are kept with a peer that is known";
        return Err(Failure::bad_input(format!("{what}; pair with it and give --identity")));
    }
    let role = args.peer.role;
    let (dir, key) = (&args.store.store, args.store.key.key(&args.store.store)?);
    let (meeting, interrupt) = Meeting::prepare(args.peer, format)?;
    let store = open(dir, &key)?;
    let started = Instant::now();
    let channels = meeting.channels(&interrupt)?;
    let ands = args.ands as usize;
    let meter = Meter::start(args.ands, "triples");
    let facts = |all: cenote_net::Handshake| {
        let options = config.options();
        let all = all.field("for", "pool fill").field("ands", ands.to_string());
        options
            .fold(all, |all, (name, value)| all.field(&format!("option {name}"), value.to_string()))
    };
    let work = || {
        let mut session = Session::open_kept(channels, role, &config, facts, Box::new(store))?;
        session.set_threads(args.threads.threads)?;
        session.fill()?;
        for step in (STEP..ands + STEP).step_by(STEP) {
            let level = step.min(ands);
            session.stock(level)?;
            meter.count().store(level as u64, std::sync::atomic::Ordering::Relaxed);
        }
        let summary = Summary::of(&mut session);
        session.put_away()?;
        Ok::<_, cenote_engine::Fault>(summary)
    };
    let summary = work().map_err(|fault| interrupt.or(fault.into()))?;
    drop(meter);
    let found = summary.evidence.as_ref();
    let found = found.map(|found| evidence::report(found, args.evidence.as_deref()));
    let store = open(dir, &key)?;
    let kept = ready(&store)?;
    let promise = summary.claims.promise;
    let traffic = summary.counters.total();
    let wall_s = started.elapsed().as_secs_f64();
    let text = format!("{}\nin {wall_s:.1} s", table(&kept, store.ledger(), dir));
    let mut json = ledger(&kept, store.ledger());
    json["role"] = role.name().into();
    json["backend"] = config.backend.name().into();
    json["configuration"] = json!(config);
    json["epsilon_log2"] = json!(promise.adaptive_epsilon_log2);
    json["kappa"] = json!(promise.kappa);
    json["evidence"] = json!(found);
    json["bytes_sent"] = traffic.bytes_sent.into();
    json["bytes_received"] = traffic.bytes_received.into();
    json["wall_s"] = wall_s.into();
    Ok(Reply::new(json, text))
}

fn show(args: &StoreArgs) -> Result<Reply, Failure> {
    let store = args.open()?;
    let kept = ready(&store)?;
    Ok(Reply::new(ledger(&kept, store.ledger()), table(&kept, store.ledger(), &args.store)))
}

fn shown(store: &DiskStore, dir: &Path, what: &str) -> Result<Reply, Failure> {
    let kept = ready(store)?;
    let text = format!("{}\n{what}", table(&kept, store.ledger(), dir));
    Ok(Reply::new(ledger(&kept, store.ledger()), text))
}

type Kept = Vec<(String, u64)>;

fn ready(store: &DiskStore) -> Result<Kept, Failure> {
    kept_items(store).map_err(failed)
}

fn ledger(kept: &Kept, ledger: &Ledger) -> Value {
    let ready: Map<String, Value> =
        kept.iter().map(|(stock, items)| (stock.clone(), (*items).into())).collect();
    let epoch = ledger.epoch.map(|name| output::hex(&name));
    json!({
        "epoch": epoch,
        "epochs": ledger.epochs,
        "pools": ledger.pools,
        "held": ledger.held,
        "ready": ready,
    })
}

fn table(kept: &Kept, ledger: &Ledger, dir: &Path) -> String {
    let mut lines = vec![format!("store   {}", dir.display())];
    match &ledger.epoch {
        Some(name) => {
            lines.push(format!("epoch   {} ({} so far)", &output::hex(name)[..16], ledger.epochs))
        }
        None => lines.push("epoch   none".into()),
    }
    lines.extend(kept.iter().map(|(stock, items)| format!("ready   {items} of {stock}")));
    lines.push(format!("pools   {} of {MOST_POOLS} begun with this peer", ledger.pools));
    if ledger.held {
        lines.push("held    a check failed: no session opens before `cenote pool lift`".into());
    }
    lines.join("\n")
}

fn failed(failure: StoreFailure) -> Failure {
    Failure::new(Kind::Storage, failure.to_string())
}
