use cenote_prim::{Block, bits};

use super::dealer::{Dealer, label_with_no_tag};
use super::*;
use crate::Rho;
use crate::backends::jimu::ihash::{Label, Message, Recogniser, Tag};

const WIDE: Shape = Shape::MUXES[0];
const EIGHT: Shape = Shape::MUXES[3];

/// An AND of three wires: the second AND reads the output of the first, and is checked with an output that
/// is 1 in a quarter of all cases.
const THREE: Shape = Shape::new("three", 3, &[&[0], &[1], &[2], &[3]], &[[0, 1], [3, 2]], 0.25);

/// Two full adders, of a, b and a carry, and of a', b' and the carry of the first, which is t + c: sums
/// of wires go into t = (a + c) (b + c) and t' = (a' + t + c) (b' + t + c).
const ADDER: Shape =
    Shape::new("adder", 5, &[&[0, 2], &[1, 2], &[3, 5, 2], &[4, 5, 2]], &[[0, 1], [2, 3]], 0.5);

/// Garbled cores.
struct Cores {
    shape: Shape,
    numbers: Vec<u64>,
    wires: Vec<Message>,
    tags: Vec<Tag>,
    tables: Vec<Block>,
}

impl Cores {
    fn new(d: &mut Dealer, shape: Shape, cores: usize) -> Cores {
        let (first, wires, tags) = d.wires(cores * shape.wires());
        let numbers: Vec<u64> = (0..cores).map(|k| first + (k * shape.wires()) as u64).collect();
        let mut tables = vec![Block::ZERO; cores * shape.table_blocks()];
        garble(shape, &d.delta, &numbers, &wires, &mut tables);
        Cores { shape, numbers, wires, tags, tables }
    }

    /// The three tables of an AND of a core.
    fn and(&mut self, core: usize, and: usize) -> &mut [Label; 3] {
        let tables = bytemuck::cast_slice_mut::<Block, Label>(&mut self.tables);
        &mut tables.as_chunks_mut().0[core * self.shape.ands() + and]
    }

    fn ready(&self, d: &Dealer, bucket: usize) -> Vec<Block> {
        let (mut opened, mut expected) = (Vec::new(), Vec::new());
        inner_solders(self.shape, bucket, &d.delta, &self.wires, &mut opened);
        let buckets = self.numbers.len() / bucket;
        assert_eq!(opened.len(), buckets * inner_len(self.shape, bucket));
        inner_tags(self.shape, bucket, d.delta_tag, &self.tags, &opened, &mut expected);
        assert!(d.receiver.agree(&opened, &expected));
        let Cores { numbers, tables, tags, .. } = self;
        let members = Members { numbers, tables, tags, opened: &opened };
        let mut ready = vec![Block::ZERO; buckets * ready_blocks(self.shape, bucket)];
        fold(self.shape, bucket, &members, &mut ready);
        ready
    }

    /// The base's wires of a bucket.
    fn base(&self, bucket: usize, index: usize) -> &[Message] {
        &self.wires[index * bucket * self.shape.wires()..][..self.shape.wires()]
    }

    /// Whether each checked core alone passes, on fresh inputs.
    fn passes(&self, d: &mut Dealer) -> Vec<bool> {
        self.passes_with(d, |_, _| ())
    }

    /// The same with what `forge` makes of the openings of each.
    fn passes_with(&self, d: &mut Dealer, forge: impl Fn(&Dealer, &mut [Message])) -> Vec<bool> {
        let wires = self.shape.wires();
        (0..self.numbers.len())
            .map(|k| {
                let inputs = bits::pack(d.bits(self.shape.inputs()));
                let mut opened = Vec::new();
                let own = &self.wires[k * wires..][..wires];
                open_for_check(self.shape, &d.delta, own, &inputs, &mut opened);
                forge(d, &mut opened);
                let checked = Checked {
                    numbers: &self.numbers[k..=k],
                    tables: &self.tables[k * self.shape.table_blocks()..]
                        [..self.shape.table_blocks()],
                    tags: &self.tags[k * wires..][..wires],
                    inputs: &inputs,
                    opened: &opened,
                };
                check(self.shape, &d.receiver, d.delta_tag, &checked)
            })
            .collect()
    }
}

