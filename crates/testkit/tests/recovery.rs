//! Two valid labels of one wire: the evaluator finishes in the clear, and the garbler, who made the
//! bad gate, sees nothing of it.
//!
//! Each session is run twice with the same randomness on both sides: without a cheat, which tells
//! which gates will be used, and with flaws in some of those.

use std::sync::Mutex;

use cenote_engine::backends::jimu;
use cenote_engine::{Evidence, Fault, JimuParams, Role};
use cenote_net::{Direction, RecordedFrame};
use cenote_testkit::cheater::jimu::{
    Cheat, Flaw, Items, Outcome, Plan, Talk, WIDTH, expected, run_session, tiny, tiny_compact,
    tiny_muxes, weak,
};
use cenote_testkit::stats::in_parallel;

/// Jobs of a session.
const JOBS: u128 = 3;
/// ANDs of each.
const ANDS: usize = 15;

fn talks(seed: u128) -> Vec<Talk> {
    (0..JOBS).map(|job| Talk::random(Role::Evaluator, seed << 8 | job)).collect()
}

/// An honest session, and what flaws make of it.
struct Session {
    params: JimuParams,
    talks: Vec<Talk>,
    seed: u128,
    honest: Outcome,
}

impl Session {
    fn new(seed: u128) -> Session {
        Session::of(tiny(), talks(seed), seed)
    }

    fn of(params: JimuParams, talks: Vec<Talk>, seed: u128) -> Session {
        let honest = run_session(&params, &Plan::of(Cheat::None), &talks, Role::Evaluator, seed);
        assert_eq!((&honest.honest.1, &honest.cheater.1), (&None, &None), "an honest session");
        assert_eq!(honest.evidence, None);
        Session { params, talks, seed, honest }
    }

    fn gates(&self) -> &Items {
        &self.honest.history.gates
    }

    /// The session with this plan, whatever comes of it.
    fn run(&self, plan: &Plan) -> Outcome {
        run_session(&self.params, plan, &self.talks, Role::Evaluator, self.seed)
    }

    /// The session with flaws; nobody may notice.
    fn with(&self, gates: Vec<(u64, Flaw)>) -> Outcome {
        self.with_plan(&Plan::flaws(gates))
    }

    /// The same with any plan.
    fn with_plan(&self, plan: &Plan) -> Outcome {
        let outcome = self.run(plan);
        assert_eq!((&outcome.honest.1, &outcome.cheater.1), (&None, &None), "{plan:?}");
        assert!(outcome.history.reports.iter().all(|good| *good), "labels that it knows: {plan:?}");
        outcome
    }

    /// The same; all outputs must be right, and the garbler must see what it sees in an honest run.
    fn right_with(&self, gates: Vec<(u64, Flaw)>) -> Option<Evidence> {
        let outcome = self.with(gates);
        same_to_the_garbler(&self.honest.frames, &outcome.frames);
        assert_eq!(outcome.honest.0, expected(&self.talks, Role::Evaluator));
        assert_eq!(outcome.cheater.0, expected(&self.talks, Role::Garbler));
        outcome.evidence
    }

    /// Whether `evidence` names both labels of the output of AND number `place` of the session.
    fn shows(&self, evidence: &Option<Evidence>, place: usize) -> bool {
        let Some(evidence) = evidence else { return false };
        let base = self.gates().buckets[place][0];
        assert_eq!(evidence.session, [self.seed as u8; 32]);
        evidence.wire == base + 2 && evidence.labels == self.honest.history.outputs[place]
    }
}

/// The garbler's own frames differ in tables alone; those of the evaluator do not differ.
fn same_to_the_garbler(honest: &[RecordedFrame], other: &[RecordedFrame]) {
    assert_eq!(honest.len(), other.len());
    for (i, (a, b)) in honest.iter().zip(other).enumerate() {
        let shape = |frame: &RecordedFrame| (frame.direction, frame.tag, frame.payload.len());
        assert_eq!(shape(a), shape(b), "frame {i}");
        let tables = a.direction == Direction::Sent && a.tag == jimu::tags::JIMU_STRIP.id;
        assert!(tables || a.payload == b.payload, "frame {i}, tag {}, differs", a.tag);
    }
    let reports = honest.iter().filter(|frame| frame.tag == jimu::tags::JIMU_RESULT.id).count();
    assert!(reports >= 3 * JOBS as usize, "to both, to the garbler, to both, in each job");
}

