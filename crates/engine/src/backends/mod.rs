//! The backends: a folder each, and its name in two places here. They do not see each other.
//!
//! A backend gives an implementation of [`Protocol`], written in its folder; sessions, plans,
//! claims and lists of tags take it from there. docs/contribute/backend.md goes through it step by
//! step.

// Not in the list below: tools look for modules in the text (rustfmt, cargo-mutants).
pub mod jimu;
pub mod plain;
pub mod wrk;
pub mod yao;

use std::str::FromStr;

use cenote_net::{Channel, Channels, Counters, Fault, Role, Tag};
use cenote_pool::{Journal, Level, Occupancy, Store};
use cenote_prim::{Prg, SessionId};
use serde_json::{Map, Value};

use crate::NamedMemories;
use crate::claims::{Evidence, Promise};
use crate::cost::{Demand, OnTheLine, Plan, Speed};
use crate::options::{Opt, SessionConfig};
use crate::party::MAX_KEPT_WIRES;
use crate::session::Job;

/// The size of a program that takes a moment on a backend, for measuring machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeSize {
    /// Rounds of a loop, in halves.
    pub trips: u32,
    /// Bits of an input.
    pub inputs: u32,
}

/// The terms that both sides must agree on, by name. Never a secret: differing values are shown to
/// both sides.
pub type Terms = Vec<(&'static str, String)>;

/// A backend: how its parameters follow from what the owners choose, what it promises and costs under them,
/// and one party's end of a session of it.
pub trait Protocol: Live + Sized + Send {
    /// The name in commands, handshakes and results.
    const NAME: &'static str;
    /// The tags of its messages, those of [`parts`](crate::parts) and of oblivious transfer aside.
    const TAGS: &'static [Tag];
    /// The options that owners choose, in the order in which they are shown.
    const OPTIONS: &'static [Opt] = &[];
    /// Whether a party can be left with [`Evidence`] against the other.
    const GIVES_EVIDENCE: bool = false;
    /// Whether wires can be kept for later requests of a session: [`Party::keep`](crate::Party::keep).
    const KEEPS_WIRES: bool = false;
    /// How many, under all names together.
    const MOST_KEPT_WIRES: usize = MAX_KEPT_WIRES;
    /// The speed of a machine that was not measured.
    const TYPICAL: Speed;
    /// The size of a program that runs for a moment.
    const PROBE: ProbeSize;
    /// Whether items outlive a session: [`Session::open_kept`](crate::Session::open_kept).
    const KEEPS_ITEMS: bool = false;
    /// Data channels that a session opens beside the control channel, where the link to the peer lets it.
    const DATA_CHANNELS: u32 = 0;
    /// The parameters that follow from the choices of the owners.
    type Params;

    /// Derives the parameters.
    ///
    /// # Errors
    /// `Policy` when there are none that are sound for the choice.
    fn derive(config: &SessionConfig) -> Result<Self::Params, Fault>;

    /// Returns the terms that both sides must agree on besides the backend: none, if owners choose
    /// nothing.
    fn terms(_params: &Self::Params) -> Terms {
        Vec::new()
    }

    /// The derived parameters, as results show them.
    #[must_use]
    fn shown(_params: &Self::Params) -> Value {
        Value::Null
    }

    /// Returns the promise that it makes.
    fn promises(params: &Self::Params) -> Promise;

    /// Adds what a session does that computes `demand` once, from its set-up on.
    fn plan(params: &Self::Params, demand: &Demand, plan: &mut Plan);

    /// Sets a session up. `session` comes from a handshake that fresh randomness of both sides went into;
    /// `prg` gives this side's own, to a backend that draws any; `store`, what an earlier session kept, to one that keeps items.
    ///
    /// # Errors
    /// Faults of the channel and of the checks; the channel has told the peer.
    fn open(
        channels: Channels,
        session: SessionId,
        role: Role,
        params: Self::Params,
        prg: impl FnOnce() -> Prg,
        store: Option<Box<dyn Store>>,
    ) -> Result<Self, Fault>;

    /// Runs `job` as the next request, and every check that is still outstanding.
    ///
    /// # Errors
    /// Faults of the job and of the checks. There is no request after one.
    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault>;
}

/// The services that a session of any backend offers between its requests.
pub trait Live {
    /// The control channel: for handshakes, limits and cancellation.
    fn channel(&mut self) -> &mut Channel;

    /// Traffic of all channels so far, and the time of the control channel.
    fn counters(&mut self) -> Counters {
        self.channel().counters()
    }

    /// Ends the session in order.
    fn close(&mut self) {
        self.channel().close();
    }

    /// Ends the session, for the peer as well; returns the fault to report where `fault` was met.
    fn fail(&mut self, fault: Fault) -> Fault {
        self.channel().abort();
        fault
    }

    /// Returns the promise of the session, under its parameters.
    fn promise(&self) -> Promise;

    /// Proof that the peer has cheated, once there is any.
    fn evidence(&self) -> Option<Evidence> {
        None
    }

    /// Fills the pools, if there are any.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    fn fill(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Makes what `ands` ANDs take, if anything is made ahead, as far as there is room for it.
    ///
    /// # Errors
    /// Faults of the channel and of the checks.
    fn stock(&mut self, _ands: usize) -> Result<(), Fault> {
        Ok(())
    }

    /// From now on makes what ANDs take beside requests, where that can be: where it is ready for fewer than `low`, until it is for `high`.
    ///
    /// # Errors
    /// `Internal` when the system lacks what that takes.
    fn keep(&mut self, _low: usize, _high: usize) -> Result<(), Fault> {
        Ok(())
    }

    /// Keeps what is ready for a later session, and `memories` if the backend can; for the `last` time, the pools as well.
    ///
    /// # Errors
    /// `Misuse` when the session keeps nothing; `Storage`; faults of the channel.
    fn save(&mut self, _last: bool, _memories: &NamedMemories) -> Result<(), Fault> {
        Err(Fault::Misuse("this backend keeps no items".into()))
    }

    /// A job may change memories, or show what hangs on them: those that were saved go no further, from before this returns.
    ///
    /// # Errors
    /// `Storage`.
    fn change_memories(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Forgets, and wipes, the wires that are kept under names that `are_gone`, for a backend that keeps any.
    fn forget(&mut self, _are_gone: &dyn Fn(&str) -> bool) {}

    /// The memories that an earlier session saved, whose wires this one keeps.
    ///
    /// # Errors
    /// `Storage`, also for memories of another version, which have ended by then.
    fn saved_memories(&mut self) -> Result<NamedMemories, Fault> {
        Ok(NamedMemories::default())
    }

    /// Whether a job may have changed memories since they were saved, with a store that has them.
    fn has_unsaved_memories(&self) -> bool {
        false
    }

    /// What the session took by its line as it opened, if anything.
    fn on_the_line(&self) -> Option<OnTheLine> {
        None
    }

    /// Levels of the pools and stocks, if there are any.
    fn occupancy(&self) -> Option<Occupancy> {
        None
    }

    /// The level of what [`Live::stock`] makes, for a backend that makes anything ahead.
    fn ready(&self) -> Option<Level> {
        None
    }

    /// Shows `journal` whatever leaves the pools and stocks from now on, before it leaves.
    ///
    /// # Errors
    /// `Misuse` when something has left.
    fn set_journal(&mut self, _journal: Box<dyn Journal>) -> Result<(), Fault> {
        Ok(())
    }

    /// Spreads the computation of this side over so many threads, as far as the backend can. The bytes that it sends
    /// stay the same.
    ///
    /// # Errors
    /// `Misuse` when it works already; `Internal` when there is no thread for it.
    fn set_threads(&mut self, _threads: usize) -> Result<(), Fault> {
        Ok(())
    }

    /// Lets so many triples be made ahead of a running job, for a backend that makes them beside it.
    fn set_ahead(&mut self, _triples: usize) {}

    /// The pools of garbled cores, to be measured one by one.
    fn cores(&mut self) -> Option<&mut dyn MeasuredCores> {
        None
    }
}

/// Pools of garbled cores, by the number of ANDs of a core, for benchmarks: nothing here serves a request.
pub trait MeasuredCores {
    /// Fills the pool of cores of `width` alone.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool; faults of the channel and of the checks.
    fn fill_pool(&mut self, width: usize) -> Result<(), Fault>;

    /// Makes a batch of `items` cores of `width`, checks every one of them and throws all away.
    /// Garbling and hashing are charged to preprocessing, opening and checking to the online phase,
    /// so that the times by phase give the speed of either: of the slower party, as each waits for the
    /// other.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool, or when its batches are smaller than `items`; faults of
    /// the channel and of the checks.
    fn rehearse(&mut self, width: usize, items: usize) -> Result<(), Fault>;

    /// Bytes that this side keeps for the items of the pool of cores of `width`; none before it is
    /// filled.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool.
    fn stored_bytes(&mut self, width: usize) -> Result<usize, Fault>;
}

/// Makes the list of backends out of a line for each.
macro_rules! backends {
    ($($(#[doc = $doc:literal])* $name:ident = $folder:ident::$session:ident,)*) => {
        /// The protocol a session speaks.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Backend {
            $($(#[doc = $doc])* $name,)*
        }

        /// A session of any backend. Boxed, so that a session that moves leaves no copy of its keys behind.
        pub(crate) enum Opened {
            $($name(Box<$folder::$session>),)*
        }

        impl Backend {
            /// All backends.
            pub const ALL: [Backend; [$(Backend::$name,)*].len()] = [$(Backend::$name,)*];

            /// The name in commands, handshakes and results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::NAME,)*
                }
            }

            /// A line for people: its documentation.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self {
                    $(Backend::$name => concat!($($doc),*).trim_ascii(),)*
                }
            }

            /// The tags of its own messages.
            #[must_use]
            pub const fn tags(self) -> &'static [Tag] {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::TAGS,)*
                }
            }

            /// The options that owners choose, in the order in which they are shown.
            #[must_use]
            pub const fn options(self) -> &'static [Opt] {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::OPTIONS,)*
                }
            }

            /// Whether a party can be left with [`Evidence`] against the other.
            #[must_use]
            pub const fn gives_evidence(self) -> bool {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::GIVES_EVIDENCE,)*
                }
            }

            /// Data channels that a session opens where its link to the peer lets it.
            #[must_use]
            pub const fn data_channels(self) -> u32 {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::DATA_CHANNELS,)*
                }
            }

            /// Whether wires can be kept for later requests of a session.
            #[must_use]
            pub const fn keeps_wires(self) -> bool {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::KEEPS_WIRES,)*
                }
            }

            /// Most wires that a session keeps for later requests.
            #[must_use]
            pub const fn most_kept_wires(self) -> usize {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::MOST_KEPT_WIRES,)*
                }
            }

            /// Whether items can be kept for later sessions.
            #[must_use]
            pub const fn keeps_items(self) -> bool {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::KEEPS_ITEMS,)*
                }
            }

            /// The size of a program that takes a moment.
            #[must_use]
            pub const fn probe(self) -> ProbeSize {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::PROBE,)*
                }
            }

            /// The parameters that follow from `config`, as results show them.
            ///
            /// # Errors
            /// `Policy` when there are none that are sound.
            pub fn shown(config: &SessionConfig) -> Result<Map<String, Value>, Fault> {
                let shown = match config.backend {
                    $(Backend::$name => $folder::$session::shown(&$folder::$session::derive(config)?),)*
                };
                Ok(shown.as_object().cloned().unwrap_or_default())
            }

            /// The speed of a machine that was not measured.
            #[must_use]
            pub const fn typical_speed(self) -> Speed {
                match self {
                    $(Backend::$name => <$folder::$session as Protocol>::TYPICAL,)*
                }
            }

            /// Returns the terms that both sides of a session must agree on besides the backend.
            pub(crate) fn terms(self, config: &SessionConfig) -> Result<Terms, Fault> {
                Ok(match self {
                    $(Backend::$name => $folder::$session::terms(&$folder::$session::derive(config)?),)*
                })
            }

            /// Adds what a session does after its handshake.
            pub(crate) fn plan(
                self,
                config: &SessionConfig,
                demand: &Demand,
                plan: &mut Plan,
            ) -> Result<(), Fault> {
                match self {
                    $(Backend::$name => {
                        $folder::$session::plan(&$folder::$session::derive(config)?, demand, plan);
                    })*
                }
                Ok(())
            }

            /// Sets a session up that was agreed on.
            pub(crate) fn open(
                self,
                channels: Channels,
                session: SessionId,
                role: Role,
                config: &SessionConfig,
                prg: impl FnOnce() -> Prg,
                store: Option<Box<dyn Store>>,
            ) -> Result<Opened, Fault> {
                Ok(match self {
                    $(Backend::$name => {
                        let params = $folder::$session::derive(config)?;
                        let open = $folder::$session::open(channels, session, role, params, prg, store)?;
                        Opened::$name(Box::new(open))
                    })*
                })
            }
        }

        impl Opened {
            pub(crate) fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
                match self {
                    $(Opened::$name(session) => session.run(job),)*
                }
            }

            pub(crate) fn live(&self) -> &dyn Live {
                match self {
                    $(Opened::$name(session) => session.as_ref(),)*
                }
            }

            pub(crate) fn live_mut(&mut self) -> &mut dyn Live {
                match self {
                    $(Opened::$name(session) => session.as_mut(),)*
                }
            }
        }
    };
}

