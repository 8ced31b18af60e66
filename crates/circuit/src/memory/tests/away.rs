//! Memories that are put away between accesses, on a machine that packs what rests.

use std::collections::BTreeMap;

use cenote_prim::Secret;

use super::*;

/// A machine that packs. A cell that is packed wakes once, and what was not there at the last opening is not packed.
struct Packing {
    inner: Machine,
    cells: BTreeMap<u64, Vec<bool>>,
    serial: u64,
    /// Whether nothing happened since the last opening.
    is_settled: bool,
    /// Wires that each call woke.
    woken: Vec<usize>,
    /// A hash of all gates, one after the other.
    gates: u64,
}

impl Packing {
    fn new(seed: u64) -> Packing {
        let (inner, cells) = (Machine::new(seed), BTreeMap::new());
        Packing { inner, cells, serial: 0, is_settled: false, woken: Vec::new(), gates: 0 }
    }

    /// A cell, packed.
    fn pack(&mut self, cell: Resting<bool>) -> Resting<bool> {
        let Resting::Wires(wires) = cell else { return cell };
        self.serial += 1;
        let (bytes, count) = (Secret::new(self.serial.to_le_bytes().to_vec()), wires.len());
        self.cells.insert(self.serial, wires);
        Resting::Packed { wires: count, bytes }
    }

    /// Takes note of a gate of a kind, or of many.
    fn gate(&mut self, kind: u64, count: usize) -> &mut Machine {
        self.is_settled = false;
        for _ in 0..count {
            // FNV-1a on words.
            self.gates = (self.gates ^ kind).wrapping_mul(0x0000_0100_0000_01b3);
        }
        &mut self.inner
    }
}

impl Gates for Packing {
    type Wire = bool;
    type Error = Broken;

    fn constant(&mut self, bit: bool) -> Result<bool, Broken> {
        self.gate(1 + u64::from(bit), 1).constant(bit)
    }
    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Broken> {
        self.gate(3, 1).xor(a, b)
    }
    fn not(&mut self, a: &bool) -> Result<bool, Broken> {
        self.gate(4, 1).not(a)
    }
    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Broken> {
        self.gate(5, 1).and(a, b)
    }
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        self.gate(6, a.len()).xor_many(a, b)
    }
    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        self.gate(7, a.len()).and_many(a, b)
    }
}

