//! Bytes on the wire: a formula for every message, and digests that pin them all.

use cenote_engine::{Backend, Receivers, Session};
use cenote_net::{Direction, HEADER_LEN, RecordedFrame, TranscriptDigest};
use cenote_prim::simd::{Level, limit};
use cenote_testkit::adversary::bytes::{Case, recorded};
use cenote_testkit::adversary::{Entry, entries, entry};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{patient_pair, prg_of, run_program, smallest};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::in_parallel;

/// The frames of a session with one request, seen from the garbler.
fn frames_of(entry: &Entry, case: &Case) -> Vec<RecordedFrame> {
    let Case { program, to, .. } = case;
    let config = case.session();
    let inputs = program.inputs(3);
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let mut session = Session::open_seeded(channel, role, &config, prg_of(role, 3))?;
        let claims = session.claims();
        assert_eq!(claims.backend, entry.backend.name(), "{case:?}");
        assert_eq!(claims.promise.adversary, entry.adversary, "{case:?}");
        run_program(&mut session, program, &inputs, *to)?;
        let traffic = session.counters().total();
        session.close();
        Ok::<_, cenote_engine::Fault>(traffic)
    });
    let traffic = ends.0.expect("honest");
    let frames = recording.frames();
    let total = |direction: Direction| {
        let frames = frames.iter().filter(|frame| frame.direction == direction);
        frames.map(|frame| (HEADER_LEN + frame.payload.len()) as u64).sum::<u64>()
    };
    let counted = (traffic.bytes_sent, traffic.bytes_received);
    assert_eq!(counted, (total(Direction::Sent), total(Direction::Received)), "the counters");
    frames
}

#[test]
fn every_message_has_the_bytes_of_its_formula() {
    let cases: Vec<(&Entry, &Case)> =
        entries().flat_map(|entry| entry.cases.iter().map(move |case| (entry, case))).collect();
    in_parallel(&cases, |_, (entry, case)| {
        let frames = frames_of(entry, case);
        assert_eq!(recorded(&frames), (entry.bytes)(case, &frames), "{case:?}");
    });
    assert!(entries().all(|entry| !entry.cases.is_empty()), "a backend without a case");
}

fn digest(backend: Backend) -> TranscriptDigest {
    let program = TestProgram(Kind::Compare);
    let (mut garbler, evaluator) = patient_pair();
    garbler.enable_transcript();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let prg = prg_of(role, 2026);
        let mut session = Session::open_seeded(channel, role, &smallest(backend), prg)?;
        for request in 0..2 {
            run_program(&mut session, &program, &program.inputs(request), Receivers::Both)?;
        }
        let digest = session.channel().transcript_digest();
        session.close();
        Ok::<_, cenote_engine::Fault>(digest)
    });
    ends.0.expect("honest").expect("enabled")
}

#[test]
fn wire_bytes_are_pinned_on_every_kind_of_processor() {
    let hex =
        |digest: [u8; 32]| digest[..12].iter().map(|b| format!("{b:02x}")).collect::<String>();
    for most in [Level::Portable, Level::Aesni, Level::Vaes512] {
        let level = limit(most);
        let found = Backend::ALL.map(|backend| {
            let digest = digest(backend);
            (backend, [hex(digest.sent), hex(digest.received)])
        });
        let pinned = Backend::ALL.map(|backend| (backend, entry(backend).wire.map(str::to_owned)));
        assert_eq!(found, pinned, "at level {level:?}");
    }
}