/// Evaluates each bucket on the given values of its inputs.
fn evaluate_on(
    d: &Dealer,
    cores: &Cores,
    bucket: usize,
    values: &[bool],
) -> (Vec<Active>, Option<Conflict>) {
    let ready = cores.ready(d, bucket);
    let inputs: Vec<Active> = values
        .chunks(cores.shape.inputs())
        .enumerate()
        .flat_map(|(k, values)| {
            cores.base(bucket, k).iter().zip(values).map(|(w, v)| d.active(w, false, *v))
        })
        .collect();
    let buckets = cores.numbers.len() / bucket;
    let mut outputs = vec![Active::default(); buckets * cores.shape.ands()];
    let mut pair = Pair::default();
    Evaluation::new(cores.shape, bucket, d.delta_tag).evaluate(
        &d.receiver,
        &ready,
        &inputs,
        &mut outputs,
        &mut pair,
    );
    (outputs, pair.proven([true; 2]))
}

/// The right outputs.
fn expected_outputs(d: &Dealer, cores: &Cores, bucket: usize, values: &[bool]) -> Vec<Active> {
    let shape = cores.shape;
    values
        .chunks(shape.inputs())
        .enumerate()
        .flat_map(|(k, inputs)| {
            let wires =
                cores.base(bucket, k).iter().zip(shape.values(&bits::pack(inputs.to_vec()), 1));
            wires.skip(shape.inputs()).map(|(wire, value)| d.active(wire, false, value))
        })
        .collect()
}

fn same(a: &[Active], b: &[Active]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.label.0 == b.label.0 && a.masked == b.masked)
}

/// Live wires are soldered to the bases of buckets; those of ANDs take all values with all flips.
#[test]
fn ands_of_live_wires_end_to_end() {
    for (rho, bucket) in [(Rho::Bits40, 3), (Rho::Bits64, 4), (Rho::Bits80, 5), (Rho::Bits40, 1)] {
        for shape in [Shape::AND, EIGHT, WIDE, THREE, ADDER] {
            let ands = shape.ands();
            let mut d = Dealer::new(rho, 7 + ands as u128);
            let buckets = if ands == 1 { 96 } else { 5 };
            let cores = Cores::new(&mut d, shape, buckets * bucket);
            let ready = cores.ready(&d, bucket);
            // Each live wire is the sum of two hashed ones.
            let inputs = buckets * shape.inputs();
            let (_, wires, tags) = d.wires(2 * inputs);
            let live: Vec<Message> = (0..inputs).map(|i| wires[i] ^ wires[inputs + i]).collect();
            let tags: Vec<Tag> = (0..inputs).map(|i| tags[i] ^ tags[inputs + i]).collect();
            let (mut values, mut flips) = (d.bits(inputs), d.bits(inputs));
            if ands == 1 {
                for i in 0..inputs {
                    values[i] = (i / 2) >> (i % 2) & 1 == 1;
                    flips[i] = (i / 8) >> (i % 2) & 1 == 1;
                }
            }

            let bases: Vec<Message> =
                (0..buckets).flat_map(|k| cores.base(bucket, k).to_vec()).collect();
            let (mut opened, mut expected, mut active) = (Vec::new(), Vec::new(), Vec::new());
            outer_solders(shape, &d.delta, &live, &flips, &bases, &mut opened);
            let layout = (shape, bucket);
            outer_tags(layout, d.delta_tag, &tags, &flips, &ready, &opened, &mut expected);
            assert!(d.receiver.agree(&opened, &expected));
            let known: Vec<Active> = (live.iter().zip(&flips).zip(&values))
                .map(|((live, flip), value)| d.active(live, *flip, *value))
                .collect();
            outer_inputs(&known, &flips, &opened, &mut active);

            let mut evaluation = Evaluation::new(shape, bucket, d.delta_tag);
            let mut outputs = vec![Active::default(); buckets * ands];
            let mut pair = Pair::default();
            evaluation.evaluate(&d.receiver, &ready, &active, &mut outputs, &mut pair);
            assert!(pair.proven([true; 2]).is_none());
            assert!(same(&outputs, &expected_outputs(&d, &cores, bucket, &values)));

            // One at a time, the same.
            for k in 0..buckets {
                let ready =
                    &ready[k * ready_blocks(shape, bucket)..][..ready_blocks(shape, bucket)];
                let active = &active[k * shape.inputs()..][..shape.inputs()];
                let mut alone = vec![Active::default(); ands];
                evaluation.evaluate(&d.receiver, ready, active, &mut alone, &mut pair);
                assert!(same(&alone, &outputs[k * ands..][..ands]));
            }
        }
    }
}