#[test]
fn a_nand_gives_evidence_and_nothing_else_wherever_it_is() {
    let seeds: Vec<u128> = (0..3).collect();
    in_parallel(&seeds, |_, seed| {
        let session = Session::new(*seed);
        assert_eq!(session.gates().used, JOBS as usize * ANDS);
        // Before the first reveal, between reveals, in the last gate; in the first job and later ones.
        for (i, place) in
            [0, 7, 10, 12, 13, 14, ANDS, ANDS + 9, 3 * ANDS - 1].into_iter().enumerate()
        {
            // The base of the bucket, whose label comes first, or another member.
            let bad = session.gates().buckets[place][i % 3];
            let evidence = session.right_with(vec![(bad, Flaw::Nand)]);
            assert!(session.shows(&evidence, place), "AND {place}: {evidence:?}");
        }
    });
}

#[test]
fn one_good_member_of_every_bucket_is_enough() {
    let session = Session::new(10);
    let used: Vec<&[u64]> = session.gates().used().collect();
    for good in 0..3 {
        for flaw in [Flaw::Nand, Flaw::Turn, Flaw::All, Flaw::OtherDelta] {
            let bad = used.iter().flat_map(|bucket| {
                (0..3).filter(|member| *member != good).map(|member| (bucket[member], flaw))
            });
            let evidence = session.right_with(bad.collect());
            // Garbage is no evidence.
            let found = matches!(flaw, Flaw::Nand | Flaw::Turn);
            assert_eq!(evidence.is_some(), found, "{flaw:?}");
        }
    }
}

#[test]
fn whether_a_gate_shows_depends_on_the_values_and_the_frames_do_not() {
    let mut shown = 0;
    for seed in 20..32 {
        let session = Session::new(seed);
        let bad = session.gates().buckets[3][0];
        let evidence = session.right_with(vec![(bad, Flaw::Turn)]);
        shown += u32::from(session.shows(&evidence, 3));
    }
    assert!(shown > 0 && shown < 12, "{shown} of 12");
}

#[test]
fn a_reveal_of_many_pieces_is_right_in_all_of_them() {
    let mut talks = talks(5);
    talks[1] = talks[1].clone().wide(6000);
    let session = Session::of(tiny(), talks, 5);
    // 18,000 outputs in three messages, and one for each of the other reveals.
    assert_eq!(session.honest.history.reports.len(), 3 * JOBS as usize + 2);
    for place in [0, ANDS + 5, 2 * ANDS - 1] {
        let bad = session.gates().buckets[place][0];
        let evidence = session.right_with(vec![(bad, Flaw::Nand)]);
        assert!(session.shows(&evidence, place));
    }
}

/// Which places of permutation messages the evaluator watches, as a garbler finds out that deals another seed at each of them in turn: with
/// the same randomness it is caught where it is watched. Then where the others are.
fn places(session: &Session) -> [Vec<u8>; 2] {
    let all = 0..session.params.codes.perms.n as u8;
    all.partition(|place| {
        let outcome = session.run(&Plan { seeds: vec![*place], ..Plan::of(Cheat::None) });
        let fault = outcome.honest.1;
        assert!(matches!(fault, None | Some(Fault::Misbehaved("jimu.hash.codeword"))), "{fault:?}");
        fault.is_some()
    })
    .into()
}

/// Most members of the first bucket output the other label: only recovery is right.
fn lost(session: &Session) -> Vec<(u64, Flaw)> {
    session.gates().buckets[0][..2].iter().map(|bad| (*bad, Flaw::Nand)).collect()
}

