//! Two valid labels of one wire: the evaluator finishes in the clear, and the garbler, who made the
//! bad gate, sees nothing of it.
//!
//! Each session is run twice with the same randomness on both sides: without a cheat, which tells
//! which gates will be used, and with flaws in some of those.

use cenote_engine::backends::jimu;
use cenote_engine::{Evidence, JimuParams, Role};
use cenote_net::{Direction, RecordedFrame};
use cenote_testkit::cheater::jimu::{
    Cheat, Flaw, Items, Outcome, Plan, Talk, WIDTH, expected, run_session, tiny, tiny_compact,
    tiny_muxes, weak, weak_escrow,
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
    fn with(&self, gates: Vec<(u64, Flaw)>, gadgets: Vec<u64>) -> Outcome {
        let plan = Plan::flaws(gates, gadgets);
        let outcome = self.run(&plan);
        assert_eq!((&outcome.honest.1, &outcome.cheater.1), (&None, &None), "{plan:?}");
        assert!(outcome.history.reports.iter().all(|good| *good), "labels that it knows: {plan:?}");
        outcome
    }

    /// The same; all outputs must be right, and the garbler must see what it sees in an honest run.
    fn right_with(&self, gates: Vec<(u64, Flaw)>, gadgets: Vec<u64>) -> Option<Evidence> {
        let outcome = self.with(gates, gadgets);
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
            let evidence = session.right_with(vec![(bad, Flaw::Nand)], vec![]);
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
            let evidence = session.right_with(bad.collect(), vec![]);
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
        let evidence = session.right_with(vec![(bad, Flaw::Turn)], vec![]);
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
        let evidence = session.right_with(vec![(bad, Flaw::Nand)], vec![]);
        assert!(session.shows(&evidence, place));
    }
}

#[test]
fn recovery_rests_on_one_good_gadget_of_every_bucket() {
    let mut wrong = 0;
    for seed in 30..33 {
        let session = Session::new(seed);
        // Most members output the other label: only recovery is right.
        let members = &session.gates().buckets[0][..2];
        let nands: Vec<(u64, Flaw)> = members.iter().map(|bad| (*bad, Flaw::Nand)).collect();
        let gadgets = &session.honest.history.gadgets;
        assert!(gadgets.used > 3 * 8, "inputs of the garbler and its own outputs");
        for good in 0..2 {
            let bad = gadgets.buckets.iter().map(|bucket| bucket[1 - good]).collect();
            let evidence = session.right_with(nands.clone(), bad);
            assert!(session.shows(&evidence, 0));
        }
        // What no bound allows for. Without the first inputs, recovery computes with others.
        let (inputs, next) = gadgets.buckets.split_at(5);
        let outcome = session.with(nands.clone(), inputs.concat());
        assert!(session.shows(&outcome.evidence, 0));
        wrong += u32::from(outcome.honest.0 != expected(&session.talks, Role::Evaluator));
        // The wires on which a candidate for Delta is tried: it is taken for luck.
        let outcome = session.with(nands, next[..8].concat());
        assert_eq!(outcome.evidence, None);
        assert_ne!(outcome.honest.0, expected(&session.talks, Role::Evaluator));
    }
    assert!(wrong > 0, "inputs came from elsewhere than escrow");
}

/// The run in the clear has a memory of its own, and opens the leaves that the garbler expects.
#[test]
fn a_bad_gate_of_an_access_to_a_memory_changes_nothing() {
    let mut params = tiny();
    (params.ands.batch, params.escrow.batch) = (1024, 1024);
    let talk = |job: u128| Talk::random(Role::Evaluator, 50 << 8 | job).remembering();
    let session = Session::of(params, (0..2).map(talk).collect(), 50);
    let used = session.gates().used;
    // In each access of both jobs, and after the last leaf.
    for part in 0..9 {
        let place = (used - 1) * part / 8;
        let bad = session.gates().buckets[place][part % 3];
        let evidence = session.right_with(vec![(bad, Flaw::Nand)], vec![]);
        assert!(session.shows(&evidence, place), "AND {place} of {used}: {evidence:?}");
    }
}

#[test]
fn recovery_knows_no_storage() {
    let session = Session::of(tiny_compact(), talks(35), 35);
    let tables = |i: usize| (session.gates().buckets[i][i % 3], Flaw::Nand);
    let outcome = session.with(vec![tables(20)], vec![]);
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
        let evidence = session.right_with(vec![(core[member], Flaw::Nand)], vec![]);
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
            let evidence = session.right_with(bad.clone(), vec![]);
            assert_eq!(evidence, None);
            // Among such labels, two that are true: one pair is tried, and no vote depends on which. Three
            // kinds in one bucket are what the bound counts.
            bad[6].1 = Flaw::Nand;
            let evidence = session.right_with(bad, vec![]);
            assert!(evidence.is_none() || session.shows(&evidence, 6), "{evidence:?}");
        }
    });
}

/// The wires in escrow on which a candidate is tried after the first ANDs: behind those of the five inputs.
const TRIED: std::ops::Range<usize> = 5..13;