#[test]
fn ands_are_right_on_all_inputs() {
    let mut d = Dealer::new(Rho::Bits40, 1);
    let cores = Cores::new(&mut d, Shape::AND, 4 * 64);
    for case in 0..4 {
        let values: Vec<bool> = (0..128).map(|i| case >> (i % 2) & 1 == 1).collect();
        let (outputs, conflict) = evaluate_on(&d, &cores, 4, &values);
        assert!(conflict.is_none());
        assert!(same(&outputs, &expected_outputs(&d, &cores, 4, &values)));
    }
}

#[test]
fn folding_changes_no_label_whatever_the_tables() {
    let mut d = Dealer::new(Rho::Bits40, 2);
    for shape in [Shape::AND, EIGHT, WIDE] {
        let bucket = 4;
        let mut cores = Cores::new(&mut d, shape, bucket);
        d.prg.fill(&mut cores.tables);
        let ready = cores.ready(&d, bucket);
        let mut opened = Vec::new();
        inner_solders(shape, bucket, &d.delta, &cores.wires, &mut opened);
        let values = d.bits(shape.inputs());
        let base: Vec<Active> = (cores.base(bucket, 0).iter().zip(&values))
            .map(|(wire, value)| d.active(wire, false, *value))
            .collect();
        let folded = {
            let mut evaluation = Evaluation::new(shape, bucket, d.delta_tag);
            let mut outputs = vec![Active::default(); shape.ands()];
            evaluation.evaluate(&d.receiver, &ready, &base, &mut outputs, &mut Pair::default());
            evaluation.labels().to_vec()
        };
        for member in 0..bucket {
            let solder = |wire: usize| match member {
                0 => Message::ZERO,
                _ => opened[(member - 1) * shape.wires() + wire],
            };
            let own: Vec<Active> = (0..shape.inputs())
                .map(|wire| Active {
                    label: base[wire].label ^ solder(wire).label,
                    masked: base[wire].masked ^ solder(wire).perm.bit(),
                })
                .collect();
            for and in 0..shape.ands() {
                let [tg, te, mk] = *cores.and(member, and);
                let hash = |wire: usize, block: usize| {
                    let tweak = u128::from(cores.numbers[member]) + wire as u128;
                    let mut out = [Block::ZERO; 3];
                    let tweak = Block::new(tweak << 64 | block as u128);
                    cenote_prim::keyed::expand(&[own[wire].label.key()], &[tweak], 3, &mut out);
                    Label(out)
                };
                let x = &own[1 + and];
                let plain = hash(0, 3 * and)
                    ^ tg.times(own[0].masked)
                    ^ hash(1 + and, 0)
                    ^ (te ^ own[0].label).times(x.masked)
                    ^ mk;
                let moved = plain ^ solder(shape.output(and)).label;
                assert_eq!(folded[member * shape.ands() + and].0, moved.0);
            }
        }
    }
}

#[test]
fn honest_cores_pass_in_bulk() {
    for (rho, shape, count) in [
        (Rho::Bits40, Shape::AND, 300),
        (Rho::Bits64, EIGHT, 40),
        (Rho::Bits80, WIDE, 3),
        (Rho::Bits40, THREE, 60),
        (Rho::Bits64, ADDER, 60),
    ] {
        let mut d = Dealer::new(rho, 3);
        let cores = Cores::new(&mut d, shape, count);
        let inputs = bits::pack(d.bits(count * shape.inputs()));
        let mut opened = Vec::new();
        open_for_check(shape, &d.delta, &cores.wires, &inputs, &mut opened);
        let verdict = |inputs: &[u8], opened: &[Message]| {
            let Cores { numbers, tables, tags, .. } = &cores;
            let checked = Checked { numbers, tables, tags, inputs, opened };
            check(shape, &d.receiver, d.delta_tag, &checked)
        };
        assert!(verdict(&inputs, &opened));
        // One wrong bit anywhere.
        for place in 0..opened.len().min(3 * shape.wires()) {
            let mut forged = opened.clone();
            forged[place].label.0[place % 3] ^= Block::new(1 << (place % 128));
            assert!(!verdict(&inputs, &forged));
            let mut forged = opened.clone();
            forged[place].perm.0[0] ^= Block::new(1 << (place % 120));
            assert!(!verdict(&inputs, &forged));
            // The other label.
            let mut forged = opened.clone();
            forged[place].label ^= d.delta;
            assert!(!verdict(&inputs, &forged));
        }
        let mut other = inputs.clone();
        other[0] ^= 1;
        assert!(!verdict(&other, &opened), "opened on other inputs");
    }
}

