//! One party alone, against what its peer sent in a run that was recorded before: what it does is the same every time, so that its
//! instructions can be counted.

use std::sync::Arc;

use cenote_engine::{Fault, ModuleJob, Receivers, Role, Session};
use cenote_net::{Channel, Direction, replay};
use cenote_program::Module;

use crate::run::{config, expected, patient_pair, prg_of, sessions_over};

/// A program of any size on a backend.
#[derive(Debug)]
pub struct Case {
    /// Names it.
    pub name: &'static str,
    /// The session, as `--backend` names it.
    pub session: &'static str,
    /// The text form of a program of this size: each party brings in one vector of so many words of 32 bits.
    pub program: fn(usize) -> String,
    /// The size of which it is counted.
    pub size: usize,
}

/// What is counted.
pub const CASES: [Case; 6] = [
    Case { name: "plain, loop", session: "plain", program: round_after_round, size: 1024 },
    Case { name: "yao, words", session: "yao", program: words, size: 256 },
    Case { name: "yao, sort", session: "yao", program: sort, size: 256 },
    Case { name: "yao, loop", session: "yao", program: round_after_round, size: 256 },
    Case { name: "yao, chain", session: "yao", program: chain, size: 256 },
    Case { name: "wrk, words", session: "wrk:pool=400", program: words, size: 4 },
];

/// A program of two vectors and what `body` makes of them, `%r` in the end.
fn program(n: usize, body: &str) -> String {
    format!(
        "cenote 1\nprogram p \"\"\ninput a: garbler uint {n}xb32\ninput b: evaluator uint {n}xb32\n{{\n{body}}}\noutput r: both bits %r\n"
    )
}

/// Operations on all words at once.
fn words(n: usize) -> String {
    program(
        n,
        "%s = add %0, %1\n%m = mul %s, %1\n%l = lt %m, %0\n%x = xor %m, %1\n%r = mux %l, %x, %s\n",
    )
}

fn sort(n: usize) -> String {
    program(n, "%j = join %0, %1\n%r = sort{lo=0, key=32, signed=0, descending=0} %j\n")
}

/// A round for each word, on sixteen words.
fn round_after_round(n: usize) -> String {
    let body = format!(
        "%f = lanes{{at=0, count=16, stride=1}} %0\n%r = for {n} (%f) {{ |%s|\n\
         %w = lanes{{at=0 + 1*i0, count=1, stride=1}} %1\n%t = add %s, %w\n%l = lt %t, %s\n%x = xor %t, %w\n\
         %u = mux %l, %x, %t\nyield %u\n}}\n"
    );
    program(n, &body)
}

/// A round for each word, on one.
fn chain(n: usize) -> String {
    let body = format!(
        "%f = lanes{{at=0, count=1, stride=1}} %0\n%r = for {n} (%f) {{ |%s|\n\
         %w = lanes{{at=0 + 1*i0, count=1, stride=1}} %1\n%t = add %s, %w\nyield %t\n}}\n"
    );
    program(n, &body)
}

/// Randomness of both parties.
const SEED: u128 = 77;

impl Case {
    /// The program.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn module(&self) -> Module {
        let text = (self.program)(self.size);
        Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// The ANDs of the program.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn ands(&self) -> u64 {
        self.module().stats().unwrap_or_else(|error| panic!("{error}")).ands
    }

    /// What each party receives, the garbler's first.
    ///
    /// # Panics
    /// If the parties do not agree with clear evaluation.
    #[must_use]
    pub fn record(&self) -> [Vec<u8>; 2] {
        let (mut a, mut b) = patient_pair();
        let recordings = [a.record(), b.record()];
        let ends =
            sessions_over((a, b), &config(self.session), SEED, |s, role| self.run(s, role, true));
        assert_eq!(ends, (Ok(()), Ok(())), "{}", self.name);
        recordings.map(|recording| recording.wire_bytes(Direction::Received))
    }

    /// Plays one party: its session with all that the program uses up, and the program, if it is `run`.
    ///
    /// # Panics
    /// If it does not obtain what clear evaluation gives.
    pub fn play(&self, role: Role, received: Vec<u8>, run: bool) {
        let channel: Channel = replay(Arc::new(received));
        let session =
            Session::open_seeded(channel, role, &config(self.session), prg_of(role, SEED));
        let end = session.and_then(|mut session| self.run(&mut session, role, run));
        assert_eq!(end, Ok(()), "{}", self.name);
    }

    fn run(&self, session: &mut Session, role: Role, run: bool) -> Result<(), Fault> {
        let module = self.module();
        let inputs = [1u32, 0x9e37_79b9].map(|factor| {
            let word = |i: u32| (0..32).map(move |bit| i.wrapping_mul(factor) >> bit & 1 == 1);
            (1..=self.size as u32).flat_map(word).collect::<Vec<bool>>()
        });
        let expected = expected(&module.evaluate(&inputs), Receivers::Both, role);
        let job = ModuleJob::new(&module, role, vec![inputs[role as usize].clone()])?;
        if config(self.session).has_pool() {
            session.fill()?;
            session.stock(self.ands() as usize)?;
        }
        if run {
            assert_eq!(session.run(&job)?.output, expected);
        }
        Ok(())
    }
}
