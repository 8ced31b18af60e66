//! Structured programs with inputs from their owners and outputs to their receivers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_circuit::{Gates, Layout, Plan, Ram, Reactive, Signature};
use cenote_net::{Fault, Role};
use cenote_prim::Prg;
use cenote_program::{EXECUTION, Host, Module, NamedMemory};

use crate::memory::{Coins, Machine};
use crate::named_memory::{MemoryUse, RamLife, RamStates, kept_name};
use crate::options::Rho;
use crate::party::{Party, Receivers, unlike};
use crate::program_job::{assign_inputs, bring_in, open_outputs};
use crate::session::Job;

/// Runs a module once. Owners and receivers are those of its ports.
pub struct ModuleJob<'m> {
    module: Cow<'m, Module>,
    signature: Signature,
    digest: [u8; 32],
    owners: Vec<Role>,
    inputs: Vec<Option<Vec<bool>>>,
    ands: u64,
    states: States,
}

/// States of random access memories: what a run finds, and what it leaves. A run that is made again, in the clear, finds and leaves the same.
#[derive(Default)]
struct States {
    found: Mutex<RamStates>,
    left: Mutex<RamStates>,
}

impl States {
    /// A panic elsewhere leaves these maps whole.
    fn of(states: &Mutex<RamStates>) -> MutexGuard<'_, RamStates> {
        states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'m> ModuleJob<'m> {
    /// A run of `module` in which this side, `role`, provides `own`: one value for each port it owns,
    /// in port order; the words of a vector one after the other, each least significant bit first.
    ///
    /// # Errors
    /// `Misuse` when the number of values or the width of one is not that of the ports.
    pub fn new(
        module: &'m Module,
        role: Role,
        own: Vec<Vec<bool>>,
    ) -> Result<ModuleJob<'m>, Fault> {
        let signature = module.signature();
        let owners = signature.owners();
        let inputs = assign_inputs(&signature, &owners, role, own)?;
        let digest = module.digest();
        let module = Cow::Borrowed(module);
        let states = States::default();
        Ok(ModuleJob { module, digest, signature, owners, inputs, ands: 0, states })
    }

    /// The same run in a session of this statistical security, which both sides have agreed on: its memories fail as rarely, where the
    /// program's own bound is 2^-40.
    #[must_use]
    pub fn at(mut self, rho: Rho) -> Self {
        at(&mut self.module, rho);
        self
    }

    /// The same run, which is known to take as many ANDs.
    #[must_use]
    pub fn of_ands(self, ands: u64) -> Self {
        Self { ands, ..self }
    }
}

impl Job for ModuleJob<'_> {
    /// One entry for each output port; `None` where the other party alone receives.
    type Output = Vec<Option<Vec<bool>>>;

    /// The digest binds ports, owners, receivers and what is computed; the version of the execution
    /// binds by which gates.
    fn terms(&self) -> Vec<(&'static str, String)> {
        let digest = self.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let execution = EXECUTION.to_string();
        vec![
            ("program", self.module.name().to_owned()),
            ("digest", digest),
            ("execution", execution),
        ]
    }

    fn ands(&self) -> u64 {
        self.ands
    }

    fn memories(&self) -> Vec<MemoryUse> {
        memory_uses(&self.module)
    }

    fn recall(&self, states: &RamStates) {
        let own = self.module.memories().iter().filter_map(|memory| {
            let state = states.get(&memory.name)?;
            Some((memory.name.clone(), state.clone()))
        });
        *States::of(&self.states.found) = own.collect();
        States::of(&self.states.left).clear();
    }

    fn states(&self) -> RamStates {
        States::of(&self.states.left).clone()
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        run_all(slice::from_ref(self), party)
    }
}

/// Several runs of modules as one job: the inputs of all come in first and the outputs of all are opened last, so that they take
/// the rounds of the longest and share its checks, if their outputs go to the same receivers. A fault is the fault of all of them.
pub struct ModuleJobs<'m>(Vec<ModuleJob<'m>>);