/// On which of the four pairs of masked values a lane with these errors in its tables is wrong.
fn wrong_pairs(d: &mut Dealer, errors: [Label; 3]) -> usize {
    let mut cores = Cores::new(d, Shape::AND, 1);
    for (table, error) in cores.and(0, 0).iter_mut().zip(errors) {
        *table ^= error;
    }
    let wrong = |case: usize| {
        let inputs = bits::pack([case & 1 == 1, case & 2 == 2]);
        let mut opened = Vec::new();
        open_for_check(Shape::AND, &d.delta, &cores.wires, &inputs, &mut opened);
        let Cores { numbers, tables, tags, .. } = &cores;
        let checked = Checked { numbers, tables, tags, inputs: &inputs, opened: &opened };
        !check(Shape::AND, &d.receiver, d.delta_tag, &checked)
    };
    (0..4).filter(|case| wrong(*case)).count()
}

#[test]
fn a_bad_lane_is_right_on_an_affine_subspace() {
    let mut d = Dealer::new(Rho::Bits40, 4);
    let [a, b] = [0, 1].map(|_| Label([(); 3].map(|()| d.prg.block())));
    let no = Label::ZERO;
    assert_eq!(wrong_pairs(&mut d, [no; 3]), 0);
    for errors in [[a, no, no], [no, a, no], [a, a, no], [a, no, a], [no, a, a], [a, a, a]] {
        assert_eq!(wrong_pairs(&mut d, errors), 2);
    }
    for errors in [[a, b, no], [a, b, a], [a, b, b], [a, b, a ^ b]] {
        assert_eq!(wrong_pairs(&mut d, errors), 3);
    }
    for errors in [[no, no, a], [no, a, b], [a, no, b], [b, b, a]] {
        assert_eq!(wrong_pairs(&mut d, errors), 4);
    }
}

/// How many of `runs` cores with an error in the tables pass; errors are in `ands` of each.
fn passing(shape: Shape, runs: usize, tables: &[usize], ands: &[usize]) -> usize {
    let mut d = Dealer::new(Rho::Bits40, 5 + shape.ands() as u128);
    let mut cores = Cores::new(&mut d, shape, runs);
    for core in 0..runs {
        for and in ands {
            let error = d.prg.block();
            for table in tables {
                cores.and(core, *and)[*table].0[core % 3] ^= error;
            }
        }
    }
    cores.passes(&mut d).into_iter().filter(|passes| *passes).count()
}

#[test]
fn faults_are_detected_as_often_as_the_bound_says() {
    // Five standard deviations of a fair coin.
    let runs = 2000;
    let slack = 5.0 * (runs as f64 / 4.0).sqrt();
    let half = |passes: usize| (passes as f64 - runs as f64 / 2.0).abs() < slack;
    assert!(half(passing(Shape::AND, runs, &[0], &[0])));
    assert!(half(passing(Shape::AND, runs, &[1], &[0])));
    assert!(half(passing(Shape::AND, runs, &[0, 1], &[0])));
    assert!(half(passing(EIGHT, runs, &[1], &[5])));
    // The common input is the same for all lanes, the others are not.
    assert!(half(passing(EIGHT, runs, &[0], &[1, 6])));
    let quarter = passing(EIGHT, runs, &[1], &[1, 6]) as f64;
    assert!((quarter - runs as f64 / 4.0).abs() < slack);
    assert_eq!(passing(Shape::AND, runs, &[2], &[0]), 0);
    // An operand that is a sum of wires; one wrong label behind another AND.
    assert!(half(passing(ADDER, runs, &[0], &[1])));
    for and in 0..2 {
        assert_eq!(passing(THREE, runs, &[2], &[and]), 0);
    }
}

