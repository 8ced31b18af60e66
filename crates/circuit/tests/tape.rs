//! Tapes: played on arrays, batch by batch and gate by gate they give the same, and slots are used as planned.

use cenote_circuit::{
    BATCH, Clear, Counter, Deck, Depth, Gates, Op, Operand, Order, Starts, Tape, TapeRecorder,
    TapeWire, TooLong, gadgets, lane_groups,
};
use cenote_prim::Block;
use proptest::prelude::*;

/// One call of a machine, on wires that are there by then.
#[derive(Clone, Debug)]
enum Call {
    Constant(bool),
    Xor(u16, u16),
    Not(u16),
    And(u16, u16),
    AndMany(Vec<(u16, u16)>),
    /// Selects, and so many bits for each.
    Groups(Vec<u16>, Vec<u16>),
}

const INPUTS: usize = 5;

/// Windows that cut groups as well.
const ORDERS: [Order; 5] = [
    Order::Recorded,
    Order::LAYERS,
    Order::Layers { window: 1 },
    Order::Layers { window: 7 },
    Order::Layers { window: 20 },
];

fn call() -> impl Strategy<Value = Call> {
    let wire = any::<u16>;
    prop_oneof![
        1 => any::<bool>().prop_map(Call::Constant),
        4 => (wire(), wire()).prop_map(|(a, b)| Call::Xor(a, b)),
        2 => wire().prop_map(Call::Not),
        2 => (wire(), wire()).prop_map(|(a, b)| Call::And(a, b)),
        2 => prop::collection::vec((wire(), wire()), 0..6).prop_map(Call::AndMany),
        2 => (1..4usize, 0..9usize).prop_flat_map(|(selects, length)| (
            prop::collection::vec(any::<u16>(), selects),
            prop::collection::vec(any::<u16>(), selects * length),
        )).prop_map(|(selects, bits)| Call::Groups(selects, bits)),
    ]
}

/// Runs the calls; all wires that there are in the end.
fn run<G: Gates>(g: &mut G, calls: &[Call], inputs: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
    let mut wires = inputs.to_vec();
    for call in calls {
        let at = |wire: &u16| wires[usize::from(*wire) % wires.len()].clone();
        let all = |of: &[u16]| of.iter().map(at).collect::<Vec<_>>();
        let new = match call {
            Call::Constant(bit) => vec![g.constant(*bit)?],
            Call::Xor(a, b) => vec![g.xor(&at(a), &at(b))?],
            Call::Not(a) => vec![g.not(&at(a))?],
            Call::And(a, b) => vec![g.and(&at(a), &at(b))?],
            Call::AndMany(pairs) => {
                let (a, b): (Vec<u16>, Vec<u16>) = pairs.iter().copied().unzip();
                g.and_many(&all(&a), &all(&b))?
            }
            Call::Groups(selects, bits) => g.and_groups(&all(selects), &all(bits))?,
        };
        wires.extend(new);
    }
    Ok(wires)
}

fn record(calls: &[Call], outputs: &[u16], order: Order) -> Tape {
    let (mut recorder, inputs) = TapeRecorder::new(INPUTS);
    let wires = run(&mut recorder, calls, &inputs).expect("few gates");
    recorder.finish(&words_of(chosen(&wires, outputs)), order)
}

/// Three words, one of them a bit.
fn words_of<T: Clone>(mut bits: Vec<T>) -> Vec<Vec<T>> {
    let rest = bits.split_off(bits.len() / 2);
    let (bit, others) = rest.split_at(rest.len().min(1));
    vec![bits, bit.to_vec(), others.to_vec()]
}

fn chosen<W: Clone>(wires: &[W], outputs: &[u16]) -> Vec<W> {
    outputs.iter().map(|wire| wires[usize::from(*wire) % wires.len()].clone()).collect()
}

/// The clear without arrays.
struct ByGates;

impl Gates for ByGates {
    type Wire = bool;
    type Error = std::convert::Infallible;