impl<'m> ModuleJobs<'m> {
    /// These runs, in this order, which the peer must give as well.
    #[must_use]
    pub fn new(jobs: Vec<ModuleJob<'m>>) -> ModuleJobs<'m> {
        ModuleJobs(jobs)
    }
}

impl Job for ModuleJobs<'_> {
    /// What each run gives, in their order.
    type Output = Vec<<ModuleJob<'static> as Job>::Output>;

    /// One run has its own terms; several have the hash of their digests.
    fn terms(&self) -> Vec<(&'static str, String)> {
        if let [job] = self.0.as_slice() {
            return job.terms();
        }
        let mut digests = blake3::Hasher::new_derive_key(SEVERAL);
        for job in &self.0 {
            digests.update(&job.digest);
        }
        vec![
            ("program", format!("{} programs", self.0.len())),
            ("digest", digests.finalize().to_hex().to_string()),
            ("execution", EXECUTION.to_string()),
        ]
    }

    fn ands(&self) -> u64 {
        self.0.iter().map(|job| job.ands).sum()
    }

    fn memories(&self) -> Vec<MemoryUse> {
        self.0.iter().flat_map(|job| memory_uses(&job.module)).collect()
    }

    fn recall(&self, states: &RamStates) {
        self.0.iter().for_each(|job| job.recall(states));
    }

    fn states(&self) -> RamStates {
        self.0.iter().flat_map(Job::states).collect()
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let mut outputs = run_all(&self.0, party)?.into_iter();
        let each =
            |job: &ModuleJob<'_>| outputs.by_ref().take(job.signature.outputs.len()).collect();
        Ok(self.0.iter().map(each).collect())
    }
}

fn at(module: &mut Cow<'_, Module>, rho: Rho) {
    if rho != Rho::Bits40 && module.keeps_memories() {
        module.to_mut().share_bound(rho.bits());
    }
}

/// As [`memory_uses`], in a session of this statistical security: its memories may be larger.
#[must_use]
pub fn memory_uses_at(module: &Module, rho: Rho) -> Vec<MemoryUse> {
    let mut module = Cow::Borrowed(module);
    at(&mut module, rho);
    memory_uses(&module)
}

/// What a module does with memories that outlive it, one entry for each with all its parts.
#[must_use]
pub fn memory_uses(module: &Module) -> Vec<MemoryUse> {
    let mut uses: Vec<MemoryUse> = Vec::new();
    for part in module.memories() {
        let NamedMemory { name, path, kind, shape, ram, .. } = part;
        let mut part_layout = format!("{path} {kind} {}", shape.width);
        if let Some(ram) = ram {
            // Its stashes follow from the session's bound, which both sides have agreed on.
            let (form, accesses) = (form(&ram.plan.layout), ram.accesses());
            part_layout.push_str(&format!(" for {accesses} accesses, {form}"));
        }
        let bits = part.plan().map_or(shape.bits(), |plan| plan.resting_wires() as usize);
        let life = ram.as_ref();
        let life = life.map(|ram| RamLife { accesses: ram.accesses(), spends: ram.spends });
        let whole = name.split('.').next().unwrap_or_default();
        match uses.last_mut().filter(|memory| memory.name == whole) {
            Some(memory) => {
                memory.layout.push_str(", ");
                memory.layout.push_str(&part_layout);
                memory.bits = memory.bits.saturating_add(bits);
                memory.lives.extend(life);
            }
            None => uses.push(MemoryUse {
                name: whole.to_owned(),
                layout: part_layout,
                bits,
                is_new: part.is_new,
                is_kept: part.is_kept(),
                lives: life.into_iter().collect(),
            }),
        }
    }
    uses
}

/// A way to keep a random access memory, in a few words.
fn form(layout: &Layout) -> String {
    match layout {
        Layout::Scan => "scanned".into(),
        Layout::Trees { trees, factor } => format!("{trees} trees of 2^{factor}"),
        Layout::SquareRoot { levels, factor, period } => {
            format!("square root of {levels} levels of 2^{factor}, shuffled every {period}")
        }
    }
}

/// What several digests are hashed for.
const SEVERAL: &str = "cenote 2026 engine digest of several modules v1";