/// A garbler that knows its permutation bits spoils what is rare: an AND whose left operand is 1.
#[test]
fn an_and_behind_another_is_caught_as_often_as_its_core_says() {
    let runs = 2000;
    let mut d = Dealer::new(Rho::Bits40, 16);
    let mut cores = Cores::new(&mut d, THREE, runs);
    for core in 0..runs {
        let (error, first) = (d.delta, cores.wires[core * THREE.wires() + 3].perm.bit());
        let [tg, _, mk] = cores.and(core, 1);
        (*tg, *mk) = (*tg ^ error, *mk ^ error.times(first));
    }
    let caught = cores.passes(&mut d).into_iter().filter(|passes| !passes).count() as f64;
    let rate = THREE.detection();
    let slack = 5.0 * (runs as f64 * rate * (1.0 - rate)).sqrt();
    assert!((caught - runs as f64 * rate).abs() < slack, "{caught} of {runs}");
}

/// An AND whose tables are wrong is right where one of three sums of its operands has a certain value, or
/// nowhere.
#[test]
fn detection_is_that_of_the_rarest_error() {
    for shape in [Shape::AND, EIGHT, THREE, ADDER] {
        let cases = 1 << shape.inputs();
        let values: Vec<Vec<bool>> =
            (0..cases as u16).map(|case| shape.values(&case.to_le_bytes(), 1)).collect();
        let rarest = (0..shape.ands()).flat_map(|and| {
            let [left, right] = shape.and(and);
            [vec![left], vec![right], vec![left, right]].map(|sum| {
                let one = |values: &&Vec<bool>| {
                    sum.iter().fold(false, |bit, o| bit ^ shape.sum(*o, |wire| values[wire]))
                };
                let ones = values.iter().filter(one).count();
                ones.min(cases - ones)
            })
        });
        assert_eq!(rarest.min(), Some((cases as f64 * shape.detection()) as usize));
    }
}

#[test]
fn cores_compute_what_they_are_for() {
    for case in 0..32u8 {
        let bit = |place: u8| case >> place & 1;
        let values = ADDER.values(&[case], 1);
        let sum = bit(0) + bit(1) + bit(2) + 2 * (bit(3) + bit(4));
        let carry = values[5] ^ values[2];
        assert_eq!(values[6] ^ carry, sum >> 2 & 1 == 1);
        assert_eq!(THREE.values(&[case], 1)[4], case & 7 == 7);
        let mux = EIGHT.values(&[case, 0], 1);
        assert!((0..8).all(|i| mux[EIGHT.output(i)] == (mux[0] & mux[1 + i])));
    }
}

/// A gate with the opposite function, whose table gives the label that is opened for its output.
#[test]
fn an_opening_is_of_the_wire_that_was_hashed() {
    let mut d = Dealer::new(Rho::Bits40, 15);
    for shape in [Shape::AND, EIGHT, THREE, ADDER] {
        let mut cores = Cores::new(&mut d, shape, 20);
        let turned = |d: &Dealer, opened: &mut [Message]| opened[shape.output(0)].label ^= d.delta;
        for core in 0..20 {
            cores.and(core, 0)[2] ^= d.delta;
        }
        assert_eq!(cores.passes_with(&mut d, turned), [false; 20]);
    }
}