#[test]
fn recovery_rests_on_one_place_that_is_not_spoiled() {
    let wrong = Mutex::new(0);
    in_parallel(&[30, 31, 32], |_, seed| {
        let session = Session::new(*seed);
        let (nands, right) = (lost(&session), expected(&session.talks, Role::Evaluator));
        assert!(
            session.honest.history.escrowed > 3 * 8,
            "inputs of the garbler and its own outputs"
        );
        let [watched, others] = places(&session);
        assert_eq!((watched.len(), others.len()), (20, 24));
        let plan = |seeds: &[u8], corrections: &[u8]| Plan {
            seeds: seeds.to_vec(),
            corrections: corrections.to_vec(),
            ..Plan::flaws(nands.clone())
        };
        // By seeds that are dealt and not used; by corrections in the batches of escrow; by both.
        let k = session.params.codes.perms.k as u8;
        let (first, behind): (Vec<u8>, Vec<u8>) = others.iter().partition(|place| **place < k);
        for plan in [
            plan(&others[1..], &[]),
            plan(&others[..23], &[]),
            plan(&first, &behind[1..]),
            plan(&first[1..], &behind),
            plan(&[], &behind),
        ] {
            let outcome = session.with_plan(&plan);
            assert_eq!(outcome.honest.0, right, "{plan:?}");
            assert!(session.shows(&outcome.evidence, 0));
        }
        // What the bound allows for: no place is clean, and recovery computes with other inputs.
        for plan in [plan(&others, &[]), plan(&first, &behind)] {
            let outcome = session.with_plan(&plan);
            assert!(session.shows(&outcome.evidence, 0));
            *wrong.lock().expect("no panic") += u32::from(outcome.honest.0 != right);
        }
    });
    assert!(wrong.into_inner().expect("no panic") > 0, "inputs came from elsewhere than escrow");
}

/// The run in the clear has a memory of its own, and opens the leaves that the garbler expects.
#[test]
fn a_bad_gate_of_an_access_to_a_memory_changes_nothing() {
    let mut params = tiny();
    params.ands.batch = 1024;
    let talk = |job: u128| Talk::random(Role::Evaluator, 50 << 8 | job).remembering();
    let session = Session::of(params, (0..2).map(talk).collect(), 50);
    let used = session.gates().used;
    // In each access of both jobs, and after the last leaf.
    for part in 0..9 {
        let place = (used - 1) * part / 8;
        let bad = session.gates().buckets[place][part % 3];
        let evidence = session.right_with(vec![(bad, Flaw::Nand)]);
        assert!(session.shows(&evidence, place), "AND {place} of {used}: {evidence:?}");
    }
}

#[test]
fn recovery_knows_no_storage() {
    let session = Session::of(tiny_compact(), talks(35), 35);
    let tables = |i: usize| (session.gates().buckets[i][i % 3], Flaw::Nand);
    let outcome = session.with(vec![tables(20)]);
    let (right, evidence) = (expected(&session.talks, Role::Evaluator), outcome.evidence);
    assert_eq!(outcome.honest.0, right);
    assert!(session.shows(&evidence, 20));
    // Nodes follow from tables; all that the evaluator sends is the same.
    let of_evaluator = |frames: &[RecordedFrame]| -> Vec<RecordedFrame> {
        frames.iter().filter(|frame| frame.direction == Direction::Received).cloned().collect()
    };
    assert_eq!(of_evaluator(&outcome.frames), of_evaluator(&session.honest.frames));
}

#[test]
fn both_labels_of_a_lane_of_a_multiplexer_are_found() {
    let talks = talks(36).into_iter().map(Talk::muxed).collect();
    let session = Session::of(tiny_muxes(), talks, 36);
    let cores = &session.honest.history.cores;
    assert_eq!(cores.used, JOBS as usize);
    for (job, member) in [(0, 0), (1, 1), (2, 0)] {
        let core = &cores.buckets[job];
        let evidence = session.right_with(vec![(core[member], Flaw::Nand)]);
        let evidence = evidence.expect("a conflict");
        // The output wire of the lane in the middle, and labels that differ by Delta.
        assert_eq!(evidence.wire, core[0] + 1 + WIDTH as u64 + WIDTH as u64 / 2);
        let delta = |labels: &[[u8; 48]; 2]| -> Vec<u8> {
            labels[0].iter().zip(labels[1]).map(|(a, b)| a ^ b).collect()
        };
        assert_eq!(delta(&evidence.labels), delta(&session.honest.history.outputs[0]));
    }
}