/// Runs modules; their outputs one after the other.
fn run_all<P: Party>(
    jobs: &[ModuleJob<'_>],
    party: &mut P,
) -> Result<Vec<Option<Vec<bool>>>, Fault> {
    if jobs.len() > 1 && jobs.iter().any(|job| !job.module.memories().is_empty()) {
        return Err(Fault::Misuse("a job with memories that outlive it runs alone".into()));
    }
    let inputs = jobs.iter().map(|job| bring_in(party, &job.signature, &job.owners, &job.inputs));
    let inputs = inputs.collect::<Result<Vec<_>, Fault>>()?;
    // Other ones in every run: who has seen a leaf knows what this side tossed for it.
    let mut coins = Coins::new(Prg::from_os());
    let (mut outputs, mut receivers) = (Vec::new(), Vec::new());
    for (job, wires) in jobs.iter().zip(inputs) {
        let found = take_up(party, &job.module)?;
        let machine = Machine { party, coins: &mut coins };
        let mut host = OnParty { machine, found, states: &job.states };
        outputs.extend(job.module.run_on(&mut host, wires)?);
        let ports = &job.signature.outputs;
        receivers.extend(ports.iter().map(|port| port.receiver.unwrap_or(Receivers::Both)));
    }
    open_outputs(party, &outputs, &receivers)
}

/// The memories that a module goes on with, all of them together, by name.
fn take_up<P: Party>(party: &mut P, module: &Module) -> Result<Found<P::Wire>, Fault> {
    let found = |memory: &&NamedMemory| !memory.is_new && memory.plan().is_none();
    let memories: Vec<_> = module.memories().iter().filter(found).collect();
    if memories.is_empty() {
        return Ok(Found::new());
    }
    let names: Vec<String> = memories.iter().map(|memory| kept_name(&memory.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wires = party.kept_all(&names)?;
    Ok(memories.into_iter().map(|memory| memory.name.clone()).zip(wires).collect())
}

type Found<W> = BTreeMap<String, Vec<W>>;

/// A party as the machine of a module: what it reveals goes to both, and it keeps memories.
struct OnParty<'p, P: Party> {
    machine: Machine<'p, P>,
    /// What no statement has taken yet.
    found: Found<P::Wire>,
    states: &'p States,
}

impl<P: Party> Gates for OnParty<'_, P> {
    type Wire = P::Wire;
    type Error = Fault;
    cenote_circuit::delegate!(self => self.machine);
}

impl<P: Party> Host for OnParty<'_, P> {
    fn reveal(&mut self, wires: &[P::Wire]) -> Result<Vec<bool>, Fault> {
        self.machine.open(wires)
    }

    fn found(&mut self, memory: &NamedMemory) -> Result<Vec<P::Wire>, Fault> {
        let wires = self.found.remove(&memory.name).unwrap_or_default();
        if wires.len() == memory.shape.bits() {
            return Ok(wires);
        }
        Err(Fault::Internal("a memory has another size than its layout says".into()))
    }

    fn leave(&mut self, memory: &NamedMemory, wires: &[P::Wire]) -> Result<(), Fault> {
        // One that begins and ends with the run was never kept.
        if wires.is_empty() && memory.is_new {
            return Ok(());
        }
        self.machine.party.keep(&kept_name(&memory.name), wires)
    }

    fn found_ram(&mut self, memory: &NamedMemory, plan: &Plan) -> Result<Ram<P::Wire>, Fault> {
        let state = States::of(&self.states.found).get(&memory.name).cloned();
        let state = state.ok_or_else(unlike)?;
        self.machine.kept(&kept_name(&memory.name), plan.clone(), state)
    }

    fn leave_ram(&mut self, memory: &NamedMemory, ram: Ram<P::Wire>) -> Result<(), Fault> {
        let state = self.machine.keep(&kept_name(&memory.name), ram)?;
        States::of(&self.states.left).insert(memory.name.clone(), state);
        Ok(())
    }

    fn memories(&mut self) -> Option<&mut dyn Reactive<Wire = P::Wire, Error = Fault>> {
        Some(&mut self.machine)
    }
}
