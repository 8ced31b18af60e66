//! Memories of a party: what they open, and what an overflow ends.

use cenote_circuit::{Access, Layout, Needs, Plan, bits_of, value_of};
use cenote_engine::{Backend, Fault, Job, Party, Receivers, Role};
use cenote_testkit::run::{prg_of, sessions, smallest};

/// Writes each place of a memory in turn, and reads it back later.
struct Rounds {
    role: Role,
    plan: Plan,
    steps: usize,
}

impl Job for Rounds {
    type Output = Vec<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "rounds".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<u128>, Fault> {
        let blocks = self.plan.needs.blocks;
        let mut memory = party.init_ram(self.plan.clone(), None, prg_of(self.role, 5))?;
        let mut seen = Vec::new();
        for step in 0..self.steps {
            let place: Vec<P::Wire> = constants(party, (step % blocks) as u128, 6)?;
            let word = constants(party, step as u128 % 251, 8)?;
            let old = party.update_ram(&mut memory, &place, |_, _| Ok(word));
            let old = match old {
                Ok(old) => old,
                Err(fault) => {
                    // Nothing comes after it.
                    let next = party.access_ram(&mut memory, &place, Access::Read).err();
                    assert!(matches!(next, Some(Fault::Misuse(_))), "{next:?}");
                    return Err(fault);
                }
            };
            let bits = party.reveal(Receivers::Both, &old)?.unwrap_or_default();
            let before = step.checked_sub(blocks).map_or(0, |step| step as u128 % 251);
            assert_eq!(value_of(&bits), before, "step {step}");
            seen.push(before);
        }
        Ok(seen)
    }
}

fn constants<P: Party>(party: &mut P, value: u128, width: usize) -> Result<Vec<P::Wire>, Fault> {
    bits_of(value, width).into_iter().map(|bit| party.constant(bit)).collect()
}

/// A stash that is too small overflows on both sides at the same access, and until then nothing wrong is read.
#[test]
fn an_overflow_is_a_fault_of_its_own_on_both_sides() {
    let mut plan =
        Plan::new(Needs::new(64, 8, 1000), Layout::Trees { trees: 1, factor: 1 }).unwrap();
    (plan.trees[0].bucket, plan.trees[0].stash) = (1, 2);
    let ends = sessions(&smallest(Backend::Plain), 4, |session, role| {
        session.run(&Rounds { role, plan: plan.clone(), steps: 1000 }).map(|outcome| outcome.output)
    });
    let what = |end: Result<Vec<u128>, Fault>| match end {
        Err(Fault::Exhausted(what)) => what,
        other => panic!("{other:?}"),
    };
    let (garbler, evaluator) = (what(ends.0), what(ends.1));
    assert!(garbler.contains("overflowed"), "{garbler}");
    assert_eq!(garbler, evaluator);
}

/// With the stash of the plan it does not; then its accesses are over.
#[test]
fn a_memory_lasts_for_the_accesses_of_its_plan() {
    for (steps, is_over) in [(300, false), (301, true)] {
        let plan =
            Plan::new(Needs::new(64, 8, 300), Layout::Trees { trees: 2, factor: 2 }).unwrap();
        let ends = sessions(&smallest(Backend::Plain), 4, |session, role| {
            session
                .run(&Rounds { role, plan: plan.clone(), steps })
                .map(|outcome| outcome.output.len())
        });
        match ends {
            (Ok(300), Ok(300)) => assert!(!is_over),
            (Err(Fault::Exhausted(_)), Err(Fault::Exhausted(_))) => assert!(is_over),
            other => panic!("{other:?}"),
        }
    }
}