#[test]
fn wrong_solders_are_caught() {
    let (mut d, bucket) = (Dealer::new(Rho::Bits64, 6), 3);
    let shape = EIGHT;
    let cores = Cores::new(&mut d, shape, 2 * bucket);
    let mut opened = Vec::new();
    inner_solders(shape, bucket, &d.delta, &cores.wires, &mut opened);
    let good = |opened: &[Message]| {
        let mut expected = Vec::new();
        inner_tags(shape, bucket, d.delta_tag, &cores.tags, opened, &mut expected);
        d.receiver.agree(opened, &expected)
    };
    assert!(good(&opened));
    for place in 0..opened.len() {
        let forge = |change: &dyn Fn(&mut Message)| {
            let mut forged = opened.clone();
            change(&mut forged[place]);
            assert!(!good(&forged));
        };
        forge(&|solder| solder.label ^= d.delta);
        forge(&|solder| solder.perm.0[0] ^= Block::ONE);
        forge(&|solder| {
            solder.perm.0[0] ^= Block::ONE;
            solder.label ^= d.delta;
        });
        forge(&|solder| *solder = Message::ZERO);
        forge(&|solder| *solder = opened[(place + 1) % opened.len()]);
    }
    let (_, live, tags) = d.wires(shape.inputs());
    let flips = d.bits(shape.inputs());
    let ready = cores.ready(&d, bucket);
    let ready = &ready[..ready_blocks(shape, bucket)];
    let base = cores.base(bucket, 0);
    for place in 0..live.len() {
        let mut opened = Vec::new();
        outer_solders(shape, &d.delta, &live, &flips, base, &mut opened);
        // A solder for the other value.
        opened[place] = outer_solder(&live[place], !flips[place], &base[place], &d.delta);
        let mut expected = Vec::new();
        let layout = (shape, bucket);
        outer_tags(layout, d.delta_tag, &tags, &flips, ready, &opened, &mut expected);
        assert!(!d.receiver.agree(&opened, &expected));
    }
}

#[test]
fn garbage_members_are_skipped() {
    let (mut d, bucket, buckets) = (Dealer::new(Rho::Bits40, 8), 4, 40);
    for shape in [Shape::AND, EIGHT, THREE, ADDER] {
        for good in 0..bucket {
            let mut cores = Cores::new(&mut d, shape, bucket * buckets);
            let blocks = shape.table_blocks();
            for core in (0..bucket * buckets).filter(|core| core % bucket != good) {
                d.prg.fill(&mut cores.tables[core * blocks..][..blocks]);
            }
            let values = d.bits(buckets * shape.inputs());
            let (outputs, conflict) = evaluate_on(&d, &cores, bucket, &values);
            assert!(conflict.is_none());
            assert!(same(&outputs, &expected_outputs(&d, &cores, bucket, &values)));
        }
        let mut cores = Cores::new(&mut d, shape, bucket * buckets);
        d.prg.fill(&mut cores.tables);
        let values = d.bits(buckets * shape.inputs());
        let (outputs, conflict) = evaluate_on(&d, &cores, bucket, &values);
        assert!(conflict.is_none());
        assert!(same(&outputs, &vec![Active::default(); buckets * shape.ands()]));
    }
}

#[test]
fn a_member_with_the_other_label_gives_the_delta() {
    let (mut d, bucket, buckets) = (Dealer::new(Rho::Bits40, 9), 3, 50);
    for shape in [Shape::AND, EIGHT, THREE, ADDER] {
        for member in 0..bucket {
            let mut cores = Cores::new(&mut d, shape, bucket * buckets);
            let (victim, and) = (17 + member, shape.ands() - 1);
            let delta = d.delta;
            cores.and(victim * bucket + member, and)[2] ^= delta;
            let values = d.bits(buckets * shape.inputs());
            let (outputs, conflict) = evaluate_on(&d, &cores, bucket, &values);
            let conflict = conflict.expect("both labels");
            assert_eq!(conflict.delta().0, d.delta.0);
            let wire = &cores.base(bucket, victim)[shape.output(and)];
            assert_eq!(conflict.labels[0].0, wire.label.0);
            let number = cores.numbers[victim * bucket] + shape.output(and) as u64;
            assert_eq!(conflict.wire, number);
            // The two good members outvote it, wherever it stands.
            assert!(same(&outputs, &expected_outputs(&d, &cores, bucket, &values)));
        }
        // A bucket of which all members are such knows one label only.
        let mut cores = Cores::new(&mut d, shape, bucket);
        let delta = d.delta;
        (0..bucket).for_each(|member| cores.and(member, 0)[2] ^= delta);
        assert!(evaluate_on(&d, &cores, bucket, &vec![true; shape.inputs()]).1.is_none());
    }
}