/// With a code so short, one session in three has the luck that the bound speaks of.
#[test]
fn labels_that_have_a_tag_by_luck_are_outvoted_and_give_no_delta() {
    let seeds: Vec<u128> = (60..72).collect();
    in_parallel(&seeds, |_, seed| {
        let session = Session::of(weak(), talks(*seed), *seed);
        let used: Vec<&[u64]> = session.gates().used().collect();
        for flaw in [Flaw::Near, Flaw::NearOther] {
            let mut bad: Vec<(u64, Flaw)> =
                used.iter().map(|bucket| (bucket[*seed as usize % 3], flaw)).collect();
            let evidence = session.right_with(bad.clone());
            assert_eq!(evidence, None);
            // Among such labels, two that are true: one pair is tried, and no vote depends on which. Three
            // kinds in one bucket are what the bound counts.
            bad[6].1 = Flaw::Nand;
            let evidence = session.right_with(bad);
            assert!(evidence.is_none() || session.shows(&evidence, 6), "{evidence:?}");
        }
    });
}

/// Shares that are sealed wrongly where the evaluator watches, unseen: Delta is found as long as enough of the others open.
#[test]
fn the_delta_is_found_if_it_opens_enough_shares() {
    let session = Session::new(73);
    let (nands, right) = (lost(&session), expected(&session.talks, Role::Evaluator));
    let [perms, _] = places(&session);
    // Where labels are watched no wrong share is seen.
    let labels = (0..session.params.codes.labels.n as u8).filter(|place| {
        let plan = Plan { shares: [vec![*place], vec![]], ..Plan::of(Cheat::None) };
        session.run(&plan).honest.1.is_none()
    });
    let labels: Vec<u8> = labels.collect();
    assert_eq!((labels.len(), perms.len()), (32, 20));
    let run = |of_labels: usize, of_perms: usize, gates: &[(u64, Flaw)]| {
        let shares = [labels[..of_labels].to_vec(), perms[..of_perms].to_vec()];
        session.with_plan(&Plan { shares, ..Plan::flaws(gates.to_vec()) })
    };
    // One member of three says what is right: 15 places of labels and 3 of permutation messages.
    for (of_labels, of_perms, found) in
        [(0, 0, true), (17, 17, true), (18, 17, false), (17, 18, false), (32, 0, false)]
    {
        let outcome = run(of_labels, of_perms, &nands);
        assert_eq!(session.shows(&outcome.evidence, 0), found, "{of_labels}, {of_perms}");
        assert_eq!(outcome.honest.0 == right, found);
    }
    // Two of three disagree with whatever is taken: one place of each is enough.
    let bucket = &session.gates().buckets[0];
    let split = [(bucket[0], Flaw::Nand), (bucket[1], Flaw::All)];
    for (of_labels, of_perms, found) in [(31, 19, true), (32, 19, false), (31, 20, false)] {
        let outcome = run(of_labels, of_perms, &split);
        assert_eq!(session.shows(&outcome.evidence, 0), found, "{of_labels}, {of_perms}");
    }
}

/// Before any gate is evaluated Delta can be tried, even where nothing needs a wire in escrow.
#[test]
fn recovery_needs_no_wire_in_escrow() {
    let talks: Vec<Talk> = talks(90).into_iter().map(Talk::alone).collect();
    let session = Session::of(tiny(), talks, 90);
    assert_eq!(session.honest.history.escrowed, 0);
    let outcome = session.with(lost(&session));
    assert_eq!(outcome.honest.0, expected(&session.talks, Role::Evaluator));
    assert!(session.shows(&outcome.evidence, 0));
}

/// The event that the bound of the pool is about: nothing of it is noticed.
#[test]
fn a_bucket_without_a_good_member_gives_a_wrong_output() {
    let session = Session::new(40);
    let all = session.gates().buckets[0].iter().map(|member| (*member, Flaw::Nand)).collect();
    let outcome = session.with(all);
    assert_eq!(outcome.evidence, None);
    assert_ne!(outcome.honest.0, expected(&session.talks, Role::Evaluator));
}

#[test]
fn evidence_is_not_printed() {
    let session = Session::new(50);
    let bad = session.gates().buckets[0][0];
    let evidence = session.right_with(vec![(bad, Flaw::Nand)]);
    let evidence = evidence.expect("a conflict");
    let wire = evidence.wire;
    assert_eq!(format!("{evidence:?}"), format!("Evidence(two labels of wire {wire})"));
}