/// A wrong sum of two labels that opens some of the eight wires, because a gadget of each was made for it:
/// four are not enough. Five are, which the bound counts.
#[test]
fn a_wrong_sum_that_opens_half_of_the_wires_is_not_the_delta() {
    let seeds: Vec<u128> = (60..72).collect();
    let taken = std::sync::Mutex::new(0);
    in_parallel(&seeds, |_, seed| {
        let session = Session::of(weak(), talks(*seed), *seed);
        let gate = (session.gates().buckets[0][*seed as usize % 3], Flaw::NearOther);
        let tried = &session.honest.history.gadgets.buckets[TRIED];
        let decoys = |count: usize| {
            let decoys = tried[..count].iter().map(|bucket| bucket[*seed as usize % 2]).collect();
            session.run(&Plan { decoys, ..Plan::flaws(vec![gate], vec![]) })
        };
        for count in [1, 4] {
            let outcome = decoys(count);
            assert_eq!(outcome.evidence, None, "{count} of 8, seed {seed}");
            assert_eq!(outcome.honest.0, expected(&session.talks, Role::Evaluator));
            same_to_the_garbler(&session.honest.frames, &outcome.frames);
        }
        // If the evaluator happens to look elsewhere than where the label is wrong.
        let found = decoys(5).evidence.is_some();
        *taken.lock().expect("no panic") += u32::from(found);
    });
    let taken = taken.into_inner().expect("no panic");
    assert!(taken > 0 && taken < 12, "{taken} of 12");
}

/// Delta itself is found as long as it opens five of the eight.
#[test]
fn the_delta_is_found_if_it_opens_most_of_the_wires() {
    for seed in 73..75 {
        let session = Session::new(seed);
        let nands: Vec<(u64, Flaw)> =
            session.gates().buckets[0][1..].iter().map(|bad| (*bad, Flaw::Nand)).collect();
        let tried = &session.honest.history.gadgets.buckets[TRIED];
        let evidence = session.with(nands.clone(), tried[..3].concat()).evidence;
        assert!(session.shows(&evidence, 0), "{evidence:?}");
        let evidence = session.with(nands, tried[..4].concat()).evidence;
        assert_eq!(evidence, None);
    }
}

/// Permutation messages that have a tag by luck, in half of these sessions: two good gadgets outvote one,
/// wherever it stands in the bucket.
#[test]
fn a_permutation_message_with_a_tag_by_luck_is_outvoted() {
    let seeds: Vec<u128> = (80..88).collect();
    let wrong = std::sync::Mutex::new(0);
    in_parallel(&seeds, |_, seed| {
        let session = Session::of(weak_escrow(), talks(*seed), *seed);
        // Most members output the other label: only recovery is right.
        let nands: Vec<(u64, Flaw)> =
            session.gates().buckets[0][..2].iter().map(|bad| (*bad, Flaw::Nand)).collect();
        let gadgets = &session.honest.history.gadgets.buckets;
        for place in 0..3 {
            let bad = gadgets.iter().map(|bucket| bucket[place]).collect();
            let evidence = session.right_with(nands.clone(), bad);
            assert!(session.shows(&evidence, 0), "place {place}, seed {seed}");
        }
        // Two of them win, which the bound counts.
        let bad = gadgets.iter().flat_map(|bucket| &bucket[..2]).copied().collect();
        let outcome = session.with(nands, bad);
        let right = outcome.honest.0 == expected(&session.talks, Role::Evaluator);
        *wrong.lock().expect("no panic") += u32::from(!right);
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong > 0 && wrong < 8, "{wrong} of 8");
}

/// Before any gate is evaluated there are wires in escrow on which a candidate can be tried, even where
/// nothing else needs one.
#[test]
fn escrow_is_ready_before_the_first_gate() {
    let talks: Vec<Talk> = talks(90).into_iter().map(Talk::alone).collect();
    let session = Session::of(tiny(), talks, 90);
    assert_eq!(session.honest.history.gadgets.used, 0);
    let (nands, right) = (
        session.gates().buckets[0][..2].iter().map(|bad| (*bad, Flaw::Nand)).collect::<Vec<_>>(),
        expected(&session.talks, Role::Evaluator),
    );
    let outcome = session.with(nands.clone(), vec![]);
    assert_eq!(outcome.honest.0, right);
    assert!(session.shows(&outcome.evidence, 0));
    // A garbler that leaves them out sends solders where their batch has to come.
    let outcome = session.run(&Plan { hasty: true, ..Plan::flaws(nands, vec![]) });
    assert_eq!(outcome.honest.0, right[..0]);
    assert!(outcome.honest.1.is_some(), "it went on without");
}

/// The event that the bound of the pool is about: nothing of it is noticed.
#[test]
fn a_bucket_without_a_good_member_gives_a_wrong_output() {
    let session = Session::new(40);
    let all = session.gates().buckets[0].iter().map(|member| (*member, Flaw::Nand)).collect();
    let outcome = session.with(all, vec![]);
    assert_eq!(outcome.evidence, None);
    assert_ne!(outcome.honest.0, expected(&session.talks, Role::Evaluator));
}

#[test]
fn evidence_is_not_printed() {
    let session = Session::new(50);
    let bad = session.gates().buckets[0][0];
    let evidence = session.right_with(vec![(bad, Flaw::Nand)], vec![]);
    let evidence = evidence.expect("a conflict");
    let wire = evidence.wire;
    assert_eq!(format!("{evidence:?}"), format!("Evidence(two labels of wire {wire})"));
}