impl Reactive for Packing {
    fn open(&mut self, wires: &[bool]) -> Result<Vec<bool>, Broken> {
        let opened = self.gate(8, wires.len()).open(wires);
        self.is_settled = true;
        opened
    }
    fn own_inputs(&mut self, owner: Role, bits: usize, d: &Draw<'_>) -> Result<Vec<bool>, Broken> {
        self.gate(9, bits).own_inputs(owner, bits, d)
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Broken> {
        self.gate(10, bits).toss(bits)
    }
    fn packs(&self) -> bool {
        true
    }
    fn rest(&mut self, wires: Vec<bool>) -> Result<Resting<bool>, Broken> {
        assert!(self.is_settled, "what rests is what was checked");
        Ok(self.pack(Resting::Wires(wires)))
    }
    fn wake(&mut self, cells: Vec<Resting<bool>>) -> Result<Vec<Vec<bool>>, Broken> {
        self.is_settled = false;
        self.woken.push(cells.iter().map(Resting::wires).sum());
        let wires = cells.into_iter().map(|cell| match cell {
            Resting::Wires(wires) => wires,
            Resting::Packed { bytes, .. } => {
                let serial = u64::from_le_bytes(bytes[..].try_into().unwrap());
                self.cells.remove(&serial).expect("a cell wakes once")
            }
        });
        Ok(wires.collect())
    }
    fn broken(&mut self, why: Broken) -> Broken {
        why
    }
}

const LAYOUTS: [Layout; 9] = [
    Layout::Scan,
    FLAT,
    nested(2, 1),
    nested(2, 3),
    nested(3, 2),
    root(1, 1, 1),
    root(1, 1, 7),
    root(2, 2, 5),
    root(3, 1, 4),
];

/// A memory from zeros or from given rows, accessed at random and put away before every access for which `is_put_away` says so, against an
/// array. Gives the machine with all that it saw.
fn against_an_array(plan: &Plan, steps: u64, is_put_away: impl Fn(u64) -> bool) -> Packing {
    let Needs { blocks, width, is_given, .. } = plan.needs;
    let mut g = Packing::new(steps);
    let mut dice = Machine::new(7 * steps + blocks as u64);
    let mut array: Vec<u128> =
        (0..blocks as u128).map(|i| if is_given { i % (1 << width) } else { 0 }).collect();
    let mut ram = if is_given {
        let rows = array.iter().map(|row| bits_of(*row, width)).collect();
        Ram::of(&mut g, plan.clone(), Rows::new(rows).unwrap()).unwrap()
    } else {
        Ram::empty(&mut g, plan.clone()).unwrap()
    };
    // Since when it goes on, and whether it was found then.
    let mut begun = (0, if is_given { Start::Rows } else { Start::Zeros });
    let (at_first, mut woken_before) = (begun.1, 0);
    for step in 0..steps {
        if is_put_away(step) {
            let resting = g.cells.values().map(Vec::len).sum::<usize>() as u64;
            let mut away = ram.put_away(&mut g).unwrap();
            let cells: Vec<usize> = away.cells.iter().map(Resting::wires).collect();
            assert_eq!(plan.cells(&away.state), Some(cells.clone()));
            // As a session does that keeps it, behind its checks.
            away.cells = away.cells.into_iter().map(|cell| g.pack(cell)).collect();
            let all = cells.iter().sum::<usize>() as u64;
            assert!(all <= plan.resting_wires());
            let awake = plan.awake_wires(step - begun.0, begun.1, true);
            assert!(all - resting <= awake, "{:?}", plan.layout);
            assert!(
                awake <= plan.resting_wires() && awake <= plan.awake_wires(steps, at_first, true)
            );
            begun = (step, Start::Found);
            woken_before = g.woken.len();
            ram = Ram::found(&mut g, plan.clone(), away).unwrap();
        }
        let place = dice.below(blocks as u64 + 1);
        let index = bits_of(u128::from(place), 2 + plan::bits(blocks - 1));
        let word = u128::from(dice.next()) & ((1 << width) - 1);
        let here = array.get_mut(place as usize);
        let before = here.as_ref().map_or(0, |row| **row);
        let first = g.woken.len();
        if dice.below(2) == 0 {
            let read = ram.access(&mut g, &index, Access::Read).unwrap();
            assert_eq!(value_of(&read), before, "step {step}");
        } else {
            let read = ram.update(&mut g, &index, |_, _| Ok(bits_of(word, width))).unwrap();
            assert_eq!(value_of(&read), before, "step {step}");
            here.into_iter().for_each(|row| *row = word);
        }
        wakes_as_planned(plan, &g.woken[first..], is_put_away(step));
        let (woken, most) = (g.woken.len() - woken_before, plan.wakes(step + 1 - begun.0, begun.1));
        assert!(woken as u64 <= most, "{:?}", plan.layout);
    }
    for (i, expected) in array.iter().enumerate() {
        assert_eq!(value_of(&ram.row(&mut g, i).unwrap()), *expected);
    }
    g
}

/// What an access woke: all cells of a tree at once; before that what is no bucket, if the memory was found.
fn wakes_as_planned(plan: &Plan, woken: &[usize], is_found: bool) {
    let at_most = if is_found { plan.wakes(1, Start::Found) } else { plan.trees.len() as u64 };
    assert!(woken.len() as u64 <= at_most, "{:?}", plan.layout);
    let most = if is_found || !plan.trees.is_empty() { plan.woken_wires(1) } else { 0 };
    assert!(woken.iter().sum::<usize>() as u64 <= most, "{:?}", plan.layout);
}

/// A memory that is put away goes on as it would have, gate by gate and opening by opening.
#[test]
fn memories_are_arrays_wherever_they_are_put_away() {
    for layout in LAYOUTS {
        for (blocks, width, is_given) in [(9, 4, false), (37, 11, true), (64, 6, false)] {
            let Some(plan) = Plan::new(needs(blocks, width, is_given), layout) else { continue };
            let whole = against_an_array(&plan, 200, |_| false);
            // Not before the first access: the flag of overflow is opened from then on.
            let parts = against_an_array(&plan, 200, |step| step % 3 == 1);
            assert_eq!(whole.inner.opened, parts.inner.opened, "{layout:?}");
            assert_eq!(whole.inner.taken, parts.inner.taken, "{layout:?}");
            let rests = !plan.trees.is_empty();
            assert_eq!(whole.cells.is_empty(), !rests, "buckets rest, and nothing else");
        }
    }
    let plan = Plan::new(needs(300, 16, false), nested(2, 3)).unwrap();
    against_an_array(&plan, 3_000, |step| step % 100 == 0);
    // Where all may stay awake nothing rests that was not put away, and where some may the first accesses wake nothing.
    for (most_awake, wakes) in [(1 << 20, 1..=200), (40_000, 100..=1 + 2 * 595)] {
        let needs = Needs { most_awake, ..needs(300, 16, false) };
        let plan = Plan::new(needs, nested(2, 3)).unwrap();
        let g = against_an_array(&plan, 600, |step| step == 5);
        assert!(wakes.contains(&g.woken.len()), "{most_awake}: {}", g.woken.len());
    }
}

/// Rows that are put in rest as well: behind an opening, one for so many rows as the plan says.
#[test]
fn rows_rest_while_more_are_put_in() {
    for layout in [FLAT, nested(2, 3)] {
        let needs = Needs { most_awake: 1 << 18, ..needs(1 << 13, 32, true) };
        let plan = Plan::new(needs, layout).unwrap();
        let array: Vec<u128> = (0..1 << 13).map(|i| i * 0x0123_4567 % (1 << 32)).collect();
        let mut g = Packing::new(3);
        let rows = Rows::new(array.iter().map(|row| bits_of(*row, 32)).collect()).unwrap();
        let mut ram = Ram::of(&mut g, plan.clone(), rows).unwrap();
        let opens = g.inner.opened.len();
        assert!(opens > 2, "{layout:?}");
        assert_eq!(g.inner.taken, plan.start(), "{layout:?}");
        assert!(g.inner.opened.iter().all(|bits| bits == &[false]), "flags of overflow alone");
        assert!(g.woken.len() <= opens, "all that wakes does at once");
        assert_eq!(plan.wakes(0, Start::Rows), opens as u64, "{layout:?}");
        let resting = g.cells.values().map(Vec::len).sum::<usize>() as u64;
        let away = ram.put_away(&mut g).unwrap();
        let all = away.cells.iter().map(Resting::wires).sum::<usize>() as u64;
        let awake = plan.awake_wires(0, Start::Rows, true);
        assert!(all - resting <= awake && awake < all / 2, "{layout:?}");
        ram = Ram::found(&mut g, plan, away).unwrap();
        for (i, expected) in array.iter().enumerate().step_by(397) {
            let row = ram.access(&mut g, &bits_of(i as u128, 13), Access::Read).unwrap();
            assert_eq!(value_of(&row), *expected);
        }
    }
}

/// Without an access nothing wakes, and what is put away is what was found.
#[test]
fn memories_rest_until_an_access_comes() {
    for layout in LAYOUTS {
        let plan = Plan::new(needs(37, 11, false), layout).unwrap();
        let mut g = Packing::new(3);
        let mut ram = Ram::empty(&mut g, plan.clone()).unwrap();
        ram.access(&mut g, &bits_of(5, 8), Access::Read).unwrap();
        let away = ram.put_away(&mut g).unwrap();
        let (state, gates, woken) = (away.state.clone(), g.gates, g.woken.len());
        let lengths: Vec<usize> = away.cells.iter().map(Resting::wires).collect();
        let ram = Ram::found(&mut g, plan.clone(), away).unwrap();
        assert!(!ram.is_in_hand());
        let again = ram.put_away(&mut g).unwrap();
        assert_eq!((&again.state, g.gates, g.woken.len()), (&state, gates, woken), "{layout:?}");
        assert!(again.cells.iter().map(Resting::wires).eq(lengths));
        assert_eq!(plan.woken_wires(0), 0);
    }
}

/// The gates of accesses on a machine that packs are those that they were before anything rested.
#[test]
fn gates_do_not_depend_on_what_rests() {
    let gates = |layout, is_given| {
        let plan = Plan::new(needs(37, 5, is_given), layout).unwrap();
        against_an_array(&plan, 50, |_| false).gates
    };
    let hashes = LAYOUTS.map(|layout| [gates(layout, false), gates(layout, true)]);
    assert_eq!(hashes, GATES, "{hashes:#x?}");
}

const GATES: [[u64; 2]; 9] = [
    [0x286c_ddee_694e_4be2, 0x225c_531d_26af_73a9],
    [0x64db_ca3f_9946_9bbc, 0x0d45_8b84_4049_5653],
    [0x67ee_f69b_6b74_93b3, 0x9f97_1728_c8c5_84d9],
    [0xa936_5231_1308_ffc3, 0x5a36_192c_7d02_8c36],
    [0x37a3_d81e_79ec_a1ed, 0xa41e_28e0_6703_5de6],
    [0x4e98_60cc_3464_b388, 0x9b06_8f8c_c55e_d577],
    [0xc5e2_5df4_169e_6ef1, 0xb487_6bf6_c407_445a],
    [0xf873_df3d_0938_f468, 0xfb2e_083f_c762_17f9],
    [0xb69e_fea7_8ba0_e054, 0x1a57_487a_abe8_be6f],
];

/// What is no state of a plan is none: no bytes panic, and what is taken is written alike.
#[test]
fn any_bytes_are_a_state_or_none() {
    let mut dice = Machine::new(5);
    for layout in LAYOUTS {
        for is_given in [false, true] {
            let plan = Plan::new(Needs { accesses: 90, ..needs(24, 3, is_given) }, layout).unwrap();
            let mut g = Machine::new(3);
            let rows = Rows::new(vec![vec![true; 3]; 24]).unwrap();
            let ram = if is_given {
                Ram::of(&mut g, plan.clone(), rows)
            } else {
                Ram::empty(&mut g, plan.clone())
            };
            let mut ram = ram.unwrap();
            for place in 0..11 {
                ram.access(&mut g, &bits_of(place, 5), Access::Read).unwrap();
            }
            let good = ram.put_away(&mut g).unwrap().state;
            let is_state = |bytes: &[u8]| {
                let state = state::State::read(&plan, bytes);
                let cells = plan.cells(bytes);
                assert_eq!(cells.is_some(), state.is_some());
                state.inspect(|state| assert_eq!(state.to_bytes(), bytes)).is_some()
            };
            assert!(is_state(&good));
            assert!((0..good.len()).all(|end| !is_state(&good[..end])), "cut short");
            assert!(!is_state(&[&good[..], &[0]].concat()), "more behind it");
            let mut taken = 0;
            for place in 0..good.len() {
                for change in [1, 2, 0x80, 0xff] {
                    let mut bytes = good.clone();
                    bytes[place] ^= change;
                    assert!(place > 1 || !is_state(&bytes), "of another version or form");
                    let Some(cells) = plan.cells(&bytes) else { continue };
                    taken += 1;
                    // Both sides would be wrong together; what comes of it is a memory or a fault.
                    let cells = cells.iter().map(|n| Resting::Wires(vec![false; *n])).collect();
                    let away = PutAway { state: bytes, cells };
                    let mut ram = Ram::found(&mut g, plan.clone(), away).unwrap();
                    let _ = ram.access(&mut g, &bits_of(3, 5), Access::Read);
                }
                let noise: Vec<u8> = (0..place).map(|_| dice.next() as u8).collect();
                is_state(&[&good[..2], &noise].concat());
            }
            assert!(taken < good.len() * 4);
        }
    }
}

/// A life, nodes and places beyond what the plan has, one by one.
#[test]
fn a_state_is_within_its_plan() {
    let plan =
        |layout, is_given| Plan::new(Needs { accesses: 90, ..needs(8, 3, is_given) }, layout);
    let trees = |left: u64, filled: u8, nodes: &[u32]| {
        let plan = plan(FLAT, filled == 1).unwrap();
        let mut bytes = [&[1, 1][..], &left.to_le_bytes(), &[filled]].concat();
        bytes.extend((nodes.len() as u32).to_le_bytes());
        nodes.iter().for_each(|node| bytes.extend(node.to_le_bytes()));
        plan.cells(&bytes).is_some()
    };
    assert!(trees(90, 0, &[]) && trees(0, 1, &[1, 2, 15]));
    assert!(!trees(91, 0, &[]), "more accesses than the memory ever had");
    assert!(!trees(90, 2, &[]));
    assert!(!trees(90, 0, &[0]) && !trees(90, 0, &[16]), "no such node");
    assert!(!trees(90, 0, &[2, 1]) && !trees(90, 0, &[2, 2]), "in order, and once");
    let zeros = plan(FLAT, false).unwrap();
    let filled = [&[1, 1][..], &90u64.to_le_bytes(), &[1, 0, 0, 0, 0]].concat();
    assert_eq!(zeros.cells(&filled), None, "rows in a memory that begins with zeros");
    let places = |places: &[u32]| {
        let mut bytes = [&[1, 2][..], &(places.len() as u32).to_le_bytes()].concat();
        places.iter().for_each(|place| bytes.extend(place.to_le_bytes()));
        plan(root(1, 1, 3), false).unwrap().cells(&bytes).is_some()
    };
    assert!(places(&[]) && places(&[7, 0, 3]));
    assert!(!places(&[1, 2, 3, 4]), "more than a period has");
    assert!(!places(&[8]) && !places(&[1, 1]), "no such place, and one twice");
    // Of two levels, as many of each.
    let two = [&[1, 2][..], &[1, 0, 0, 0, 5, 0, 0, 0], &[0; 4]].concat();
    assert_eq!(plan(root(2, 1, 3), false).unwrap().cells(&two), None);
}

/// Cells of another memory, or of another machine, are refused.
#[test]
fn a_memory_is_found_with_its_own_plan_and_cells() {
    for layout in LAYOUTS {
        let plan = Plan::new(needs(37, 3, false), layout).unwrap();
        let mut g = Packing::new(3);
        let mut away = || {
            let mut ram = Ram::empty(&mut g, plan.clone()).unwrap();
            ram.access(&mut g, &bits_of(3, 6), Access::Read).unwrap();
            ram.put_away(&mut g).unwrap()
        };
        let [fewer, mut longer, other, mut foreign] = [0; 4].map(|_| away());
        let refused = |plan: &Plan, away: PutAway<bool>| {
            let mut g = Machine::new(1);
            let found = Ram::found(&mut g, plan.clone(), away);
            let read = |mut ram: Ram<bool>| ram.access(&mut g, &bits_of(3, 6), Access::Read);
            found.and_then(read).err() == Some(Broken::Unlike)
        };
        let PutAway { state, mut cells } = fewer;
        cells.pop();
        assert!(refused(&plan, PutAway { state, cells }));
        longer.cells[0] = Resting::Wires(vec![false; longer.cells[0].wires() + 1]);
        assert!(refused(&plan, longer));
        let wider = Plan::new(needs(37, 4, false), layout).unwrap();
        assert!(refused(&wider, other), "{layout:?}");
        let (wires, bytes) = (foreign.cells[0].wires(), Secret::default());
        foreign.cells[0] = Resting::Packed { wires, bytes };
        assert!(refused(&plan, foreign), "packed by nobody");
    }
}

/// What was put away before its flag was opened overflows at the next access, and gives nothing wrong until then.
#[test]
fn an_overflow_outlives_a_job() {
    for layout in [FLAT, nested(2, 2)] {
        let mut overflows = 0;
        for seed in 0..40 {
            let mut g = Machine::new(seed);
            let mut plan = Plan::new(needs(64, 8, false), layout).unwrap();
            plan.trees.iter_mut().for_each(|tree| (tree.bucket, tree.stash) = (1, 2));
            let mut array = [0; 64];
            let mut ram = Ram::empty(&mut g, plan.clone()).unwrap();
            for step in 0..400u128 {
                let away = ram.put_away(&mut g).unwrap();
                ram = Ram::found(&mut g, plan.clone(), away).unwrap();
                let place = g.below(64);
                let word = bits_of(step % 251, 8);
                match ram.update(&mut g, &bits_of(u128::from(place), 6), |_, _| Ok(word)) {
                    Ok(read) => assert_eq!(value_of(&read), array[place as usize], "step {step}"),
                    Err(why) => {
                        assert_eq!(why, Broken::Overflow);
                        overflows += 1;
                        break;
                    }
                }
                array[place as usize] = step % 251;
            }
        }
        assert!(overflows > 20, "{layout:?}: {overflows}");
    }
}

#[test]
fn a_life_goes_on_where_it_was() {
    let mut g = Machine::new(1);
    let plan = Plan::new(Needs::new(8, 2, 3), FLAT).unwrap();
    let mut ram = Ram::empty(&mut g, plan.clone()).unwrap();
    let place = bits_of(3, 3);
    for _ in 0..3 {
        ram.access(&mut g, &place, Access::Read).unwrap();
        let away = ram.put_away(&mut g).unwrap();
        ram = Ram::found(&mut g, plan.clone(), away).unwrap();
    }
    assert_eq!(ram.access(&mut g, &place, Access::Read), Err(Broken::Spent));
}

#[test]
fn a_row_in_hand_is_put_back_before_all_is_put_away() {
    for layout in [FLAT, root(1, 1, 3)] {
        let mut g = Machine::new(3);
        let mut ram = Ram::empty(&mut g, Plan::new(needs(8, 2, false), layout).unwrap()).unwrap();
        ram.take(&mut g, &bits_of(3, 3)).unwrap();
        let away = std::panic::AssertUnwindSafe(|| ram.put_away(&mut g).map(drop));
        assert!(std::panic::catch_unwind(away).is_err());
    }
}

/// The most that is put away: all rows of a scan, all nodes of a tree, and all entries of a period.
#[test]
fn what_is_put_away_has_a_bound_that_is_reached() {
    for layout in LAYOUTS {
        for is_given in [false, true] {
            let needs = Needs { accesses: 200, ..needs(16, 3, is_given) };
            let Some(plan) = Plan::new(needs, layout) else { continue };
            let mut g = Machine::new(9);
            let mut ram = if is_given {
                let rows = Rows::new(vec![vec![true; 3]; 16]).unwrap();
                Ram::of(&mut g, plan.clone(), rows)
            } else {
                Ram::empty(&mut g, plan.clone())
            }
            .unwrap();
            let mut most = 0;
            for place in 0..200 {
                ram.access(&mut g, &bits_of(place % 16, 4), Access::Read).unwrap();
                let away = ram.put_away(&mut g).unwrap();
                most = most.max(away.cells.iter().map(Resting::wires).sum());
                ram = Ram::found(&mut g, plan.clone(), away).unwrap();
            }
            // Opened rows and what is in a stash are as many.
            assert_eq!(most as u64, plan.resting_wires(), "{layout:?}");
        }
    }
    // Few accesses come to few nodes: three paths of 11 levels.
    let few = Plan::new(Needs { accesses: 1, ..needs(1024, 3, false) }, FLAT).unwrap();
    let all = Plan::new(needs(1024, 3, false), FLAT).unwrap();
    assert!(few.resting_wires() * 5 < all.resting_wires());
}

/// A place that was opened before all was put away is none that may be opened again, which a peer that opens what it likes would have.
#[test]
fn any_place_that_was_opened_stays_opened() {
    for layout in [root(1, 1, 4), root(2, 1, 4)] {
        let plan = Plan::new(needs(8, 2, false), layout).unwrap();
        let mut g = Machine::new(3);
        let mut ram = Ram::empty(&mut g, plan.clone()).unwrap();
        ram.access(&mut g, &bits_of(3, 3), Access::Read).unwrap();
        let mut away = ram.put_away(&mut g).unwrap();
        let opened = g.opened.pop().unwrap();
        // All positions of the last level become the one that was opened.
        let map = away.cells.pop().unwrap().into_wires().unwrap();
        let last = plan.levels[plan.levels.len() - 1];
        let place = &g.opened.last().cloned().filter(|_| plan.levels.len() > 1).unwrap_or(opened);
        let mut same = place.repeat(last.blocks);
        same.extend(&map[same.len()..]);
        away.cells.push(Resting::Wires(same));
        let mut ram = Ram::found(&mut g, plan, away).unwrap();
        let again = ram.access(&mut g, &bits_of(5, 3), Access::Read);
        assert_eq!(again, Err(Broken::Misplaced), "{layout:?}");
    }
}