backends! {
    /// Clear evaluation: the peer sees all inputs.
    Plain = plain::PlainSession,
    /// Half-gates garbled circuits, semi-honest.
    Yao = yao::YaoSession,
    /// Authenticated garbling on a pool, malicious.
    Wrk = wrk::WrkSession,
    /// LEGO with interactive hashes on a pool, malicious.
    Jimu = jimu::JimuSession,
}

impl FromStr for Backend {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Backend, Fault> {
        let found = Backend::ALL.into_iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Backend::ALL.iter().map(|backend| backend.name()).collect();
            Fault::Misuse(format!("there is no backend `{name}`; use {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use cenote_ot::Choice;

    use super::jimu::{JimuParams, JimuSwitches};
    use super::wrk::{WrkParams, WrkSession};
    use super::yao::{YaoParams, YaoSession};
    use super::*;
    use crate::options::{PoolChoice, Rho};

    #[test]
    fn another_oblivious_transfer_is_one_term_more() {
        let (ot, pool) = (Choice::softspoken(8).expect("allowed"), PoolChoice::Kept(1_100));
        let yao = YaoParams::default();
        let wrk = WrkParams::derive(pool, Rho::Bits40).expect("sound");
        let jimu = JimuParams::derive(pool, Rho::Bits40, JimuSwitches::DEFAULT).expect("sound");
        for (usual, mut other) in [
            (YaoSession::terms(&yao), YaoSession::terms(&YaoParams { ot })),
            (
                WrkSession::terms(&wrk),
                WrkSession::terms(&WrkParams { ot, ot_by_line: false, ..wrk }),
            ),
            (jimu.terms(), JimuParams { ot, ..jimu.clone() }.terms()),
        ] {
            assert_eq!(other.pop(), Some(("ot", ot.to_string())));
            assert_eq!(other, usual);
        }
    }
}