    fn constant(&mut self, bit: bool) -> Result<bool, Self::Error> {
        Ok(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Self::Error> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Self::Error> {
        Ok(!a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Self::Error> {
        Ok(a & b)
    }
}

/// Plays a tape on blocks of one bit, so many lanes together, on a deck that holds what was played before; which ANDs are handed over together is
/// checked.
fn on_blocks(
    deck: &mut Deck<Block>,
    tape: &Tape,
    [lanes, together]: [usize; 2],
    operands: &[Operand<'_, bool>],
) -> Vec<Vec<bool>> {
    let one = Block::new(u128::MAX);
    let wires: Vec<Vec<Block>> = operands
        .iter()
        .map(|operand| operand.wires.iter().map(|bit| one.times(*bit)).collect())
        .collect();
    let operands: Vec<_> = operands
        .iter()
        .zip(&wires)
        .map(|(operand, wires)| Operand { wires, bits: operand.bits, starts: operand.starts })
        .collect();
    let mut out = vec![Vec::new(); tape.words().len()];
    for (first, count) in lane_groups(lanes, together) {
        deck.load(tape, &operands, [first, count], one);
        for (linear, ands) in tape.runs() {
            deck.linear_all(linear);
            let mut sizes = Vec::new();
            let Ok(()) = deck.ands(tape, ands, |[a, b], out| {
                sizes.push(out.len());
                for ((a, b), out) in a.iter().zip(b).zip(out) {
                    *out = *a & *b;
                }
                Ok::<_, std::convert::Infallible>(())
            });
            let all = ands.iter().filter(|step| step.op() == Op::And).count() * count;
            assert_eq!(sizes.iter().sum::<usize>(), all);
            assert!(sizes.iter().filter(|size| **size < BATCH).count() <= 1, "{sizes:?}");
        }
        deck.store(tape, &mut out);
    }
    assert!(out.iter().flatten().all(|block| [Block::ZERO, one].contains(block)));
    out.iter().map(|word| word.iter().map(|block| *block == one).collect()).collect()
}

/// Groups of ANDs that fill batches, and do not, with negations and constants between.
#[test]
fn groups_fill_batches_of_one_lane_and_of_many() {
    for sizes in [&[31][..], &[32], &[33], &[1, 30, 1], &[31, 2, 40, 64], &[5; 14]] {
        let (mut g, wires) = TapeRecorder::new(INPUTS);
        let one = g.constant(true).unwrap();
        let zero = g.constant(false).unwrap();
        let mut all = wires.clone();
        for size in sizes {
            let not = g.not(&all[all.len() - 1]).unwrap();
            let bits: Vec<_> = (0..*size).map(|i| [not, one, zero, all[i % 5]][i % 4]).collect();
            all.extend(g.and_groups(&[wires[size % 5]], &bits).unwrap());
            all.push(not);
        }
        let mut deck = Deck::default();
        for order in ORDERS {
            let tape = g.finish(std::slice::from_ref(&all), order);
            for lanes in [1, 2, 3, 4, 33] {
                let bits: Vec<bool> = (0..lanes * INPUTS).map(|i| i * i % 7 < 3).collect();
                let operands = [Operand::words(&bits, INPUTS)];
                let Ok(expected) = tape.play(&mut ByGates, lanes, &operands);
                let given = on_blocks(&mut deck, &tape, [lanes, 33], &operands);
                assert_eq!(given, expected, "{sizes:?} {order:?} {lanes}");
            }
        }
    }
}

proptest! {
    #[test]
    fn all_ways_give_the_same(
        calls in prop::collection::vec(call(), 0..60),
        outputs in prop::collection::vec(any::<u16>(), 0..20),
        lanes in prop_oneof![1..4usize, 30..40usize],
        seed in any::<u64>(),
    ) {
        let bit = |lane: usize, i: usize| (seed.rotate_left((lane * 7 + i * 11) as u32) ^ lane as u64) & 1 == 1;
        let words: Vec<bool> =
            (0..lanes).flat_map(|lane| (0..INPUTS - 2).map(move |i| bit(lane, i))).collect();
        let same = [bit(99, 3), bit(99, 4)];
        let mut expected = vec![Vec::new(); 3];
        for word in words.chunks(INPUTS - 2) {
            let wires = run(&mut Clear, &calls, &[word, &same].concat()).expect("clear");
            let given = words_of(chosen(&wires, &outputs));
            expected.iter_mut().zip(given).for_each(|(all, word)| all.extend(word));
        }
        // The same words, listed from the last to the first in memory.
        let backwards: Vec<bool> = words.chunks(INPUTS - 2).rev().flatten().copied().collect();
        let starts: Vec<u32> = (0..lanes).rev().map(|lane| (lane * (INPUTS - 2)) as u32).collect();
        let mut deck = Deck::default();
        for order in ORDERS {
            let tape = record(&calls, &outputs, order);
            let listed = Operand { wires: &backwards, bits: INPUTS - 2, starts: Starts::Listed(&starts) };
            for operand in [Operand::words(&words, INPUTS - 2), listed] {
                let operands = [operand, Operand::same(&same)];
                prop_assert_eq!(&tape.play(&mut Clear, lanes, &operands).expect("clear"), &expected);
                prop_assert_eq!(&tape.play(&mut ByGates, lanes, &operands).expect("clear"), &expected);
                for together in [1, 2, 16, 40] {
                    let given = on_blocks(&mut deck, &tape, [lanes, together], &operands);
                    prop_assert_eq!(&given, &expected);
                }
            }
        }
    }

    /// A machine is given the gates and batches that it would be given without a tape.
    #[test]
    fn what_is_recorded_costs_what_it_costs_without(
        calls in prop::collection::vec(call(), 0..60),
        outputs in prop::collection::vec(any::<u16>(), 0..20),
    ) {
        let mut direct = Counter::new();
        run(&mut direct, &calls, &[Depth(0); INPUTS]).expect("counted");
        let mut played = Counter::new();
        let tape = record(&calls, &outputs, Order::Recorded);
        let inputs = [Depth(0); INPUTS];
        tape.play(&mut played, 1, &[Operand::same(&inputs)]).expect("counted");
        // A negation takes one constant for all lanes, a batch of no gates none.
        prop_assert_eq!(played.counts(), direct.counts());
        prop_assert_eq!(tape.ands() as u64, direct.counts().and);
    }

    /// Every slot is written before it is read, keeps its wire until the last read of it, and ANDs of a batch do not read each other.
    #[test]
    fn slots_are_used_as_planned(
        calls in prop::collection::vec(call(), 0..60),
        outputs in prop::collection::vec(any::<u16>(), 0..20),
    ) {
        for order in ORDERS {
            let tape = record(&calls, &outputs, order);
            // Alive: written, and not read for the last time.
            let mut alive = vec![false; tape.slots()];
            tape.input_slots().iter().flatten().for_each(|slot| alive[*slot as usize] = true);
            let trash = tape.slots() - 1;
            for (linear, ands) in tape.runs() {
                prop_assert!(linear.iter().all(|step| !matches!(step.op(), Op::And | Op::Group)));
                prop_assert!(ands.iter().all(|step| matches!(step.op(), Op::And | Op::Group)));
                let mut written = Vec::new();
                for (i, head) in ands.iter().enumerate().filter(|(_, step)| step.op() == Op::Group) {
                    let members = ands.get(i + 1..=i + head.b() as usize).unwrap_or_default();
                    prop_assert!(!members.is_empty());
                    prop_assert!(members.iter().all(|step| (step.op(), step.a()) == (Op::And, head.a())));
                }
                for step in linear.iter().chain(ands) {
                    let reads = match step.op() {
                        Op::Zero | Op::One => vec![],
                        Op::Not => {
                            prop_assert_eq!(step.b() as usize, tape.slots());
                            vec![(step.a(), step.last_a())]
                        }
                        Op::Group => vec![(step.a(), false)],
                        Op::Xor | Op::And => vec![(step.b(), step.last_b()), (step.a(), step.last_a())],
                    };
                    for (slot, is_last) in reads {
                        prop_assert!(alive[slot as usize]);
                        prop_assert!(step.op() != Op::And || !written.contains(&slot));
                        alive[slot as usize] = !is_last;
                    }
                    if step.op() == Op::Group {
                        continue;
                    }
                    prop_assert!(step.out() as usize == trash || !alive[step.out() as usize]);
                    alive[step.out() as usize] = step.out() as usize != trash;
                    if step.op() == Op::And && step.out() as usize != trash {
                        written.push(step.out());
                    }
                }
            }
            prop_assert!(tape.output_slots().iter().all(|slot| alive[*slot as usize]));
        }
    }
}

#[test]
fn a_tape_has_a_limit() {
    let (mut recorder, wires) = TapeRecorder::of_at_most(2, 1);
    let wire: TapeWire = wires[0];
    assert!(recorder.not(&wire).is_ok() && recorder.and(&wire, &wire).is_ok());
    assert_eq!(recorder.xor(&wire, &wire), Err(TooLong));
}

/// Words of three and of two bits, of lanes in no order, with wires between them that stay.
#[test]
fn words_are_put_back_where_they_were() {
    let (mut g, wires) = TapeRecorder::new(5);
    let (a, b) = wires.split_at(3);
    let all = g.and_many(a, &[b[0], b[1], a[0]]).unwrap();
    let [x, y] = [0, 1].map(|i| g.xor(&a[i], &b[i]).unwrap());
    let tape = g.finish(&[all, vec![x, y]], Order::Recorded);
    for lanes in [0, 1, 2, 7, 40] {
        let mut bits: Vec<bool> = (0..6 * lanes as u32).map(|i| i * i % 7 < 3).collect();
        let starts: [Vec<u32>; 2] =
            [0, 3].map(|offset| (0..lanes as u32).rev().map(|lane| 6 * lane + offset).collect());
        let mut expected = bits.clone();
        for word in expected.chunks_mut(6) {
            let [a, b, c, d, e, f] = <[bool; 6]>::try_from(&*word).unwrap();
            word.copy_from_slice(&[a & d, b & e, c & a, a ^ d, b ^ e, f]);
        }
        let starts = [&starts[0][..], &starts[1][..]];
        let (mut deck, mut in_groups) = (Deck::default(), bits.clone());
        for (first, count) in lane_groups(lanes, 3) {
            let operands = tape.operands_in_place(&in_groups, &starts);
            deck.load(&tape, &operands, [first, count], true);
            for (linear, ands) in tape.runs() {
                linear.iter().for_each(|step| deck.linear(step));
                let ands = ands.iter().filter(|step| step.op() == Op::And);
                ands.for_each(|step| deck.zip(step.slots(), |a, b| a & b));
            }
            deck.store_in_place(&tape, &mut in_groups, &starts, first);
        }
        assert_eq!(in_groups, expected);
        let Ok(()) = Clear.play_in_place(&tape, &mut bits, &starts);
        assert_eq!(bits, expected);
    }
}

#[test]
fn groups_of_lanes_are_whole() {
    assert_eq!(lane_groups(7, 3).collect::<Vec<_>>(), [(0, 3), (3, 3), (6, 1)]);
    assert_eq!(lane_groups(0, 3).count(), 0);
}

#[test]
fn rows_that_are_too_wide_for_a_tape_are_sorted_as_others_are() {
    let row = |key: u32, last: bool| {
        let mut row = vec![false; 40_000];
        (0..5).for_each(|bit| row[bit] = (key >> bit) & 1 == 1);
        row[39_999] = last;
        row
    };
    let rows = [row(19, true), row(3, false), row(31, true), row(4, true)];
    let sorted = gadgets::sort(&mut Clear, &rows, 5, gadgets::Order::Descending).expect("clear");
    assert_eq!(sorted, [2, 0, 3, 1].map(|i: usize| rows[i].clone()));
}