#[test]
fn a_selective_fault_shows_both_labels_exactly_when_it_acts() {
    let (mut d, bucket) = (Dealer::new(Rho::Bits40, 10), 3);
    for (table, input) in [(0, 0), (1, 1)] {
        for run in 0..32 {
            let mut cores = Cores::new(&mut d, Shape::AND, bucket);
            let (member, delta) = (run % bucket, d.delta);
            cores.and(member, 0)[table] ^= delta;
            let values = d.bits(2);
            let (outputs, conflict) = evaluate_on(&d, &cores, bucket, &values);
            let acts = values[input] ^ cores.wires[3 * member + input].perm.bit();
            assert_eq!(conflict.is_some(), acts);
            assert!(conflict.is_none_or(|both| both.delta().0 == d.delta.0));
            assert!(same(&outputs, &expected_outputs(&d, &cores, bucket, &values)));
        }
    }
}

/// A wrong label that has a tag by luck, of the right masked value or of the other: two good members
/// outvote it, and its sum with the right one is no delta.
#[test]
fn a_label_with_a_tag_by_luck_is_outvoted() {
    let (mut d, bucket) = (Dealer::new(Rho::Bits40, 14), 3);
    let lucky = label_with_no_tag(&d.receiver);
    assert!(d.receiver.labels_agree(&lucky, Block::ZERO) && !same_label(&lucky, &Label::ZERO));
    for shape in [Shape::AND, EIGHT, THREE, ADDER] {
        for (member, other) in (0..bucket).flat_map(|member| [(member, false), (member, true)]) {
            let mut cores = Cores::new(&mut d, shape, bucket);
            let wrong = lucky ^ d.delta.times(other);
            cores.and(member, shape.ands() - 1)[2] ^= wrong;
            let values = d.bits(shape.inputs());
            let (outputs, conflict) = evaluate_on(&d, &cores, bucket, &values);
            assert!(same(&outputs, &expected_outputs(&d, &cores, bucket, &values)));
            assert_eq!(conflict.is_some(), other);
            assert!(conflict.is_none_or(|both| same_label(&both.delta(), &wrong)));
        }
    }
}

/// However many such labels there are in buckets that outvote them, two true ones in a bucket of which half
/// is bad are the first that are tried.
#[test]
fn labels_with_a_tag_by_luck_do_not_hide_the_delta() {
    let (mut d, bucket, buckets) = (Dealer::new(Rho::Bits40, 15), 4, 150);
    let lucky = label_with_no_tag(&d.receiver);
    for place in [0, 77, buckets - 1] {
        let mut cores = Cores::new(&mut d, Shape::AND, bucket * buckets);
        let (other, delta) = (lucky ^ d.delta, d.delta);
        for core in (0..buckets).filter(|core| *core != place) {
            cores.and(core * bucket + core % bucket, 0)[2] ^= other;
        }
        // A tie, whichever comes first.
        for member in [[0, 1], [2, 3]][place % 2] {
            cores.and(place * bucket + member, 0)[2] ^= delta;
        }
        let values = d.bits(2 * buckets);
        let (_, conflict) = evaluate_on(&d, &cores, bucket, &values);
        let conflict = conflict.expect("both labels");
        assert!(same_label(&conflict.delta(), &delta), "place {place}");
        assert_eq!(conflict.wire, cores.numbers[place * bucket] + 2);
    }
}

fn same_label(a: &Label, b: &Label) -> bool {
    a.0.iter().zip(&b.0).all(|(a, b)| a.ct_eq(*b))
}

#[test]
fn sizes_are_those_of_the_layout() {
    let and = Shape::AND;
    assert_eq!((and.wires(), and.inputs(), and.table_blocks()), (3, 2, 9));
    for (shape, bucket) in [(and, 3), (and, 5), (EIGHT, 4), (WIDE, 3)] {
        let width = shape.ands();
        let blocks = 2 * (2 * width + 1) + bucket * (10 * width + 2);
        assert_eq!(ready_blocks(shape, bucket), blocks);
        assert_eq!(inner_len(shape, bucket), (bucket - 1) * (2 * width + 1));
    }
}

#[test]
fn debug_shows_nothing() {
    let conflict = Conflict { labels: [Label::of_key(Block::ONE); 2], wire: 3 };
    let shown = format!("{conflict:?} {:?} {:?}", Active::default(), Pair::default());
    assert_eq!(shown, "Conflict(..) Active(..) Pair(..)");
    let evaluation = Evaluation::new(Shape::AND, 3, Block::ONE);
    let shown = format!("{evaluation:?}");
    assert!(shown.contains("Hashes(..)") && shown.contains("Secret(..)"));
}
